"""Text for people: progress messages, through the logger "manifill", and tables."""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager

MEASURED = (
    "Measured on known values that were held out. If values are missing because of their own size, errors "
    "are larger and intervals too short."
)
"""What errors and intervals mean; shown wherever they are."""

logger = logging.getLogger("manifill")
logger.addHandler(logging.NullHandler())


@contextmanager
def listening(callback: Callable[[str], None]) -> Iterator[None]:
    """Context manager: calls `callback` with every message, one line at the start of each long step."""
    handler, level = logging.Handler(logging.INFO), logger.level
    handler.emit = lambda record: callback(record.getMessage())  # type: ignore[method-assign]
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


def text_table(header: Sequence[str], rows: Iterable[Sequence[object]], left: Collection[int] = (0,)) -> str:
    """A table as lines of text; the columns in `left` are aligned to the left, the others to the right."""
    cells = [list(map(str, row)) for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    )
