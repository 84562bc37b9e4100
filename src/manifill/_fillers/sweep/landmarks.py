"""Sweeps over a long table with affinities to landmarks only: the cost is linear in the number of rows."""

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

# Affinities in memory at a time: 32 MB.
_CHUNK = 2**22
# Pairs of rows and landmarks up to which a ledger keeps their statistics, 8 bytes each. With more they are
# recomputed.
_MAX_LEDGER_PAIRS = 2**25
# Pieces in which products are summed. Fixed, so that the rounding does not depend on the number of threads.
_PIECES = 8


class LandmarkSweeps:
    """The paper's six steps with K[:, L] in place of K, for landmarks L among the rows.

    At most a chunk of rows × landmarks is in memory, or the ledger of all of them if it is small.
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
        self.landmarks = _choose_landmarks(problem.Z, solver, rng)
        self.sample = rng.permutation(n)  # the first `solver.rows` known rows in this order are fitted
        self.keep_ledger = ensemble.additive and n * len(self.landmarks) <= _MAX_LEDGER_PAIRS

    def sweep(self, Z: Array, blocks: Sequence[Block], deadline: float) -> tuple[Array, Findings] | None:
        """Visit every block once; None if the deadline passed during the sweep."""
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
        """For every block, the tuned kernels and the coefficients (m, |block|) of the landmarks."""
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

    def _table(self, Z: Array) -> "LedgerTable | StreamedTable":
        kind = LedgerTable if self.keep_ledger else StreamedTable
        return kind(self.ensemble.statistics, Z, self.landmarks)

    def _coefficients(
        self, table: "LedgerTable | StreamedTable", tuned: Kernel, component: Component, column: int
    ) -> tuple[Array, Report]:
        """Coefficients c (m,): K[:, L] c is the component's contribution to the fill of the column."""
        solver = cast(Landmarks, component.solver)
        known = self.sample[~self.problem.M[self.sample, column]][: solver.rows]
        equations = NormalEquations(len(self.landmarks))
        for rows, pairs in table.pairs(np.sort(known)):
            K = tuned.matrix(pairs)
            for products in share(_product, np.array_split(K, _PIECES)):
                equations.products += products
            equations.projections += K.T @ self.problem.Z[rows, column]
        K_landmarks = tuned(table.among())
        with blame_kernel(component.kernel, solver):
            c, report = equations.solve(K_landmarks, solver.ridge)
        return component.weight * self.ensemble.shrinkage_of(np.array([column])) * c, report


class StreamedTable:
    """A table whose pairs with the landmarks are computed when needed, without the columns taken out."""

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


class LedgerTable:
    """A table whose pairs with the landmarks are kept in a ledger."""

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


def _choose_landmarks(Z: Array, solver: Landmarks, rng: np.random.Generator) -> Indices:
    """Landmarks among the rows of Z, as sorted indices: at random, or spread out as in k-means++."""
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
        if not total[-1] > 0:  # all other rows coincide with landmarks
            break
        chosen.append(int(np.searchsorted(total, rng.random() * total[-1], side="right")))
    return np.sort(sample[np.minimum(chosen, len(rows) - 1)])
