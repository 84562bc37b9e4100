"""The heart: the paper's six steps, for one column or a block of columns."""

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
    """Every known row takes part in every extension; the ledger holds all pairs of rows.

    Parameters
    ----------
    problem, blocks : what is filled, and the columns left out together.
    ensemble : how rows are compared and columns extended.
    device : where tables and factors lie; None for numpy.
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
        """Visit every block once; None if the deadline, on the monotonic clock, passed on the way.

        Each block sees the fills that the blocks before it have just received (Gauss–Seidel).
        """
        findings = Findings()
        ledger = Ledger(self.ensemble.statistics, Z)  # built anew each sweep, so that roundings cannot add up
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
        """A component's share in the values of these columns on all rows, its bandwidth, and its reports."""
        tuned = component.kernel.tuned(pairs)
        K = tuned.matrix(pairs)  # 2. K⁽ʲ⁾: affinities between the rows of X⁽ʲ⁾
        with blame_kernel(component.kernel, component.solver):
            # 3. rows A where γⱼ is known; 4. eigendata of K⁽ʲ⁾ on A (or Cholesky); 5. Σ ⟨γⱼ, ψ_ℓ⟩ Ψ_ℓ
            extended, reports = columns.extension(K, cast(Solver, component.solver))
        return component.weight * extended, tuned.scale, reports

    def fitted(self, Z: Array) -> Coefficients:
        """For every block the components' tuned kernels, and coefficients C (n, |block|) of its columns."""
        ledger = Ledger(self.ensemble.statistics, Z)
        fits = []
        for part in self._parts.values():
            whole = Part(self._problem, part.columns_left_out, self._varying, self.ensemble, self.device)
            pairs = ledger.take_out(part.block)
            fits.append(tuple(self.ensemble.each(partial(self._fit, whole, pairs), self.device)))
            ledger.put_back(part.block, Z[:, part.block])
        return Coefficients(to_numpy(Z), tuple(fits))

    def _fit(self, part: "Part", pairs: Pairs, component: Component) -> tuple[Kernel, Array]:
        tuned = component.kernel.tuned(pairs)
        with blame_kernel(component.kernel, component.solver):
            C = part.coefficients(tuned.matrix(pairs), cast(Solver, component.solver))
        return tuned, component.weight * C


class Part:
    """A block of columns, with all that does not change from sweep to sweep."""

    def __init__(
        self, problem: Problem, block: Block, targets: Mask, ensemble: Ensemble, device: str | None = None
    ) -> None:
        lowest, highest = problem.standard_bounds
        self.positions = np.flatnonzero(targets[block])
        components = block[self.positions]
        self.columns_left_out = block
        self.block = place(block, device)
        self.values = place(problem.Z[:, block], device)
        self.shrinkage = ensemble.shrinkage_of(components)
        self._shrinkage = place(self.shrinkage, device)
        self.bounds = [place(limit[components], device) for limit in (lowest, highest)]
        self.columns = Columns(
            F=place(problem.Z[:, components], device), M=place(problem.M[:, components], device)
        )

    def fill(self, extended: Array) -> Array:
        """The block (n, |block|); where values are missing the extension, relied on and held to bounds."""
        xp = namespace(extended)
        held = xp.clip(extended * self._shrinkage, *self.bounds)
        filled: Array = xp.where(self.columns.M, held, self.columns.F)
        if filled.shape[1] == self.values.shape[1]:
            return filled
        whole: Array = xp.asarray(self.values, copy=True)
        whole[:, self.positions] = filled
        return whole

    def coefficients(self, K: Array, solver: Solver) -> Array:
        """C (n, |block|) of the targets at their places, on the host; zero for the other columns."""
        whole = np.zeros(self.values.shape)
        if self.positions.size:
            C, _ = self.columns.coefficients(K, solver)
            if self.columns.deferred_cholesky_failed():
                C, _ = self.columns.coefficients(K, solver)
            whole[:, self.positions] = to_numpy(C) * self.shrinkage
        return whole
