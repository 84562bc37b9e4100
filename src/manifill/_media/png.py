"""PNG files: pixels by libpng, and what is said beside them kept to the byte.

Pillow knows no pictures of 16 bits a channel in colour, so that imagecodecs reads these, and writes all.
"""

import io
import struct
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from manifill._media import libraries

Chunk = tuple[bytes, bytes]
"""A chunk's name and what it holds."""

KEPT = frozenset(b"cHRM gAMA iCCP sRGB cICP mDCV cLLI pHYs oFFs sCAL pCAL eXIf tIME tEXt zTXt iTXt".split())
"""Chunks that hold whatever the pixels and their depth are."""


def is_deep(path: Path) -> bool:
    """Whether a PNG file has 16 bits a channel."""
    with path.open("rb") as file:
        return file.read(25)[24] == 16


def read_deep(path: Path) -> npt.NDArray[np.uint16]:
    """A picture of 16 bits a channel, (height, width, channels)."""
    return np.atleast_3d(libraries.imagecodecs().png_decode(path.read_bytes()))


def encoded(pixels: npt.NDArray[Any], chunks: Iterable[Chunk] = ()) -> bytes:
    """A PNG file of 8 or 16 bits: pixels are (height, width, channels), channels 1 to 4."""
    codecs = libraries.imagecodecs()
    file = codecs.png_encode(np.ascontiguousarray(pixels), 6, strategy=codecs.PNG.STRATEGY.FILTERED)
    # By hand: imagecodecs writes no chunks, and Pillow's `PngInfo.add` silently drops half of those kept
    # (cLLI, eXIf, iCCP, mDCV, oFFs, pCAL, pHYs, sCAL). All may stand behind the header: 33 bytes.
    said = (
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks
    )
    return b"".join([file[:33], *said, file[33:]])


def kept_chunks(path: Path) -> tuple[Chunk, ...]:
    """What a file says beside its pixels, and what stays true of other pixels."""
    with path.open("rb") as file:
        return _kept(file)


def chunks_for(info: dict[str, Any]) -> tuple[Chunk, ...]:
    """The chunks that say what Pillow tells of a picture in another format, as Pillow writes them."""
    image = libraries.pillow()
    from PIL.PngImagePlugin import PngInfo

    file, said = io.BytesIO(), PngInfo()
    if info.get("comment"):
        said.add_itxt("Comment", info["comment"].decode("utf-8", "replace"))
    dpi = np.clip(np.array(info.get("dpi", ()), float), 0, 1e8).tolist()  # what the chunk has room for
    given = {name: info[name] for name in ("icc_profile", "exif") if name in info}
    image.new("L", (1, 1)).save(file, "PNG", pnginfo=said, dpi=dpi, **given)
    return _kept(file)


def _kept(file: IO[bytes]) -> tuple[Chunk, ...]:
    # By hand: Pillow tells what chunks mean rather than what they hold, and of some nothing.
    chunks = []
    file.seek(8)
    while len(start := file.read(8)) == 8 and start[4:] != b"IEND":
        size, name = struct.unpack(">I4s", start)
        data = file.read(size + 4)[:size]  # without the checksum
        if len(data) < size:
            raise ValueError("it ends too early")
        chunks += [(name, data)] if name in KEPT else []
    return tuple(chunks)
