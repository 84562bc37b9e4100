"""One picture in one file: read by Pillow or by the modules beside this one, and written as it was.

What cannot be written as it was without changing observed pixels (JPEG), or has no room for the colours of
fills (GIF), becomes a PNG file, and says so.
"""

import io
import re
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
"""Formats, and how the names of their files end; the first is the one given to files that change format."""
ENDINGS = tuple(ending for endings in SUFFIXES.values() for ending in endings)
REASONS = {
    "JPEG": "JPEG would change observed pixels",
    "GIF": "the palette of a GIF may lack the colours of the fills",
    "BMP": "BMP does not keep transparency",
}


@dataclass(frozen=True)
class Origin:
    """How a picture was written, and how it will be."""

    name: str
    format: str
    written: str
    """The format that it is written in."""
    reason: str = ""
    """Why that is another one."""
    changes: tuple[str, ...] = ()
    has_alpha: bool = False
    info: dict[str, Any] = field(default_factory=dict, repr=False)
    chunks: tuple[png.Chunk, ...] = field(default=(), repr=False)
    tiff: Tiff = field(default_factory=Tiff, repr=False)

    def named(self, name: str) -> str:
        """A file's name with the ending of the format that is written."""
        path = Path(name)
        if path.suffix.lower() in SUFFIXES[self.written]:
            return name
        return path.with_suffix(SUFFIXES[self.written][0]).name

    def renamed(self, before: str, after: str) -> str:
        """The line that tells of another name."""
        return f"{before} is written as {after}: {self.reason or f'it is a {self.format} file'}."


def read_picture(path: Path) -> tuple[Pixels, Pixels | None, Origin]:
    """A file's picture: values (height, width, 1 or 3), alpha or None, and how it was written."""
    if pages.is_tiff(path):
        found, how = pages.read_pages(path)
        if len(found) > 1:
            raise InvalidInput(
                f"{path} holds {len(found)} pictures; a folder must hold one a file. Fill it by itself."
            )
        values, alpha = found[0]
        return values, alpha, Origin(path.name, "TIFF", "TIFF", "", how.changes, alpha is not None, tiff=how)
    Image = pillow()
    imagecodecs()  # writes PNG files: that it is missing is better said before the work
    try:
        with Image.open(path) as picture:
            return _read(path, picture)
    except ManifillError:
        raise
    except Exception as error:  # Pillow raises nearly anything on a broken file
        what = "it is no picture" if isinstance(error, Image.UnidentifiedImageError) else str(error)
        raise InvalidInput(
            f"{path} cannot be read as a picture: {what.rstrip('.')}. Repair it or take it away."
        ) from error


def encoded(values: Pixels, alpha: Pixels | None, origin: Origin) -> bytes:
    """The file's bytes for other values."""
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
    form = "JPEG" if picture.format == "MPO" else str(picture.format)
    if form not in SUFFIXES:
        raise InvalidInput(f"{path} must be one of {', '.join(SUFFIXES)}; it is {form}. Convert it.")
    changes = []
    if getattr(picture, "n_frames", 1) > 1 and picture.format != "MPO":
        changes.append(f"holds {picture.n_frames} pictures, of which only the first is read")
    info = dict(picture.info)
    if form == "PNG" and png.is_deep(path):
        pixels: Pixels = png.read_deep(path)
    else:
        picture.load()
        pixels = _pixels(path, picture)
    if exif := picture.getexif():
        info.setdefault("exif", exif.tobytes())
    if picture.mode == "CMYK":
        info.pop("icc_profile", None)
        changes.append("was CMYK and is written as RGB without its colour profile")
    elif form in ("PNG", "BMP") and picture.mode == "P":
        changes.append("is written in full colours: its palette may lack those of the fills")
    elif form in ("PNG", "BMP", "PPM") and picture.mode == "1":
        changes.append("is written with 8 bits a pixel: black and white alone may not fit the fills")
    channels = 1 if pixels.shape[2] < 3 else 3
    values = np.ascontiguousarray(pixels[..., :channels])
    alpha = np.ascontiguousarray(pixels[..., -1]) if pixels.shape[2] > channels else None
    lost = form in ("JPEG", "GIF") or (form == "BMP" and alpha is not None)
    chunks = png.kept_chunks(path) if form == "PNG" else png.chunks_for(info) if lost else ()
    origin = Origin(
        path.name,
        form,
        "PNG" if lost else form,
        REASONS.get(form, "") if lost else "",
        tuple(changes),
        alpha is not None,
        info,
        chunks,
    )
    return values, alpha, origin


def _pixels(path: Path, picture: Any) -> Pixels:
    """(height, width, channels) of a picture that Pillow has loaded."""
    if picture.format == "PPM" and picture.mode == "RGB" and _most(path) > 255:
        raise InvalidInput(
            f"{path} has 16 bits a channel, which is read from PNG and TIFF files only; convert it."
        )
    see_through = "transparency" in picture.info or "A" in picture.mode
    if picture.mode.startswith("I"):  # PPM, 16 bits, grey
        return np.asarray(picture).astype(np.uint16)[..., None]
    if picture.mode in ("1", "L", "LA"):
        mode = "LA" if see_through else "L"
    elif picture.mode == "F":
        return np.asarray(picture)[..., None]
    else:
        mode = "RGBA" if see_through else "RGB"
    if picture.mode in ("1", "L") and see_through:  # by way of RGBA, which knows the transparent grey
        return np.asarray(picture.convert("RGBA"))[..., [0, 3]]
    pixels = np.asarray(picture if picture.mode == mode else picture.convert(mode))
    return pixels[..., None] if pixels.ndim == 2 else pixels


def _most(path: Path) -> int:
    """The largest value that a PPM file allows."""
    with path.open("rb") as file:
        words = re.sub(rb"#.*", b"", file.read(1000)).split(maxsplit=4)
    return int(words[3])
