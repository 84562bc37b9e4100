"""Fill rows that were not there when the model was made."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from manifill.arrays import Array, Mask, Table
from manifill.kernels import Kernel
from manifill.solvers import Solver
from manifill.sweep.ledger import Ledger
from manifill.sweep.step import coefficients, few_blas_threads
from manifill.sweep.trace import Findings, State

# Pairs of new and known rows held at a time, 8 bytes each and a few arrays of them.
_MOST_PAIRS = 4_000_000


@dataclass(frozen=True, eq=False)
class Model:
    """A completed table, ready to fill new rows from.

    The known rows stay as they are, so every column has one set of coefficients C and a new row's fill is
    k(new, known) · C, swept over its missing columns until that row settles. Nothing is drawn at random
    and no row looks at another new row: a row's fill does not depend on its company.

    Attributes
    ----------
    state : the last sweep over the known rows.
    kernel, solver : those of that sweep.
    tol, max_sweeps : when a new row counts as settled, and how long to try.
    """

    state: State
    kernel: Kernel
    solver: Solver
    tol: float
    max_sweeps: int

    def complete(self, given: Table) -> Table:
        """Fill rows (m, d) in the user's units where they are NaN; with nothing observed, by the means."""
        problem = self.state.problem
        M = np.isnan(given)
        Z = problem.scaling.standardise(np.where(M, 0.0, given).astype(np.float64))
        filled = np.where(M, 0.0, Z)
        rows = np.flatnonzero(M.any(axis=1) & ~M.all(axis=1))
        chunk = max(1, _MOST_PAIRS // max(1, len(self.state.Z)))
        for first in range(0, len(rows), chunk):
            part = rows[first : first + chunk]
            filled[part] = self._fill(filled[part], M[part])
        return problem.complete(given, filled)

    def _fill(self, Z: Array, M: Mask) -> Array:
        to_learn = M & (self.state.problem.scaling.spread > 0)
        fits = [(block, *fit) for block, fit in zip(self.state.blocks, self.fits, strict=True)]
        fits = [fit for fit in fits if to_learn[:, fit[0]].any()]
        lowest, highest = self.state.problem.standard_bounds
        ledger = Ledger(self.kernel.statistics, Z, right=self.state.Z)
        moving = np.ones(len(Z), dtype=np.bool_)
        tol = max(self.tol, 1e-12)  # below, only roundings move
        for _ in range(self.max_sweeps):
            before = ledger.left.copy()
            for block, kernel, C in fits:
                K = kernel(ledger.take_out(block))
                extended = np.clip(K @ C, lowest[block], highest[block])
                to_fill = M[:, block] & moving[:, None]
                ledger.put_back(block, np.where(to_fill, extended, ledger.left[:, block]))
            n_learned = np.maximum(to_learn.sum(axis=1), 1)
            moving &= np.sqrt(((ledger.left - before) ** 2).sum(axis=1) / n_learned) > tol
            if not moving.any():
                break
        return ledger.left

    @cached_property
    def fits(self) -> tuple[tuple[Kernel, Array], ...]:
        """Tuned kernel and coefficients of every block, found when first needed.

        All of them at once and in one order, so that no fill depends on what was asked before.
        """
        problem = self.state.problem
        varying = problem.scaling.spread > 0
        ledger = Ledger(self.kernel.statistics, self.state.Z)
        fits = []
        with few_blas_threads(len(self.state.Z)):
            for block in self.state.blocks:
                pairs = ledger.take_out(block)
                kernel = self.kernel.tuned(pairs)
                C = coefficients(kernel(pairs), block, varying, problem, self.kernel, self.solver, Findings())
                ledger.put_back(block, self.state.Z[:, block])
                fits.append((kernel, C))
        return tuple(fits)
