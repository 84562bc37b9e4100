"""Kernel ridge regression of a group of columns on the others, with weights of the predictors."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from manifill._arrays import Array, Indices, Mask
from manifill._fillers.sweep import Component
from manifill.kernels import Kernel, Laplacian, Pairs, SemiLinear
from manifill.kernels.bandwidth import evenly_spaced
from manifill.kernels.pairs import ABSOLUTE_DISTANCE
from manifill.solvers import CentresFit, ExactFit, LeftOut, Ridge

# Pairs of rows whose affinities are in memory at a time.
_MAX_PAIRS = 2_000_000
# Rows at which gradients are taken. Set by hand, not tuned.
_GRADIENT_ROWS = 250
# Rows from which compiled code is loaded and used.
_MIN_COMPILED_ROWS = 160
# The smallest weight of a predictor, relative to the largest.
_MIN_WEIGHT = 0.01


@dataclass(frozen=True, eq=False)
class Regression:
    """Extensions of a group of g columns by several kernels: k(·, centres) · coefficients, for each kernel.

    Attributes
    ----------
    used : (q,), columns that are predictors.
    weights : (q,), their weights.
    centres : (p, q), rows in standardised units, multiplied by the weights.
    kernels : with their bandwidths.
    coefficients : (C, p, g).
    """

    used: Indices
    weights: Array
    centres: Array
    kernels: tuple[Kernel, ...]
    coefficients: Array

    def at(self, Z: Array) -> Array:
        """(C, m, g), values for rows Z (m, d)."""
        values = np.zeros((len(self.kernels), len(Z), self.coefficients.shape[2]))
        step = max(1, _MAX_PAIRS // max(1, len(self.centres)))
        for first in range(0, len(Z), step):
            part = slice(first, first + step)
            for c, K in enumerate(self._affinities(Z[part])):
                values[c, part] = K @ self.coefficients[c]
        return values

    def _affinities(self, Z: Array) -> list[Array]:
        """For each kernel, the affinities (m, p) of rows Z (m, d) to the centres."""
        pairs = self.pairs(Z[:, self.used] * self.weights, self.centres)
        return [kernel(pairs) for kernel in self.kernels]

    def pairs(self, left: Array, right: Array | None) -> Pairs:
        """Pair statistics of weighted rows for all kernels."""
        return pairs_for(self.kernels, left, right)


def pairs_for(kernels: Sequence[Kernel], left: Array, right: Array | None = None) -> Pairs:
    """Pair statistics of two sets of rows for several kernels; of one set with itself if `right` is None."""
    statistics = dict.fromkeys(one for kernel in kernels for one in kernel.statistics)
    return Pairs.of(left, right, statistics=tuple(statistics))


@dataclass(frozen=True, eq=False)
class Fitted:
    """A regression, and what its fits say about the rows that they were fitted to.

    Attributes
    ----------
    regression : the regression.
    fits : one for each kernel.
    slopes : (d,), root mean square of the gradient of the first kernel's fit; 0 for other columns. Computed
        if requested.
    """

    regression: Regression
    fits: tuple[LeftOut, ...]
    slopes: Array

    def without_own(self, Z: Array) -> Array:
        """(C, m, g), values at rows Z (m, d) of the fits without the first, second, … row."""
        affinities = self.regression._affinities(Z)
        return np.stack([fit.without_own(K) for fit, K in zip(self.fits, affinities, strict=True)])


def fit(
    X: Array,
    f: Array,
    weights: Array,
    components: Sequence[Component],
    exact: int,
    centres: int,
    slopes: bool = False,
) -> Fitted:
    """Fit f (m, g) on rows X (m, d), with weights (d,) of the predictors; 0 for columns that are none.

    If there are more than `exact` rows, `centres` of them are the centres of the kernels. With `slopes` the
    gradient is computed too.
    """
    used = np.flatnonzero(weights)
    rows = X[:, used] * weights[used]
    chosen = evenly_spaced(len(rows), len(rows) if len(rows) <= exact else centres)
    middle = rows[chosen]
    among = pairs_for([one.kernel for one in components], middle)
    kernels = tuple(one.kernel.tuned(among) for one in components)
    all_pairs = len(middle) == len(rows)
    pairs = among if all_pairs else pairs_for(kernels, rows, middle)
    fits: list[LeftOut] = []
    for kernel, component in zip(kernels, components, strict=True):
        ridge = component.solver.ridge if isinstance(component.solver, Ridge) else 0.0
        if all_pairs:
            fits.append(ExactFit.of(kernel(pairs), f, ridge))
        else:
            fits.append(CentresFit.of(kernel(pairs), kernel(among), f, ridge))
    coefficients = np.stack([one.coefficients for one in fits])
    regression = Regression(used, weights[used], middle, kernels, coefficients)
    found = np.zeros(X.shape[1])
    if slopes:
        found[used] = weights[used] * _slopes(rows, regression)
    return Fitted(regression, tuple(fits), found)


def _slopes(rows: Array, regression: Regression) -> Array:
    """(q,), root mean square over rows and functions of the gradient of the first kernel's fit.

    With weighted predictors u, f = Σᵢ aᵢ (exp(−‖u − uᵢ‖₁ / σ) + w u·uᵢ / q) has the derivative
    ∂f/∂uₖ = Σᵢ aᵢ (−sign(uₖ − uᵢₖ) exp(−‖u − uᵢ‖₁ / σ) / σ + w uᵢₖ / q). It jumps where uₖ = uᵢₖ, so the mean
    square of the derivatives on both sides is taken. Without that, the levels of a category, which most
    rows share with many others, would not seem to matter.
    """
    kernel, centres, a = regression.kernels[0], regression.centres, regression.coefficients[0]
    assert isinstance(kernel, SemiLinear)
    assert isinstance(kernel.base, Laplacian)
    at = rows[evenly_spaced(len(rows), _GRADIENT_ROWS)]
    pairs = regression.pairs(at, centres)
    K = kernel.base(pairs) / float(kernel.scale or 1.0)
    K[pairs[ABSOLUTE_DISTANCE] == 0] = 0.0  # a row itself, and rows equal to it
    linear = kernel.weight / max(pairs.n_columns, 1) * (centres.T @ a)
    squares = np.zeros(len(linear))
    for own, coefficients in zip(linear.T, a.T, strict=True):
        signed, ties = _signed_sums(at, centres, K * coefficients)
        squares += np.mean((own - signed) ** 2 + ties**2, axis=0)
    slopes: Array = np.sqrt(squares / a.shape[1])
    return slopes


def _signed_sums(at: Array, centres: Array, K: Array) -> tuple[Array, Array]:
    """(r, q), Σⱼ K[i, j] sign(at[i, k] − centres[j, k]), and Σⱼ K[i, j] over the j with equal values."""
    total, ties = np.empty(at.shape), np.empty(at.shape)
    if len(centres) < _MIN_COMPILED_ROWS:
        for k, (x, y) in enumerate(zip(at.T, centres.T, strict=True)):
            signs = np.sign(x[:, None] - y)
            total[:, k], ties[:, k] = (signs * K).sum(axis=1), ((signs == 0) * K).sum(axis=1)
        return total, ties
    import manifill._compiled as compiled

    compiled.signed_sums(np.ascontiguousarray(at), np.ascontiguousarray(centres.T), K, total, ties)
    return total, ties


def learned_weights(slopes: Array, groups: Sequence[Sequence[int]], allowed: Mask) -> Array:
    """(d,), weights of the allowed predictors from the gradients `slopes` (d,) of a fit; others have 0.

    Columns of a group have one weight. Weights are at least `_MIN_WEIGHT` relative to the largest, and their
    mean square is 1.
    """
    shared = np.zeros(len(slopes))
    for group in groups:
        shared[list(group)] = np.sqrt(np.mean(slopes[list(group)] ** 2))
    largest = shared.max(initial=0.0)
    relative = shared / largest if largest > 0 else np.ones(len(slopes))
    weights: Array = np.where(allowed, np.maximum(relative, _MIN_WEIGHT), 0.0)
    return weights / np.sqrt(np.sum(weights**2) / max(int(allowed.sum()), 1)) if allowed.any() else weights
