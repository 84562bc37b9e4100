"""Files that are written whole or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from manifill.errors import InvalidInput


@contextmanager
def atomic_write(path: Path, mode: str, **options: Any) -> Iterator[IO[Any]]:
    """A file that takes its name only when everything in it is written."""
    path = path.resolve()  # through a link to what it points to
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
    """Refuse, before any work is done, a place that cannot be written to."""
    if path.is_dir():
        raise InvalidInput(f"{path} is a folder; name a file in it.")
    if not path.parent.is_dir():
        raise InvalidInput(f"There is no folder {path.parent} to write {path.name} into; make it first.")
    if not os.access(path.parent, os.W_OK):
        raise InvalidInput(f"The folder {path.parent} cannot be written to; choose another for {path.name}.")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
