"""Diffusion maps: coordinates in which points are close if a random walk connects them by many short paths.

From affinities K, normalised by the density of the points to the power alpha,

    q = K·1,   K_α = K / (qᵅ qᵅᵀ),   d = K_α·1,   P = K_α / d,

P is the transition matrix of a random walk on the points. With P ψ_ℓ = λ_ℓ ψ_ℓ, 1 = λ₀ ≥ λ₁ ≥ …, the map
after time t sends point i to (λ₁ᵗ ψ₁(i), λ₂ᵗ ψ₂(i), …), and a new point x to its Nyström extension
ψ_ℓ(x) = Σⱼ p(x, xⱼ) ψ_ℓ(j) / λ_ℓ (Coifman and Lafon 2006). For the points of the fit the extension equals ψ,
or nearly so if affinities are limited to nearest neighbours.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import eigsh

from manifill._arrays import Array
from manifill.errors import InvalidInput

Affinities = Any
"""Array (n, m), or a scipy array in CSR format if affinities are limited to nearest neighbours."""

# Points up to which sparse affinities use the dense eigensolver; beyond it the iterative one. Set by hand.
_MAX_DENSE_POINTS = 1500


@dataclass(frozen=True, eq=False)
class Diffusion:
    """A random walk on n points and its slowest modes.

    Attributes
    ----------
    alpha : exponent of the density normalisation: 0 none, 1 full.
    density : (n,), q, row sums of the affinities.
    eigenvalues : (m + 1,), λ in descending order, λ₀ = 1 first.
    eigenvectors : (n, m + 1), ψ, with mean square 1 under the stationary distribution of the walk; ψ₀ = 1.
    """

    alpha: float
    density: Array
    eigenvalues: Array
    eigenvectors: Array

    @classmethod
    def of(cls, K: Affinities, n_modes: int, alpha: float = 1.0, seed: int = 0) -> "Diffusion":
        """The `n_modes` slowest non-constant modes of a walk with affinities K (n, n)."""
        density = _sums(K)
        if not (density > 0).all():
            isolated = int(np.flatnonzero(~(density > 0))[0])
            raise InvalidInput(
                f"The affinities of a point must have a positive sum; those of point {isolated} do not. "
                "Use a larger bandwidth."
            )
        weights = density**-alpha
        stationary = weights * (K @ weights)  # d
        scale = weights / np.sqrt(stationary)
        values, vectors = _leading(_scaled(K, scale, scale), n_modes + 1, seed)
        share = stationary / stationary.sum()
        modes = vectors / np.sqrt(share)[:, None]
        # The sign of an eigenvector is arbitrary; fix it so that the same points always give the same map.
        largest = np.abs(modes).argmax(axis=0)
        modes *= np.sign(modes[largest, np.arange(modes.shape[1])])
        return cls(alpha, density, values, modes)

    def extended(self, K: Affinities) -> Array:
        """ψ of new points, (m, modes), from their affinities K (m, n) to the points of the walk."""
        weights = self.density**-self.alpha
        reached = _sums(_scaled(K, np.ones(K.shape[0]), weights))
        with np.errstate(divide="ignore", invalid="ignore"):
            steps = K @ (weights[:, None] * self.eigenvectors) / reached[:, None]
            modes: Array = steps / self.eigenvalues
        too_far = ~(reached > 0)
        if too_far.any():
            raise InvalidInput(
                f"New points must be near those of the fit; {too_far.sum()} of {len(too_far)} are too far, "
                f"the first is row {np.flatnonzero(too_far)[0]}. Fit with a larger bandwidth."
            )
        return modes


def _sums(K: Affinities) -> Array:
    return np.asarray(K.sum(axis=1)).ravel()


def _scaled(K: Affinities, left: Array, right: Array) -> Affinities:
    """diag(left) K diag(right)."""
    if isinstance(K, np.ndarray):
        return left[:, None] * K * right
    scaled = K.copy()
    scaled.data *= np.repeat(left, np.diff(K.indptr)) * right[K.indices]
    return scaled


def _leading(S: Affinities, count: int, seed: int) -> tuple[Array, Array]:
    """The `count` largest eigenvalues of a symmetric matrix, descending, and their eigenvectors."""
    n = S.shape[0]
    if isinstance(S, np.ndarray) or n <= _MAX_DENSE_POINTS or count > n // 10:
        dense = S if isinstance(S, np.ndarray) else S.toarray()
        values, vectors = eigh(dense, subset_by_index=(n - count, n - 1))
    else:
        # Compute a few more than needed: of several modes with equal eigenvalues one could be missed.
        start = np.random.default_rng(seed).standard_normal(n)
        values, vectors = eigsh(S, min(count + 8, n - 1), which="LA", v0=start)
    order = np.argsort(values)[::-1][:count]
    return values[order], vectors[:, order]
