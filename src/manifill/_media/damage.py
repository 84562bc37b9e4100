"""Where pictures are damaged: masks (n, height, width), True = missing, from values, masks and words.

Values are (n, height, width, channels), as `read_pictures` gives them. Frames are counted from 1, as people
count; pixels from 0 at the upper left corner.
"""

import re
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from manifill._arrays import Mask
from manifill._checks import require_number
from manifill._media.detection import found as found
from manifill._media.pages import Pixels
from manifill.errors import InvalidInput

Shape = tuple[int, ...]
"""(n, height, width), and channels or none."""

COLOURS = {
    "black": (0, 0, 0),
    "white": (1, 1, 1),
    "red": (1, 0, 0),
    "green": (0, 1, 0),
    "lime": (0, 1, 0),
    "blue": (0, 0, 1),
    "yellow": (1, 1, 0),
    "cyan": (0, 1, 1),
    "magenta": (1, 0, 1),
}


def by_nan(values: Pixels) -> Mask:
    """Pixels of which a channel is NaN."""
    if values.dtype.kind != "f":
        return np.zeros(values.shape[:3], dtype=bool)
    return np.asarray(np.isnan(values).any(axis=-1))


def by_value(values: Pixels, value: float | Sequence[float], *, tolerance: float = 0.0) -> Mask:
    """Pixels of one value or colour, or at most `tolerance` from it in each channel."""
    require_number("tolerance", tolerance, least=0)
    wanted = np.atleast_1d(np.asarray(value, dtype=float))
    channels = values.shape[-1]
    if channels == 1 and wanted.size > 1 and (wanted == wanted[0]).all():
        wanted = wanted[:1]
    if wanted.size not in (1, channels):
        raise InvalidInput(
            f"The damaged value must be a number or one for each channel; got {wanted.size} for pictures "
            f"with {channels}. Give {'a grey value' if channels == 1 else 'a colour such as #ff00ff'}."
        )
    each = zip(np.moveaxis(values, -1, 0), np.broadcast_to(wanted, channels), strict=True)
    alike = [(part >= own - tolerance) & (part <= own + tolerance) for part, own in each]
    return np.asarray(np.logical_and.reduce(alike))


def by_alpha(alpha: Pixels) -> Mask:
    """Pixels that are transparent, or more so than not."""
    return np.asarray(alpha < _range(alpha) / 2)


def by_mask(mask_values: Pixels, like_shape: Shape) -> Mask:
    """Pixels where a mask is light: one mask for all pictures, or one for each.

    A mask of two values marks what is not zero; others what is beyond half of their range.
    """
    n, height, width = like_shape[:3]
    mask = mask_values[None] if mask_values.ndim == 2 else mask_values
    size = mask.shape[1:3]
    if size != (height, width):
        raise InvalidInput(
            f"A mask must have the pictures' size, {width} × {height}; it is {size[1]} × {size[0]}. "
            "Resize it."
        )
    if len(mask) not in (1, n):
        raise InvalidInput(
            f"There must be one mask, or one for each of the {n} pictures; there are {len(mask)}."
        )
    levels = np.unique(mask)
    half = 0.0 if len(levels) <= 2 and levels[0] == 0 else _range(mask) / 2
    gone = mask > half
    if gone.ndim == 4:
        gone = np.asarray(gone.any(axis=-1))
    return np.broadcast_to(gone, (n, height, width)).copy()


def boxes(shape: Shape, texts: str | Iterable[str]) -> Mask:
    """Rectangles in every picture, each written "x,y,width,height"."""
    gone = np.zeros(shape[:3], dtype=bool)
    for text in _several(texts):
        x, y, width, height = _numbers(text, r"(\d+),(\d+),(\d+),(\d+)", "A box", "x,y,width,height")
        if not (width and height and x + width <= shape[2] and y + height <= shape[1]):
            raise InvalidInput(f"A box must lie in the pictures, {shape[2]} × {shape[1]}; {text!r} does not.")
        gone[:, y : y + height, x : x + width] = True
    return gone


