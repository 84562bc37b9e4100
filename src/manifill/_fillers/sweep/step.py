"""The paper's six steps, for one column or a block of columns."""

import time
from collections.abc import Iterable, Sequence
from functools import partial, reduce
from operator import add
from typing import cast

import numpy as np

from manifill._arrays import Array, Mask, namespace, to_numpy
from manifill._devices import place
from manifill._fillers.sweep.ensemble import Component, Ensemble
from manifill._fillers.sweep.ledger import Ledger
from manifill._fillers.sweep.order import Block
from manifill._fillers.sweep.outcome import Coefficients, Findings
from manifill._harmonics import blame_kernel
from manifill._problem import Problem
from manifill.kernels import Kernel, Pairs
from manifill.solvers import Columns, Report, Solver


class Exact:
    """Sweeps with the full kernel matrix: every known row is used in every extension.

    Parameters
    ----------
    problem : Problem, the table to fill.
    blocks : blocks of columns left out together.
    ensemble : kernels and solvers.
    device : device of tables and factors; None for numpy.
    """

    def __init__(
        self,
        problem: Problem,
        blocks: Iterable[Block],
        ensemble: Ensemble,
        device: str | None = None,
    ) -> None:
        self.ensemble, self.device = ensemble, device
        self._parts = {
            int(block[0]): Part(problem, block, problem.incomplete, ensemble, device) for block in blocks
        }
        for part in self._parts.values():
            part.columns.lay_out()
        self._varying = problem.scaling.std > 0
        self._problem = problem

    def sweep(self, Z: Array, blocks: Sequence[Block], deadline: float) -> tuple[Array, Findings] | None:
        """Visit every block once; None if the deadline, on the monotonic clock, passed during the sweep.

        Each block uses the new fills of the blocks before it (Gauss–Seidel).
        """
        findings = Findings()
        ledger = Ledger(self.ensemble.statistics, Z)  # rebuilt each sweep: rounding does not accumulate
        for block in blocks:
            if time.monotonic() >= deadline:
                return None
            part = self._parts[int(block[0])]
            pairs = ledger.take_out(part.block)  # 1. X⁽ʲ⁾: the table without column j
            each = self.ensemble.each(partial(self._extension, part.columns, pairs), self.device)  # 2.–5.
            extended = reduce(add, (values for values, _, _ in each))
            ledger.put_back(part.block, part.fill(extended))  # 6. γ̂ⱼ, kept where γⱼ was missing
            for _, scale, reports in each:
                findings.add(scale, reports)
        failed = [part for part in self._parts.values() if part.columns.deferred_cholesky_failed()]
        if failed:
            return self.sweep(Z, blocks, deadline)
        return ledger.left, findings

    def _extension(
        self, columns: Columns, pairs: Pairs, component: Component
    ) -> tuple[Array, float | None, list[Report]]:
        """A component's contribution to these columns on all rows, its bandwidth and its reports."""
        tuned = component.kernel.tuned(pairs)
        K = tuned.matrix(pairs)  # 2. K⁽ʲ⁾: affinities between the rows of X⁽ʲ⁾
        with blame_kernel(component.kernel, component.solver):
            # 3. rows A where γⱼ is known; 4. eigendata of K⁽ʲ⁾ on A (or Cholesky); 5. Σ ⟨γⱼ, ψ_ℓ⟩ Ψ_ℓ
            extended, reports = columns.extension(K, cast(Solver, component.solver))
        return component.weight * extended, tuned.scale, reports

    def fitted(self, Z: Array) -> Coefficients:
        """For every block, the components' tuned kernels and coefficients C (n, |block|)."""
        ledger = Ledger(self.ensemble.statistics, Z)
        fits = []
        for part in self._parts.values():
            varying = Part(self._problem, part.columns_left_out, self._varying, self.ensemble, self.device)
            pairs = ledger.take_out(part.block)
            fits.append(tuple(self.ensemble.each(partial(self._fit, varying, pairs), self.device)))
            ledger.put_back(part.block, Z[:, part.block])
        return Coefficients(to_numpy(Z), tuple(fits))

    def _fit(self, part: "Part", pairs: Pairs, component: Component) -> tuple[Kernel, Array]:
        tuned = component.kernel.tuned(pairs)
        with blame_kernel(component.kernel, component.solver):
            C = part.coefficients(tuned.matrix(pairs), cast(Solver, component.solver))
        return tuned, component.weight * C


class Part:
    """A block of columns, with everything that stays the same in all sweeps.

    `targets` (d,) is True for the columns to extend.
    """

    def __init__(
        self, problem: Problem, block: Block, targets: Mask, ensemble: Ensemble, device: str | None = None
    ) -> None:
        lowest, highest = problem.standard_bounds
        self.positions = np.flatnonzero(targets[block])
        columns = block[self.positions]
        self.columns_left_out = block
        self.block = place(block, device)
        self.values = place(problem.Z[:, block], device)
        self.shrinkage = ensemble.shrinkage_of(columns)
        self._shrinkage = place(self.shrinkage, device)
        self.bounds = [place(limit[columns], device) for limit in (lowest, highest)]
        self.columns = Columns(F=place(problem.Z[:, columns], device), M=place(problem.M[:, columns], device))

    def fill(self, extended: Array) -> Array:
        """The block (n, |block|); missing entries get the extension, shrunk and clipped to the bounds."""
        xp = namespace(extended)
        clipped = xp.clip(extended * self._shrinkage, *self.bounds)
        filled: Array = xp.where(self.columns.M, clipped, self.columns.F)
        if filled.shape[1] == self.values.shape[1]:
            return filled
        block: Array = xp.asarray(self.values, copy=True)
        block[:, self.positions] = filled
        return block

    def coefficients(self, K: Array, solver: Solver) -> Array:
        """Coefficients C (n, |block|) as a numpy array; zero for columns that are not targets."""
        coefficients = np.zeros(self.values.shape)
        if self.positions.size:
            C, _ = self.columns.coefficients(K, solver)
            if self.columns.deferred_cholesky_failed():
                C, _ = self.columns.coefficients(K, solver)
            coefficients[:, self.positions] = to_numpy(C) * self.shrinkage
        return coefficients
