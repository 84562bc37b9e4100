"""Regression of a group of columns on the others, by kernels with weights of the predictors."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from manifill._arrays import Array, Indices, Mask
from manifill._fillers.metric.near import NearFit
from manifill._fillers.metric.preset import Preset
from manifill._fillers.metric.rows import Rows, Weighted, lengthened
from manifill._fillers.sweep import Component
from manifill.kernels import Kernel, Laplacian, Pairs, SemiLinear
from manifill.kernels.bandwidth import evenly_spaced
from manifill.solvers import CentresFit, ExactFit, LeftOut, Local, Ridge

# Pairs of rows whose affinities are in memory at a time.
_MAX_PAIRS = 2_000_000
# Rows at which gradients are taken. Set by hand, not tuned.
_GRADIENT_ROWS = 250
# Rows from which compiled code is loaded and used.
_MIN_COMPILED_ROWS = 160
# The smallest weight of a predictor, relative to the largest.
_MIN_WEIGHT = 0.01


class Part(Protocol):
    """Extensions of a group of g columns by some of the components."""

    def at(self, rows: Weighted) -> Array:
        """(C, m, g), values at rows (m, q)."""
        ...


@dataclass(frozen=True, eq=False)
class Kernels:
    """Extensions by kernels: k(·, centres) · coefficients.

    Attributes
    ----------
    centres : p of the rows.
    kernels : with their bandwidths.
    coefficients : (C, p, g).
    """

    centres: Weighted
    kernels: tuple[Kernel, ...]
    coefficients: Array

    def at(self, rows: Weighted) -> Array:
        """(C, m, g), values at rows (m, q)."""
        values = np.zeros((len(self.kernels), len(rows), self.coefficients.shape[2]))
        step = max(1, _MAX_PAIRS // max(1, len(self.centres)))
        for first in range(0, len(rows), step):
            part = slice(first, first + step)
            for c, K in enumerate(self.affinities(rows[part])):
                values[c, part] = K @ self.coefficients[c]
        return values

    def affinities(self, rows: Weighted) -> list[Array]:
        """For each kernel, the affinities (m, p) of rows to the centres."""
        pairs = lengthened(pairs_for(self.kernels, rows.values, self.centres.values), rows, self.centres)
        return [kernel(pairs) for kernel in self.kernels]


@dataclass(frozen=True, eq=False)
class Regression:
    """Extensions of a group of g columns by several kernels, on all rows or centres, and from near rows.

    Attributes
    ----------
    used : (q,), columns that are predictors.
    weights : (q,), their weights.
    errors : (q,), root mean square errors of their imputed values.
    parts : fits of the components.
    """

    used: Indices
    weights: Array
    errors: Array
    parts: tuple[Part, ...]

    def weighted(self, rows: Rows) -> Weighted:
        """The predictors of rows, with their weights."""
        return Weighted.of(rows, self.used, self.weights, self.errors)

    def at(self, rows: Rows) -> Array:
        """(C, m, g), values at rows (m, d)."""
        weighted = self.weighted(rows)
        return np.concatenate([one.at(weighted) for one in self.parts])


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
    left_out : (C, m, g), values at these rows by fits without the row.
    slopes : (d,), root mean square of the gradient of the first kernel's fit; 0 for other columns. Computed
        if requested.
    elsewhere : for each part, a function from m rows to values (C, m, g) at the first, second, … of them by
        fits without the first, second, … row.
    """

    regression: Regression
    left_out: Array
    slopes: Array
    elsewhere: tuple[Callable[[Weighted], Array], ...]

    def without_own(self, rows: Rows) -> Array:
        """(C, m, g), values at m rows of the fits without the first, second, … row."""
        weighted = self.regression.weighted(rows)
        return np.concatenate([one(weighted) for one in self.elsewhere])


