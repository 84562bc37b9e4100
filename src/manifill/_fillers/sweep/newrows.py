"""Fill new rows from a completed table."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from operator import add
from typing import Protocol

import numpy as np

from manifill._arrays import Array, Indices, Mask, Table, to_numpy
from manifill._devices import place
from manifill._fillers.sweep.ensemble import Ensemble
from manifill._fillers.sweep.ledger import Ledger
from manifill._fillers.sweep.local import LocalSweeps, parts_of
from manifill._fillers.sweep.methods import exact_or_landmarks
from manifill._fillers.sweep.order import Block
from manifill._fillers.sweep.outcome import Coefficients, SweepFill
from manifill._neighbors import NearRows
from manifill._threads import Workers
from manifill.kernels import PairStatistic
from manifill.solvers import Local

# Pairs of new and fitted rows in memory at a time, in a few arrays of 8 bytes each.
_MAX_PAIRS = 4_000_000


class Visits(Protocol):
    """New rows during a sweep: `extension` of a block from the fitted rows, then `put_back` of its values."""

    def begin_sweep(self, Z: Array) -> None: ...

    def extension(self, block: Block, where: Mask) -> Array: ...

    def put_back(self, block: Block, values: Array) -> None: ...


@dataclass(frozen=True, eq=False)
class Model:
    """Fills new rows from a completed table, whose rows (the fitted rows) do not change.

    Each new row is swept over its missing columns until it converges. Nothing is drawn at random and new rows
    do not use each other, so the fill of a row does not depend on the other rows of the batch.

    Attributes
    ----------
    state : the last sweep over the fitted rows.
    ensemble : the ensemble of that sweep.
    tol : change per sweep, in standard deviations, at which a new row has converged.
    max_sweeps : maximum number of sweeps.
    device : where the coefficients are computed; None for numpy.
    n_jobs : number of threads, as in `Workers`.
    """

    state: SweepFill
    ensemble: Ensemble
    tol: float
    max_sweeps: int
    device: str | None = None
    n_jobs: int | None = None

    def complete(self, given: Table, moments: Array | None = None) -> Table:
        """Rows (m, d) in the user's units, filled where NaN; rows without any value get the column means."""
        problem = self.state.problem
        M = np.isnan(given)
        Z = problem.scaling.standardise(np.where(M, 0.0, given).astype(np.float64))
        filled = np.where(M, 0.0, Z)
        rows = np.flatnonzero(M.any(axis=1) & ~M.all(axis=1))
        if len(rows) and len(self.state.Z):
            with Workers(self.n_jobs):
                _, batch = self._visitors
                for first in range(0, len(rows), batch):
                    part = rows[first : first + batch]
                    filled[part] = self._fill(filled[part], M[part])
        return problem.complete(given, filled)

    def _fill(self, Z: Array, M: Mask) -> Array:
        problem, Z = self.state.problem, Z.copy()
        to_learn = M & (problem.scaling.std > 0)
        blocks = [block for block in self.state.blocks if to_learn[:, block].any()]
        lowest, highest = problem.standard_bounds
        visits = self._visitors[0](Z)
        moving = np.ones(len(Z), dtype=np.bool_)
        tol = max(self.tol, 1e-12)  # smaller changes are rounding errors
        for _ in range(self.max_sweeps):
            before = Z.copy()
            visits.begin_sweep(Z)
            for block in blocks:
                to_fill = M[:, block] & moving[:, None]
                extended = np.clip(visits.extension(block, to_fill), lowest[block], highest[block])
                Z[:, block] = np.where(to_fill, extended, Z[:, block])
                visits.put_back(block, Z[:, block])
            n_learned = np.maximum(to_learn.sum(axis=1), 1)
            moving &= np.sqrt(((Z - before) ** 2).sum(axis=1) / n_learned) > tol
            if not moving.any():
                break
        return Z

    @cached_property
    def _visitors(self) -> tuple[Callable[[Array], Visits], int]:
        """Constructor of `Visits`, and the number of rows to sweep at a time.

        Kernels and coefficients of all blocks are computed at once, in a fixed order, so that fills do not
        depend on earlier calls.
        """
        state = self.state
        if isinstance(self.ensemble.solver, Local):
            method = LocalSweeps(state.problem, state.blocks, self.ensemble)
            width = method.n_candidates(len(state.Z))
            return partial(_LocalVisits, _NeighbourIndex(method, state.Z)), max(1, _MAX_PAIRS // width)
        fitted = self.fitted
        visits = partial(_CoefficientVisits, self.ensemble.statistics, fitted, state.blocks)
        return visits, max(1, _MAX_PAIRS // len(fitted.centres))

    @cached_property
    def fitted(self) -> Coefficients:
        """Tuned kernels and coefficients of every block."""
        state = self.state
        method = exact_or_landmarks(state.problem, state.blocks, self.ensemble, state.seed, self.device)
        return method.fitted(place(to_numpy(state.Z), self.device))


class _CoefficientVisits:
    """Visits that extend a block as k(new, centres) · C."""

    def __init__(
        self,
        statistics: tuple[PairStatistic, ...],
        fitted: Coefficients,
        blocks: tuple[Block, ...],
        Z: Array,
    ) -> None:
        self._ledger = Ledger(statistics, Z, right=fitted.centres)
        self._fits = {int(block[0]): fit for block, fit in zip(blocks, fitted.fits, strict=True)}

    def begin_sweep(self, Z: Array) -> None:
        pass

    def extension(self, block: Block, where: Mask) -> Array:
        pairs = self._ledger.take_out(block)
        each = [kernel.matrix(pairs) @ C for kernel, C in self._fits[int(block[0])]]
        extended: Array = reduce(add, each)
        return extended

    def put_back(self, block: Block, values: Array) -> None:
        self._ledger.put_back(block, values)


class _NeighbourIndex:
    """Neighbour indexes and tuned kernels of the fitted rows, for every block."""

    def __init__(self, method: LocalSweeps, Z: Array) -> None:
        self.method, self.Z = method, Z
        self.tuned = {int(block[0]): method.tuned(np.delete(Z, block, axis=1)) for block in method.blocks}
        self.searches = []
        for part in parts_of(list(method.blocks)):
            others = np.delete(np.arange(Z.shape[1]), np.concatenate(part))
            others = others if others.size else np.arange(Z.shape[1])
            self.searches.append((part, others, NearRows.of(Z[:, others])))


class _LocalVisits:
    """Visits that extend each entry from the nearest fitted rows where its column is known."""

    def __init__(self, index: _NeighbourIndex, Z: Array) -> None:
        self._index, self._new = index, Z

    def begin_sweep(self, Z: Array) -> None:
        self._new = Z
        n_candidates = self._index.method.n_candidates(len(self._index.Z))
        self._near: dict[int, Indices] = {}
        n = len(self._index.Z)
        for part, others, near_rows in self._index.searches:
            all_rows = np.broadcast_to(np.arange(n), (len(Z), n))
            near = all_rows if n_candidates == n else near_rows.of_others(Z[:, others], n_candidates)
            self._near |= {int(block[0]): near for block in part}

    def extension(self, block: Block, where: Mask) -> Array:
        method, fitted_rows = self._index.method, self._index.Z
        values = np.zeros((len(self._new), len(block)))
        for position, column in enumerate(block):
            queries = np.flatnonzero(where[:, position])
            if not queries.size or not method.problem.scaling.std[column]:
                continue
            near = method.with_fallback(self._near[int(block[0])][queries], column)
            used, places = np.unique(near, return_inverse=True)  # −1, for no candidate, sorts first
            rows = np.concatenate([fitted_rows[used], self._new[queries]])
            known = np.concatenate(
                [~method.problem.M[used, column] & (used >= 0), np.zeros(len(queries), bool)]
            )
            values[queries, position], _ = method.extended(
                np.ascontiguousarray(np.delete(rows, block, axis=1)),
                np.arange(len(used), len(rows)),
                places.reshape(near.shape),
                known,
                rows[:, column],
                column,
                self._index.tuned[int(block[0])],
            )
        return values

    def put_back(self, block: Block, values: Array) -> None:
        pass
