"""The heart: the paper's six steps, for one column or a block of columns."""

import time
from collections.abc import Iterable, Sequence
from functools import partial, reduce
from operator import add
from typing import cast

import numpy as np

from manifill.arrays import Array, Mask, namespace, to_numpy
from manifill.devices import place
from manifill.harmonics import blame_kernel
from manifill.kernels import Kernel, Pairs
from manifill.solvers import Columns, Report, Solver
from manifill.sweep.fitted import Fitted
from manifill.sweep.ledger import Ledger
from manifill.sweep.order import Block
from manifill.sweep.problem import Problem
from manifill.sweep.recipe import Member, Recipe
from manifill.sweep.trace import Findings


class Exact:
    """Every known row takes part in every extension; the ledger holds all pairs of rows.

    Parameters
    ----------
    problem, blocks : what is filled, and the columns left out together.
    recipe : how rows are compared and columns extended.
    device : where tables and factors lie; None for numpy.
    """

    def __init__(
        self,
        problem: Problem,
        blocks: Iterable[Block],
        recipe: Recipe,
        device: str | None = None,
    ) -> None:
        self.recipe, self.device = recipe, device
        self._parts = {
            int(block[0]): Part(problem, block, problem.incomplete, recipe, device) for block in blocks
        }
        for part in self._parts.values():
            part.columns.lay_out()
        self._varying = problem.scaling.spread > 0
        self._problem = problem

    def sweep(self, Z: Array, blocks: Sequence[Block], deadline: float) -> tuple[Array, Findings] | None:
        """Visit every block once; None if the deadline, on the monotonic clock, passed on the way.

        Each block sees the fills that the blocks before it have just received (Gauss–Seidel).
        """
        findings = Findings()
        ledger = Ledger(self.recipe.statistics, Z)  # built anew each sweep, so that roundings cannot add up
        for block in blocks:
            if time.monotonic() >= deadline:
                return None
            part = self._parts[int(block[0])]
            pairs = ledger.take_out(part.block)  # 1. X⁽ʲ⁾: the table without column j
            each = self.recipe.each(partial(self._extension, part.columns, pairs), self.device)  # 2.–5.
            extended = reduce(add, (values for values, _, _ in each))
            ledger.put_back(part.block, part.fill(extended))  # 6. γ̂ⱼ, kept where γⱼ was missing
            for _, scale, reports in each:
                findings.add(scale, reports)
        in_vain = [part for part in self._parts.values() if part.columns.trusted_in_vain()]
        if in_vain:
            return self.sweep(Z, blocks, deadline)
        return ledger.left, findings

    def _extension(
        self, columns: Columns, pairs: Pairs, member: Member
    ) -> tuple[Array, float | None, list[Report]]:
        """A member's share in the values of these columns on all rows, its bandwidth, and its reports."""
        tuned = member.kernel.tuned(pairs)
        K = tuned.matrix(pairs)  # 2. K⁽ʲ⁾: affinities between the rows of X⁽ʲ⁾
        with blame_kernel(member.kernel, member.solver):
            # 3. rows A where γⱼ is known; 4. eigendata of K⁽ʲ⁾ on A (or Cholesky); 5. Σ ⟨γⱼ, ψ_ℓ⟩ Ψ_ℓ
            extended, reports = columns.extension(K, cast(Solver, member.solver))
        return member.weight * extended, tuned.scale, reports

    def fitted(self, Z: Array) -> Fitted:
        """For every block the members' tuned kernels, and coefficients C (n, |block|) of its columns."""
        ledger = Ledger(self.recipe.statistics, Z)
        fits = []
        for part in self._parts.values():
            whole = Part(self._problem, part.columns_left_out, self._varying, self.recipe, self.device)
            pairs = ledger.take_out(part.block)
            fits.append(tuple(self.recipe.each(partial(self._fit, whole, pairs), self.device)))
            ledger.put_back(part.block, Z[:, part.block])
        return Fitted(to_numpy(Z), tuple(fits))

    def _fit(self, part: "Part", pairs: Pairs, member: Member) -> tuple[Kernel, Array]:
        tuned = member.kernel.tuned(pairs)
        with blame_kernel(member.kernel, member.solver):
            C = part.coefficients(tuned.matrix(pairs), cast(Solver, member.solver))
        return tuned.on_host(), member.weight * C


class Part:
    """A block of columns, with all that does not change from sweep to sweep."""

    def __init__(
        self, problem: Problem, block: Block, targets: Mask, recipe: Recipe, device: str | None = None
    ) -> None:
        lowest, highest = problem.standard_bounds
        self.positions = np.flatnonzero(targets[block])
        members = block[self.positions]
        self.columns_left_out = block
        self.block = place(block, device)
        self.values = place(problem.Z[:, block], device)
        self.reliance = recipe.relied_on(members)
        self._reliance = place(self.reliance, device)
        self.bounds = [place(limit[members], device) for limit in (lowest, highest)]
        self.columns = Columns(F=place(problem.Z[:, members], device), M=place(problem.M[:, members], device))

    def fill(self, extended: Array) -> Array:
        """The block (n, |block|); where values are missing the extension, relied on and held to bounds."""
        xp = namespace(extended)
        held = xp.clip(extended * self._reliance, *self.bounds)
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
            if self.columns.trusted_in_vain():
                C, _ = self.columns.coefficients(K, solver)
            whole[:, self.positions] = to_numpy(C) * self.reliance
        return whole
