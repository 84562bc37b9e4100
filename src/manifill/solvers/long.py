"""Solvers for long tables, whose cost is proportional to the number of rows."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from manifill._arrays import Array
from manifill._checks import complaint, require_number
from manifill.errors import NotPositiveDefinite
from manifill.solvers.base import Explained, Report
from manifill.solvers.ridge import Ridge, RidgeFactor, mean_diagonal

CHOICES = ("spread", "random")
# Pivot below which a landmark is redundant and dropped, in the pivoted Cholesky factorisation of K[L, L],
# relative to the mean diagonal. Set by hand, not tuned.
_MIN_PIVOT = 1e-7
# Shares of the mean diagonal that are added to normal equations until they are positive definite. Small
# pivots amplify rounding errors: to 1.5e-7 of the largest eigenvalue on a table of 45,730 rows.
_ROUNDING = (0.0, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4)


@dataclass(frozen=True)
class Landmarks(Explained):
    """Extends by K[:, L] c with (K[L, A] K[A, L] + r·k̄·K[L, L]) c = K[L, A] f, for landmarks L.

    The kernel is replaced by its Nyström approximation K[:, L] K[L, L]⁻¹ K[L, :]. If all rows are landmarks,
    the approximation is exact and the result equals that of `Ridge`. Suited to smooth data of low dimension.

    Parameters
    ----------
    count : number of landmarks, which are rows of the table; all rows if there are fewer.
    ridge : r ≥ 0, as in `Ridge`.
    rows : largest number of known rows that coefficients are fitted to; a random sample if there are more.
    choice : "spread", which prefers rows far from the landmarks already chosen (k-means++), or "random".
    """

    count: int = 1000
    ridge: float = 0.1
    rows: int = 20_000
    choice: str = "spread"
    needs_psd: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_number("count of Landmarks", self.count, least=1, whole=True)
        require_number("ridge of Landmarks", self.ridge, least=0)
        require_number("rows of Landmarks", self.rows, least=1, whole=True)
        if self.choice not in CHOICES:
            raise complaint("choice of Landmarks", f"one of {', '.join(map(repr, CHOICES))}", self.choice)


@dataclass(frozen=True)
class Local(Explained):
    """Extends to each missing entry from its k nearest known rows only, by `Ridge` on these rows.

    If k is at least the number of known rows, the result equals that of `Ridge`. Suited to clustered data and
    to data of higher dimension.

    Parameters
    ----------
    k : number of known rows used for each entry.
    ridge : r ≥ 0, as in `Ridge`.
    """

    k: int = 40
    ridge: float = 0.1
    needs_psd: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_number("k of Local", self.k, least=1, whole=True)
        require_number("ridge of Local", self.ridge, least=0)


class NormalEquations:
    """Sums K[L, A] K[A, L] and K[L, A] f, over chunks of the known rows A, for m landmarks."""

    def __init__(self, m: int) -> None:
        self.products = np.zeros((m, m))
        self.projections = np.zeros(m)

    def solve(self, among: Array, ridge: float) -> tuple[Array, Report]:
        """Coefficients (m,) from the affinities among the landmarks (m, m); 0 for redundant landmarks."""
        scale = mean_diagonal(among)
        factored, order, rank, _ = dpstrf(among, tol=_MIN_PIVOT * scale, lower=1)
        kept = order[:rank] - 1
        lower = np.tril(factored[:rank, :rank])
        # After the change of basis that makes K[L, L] the identity, the ridge conditions the equations well.
        half = _solve(lower, self.products[np.ix_(kept, kept)])
        changed = _solve(lower, half.T)
        factor = _factor((changed + changed.T) / 2, ridge, scale)
        solution = factor.coefficients(_solve(lower, self.projections[kept]))
        coefficients = np.zeros(len(among))
        coefficients[kept] = solve_triangular(lower, solution, lower=True, trans=1, check_finite=False)
        return coefficients, replace(factor.report, kept=rank, dropped=len(among) - rank)


def _factor(products: Array, ridge: float, scale: float) -> RidgeFactor:
    """Factor of products + ridge·scale·I; the ridge is raised if it is smaller than rounding errors."""
    rounding = mean_diagonal(products) / scale
    for share in _ROUNDING:
        try:
            return Ridge(ridge + share * rounding).factor(products, scale)
        except NotPositiveDefinite:
            continue
    return Ridge(ridge + rounding).factor(products, scale)


def _solve(lower: Array, right: Array) -> Array:
    solved: Array = solve_triangular(lower, right, lower=True, check_finite=False)
    return solved
