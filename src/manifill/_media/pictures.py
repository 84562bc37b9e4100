"""Stacks of pictures: a folder of them, a TIFF file with pages, a NumPy file, or one picture."""

import os
import re
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from manifill._files.atomic import atomic_write, check_writable
from manifill._media import formats, pages, stacks
from manifill._media.formats import Origin
from manifill._media.pages import Pixels, Tiff
from manifill.errors import InvalidInput

_Found = tuple[str, Pixels, Pixels | None, Origin | None]


@dataclass(frozen=True)
class Pictures:
    """Pictures of one size and kind, and what is needed to write them back.

    Attributes
    ----------
    values : (n, height, width, channels)
        In the files' own type, without alpha; one channel or three.
    alpha : (n, height, width) or None
        Opacity, in the same type; None where no picture has any.
    names : of the files; of a file with many pictures, with a number each
    source : where they were read from
    """

    values: Pixels
    alpha: Pixels | None
    names: tuple[str, ...]
    source: Path
    origins: tuple[Origin, ...] = field(default=(), repr=False)
    """How each was written; empty for files which hold them all."""
    tiff: Tiff | None = field(default=None, repr=False)
    ndim: int = 4
    """How many dimensions the array in a NumPy file has."""
    key: str = ""
    """What it is called in an .npz file."""
    folder: bool = False
    """Whether the source is a folder."""


def read_pictures(path: Path) -> Pictures:
    """Read a folder of pictures, a TIFF file with any number of pages, a NumPy file, or one picture."""
    if path.is_dir():
        found = sorted((one for one in path.iterdir() if _is_picture(one)), key=_natural)
        if not found:
            raise InvalidInput(f"{path} must hold pictures ({' '.join(formats.ENDINGS)}); it holds none.")
        stack = _stack(path, ((one.name, *formats.read_picture(one)) for one in found), len(found))
        return replace(stack, folder=True)
    if not path.is_file():
        raise InvalidInput(f"There is no file or folder {path}. Is it elsewhere?")
    if path.suffix.lower() in stacks.ENDINGS:
        return _read_numpy(path)
    if pages.is_tiff(path):
        found_pages, how = pages.read_pages(path)
        named = ((f"{path.name}, page {i + 1}", *one, None) for i, one in enumerate(found_pages))
        return _stack(path, named, len(found_pages), how)
    return _stack(path, [(path.name, *formats.read_picture(path))], 1)


def write_pictures(
    pictures: Pictures, values: Pixels, output: Path, *, alpha: Pixels | None = None, force: bool = False
) -> list[str]:
    """Write other values the way the pictures had been written, whole or not at all.

    Parameters
    ----------
    pictures : what was read
    values : (n, height, width, channels)
        What to write. Floats are rounded to whole numbers where the pictures hold these.
    output : a folder for a folder, a file for a file
    alpha : (n, height, width), optional
        Opacity to write, for pictures that have any; as it was read by default.
    force : whether to write over files that exist; others in the folder are left alone

    Returns
    -------
    lines : what was written differently from how it was read, and why
    """
    values = _like(values, pictures.values, "values")
    if pictures.alpha is None:
        alpha = None
    else:
        alpha = _like(pictures.alpha if alpha is None else alpha, pictures.alpha, "alpha")
    check_target(pictures, output, force)
    if pictures.folder:
        return _write_folder(pictures, values, alpha, output, force)
    if pictures.origins:
        origin = pictures.origins[0]
        target = output.with_name(origin.named(output.name))
        with atomic_write(target, "wb") as file:
            file.write(formats.encoded(values[0], None if alpha is None else alpha[0], origin))
        lines = [origin.renamed(output.name, target.name)] if target.name != output.name else []
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


def _stack(path: Path, found: Iterable[_Found], n: int, how: Tiff | None = None) -> Pictures:
    """One array of all pictures, which must be alike."""
    names: list[str] = []
    origins: list[Origin] = []
    values: Pixels = np.empty(0)
    alpha: Pixels | None = None
    for i, (name, one, own, origin) in enumerate(found):
        if i == 0:
            values = np.empty((n, *one.shape), one.dtype)
        elif one.shape != values.shape[1:] or one.dtype != values.dtype:
            raise InvalidInput(
                f"Pictures of a stack must be of one size, kind and depth; {names[0]} is {_said(values[0])}, "
                f"but {name} is {_said(one)}. Resize or convert one, or put those that differ elsewhere."
            )
        values[i] = one
        if own is not None:
            if alpha is None:
                alpha = np.full(values.shape[:3], _opaque(values.dtype), values.dtype)
            alpha[i] = own
        names.append(name)
        origins += [] if origin is None else [origin]
    return Pictures(values, alpha, tuple(names), path, tuple(origins), how)


