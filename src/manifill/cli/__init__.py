"""The command line."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; exit codes: 0 done, 1 cannot be done as asked, 2 wrong usage, 130 interrupted."""
    try:
        from manifill.cli.app import run  # imports take a second, in which Ctrl-C must be answered too

        run()
    except KeyboardInterrupt:
        sys.stderr.write("manifill: interrupted; nothing was written.\n")
        sys.exit(130)
