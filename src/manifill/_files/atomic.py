"""Write files atomically: completely or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from manifill.errors import InvalidInput


@contextmanager
def atomic_write(path: Path, mode: str, **options: Any) -> Iterator[IO[Any]]:
    """Open a temporary file that replaces `path` when the block ends without an exception."""
    path = path.resolve()  # replace the target of a symbolic link, not the link
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, mode, **options) as file:
            yield file
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def check_writable(path: Path) -> None:
    """Raise InvalidInput, before any work is done, if the path cannot be written to."""
    if path.is_dir():
        raise InvalidInput(f"{path} is a folder; give the name of a file in it.")
    if not path.parent.is_dir():
        raise InvalidInput(f"There is no folder {path.parent} to write {path.name} into; create it first.")
    if not os.access(path.parent, os.W_OK):
        raise InvalidInput(f"The folder {path.parent} is not writable; choose another for {path.name}.")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
