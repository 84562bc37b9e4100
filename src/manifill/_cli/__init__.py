"""The command line."""

import signal
import sys
from typing import Any

__all__ = ["main"]


def main() -> None:
    """Run the command line.

    Exit codes: 0 success, 1 failure, 2 wrong usage, 130 interrupted (Ctrl-C), 143 terminated (SIGTERM).
    """
    signal.signal(signal.SIGTERM, _end)
    try:
        from manifill._cli.app import run  # imported here: Ctrl-C must also work during this second

        run()
    except KeyboardInterrupt:
        sys.stderr.write("manifill: interrupted; nothing was written.\n")
        sys.exit(130)


def _end(number: int, _frame: Any) -> None:
    """Exit through the normal clean-up code, which removes half-written files."""
    sys.exit(128 + number)
