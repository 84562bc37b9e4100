"""Detection of damaged pixels without a mask: NaN, an outlying colour, pixels that never change.

A colour (or grey value) counts as damage if all of these hold:

- it is far more frequent than the colours next to it in sorted order;
- steps from its pixels to neighbouring pixels are far larger than steps between undamaged neighbours;
- each channel is at the lower or upper end of the range of the undamaged pixels;
- its pixels are scattered at random, or form regions that are not the background.

If nothing meets these conditions, or too many colours do, the user must specify the damage.

In frames of a video, pixels that never change while their neighbours do count as damage too. In other stacks
they do not: undamaged pictures of digits and of objects on a plain background have such pixels.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from manifill._arrays import Mask
from manifill.errors import InvalidInput

# Thresholds here and in the functions below: set by hand, not tuned.
MAX_PIXELS = 2_000_000
"""About how many pixels are examined; of larger stacks, evenly spaced pictures."""
MIN_FREQUENCY_RATIO = 4.0
"""Minimum ratio of a colour's frequency to the mean frequency of the colours next to it in sorted order."""
MIN_STEP_RATIO = 4.0
"""Minimum ratio of the median step out of a colour to the 75 % quantile of steps between undamaged pixels."""
MAX_CORRELATION = 0.2
"""Correlation of neighbouring mask values below which damage counts as scattered at random."""


def detect_damage(values: npt.NDArray[Any], *, frames: bool = False) -> tuple[Mask, str]:
    """Detect damage in pictures, or in `frames` of a video: mask (n, height, width) and a description.

    Raises InvalidInput if no damage is clear, or if too many colours could be damage.
    """
    if values.dtype.kind == "f" and np.isnan(values).any():
        damaged: Mask = np.isnan(values).any(axis=-1)
        return damaged, f"NaN at {_count(damaged)}"
    damaged, reasons = _by_colour(values)
    if frames:
        stuck = _stuck(values) & ~damaged.all(axis=0)
        if stuck.any():
            reasons.append(f"{stuck.sum()} pixels that never change while their neighbours do")
            damaged = damaged | stuck
    if not reasons:
        raise InvalidInput(
            "No damage was found with certainty: no NaN and no outlying value or colour. "
            "Specify where it is, for example with --mask, --value or --box."
        )
    return damaged, f"{', '.join(reasons)}: {_count(damaged)}"


