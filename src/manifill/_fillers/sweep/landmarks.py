"""Sweeps over a long table, with affinities to landmarks only: the cost grows in proportion to the rows."""

import time
from collections.abc import Iterator, Sequence
from typing import cast

import numpy as np

from manifill._arrays import Array, Indices
from manifill._fillers.sweep.ensemble import Component, Ensemble
from manifill._fillers.sweep.ledger import Ledger
from manifill._fillers.sweep.order import Block
from manifill._fillers.sweep.outcome import Coefficients, Findings
from manifill._harmonics import blame_kernel
from manifill._problem import Problem
from manifill._threads import share
from manifill.kernels import Kernel, Pairs, PairStatistic
from manifill.solvers import Landmarks, NormalEquations, Report

# Affinities held at a time: 32 MB.
_CHUNK = 2**22
# Pairs of rows and landmarks up to which their statistics are kept, 8 bytes each; else they are found anew.
_MOST_KEPT = 2**25
# Pieces in which products are summed, whatever the number of threads, so that the sum is the same.
_PIECES = 8


class LandmarkSweeps:
    """The six steps with K[:, L] in place of K, for landmarks L among the rows.

    Nothing larger than a chunk of rows × landmarks is held, unless the ledger of all of them is small.
    """

    def __init__(
        self,
        problem: Problem,
        blocks: tuple[Block, ...],
        ensemble: Ensemble,
        seed: int,
    ) -> None:
        rng = np.random.default_rng(seed)
        self.problem, self.blocks, self.ensemble = problem, blocks, ensemble
        self.solver = solver = cast(Landmarks, ensemble.solver)
        n = len(problem.Z)
        self.landmarks = _chosen(problem.Z, solver, rng)
        self.sample = rng.permutation(n)  # in this order known rows are fitted to, as many as `solver.rows`
        self.keep_ledger = ensemble.additive and n * len(self.landmarks) <= _MOST_KEPT

    def sweep(self, Z: Array, blocks: Sequence[Block], deadline: float) -> tuple[Array, Findings] | None:
        """Visit every block once; None if the deadline passed on the way."""
        findings = Findings()
        lowest, highest = self.problem.standard_bounds
        table = self._table(Z)
        for block in blocks:
            if time.monotonic() >= deadline:
                return None
            table.take_out(block)  # 1. X⁽ʲ⁾: the table without column j
            targets = block[self.problem.incomplete[block]]
            rows = [np.flatnonzero(self.problem.M[:, column]) for column in targets]
            values = [np.zeros(len(missing)) for missing in rows]
            for component in self.ensemble.components:
                tuned = component.kernel.tuned(table.among())
                for column, missing, extended in zip(targets, rows, values, strict=True):
                    c, report = self._coefficients(table, tuned, component, column)  # 3.–5.
                    K = (tuned.matrix(pairs) for _, pairs in table.pairs(missing))  # 2. K⁽ʲ⁾[:, L]
                    extended += np.concatenate([part @ c for part in K])  # 5. Σ cₗ k(·, l)
                    findings.add(tuned.scale, [report])
            fills = [
                (missing, column, np.clip(extended, lowest[column], highest[column]))
                for column, missing, extended in zip(targets, rows, values, strict=True)
            ]
            table.put_back(block, fills)  # 6. kept where γⱼ was missing
        return table.Z, findings

    def fitted(self, Z: Array) -> Coefficients:
        """For every block the tuned kernels and the coefficients (m, |block|) of the landmarks."""
        table = self._table(Z)
        varying = self.problem.scaling.std > 0
        fits = []
        for block in self.blocks:
            table.take_out(block)
            fit = []
            for component in self.ensemble.components:
                tuned = component.kernel.tuned(table.among())
                C = np.zeros((len(self.landmarks), len(block)))
                for position in np.flatnonzero(varying[block]):
                    C[:, position], _ = self._coefficients(table, tuned, component, block[position])
                fit.append((tuned, C))
            table.put_back(block, [])
            fits.append(tuple(fit))
        return Coefficients(Z[self.landmarks], tuple(fits))

    def _table(self, Z: Array) -> "KeptTable | StreamedTable":
        kind = KeptTable if self.keep_ledger else StreamedTable
        return kind(self.ensemble.statistics, Z, self.landmarks)

    def _coefficients(
        self, table: "KeptTable | StreamedTable", tuned: Kernel, component: Component, column: int
    ) -> tuple[Array, Report]:
        """C with K[:, L] c the component's share in the fill of the column."""
        solver = cast(Landmarks, component.solver)
        known = self.sample[~self.problem.M[self.sample, column]][: solver.rows]
        equations = NormalEquations(len(self.landmarks))
        for rows, pairs in table.pairs(np.sort(known)):
            K = tuned.matrix(pairs)
            for products in share(_product, np.array_split(K, _PIECES)):
                equations.products += products
            equations.projections += K.T @ self.problem.Z[rows, column]
        among = tuned(table.among())
        with blame_kernel(component.kernel, solver):
            c, report = equations.solve(among, solver.ridge)
        return component.weight * self.ensemble.shrinkage_of(np.array([column])) * c, report


