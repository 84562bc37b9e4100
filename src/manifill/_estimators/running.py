"""Run a fit to its end, with or without a line for every step."""

import sys
from collections.abc import Iterator

from manifill._fillers import Fill
from manifill._messages import listening


def run_to_end(fills: Iterator[Fill], verbose: bool) -> None:
    """Exhaust `fills`; with `verbose`, write a line for every step and log message to standard error."""
    if not verbose:
        for _ in fills:
            pass
        return
    with listening(_write):
        for fill in fills:
            if fill.sweep > 0:
                _write(str(fill))


def _write(line: str) -> None:
    print(line, file=sys.stderr)
