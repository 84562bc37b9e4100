"""Write files completely or not at all, and all files of one run together.

Every file is first written under a temporary name in the folder of its target, `.manifill-PROCESS-RANDOM`
with the ending of the target, and flushed to the disk. When all files of the run are complete, they are
renamed one after the other; SIGINT and SIGTERM wait meanwhile. If a rename fails, those before it are undone.
So a file is at any moment the old one or the complete new one, and after a failure all files of a run are the
old ones. A process that is killed (SIGKILL) may leave temporary files behind.

Devices, named pipes and standard output cannot be replaced by a rename. What goes to them is collected in a
temporary file, and copied to them after the renames.
"""

import errno
import os
import secrets
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

from manifill.errors import InvalidInput

if sys.platform != "win32":
    import fcntl

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# Seconds to wait for another run that renames files in the same folder.
_MAX_WAIT = 10.0
# Bytes that are copied to a pipe at a time.
_CHUNK = 1 << 16


@dataclass
class _Output:
    """A file to be written; `target` is None for standard output."""

    name: str
    target: Path | None
    temporary: Path
    former: Path | None = None
    """A second name of the file that is replaced, kept until the last rename is done."""
    renamed: bool = False

    def keep_former(self) -> None:
        """Give the existing file a second name, or copy it where the file system has no hard links."""
        assert self.target is not None
        if not self.target.exists():
            return
        self.former = _temporary_name(self.target)
        try:
            os.link(self.target, self.former)
        except OSError:
            shutil.copy2(self.target, self.former)
            _sync(self.former)

    def rename(self) -> None:
        """Replace the existing file, and keep its permissions and, if possible, its owner."""
        assert self.target is not None
        if self.target.exists():
            found = self.target.stat()
            if hasattr(os, "chown"):
                with suppress(OSError):
                    os.chown(self.temporary, found.st_uid, found.st_gid)
            os.chmod(self.temporary, found.st_mode & 0o7777)
        os.replace(self.temporary, self.target)
        self.renamed = True

    def undo(self) -> None:
        if not self.renamed:
            return
        assert self.target is not None
        if self.former is None:
            self.target.unlink(missing_ok=True)
        else:
            os.replace(self.former, self.target)
        self.renamed = False

    def clean_up(self) -> None:
        """Remove the temporary files, except a former file that could not be put back."""
        with suppress(OSError):
            self.temporary.unlink(missing_ok=True)
        if self.former is not None and not self.renamed:
            with suppress(OSError):
                self.former.unlink(missing_ok=True)


