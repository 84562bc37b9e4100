import signal
import sys

import pytest


@pytest.fixture(autouse=True)
def process_settings():
    """Put back what the command line sets for its process: signal handlers and a hook for exceptions."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    hook = sys.unraisablehook
    yield
    sys.unraisablehook = hook
    for number, handler in handlers.items():
        signal.signal(number, handler)
