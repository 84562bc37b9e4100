"""What goes on, said to whoever listens; without a listener nothing is said."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[str], None]

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(hear: Listener) -> Iterator[None]:
    """Inside this `with`, `hear` is called with a line whenever something long begins."""
    token = _listener.set(hear)
    try:
        yield
    finally:
        _listener.reset(token)


def say(line: str) -> None:
    """Tell the listener, if there is one."""
    hear = _listener.get()
    if hear is not None:
        hear(line)
