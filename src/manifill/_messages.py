"""Messages of the library go through `logging`, under the name "manifill"; here one can listen to them."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

logger = logging.getLogger("manifill")
logger.addHandler(logging.NullHandler())


@contextmanager
def listening(hear: Callable[[str], None]) -> Iterator[None]:
    """Inside this `with`, `hear` is called with a line whenever something long begins."""
    handler, level = logging.Handler(logging.INFO), logger.level
    handler.emit = lambda record: hear(record.getMessage())  # type: ignore[method-assign]
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
