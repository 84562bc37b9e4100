"""Arrays of pictures in NumPy files: .npy, and .npz with one array or one called X."""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from manifill._files.atomic import atomic_write
from manifill.errors import InvalidInput

ENDINGS = (".npy", ".npz")


def load(path: Path, *, mapped: bool = False) -> tuple[npt.NDArray[Any], str]:
    """The array of a file, and what it is called there (nothing in .npy files).

    With `mapped` its numbers stay in the file until they are read.
    """
    try:
        held = np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
        if isinstance(held, np.ndarray):
            return _checked(path, held), ""
        with held:
            name = "X" if "X" in held.files else held.files[0] if len(held.files) == 1 else None
            if name is None:
                raise InvalidInput(
                    f"{path} must hold one array or one called X; it holds {', '.join(held.files) or 'none'}"
                    ". Save the pictures alone."
                )
            return _checked(path, held[name]), name
    except InvalidInput:
        raise
    except Exception as error:  # ValueError, EOFError, SyntaxError, BadZipFile, tokenize.TokenError …
        raise InvalidInput(
            f"{path} must be saved by numpy.save or numpy.savez; it cannot be read: {error}."
        ) from error


def save(path: Path, array: npt.NDArray[Any], source: Path, name: str) -> None:
    """Write an array as the file `source` holds it, with what else is in that."""
    if not name:
        with atomic_write(path, "wb") as file:
            np.save(file, array)
        return
    with np.load(source, allow_pickle=False) as held:
        arrays = {one: array if one == name else held[one] for one in held.files}
    with zipfile.ZipFile(source) as archive:
        packed = any(one.compress_type != zipfile.ZIP_STORED for one in archive.infolist())
    with atomic_write(path, "w+b") as file:
        (np.savez_compressed if packed else np.savez)(file, **arrays)  # type: ignore[arg-type]


def _checked(path: Path, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    shapes = "(n, height, width), (n, height, width, 3), (n, height, width, 4) or (height, width)"
    given = f"{path} holds an array of type {array.dtype} with the shape {array.shape}."
    if array.dtype.kind not in "uif":
        raise InvalidInput(f"Pictures must be arrays of numbers; {given} Convert it.")
    if array.ndim == 3 and array.shape[2] in (3, 4):
        raise InvalidInput(
            f"Pictures must be {shapes}; {given} If it is one picture in colour, put an axis before: X[None]."
        )
    channels = array.shape[3:] in ((), (1,), (3,), (4,))
    if array.size == 0 or array.ndim not in (2, 3, 4) or not channels:
        raise InvalidInput(f"Pictures must be {shapes}; {given} Reshape it.")
    return array