def _by_colour(values: npt.NDArray[Any]) -> tuple[Mask, list[str]]:
    """Pixels of the colours that count as damage, and a description of each colour."""
    some = values[:: max(1, int(values.size // values.shape[-1] // MAX_PIXELS))]
    colours = _frequent(some)
    where = [_equal(some, colour) for colour in colours]
    scattered = [_correlation(mask) < MAX_CORRELATION for mask in where]
    steps = _steps(some)
    accepted = []
    for colour, mask, random in zip(colours, where, scattered, strict=True):
        others = [one for one, also_random in zip(where, scattered, strict=True) if also_random or not random]
        undamaged = ~np.any(others, axis=0)
        if not random and _is_background(mask):
            continue
        if _is_extreme(some[undamaged], colour) and _is_outlying(some, steps, mask, undamaged):
            accepted.append((colour, random))
    if sum(not random for _, random in accepted) > 1 or len(accepted) > 3:
        several = ", ".join(_describe(colour) for colour, _ in accepted)
        raise InvalidInput(f"Several colours might be damage: {several}. Choose one: give --value or --mask.")
    damaged = np.zeros(values.shape[:3], dtype=bool)
    reasons = []
    for colour, random in accepted:
        damaged |= _equal(values, colour)
        reasons.append(f"pixels that are exactly {_describe(colour)}{', scattered' if random else ''}")
    return damaged, reasons


def _frequent(values: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
    """Up to 8 colours far more frequent than those next to them in sorted order, most frequent first."""
    flat = np.ascontiguousarray(values.reshape(-1, values.shape[-1]))
    _, first, counts = np.unique(_packed(flat), return_index=True, return_counts=True)
    if len(counts) < 8:
        return []  # so few colours that the picture is a drawing
    reach = 4
    around = np.repeat([1, 0, 1], [reach, 1, reach]) / (2 * reach)
    expected = np.convolve(np.pad(counts, reach, mode="reflect"), around, mode="valid")
    min_count = max(12, 0.0005 * len(flat))
    chosen = np.flatnonzero((counts >= min_count) & (counts >= MIN_FREQUENCY_RATIO * expected))
    chosen = chosen[np.argsort(-counts[chosen], kind="stable")][:8]
    return [flat[first[i]] for i in chosen]


def _packed(flat: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """One sortable key per colour (n, channels) → (n,): integers if they fit, since these sort fastest."""
    if flat.shape[1] == 1:
        return flat[:, 0]
    if flat.dtype.kind == "u" and flat.dtype.itemsize <= 2:
        bits = 8 * flat.dtype.itemsize
        wide = flat.astype(np.uint64)
        return wide[:, 0] << (2 * bits) | wide[:, 1] << bits | wide[:, 2]
    return flat.view(np.dtype((np.void, flat.dtype.itemsize * flat.shape[1]))).ravel()


def _pairs(array: npt.NDArray[Any]) -> list[tuple[npt.NDArray[Any], npt.NDArray[Any]]]:
    """Horizontally and vertically adjacent pixels."""
    return [(array[:, :, 1:], array[:, :, :-1]), (array[:, 1:], array[:, :-1])]


def _equal(values: npt.NDArray[Any], colour: npt.NDArray[Any]) -> Mask:
    equal = [values[..., channel] == part for channel, part in enumerate(colour)]
    return np.asarray(np.logical_and.reduce(equal))


def _is_extreme(undamaged: npt.NDArray[Any], colour: npt.NDArray[Any]) -> bool:
    """Whether each channel is outside the 1 % to 99 % quantiles of the undamaged pixels (as black is)."""
    return all(
        part <= _quantile(own, 0.01) or part >= _quantile(own, 0.99)
        for own, part in zip(undamaged.T, colour.tolist(), strict=True)
    )


def _steps(values: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
    """Absolute differences of adjacent pixels, the maximum over channels."""
    exact = values.astype(np.float32 if values.dtype.itemsize < 4 else np.float64)
    return [np.abs(one - two).max(axis=-1) for one, two in _pairs(exact)]


def _is_outlying(
    values: npt.NDArray[Any], steps: list[npt.NDArray[Any]], mask: Mask, undamaged: Mask
) -> bool:
    """Whether steps between masked and undamaged pixels are far larger than those between undamaged ones."""
    outward, common = [], []
    for step, (mask_1, mask_2), (undamaged_1, undamaged_2) in zip(
        steps, _pairs(mask), _pairs(undamaged), strict=True
    ):
        outward.append(step[(mask_1 & undamaged_2) | (undamaged_1 & mask_2)])
        common.append(step[undamaged_1 & undamaged_2])
    jump, usual = _quantile(np.concatenate(outward), 0.5), _quantile(np.concatenate(common), 0.75)
    width = _quantile(values[undamaged], 0.99) - _quantile(values[undamaged], 0.01)
    return bool(jump > 0 and jump >= MIN_STEP_RATIO * usual and jump >= 0.1 * width)  # False if one is NaN


def _quantile(values: npt.NDArray[Any], share: float) -> float:
    """A quantile of about 100,000 evenly spaced values, or NaN if there are fewer than 12."""
    some = values.ravel()[:: max(1, values.size // 100_000)]
    return float(np.quantile(some.astype(float), share)) if len(some) >= 12 else np.nan


def _correlation(mask: Mask) -> float:
    """Correlation (q - p) / (1 - p) of neighbouring mask values: 0 if scattered at random, 1 if in one piece.

    p is the share of masked pixels, q the share of masked pixels among the neighbours of masked pixels.
    """
    share = mask.mean()
    both = [one & two for one, two in _pairs(mask)]
    pairs = sum(one.size for one in both)
    if not pairs or share >= 1:
        return 1.0
    next_to_masked = sum(one.sum() for one in both) / pairs / share
    return float((next_to_masked - share) / (1 - share))


def _is_background(mask: Mask) -> bool:
    """Whether the mask covers more than half of the pictures, or more than 30 % of their edges."""
    edges = np.concatenate([mask[:, 0], mask[:, -1], mask[:, :, 0], mask[:, :, -1]], axis=1)
    return bool(mask.mean() > 0.5 or edges.mean() > 0.3)


def _stuck(values: npt.NDArray[Any]) -> Mask:
    """(height, width): pixels that are equal in all pictures while at least 75 % of their neighbours vary.

    Needs at least 5 pictures. If more than 10 % of the pixels qualify, none is returned.
    """
    n, height, width, _ = values.shape
    if n < 5:
        return np.zeros((height, width), dtype=bool)
    from scipy.ndimage import convolve

    constant = (values == values[:1]).all(axis=(0, 3))
    ranges = np.ptp(values, axis=0).max(axis=-1).astype(float)
    varying = ranges > 0.1 * (float(values.max()) - float(values.min()))
    ring = [[1, 1, 1], [1, 0, 1], [1, 1, 1]]
    n_varying, n_neighbours = (
        convolve(one.astype(int), ring, mode="constant") for one in (varying, np.ones_like(varying))
    )
    stuck: Mask = constant & (n_varying >= 0.75 * n_neighbours)
    return stuck if stuck.mean() <= 0.1 else np.zeros_like(stuck)


def _describe(colour: npt.NDArray[Any]) -> str:
    if len(colour) == 3 and colour.dtype == np.uint8:
        return "#" + "".join(f"{int(part):02x}" for part in colour)
    return ",".join(f"{part:g}" for part in colour.tolist())


def _count(damaged: Mask) -> str:
    return f"{damaged.sum():,} of {damaged.size:,} pixels ({100 * damaged.mean():.2g} %)"
