"""Sweeps over a long table, every missing entry extended from its nearest known rows alone."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import cast

import numpy as np

from manifill._arrays import Array, Indices, Mask
from manifill._fillers.sweep.ensemble import Component, Ensemble
from manifill._fillers.sweep.order import Block
from manifill._fillers.sweep.outcome import Findings
from manifill._harmonics import blame_kernel
from manifill._neighbors import NearRows
from manifill._problem import Problem
from manifill._threads import share
from manifill.errors import NotPositiveDefinite
from manifill.kernels import Kernel, Pairs
from manifill.kernels.bandwidth import SAMPLE, spread_out
from manifill.solvers import Local, Report, Ridge
from manifill.solvers.ridge import mean_diagonal

# Near rows sought for each row, in units of k, and searches a sweep, each without the columns it serves.
# Measured on 4,000 letters, six sweeps, RMSE: one search for 2.5 k .471, for 5 k .454, for 10 k .451; two
# searches for 2.5 k .457, for 5 k .446; four for 2.5 k .448; a search for every column .447.
_SOUGHT = 4
_SEARCHES = 2
# Affinities held at a time, so that they stay in a core's cache.
_CACHED = 65_536


class LocalSweeps:
    """The six steps, for one missing entry at a time and with its k nearest known rows as A."""

    def __init__(self, problem: Problem, blocks: tuple[Block, ...], ensemble: Ensemble) -> None:
        self.problem, self.blocks, self.ensemble = problem, blocks, ensemble
        self.solver = cast(Local, ensemble.solver)

    def sweep(self, Z: Array, blocks: Sequence[Block], deadline: float) -> tuple[Array, Findings] | None:
        """Visit every block once; None if the deadline passed on the way."""
        findings = Findings()
        problem, Z = self.problem, Z.copy()
        for part in parts_of(list(blocks)):
            near = self.near_rows(Z, part)
            for block in part:
                rows = np.ascontiguousarray(
                    np.delete(Z, block, axis=1)
                )  # 1. X⁽ʲ⁾: the table without column j
                tuned = self.tuned(rows)
                for column in block[problem.incomplete[block]]:
                    if time.monotonic() >= deadline:
                        return None
                    missing = np.flatnonzero(problem.M[:, column])
                    Z[missing, column], report = self.extended(  # 2.–6. with these few rows
                        rows,
                        missing,
                        self.with_stand_by(near[missing], column),
                        ~problem.M[:, column],
                        problem.Z[:, column],
                        column,
                        tuned,
                    )
                    findings.add(tuned[0].kernel.scale, [report])
            del near  # of a million rows 640 MB, before the next search makes as much
        return Z, findings

    def near_rows(self, Z: Array, left_out: list[Block]) -> Indices:
        """(n, c): rows near each row in the columns that are not left out."""
        n, n_sought = len(Z), self.n_sought(len(Z))
        if n_sought == n:
            return np.broadcast_to(np.arange(n), (n, n))
        others = np.delete(Z, np.concatenate(left_out), axis=1)
        return NearRows.of(others if others.shape[1] else Z).each(n_sought)

    def n_sought(self, n: int) -> int:
        """How many near rows to seek; where it is most of them, all."""
        sought = int(np.ceil(_SOUGHT * self.solver.k))
        return n if 2 * sought >= n else sought

    def tuned(self, rows: Array) -> "list[Tuned]":
        """The components, their kernels tuned on evenly spread rows."""
        sample = rows[spread_out(len(rows), SAMPLE)]
        pairs = Pairs.of(sample, statistics=self.ensemble.statistics)
        return [Tuned.on(pairs, component) for component in self.ensemble.components]

    def with_stand_by(self, near: Indices, column: int) -> Indices:
        """Near rows (q, c), and where too few of them are known some known rows from everywhere."""
        known = ~self.problem.M[:, column]
        few = (known[near] & (near >= 0)).sum(axis=1) < self.solver.k
        if near.shape[1] >= len(known) or not few.any():
            return near
        known_rows = np.flatnonzero(known)
        everywhere = known_rows[spread_out(len(known_rows), 4 * self.solver.k)]
        stand_by = np.where(few[:, None], everywhere, -1).astype(near.dtype)  # −1: nobody
        candidates = np.concatenate([near, stand_by], axis=1)
        candidates.sort(axis=1)
        candidates[:, 1:][candidates[:, 1:] == candidates[:, :-1]] = -1  # nobody twice
        return candidates

    def extended(
        self,
        rows: Array,
        queries: Indices,
        near: Indices,
        known: Mask,
        f: Array,
        column: int,
        tuned: "list[Tuned]",
    ) -> tuple[Array, Report]:
        """The column at the rows `queries`, held to its bounds; and what was added to the diagonals.

        Parameters
        ----------
        rows : (n, d'), without the columns left out.
        near : (q, c), rows near each query, in no order, known or not.
        known, f : (n,), where the column is known, and its values there.
        tuned : the components.
        """
        lowest, highest = self.problem.standard_bounds[:, column]
        each = [one.extension(rows, queries, near, known, f) for one in tuned]
        extended = sum(values for values, _ in each) * self.ensemble.shrinkage_of(np.array([column]))
        return np.clip(extended, lowest, highest), each[0][1]


@dataclass(frozen=True)
class Tuned:
    """A component with the kernel's bandwidth, and the unit of its affinities, found."""

    component: Component
    kernel: Kernel
    scale: float

    @classmethod
    def on(cls, pairs: Pairs, component: Component) -> "Tuned":
        kernel = component.kernel.tuned(pairs)
        return cls(component, kernel, mean_diagonal(kernel.matrix(pairs)))

    def extension(
        self, rows: Array, queries: Indices, near: Indices, known: Mask, f: Array
    ) -> tuple[Array, Report]:
        """The component's share in the values at `queries`; see `LocalSweeps.extended`."""
        solver = cast(Local, self.component.solver)
        k = min(solver.k, near.shape[1])
        tries = Ridge(solver.ridge).added(self.scale)
        values = np.empty(len(queries))

        def extend(part: slice) -> float:
            from manifill._compiled import extend_each

            members, count = _nearest_known(rows, queries[part], near[part], known, k, self.kernel)
            K = self.kernel(Pairs.within(rows, members, self.kernel.statistics, self.kernel.uses_own))
            used = np.empty(len(members), dtype=np.intp)
            extend_each(K, f[members[:, :-1]], count, np.array(tries), values[part], used)
            if (used < 0).any():
                raise NotPositiveDefinite(
                    f"Cholesky needs a positive definite matrix; the affinities of {k} near rows are not one."
                )
            return tries[int(used.max(initial=0))]

        size = max(1, 2 * _CACHED // (k + 1) ** 2)
        parts = [slice(first, first + size) for first in range(0, len(queries), size)]
        with blame_kernel(self.component.kernel, solver):
            added = max(share(extend, parts), default=tries[0])
        return self.component.weight * values, Report(kept=k, added=added, jitter=added - tries[0])


def parts_of(blocks: list[Block]) -> list[list[Block]]:
    """The blocks in parts, each with a search of its own."""
    cuts = np.linspace(0, len(blocks), min(_SEARCHES, len(blocks)) + 1).astype(int)
    return [blocks[first:last] for first, last in pairwise(cuts)]


def _nearest_known(
    rows: Array, queries: Indices, near: Indices, known: Mask, k: int, kernel: Kernel
) -> tuple[Indices, Indices]:
    """Members (q, k + 1): the nearest known rows of each query, then the query; and how many of them count.

    Nearest in the kernel's own distance, or of most affinity where it has none.
    """
    distance = kernel.statistics[0]
    if distance.nonnegative:
        farness = Pairs.across(rows, queries, near, (distance,), own=False)[distance]
    else:
        farness = -kernel(Pairs.across(rows, queries, near, kernel.statistics, kernel.uses_own))
    farness[~known[near] | (near < 0)] = np.inf
    if near.shape[1] > k:
        best = np.argpartition(farness, k - 1, axis=1)[:, :k]
    else:
        best = np.broadcast_to(np.arange(near.shape[1]), near.shape)
    usable = np.isfinite(np.take_along_axis(farness, best, axis=1))
    if not usable.all():
        first = np.argsort(~usable, axis=1, kind="stable")  # those that count come first
        best = np.take_along_axis(best, first, axis=1)
    chosen = np.take_along_axis(near, best, axis=1)
    return np.concatenate([chosen, queries[:, None]], axis=1).astype(np.intp), usable.sum(axis=1)
