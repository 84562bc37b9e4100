"""Write files atomically: completely or not at all."""

import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from manifill.errors import InvalidInput


@contextmanager
def atomic_write(path: Path, mode: str, **options: Any) -> Iterator[IO[Any]]:
    """Open a temporary file that replaces `path` when the block ends without an exception.

    An existing file keeps its permissions. Devices and named pipes are not replaced but written to.
    """
    path = path.resolve()  # replace the target of a symbolic link, not the link
    if path.exists() and not path.is_file():
        with path.open(mode, **options) as file:
            yield file
        return
    temporary = path.with_name(f".{path.name[:100]}.{secrets.token_hex(8)}")
    try:
        # Created with the permissions of any new file: 0o666 less the umask.
        handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_BINARY", 0), 0o666)
        with os.fdopen(handle, mode, **options) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            os.chmod(temporary, path.stat().st_mode & 0o7777)
        os.replace(temporary, path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in (None, str(temporary), temporary):
            # The message names the file, not the temporary one.
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


def check_writable(path: Path) -> None:
    """Raise InvalidInput, before any work is done, if the path cannot be written to."""
    try:
        target = path.resolve(strict=False)
        is_folder = target.is_dir()
    except (RuntimeError, OSError) as error:  # a symbolic link to itself
        raise InvalidInput(f"{path} cannot be written to: {error}. Choose another name.") from error
    if is_folder:
        raise InvalidInput(f"{path} is a folder; give the name of a file in it.")
    if not target.parent.is_dir():
        raise InvalidInput(f"There is no folder {path.parent} to write {path.name} into; create it first.")
    replaced = not target.exists() or target.is_file()
    if not os.access(target.parent if replaced else target, os.W_OK):
        raise InvalidInput(f"The folder {target.parent} is not writable; choose another for {path.name}.")


def check_distinct(paths: Sequence[Path]) -> None:
    """Raise InvalidInput if two paths are the same file."""
    if len({os.path.realpath(path) for path in paths}) < len(paths):
        raise InvalidInput(f"Every file needs its own name; got {', '.join(map(str, paths))}.")


def check_replaceable(path: Path, force: bool) -> None:
    """Raise InvalidInput if the path is an existing regular file and `force` is False."""
    if path.is_file() and not force:
        raise InvalidInput(f"{path} exists already; use --force to replace it.")
