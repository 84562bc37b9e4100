"""Kernel ridge regression, with the values of the fit that leaves out one row at a time.

Let P = (K + rI)⁻¹ over the known rows, with values f, and c = P f the coefficients. The fit without row i has
the coefficients c − P[:, i] cᵢ / Pᵢᵢ, and its error at row i is cᵢ / Pᵢᵢ. So the errors of n fits, each
without one row, cost no more than the inverse.

With p centres and many more rows, rows have little influence of their own, and their mean influence
h = tr(K (KᵀK + rK')⁻¹ Kᵀ) / m serves for all: the error without row i is eᵢ = (fᵢ − f̂ᵢ) / (1 − h), and a
value near row i changes by −h eᵢ. Here K (m, p) are the affinities to the centres, K' those among them.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpotrf, dtrtri

from manifill._arrays import Array, Indices
from manifill.errors import NotPositiveDefinite
from manifill.solvers.inverse import inverse
from manifill.solvers.ridge import Ridge, mean_diagonal

# Added to the diagonal of the affinities among centres, relative to its mean: some centres may coincide.
_JITTER = 1e-6
# Shares of the mean diagonal that are added to the normal equations until they are positive definite:
# rounding errors are amplified if centres nearly coincide.
_ROUNDING = (0.0, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4)
# Largest mean influence of a row, against rounding.
_MAX_INFLUENCE = 0.99


class LeftOut(Protocol):
    """A fit of g functions, and the fits that leave out one of its m rows.

    Attributes
    ----------
    coefficients : (p, g), of the rows, or of the centres.
    errors : (m, g), true values minus those of the fit without the row.
    """

    @property
    def coefficients(self) -> Array: ...

    @property
    def errors(self) -> Array: ...

    def without_own(self, K: Array) -> Array:
        """(m, g), values at m points of the fits without row 1, …, m; K (m, p) are their affinities."""
        ...


@dataclass(frozen=True, eq=False)
class ExactFit:
    """Fit with all pairs of rows; see `LeftOut`. `precision` is P (m, m)."""

    coefficients: Array
    errors: Array
    precision: Array

    @classmethod
    def of(cls, K: Array, f: Array, ridge: float) -> "ExactFit":
        """Fit to values f (m, g) with affinities K (m, m)."""
        scale, diagonal = mean_diagonal(K), np.diagonal(K).copy()
        for added in Ridge(ridge).added(scale):
            np.fill_diagonal(K, diagonal + added)
            precision = inverse(K)
            if precision is not None:
                np.fill_diagonal(K, diagonal)
                coefficients = precision @ f
                errors = coefficients / np.diagonal(precision)[:, None]
                return cls(coefficients, errors, np.asarray(precision, dtype=np.float64))
        raise NotPositiveDefinite(f"The affinities of {len(K)} rows are not positive definite.")

    def without_own(self, K: Array) -> Array:
        """(m, g), values at m points of the fits without row 1, …, m."""
        values: Array = K @ self.coefficients
        values -= np.einsum("ij,ij->i", K, self.precision)[:, None] * self.errors
        return values


@dataclass(frozen=True, eq=False)
class CentresFit:
    """Fit on centres; see `LeftOut`. `influence` (m, 1) is h for rows that were fitted, and 0 for others."""

    coefficients: Array
    errors: Array
    influence: Array

    @classmethod
    def of(
        cls, K: Array, among: Array, f: Array, ridge: float, fitted: Indices | slice = slice(None)
    ) -> "CentresFit":
        """Fit to f (m, g) with affinities K (m, p) to the centres, and `among` (p, p) among them.

        The coefficients are fitted to the rows `fitted`, all by default.
        """
        scale, p = mean_diagonal(among), len(among)
        lower = np.linalg.cholesky(among + _JITTER * scale * np.eye(p))
        # In the features φ = L⁻¹ k, with L Lᵀ = K', the penalty is r I.
        part = K[fitted]
        half = solve_triangular(lower, part.T @ part, lower=True, check_finite=False)
        products = solve_triangular(lower, half.T, lower=True, check_finite=False, overwrite_b=True)
        diagonal = np.diagonal(products).copy()
        for share in _ROUNDING:
            penalty = max(ridge, _JITTER) * scale + share * float(diagonal.mean())
            np.fill_diagonal(products, diagonal + penalty)
            factor, failed = dpotrf(products.T, lower=0, clean=1)
            if not failed:
                break
        else:
            raise NotPositiveDefinite(f"The affinities to {p} centres are not positive definite.")
        projections = solve_triangular(lower, part.T @ f[fitted], lower=True, check_finite=False)
        solution = solve_triangular(factor, projections, trans=1, check_finite=False)
        solution = solve_triangular(factor, solution, check_finite=False)
        coefficients = solve_triangular(lower, solution, lower=True, trans=1, check_finite=False)
        # h = tr(A⁻¹ S) / m with A = S + rI; tr(A⁻¹) is the sum of squares of the inverse of its factor.
        inverse_factor = dtrtri(factor, lower=0)[0]
        effective = p - penalty * float(np.einsum("ij,ij->", inverse_factor, inverse_factor))
        influence = np.zeros((len(K), 1))
        influence[fitted] = np.clip(effective / max(len(part), 1), 0.0, _MAX_INFLUENCE)
        return cls(coefficients, (f - K @ coefficients) / (1 - influence), influence)

    def without_own(self, K: Array) -> Array:
        """(m, g), values at m points of the fits without row 1, …, m."""
        values: Array = K @ self.coefficients - self.influence * self.errors
        return values
