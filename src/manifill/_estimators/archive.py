"""Arrays and JSON text in a zip file that anybody may have made: read with limits on memory.

A small zip file can declare or unpack to any size. Here sizes are compared with what the file declares before
memory is taken, only members that are needed are unpacked, and no more bytes of them than declared.
"""

import io
import json
import math
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from manifill._arrays import Array

MANIFEST = "manifest"
# Largest directory of the zip file, in bytes; each of its entries takes some hundred bytes of memory.
_MAX_DIRECTORY = 2**20
# The parsed manifest may take this share of the memory, 64 MB of 1 GB: it is small even for 30,000 columns,
# and short text can be parsed into many objects. Memory of objects that begin with each of these characters:
_MANIFEST_SHARE = 1 / 16
_OBJECT_SIZES = {b"{": 300, b"[": 90, b'"': 40, b",": 40}
_CHUNK = 2**18


class Refused(Exception):
    """A file that is not read, with the reason."""


class _Directory(io.BufferedReader):
    """A file in which no more than a directory's size is read at a time."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > _MAX_DIRECTORY:
            raise Refused(f"{self.name} has a directory of {size:,} bytes; a model has far fewer members.")
        return super().read(size)


def write(file: Any, manifest: dict[str, Any], arrays: dict[str, Array]) -> None:
    """Write JSON data and the arrays that it names."""
    text = np.frombuffer(json.dumps(manifest).encode(), dtype=np.uint8)
    try:
        np.savez_compressed(file, **{MANIFEST: text}, **arrays)  # type: ignore[arg-type]
    except ValueError as error:  # zipfile cannot be closed after a signal, and hides the interrupt
        cause: BaseException | None = error
        while cause is not None and isinstance(cause, Exception):
            cause = cause.__context__
        raise error if cause is None else cause from None


def read(path: Path, max_bytes: int, check: Any) -> tuple[dict[str, Any], dict[str, Array]]:
    """The JSON data of a file, and the arrays that it names.

    Raises Refused if they take more than `max_bytes`; other exceptions if the file is damaged. `check` is
    called with the JSON data before arrays are read.
    """
    with _Directory(io.FileIO(path)) as file, zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        by_name = {member.filename.removesuffix(".npy"): member for member in members}
        if len(by_name) < len(members):
            raise ValueError("two members have one name")
        text = by_name[MANIFEST]
        copies = 3 * text.file_size  # bytes, text and strings in it
        _limit(path, copies, max_bytes, _MANIFEST_SHARE)
        content = _array(archive, text).tobytes()
        objects = copies + sum(size * content.count(start) for start, size in _OBJECT_SIZES.items())
        _limit(path, objects, max_bytes, _MANIFEST_SHARE)
        manifest = json.loads(content.decode())
        del content
        check(manifest)
        keys = set(_array_keys(manifest))
        _limit(path, objects + sum(by_name[key].file_size for key in keys), max_bytes)
        return manifest, {key: _array(archive, by_name[key]) for key in keys}


def _limit(path: Path, size: int, max_bytes: int, share: float = 1.0) -> None:
    """Raise Refused if the size is more than this share of the limit."""
    needed = math.ceil(size / share)
    if needed > max_bytes:
        raise Refused(
            f"{path} must need at most {max_bytes:,} bytes of memory; it declares {needed:,}. If you trust "
            f"the file, load it in Python: TableImputer.load(path, max_bytes={needed})."
        )


def _array_keys(data: Any) -> Iterator[str]:
    """The names of the arrays in JSON data: the values of `array` in its objects."""
    if isinstance(data, dict) and "array" in data:
        yield data["array"]
    elif isinstance(data, dict | list):
        for value in data.values() if isinstance(data, dict) else data:
            yield from _array_keys(value)


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Array:
    """A member of the archive as an array; raises ValueError unless it is exactly as large as declared."""
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or member.flag_bits & 1:
        raise ValueError("an unknown compression, or a password")
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        header = np.lib.format.read_array_header_1_0 if version == (1, 0) else None
        if header is None:
            raise ValueError("an unknown form of array")
        shape, fortran, dtype = header(file)
        size = math.prod(shape) * dtype.itemsize
        if dtype.kind not in "fiub" or dtype.itemsize > 8 or file.tell() + size != member.file_size:
            raise ValueError("an array of another size or type than declared")
        if max(shape, default=0) > member.file_size:
            raise ValueError("an array without values")
        flat = np.empty(math.prod(shape), dtype)
        bytes_left = memoryview(flat.view(np.uint8))  # type: ignore[arg-type]
        while len(bytes_left):
            some = file.read(min(_CHUNK, len(bytes_left)))
            if not some:
                raise ValueError("the file ends early")
            bytes_left[: len(some)] = some
            bytes_left = bytes_left[len(some) :]
        if file.read(1):  # at the end, the checksum is compared
            raise ValueError("more bytes than declared")
    flat.flags.writeable = False
    return flat.reshape(shape, order="F" if fortran else "C")
