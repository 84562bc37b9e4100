"""Damaged pictures, restored from themselves and from each other.

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
    """Restored pictures, and how far off held-out pixels were.

    Attributes
    ----------
    pictures : like the stack that was given, in its type; only missing pixels differ.
    missing : (n, h, w), what was filled.
    blend : weights of the methods, and what held-out pixels said; None where nothing could be held out.
    """

    pictures: npt.NDArray[Any]
    missing: Mask
    blend: Blend | None

    @property
    def error(self) -> float:
        """Root mean square error to expect of filled pixels, in the pictures' units; NaN where unknown."""
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
    """Restore damaged pictures; known pixels come back bit for bit.

    Parameters
    ----------
    stack : (n, h, w) or (n, h, w, channels), whole numbers or floats; NaN is missing. One picture is a stack
        of one.
    mask : (n, h, w), (h, w) for all pictures alike, or of the stack's shape; True or non-zero is missing.
    ordered : do pictures follow each other in time?
    bounds : lowest and highest value of filled pixels: "observed" for the range of the known ones, a pair, or
        None.
    random_state : the same number gives the same pictures.
    device : None, "auto", "cuda" or another device of torch's.
    n_jobs : threads, as in joblib.
    return_info : return a `Restoration`, with what held-out pixels say of errors, instead of the pictures.
    """
    if isinstance(stack, np.ma.MaskedArray):
        raise InvalidInput("Masked arrays are not read; give stack.data, and stack.mask as the mask.")
    try:
        given = np.asarray(stack)
    except ValueError:
        raise InvalidInput("Pictures of a stack must be of one size; these differ.") from None
    values, missing = read_stack(given, mask)
    rng = as_generator(random_state)
    limits = read_limits(bounds, values)
    n, h, w, c = values.shape
    tiler = Tiler((h, w, c), ordered, side_for(np.asarray(missing.all(axis=-1))), find_device(device), n_jobs)
    most = tiler.rows_at_a_time
    blend = tiler.validated(values[: min(n, most)], rng, limits)
    instead = mean_of(values)
    parts = windows(n, most, min(most // 4, 32) if ordered else 0)

    def filled(i: int) -> npt.NDArray[Any]:
        def tick(share: float) -> None:
            _log.info("%.0f %% of the pictures", 100 * (i + share) / len(parts))

        return tiler.fill(values[parts[i].slice], rng, blend, limits, instead, tick)

    whole = np.stack(list(fade((part, filled(i)) for i, part in enumerate(parts))))
    pictures = completed(given, whole, missing)
    return Restoration(pictures, np.asarray(missing.any(axis=-1)), blend) if return_info else pictures


def read_stack(
    given: npt.NDArray[Any], mask: npt.ArrayLike | None, some_known: bool = True
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
    """The stack as (n, h, w, c), NaN where missing, and where that is."""
    if given.ndim not in (3, 4) or not given.size or given.dtype.kind not in "uifb":
        raise InvalidInput(
            "Pictures must be numbers of shape (n, height, width) or (n, height, width, channels); "
            f"got {given.dtype} of shape {given.shape}."
        )
    wide = given.dtype.itemsize >= (8 if given.dtype.kind == "f" else 4)
    values = given.astype(np.float64 if wide else np.float32)
    values = values.reshape(*given.shape[:3], -1)
    missing = np.isnan(values) | _mask(mask, given.shape)
    if np.isinf(values[~missing]).any():
        raise InvalidInput("Known pixels must be finite; some are infinite. Mark them in the mask.")
    if some_known and missing.all():
        raise InvalidInput("Some pixels must be known to fill the others from; all are missing.")
    return np.where(missing, np.nan, values).astype(values.dtype), missing


def _mask(mask: npt.ArrayLike | None, shape: tuple[int, ...]) -> npt.NDArray[np.bool_]:
    if mask is None:
        return np.zeros((1, 1, 1, 1), dtype=np.bool_)
    given = np.asarray(mask)
    if given.dtype.kind not in "buif":
        raise InvalidInput(f"mask must be True or False, or numbers; got {given.dtype}.")
    missing = given != 0
    if missing.shape == shape[1:3]:
        return np.asarray(missing[None, ..., None])
    if missing.shape == shape[:3]:
        return np.asarray(missing[..., None])
    if missing.shape == shape:
        return np.asarray(missing)
    raise InvalidInput(
        f"mask must be of shape {shape[:3]}, one for each picture, or {shape[1:3]}, one for all; "
        f"got {missing.shape}."
    )


def mean_of(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """(c,), the mean of each channel; of all where nothing is known of one."""
    known = ~np.isnan(values)
    count = known.sum(axis=(0, 1, 2))
    sums = np.where(known, values, 0).sum(axis=(0, 1, 2), dtype=np.float64)
    return np.asarray(np.where(count > 0, sums / np.maximum(count, 1), sums.sum() / max(count.sum(), 1)))


def read_limits(bounds: Any, values: npt.NDArray[Any]) -> tuple[float, float]:
    """Lowest and highest fill: the range of what is known, a pair, or any number."""
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


def completed(
    given: npt.NDArray[Any], whole: npt.NDArray[Any], missing: npt.NDArray[np.bool_]
) -> npt.NDArray[Any]:
    """The stack as it was given, with what was filled where it was missing, in its own type."""
    fill = whole.reshape(given.shape)
    if given.dtype.kind in "ui":
        limits = np.iinfo(given.dtype)
        # The float next to the largest number of 64 bits is beyond it.
        most = limits.max if limits.bits < 64 else np.nextafter(float(limits.max), 0)
        fill = np.clip(np.round(fill), limits.min, most)
    elif given.dtype.kind == "b":
        fill = np.round(fill)
    where = np.broadcast_to(missing, whole.shape).reshape(given.shape)
    return np.where(where, fill.astype(given.dtype), given)
