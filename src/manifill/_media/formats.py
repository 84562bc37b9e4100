"""Files with one picture: read by Pillow or by `pages` and `png`, and written in the original format.

A PNG file is written instead, and the change is reported, if the original format would change observed pixels
(JPEG), may lack the colours of filled pixels (GIF) or would lose the alpha channel (BMP).
"""

import io
import re
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from manifill._media import pages, png
from manifill._media.libraries import imagecodecs, pillow
from manifill._media.pages import Pixels, Tiff
from manifill.errors import InvalidInput, ManifillError

SUFFIXES = {
    "PNG": (".png", ".apng"),
    "JPEG": (".jpg", ".jpeg", ".jpe", ".jfif"),
    "TIFF": (".tif", ".tiff"),
    "BMP": (".bmp", ".dib"),
    "WEBP": (".webp",),
    "GIF": (".gif",),
    "PPM": (".ppm", ".pgm", ".pbm", ".pnm"),
}
"""File name endings of each format; the first is used for files converted to the format."""
ENDINGS = tuple(ending for endings in SUFFIXES.values() for ending in endings)
REASONS = {
    "JPEG": "JPEG would change observed pixels",
    "GIF": "the palette of a GIF may lack the colours of filled pixels",
    "BMP": "BMP does not store the alpha channel",
}
"""Reasons to write a PNG file instead of the original format."""


@dataclass(frozen=True)
class Origin:
    """The file format and metadata of a picture that was read, and the format in which it will be written."""

    name: str
    format: str
    written: str
    """Format of the output, a key of `SUFFIXES`."""
    reason: str = ""
    """Why the output format differs from the original; empty if it does not."""
    changes: tuple[str, ...] = ()
    """Other differences between the output and the original, for the user."""
    has_alpha: bool = False
    info: dict[str, Any] = field(default_factory=dict, repr=False)
    chunks: tuple[png.Chunk, ...] = field(default=(), repr=False)
    tiff: Tiff = field(default_factory=Tiff, repr=False)

    def named(self, name: str) -> str:
        """The file name `name` with an ending of the output format."""
        path = Path(name)
        if path.suffix.lower() in SUFFIXES[self.written]:
            return name
        return path.with_suffix(SUFFIXES[self.written][0]).name

    def renamed(self, after: str) -> str:
        """What to say of a file that is written under the name or with the ending `after`, and the reason."""
        return f"is written as {after}: {self.reason or f'it is a {self.format} file'}."


def read_picture(path: Path) -> tuple[Pixels, Pixels | None, Origin]:
    """Read values (height, width, 1 or 3), alpha (height, width) or None, and the origin from a file."""
    if pages.is_tiff(path):
        read, how = pages.read_pages(path)
        if len(read) > 1:
            raise InvalidInput(
                f"{path} holds {len(read)} pictures; files in a folder must hold one. Restore it separately."
            )
        values, alpha = read[0]
        return values, alpha, Origin(path.name, "TIFF", "TIFF", "", how.changes, alpha is not None, tiff=how)
    Image = pillow()
    imagecodecs()  # needed to write PNG files: fail before the work if it is not installed
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # it refuses larger ones
            with Image.open(path) as picture:
                return _read(path, picture)
    except ManifillError:
        raise
    except Exception as error:  # Pillow raises nearly anything on a broken file
        problem = "it is not a picture" if isinstance(error, Image.UnidentifiedImageError) else str(error)
        raise InvalidInput(
            f"{path} cannot be read as a picture: {problem.rstrip('.')}. Repair or remove it."
        ) from error


