"""Fill rows that were not there when the model was made."""

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

# Pairs of new and known rows held at a time, 8 bytes each and a few arrays of them.
_MOST_PAIRS = 4_000_000


class Visits(Protocol):
    """New rows being swept: `extension` of a block from the known rows, then `put_back` of its new values."""

    def begin_sweep(self, Z: Array) -> None: ...

    def extension(self, block: Block, where: Mask) -> Array: ...

    def put_back(self, block: Block, values: Array) -> None: ...


@dataclass(frozen=True, eq=False)
class Model:
    """A completed table, ready to fill new rows from.

    The known rows stay as they are. Nothing is drawn at random and no row looks at another new row: a row's
    fill does not depend on its company. Every row is swept over its missing columns until it settles.

    Attributes
    ----------
    state : the last sweep over the known rows.
    ensemble : that of that sweep.
    tol, max_sweeps : when a new row counts as settled, and how long to try.
    device : where the coefficients are found; None for numpy.
    n_jobs : threads, as in `Workers`.
    """

    state: SweepFill
    ensemble: Ensemble
    tol: float
    max_sweeps: int
    device: str | None = None
    n_jobs: int | None = None

    def complete(self, given: Table, moments: Array | None = None) -> Table:
        """Fill rows (m, d) in the user's units where they are NaN; with nothing observed, by the means."""
        problem = self.state.problem
        M = np.isnan(given)
        Z = problem.scaling.standardise(np.where(M, 0.0, given).astype(np.float64))
        filled = np.where(M, 0.0, Z)
        rows = np.flatnonzero(M.any(axis=1) & ~M.all(axis=1))
        if len(rows) and len(self.state.Z):
            with Workers(self.n_jobs):
                _, at_a_time = self._visitors
                for first in range(0, len(rows), at_a_time):
                    part = rows[first : first + at_a_time]
                    filled[part] = self._fill(filled[part], M[part])
        return problem.complete(given, filled)

    def _fill(self, Z: Array, M: Mask) -> Array:
        problem, Z = self.state.problem, Z.copy()
        to_learn = M & (problem.scaling.std > 0)
        blocks = [block for block in self.state.blocks if to_learn[:, block].any()]
        lowest, highest = problem.standard_bounds
        visits = self._visitors[0](Z)
        moving = np.ones(len(Z), dtype=np.bool_)
        tol = max(self.tol, 1e-12)  # below, only roundings move
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
        """How new rows are swept, and how many at a time; found when first needed.

        All of it at once and in one order, so that no fill depends on what was asked before.
        """
        state = self.state
        if isinstance(self.ensemble.solver, Local):
            method = LocalSweeps(state.problem, state.blocks, self.ensemble)
            width = method.n_sought(len(state.Z))
            return partial(_NearVisits, _Nearby(method, state.Z)), max(1, _MOST_PAIRS // width)
        fitted = self.fitted
        visits = partial(_CoefficientVisits, self.ensemble.statistics, fitted, state.blocks)
        return visits, max(1, _MOST_PAIRS // len(fitted.centres))

    @cached_property
    def fitted(self) -> Coefficients:
        """Rows, and for every block tuned kernels and the coefficients with which affinities extend it."""
        state = self.state
        method = exact_or_landmarks(state.problem, state.blocks, self.ensemble, state.seed, self.device)
        return method.fitted(place(to_numpy(state.Z), self.device))


class _CoefficientVisits:
    """A new row's fill is k(new, centres) · C."""

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


class _Nearby:
    """What new rows need of a table that is filled from near rows: an index and a kernel for every block."""

    def __init__(self, method: LocalSweeps, Z: Array) -> None:
        self.method, self.Z = method, Z
        self.tuned = {int(block[0]): method.tuned(np.delete(Z, block, axis=1)) for block in method.blocks}
        self.indexes = []
        for part in parts_of(list(method.blocks)):
            others = np.delete(np.arange(Z.shape[1]), np.concatenate(part))
            others = others if others.size else np.arange(Z.shape[1])
            self.indexes.append((part, others, NearRows.of(Z[:, others])))


class _NearVisits:
    """A new row's fill is extended from the known rows nearest to it."""

    def __init__(self, nearby: _Nearby, Z: Array) -> None:
        self._nearby, self._new = nearby, Z

    def begin_sweep(self, Z: Array) -> None:
        self._new = Z
        n_sought = self._nearby.method.n_sought(len(self._nearby.Z))
        self._near: dict[int, Indices] = {}
        n = len(self._nearby.Z)
        for part, others, index in self._nearby.indexes:
            everyone = np.broadcast_to(np.arange(n), (len(Z), n))
            near = everyone if n_sought == n else index.of_others(Z[:, others], n_sought)
            self._near |= {int(block[0]): near for block in part}

    def extension(self, block: Block, where: Mask) -> Array:
        method, known_rows = self._nearby.method, self._nearby.Z
        values = np.zeros((len(self._new), len(block)))
        for position, column in enumerate(block):
            queries = np.flatnonzero(where[:, position])
            if not queries.size or not method.problem.scaling.std[column]:
                continue
            near = method.with_stand_by(self._near[int(block[0])][queries], column)
            used, places = np.unique(near, return_inverse=True)  # −1, for none, is the first of them
            rows = np.concatenate([known_rows[used], self._new[queries]])
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
                self._nearby.tuned[int(block[0])],
            )
        return values

    def put_back(self, block: Block, values: Array) -> None:
        pass
