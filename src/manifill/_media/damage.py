"""Masks of damaged pixels, (n, height, width), True = damaged, from pixel values, masks and text options.

Values are (n, height, width, channels), as in `Pictures`. Frames are counted from 1, pixels from 0 at the
upper left corner.
"""

import re
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from manifill._arrays import Mask
from manifill._checks import require_number
from manifill._media.pages import Pixels
from manifill.errors import InvalidInput

Shape = tuple[int, ...]
"""(n, height, width) or (n, height, width, channels)."""

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
"""RGB values of the colour names, from 0 to 1."""


def by_nan(values: Pixels) -> Mask:
    """Pixels with NaN in any channel."""
    if values.dtype.kind != "f":
        return np.zeros(values.shape[:3], dtype=bool)
    return np.asarray(np.isnan(values).any(axis=-1))


def by_value(values: Pixels, value: float | Sequence[float], *, tolerance: float = 0.0) -> Mask:
    """Pixels that differ from a value or colour by at most `tolerance` in each channel."""
    require_number("tolerance", tolerance, least=0)
    colour = np.atleast_1d(np.asarray(value, dtype=float))
    channels = values.shape[-1]
    if channels == 1 and colour.size > 1 and (colour == colour[0]).all():
        colour = colour[:1]
    if colour.size not in (1, channels):
        raise InvalidInput(
            f"The damaged value must be one number or one per channel; got {colour.size} for pictures "
            f"with {channels}. Give {'a grey value' if channels == 1 else 'a colour such as #ff00ff'}."
        )
    each = zip(np.moveaxis(values, -1, 0), np.broadcast_to(colour, channels), strict=True)
    matches = [(part >= target - tolerance) & (part <= target + tolerance) for part, target in each]
    return np.asarray(np.logical_and.reduce(matches))


def by_alpha(alpha: Pixels) -> Mask:
    """Pixels with less than half of the full opacity."""
    return np.asarray(alpha < _max_possible(alpha) / 2)


def by_mask(mask_values: Pixels, like_shape: Shape) -> Mask:
    """Pixels where a mask is light; one mask for all pictures, or one per picture.

    If the mask has at most two values and the smaller is zero, nonzero pixels are damaged. Otherwise pixels
    above half of the maximum possible value are damaged.
    """
    n, height, width = like_shape[:3]
    mask = mask_values[None] if mask_values.ndim == 2 else mask_values
    size = mask.shape[1:3]
    if size != (height, width):
        raise InvalidInput(
            f"A mask must have the pictures' size, {width} × {height}; it is {size[1]} × {size[0]}. "
            "Resize the mask."
        )
    if len(mask) not in (1, n):
        raise InvalidInput(f"There must be one mask, or one for each of the {n} pictures; got {len(mask)}.")
    levels = np.unique(mask)
    threshold = 0.0 if len(levels) <= 2 and levels[0] == 0 else _max_possible(mask) / 2
    damaged = mask > threshold
    if damaged.ndim == 4:
        damaged = np.asarray(damaged.any(axis=-1))
    return np.broadcast_to(damaged, (n, height, width)).copy()


def boxes(shape: Shape, texts: str | Iterable[str]) -> Mask:
    """Rectangles in every picture, each given as "x,y,width,height"."""
    damaged = np.zeros(shape[:3], dtype=bool)
    for text in _as_list(texts):
        x, y, width, height = _numbers(text, r"(\d+),(\d+),(\d+),(\d+)", "A box", "x,y,width,height")
        if not (width and height and x + width <= shape[2] and y + height <= shape[1]):
            raise InvalidInput(f"A box must lie inside the pictures, {shape[2]} × {shape[1]}; got {text!r}.")
        damaged[:, y : y + height, x : x + width] = True
    return damaged


