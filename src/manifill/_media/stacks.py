"""Stacks of pictures in NumPy files: .npy, and .npz with a single array or one called X."""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from manifill._files.atomic import atomic_write
from manifill.errors import InvalidInput

ENDINGS = (".npy", ".npz")


def load(path: Path, *, mapped: bool = False) -> tuple[npt.NDArray[Any], str]:
    """Return the array in a file and its name there (empty for .npy files).

    With `mapped`, a .npy file is memory-mapped instead of read.
    """
    try:
        loaded = np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return _checked(path, loaded), ""
        with loaded:
            name = "X" if "X" in loaded.files else loaded.files[0] if len(loaded.files) == 1 else None
            if name is None:
                raise InvalidInput(
                    f"{path} must hold a single array or one called X; it holds "
                    f"{', '.join(loaded.files) or 'none'}. Save the pictures alone or as X."
                )
            return _checked(path, loaded[name]), name
    except InvalidInput:
        raise
    except Exception as error:  # ValueError, EOFError, SyntaxError, BadZipFile, tokenize.TokenError …
        raise InvalidInput(
            f"{path} must be saved by numpy.save or numpy.savez; reading it failed: {error}."
        ) from error


def save(path: Path, array: npt.NDArray[Any], source: Path, name: str) -> None:
    """Write an array in the format of `source`; for .npz files, copy its other arrays too."""
    if not name:
        with atomic_write(path, "wb") as file:
            np.save(file, array)
        return
    with np.load(source, allow_pickle=False) as loaded:
        arrays = {one: array if one == name else loaded[one] for one in loaded.files}
    with zipfile.ZipFile(source) as archive:
        compressed = any(one.compress_type != zipfile.ZIP_STORED for one in archive.infolist())
    with atomic_write(path, "w+b") as file:
        (np.savez_compressed if compressed else np.savez)(file, **arrays)  # type: ignore[arg-type]


def _checked(path: Path, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    shapes = "(n, height, width), (n, height, width, 3), (n, height, width, 4) or (height, width)"
    found = f"{path} holds an array of dtype {array.dtype} and shape {array.shape}."
    if array.dtype.kind not in "uif":
        raise InvalidInput(f"Pictures must be arrays of numbers; {found} Convert it.")
    if array.ndim == 3 and array.shape[2] in (3, 4):
        raise InvalidInput(
            f"Pictures must be {shapes}; {found} If it is one colour picture, add a first axis: X[None]."
        )
    channels = array.shape[3:] in ((), (1,), (3,), (4,))
    if array.size == 0 or array.ndim not in (2, 3, 4) or not channels:
        raise InvalidInput(f"Pictures must be {shapes}; {found} Reshape it.")
    return array
