"""TIFF files: reading pages, and writing them with the same bit depth, compression and tags."""

import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from manifill._media import libraries
from manifill.errors import InvalidInput, ManifillError

Pixels = npt.NDArray[Any]

KEYWORDS = {"description": 270, "software": 305, "datetime": 306, "iccprofile": 34675, "resolutionunit": 296}
"""Codes of the tags that tifffile's `write` takes as keyword arguments."""
NOT_COPIED = frozenset(
    [254, 255, 256, 257, 258, 259, 262, 263, 266, 273, 277, 278, 279, 284, 297, 317, 320, 322, 323, 324, 325]
).union(
    [330, 338, 339, 347, 512, 513, 514, 529, 530, 531, 532, 32997, 34665, 34853, 40965, 50838, 50839],
    [282, 283, *KEYWORDS.values()],
)
"""Codes of the tags that are not copied: tifffile writes them, or they hold offsets in the original file."""
LOSSLESS = {1: "none", 5: "lzw", 8: "zlib", 32773: "packbits", 32946: "zlib", 34925: "lzma", 50000: "zstd"}
"""TIFF codes of the lossless compressions that can be written, with tifffile's names."""


@dataclass(frozen=True)
class Tiff:
    """Compression, layout and tags of a TIFF file."""

    compression: str = "none"
    predictor: bool = False
    photometric: str = "minisblack"
    extrasamples: int = 2
    """TIFF code for the meaning of an extra channel; 2 is unassociated alpha."""
    bigtiff: bool = False
    byteorder: str = "<"
    tags: tuple[dict[str, Any], ...] = field(default=(), repr=False)
    """Metadata of each page, as keyword arguments of tifffile's `write`."""
    changes: tuple[str, ...] = ()
    """Differences between the output and the original, for the user."""


def is_tiff(path: Path) -> bool:
    """Whether a file starts with the signature of TIFF or BigTIFF."""
    with path.open("rb") as file:
        return file.read(4) in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")


def read_pages(path: Path) -> tuple[list[tuple[Pixels, Pixels | None]], Tiff]:
    """Read the pages, each as values (height, width, 1 or 3) and alpha or None, and the file's settings."""
    tifffile = libraries.tifffile()
    try:
        with _messages() as messages, tifffile.TiffFile(path) as file:
            pages = list(file.pages)
            n_values = sum(int(series.size) for series in file.series)
            if any("invalid page offset" in message for message in messages):
                raise InvalidInput(
                    f"{path} must be a complete TIFF file; it ends after page {len(pages)}, though more are "
                    "announced. Copy or save it again."
                )
            if n_values != sum(int(np.prod(page.shape)) for page in pages):
                raise InvalidInput(
                    f"{path} stores pictures outside its pages; save it with one picture per page."
                )
            pixels = [_page(path, number, page) for number, page in enumerate(pages)]
            return pixels, _settings(file, pages)
    except ManifillError:
        raise
    except Exception as error:  # from tifffile, struct, zlib, imagecodecs, …
        raise InvalidInput(
            f"{path} cannot be read as a TIFF file: {error}. Is it cut off or damaged? Copy or save it again."
        ) from error


@contextmanager
def _messages() -> Iterator[list[str]]:
    """Collect the log messages of tifffile, which would be printed otherwise."""
    found: list[str] = []

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.append(record.getMessage())

    logger, handler = logging.getLogger("tifffile"), Collector()
    propagate, logger.propagate = logger.propagate, False
    logger.addHandler(handler)
    try:
        yield found
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagate


def encoded(values: Pixels, alpha: Pixels | None, tiff: Tiff) -> memoryview:
    """Bytes of a TIFF file for pages (n, height, width, 1 or 3) and their alpha, with the given settings."""
    file = io.BytesIO()
    pixels = values if alpha is None else np.concatenate([values, alpha[..., None]], axis=-1)
    pixels = pixels[..., 0] if pixels.shape[-1] == 1 else pixels
    options = {
        "photometric": "rgb" if values.shape[-1] == 3 else tiff.photometric,
        "compression": None if tiff.compression == "none" else tiff.compression,
        "predictor": tiff.predictor or None,
        "extrasamples": None if alpha is None else [tiff.extrasamples],
        "planarconfig": None if values.shape[-1] == 1 and alpha is None else "contig",
        "metadata": None,
    }
    first, *others = tiff.tags
    one_by_one = any(page != {**first, "description": None} for page in others)
    with libraries.tifffile().TiffWriter(file, bigtiff=tiff.bigtiff, byteorder=tiff.byteorder) as writer:
        if one_by_one:
            for page, tags in zip(pixels, tiff.tags, strict=True):
                writer.write(page, **options, **tags)
        else:  # in one call: ImageJ expects the pages of a stack to be contiguous in the file
            writer.write(pixels, **options, **first)
    return file.getbuffer()