class Transaction:
    """The output files of one run; see `transaction`.

    Attributes
    ----------
    written : names of the files that are in place
    incomplete : name of the pipe or device that was written to in part, or None
    """

    def __init__(self) -> None:
        self._files: list[_Output] = []
        self._streams: list[_Output] = []
        self._folders: list[Path] = []
        self.written: list[str] = []
        self.incomplete: str | None = None

    def add(self, path: Path) -> _Output:
        """Create the temporary file of an output."""
        try:
            target = path.resolve()  # replace the target of a symbolic link, not the link
        except RuntimeError as error:  # a symbolic link to itself
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path)) from error
        if target.is_dir():
            raise InvalidInput(f"{path} is a folder; give the name of a file in it.")
        if target.exists() and not target.is_file():
            return self._add_stream(str(path), target)
        mode = target.stat().st_mode & 0o777 | 0o600 if target.exists() else 0o666
        output = _Output(str(path), target, _temporary_name(target))
        self._files.append(output)  # before the file exists, so that it is removed however the run ends
        _create(output.temporary, mode)
        return output

    def add_standard_output(self) -> _Output:
        """Create the temporary file for what goes to standard output."""
        return self._add_stream("standard output", None)

    def _add_stream(self, name: str, target: Path | None) -> _Output:
        collected = Path(tempfile.gettempdir(), (target or Path("out.txt")).name)
        output = _Output(name, target, _temporary_name(collected))
        self._streams.append(output)
        _create(output.temporary, 0o600)
        return output

    def discard(self, output: _Output) -> None:
        """Do not write this file."""
        output.clean_up()
        for outputs in (self._files, self._streams):
            if output in outputs:
                outputs.remove(output)

    def make_folder(self, folder: Path) -> None:
        """Create a folder and its parents; if the run fails, those that were created are removed."""
        for one in reversed([folder, *folder.parents]):
            if not one.exists():
                self._folders.append(one)
                one.mkdir(exist_ok=True)

    def commit(self) -> None:
        """Put all files in place, then copy to pipes and devices what goes there."""
        folders = {one.target.parent for one in self._files if one.target is not None}
        with _locked(folders), _deferred_signals():
            try:
                for one in self._files:
                    self._step(one, one.keep_former)
                for one in self._files:
                    self._step(one, one.rename)
                for folder in folders | {folder.parent for folder in self._folders}:
                    _sync_folder(folder)
            except BaseException as error:
                stuck = self._undo()
                if stuck:
                    raise OSError(errno.EIO, f"{error}; {'; '.join(stuck)}") from error
                raise
            self.written = [one.name for one in self._files]
            self.incomplete = self._streams[0].name if self._streams else None
            for one in self._files:
                one.renamed = False  # the new file stays, so the former one may go
                one.clean_up()
            self._files, self._folders = [], []
        for one in self._streams:
            self.incomplete = one.name
            self._step(one, partial(_send, one))
        self.incomplete = None

    @staticmethod
    def _step(output: _Output, action: Callable[[], None]) -> None:
        """Do something with an output; errors name the file of the user."""
        try:
            action()
        except OSError as error:
            raise _named(error, output) from error

    def _undo(self) -> list[str]:
        """Put the former files back; return a message for each that could not be."""
        stuck = []
        for one in reversed(self._files):
            try:
                one.undo()
            except OSError as error:
                former = f"; the former file is {one.former}" if one.former else ""
                stuck.append(
                    f"{one.name} is the new file and could not be put back: {error.strerror}{former}"
                )
        return stuck

    def abandon(self) -> None:
        """Remove temporary files and empty new folders. After `commit` this changes nothing."""
        for one in (*self._files, *self._streams):
            one.clean_up()
        for folder in reversed(self._folders):
            with suppress(OSError):  # not empty
                folder.rmdir()
        self._files, self._streams, self._folders = [], [], []

    @property
    def outcome(self) -> str:
        """In words, what is on disk."""
        partly = f"{self.incomplete} is incomplete" if self.incomplete else ""
        if self.written:
            text = f"all files had been written already: {', '.join(self.written)}"
            return f"{text}; {partly}" if partly else text
        return partly or "nothing was written"


_open_transaction: ContextVar[Transaction | None] = ContextVar("_open_transaction", default=None)


