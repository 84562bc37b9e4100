"""PNG files: reading pixels of 16 bits per channel, writing pixels, and copying metadata chunks unchanged.

Pillow does not support colour pictures of 16 bits per channel. Therefore imagecodecs (libpng) reads these,
and writes all PNG files.
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
"""Name and data of a PNG chunk."""

KEPT = frozenset(b"cHRM gAMA iCCP sRGB cICP mDCV cLLI pHYs oFFs sCAL pCAL eXIf tIME tEXt zTXt iTXt".split())
"""Names of the chunks that are copied: they stay valid when pixel values or the bit depth change."""


def is_16_bit(path: Path) -> bool:
    """Whether a PNG file has 16 bits per channel."""
    with path.open("rb") as file:
        return file.read(25)[24] == 16


def read_16_bit(path: Path) -> npt.NDArray[np.uint16]:
    """Read a picture of 16 bits per channel, as (height, width, channels)."""
    return np.atleast_3d(libraries.imagecodecs().png_decode(path.read_bytes()))


def encoded(pixels: npt.NDArray[Any], chunks: Iterable[Chunk] = ()) -> bytes:
    """Bytes of a PNG file for pixels (height, width, 1 to 4 channels) of 8 or 16 bits, with extra chunks."""
    codecs = libraries.imagecodecs()
    file = codecs.png_encode(np.ascontiguousarray(pixels), 6, strategy=codecs.PNG.STRATEGY.FILTERED)
    # Inserted here because imagecodecs writes no metadata chunks, and Pillow's `PngInfo.add` silently drops
    # cLLI, eXIf, iCCP, mDCV, oFFs, pCAL, pHYs and sCAL. All may follow the header, the first 33 bytes.
    metadata = (
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks
    )
    return b"".join([file[:33], *metadata, file[33:]])


def kept_chunks(path: Path) -> tuple[Chunk, ...]:
    """The metadata chunks of a file that stay valid for other pixels."""
    with path.open("rb") as file:
        return _kept(file)


def chunks_for(info: dict[str, Any]) -> tuple[Chunk, ...]:
    """PNG chunks for the metadata (Pillow's `info`) of a picture in another format."""
    image = libraries.pillow()
    from PIL.PngImagePlugin import PngInfo

    file, text = io.BytesIO(), PngInfo()
    if info.get("comment"):
        text.add_itxt("Comment", info["comment"].decode("utf-8", "replace"))
    dpi = np.clip(np.array(info.get("dpi", ()), float), 0, 1e8).tolist()  # range of the pHYs chunk
    options = {name: info[name] for name in ("icc_profile", "exif") if name in info}
    image.new("L", (1, 1)).save(file, "PNG", pnginfo=text, dpi=dpi, **options)
    return _kept(file)


def _kept(file: IO[bytes]) -> tuple[Chunk, ...]:
    # Parsed here because Pillow interprets chunks instead of returning their bytes, and skips some.
    chunks = []
    file.seek(8)
    while len(start := file.read(8)) == 8 and start[4:] != b"IEND":
        size, name = struct.unpack(">I4s", start)
        data = file.read(size + 4)[:size]  # without the checksum
        if len(data) < size:
            raise ValueError("the file is truncated")
        chunks += [(name, data)] if name in KEPT else []
    return tuple(chunks)
