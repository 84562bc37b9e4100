"""How a command ends: signals, closed pipes, and the statement of what is on disk.

This module imports nothing heavy, so that signals are handled from the first moment.
"""

import codecs
import os
import signal
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from manifill._files import Transaction

INTERRUPTED, TERMINATED = 130, 143
EXIT_CODES = (
    "Exit codes: 0 done; 1 failed, or the input was refused; 2 wrong usage; 130 interrupted (Ctrl-C); "
    "143 terminated (SIGTERM)."
)
# Seconds in which further signals are ignored, so that they do not interrupt the removal of temporary files.
_CLEANING = 1.0
_PLAIN = {"█": "#", "▏": "|", "–": "-", "−": "-", "×": "x", "→": "->", "✓": "ok", "✗": "no", "·": "-"}
_ERRORS = "manifill.plain"


class _Ending:
    """What happened in this call of the command line."""

    def __init__(self) -> None:
        self.runs: list[Transaction] = []
        self.last_signal = -_CLEANING
        self.stopped_by: int | None = None
        self.message: str | None = None


_ending = _Ending()


def begin() -> None:
    """Set up signals and the streams for text."""
    global _ending
    _ending = _Ending()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    sys.unraisablehook = _unraisable
    codecs.register_error(_ERRORS, _plain)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=_ERRORS)
    # Occupy the numbers of closed standard streams, so that no output file gets one of them.
    handle = os.open(os.devnull, os.O_RDWR)
    while handle < 3:
        handle = os.dup(handle)
    os.close(handle)


@contextmanager
def outputs() -> Iterator["Transaction"]:
    """A `transaction` for the output files of a command; the last message says if they are in place."""
    from manifill._files import transaction

    with transaction() as run:
        _ending.runs.append(run)
        yield run
        if _ending.stopped_by is not None:  # the exception was lost, for example in a destructor
            raise SystemExit(128 + _ending.stopped_by)


def go_on() -> None:
    """Continue after a signal."""
    _ending.stopped_by = None
    _ending.last_signal = -_CLEANING


def explain(text: str) -> None:
    """Set the statement of what is on disk after a signal, for commands that write files one by one."""
    _ending.message = text


def is_memory_error(error: Exception) -> bool:
    """Whether an error means that there is not enough memory: for data, a thread or a library."""
    texts = ("can't start new thread", "failed to map segment", "annot allocate memory")
    return isinstance(error, MemoryError) or any(text in str(error) for text in texts)


def ignore_signals() -> None:
    """Let nothing disturb the end of the process."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def finish(code: int) -> int:
    """Remove temporary files, print what is on disk after a signal, and return the exit code."""
    for run in _ending.runs:
        run.abandon()
    if code in (INTERRUPTED, TERMINATED):
        # After a KeyboardInterrupt in `exec` of a text, as in dataclasses, `python -m` would end by SIGINT
        # instead of with an exit code; the next such call makes it forget.
        exec("")
        done = [run for run in _ending.runs if run.outcome != "nothing was written"]
        state = _ending.message or (done[-1].outcome if done else "nothing was written")
        with suppress(Exception):  # standard error may be closed
            sys.stderr.write(
                f"manifill: {'interrupted' if code == INTERRUPTED else 'terminated'}; {state}.\n"
            )
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        if not isinstance(error, BrokenPipeError):
            with suppress(Exception):
                sys.stderr.write(f"manifill: standard output: {error.strerror}\n")
        # What is left in the buffer cannot be written; Python must not try it again.
        with suppress(Exception):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = code or 1
    return code


def _stop(number: int, _frame: Any) -> None:
    """End the command through its clean-up code."""
    now = monotonic()
    if now - _ending.last_signal < _CLEANING:
        return
    _ending.last_signal, _ending.stopped_by = now, number
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)


def _unraisable(lost: Any) -> None:
    """Print exceptions in destructors, except those that follow from an ending that is reported anyway."""
    if _ending.stopped_by is None and not isinstance(lost.exc_value, OSError | ValueError):
        sys.__unraisablehook__(lost)


def _plain(error: UnicodeError) -> tuple[str, int]:
    """Replace characters that the terminal's encoding does not have."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    texts = []
    for letter in error.object[error.start : error.end]:
        simple = unicodedata.normalize("NFKD", letter).encode("ascii", "ignore").decode()
        texts.append(_PLAIN.get(letter, simple or "?"))
    return "".join(texts), error.end
