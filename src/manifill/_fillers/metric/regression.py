"""Regression of a group of columns on the others, by kernels with weights of the predictors."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

import numpy as np

from manifill._arrays import Array, Indices, Mask
from manifill._fillers.metric.near import NearFit
from manifill._fillers.metric.parts import Kernels, Part, PartFit, fit_kernels, pairs_for
from manifill._fillers.metric.preset import Member, Preset, Trees, Tuned, is_near
from manifill._fillers.metric.rows import Rows, Weighted, lengthened
from manifill._fillers.metric.trees import Forest
from manifill._fillers.metric.tuned import TunedKernels, fit_tuned
from manifill._fillers.sweep import Component
from manifill.kernels import Laplacian, SemiLinear
from manifill.kernels.bandwidth import evenly_spaced

# Rows at which gradients are taken. 100 and 250 gave the same error (17 development tables, 500 rows).
_GRADIENT_ROWS = 100
# Rows from which compiled code is loaded and used.
_MIN_COMPILED_ROWS = 160
# The smallest weight of a predictor, relative to the largest.
_MIN_WEIGHT = 0.01


@dataclass(frozen=True, eq=False)
class Regression:
    """Extensions of a group of g columns by several kernels, on all rows or centres, and from near rows.

    Attributes
    ----------
    used : (q,), columns that are predictors.
    weights : (q,), their weights.
    errors : (q,), root mean square errors of their imputed values.
    parts : fits of the members.
    members : (C,), their positions among the members of the sweep.
    """

    used: Indices
    weights: Array
    errors: Array
    parts: tuple[Part, ...]
    members: Indices

    def weighted(self, rows: Rows) -> Weighted:
        """The predictors of rows, with their weights."""
        return Weighted.of(rows, self.used, self.weights, self.errors)

    def at(self, rows: Rows) -> Array:
        """(C, m, g), values at rows (m, d)."""
        weighted = self.weighted(rows)
        return np.concatenate([one.at(weighted) for one in self.parts])


@dataclass(frozen=True, eq=False)
class Fitted:
    """A regression, and what its fits say about the rows that they were fitted to.

    Attributes
    ----------
    regression : the regression.
    left_out : (C, m, g), values at these rows by fits without the row.
    excess : (C, m, g), by how much their squares are too large, see `PartFit`.
    slopes : (d,), root mean square of the gradient of the first kernel's fit; 0 for other columns. Computed
        if requested.
    strength : (d,), weights of the predictors, in the tuned kernels if there are any.
    elsewhere : for each part, a function from m rows to values (C, m, g) at the first, second, … of them by
        fits without the first, second, … row.
    """

    regression: Regression
    left_out: Array
    excess: Array
    slopes: Array
    strength: Array
    elsewhere: tuple[Callable[[Weighted], Array], ...]

    def without_parts(self) -> "Fitted":
        """What remains of it: slopes and strength."""
        regression = replace(self.regression, parts=())
        nothing = np.zeros((0, 0, 0))
        return replace(self, regression=regression, left_out=nothing, excess=nothing, elsewhere=())

    def without_own(self, rows: Rows) -> Array:
        """(C, m, g), values at m rows of the fits without the first, second, … row."""
        weighted = self.regression.weighted(rows)
        return np.concatenate([one(weighted) for one in self.elsewhere])


def fit(
    rows: Rows,
    f: Array,
    weights: Array,
    errors: Array,
    members: Sequence[Member],
    preset: Preset,
    centres: int,
    variables: Indices,
    completed: Rows,
    slopes: bool = False,
) -> Fitted:
    """Fit f (m, g) on rows (m, d).

    Parameters
    ----------
    members : in order, see `in_order`.
    centres : of kernels, if not all rows are centres.
    variables : (d,), number of the variable of each column, in an order that depends on their values alone.
    completed : the rows as the last sweep has completed them, which trees learn from.
    weights : (d,), weights of the predictors; 0 for columns that are none.
    errors : (d,), root mean square errors of imputed values.
    preset : its limits say whether all rows are centres of the kernels.
    slopes : compute the gradient too.
    """
    used = np.flatnonzero(weights)
    # Sums over predictors, and the splits that trees try, depend on the order of the predictors.
    used = used[np.argsort(variables[used], kind="stable")]
    of = partial(Weighted.of, used=used, weights=weights[used], errors=errors[used])
    weighted, found = of(rows), np.zeros(rows.Z.shape[1])
    components = [one for one in members if isinstance(one, Component)]
    kernels, near = ([one for one in components if is_near(one) == wanted] for wanted in (False, True))
    fits = [fit_kernels(weighted, f, kernels, preset, centres)] if kernels else []
    if kernels and slopes:
        found[used] = weights[used] * _slopes(weighted, cast(Kernels, fits[0].part))
    if near:
        local = NearFit.of(weighted, f, near)
        fits.append(PartFit(local, local.without_own(weighted), local.without_own))
    for member in members:
        if isinstance(member, Tuned):
            fits.append(fit_tuned(weighted, f, member, preset, centres, variables[used]))
        if isinstance(member, Trees):
            fits.append(Forest.of(of(completed), f, member).fitted(weighted))
    parts, positions = tuple(one.part for one in fits), np.arange(len(members))
    regression = Regression(used, weights[used], errors[used], parts, positions)
    without = tuple(one.without_own for one in fits)
    tuned = [one.part.mean_factors for one in fits if isinstance(one.part, TunedKernels)]
    strength = np.zeros(len(weights))
    strength[used] = weights[used] * (np.mean(tuned, axis=0) if tuned else 1.0)
    left_out = np.concatenate([one.left_out for one in fits])
    excess = np.concatenate([np.broadcast_to(one.excess, one.left_out.shape) for one in fits])
    return Fitted(regression, left_out, excess, found, strength, without)


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
