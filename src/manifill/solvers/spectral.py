"""The paper's solver: eigenvectors of the kernel matrix, without those of small eigenvalues."""

from dataclasses import dataclass, field
from typing import ClassVar, Protocol

import numpy as np
from scipy.linalg import eigh

from manifill._arrays import Array
from manifill._checks import complaint, require_number
from manifill.solvers.base import Explained, Report


class Cutoff(Protocol):
    """Number of eigenvalues to keep, given the positive ones (at least one) in descending order."""

    def __call__(self, eigenvalues: Array) -> int: ...


@dataclass(frozen=True)
class ConditionNumber:
    """Keep λ ≥ δ · λ_max (Lafon's rule): the condition number of the extension is then at most 1/δ."""

    delta: float = 1e-3

    def __post_init__(self) -> None:
        require_number("delta of ConditionNumber", self.delta, least=0, most=1)

    def __call__(self, eigenvalues: Array) -> int:
        return int((eigenvalues >= self.delta * eigenvalues[0]).sum())


@dataclass(frozen=True)
class Count:
    """Keep the `k` largest eigenvalues."""

    k: int

    def __post_init__(self) -> None:
        require_number("k of Count", self.k, least=1, whole=True)

    def __call__(self, eigenvalues: Array) -> int:
        return min(self.k, len(eigenvalues))


@dataclass(frozen=True)
class Energy:
    """Keep the fewest eigenvalues whose sum is at least `share` of the sum of the positive eigenvalues."""

    share: float = 0.99

    def __post_init__(self) -> None:
        require_number("share of Energy", self.share, above=0, most=1)

    def __call__(self, eigenvalues: Array) -> int:
        total = np.cumsum(eigenvalues)
        # With share = 1, rounding could give one more than there are.
        return min(int(np.searchsorted(total, self.share * total[-1])) + 1, len(eigenvalues))


@dataclass(frozen=True, eq=False)
class SpectralFactor:
    """The kept eigenvalues λ of K[A, A], in descending order, and their eigenvectors ψ (columns)."""

    eigenvalues: Array
    eigenvectors: Array
    report: Report

    def coefficients(self, f: Array) -> Array:
        """Σ_ℓ ⟨f, ψ_ℓ⟩ ψ_ℓ / λ_ℓ."""
        projections = self.eigenvectors.T @ f
        result: Array = self.eigenvectors @ (projections.T / self.eigenvalues).T
        return result

    def variance(self, K: Array, prior: Array, f: Array) -> Array:
        """Amplitude² · (k(x, x) − Σ λ_ℓ Ψ_ℓ(x)²) + noise² · (1 + Σ Ψ_ℓ(x)²).

        The first term is the prior variance at x that the kept harmonics do not explain. The second treats
        the part of f outside their span as noise, in their estimated weights and in an observation at x.
        """
        n, kept = self.eigenvectors.shape
        projections = self.eigenvectors.T @ f
        harmonics = K @ self.eigenvectors / self.eigenvalues
        amplitude = (projections.T**2 / self.eigenvalues).sum(axis=1) / max(kept, 1)
        noise = np.maximum((f**2).sum(axis=0) - (projections**2).sum(axis=0), 0.0) / max(n - kept, 1)
        unknown = np.maximum(prior - harmonics**2 @ self.eigenvalues, 0.0)
        result: Array = np.outer(unknown, amplitude) + np.outer(1 + (harmonics**2).sum(axis=1), noise)
        return result


@dataclass(frozen=True)
class Spectral(Explained):
    """K[A, A] = Ψ Λ Ψᵀ, cut to the eigenvalues that `cutoff` keeps; extends by Ψ Λ⁻¹ Ψᵀ f.

    Works with every symmetric kernel: negative eigenvalues are dropped, and the report states their share.

    Examples
    --------
    >>> import numpy as np
    >>> K = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> factor = Spectral(Count(1)).factor(K)
    >>> factor.eigenvalues.round(6)
    array([3.])
    >>> print(factor.report)
    kept 1 of 2 eigenvectors, dropped 0.25 of the energy
    """

    cutoff: Cutoff = field(default_factory=ConditionNumber)
    needs_psd: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not callable(self.cutoff) or isinstance(self.cutoff, type):
            raise complaint(
                "cutoff of Spectral", "a rule such as ConditionNumber(1e-3) or Count(20)", self.cutoff
            )

    def factor(self, K: Array, scale: float | None = None) -> SpectralFactor:
        values, vectors = eigh(K, check_finite=False, driver="evd")
        values, vectors = values[::-1], vectors[:, ::-1]
        # Eigenvalues of smaller magnitude are rounding error.
        noise = len(K) * np.finfo(np.float64).eps * np.abs(values).max(initial=0.0)
        positive = values[values > noise]
        kept = self.cutoff(positive) if positive.size else 0
        energy = np.abs(values).sum()
        report = Report(
            kept=kept,
            dropped=len(K) - kept,
            dropped_energy=float(np.abs(values[kept:]).sum() / energy) if energy else 0.0,
            negative_energy=float(-values[values < -noise].sum() / energy) if energy else 0.0,
        )
        return SpectralFactor(positive[:kept].copy(), vectors[:, :kept].copy(), report)