def _said(one: Pixels) -> str:
    height, width, channels = one.shape
    return f"{width} × {height}, {'grey' if channels == 1 else 'colour'}, {one.dtype}"


def _opaque(dtype: np.dtype[Any]) -> Any:
    return np.iinfo(dtype).max if dtype.kind in "ui" else 1.0


def _is_picture(path: Path) -> bool:
    return path.is_file() and not path.name.startswith(".") and path.suffix.lower() in formats.ENDINGS


def _natural(path: Path) -> tuple[list[Any], str]:
    """Numbers in names count as numbers: 2.png comes before 10.png."""
    parts = re.split(r"([0-9]+)", path.name.lower())
    return [int(part) if i % 2 else part for i, part in enumerate(parts)], path.name


def _like(new: Pixels, old: Pixels, name: str) -> Pixels:
    """New values in the type of the old."""
    if new.shape != old.shape:
        raise InvalidInput(f"{name} must have the pictures' shape {old.shape}; theirs is {new.shape}.")
    if new.dtype == old.dtype or old.dtype.kind not in "ui":
        return new.astype(old.dtype, copy=False)
    if not np.isfinite(new).all():
        raise InvalidInput(f"{name} must be numbers everywhere to be written as {old.dtype}; fill them.")
    limits = np.iinfo(old.dtype)
    return np.clip(np.rint(new), limits.min, limits.max).astype(old.dtype)


def check_target(pictures: Pictures, output: Path, force: bool) -> None:
    """Refuse a file that these pictures cannot be written to; what is in a folder is seen when written."""
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
        raise InvalidInput(f"{output} must end in {' or '.join(endings)}, since {pictures.source} is read.")
    if output.exists() and not force:
        raise InvalidInput(f"{output} exists already; name another file or force it.")


def _write_folder(
    pictures: Pictures, values: Pixels, alpha: Pixels | None, output: Path, force: bool
) -> list[str]:
    lines: list[str] = []
    names: list[str] = []
    for before, origin in zip(pictures.names, pictures.origins, strict=True):
        after = origin.named(before)
        if after in names or (after != before and after in pictures.names):
            after = before + formats.SUFFIXES[origin.written][0]
        names.append(after)
        lines += [origin.renamed(before, after)] if after != before else []
        lines += [f"{after} {change}." for change in origin.changes]
    _check_folder(output, names, force)
    with _whole_folder(output) as folder:
        for i, (name, origin) in enumerate(zip(names, pictures.origins, strict=True)):
            own = alpha[i] if alpha is not None and origin.has_alpha else None
            (folder / name).write_bytes(formats.encoded(values[i], own, origin))
    return lines


def _check_folder(output: Path, names: list[str], force: bool) -> None:
    if output.exists() and not output.is_dir():
        raise InvalidInput(f"{output} is a file; name a folder to write {len(names)} pictures into.")
    there = [name for name in names if (output / name).exists()]
    if there and not force:
        raise InvalidInput(f"{output} has {there[0]} already; name another folder or force it.")
    beside = output.resolve().parent
    if not beside.is_dir():
        raise InvalidInput(f"There is no folder {beside} to make {output.name} in; make it first.")
    if not os.access(beside, os.W_OK):
        raise InvalidInput(f"The folder {beside} cannot be written to; choose another for {output.name}.")


@contextmanager
def _whole_folder(output: Path) -> Iterator[Path]:
    """A folder that takes its name only when all is in it.

    One that has files already is given the new ones at the end, one by one, each of them whole.
    """
    output = output.resolve()
    folder = output.with_name(f".{output.name}.{secrets.token_hex(4)}")
    folder.mkdir()
    try:
        yield folder
        if output.is_dir() and any(output.iterdir()):
            for one in folder.iterdir():
                os.replace(one, output / one.name)
            folder.rmdir()
        else:
            if output.is_dir():
                output.rmdir()
            os.replace(folder, output)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