class StreamedTable:
    """Rows whose pairs with the landmarks are computed when asked for, without the columns taken out."""

    def __init__(self, statistics: tuple[PairStatistic, ...], Z: Array, landmarks: Indices) -> None:
        self.Z, self.landmarks, self.statistics = Z.copy(), landmarks, statistics
        self._others = np.arange(Z.shape[1])

    def take_out(self, block: Block) -> None:
        self._others = np.delete(np.arange(self.Z.shape[1]), block)
        self._right = self.Z[np.ix_(self.landmarks, self._others)]

    def among(self) -> Pairs:
        """The pairs of landmarks."""
        return Pairs.of(self._right, statistics=self.statistics)

    def pairs(self, rows: Indices) -> Iterator[tuple[Indices, Pairs]]:
        """The pairs of these rows with the landmarks, chunk by chunk."""
        for part in _chunks(rows, len(self.landmarks)):
            left = self.Z[np.ix_(part, self._others)]
            yield part, Pairs.of(left, self._right, statistics=self.statistics)

    def put_back(self, block: Block, fills: Sequence[tuple[Indices, int, Array]]) -> None:
        for rows, column, values in fills:
            self.Z[rows, column] = values


class KeptTable:
    """Rows whose pairs with the landmarks are kept in a ledger."""

    def __init__(self, statistics: tuple[PairStatistic, ...], Z: Array, landmarks: Indices) -> None:
        self.landmarks = landmarks
        self._ledger = Ledger(statistics, Z, right=Z[landmarks])

    @property
    def Z(self) -> Array:
        left: Array = self._ledger.left
        return left

    def take_out(self, block: Block) -> None:
        self._pairs = self._ledger.take_out(block)

    def among(self) -> Pairs:
        """The pairs of landmarks."""
        return self._pairs.rows(self.landmarks, same=True)

    def pairs(self, rows: Indices) -> Iterator[tuple[Indices, Pairs]]:
        """The pairs of these rows with the landmarks, chunk by chunk."""
        for part in _chunks(rows, len(self.landmarks)):
            yield part, self._pairs.rows(part)

    def put_back(self, block: Block, fills: Sequence[tuple[Indices, int, Array]]) -> None:
        values = self.Z[:, block]
        for rows, column, filled in fills:
            values[rows, np.flatnonzero(block == column)[0]] = filled
        self._ledger.put_back(block, values, values[self.landmarks])


def _product(K: Array) -> Array:
    product: Array = K.T @ K
    return product


def _chunks(rows: Indices, width: int) -> Iterator[Indices]:
    size = max(1, _CHUNK // width)
    for first in range(0, len(rows), size):
        yield rows[first : first + size]


def _chosen(Z: Array, solver: Landmarks, rng: np.random.Generator) -> Indices:
    """Landmarks among the rows of Z, in their order."""
    n, m = len(Z), min(solver.count, len(Z))
    if m == n or solver.choice == "random":
        return np.sort(rng.permutation(n)[:m])
    sample = rng.permutation(n)[: max(m, solver.rows)]
    rows = Z[sample]
    chosen = [0]
    squared = np.full(len(rows), np.inf)
    while len(chosen) < m:
        squared = np.minimum(squared, ((rows - rows[chosen[-1]]) ** 2).sum(axis=1))
        total = np.cumsum(squared)
        if not total[-1] > 0:  # the rest coincides with landmarks
            break
        chosen.append(int(np.searchsorted(total, rng.random() * total[-1], side="right")))
    return np.sort(sample[np.minimum(chosen, len(rows) - 1)])