def _page(path: Path, number: int, page: Any) -> tuple[Pixels, Pixels | None]:
    """Values (height, width, 1 or 3) and alpha or None of one page, converted to grey or RGB."""
    where = f"{path}, page {number + 1}"
    if page.photometric.name not in ("MINISBLACK", "MINISWHITE", "RGB", "PALETTE", "YCBCR"):
        raise InvalidInput(f"{where} must be grey or RGB; it is {page.photometric.name}. Convert it.")
    stored, pieces = sum(size > 0 for size in page.databytecounts), int(np.prod(page.chunked))
    if stored < pieces:  # tifffile would make them black
        raise InvalidInput(
            f"{where} must hold all its pixels; the file says where {stored} of {pieces} pieces are. "
            "Copy or save it again."
        )
    pixels: Pixels = page.asarray()
    if page.photometric.name == "PALETTE" and pixels.ndim == 2:
        colours = page.colormap if page.colormap.max() > 255 else page.colormap * 257
        fits_8_bits = not (colours % 257).any() or not (colours & 255).any()
        pixels = (colours >> 8).astype(np.uint8).T[pixels] if fits_8_bits else colours.T[pixels]
    if pixels.dtype == bool:
        pixels = np.where(pixels ^ (page.photometric.name == "MINISWHITE"), 255, 0).astype(np.uint8)
    if pixels.dtype.kind not in "uif":
        raise InvalidInput(f"{where} must have a numeric dtype; it has {pixels.dtype}. Convert it.")
    if pixels.ndim == 3 and page.axes[0] == "S":
        pixels = np.moveaxis(pixels, 0, -1)
    pixels = pixels[..., None] if pixels.ndim == 2 else pixels
    if pixels.ndim != 3 or pixels.shape[2] not in (1, 2, 3, 4):
        raise InvalidInput(f"{where} must have 1 to 4 channels; its shape is {pixels.shape}. Split it.")
    if page.photometric.name == "YCBCR" and int(page.compression) in LOSSLESS:  # others decode to RGB
        size = pixels.shape[1::-1]
        pixels = np.asarray(libraries.pillow().frombytes("YCbCr", size, pixels.tobytes()).convert("RGB"))
    own = pixels.dtype.newbyteorder("=")  # native byte order
    channels = 1 if pixels.shape[2] < 3 else 3
    values = np.ascontiguousarray(pixels[..., :channels].astype(own))
    return values, None if pixels.shape[2] == channels else np.ascontiguousarray(pixels[..., -1].astype(own))


def _settings(file: Any, pages: list[Any]) -> Tiff:
    first = pages[0]
    changes = []
    compression = LOSSLESS.get(int(first.compression))
    if compression is None:
        reason = "would change observed pixels" if "JPEG" in first.compression.name else "can only be read"
        changes.append(f"is written with deflate: {first.compression.name} {reason}")
    if first.photometric.name == "PALETTE":
        changes.append("is written without a palette, which may lack the colours of filled pixels")
    if first.bitspersample == 1:
        changes.append("is written with 8 bits per pixel instead of 1, since filled pixels may be grey")
    white = first.photometric.name == "MINISWHITE" and first.bitspersample > 1
    return Tiff(
        compression=compression or "zlib",
        predictor=int(first.predictor) > 1 and compression not in (None, "none", "packbits"),
        photometric="miniswhite" if white else "minisblack",
        extrasamples=int(min([2, *first.extrasamples[:1]])),
        bigtiff=bool(file.is_bigtiff),
        byteorder=file.byteorder,
        tags=tuple(_metadata(page) for page in pages),
        changes=tuple(changes),
    )


def _metadata(page: Any) -> dict[str, Any]:
    """Metadata of a page, as keyword arguments of tifffile's `write`."""
    tags = page.tags
    metadata: dict[str, Any] = {
        name: _bytes(tags[code].value) if code in tags else None for name, code in KEYWORDS.items()
    }
    metadata["software"] = metadata["software"] or False
    plain = int(page.planarconfig) == 1 and page.photometric.name != "PALETTE" and page.bitspersample > 1
    if not plain and str(metadata["description"]).startswith('b\'{"shape"'):
        metadata["description"] = None  # a shape written by tifffile, which no longer holds
    if isinstance(metadata["datetime"], bytes):
        metadata["datetime"] = metadata["datetime"].decode("ascii", "replace")
    if 282 in tags and 283 in tags:
        metadata["resolution"] = (tags[282].value, tags[283].value)
    metadata["extratags"] = [
        (tag.code, int(tag.dtype), tag.count, _bytes(tag.value), False)
        for tag in tags
        if tag.code not in NOT_COPIED and isinstance(tag.value, str | bytes | int | float | tuple)
    ]
    return metadata


def _bytes(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else int(value) if hasattr(value, "name") else value