def columns(shape: Shape, texts: str | Iterable[str]) -> Mask:
    """Vertical scratches through every picture, each given as "x:width", or "x" for width 1."""
    damaged = np.zeros(shape[:3], dtype=bool)
    for text in _as_list(texts):
        x, width = _numbers(text, r"(\d+)(?::(\d+))?", "A scratch", "x:width")
        if not (width and x + width <= shape[2]):
            raise InvalidInput(f"A scratch must lie inside the pictures, {shape[2]} wide; got {text!r}.")
        damaged[:, :, x : x + width] = True
    return damaged


def frames(shape: Shape, texts: str | Iterable[str]) -> Mask:
    """Entire pictures, counted from 1, given as "3,10-12"."""
    damaged = np.zeros(shape[:3], dtype=bool)
    for text in (part for one in _as_list(texts) for part in one.split(",")):
        first, last = _numbers(text, r"(\d+)(?:-(\d+))?", "Frames", "3 or 10-12", repeat=True)
        if not 1 <= first <= last <= shape[0]:
            raise InvalidInput(f"Frames must be from 1 to {shape[0]}, ascending; got {text.strip()!r}.")
        damaged[first - 1 : last] = True
    return damaged


def parse_colour(text: str, dtype: npt.DTypeLike = np.uint8) -> tuple[float, ...]:
    """Parse a value or colour such as "black", "#ff00ff", "255,0,255" or "0".

    Names and #-codes are scaled to the range of `dtype` (0 to 1 for floats); numbers are not scaled.
    """
    max_value = float(np.iinfo(dtype).max) if np.dtype(dtype).kind in "ui" else 1.0
    name = text.strip().lower()
    if name in COLOURS:
        return tuple(part * max_value for part in COLOURS[name])
    if name in ("grey", "gray"):
        return (round(max_value / 2) if max_value > 1 else 0.5,) * 3
    if re.fullmatch("#([0-9a-f]{3}|[0-9a-f]{6})", name):
        digits = name[1:] if len(name) == 7 else "".join(2 * digit for digit in name[1:])
        parts = [int(digits[i : i + 2], 16) for i in (0, 2, 4)]
        return tuple(part * max_value / 255 for part in parts)
    try:
        numbers = tuple(float(part) for part in name.split(","))
    except ValueError:
        numbers = ()
    if len(numbers) not in (1, 3) or not np.isfinite(numbers).all():
        raise InvalidInput(
            f"A colour must be one number, three numbers such as 255,0,255, a code such as #ff00ff, or "
            f"one of {', '.join(COLOURS)}; got {text!r}."
        )
    return numbers


def _max_possible(values: Pixels) -> float:
    """The maximum possible value: that of an unsigned dtype, or for other values 1, 255 or 65535 as needed.

    Unsigned values up to 1 count as binary, with maximum 1.
    """
    largest = float(np.nanmax(values, initial=0))
    scales = [1.0, 255.0, 65535.0]
    if values.dtype.kind == "u" and largest > 1:
        return float(np.iinfo(values.dtype).max)
    return next((scale for scale in scales if largest <= scale), largest)


def _as_list(texts: str | Iterable[str]) -> list[str]:
    return [texts] if isinstance(texts, str) else list(texts)


def _numbers(text: str, pattern: str, name: str, form: str, *, repeat: bool = False) -> list[int]:
    """The integers in a text; an omitted one is 1, or the first one if `repeat`."""
    match = re.fullmatch(pattern, text.replace(" ", ""))
    if match is None:
        raise InvalidInput(f"{name} must be given as {form}, with integers; got {text!r}.")
    first = int(match[1])
    return [
        first if group is None and repeat else 1 if group is None else int(group) for group in match.groups()
    ]


def grown(mask: Mask, by: int) -> Mask:
    """The mask (n, height, width), dilated by `by` pixels in each direction."""
    if by == 0:
        return mask
    from scipy.ndimage import maximum_filter

    return np.asarray(maximum_filter(mask, size=(1, 2 * by + 1, 2 * by + 1)))
