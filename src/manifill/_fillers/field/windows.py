"""Overlapping windows along one axis, which are cross-faded; and parts of the rows of a long table."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from manifill._arrays import Array, Indices

MAX_ROWS = 2500
"""Maximum number of rows that are filled together, with a kernel matrix of rows × rows."""

# Rows by which consecutive parts overlap, if rows have an order. Set by hand, not tuned.
_OVERLAP = 100


@dataclass(frozen=True)
class Window:
    """Positions [first, last) of an axis; the first `fade_in` and last `fade_out` overlap other windows."""

    first: int
    last: int
    fade_in: int
    fade_out: int

    @property
    def slice(self) -> slice:
        return slice(self.first, self.last)

    @property
    def ramp(self) -> npt.NDArray[Any]:
        """Weight of each position: 1, with linear ramps in the overlaps."""
        ramp = np.ones(self.last - self.first)
        up = (np.arange(self.fade_in) + 1) / (self.fade_in + 1)
        down = (np.arange(self.fade_out) + 1) / (self.fade_out + 1)
        ramp[: self.fade_in] = up
        ramp[len(ramp) - self.fade_out :] = down[::-1]
        return ramp


def windows(size: int, width: int, overlap: int) -> list[Window]:
    """Windows of equal width, about `width`, that cover `size` positions and overlap by `overlap`."""
    if size <= 1.25 * width:
        return [Window(0, size, 0, 0)]
    overlap = min(overlap, width // 2)
    count = -(-(size - overlap) // (width - overlap))
    edges = np.linspace(0, size - overlap, count + 1).round().astype(int)
    return [
        Window(first, after + overlap, overlap * (i > 0), overlap * (i < count - 1))
        for i, (first, after) in enumerate(pairwise(edges.tolist()))
    ]


@dataclass(frozen=True, eq=False)
class Part:
    """Rows that are filled together, and the weight of each (`share`), below 1 where parts overlap."""

    rows: Indices
    share: Array

    def weighted(self, Z: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Z of the rows of this part, times their weights."""
        return np.asarray(Z * self.share.reshape(-1, *[1] * (Z.ndim - 1)).astype(Z.dtype))


def parts(n: int, width: int, rng: np.random.Generator, *, in_order: bool) -> Iterator[Part]:
    """Parts of about `width` of n rows: overlapping windows if `in_order`, else random subsets."""
    all_windows = windows(n, width, _OVERLAP if in_order else 0)
    order = np.arange(n) if in_order or len(all_windows) == 1 else rng.permutation(n)
    for window in all_windows:
        yield Part(np.sort(order[window.slice]), window.ramp)
