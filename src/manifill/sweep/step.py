"""The heart: the paper's six steps, for one column or a block of columns."""

import time
from collections.abc import Iterable, Sequence

import numpy as np

from manifill.arrays import Array, Mask, namespace, to_numpy
from manifill.devices import place
from manifill.harmonics import blame_kernel
from manifill.kernels import Kernel
from manifill.solvers import Columns, Solver
from manifill.sweep.fitted import Fitted
from manifill.sweep.ledger import Ledger
from manifill.sweep.order import Block
from manifill.sweep.problem import Problem
from manifill.sweep.trace import Findings


class Exact:
    """Every known row takes part in every extension; the ledger holds all pairs of rows.

    Parameters
    ----------
    problem, blocks : what is filled, and the columns left out together.
    kernel, solver : how rows are compared and columns extended.
    device : where tables and factors lie; None for numpy.
    """

    def __init__(
        self,
        problem: Problem,
        blocks: Iterable[Block],
        kernel: Kernel,
        solver: Solver,
        device: str | None = None,
    ) -> None:
        self.kernel, self.solver, self.device = kernel, solver, device
        self._parts = {int(block[0]): Part(problem, block, problem.incomplete, device) for block in blocks}
        for part in self._parts.values():
            part.columns.lay_out()
        self._varying = problem.scaling.spread > 0
        self._problem = problem

    def sweep(self, Z: Array, blocks: Sequence[Block], deadline: float) -> tuple[Array, Findings] | None:
        """Visit every block once; None if the deadline, on the monotonic clock, passed on the way.

        Each block sees the fills that the blocks before it have just received (Gauss–Seidel).
        """
        findings = Findings()
        ledger = Ledger(self.kernel.statistics, Z)  # built anew each sweep, so that roundings cannot add up
        for block in blocks:
            if time.monotonic() >= deadline:
                return None
            part = self._parts[int(block[0])]
            pairs = ledger.take_out(part.block)  # 1. X⁽ʲ⁾: the table without column j
            tuned = self.kernel.tuned(pairs)
            K = tuned.matrix(pairs)  # 2. K⁽ʲ⁾: affinities between its rows
            with blame_kernel(self.kernel, self.solver):
                # 3. rows A where γⱼ is known; 4. eigendata of K⁽ʲ⁾ on A (or Cholesky); 5. Σ ⟨γⱼ, ψ_ℓ⟩ Ψ_ℓ
                extended, reports = part.columns.extension(K, self.solver)
            ledger.put_back(part.block, part.fill(extended))  # 6. γ̂ⱼ, kept where γⱼ was missing
            findings.add(tuned.scale, reports)
        in_vain = [part for part in self._parts.values() if part.columns.trusted_in_vain()]
        if in_vain:
            return self.sweep(Z, blocks, deadline)
        return ledger.left, findings

    def fitted(self, Z: Array) -> Fitted:
        """For every block the tuned kernel and the coefficients C (n, |block|) that extend its columns."""
        ledger = Ledger(self.kernel.statistics, Z)
        fits = []
        for part in self._parts.values():
            whole = Part(self._problem, part.columns_left_out, self._varying, self.device)
            pairs = ledger.take_out(part.block)
            tuned = self.kernel.tuned(pairs)
            K = tuned.matrix(pairs)
            with blame_kernel(self.kernel, self.solver):
                C = whole.coefficients(K, self.solver)
            ledger.put_back(part.block, Z[:, part.block])
            fits.append((tuned.on_host(), C))
        return Fitted(to_numpy(Z), tuple(fits))


class Part:
    """A block of columns, with all that does not change from sweep to sweep."""

    def __init__(self, problem: Problem, block: Block, targets: Mask, device: str | None = None) -> None:
        lowest, highest = problem.standard_bounds
        self.positions = np.flatnonzero(targets[block])
        members = block[self.positions]
        self.columns_left_out = block
        self.block = place(block, device)
        self.values = place(problem.Z[:, block], device)
        self.bounds = [place(limit[members], device) for limit in (lowest, highest)]
        self.columns = Columns(F=place(problem.Z[:, members], device), M=place(problem.M[:, members], device))

    def fill(self, extended: Array) -> Array:
        """The block (n, |block|), with the extension held to its bounds where values are missing."""
        xp = namespace(extended)
        filled: Array = xp.where(self.columns.M, xp.clip(extended, *self.bounds), self.columns.F)
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
            whole[:, self.positions] = to_numpy(C)
        return whole
