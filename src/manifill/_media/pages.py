"""TIFF files: pages ↔ pixels, in the file's own depth and compression, with its tags."""

import io
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from manifill._media import libraries
from manifill.errors import InvalidInput, ManifillError

Pixels = npt.NDArray[Any]

NAMED = {"description": 270, "software": 305, "datetime": 306, "iccprofile": 34675, "resolutionunit": 296}
"""Tags that tifffile writes by name."""
OWN = frozenset(
    [254, 255, 256, 257, 258, 259, 262, 263, 266, 273, 277, 278, 279, 284, 297, 317, 320, 322, 323, 324, 325]
).union(
    [330, 338, 339, 347, 512, 513, 514, 529, 530, 531, 532, 32997, 34665, 34853, 40965, 50838, 50839],
    [282, 283, *NAMED.values()],
)
"""Tags that follow from the pixels and the way they are written, or point into the old file."""
LOSSLESS = {1: "none", 5: "lzw", 8: "zlib", 32773: "packbits", 32946: "zlib", 34925: "lzma", 50000: "zstd"}


@dataclass(frozen=True)
class Tiff:
    """How a TIFF file was written."""

    compression: str = "none"
    predictor: bool = False
    photometric: str = "minisblack"
    extrasamples: int = 2
    """What a channel more is, in the numbers of TIFF; 2 is plain opacity."""
    bigtiff: bool = False
    byteorder: str = "<"
    tags: tuple[dict[str, Any], ...] = field(default=(), repr=False)
    """What each page says beside its pixels, in the words of tifffile."""
    changes: tuple[str, ...] = ()
    """What is written in another way than it was."""


def is_tiff(path: Path) -> bool:
    """Whether a file begins like a TIFF file."""
    with path.open("rb") as file:
        return file.read(4) in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")


def read_pages(path: Path) -> tuple[list[tuple[Pixels, Pixels | None]], Tiff]:
    """The pages of a file, each as values (height, width, 1 or 3) and alpha, and how it was written."""
    tifffile = libraries.tifffile()
    try:
        with tifffile.TiffFile(path) as file:
            pages = list(file.pages)
            told = sum(int(series.size) for series in file.series)
            if told != sum(int(np.prod(page.shape)) for page in pages):
                raise InvalidInput(
                    f"{path} keeps pictures outside its pages; save it with one picture a page."
                )
            pixels = [_page(path, number, page) for number, page in enumerate(pages)]
            return pixels, _kind(file, pages)
    except ManifillError:
        raise
    except Exception as error:  # tifffile's own, struct's, zlib's, codecs' …
        raise InvalidInput(f"{path} cannot be read as a TIFF file: {error}.") from error


def encoded(values: Pixels, alpha: Pixels | None, how: Tiff) -> memoryview:
    """The file of pages, (n, height, width, 1 or 3) and their alpha, the way they had been."""
    file = io.BytesIO()
    pixels = values if alpha is None else np.concatenate([values, alpha[..., None]], axis=-1)
    pixels = pixels[..., 0] if pixels.shape[-1] == 1 else pixels
    options = {
        "photometric": "rgb" if values.shape[-1] == 3 else how.photometric,
        "compression": None if how.compression == "none" else how.compression,
        "predictor": how.predictor or None,
        "extrasamples": None if alpha is None else [how.extrasamples],
        "planarconfig": None if values.shape[-1] == 1 and alpha is None else "contig",
        "metadata": None,
    }
    first, *others = how.tags
    one_by_one = any(page != {**first, "description": None} for page in others)
    with libraries.tifffile().TiffWriter(file, bigtiff=how.bigtiff, byteorder=how.byteorder) as writer:
        if one_by_one:
            for page, said in zip(pixels, how.tags, strict=True):
                writer.write(page, **options, **said)
        else:  # at once: ImageJ takes the pages of its stacks to lie one behind the other
            writer.write(pixels, **options, **first)
    return file.getbuffer()


