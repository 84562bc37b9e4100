"""Windows of one direction that overlap, so that one can fade into the next."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt


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
