"""The command line."""

import sys

from manifill._cli import ending

__all__ = ["main"]


def main() -> None:
    """Run the command line; `ending.EXIT_CODES` lists the exit codes."""
    ending.begin()
    code: int | str | None = 0
    try:
        try:
            from manifill._cli.app import run  # imported here: Ctrl-C must also work during this second

            run()
        finally:
            ending.ignore_signals()
    except KeyboardInterrupt:
        code = ending.INTERRUPTED
    except SystemExit as end:
        code = end.code
    except (MemoryError, ImportError, RuntimeError) as error:
        if not ending.is_memory_error(error):
            raise
        code = 1
        sys.stderr.write("manifill: there is not enough memory for this.\n")
    sys.exit(ending.finish(code if isinstance(code, int) else int(code is not None)))