def encoded(values: Pixels, alpha: Pixels | None, origin: Origin) -> bytes:
    """Bytes of a file with new values, in the output format of `origin`."""
    pixels = values if alpha is None else np.dstack([values, alpha])
    if origin.written == "PNG":
        return png.encoded(pixels, origin.chunks)
    if origin.written == "TIFF":
        return bytes(pages.encoded(values[None], None if alpha is None else alpha[None], origin.tiff))
    target = io.BytesIO()
    picture = pillow().fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)
    kept = ("dpi", "exif", "icc_profile", "xmp")
    options: dict[str, Any] = {name: origin.info[name] for name in kept if name in origin.info}
    if origin.written == "WEBP":
        options |= {"lossless": True, "exact": True, "quality": 80}
    elif origin.written == "PPM":
        options = {}
    picture.save(target, format=origin.written, **options)
    return target.getvalue()


def _read(path: Path, picture: Any) -> tuple[Pixels, Pixels | None, Origin]:
    file_format = "JPEG" if picture.format == "MPO" else str(picture.format)
    if file_format not in SUFFIXES:
        raise InvalidInput(f"{path} must be one of {', '.join(SUFFIXES)}; it is {file_format}. Convert it.")
    changes = []
    if getattr(picture, "n_frames", 1) > 1 and picture.format != "MPO":
        changes.append(f"contains only the first of the {picture.n_frames} pictures in the original")
    info = dict(picture.info)
    if file_format == "PNG" and png.is_16_bit(path):
        pixels: Pixels = png.read_16_bit(path)
    else:
        picture.load()
        pixels = _pixels(path, picture)
    if exif := picture.getexif():
        info.setdefault("exif", exif.tobytes())
    if picture.mode == "CMYK":
        info.pop("icc_profile", None)
        changes.append("is converted from CMYK to RGB, without the colour profile")
    elif file_format in ("PNG", "BMP") and picture.mode == "P":
        changes.append("is written without a palette, which may lack the colours of filled pixels")
    elif file_format in ("PNG", "BMP", "PPM") and picture.mode == "1":
        changes.append("is written with 8 bits per pixel instead of 1, since filled pixels may be grey")
    channels = 1 if pixels.shape[2] < 3 else 3
    values = np.ascontiguousarray(pixels[..., :channels])
    alpha = np.ascontiguousarray(pixels[..., -1]) if pixels.shape[2] > channels else None
    to_png = file_format in ("JPEG", "GIF") or (file_format == "BMP" and alpha is not None)
    chunks = png.kept_chunks(path) if file_format == "PNG" else png.chunks_for(info) if to_png else ()
    origin = Origin(
        path.name,
        file_format,
        "PNG" if to_png else file_format,
        REASONS.get(file_format, "") if to_png else "",
        tuple(changes),
        alpha is not None,
        info,
        chunks,
    )
    return values, alpha, origin


def _pixels(path: Path, picture: Any) -> Pixels:
    """Pixels (height, width, channels) of a picture loaded by Pillow."""
    if picture.format == "PPM" and picture.mode == "RGB" and _max_value(path) > 255:
        raise InvalidInput(
            f"{path} has 16 bits per channel, which is supported for PNG and TIFF files only; convert it."
        )
    transparent = "transparency" in picture.info or "A" in picture.mode
    if picture.mode.startswith("I"):  # 16-bit grey PPM
        return np.asarray(picture).astype(np.uint16)[..., None]
    if picture.mode in ("1", "L", "LA"):
        mode = "LA" if transparent else "L"
    elif picture.mode == "F":
        return np.asarray(picture)[..., None]
    else:
        mode = "RGBA" if transparent else "RGB"
    if picture.mode in ("1", "L") and transparent:  # only RGBA conversion applies the transparent grey
        return np.asarray(picture.convert("RGBA"))[..., [0, 3]]
    pixels = np.asarray(picture if picture.mode == mode else picture.convert(mode))
    return pixels[..., None] if pixels.ndim == 2 else pixels


def _max_value(path: Path) -> int:
    """The maximum value declared in the header of a PPM file."""
    with path.open("rb") as file:
        words = re.sub(rb"#.*", b"", file.read(1000)).split(maxsplit=4)
    return int(words[3])
