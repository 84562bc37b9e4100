"""Diffusion maps: coordinates in which near means "easily reached by many short steps".

From affinities K, with the density of the points taken out to the power alpha,

    q = K·1,   K_α = K / (qᵅ qᵅᵀ),   d = K_α·1,   P = K_α / d,

P is a random walk on the points. With P ψ_ℓ = λ_ℓ ψ_ℓ, 1 = λ₀ ≥ λ₁ ≥ …, the map after time t sends point i to
(λ₁ᵗ ψ₁(i), λ₂ᵗ ψ₂(i), …), and a new point x to its Nyström extension ψ_ℓ(x) = Σⱼ p(x, xⱼ) ψ_ℓ(j) / λ_ℓ
(Coifman and Lafon 2006). The points themselves are sent by it to where they are, or nearly so where only near
points are joined.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import eigsh

from manifill._arrays import Array
from manifill.errors import InvalidInput

Affinities = Any
"""Array (n, m), or a sparse one of scipy's, in rows, where only near points are joined."""

# Of more points joined to near ones only, no more eigenvectors are sought than asked for.
_FEW_POINTS = 1500


@dataclass(frozen=True, eq=False)
class Diffusion:
    """A random walk on n points, and its slowest modes.

    Attributes
    ----------
    alpha : how much of the density is taken out: 0 none, 1 all of it.
    density : (n,), q, the sum of each point's affinities.
    eigenvalues : (m + 1,), λ in descending order, λ₀ = 1 first.
    eigenvectors : (n, m + 1), ψ, of unit mean square under the walk's stationary distribution; ψ₀ = 1.
    """

    alpha: float
    density: Array
    eigenvalues: Array
    eigenvectors: Array

    @classmethod
    def of(cls, K: Affinities, n_modes: int, alpha: float = 1.0, seed: int = 0) -> "Diffusion":
        """The `n_modes` slowest modes, beside the constant one, of a walk with affinities (n, n)."""
        density = _sums(K)
        if not (density > 0).all():
            lonely = int(np.flatnonzero(~(density > 0))[0])
            raise InvalidInput(
                f"Every point must be near another one; point {lonely} is not. Use a larger bandwidth."
            )
        weights = density**-alpha
        stationary = weights * (K @ weights)  # d
        scale = weights / np.sqrt(stationary)
        values, vectors = _leading(_scaled(K, scale, scale), n_modes + 1, seed)
        share = stationary / stationary.sum()
        modes = vectors / np.sqrt(share)[:, None]
        # An eigenvector's sign is arbitrary: the same points must always give the same map.
        largest = np.abs(modes).argmax(axis=0)
        modes *= np.sign(modes[largest, np.arange(modes.shape[1])])
        return cls(alpha, density, values, modes)

    def extended(self, K: Affinities) -> Array:
        """(m, modes): ψ of new points, by their affinities (m, n) to those of the walk."""
        weights = self.density**-self.alpha
        reached = _sums(_scaled(K, np.ones(K.shape[0]), weights))
        with np.errstate(divide="ignore", invalid="ignore"):
            steps = K @ (weights[:, None] * self.eigenvectors) / reached[:, None]
            modes: Array = steps / self.eigenvalues
        lost = ~(reached > 0)
        if lost.any():
            raise InvalidInput(
                f"A point can be placed only near points of the fit; {lost.sum()} of {len(lost)} are too far "
                f"from all of them, the first is row {np.flatnonzero(lost)[0]}. Fit with a larger bandwidth."
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
    """The largest eigenvalues of a symmetric matrix, in descending order, and their eigenvectors."""
    n = S.shape[0]
    if isinstance(S, np.ndarray) or n <= _FEW_POINTS or count > n // 10:
        dense = S if isinstance(S, np.ndarray) else S.toarray()
        values, vectors = eigh(dense, subset_by_index=(n - count, n - 1))
    else:
        # A few more than asked for: of modes with equal eigenvalues, one could be missed.
        start = np.random.default_rng(seed).standard_normal(n)
        values, vectors = eigsh(S, min(count + 8, n - 1), which="LA", v0=start)
    order = np.argsort(values)[::-1][:count]
    return values[order], vectors[:, order]
