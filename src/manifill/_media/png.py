"""PNG files, chunk by chunk: what is said beside the pixels is kept to the byte, and 16-bit colours are too.

Pillow knows no pictures of 16 bits a channel in colour, and keeps some of the chunks only; so that writing is
done here, and of reading what Pillow cannot.
"""

import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from manifill.errors import InvalidInput

Chunk = tuple[bytes, bytes]
"""A chunk's name and what it holds."""

SIGNATURE = b"\x89PNG\r\n\x1a\n"
KEPT = frozenset(b"cHRM gAMA iCCP sRGB cICP mDCV cLLI pHYs oFFs sCAL pCAL eXIf tIME tEXt zTXt iTXt".split())
"""Chunks that hold whatever the pixels and their depth are."""
CHANNELS = {0: 1, 2: 3, 4: 2, 6: 4}
KINDS = {channels: kind for kind, channels in CHANNELS.items()}


def kept_chunks(path: Path) -> tuple[Chunk, ...]:
    """What a file says beside its pixels, and what stays true of other pixels."""
    return tuple((name, data) for name, data in _chunks(path) if name in KEPT)


def is_deep(path: Path) -> bool:
    """Whether this is a picture of 16 bits a channel with more channels than one."""
    with path.open("rb") as file:
        start = file.read(33)
    return start[:8] == SIGNATURE and len(start) == 33 and start[24] == 16 and start[25] in (2, 4, 6)


def read_deep(path: Path) -> npt.NDArray[np.uint16]:
    """A picture of 16 bits a channel, (height, width, channels)."""
    chunks = list(_chunks(path))
    width, height, _, kind, _, _, interlaced = struct.unpack(">IIBBBBB", chunks[0][1])
    if interlaced:
        raise InvalidInput(f"{path} is interlaced with 16 bits a channel; save it without interlacing.")
    step = 2 * CHANNELS[kind]
    raw = zlib.decompress(b"".join(data for name, data in chunks if name == b"IDAT"))
    if len(raw) < height * (width * step + 1):
        raise ValueError("it ends too early")
    lines = np.frombuffer(raw, np.uint8, height * (width * step + 1)).reshape(height, -1)
    if lines[:, 0].max() > 4:
        raise ValueError("a line has no filter that PNG knows")
    pixels = _unfiltered(lines[:, 0], lines[:, 1:].reshape(height, width, step))
    deep = np.ascontiguousarray(pixels).view(">u2").astype(np.uint16)
    transparent = next((data for name, data in chunks if name == b"tRNS"), b"")
    if kind == 2 and len(transparent) == 6:
        alpha = np.where((deep == np.frombuffer(transparent, ">u2")).all(axis=2), 0, 65535)
        deep = np.dstack([deep, alpha.astype(np.uint16)])
    return deep


def encoded(pixels: npt.NDArray[Any], chunks: Sequence[Chunk] = ()) -> bytes:
    """A PNG file of 8 or 16 bits: pixels are (height, width, channels), channels 1 to 4."""
    height, width, channels = pixels.shape
    depth = 8 * pixels.dtype.itemsize
    header = struct.pack(">IIBBBBB", width, height, depth, KINDS[channels], 0, 0, 0)
    raw = np.ascontiguousarray(pixels.astype(">u2" if depth == 16 else np.uint8)).view(np.uint8)
    deflate = zlib.compressobj(6, zlib.DEFLATED, 15, 9, zlib.Z_FILTERED)
    data = deflate.compress(_filtered(raw.reshape(height, width, -1))) + deflate.flush()
    parts = [(b"IHDR", header), *chunks, (b"IDAT", data), (b"IEND", b"")]
    return SIGNATURE + b"".join(_packed(name, content) for name, content in parts)


def chunks_for(info: dict[str, Any]) -> tuple[Chunk, ...]:
    """The chunks that say what Pillow tells of a picture in another format."""
    chunks: list[Chunk] = []
    if info.get("icc_profile"):
        chunks.append((b"iCCP", b"ICC profile\0\0" + zlib.compress(info["icc_profile"])))
    if info.get("dpi"):
        per_metre = [max(0, round(float(one) / 0.0254)) for one in info["dpi"]]
        chunks.append((b"pHYs", struct.pack(">IIB", *per_metre, 1)))
    if info.get("exif"):
        chunks.append((b"eXIf", info["exif"].removeprefix(b"Exif\0\0")))
    comment = info.get("comment")
    if comment:
        text = comment if isinstance(comment, bytes) else str(comment).encode()
        chunks.append((b"iTXt", b"Comment\0\0\0\0\0" + text.decode("utf-8", "replace").encode()))
    return tuple(chunks)


def _chunks(path: Path) -> Iterator[Chunk]:
    with path.open("rb") as file:
        if file.read(8) != SIGNATURE:
            raise ValueError("it does not begin like a PNG file")
        while len(start := file.read(8)) == 8:
            size, name = struct.unpack(">I4s", start)
            data = file.read(size)
            if len(data) < size:
                raise ValueError("it ends too early")
            file.read(4)  # the checksum
            yield name, data


def _packed(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def _predictions(left: Any, up: Any, corner: Any) -> list[Any]:
    """What each of PNG's five filters expects of a byte, from the bytes before it."""
    a, b, c = (one.astype(np.int16) for one in (left, up, corner))
    to_a, to_b, to_c = np.abs(b - c), np.abs(a - c), np.abs(a + b - 2 * c)
    paeth = np.where((to_a <= to_b) & (to_a <= to_c), a, np.where(to_b <= to_c, b, c))
    return [np.zeros_like(left), left, up, ((a + b) >> 1).astype(np.uint8), paeth.astype(np.uint8)]


def _filtered(pixels: npt.NDArray[np.uint8]) -> bytes:
    """Each line by the filter that leaves least of it."""
    height, width, step = pixels.shape
    before = np.zeros((height + 1, width + 1, step), np.uint8)
    before[1:, 1:] = pixels
    best = np.empty((height, 1 + width * step), np.uint8)
    least = np.full(height, np.inf)
    for kind, expected in enumerate(_predictions(before[1:, :-1], before[:-1, 1:], before[:-1, :-1])):
        rest = (pixels - expected).reshape(height, -1)
        left = np.abs(rest.view(np.int8).astype(np.int16)).sum(axis=1, dtype=np.int64)
        better = left < least
        best[better, 0] = kind
        best[better, 1:] = rest[better]
        least = np.minimum(least, left)
    return best.tobytes()


def _unfiltered(kinds: npt.NDArray[np.uint8], rest: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """The pixels, along diagonals: all that a diagonal needs lies on the two before it."""
    height, width, step = rest.shape
    pixels = np.zeros((height + 1, width + 1, step), np.uint8)
    for diagonal in range(height + width - 1):
        i = np.arange(max(0, diagonal - width + 1), min(height, diagonal + 1))
        j = diagonal - i
        expected = _predictions(pixels[i + 1, j], pixels[i, j + 1], pixels[i, j])
        chosen = np.stack(expected)[kinds[i], np.arange(len(i))]
        pixels[i + 1, j + 1] = rest[i, j] + chosen
    return pixels[1:, 1:]