@contextmanager
def transaction() -> Iterator[Transaction]:
    """Files that `atomic_write` writes in this block appear together at its end, or none does.

    Within another such block it has no effect of its own.
    """
    outer = _open_transaction.get()
    if outer is not None:
        yield outer
        return
    run = Transaction()
    token = _open_transaction.set(run)
    try:
        yield run
        run.commit()
    finally:
        _open_transaction.reset(token)
        with _deferred_signals():
            run.abandon()


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Name of a temporary file that replaces `path` when the block ends without an exception.

    An existing file keeps its permissions. Devices and named pipes are not replaced but written to. Within
    a `transaction` the file appears at the end of that.
    """
    with transaction() as run, _collected(run, path) as output:
        yield output.temporary


@contextmanager
def atomic_write(path: Path, mode: str, **options: Any) -> Iterator[IO[Any]]:
    """Open a temporary file that replaces `path` when the block ends without an exception.

    See `atomic_path` for the rest.
    """
    with atomic_path(path) as temporary, temporary.open(mode, **options) as file:
        yield file


@contextmanager
def standard_output(encoding: str) -> Iterator[IO[str]]:
    """Open a text file; its content goes to standard output at the end, after files were renamed."""
    with (
        transaction() as run,
        _collected(run, None) as output,
        output.temporary.open("w", encoding=encoding, newline="") as file,
    ):
        yield file


@contextmanager
def _collected(run: Transaction, path: Path | None) -> Iterator[_Output]:
    """An output of the run; it is flushed to the disk at the end, or discarded after an exception."""
    output: _Output | None = None
    try:
        output = run.add_standard_output() if path is None else run.add(path)
        yield output
        if output.target is not None:
            _sync(output.temporary)
    except BaseException as error:
        if output is not None:
            run.discard(output)
        if isinstance(error, OSError):
            raise _named(error, output, path) from error
        raise


def _named(error: OSError, output: _Output | None, path: Path | None = None) -> OSError:
    """The error with the name of the user's file in place of a temporary one, or of none."""
    found = str(error.filename or "")
    if found and ".manifill-" not in found:
        return error
    text = str(error) if error.errno is None else os.strerror(error.errno)
    return OSError(error.errno or errno.EIO, text, output.name if output else str(path))


def _temporary_name(path: Path) -> Path:
    return path.with_name(f".manifill-{os.getpid()}-{secrets.token_hex(6)}{path.suffix[:20]}")


def _create(path: Path, mode: int) -> None:
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode))


def _sync(path: Path) -> None:
    """Flush a file to the disk."""
    handle = os.open(path, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _sync_folder(folder: Path) -> None:
    """Flush the names in a folder to the disk, where the system can."""
    if os.name == "nt":
        return
    try:
        handle = os.open(folder, os.O_RDONLY)
    except PermissionError:  # a folder in which one may write but not list
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise OSError(error.errno, error.strerror, str(folder)) from error
    finally:
        os.close(handle)


def _send(output: _Output) -> None:
    """Copy the temporary file to a device, a named pipe or standard output."""
    with output.temporary.open("rb") as collected, ExitStack() as opened:
        if output.target is not None:
            sink: Any = opened.enter_context(output.target.open("wb", buffering=0))
        else:
            buffer = getattr(sys.stdout, "buffer", None)
            if buffer is None:  # no file, such as an io.StringIO
                sys.stdout.write(collected.read().decode())
                return
            sys.stdout.flush()
            sink = getattr(buffer, "raw", buffer)  # unbuffered: nothing is left to be flushed after an error
        while chunk := memoryview(collected.read(_CHUNK)):
            while chunk:
                n = sink.write(chunk)
                if n is None:  # a pipe that does not block and is full
                    time.sleep(0.01)
                chunk = chunk[n or 0 :]


@contextmanager
def _deferred_signals() -> Iterator[None]:
    """SIGINT and SIGTERM that arrive during the block take effect at its end."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are handled in the main thread only
        return
    received: list[int] = []
    former: dict[signal.Signals, Any] = {}
    try:
        for number in _SIGNALS:
            handler = signal.getsignal(number)
            if handler is not None:  # None: not set by Python
                former[number] = handler
                signal.signal(number, lambda number, _: received.append(number))
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
        for one in received[:1]:
            signal.raise_signal(one)


@contextmanager
def _locked(folders: Iterable[Path]) -> Iterator[None]:
    """Hold a lock on each folder, so that two runs do not rename their files at the same time.

    Where there are no locks, or after waiting for `_MAX_WAIT` seconds, the run goes on without.
    """
    with ExitStack() as held:
        for folder in sorted(folders) if sys.platform != "win32" else ():
            with suppress(OSError):
                handle = os.open(folder, os.O_RDONLY)
                held.callback(os.close, handle)
                _lock(handle)
        yield


def _lock(handle: int) -> None:
    end = time.monotonic() + _MAX_WAIT
    while sys.platform != "win32" and time.monotonic() < end:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            time.sleep(0.02)
