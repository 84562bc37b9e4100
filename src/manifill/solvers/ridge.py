"""The fast solver: a ridge penalty and a Cholesky factor instead of a cut-off and eigenvectors."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from manifill._arrays import Array
from manifill._checks import require_number
from manifill.errors import NotPositiveDefinite
from manifill.solvers.base import Explained, Report

# Jitter added to the diagonal, relative to its mean, tried in this order until the Cholesky factorisation
# succeeds. Set by hand, not tuned.
_JITTER = (0.0, 1e-12, 1e-10, 1e-8)


@dataclass(frozen=True, eq=False)
class RidgeFactor:
    """Upper Cholesky factor of K[A, A] + r·k̄·I."""

    upper: Array
    report: Report

    def coefficients(self, f: Array) -> Array:
        """(K[A, A] + r·k̄·I)⁻¹ f."""
        result: Array = cho_solve((self.upper, False), f, check_finite=False)
        return result

    def variance(self, K: Array, prior: Array, f: Array) -> Array:
        """Amplitude² · (k(x, x) − k(x, A) (K[A, A] + r·k̄·I)⁻¹ k(A, x) + r·k̄), of a Gaussian process."""
        explained = np.einsum("ia,ai->i", K, self.coefficients(K.T))
        amplitude = np.einsum("im,im->m", f, self.coefficients(f)) / len(f)
        result: Array = np.outer(np.maximum(prior - explained, 0.0) + self.report.added, amplitude)
        return result


def mean_diagonal(K: Array) -> float:
    """k̄, the mean of |K[i, i]|, which the ridge is relative to; 1 if it is 0 (cosine kernel of zero rows)."""
    mean = abs(K.diagonal()).mean()
    if isinstance(K, np.ndarray):
        return float(mean) or 1.0
    mean = mean + (mean <= 0)  # without a transfer from the device
    return mean


@dataclass(frozen=True)
class Ridge(Explained):
    """Extends by (K[A, A] + r·k̄·I)⁻¹ f, with k̄ the mean diagonal of K over all rows.

    The ridge is relative to k̄, so that multiplying the kernel by a constant changes nothing, as with the
    cut-off of the spectral solver. For Gaussian and Laplacian kernels k̄ = 1.

    Parameters
    ----------
    ridge : r ≥ 0. A small ridge reproduces the known values, a large one smooths them. The default had the
        lowest mean error on eleven tables and image sets with the default kernel; see docs/notes/defaults.md.

    Examples
    --------
    >>> import numpy as np
    >>> factor = Ridge(ridge=1.0).factor(np.eye(2))
    >>> factor.coefficients(np.array([1.0, 4.0]))
    array([0.5, 2. ])
    >>> print(factor.report)
    kept 2 of 2 eigenvectors, added 1 to the diagonal
    """

    ridge: float = 0.1
    needs_psd: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_number("ridge of Ridge", self.ridge, least=0)

    def added(self, scale: float) -> list[float]:
        """Amounts to add to the diagonal, tried in this order: the ridge, then the ridge plus jitter."""
        return [(self.ridge + jitter) * scale for jitter in _JITTER]

    def factor(self, K: Array, scale: float | None = None) -> RidgeFactor:
        diagonal = np.diagonal(K).copy()
        scale = scale or mean_diagonal(K)
        for added in self.added(scale):
            work = K.copy(order="F")
            np.fill_diagonal(work, diagonal + added)
            try:
                upper, _ = cho_factor(work, overwrite_a=True, check_finite=False)
            except LinAlgError:
                continue
            return RidgeFactor(upper, Report(kept=len(K), added=added, jitter=added - self.ridge * scale))
        raise NotPositiveDefinite(
            f"Cholesky needs a positive definite matrix; the affinities of {len(K)} known rows with "
            f"{added:.3g} added to the diagonal are not. Use the spectral solver or a larger ridge."
        )
