"""Extension of many functions with one kernel matrix, each function with its own set of known rows.

There are two ways to compute the ridge extension of a function known on A and missing on M. *Directly*:
factor K[A, A] + rI, of size |A|. By the *complement*: with P = (K + rI)⁻¹, shared by all functions, the
missing values solve P[M, M] x = −P[M, A] f, of size |M|. The results are equal; the cheaper way is used.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np

from manifill._arrays import Array, Mask, to_numpy
from manifill._devices import TensorSubsets, tensor_inverse
from manifill._threads import product
from manifill.errors import NotPositiveDefinite
from manifill.solvers import mixed
from manifill.solvers.base import Report, Solver
from manifill.solvers.inverse import inverse
from manifill.solvers.ridge import Ridge, mean_diagonal
from manifill.solvers.subsets import Subsets, complement_pays

# Floating-point operations from which compiled code is loaded and used: a few milliseconds of LAPACK. Set by
# hand, not tuned.
_MIN_COMPILED_WORK = 5e6
# Overhead of a set of rows in the Python loop, in floating-point operations. Set by hand: without it the
# Python loop was used for 2,576 columns of 25 rows, which took ten times as long as 200 rows.
_SET_OVERHEAD = 1e5
# Rows from which factoring in single precision saves more time than refinement costs (docs/notes/speed.md).
_MIN_MIXED_ROWS = 1000


@dataclass(frozen=True, eq=False)
class Columns:
    """b functions on n rows, to be extended to the rows where they are missing.

    Attributes
    ----------
    F : (n, b), values, zero where missing.
    M : (n, b), True where missing.
    """

    F: Array
    M: Mask

    def extension(self, K: Array, solver: Solver) -> tuple[Array, list[Report]]:
        """Extended values (n, b), valid only where `M` is True, and the solver's reports."""
        C, reports = self._in_mixed_precision(K, solver)
        if C is not None:
            return product(K, C), reports
        P, X, reports = self._by_complement(K, solver)
        if P is not None:
            return X, reports
        C, reports = self._directly(K, solver)
        return product(K, C), reports

    def coefficients(self, K: Array, solver: Solver) -> tuple[Array, list[Report]]:
        """Coefficients C (n, b), zero where `M` is True, such that K C is the extension; and the reports."""
        C, reports = self._in_mixed_precision(K, solver)
        if C is not None:
            return C, reports
        P, X, reports = self._by_complement(K, solver)
        if P is None:
            return self._directly(K, solver)
        # P[:, A] f + P[:, M] x is zero on M by the definition of x, and equals C on A.
        return product(P, self.F + X) * ~self.M, reports

    def _in_mixed_precision(self, K: Array, solver: Solver) -> tuple[Array | None, list[Report]]:
        """C of a large system by a single-precision factor; None if the ridge is too small for that."""
        if not (isinstance(K, np.ndarray) and isinstance(solver, Ridge) and len(K) >= _MIN_MIXED_ROWS):
            return None, []
        known, missing = self.known, self.missing
        assert isinstance(known, Subsets)
        assert isinstance(missing, Subsets)
        if not mixed.is_applicable(len(K), solver.ridge, known, missing):
            return None, []
        added = solver.ridge * mean_diagonal(K)
        reports = self._report(added, added)
        return cast("Array | None", mixed.solve(K, self.F, self.M, known, missing, added)), reports

    def _directly(self, K: Array, solver: Solver) -> tuple[Array, list[Report]]:
        scale = mean_diagonal(K)
        if isinstance(solver, Ridge) and (not isinstance(K, np.ndarray) or self._use_compiled()):
            C, added = self.known.solve(K, self.F, solver.added(scale))
            return C, self._report(added, solver.ridge * scale)
        C, reports = np.zeros(self.F.shape), []
        assert isinstance(self.known, Subsets)
        for A, J in self.known.sets:
            factor = solver.factor(K[np.ix_(A, A)], scale)  # eigendata of K on A, or Cholesky
            C[np.ix_(A, J)] = factor.coefficients(self.F[np.ix_(A, J)])  # Σ ⟨f, ψ_ℓ⟩ ψ_ℓ / λ_ℓ
            reports.append(factor.report)
        if isinstance(solver, Ridge):
            return C, self._report(max(report.added for report in reports), solver.ridge * scale)
        return C, reports

    def _use_compiled(self) -> bool:
        assert isinstance(self.known, Subsets)
        return self.known.work + _SET_OVERHEAD * len(self.known.columns) >= _MIN_COMPILED_WORK

    def _by_complement(self, K: Array, solver: Solver) -> tuple[Array | None, Array, list[Report]]:
        """P, and x on M, zero on A; P is None if the direct way is cheaper or rounding makes P indefinite."""
        small = self.known.work < _MIN_COMPILED_WORK
        if not isinstance(solver, Ridge) or small or not complement_pays(len(K), self.known, self.missing):
            return None, self.F, []
        added = solver.ridge * mean_diagonal(K)
        P = _inverse(K, added)
        if P is None:
            return None, self.F, []
        try:
            X, _ = self.missing.solve(P, -product(P, self.F), [0.0])
        except NotPositiveDefinite:
            return None, self.F, []
        return P, X, self._report(added, added)

    def _report(self, added: float, requested: float) -> list[Report]:
        """One report for all sets of rows, since there can be thousands in every sweep."""
        return [Report(kept=round(float(self.known.sizes.mean())), added=added, jitter=added - requested)]

    def lay_out(self) -> None:
        """Precompute what does not depend on the kernel matrix."""
        if isinstance(self.known, TensorSubsets):
            self.known.lay_out(self.F)

    def deferred_cholesky_failed(self) -> bool:
        """True if an unchecked Cholesky factorisation on a device failed; later solves are then checked."""
        on_device = [sets for sets in (self.known, self.missing) if isinstance(sets, TensorSubsets)]
        failed = [sets for sets in on_device if not sets.succeeded()]
        for sets in failed:
            sets.defer_checks = False
        return bool(failed)

    @cached_property
    def known(self) -> Subsets | TensorSubsets:
        return _subsets(~self.M)

    @cached_property
    def missing(self) -> Subsets | TensorSubsets:
        return _subsets(self.M)


def _subsets(members: Mask) -> Subsets | TensorSubsets:
    on_host = Subsets(to_numpy(members))
    return on_host if isinstance(members, np.ndarray) else TensorSubsets(on_host, members.device)


def _inverse(K: Array, added: float) -> Array | None:
    """(K + added·I)⁻¹; None if it is not positive definite."""
    if not isinstance(K, np.ndarray):
        return tensor_inverse(K, added)
    shifted = K.copy()
    shifted.reshape(-1)[:: len(K) + 1] += added
    return cast("Array | None", inverse(shifted))
