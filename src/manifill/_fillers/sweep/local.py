"""Sweeps over a long table that extend each missing entry from its nearest known rows only."""

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
from manifill.kernels.bandwidth import SAMPLE, evenly_spaced
from manifill.solvers import Local, Report, Ridge
from manifill.solvers.ridge import mean_diagonal

# Candidates for the k nearest known rows, as a multiple of k; and neighbour searches per sweep, each without
# the columns it is used for. RMSE on 4,000 rows of letter with k = 40, after six sweeps
# (searches × candidates): 1 × 100 .471, 1 × 200 .454, 1 × 400 .451, 2 × 100 .457, 2 × 200 .446,
# 4 × 100 .448; one search for every column .447.
_CANDIDATES_PER_K = 4
_SEARCHES = 2
# Affinities that one thread holds at a time, to fit a core's cache.
_CHUNK = 65_536


class LocalSweeps:
    """The paper's six steps for one missing entry at a time, with its k nearest known rows as A."""

    def __init__(self, problem: Problem, blocks: tuple[Block, ...], ensemble: Ensemble) -> None:
        self.problem, self.blocks, self.ensemble = problem, blocks, ensemble
        self.solver = cast(Local, ensemble.solver)

    def sweep(self, Z: Array, blocks: Sequence[Block], deadline: float) -> tuple[Array, Findings] | None:
        """Visit every block once; None if the deadline passed during the sweep."""
        findings = Findings()
        problem, Z = self.problem, Z.copy()
        for part in parts_of(list(blocks)):
            near = self.near_rows(Z, part)
            for block in part:
                # 1. X⁽ʲ⁾: the table without the columns of the block
                rows = np.ascontiguousarray(np.delete(Z, block, axis=1))
                tuned = self.tuned(rows)
                for column in block[problem.incomplete[block]]:
                    if time.monotonic() >= deadline:
                        return None
                    missing = np.flatnonzero(problem.M[:, column])
                    Z[missing, column], report = self.extended(  # 2.–6. on the nearest rows
                        rows,
                        missing,
                        self.with_fallback(near[missing], column),
                        ~problem.M[:, column],
                        problem.Z[:, column],
                        column,
                        tuned,
                    )
                    findings.add(tuned[0].kernel.scale, [report])
            del near  # 640 MB for a million rows: freed before the next search
        return Z, findings

    def near_rows(self, Z: Array, left_out: list[Block]) -> Indices:
        """(n, c), the candidate neighbours of each row, by distance in the columns that are not left out."""
        n, n_candidates = len(Z), self.n_candidates(len(Z))
        if n_candidates == n:
            return np.broadcast_to(np.arange(n), (n, n))
        others = np.delete(Z, np.concatenate(left_out), axis=1)
        return NearRows.of(others if others.shape[1] else Z).each(n_candidates)

    def n_candidates(self, n: int) -> int:
        """Number of candidate neighbours of a row; all n rows if that is at least half of them."""
        wanted = int(np.ceil(_CANDIDATES_PER_K * self.solver.k))
        return n if 2 * wanted >= n else wanted

    def tuned(self, rows: Array) -> "list[Tuned]":
        """The components, with kernels tuned on evenly spaced rows."""
        sample = rows[evenly_spaced(len(rows), SAMPLE)]
        pairs = Pairs.of(sample, statistics=self.ensemble.statistics)
        return [Tuned.on(pairs, component) for component in self.ensemble.components]

    def with_fallback(self, near: Indices, column: int) -> Indices:
        """Candidates `near` (q, c) of q rows; where fewer than k are known, also evenly spaced known rows.

        Unused places and duplicates are −1.
        """
        known = ~self.problem.M[:, column]
        too_few = (known[near] & (near >= 0)).sum(axis=1) < self.solver.k
        if near.shape[1] >= len(known) or not too_few.any():
            return near
        known_rows = np.flatnonzero(known)
        spaced = known_rows[evenly_spaced(len(known_rows), 4 * self.solver.k)]
        fallback = np.where(too_few[:, None], spaced, -1).astype(near.dtype)
        candidates = np.concatenate([near, fallback], axis=1)
        candidates.sort(axis=1)
        candidates[:, 1:][candidates[:, 1:] == candidates[:, :-1]] = -1
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
        """Values of the column at the rows `queries`, clipped to its bounds; and the solver's report.

        Parameters
        ----------
        rows : (n, d'), the table without the columns left out.
        near : (q, c), candidate neighbours of each query, unsorted, known or not; −1 for none.
        known, f : (n,), where the column is known, and its values there.
        tuned : the components with tuned kernels.
        """
        lowest, highest = self.problem.standard_bounds[:, column]
        each = [one.extension(rows, queries, near, known, f) for one in tuned]
        extended = sum(values for values, _ in each) * self.ensemble.shrinkage_of(np.array([column]))
        return np.clip(extended, lowest, highest), each[0][1]