def fit(
    rows: Rows,
    f: Array,
    weights: Array,
    errors: Array,
    components: Sequence[Component],
    preset: Preset,
    slopes: bool = False,
) -> Fitted:
    """Fit f (m, g) on rows (m, d).

    Parameters
    ----------
    weights : (d,), weights of the predictors; 0 for columns that are none.
    errors : (d,), root mean square errors of imputed values.
    preset : its limits say whether all rows are centres of the kernels.
    slopes : compute the gradient too.
    """
    used = np.flatnonzero(weights)
    weighted = Weighted.of(rows, used, weights[used], errors[used])
    near = [one for one in components if isinstance(one.solver, Local)]
    others = [one for one in components if not isinstance(one.solver, Local)]
    parts: list[Part] = []
    left_out: list[Array] = []
    elsewhere: list[Callable[[Weighted], Array]] = []
    found = np.zeros(rows.Z.shape[1])
    if others:
        part, values, without = _kernels(weighted, f, others, preset)
        parts, left_out, elsewhere = [part], [values], [without]
        if slopes:
            found[used] = weights[used] * _slopes(weighted, part)
    if near:
        local = NearFit.of(weighted, f, near)
        parts, left_out = [*parts, local], [*left_out, local.without_own(weighted)]
        elsewhere = [*elsewhere, local.without_own]
    regression = Regression(used, weights[used], errors[used], tuple(parts))
    return Fitted(regression, np.concatenate(left_out), found, tuple(elsewhere))


def _kernels(
    rows: Weighted, f: Array, components: Sequence[Component], preset: Preset
) -> tuple[Kernels, Array, Callable[[Weighted], Array]]:
    """Fits on all rows or centres, their values at rows that are left out, and elsewhere without these."""
    m = len(rows)
    chosen = np.arange(m)[evenly_spaced(m, m if m <= preset.exact else preset.centres)]
    middle = rows[chosen]
    among = pairs_for([one.kernel for one in components], middle.values)
    kernels = tuple(one.kernel.tuned(among) for one in components)
    lengthened(among, middle, middle, np.arange(len(middle)))
    all_pairs = len(middle) == m
    pairs = among
    if not all_pairs:
        pairs = lengthened(pairs_for(kernels, rows.values, middle.values), rows, middle, chosen)
    fitted = evenly_spaced(m, preset.fitted)
    fits: list[LeftOut] = []
    for kernel, component in zip(kernels, components, strict=True):
        ridge = component.solver.ridge if isinstance(component.solver, Ridge) else 0.0
        if all_pairs:
            fits.append(ExactFit.of(kernel(pairs), f, ridge))
        else:
            fits.append(CentresFit.of(kernel(pairs), kernel(among), f, ridge, fitted))
    part = Kernels(middle, kernels, np.stack([one.coefficients for one in fits]))

    def elsewhere(there: Weighted) -> Array:
        affinities = part.affinities(there)
        return np.stack([one.without_own(K) for one, K in zip(fits, affinities, strict=True)])

    return part, f - np.stack([one.errors for one in fits]), elsewhere


def _slopes(rows: Weighted, part: Kernels) -> Array:
    """(q,), root mean square over rows and functions of the gradient of the first kernel's fit.

    With weighted predictors u, f = Σᵢ aᵢ (exp(−‖u − uᵢ‖₁ / σ) + w u·uᵢ / q) has the derivative
    ∂f/∂uₖ = Σᵢ aᵢ (−sign(uₖ − uᵢₖ) exp(−‖u − uᵢ‖₁ / σ) / σ + w uᵢₖ / q). It jumps where uₖ = uᵢₖ, so the mean
    square of the derivatives on both sides is taken. Without that, the levels of a category, which most
    rows share with many others, would not seem to matter. That of a Gaussian is smooth.
    """
    kernel, centres, a = part.kernels[0], part.centres, part.coefficients[0]
    assert isinstance(kernel, SemiLinear)
    at = rows[np.arange(len(rows))[evenly_spaced(len(rows), _GRADIENT_ROWS)]]
    pairs = pairs_for((kernel,), at.values, centres.values)
    equal = pairs[kernel.base.statistics[0]] == 0
    K = kernel.base(lengthened(pairs, at, centres))
    linear = kernel.weight / max(pairs.n_columns, 1) * (centres.values.T @ a)
    squares = np.zeros(len(linear))
    scale = float(kernel.scale or 1.0)
    for own, coefficients in zip(linear.T, a.T, strict=True):
        if isinstance(kernel.base, Laplacian):
            K[equal] = 0.0  # a row itself, and rows equal to it
            signed, ties = _signed_sums(at.values, centres.values, K * coefficients / scale)
            squares += np.mean((own - signed) ** 2 + ties**2, axis=0)
        else:
            sums = K * coefficients / scale**2
            smooth = sums @ centres.values - sums.sum(axis=1)[:, None] * at.values
            squares += np.mean((own + smooth) ** 2, axis=0)
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
