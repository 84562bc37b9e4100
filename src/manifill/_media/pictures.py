"""Reading and writing stacks of pictures: a folder, a multi-page TIFF file, a NumPy file, or one picture."""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from manifill._files.atomic import atomic_write, transaction
from manifill._files.checks import check_writable
from manifill._media import formats, pages, stacks
from manifill._media.formats import Origin
from manifill._media.pages import Pixels, Tiff
from manifill.errors import InvalidInput

_Picture = tuple[str, Pixels, Pixels | None, Origin | None]


@dataclass(frozen=True)
class Pictures:
    """Pictures of equal shape and dtype, with the information needed to write them back.

    Attributes
    ----------
    values : (n, height, width, channels)
        Pixel values without alpha, in the dtype of the files; one channel or three.
    alpha : (n, height, width) or None
        Alpha channel, in the same dtype; None if no picture has one.
    names : (n,), file names; for a file with several pictures, its name and a page or picture number
    source : path of the file or folder
    """

    values: Pixels
    alpha: Pixels | None
    names: tuple[str, ...]
    source: Path
    origins: tuple[Origin, ...] = field(default=(), repr=False)
    """(n,), format and metadata of each picture; empty if the source is a TIFF or NumPy file."""
    tiff: Tiff | None = field(default=None, repr=False)
    """Settings if the source is a TIFF file, else None."""
    ndim: int = 4
    """Number of dimensions of the array in a NumPy file."""
    key: str = ""
    """Name of the array in an .npz file; empty for other sources."""
    folder: bool = False
    """Whether the source is a folder."""


def read_pictures(path: Path) -> Pictures:
    """Read a folder of pictures, a TIFF file with any number of pages, a NumPy file, or one picture."""
    if path.is_dir():
        found = sorted((one for one in path.iterdir() if _is_picture(one)), key=_natural)
        if not found:
            raise InvalidInput(f"{path} must contain pictures ({' '.join(formats.ENDINGS)}); it has none.")
        stack = _stack(path, ((one.name, *formats.read_picture(one)) for one in found), len(found))
        return replace(stack, folder=True)
    if not path.is_file():
        raise InvalidInput(f"There is no file or folder {path}. Check the path.")
    if path.suffix.lower() in stacks.ENDINGS:
        return _read_numpy(path)
    if pages.is_tiff(path):
        found_pages, tiff = pages.read_pages(path)
        named = ((f"{path.name}, page {i + 1}", *one, None) for i, one in enumerate(found_pages))
        return _stack(path, named, len(found_pages), tiff)
    return _stack(path, [(path.name, *formats.read_picture(path))], 1)


def write_pictures(
    pictures: Pictures, values: Pixels, output: Path, *, alpha: Pixels | None = None, force: bool = False
) -> list[str]:
    """Write new values in the original format; no file is left partially written.

    Parameters
    ----------
    pictures : Pictures, as returned by `read_pictures`
    values : (n, height, width, channels)
        New values. Floats are rounded if the pictures have an integer dtype.
    output : path of a folder if the source is a folder, otherwise of a file
    alpha : (n, height, width), optional
        Alpha to write, for pictures that have an alpha channel; by default it is unchanged.
    force : bool, overwrite existing files; other files in the folder are kept

    Returns
    -------
    lines : list of messages about differences from the original format, with the reasons
    """
    values = _as_dtype_of(values, pictures.values, "values")
    if pictures.alpha is None:
        alpha = None
    else:
        alpha = _as_dtype_of(pictures.alpha if alpha is None else alpha, pictures.alpha, "alpha")
    check_target(pictures, output, force)
    if pictures.folder:
        return _write_folder(pictures, values, alpha, output, force)
    if pictures.origins:
        origin = pictures.origins[0]
        target = output.with_name(origin.named(output.name))
        with atomic_write(target, "wb") as file:
            file.write(formats.encoded(values[0], None if alpha is None else alpha[0], origin))
        renamed = target.name != output.name
        lines = [f"{output.name} {origin.renamed(target.name)}"] if renamed else []
        return lines + [f"{target.name} {change}." for change in origin.changes]
    if pictures.tiff is not None:
        with atomic_write(output, "wb") as file:
            file.write(pages.encoded(values, alpha, pictures.tiff))
        return [f"{output.name} {change}." for change in pictures.tiff.changes]
    array = values if alpha is None else np.concatenate([values, alpha[..., None]], axis=-1)
    if pictures.ndim < 4:
        array = array[..., 0] if pictures.ndim == 3 else array[0, ..., 0]
    stacks.save(output, array, pictures.source, pictures.key)
    return []


def _read_numpy(path: Path) -> Pictures:
    array, key = stacks.load(path)
    values = array.reshape(1, *array.shape) if array.ndim == 2 else array
    values = values[..., None] if values.ndim == 3 else values
    alpha = values[..., 3] if values.shape[3] == 4 else None
    names = tuple(f"{path.name}, picture {i + 1}" for i in range(len(values)))
    return Pictures(values[..., :3], alpha, names, path, ndim=array.ndim, key=key)


