"""Restoring damaged pictures from their undamaged pixels and from similar pictures.

>>> import numpy as np
>>> y, x = np.mgrid[:24, :24] / 24
>>> stack = np.stack([np.sin(5 * x + turn) * np.cos(4 * y) for turn in np.linspace(0, 2, 12)])
>>> damaged = stack.copy()
>>> damaged[4, 6:14, 8:16] = np.nan
>>> restored = restore(damaged, random_state=0)
>>> bool(np.abs(restored - stack).max() < 0.1)
True
"""

import logging
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from manifill._arrays import Mask
from manifill._checks import as_generator, complaint, is_option
from manifill._devices import find_device
from manifill._fillers.field.windows import windows
from manifill._selection import Blend
from manifill._tiling import Tiler, fade, side_for
from manifill.errors import InvalidInput

__all__ = ["Restoration", "restore"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Restoration:
    """Restored pictures, and the error estimated on held-out pixels.

    Attributes
    ----------
    pictures : array of the shape and dtype of the given stack; only missing pixels differ from it.
    missing : (n, h, w), True where a pixel was filled in any channel.
    blend : weights of the fillers and their errors on held-out pixels; None if none could be held out.
    """

    pictures: npt.NDArray[Any]
    missing: Mask
    blend: Blend | None

    @property
    def error(self) -> float:
        """Estimated root mean square error of filled pixels, in the pictures' units; NaN if unknown."""
        return float("nan") if self.blend is None else self.blend.error


def restore(
    stack: npt.ArrayLike,
    mask: npt.ArrayLike | None = None,
    *,
    ordered: bool = False,
    bounds: Any = "observed",
    random_state: Any = None,
    device: Any = None,
    n_jobs: int | None = None,
    return_info: bool = False,
) -> Any:
    """Fill the missing pixels of a stack of pictures; known pixels are returned unchanged.

    Parameters
    ----------
    stack : (n, h, w) or (n, h, w, channels), integers or floats; NaN is missing. Pass a single picture with
        n = 1.
    mask : (n, h, w), (h, w) to use it for all pictures, or the shape of the stack; nonzero is missing.
    ordered : bool, whether the pictures are in order of time.
    bounds : range of filled pixels: "observed" for the range of the known ones, a pair (lowest, highest), or
        None.
    random_state : None, int, or numpy random generator; an int makes the result reproducible.
    device : None, "auto", "cuda" or another torch device.
    n_jobs : int, number of threads, as in joblib.
    return_info : bool, return a `Restoration`, which includes an error estimate, instead of the pictures.
    """
    if isinstance(stack, np.ma.MaskedArray):
        raise InvalidInput("Masked arrays are not supported; give stack.data, and stack.mask as the mask.")
    try:
        given = np.asarray(stack)
    except ValueError:
        raise InvalidInput("Pictures of a stack must be of one size; these differ.") from None
    values, missing = read_stack(given, mask)
    rng = as_generator(random_state)
    limits = read_limits(bounds, values)
    n, h, w, c = values.shape
    tiler = Tiler((h, w, c), ordered, side_for(np.asarray(missing.all(axis=-1))), find_device(device), n_jobs)
    window_size = tiler.rows_at_a_time
    blend = tiler.validate(values[: min(n, window_size)], rng, limits)
    fallback = mean_of(values)
    parts = windows(n, window_size, min(window_size // 4, 32) if ordered else 0)

    def fill_part(i: int) -> npt.NDArray[Any]:
        def tick(share: float) -> None:
            _log.info("%.0f %% of the pictures restored", 100 * (i + share) / len(parts))

        return tiler.fill(values[parts[i].slice], rng, blend, limits, fallback, tick)

    restored = np.stack(list(fade((part, fill_part(i)) for i, part in enumerate(parts))))
    pictures = merge_filled(given, restored, missing)
    return Restoration(pictures, np.asarray(missing.any(axis=-1)), blend) if return_info else pictures


def read_stack(
    given: npt.NDArray[Any], mask: npt.ArrayLike | None, require_known: bool = True
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
    """Return the stack as floats (n, h, w, c), NaN where missing, and the mask of missing entries.

    Raises InvalidInput if no entry is known and `require_known` is set.
    """
    if given.ndim not in (3, 4) or not given.size or given.dtype.kind not in "uifb":
        raise InvalidInput(
            "Pictures must be numbers of shape (n, height, width) or (n, height, width, channels); "
            f"got {given.dtype} of shape {given.shape}."
        )
    double = given.dtype.itemsize >= (8 if given.dtype.kind == "f" else 4)
    values = given.astype(np.float64 if double else np.float32)
    values = values.reshape(*given.shape[:3], -1)
    missing = np.isnan(values) | _mask(mask, given.shape)
    if np.isinf(values[~missing]).any():
        raise InvalidInput("Known pixels must be finite; some are infinite. Mark them in the mask.")
    if require_known and missing.all():
        raise InvalidInput("Some pixels must be known; all are missing.")
    return np.where(missing, np.nan, values).astype(values.dtype), missing


def _mask(mask: npt.ArrayLike | None, shape: tuple[int, ...]) -> npt.NDArray[np.bool_]:
    if mask is None:
        return np.zeros((1, 1, 1, 1), dtype=np.bool_)
    given = np.asarray(mask)
    if given.dtype.kind not in "buif":
        raise InvalidInput(f"mask must be boolean or numeric; got {given.dtype}.")
    missing = given != 0
    if missing.shape == shape[1:3]:
        return np.asarray(missing[None, ..., None])
    if missing.shape == shape[:3]:
        return np.asarray(missing[..., None])
    if missing.shape == shape:
        return np.asarray(missing)
    raise InvalidInput(
        f"mask must have shape {shape[:3]}, one per picture, or {shape[1:3]}, one for all; "
        f"got {missing.shape}."
    )


def mean_of(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """(c,), the mean of the known pixels of each channel; if a channel has none, the mean of all channels."""
    known = ~np.isnan(values)
    count = known.sum(axis=(0, 1, 2))
    sums = np.where(known, values, 0).sum(axis=(0, 1, 2), dtype=np.float64)
    return np.asarray(np.where(count > 0, sums / np.maximum(count, 1), sums.sum() / max(count.sum(), 1)))


def read_limits(bounds: Any, values: npt.NDArray[Any]) -> tuple[float, float]:
    """Return the lowest and highest allowed value of filled pixels; see `bounds` of `restore`."""
    if bounds is None:
        return -np.inf, np.inf
    if is_option(bounds, "observed"):
        return float(np.nanmin(values)), float(np.nanmax(values))
    try:
        low, high = (math.nan if isinstance(bounds, str) else float(one) for one in bounds)
    except (TypeError, ValueError):
        low, high = np.nan, np.nan
    if not (low <= high and low < np.inf and high > -np.inf):
        raise complaint("bounds", "'observed', None, or a pair with lowest ≤ highest", bounds)
    return low, high


def merge_filled(
    given: npt.NDArray[Any], filled: npt.NDArray[Any], missing: npt.NDArray[np.bool_]
) -> npt.NDArray[Any]:
    """The given stack with missing entries replaced by imputed values, in the dtype of the stack."""
    fill = filled.reshape(given.shape)
    if given.dtype.kind in "ui":
        limits = np.iinfo(given.dtype)
        # The largest 64-bit integer rounds up when converted to float, so take the next float below.
        largest = limits.max if limits.bits < 64 else np.nextafter(float(limits.max), 0)
        fill = np.clip(np.round(fill), limits.min, largest)
    elif given.dtype.kind == "b":
        fill = np.round(fill)
    where = np.broadcast_to(missing, filled.shape).reshape(given.shape)
    return np.where(where, fill.astype(given.dtype), given)
