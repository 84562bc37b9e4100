"""What predicts a group of columns from the others: the parts of a regression, and kernels as such parts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from manifill._arrays import Array
from manifill._fillers.metric.preset import Preset
from manifill._fillers.metric.rows import Weighted, lengthened
from manifill._fillers.sweep import Component
from manifill.kernels import Kernel, Pairs
from manifill.kernels.bandwidth import evenly_spaced
from manifill.solvers import CentresFit, ExactFit, LeftOut, Ridge

# Pairs of rows whose affinities are in memory at a time.
_MAX_PAIRS = 2_000_000


class Part(Protocol):
    """Extensions of a group of g columns by some of the members."""

    def at(self, rows: Weighted) -> Array:
        """(C, m, g), values at rows (m, q)."""
        ...


@dataclass(frozen=True, eq=False)
class Kernels:
    """Extensions by kernels: k(·, centres) · coefficients.

    Attributes
    ----------
    centres : p of the rows.
    kernels : with their bandwidths.
    coefficients : (C, p, g).
    """

    centres: Weighted
    kernels: tuple[Kernel, ...]
    coefficients: Array

    def at(self, rows: Weighted) -> Array:
        """(C, m, g), values at rows (m, q)."""
        values = np.zeros((len(self.kernels), len(rows), self.coefficients.shape[2]))
        step = max(1, _MAX_PAIRS // max(1, len(self.centres)))
        for first in range(0, len(rows), step):
            part = slice(first, first + step)
            for c, K in enumerate(self.affinities(rows[part])):
                values[c, part] = K @ self.coefficients[c]
        return values

    def affinities(self, rows: Weighted) -> list[Array]:
        """For each kernel, the affinities (m, p) of rows to the centres."""
        pairs = lengthened(pairs_for(self.kernels, rows.values, self.centres.values), rows, self.centres)
        return [kernel(pairs) for kernel in self.kernels]


@dataclass(frozen=True, eq=False)
class PartFit:
    """A part, and what its fits say about the m rows that they were fitted to.

    Attributes
    ----------
    part : the part.
    left_out : (C, m, g), values of these rows by fits without the row.
    without_own : a function from m rows to values (C, m, g) at the first, second, … of them by fits without
        the first, second, … row.
    excess : (C, m, g), by how much the squares of `left_out` are larger, in expectation, than those of values
        at other rows; 0 for members whose fits without a row are as good as the others.
    """

    part: Part
    left_out: Array
    without_own: Callable[[Weighted], Array]
    excess: Array | float = 0.0


def pairs_for(kernels: Sequence[Kernel], left: Array, right: Array | None = None) -> Pairs:
    """Pair statistics of two sets of rows for several kernels; of one set with itself if `right` is None."""
    statistics = dict.fromkeys(one for kernel in kernels for one in kernel.statistics)
    return Pairs.of(left, right, statistics=tuple(statistics))


def fit_kernels(
    rows: Weighted, f: Array, components: Sequence[Component], preset: Preset, centres: int
) -> PartFit:
    """Fits of f (m, g) by kernels on all rows or on `centres` of them."""
    m = len(rows)
    chosen = np.arange(m)[evenly_spaced(m, m if m <= preset.exact else centres)]
    middle = rows[chosen]
    among = pairs_for([one.kernel for one in components], middle.values)
    kernels = tuple(one.kernel.tuned(among) for one in components)
    lengthened(among, middle, middle, np.arange(len(middle)))
    all_pairs = len(middle) == m
    pairs = among
    if not all_pairs:
        pairs = lengthened(pairs_for(kernels, rows.values, middle.values), rows, middle, chosen)
    fitted = evenly_spaced(m, preset.fitted)
    fits: list[LeftOut] = []
    for kernel, component in zip(kernels, components, strict=True):
        ridge = component.solver.ridge if isinstance(component.solver, Ridge) else 0.0
        if all_pairs:
            fits.append(ExactFit.of(kernel(pairs), f, ridge))
        else:
            fits.append(CentresFit.of(kernel(pairs), kernel(among), f, ridge, fitted))
    part = Kernels(middle, kernels, np.stack([one.coefficients for one in fits]))

    def elsewhere(there: Weighted) -> Array:
        affinities = part.affinities(there)
        return np.stack([one.without_own(K) for one, K in zip(fits, affinities, strict=True)])

    return PartFit(part, f - np.stack([one.errors for one in fits]), elsewhere)
