"""Messages of the library go through `logging`, under the name "manifill"; here one can listen to them."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

logger = logging.getLogger("manifill")
logger.addHandler(logging.NullHandler())


class _Listener(logging.Handler):
    """Hands every message on to a function."""

    def __init__(self, hear: Callable[[str], None]) -> None:
        super().__init__(logging.INFO)
        self._hear = hear

    def emit(self, record: logging.LogRecord) -> None:
        self._hear(record.getMessage())


@contextmanager
def listening(hear: Callable[[str], None]) -> Iterator[None]:
    """Inside this `with`, `hear` is called with a line whenever something long begins."""
    handler, level = _Listener(hear), logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