@dataclass(frozen=True)
class Tuned:
    """A component with its tuned kernel; `scale` is the mean affinity of a row with itself."""

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
        """The component's contribution to the values at `queries`; see `LocalSweeps.extended`."""
        solver = cast(Local, self.component.solver)
        k = min(solver.k, near.shape[1])
        shifts = Ridge(solver.ridge).added(self.scale)  # of the diagonal, tried in this order
        values = np.empty(len(queries))

        def extend(part: slice) -> float:
            from manifill._compiled import extend_each

            chosen, count = _nearest_known(rows, queries[part], near[part], known, k, self.kernel)
            K = self.kernel(Pairs.within(rows, chosen, self.kernel.statistics, self.kernel.uses_own))
            used = np.empty(len(chosen), dtype=np.intp)
            extend_each(K, f[chosen[:, :-1]], count, np.array(shifts), values[part], used)
            if (used < 0).any():
                raise NotPositiveDefinite(
                    f"Cholesky needs positive definite affinities; those among {k} nearest rows are not."
                )
            return shifts[int(used.max(initial=0))]

        size = max(1, 2 * _CHUNK // (k + 1) ** 2)
        parts = [slice(first, first + size) for first in range(0, len(queries), size)]
        with blame_kernel(self.component.kernel, solver):
            added = max(share(extend, parts), default=shifts[0])
        return self.component.weight * values, Report(kept=k, added=added, jitter=added - shifts[0])


def parts_of(blocks: list[Block]) -> list[list[Block]]:
    """The blocks in `_SEARCHES` parts; each part has its own neighbour search."""
    cuts = np.linspace(0, len(blocks), min(_SEARCHES, len(blocks)) + 1).astype(int)
    return [blocks[first:last] for first, last in pairwise(cuts)]


def _nearest_known(
    rows: Array, queries: Indices, near: Indices, known: Mask, k: int, kernel: Kernel
) -> tuple[Indices, Indices]:
    """(q, k + 1), the nearest known rows of each query, then the query; and (q,), how many of them are known.

    Nearest in the kernel's distance; for a kernel without one, those of largest affinity. If fewer than k
    candidates are known, the others come last.
    """
    distance = kernel.statistics[0]
    if distance.nonnegative:
        distances = Pairs.across(rows, queries, near, (distance,), own=False)[distance]
    else:
        distances = -kernel(Pairs.across(rows, queries, near, kernel.statistics, kernel.uses_own))
    distances[~known[near] | (near < 0)] = np.inf
    if near.shape[1] > k:
        best = np.argpartition(distances, k - 1, axis=1)[:, :k]
    else:
        best = np.broadcast_to(np.arange(near.shape[1]), near.shape)
    usable = np.isfinite(np.take_along_axis(distances, best, axis=1))
    if not usable.all():
        known_first = np.argsort(~usable, axis=1, kind="stable")
        best = np.take_along_axis(best, known_first, axis=1)
    chosen = np.take_along_axis(near, best, axis=1)
    return np.concatenate([chosen, queries[:, None]], axis=1).astype(np.intp), usable.sum(axis=1)