def _stack(path: Path, found: Iterable[_Picture], n: int, tiff: Tiff | None = None) -> Pictures:
    """Combine pictures, which must have equal shapes and dtypes, into one `Pictures`."""
    names: list[str] = []
    origins: list[Origin] = []
    values: Pixels = np.empty(0)
    alpha: Pixels | None = None
    for i, (name, one, own_alpha, origin) in enumerate(found):
        if i == 0:
            values = np.empty((n, *one.shape), one.dtype)
        elif one.shape != values.shape[1:] or one.dtype != values.dtype:
            raise InvalidInput(
                f"Pictures of a stack must have one size, colour mode and dtype; {names[0]} is "
                f"{_describe(values[0])}, but {name} is {_describe(one)}. Resize, convert or move "
                "those that differ."
            )
        values[i] = one
        if own_alpha is not None:
            if alpha is None:
                alpha = np.full(values.shape[:3], _opaque(values.dtype), values.dtype)
            alpha[i] = own_alpha
        names.append(name)
        origins += [] if origin is None else [origin]
    return Pictures(values, alpha, tuple(names), path, tuple(origins), tiff)


def _describe(one: Pixels) -> str:
    height, width, channels = one.shape
    return f"{width} × {height}, {'grey' if channels == 1 else 'colour'}, {one.dtype}"


def _opaque(dtype: np.dtype[Any]) -> Any:
    return np.iinfo(dtype).max if dtype.kind in "ui" else 1.0


def _is_picture(path: Path) -> bool:
    return path.is_file() and not path.name.startswith(".") and path.suffix.lower() in formats.ENDINGS


def _natural(path: Path) -> tuple[list[Any], str]:
    """Key for natural sorting: 2.png comes before 10.png."""
    parts = re.split(r"([0-9]+)", path.name.lower())
    return [int(part) if i % 2 else part for i, part in enumerate(parts)], path.name


def _as_dtype_of(new: Pixels, old: Pixels, name: str) -> Pixels:
    """`new` in the dtype of `old`; for integer dtypes rounded and clipped to their range."""
    if new.shape != old.shape:
        raise InvalidInput(f"{name} must have the pictures' shape {old.shape}; got {new.shape}.")
    if new.dtype == old.dtype or old.dtype.kind not in "ui":
        return new.astype(old.dtype, copy=False)
    if not np.isfinite(new).all():
        raise InvalidInput(f"{name} must be finite to be written as {old.dtype}; fill the missing ones.")
    limits = np.iinfo(old.dtype)
    return np.clip(np.rint(new), limits.min, limits.max).astype(old.dtype)


def check_target(pictures: Pictures, output: Path, force: bool) -> None:
    """Raise InvalidInput if `output` cannot be written; the contents of a folder are checked when writing."""
    if pictures.folder:
        return
    endings: tuple[str, ...] = (pictures.source.suffix.lower(),)
    if pictures.origins:
        output = output.with_name(pictures.origins[0].named(output.name))
        endings = formats.SUFFIXES[pictures.origins[0].written]
    elif pictures.tiff is not None:
        endings = formats.SUFFIXES["TIFF"]
    check_writable(output)
    if output.suffix.lower() not in endings:
        raise InvalidInput(f"{output} must end in {' or '.join(endings)}, the format of {pictures.source}.")
    if output.exists() and not force:
        raise InvalidInput(f"{output} exists already; choose another name or force overwriting.")


def _write_folder(
    pictures: Pictures, values: Pixels, alpha: Pixels | None, output: Path, force: bool
) -> list[str]:
    names: list[str] = []
    for before, origin in zip(pictures.names, pictures.origins, strict=True):
        after = origin.named(before)
        if after in names or (after != before and after in pictures.names):
            after = before + formats.SUFFIXES[origin.written][0]
        names.append(after)
    lines = _changes(pictures, names)
    _check_folder(output, names, force)
    with transaction() as run:
        run.make_folder(output)
        for i, (name, origin) in enumerate(zip(names, pictures.origins, strict=True)):
            own_alpha = alpha[i] if alpha is not None and origin.has_alpha else None
            with atomic_write(output / name, "wb") as file:
                file.write(formats.encoded(values[i], own_alpha, origin))
    return lines


def _changes(pictures: Pictures, names: list[str]) -> list[str]:
    """A line for every kind of change, with the number of pictures."""
    changed: dict[str, list[tuple[str, str]]] = {}  # kind of change → names, and the change of each picture
    for before, after, origin in zip(pictures.names, names, pictures.origins, strict=True):
        if after != before:
            kind = origin.renamed(Path(after).suffix)
            changed.setdefault(kind, []).append((before, origin.renamed(after)))
        for change in origin.changes:
            changed.setdefault(f"{change}.", []).append((after, f"{change}."))
    lines = []
    for kind, each in changed.items():
        name, change = each[0]
        several = f"{len(each):,} pictures, such as {name}: each {kind}"
        lines.append(f"{name} {change}" if len(each) == 1 else several)
    return lines


def _check_folder(output: Path, names: list[str], force: bool) -> None:
    if output.exists() and not output.is_dir():
        raise InvalidInput(f"{output} is a file; name a folder for the {len(names)} pictures.")
    existing = [name for name in names if (output / name).exists()]
    if existing and not force:
        raise InvalidInput(f"{output} has {existing[0]} already; choose another folder or force overwriting.")
    parent = output.resolve().parent
    if not parent.is_dir():
        raise InvalidInput(f"There is no folder {parent} to create {output.name} in; create it first.")
    folder = output if output.is_dir() else parent
    if not os.access(folder, os.W_OK):
        raise InvalidInput(f"The folder {folder} is not writable; choose another for the pictures.")
