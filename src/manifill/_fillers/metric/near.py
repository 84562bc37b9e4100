"""Regression of a group of columns from the nearest rows: a small kernel ridge regression for every row."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from manifill._arrays import Array, Indices
from manifill._fillers.metric.rows import Weighted
from manifill._fillers.sweep import Component
from manifill._neighbors import NearRows
from manifill._threads import share
from manifill.kernels import Pairs
from manifill.kernels.bandwidth import evenly_spaced
from manifill.solvers import Local

Floats = npt.NDArray[np.floating[Any]]

# Rows whose values are found in one piece of work of a thread.
_ROWS_AT_A_TIME = 500
# Rows of a cell, and cells that are searched, if there are too many rows to search all. Of cells of 64 to 512
# rows, these find most neighbours for their time (14,000 and 50,000 random rows of 15 columns: 77 and 61 %).
_CELL, _CELLS_SEARCHED = 256, 12


@dataclass(frozen=True, eq=False)
class _Index:
    """Rows as compiled code searches them, sorted by cells; single precision."""

    order: Indices
    first: Indices
    centres: Floats
    rows: Floats
    columns: Floats
    extra: Floats

    @classmethod
    def of(cls, rows: Weighted) -> Self:
        cells = NearRows.of(rows.values, _CELL)
        return cls(
            cells.order.astype(np.intp),
            cells.first.astype(np.intp),
            np.ascontiguousarray(cells.centres.T),
            cells.rows,
            np.ascontiguousarray(cells.rows.T),
            rows.absolute[cells.order].astype(np.float32),
        )

    @cached_property
    def place(self) -> Indices:
        """(m,), the place of each row in the order of the cells."""
        return np.argsort(self.order)


@dataclass(frozen=True, eq=False)
class NearFit:
    """Extensions of a group of g columns by Laplacian kernels on the k nearest rows, nearest in L1 distance.

    Attributes
    ----------
    index : the m rows.
    f : (m, g), values at these rows, in the order of the index.
    counts, bandwidths, ridges : (C,), of the components.
    """

    index: _Index
    f: Array
    counts: Indices
    bandwidths: Array
    ridges: Array

    @classmethod
    def of(cls, rows: Weighted, f: Array, components: Sequence[Component]) -> Self:
        """Fit f (m, g) on rows; the solvers of the components are `Local`."""
        some = rows.values[evenly_spaced(len(rows), 1000)]
        among = Pairs.of(some, statistics=components[0].kernel.statistics)
        bandwidths = [one.kernel.tuned(among).scale for one in components]
        solvers = [one.solver for one in components if isinstance(one.solver, Local)]
        index, most = _Index.of(rows), max(1, len(rows) - 1)
        return cls(
            index,
            f[index.order],
            np.array([min(one.k, most) for one in solvers]),
            np.array(bandwidths, dtype=np.float64),
            np.array([one.ridge for one in solvers]),
        )

    def at(self, rows: Weighted) -> Array:
        """(C, n, g), values at n rows."""
        return self._values(rows, np.full(len(rows), -1))

    def without_own(self, rows: Weighted) -> Array:
        """(C, m, g), values at m rows from neighbours among the fitted rows other than row 1, …, m."""
        return self._values(rows, self.index.place)

    def _values(self, rows: Weighted, left_out: Indices) -> Array:
        import manifill._compiled as compiled

        index, k = self.index, int(self.counts.max())
        n_cells = min(_CELLS_SEARCHED, index.centres.shape[1])
        values = np.empty((len(rows), len(self.counts), self.f.shape[1]))

        def fill(part: slice) -> None:
            at = np.ascontiguousarray(rows.values[part], dtype=np.float32)
            near = np.empty((len(at), k), dtype=np.intp)
            distance: Floats = np.empty((len(at), k), dtype=np.float32)
            compiled.nearest(
                at,
                index.columns,
                index.extra,
                index.first,
                index.centres,
                n_cells,
                left_out[part],
                near,
                distance,
            )
            compiled.from_near_rows(
                index.rows,
                index.extra,
                near,
                distance.astype(np.float64) + rows.absolute[part, None],
                self.f,
                self.counts,
                self.bandwidths,
                self.ridges,
                values[part],
            )

        starts = range(0, len(rows), _ROWS_AT_A_TIME)
        share(fill, [slice(first, first + _ROWS_AT_A_TIME) for first in starts])
        return np.ascontiguousarray(values.transpose(1, 0, 2))