def _page(path: Path, number: int, page: Any) -> tuple[Pixels, Pixels | None]:
    which = f"{path}, page {number + 1}"
    if page.photometric.name not in ("MINISBLACK", "MINISWHITE", "RGB", "PALETTE", "YCBCR"):
        raise InvalidInput(f"{which} must be grey or RGB; it is {page.photometric.name}. Convert it.")
    pixels: Pixels = page.asarray()
    if page.photometric.name == "PALETTE" and pixels.ndim == 2:
        colours = page.colormap if page.colormap.max() > 255 else page.colormap * 257
        small = not (colours % 257).any() or not (colours & 255).any()
        pixels = (colours >> 8).astype(np.uint8).T[pixels] if small else colours.T[pixels]
    if pixels.dtype == bool:
        pixels = np.where(pixels ^ (page.photometric.name == "MINISWHITE"), 255, 0).astype(np.uint8)
    if pixels.dtype.kind not in "uif":
        raise InvalidInput(f"{which} must hold numbers; it holds {pixels.dtype}. Convert it.")
    if pixels.ndim == 3 and page.axes[0] == "S":
        pixels = np.moveaxis(pixels, 0, -1)
    pixels = pixels[..., None] if pixels.ndim == 2 else pixels
    if pixels.ndim != 3 or pixels.shape[2] not in (1, 2, 3, 4):
        raise InvalidInput(f"{which} must be grey or colour; its shape is {pixels.shape}. Split it.")
    if page.photometric.name == "YCBCR" and int(page.compression) in LOSSLESS:  # others decode to RGB
        size = pixels.shape[1::-1]
        pixels = np.asarray(libraries.pillow().frombytes("YCbCr", size, pixels.tobytes()).convert("RGB"))
    own = pixels.dtype.newbyteorder("=")
    channels = 1 if pixels.shape[2] < 3 else 3
    values = np.ascontiguousarray(pixels[..., :channels].astype(own))
    return values, None if pixels.shape[2] == channels else np.ascontiguousarray(pixels[..., -1].astype(own))


def _kind(file: Any, pages: list[Any]) -> Tiff:
    first = pages[0]
    changes = []
    compression = LOSSLESS.get(int(first.compression))
    if compression is None:
        loses = "would change observed pixels" if "JPEG" in first.compression.name else "does not suit fills"
        changes.append(f"is written with deflate: {first.compression.name} {loses}")
    if first.photometric.name == "PALETTE":
        changes.append("is written in full colours: its palette may lack those of the fills")
    if first.bitspersample == 1:
        changes.append("is written with 8 bits a pixel: black and white alone may not fit the fills")
    white = first.photometric.name == "MINISWHITE" and first.bitspersample > 1
    return Tiff(
        compression=compression or "zlib",
        predictor=int(first.predictor) > 1 and compression not in (None, "none", "packbits"),
        photometric="miniswhite" if white else "minisblack",
        extrasamples=int(min([2, *first.extrasamples[:1]])),
        bigtiff=bool(file.is_bigtiff),
        byteorder=file.byteorder,
        tags=tuple(_said(page) for page in pages),
        changes=tuple(changes),
    )


def _said(page: Any) -> dict[str, Any]:
    """What a page says beside its pixels, as arguments of tifffile's `write`."""
    tags = page.tags
    said: dict[str, Any] = {
        name: _bytes(tags[code].value) if code in tags else None for name, code in NAMED.items()
    }
    said["software"] = said["software"] or False
    plain = int(page.planarconfig) == 1 and page.photometric.name != "PALETTE" and page.bitspersample > 1
    if not plain and str(said["description"]).startswith('b\'{"shape"'):
        said["description"] = None  # tifffile's word on the shape, which changes
    if isinstance(said["datetime"], bytes):
        said["datetime"] = said["datetime"].decode("ascii", "replace")
    if 282 in tags and 283 in tags:
        said["resolution"] = (tags[282].value, tags[283].value)
    said["extratags"] = [
        (tag.code, int(tag.dtype), tag.count, _bytes(tag.value), False)
        for tag in tags
        if tag.code not in OWN and isinstance(tag.value, str | bytes | int | float | tuple)
    ]
    return said


def _bytes(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else int(value) if hasattr(value, "name") else value
