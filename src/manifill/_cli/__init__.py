"""The command line."""

import signal
import sys
from typing import Any

__all__ = ["main"]


def main() -> None:
    """Run the command line.

    Exit codes: 0 done, 1 cannot be done as asked, 2 wrong usage, 130 interrupted, 143 ended by the system.
    """
    signal.signal(signal.SIGTERM, _end)
    try:
        from manifill._cli.app import run  # imports take a second, in which Ctrl-C must be answered too

        run()
    except KeyboardInterrupt:
        sys.stderr.write("manifill: interrupted; nothing was written.\n")
        sys.exit(130)


def _end(number: int, frame: Any) -> None:
    """Leave by way of everything that tidies up: half-written files are removed."""
    sys.exit(128 + number)