def columns(shape: Shape, texts: str | Iterable[str]) -> Mask:
    """Upright scratches through every picture, each written "x:width", or "x" for one column."""
    gone = np.zeros(shape[:3], dtype=bool)
    for text in _several(texts):
        x, width = _numbers(text, r"(\d+)(?::(\d+))?", "A scratch", "x:width")
        if not (width and x + width <= shape[2]):
            raise InvalidInput(f"A scratch must lie in the pictures, {shape[2]} wide; {text!r} does not.")
        gone[:, :, x : x + width] = True
    return gone


def frames(shape: Shape, texts: str | Iterable[str]) -> Mask:
    """Whole pictures, counted from 1, written "3,10-12"."""
    gone = np.zeros(shape[:3], dtype=bool)
    for text in (part for one in _several(texts) for part in one.split(",")):
        first, last = _numbers(text, r"(\d+)(?:-(\d+))?", "Frames", "3 or 10-12", repeat=True)
        if not 1 <= first <= last <= shape[0]:
            raise InvalidInput(f"Frames must be between 1 and {shape[0]}, in order; {text.strip()!r} is not.")
        gone[first - 1 : last] = True
    return gone


def parse_colour(text: str, dtype: npt.DTypeLike = np.uint8) -> tuple[float, ...]:
    """A value or a colour in words: "black", "#ff00ff", "255,0,255" or "0".

    Names and #-codes are brought to the range of `dtype` (0 to 1 for floats), numbers are taken as they are.
    """
    top = float(np.iinfo(dtype).max) if np.dtype(dtype).kind in "ui" else 1.0
    word = text.strip().lower()
    if word in COLOURS:
        return tuple(part * top for part in COLOURS[word])
    if word in ("grey", "gray"):
        return (round(top / 2) if top > 1 else 0.5,) * 3
    if re.fullmatch("#([0-9a-f]{3}|[0-9a-f]{6})", word):
        digits = word[1:] if len(word) == 7 else "".join(2 * digit for digit in word[1:])
        parts = [int(digits[i : i + 2], 16) for i in (0, 2, 4)]
        return tuple(part * top / 255 for part in parts)
    try:
        numbers = tuple(float(part) for part in word.split(","))
    except ValueError:
        numbers = ()
    if len(numbers) not in (1, 3) or not np.isfinite(numbers).all():
        raise InvalidInput(
            f"A colour must be a number, three numbers such as 255,0,255, a code such as #ff00ff, or one of "
            f"{', '.join(COLOURS)}; got {text!r}."
        )
    return numbers


def _range(values: Pixels) -> float:
    """The largest value there can be: of the type, or for floats and small numbers of the usual scales."""
    most = float(np.nanmax(values, initial=0))
    scales = [1.0, 255.0, 65535.0]
    if values.dtype.kind == "u" and most > 1:
        return float(np.iinfo(values.dtype).max)
    return next((scale for scale in scales if most <= scale), most)


def _several(texts: str | Iterable[str]) -> list[str]:
    return [texts] if isinstance(texts, str) else list(texts)


def _numbers(text: str, pattern: str, name: str, form: str, *, repeat: bool = False) -> list[int]:
    """The numbers of a text; one left out is 1, or with `repeat` the one before."""
    match = re.fullmatch(pattern, text.replace(" ", ""))
    if match is None:
        raise InvalidInput(f"{name} must be written {form}, in whole numbers; got {text!r}.")
    first = int(match[1])
    return [
        first if group is None and repeat else 1 if group is None else int(group) for group in match.groups()
    ]


def grown(mask: Mask, by: int) -> Mask:
    """The mask (n, height, width), and so many pixels around what it marks."""
    if by == 0:
        return mask
    from scipy.ndimage import maximum_filter

    return np.asarray(maximum_filter(mask, size=(1, 2 * by + 1, 2 * by + 1)))
