"""Damage that shows by itself: NaN, one value that stands out, pixels that never change.

A value is taken for damage where three things come together: it is far more frequent than the values next to
it, the pixels around it are far from it, and undamaged neighbours are close to each other. It must be as dark
or light as anything, and be strewn at random or fill holes that are not the background. Whatever is less
clear is left to the user.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from manifill._arrays import Mask
from manifill.errors import InvalidInput

SAMPLE = 2_000_000
"""Pixels that are looked at; beyond, evenly spread pictures stand for all."""
STANDS_OUT = 4.0
"""How many times more frequent than its neighbours among the values."""
JUMP = 4.0
"""How many times larger the step to the pixels around it is than common steps."""
STREWN = 0.2
"""Correlation of damaged neighbours, up to which they count as strewn at random."""


def found(values: npt.NDArray[Any]) -> tuple[Mask, str]:
    """Look for damage: a mask (n, height, width) and what was taken for it, or a complaint when unsure."""
    if values.dtype.kind == "f" and np.isnan(values).any():
        gone: Mask = np.isnan(values).any(axis=-1)
        return gone, f"NaN at {_count(gone)}"
    gone, reasons = _by_colour(values)
    stuck = _stuck(values) & ~gone.all(axis=0)
    if stuck.any():
        reasons.append(f"{stuck.sum()} pixels that never change while those around them do")
        gone = gone | stuck
    if not reasons:
        raise InvalidInput(
            "No damage was found that is certain enough: no NaN, no value or colour that stands out, no "
            "stuck pixels. Say where it is: give --mask or --value."
        )
    return gone, f"{', '.join(reasons)}: {_count(gone)}"


def _by_colour(values: npt.NDArray[Any]) -> tuple[Mask, list[str]]:
    some = values[:: max(1, int(values.size // values.shape[-1] // SAMPLE))]
    colours = _frequent(some)
    where = [_is(some, colour) for colour in colours]
    strewn = [_together(gone) < STREWN for gone in where]
    steps = _steps(some)
    accepted = []
    for colour, gone, random in zip(colours, where, strewn, strict=True):
        others = [one for one, alike in zip(where, strewn, strict=True) if alike or not random]
        clear = ~np.any(others, axis=0)
        if not random and _background(gone):
            continue
        if _extreme(some[clear], colour) and _apart(some, steps, gone, clear):
            accepted.append((colour, random))
    if sum(not random for _, random in accepted) > 1 or len(accepted) > 3:
        several = ", ".join(_said(colour) for colour, _ in accepted)
        raise InvalidInput(f"Several colours might be damage: {several}. Say which: give --value or --mask.")
    gone = np.zeros(values.shape[:3], dtype=bool)
    reasons = []
    for colour, random in accepted:
        gone |= _is(values, colour)
        reasons.append(f"pixels that are exactly {_said(colour)}{', strewn at random' if random else ''}")
    return gone, reasons


def _frequent(values: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
    """Colours that are far more frequent than those next to them, the most frequent first."""
    flat = np.ascontiguousarray(values.reshape(-1, values.shape[-1]))
    _, first, counts = np.unique(_packed(flat), return_index=True, return_counts=True)
    if len(counts) < 8:
        return []  # a drawing
    reach = 4
    around = np.repeat([1, 0, 1], [reach, 1, reach]) / (2 * reach)
    expected = np.convolve(np.pad(counts, reach, mode="reflect"), around, mode="valid")
    least = max(12, 0.0005 * len(flat))
    chosen = np.flatnonzero((counts >= least) & (counts >= STANDS_OUT * expected))
    chosen = chosen[np.argsort(-counts[chosen], kind="stable")][:8]
    return [flat[first[i]] for i in chosen]


def _packed(flat: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """One sortable thing for each colour; whole numbers where they fit, which sort fastest."""
    if flat.shape[1] == 1:
        return flat[:, 0]
    if flat.dtype.kind == "u" and flat.dtype.itemsize <= 2:
        bits = 8 * flat.dtype.itemsize
        wide = flat.astype(np.uint64)
        return wide[:, 0] << (2 * bits) | wide[:, 1] << bits | wide[:, 2]
    return flat.view(np.dtype((np.void, flat.dtype.itemsize * flat.shape[1]))).ravel()


def _pairs(array: npt.NDArray[Any]) -> list[tuple[npt.NDArray[Any], npt.NDArray[Any]]]:
    """Neighbours beside and below each other."""
    return [(array[:, :, 1:], array[:, :, :-1]), (array[:, 1:], array[:, :-1])]


def _is(values: npt.NDArray[Any], colour: npt.NDArray[Any]) -> Mask:
    alike = [values[..., channel] == part for channel, part in enumerate(colour)]
    return np.asarray(np.logical_and.reduce(alike))


def _extreme(known: npt.NDArray[Any], colour: npt.NDArray[Any]) -> bool:
    """Whether each channel is at one end of what else there is, as black, white and pure colours are."""
    return all(
        part <= _quantile(own, 0.01) or part >= _quantile(own, 0.99)
        for own, part in zip(known.T, colour.tolist(), strict=True)
    )


def _steps(values: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
    """How far neighbours are apart, in the channel where they differ most."""
    exact = values.astype(np.float32 if values.dtype.itemsize < 4 else np.float64)
    return [np.abs(one - two).max(axis=-1) for one, two in _pairs(exact)]


def _apart(values: npt.NDArray[Any], steps: list[npt.NDArray[Any]], gone: Mask, clear: Mask) -> bool:
    """Whether steps from these pixels to clear ones are far larger than steps among clear ones."""
    out, common = [], []
    for step, (gone_one, gone_two), (clear_one, clear_two) in zip(
        steps, _pairs(gone), _pairs(clear), strict=True
    ):
        out.append(step[(gone_one & clear_two) | (clear_one & gone_two)])
        common.append(step[clear_one & clear_two])
    jump, common_step = _quantile(np.concatenate(out), 0.5), _quantile(np.concatenate(common), 0.75)
    spread = _quantile(values[clear], 0.99) - _quantile(values[clear], 0.01)
    return bool(jump > 0 and jump >= JUMP * common_step and jump >= 0.1 * spread)  # False where one is NaN


def _quantile(values: npt.NDArray[Any], share: float) -> float:
    """A quantile of some of the values, or NaN where there are too few."""
    some = values.ravel()[:: max(1, values.size // 100_000)]
    return float(np.quantile(some.astype(float), share)) if len(some) >= 12 else np.nan


def _together(gone: Mask) -> float:
    """How much likelier damage is beside damage than elsewhere: 0 at random, 1 in one piece."""
    share = gone.mean()
    both = [one & two for one, two in _pairs(gone)]
    pairs = sum(one.size for one in both)
    if not pairs or share >= 1:
        return 1.0
    beside = sum(one.sum() for one in both) / pairs / share
    return float((beside - share) / (1 - share))


def _background(gone: Mask) -> bool:
    """Whether it is most of the pictures, or a good part of their edges."""
    edges = np.concatenate([gone[:, 0], gone[:, -1], gone[:, :, 0], gone[:, :, -1]], axis=1)
    return bool(gone.mean() > 0.5 or edges.mean() > 0.3)


def _stuck(values: npt.NDArray[Any]) -> Mask:
    """(height, width): pixels with one value in every picture, whose neighbours vary."""
    n, height, width, _ = values.shape
    if n < 5:
        return np.zeros((height, width), dtype=bool)
    from scipy.ndimage import convolve

    still = (values == values[:1]).all(axis=(0, 3))
    spread = np.ptp(values, axis=0).max(axis=-1).astype(float)
    lively = spread > 0.1 * (float(values.max()) - float(values.min()))
    ring = [[1, 1, 1], [1, 0, 1], [1, 1, 1]]
    varying, there = (
        convolve(one.astype(int), ring, mode="constant") for one in (lively, np.ones_like(lively))
    )
    stuck: Mask = still & (varying >= 0.75 * there)
    return stuck if stuck.mean() <= 0.1 else np.zeros_like(stuck)


def _said(colour: npt.NDArray[Any]) -> str:
    if len(colour) == 3 and colour.dtype == np.uint8:
        return "#" + "".join(f"{int(part):02x}" for part in colour)
    return ",".join(f"{part:g}" for part in colour.tolist())


def _count(gone: Mask) -> str:
    return f"{gone.sum():,} of {gone.size:,} pixels ({100 * gone.mean():.2g} %)"
