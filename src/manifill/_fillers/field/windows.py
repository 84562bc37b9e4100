"""Windows of one direction that overlap, so that one can fade into the next; and parts of a table's rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from manifill._arrays import Array, Indices

MAX_ROWS = 2500
"""Rows that are compared with each other at a time, for each a row of a matrix."""

# Rows where parts overlap that are in order.
_OVERLAP = 100


@dataclass(frozen=True)
class Window:
    """A slice of one direction, and how much each place in it counts where windows overlap."""

    first: int
    last: int
    fade_in: int
    fade_out: int

    @property
    def slice(self) -> slice:
        return slice(self.first, self.last)

    @property
    def ramp(self) -> npt.NDArray[Any]:
        ramp = np.ones(self.last - self.first)
        up = (np.arange(self.fade_in) + 1) / (self.fade_in + 1)
        down = (np.arange(self.fade_out) + 1) / (self.fade_out + 1)
        ramp[: self.fade_in] = up
        ramp[len(ramp) - self.fade_out :] = down[::-1]
        return ramp


def windows(size: int, most: int, overlap: int) -> list[Window]:
    """Windows of even width, about `most`, that cover `size` places and overlap by `overlap`."""
    if size <= 1.25 * most:
        return [Window(0, size, 0, 0)]
    overlap = min(overlap, most // 2)
    count = -(-(size - overlap) // (most - overlap))
    edges = np.linspace(0, size - overlap, count + 1).round().astype(int)
    return [
        Window(first, after + overlap, overlap * (i > 0), overlap * (i < count - 1))
        for i, (first, after) in enumerate(pairwise(edges.tolist()))
    ]


@dataclass(frozen=True, eq=False)
class Part:
    """Some rows that are filled together, and how much each counts: where parts overlap, they fade."""

    rows: Indices
    share: Array

    def spread(self, Z: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Rows of this part, weighted by their share."""
        return np.asarray(Z * self.share.reshape(-1, *[1] * (Z.ndim - 1)).astype(Z.dtype))


def parts(n: int, most: int, rng: np.random.Generator, *, in_order: bool) -> Iterator[Part]:
    """All of n rows where they are no more than about `most`; else windows of them in order, or at random."""
    places = windows(n, most, _OVERLAP if in_order else 0)
    order = np.arange(n) if in_order or len(places) == 1 else rng.permutation(n)
    for place in places:
        yield Part(np.sort(order[place.slice]), place.ramp)
