"""A kernel whose parameters minimise the leave-one-out error of its fit.

The parameters are the weights of the predictors, which include the bandwidth, the weight of a linear part and
the ridge. The weights from the gradient of the fit before are the start. From there the logarithm of the
squared leave-one-out error is minimised by L-BFGS, with a penalty on the distance from the start. Let
P = (K + λI)⁻¹, with coefficients c = P f and errors eᵢ = cᵢ / Pᵢᵢ of the fits without row i. For a loss with
derivatives rᵢ = ∂L/∂eᵢ, let uᵢ = rᵢ / Pᵢᵢ and vᵢ = uᵢ eᵢ. Then

    ∂L/∂K = −(P u) cᵀ + P diag(v) P.

Errors of rows that the parameters were tuned on look smaller than they are. So in short tables there are two
fits: one is tuned on the even rows and judged on the odd ones, the other the other way round. In long ones
the rows that parameters are tuned on are few of all.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from manifill._arrays import Array, Indices
from manifill._fillers.metric.parts import Kernels, PartFit, fit_kernels, pairs_for
from manifill._fillers.metric.preset import Preset, Tuned
from manifill._fillers.metric.rows import SHARE, Weighted
from manifill._fillers.sweep import Component
from manifill.kernels import Gaussian, Laplacian, MedianDistance, SemiLinear
from manifill.kernels.bandwidth import Fixed, evenly_spaced
from manifill.solvers import Ridge
from manifill.solvers.inverse import inverse

# Weight of the penalty. Mean error of 17 development tables (500 rows, mask 61): 1, .3 and .1 gave .5174,
# .5158, .5155 (best effort).
_PENALTY = 0.3
# Most rows that parameters are tuned on, and most values of their distances in memory (128 MB). At 5,000 rows
# 250, 400 and 800 rows gave errors that differ by .2 % (docs/notes/choosing.md).
_MAX_ROWS, _MAX_DISTANCES = 300, 16_000_000
# Rows below which nothing is tuned, and rows from which there is one fit. Set by hand, not tuned.
_FEW_ROWS, _MANY_ROWS = 30, 1000
# Parameters stay within this factor of their start.
_MAX_CHANGE = 100.0
# Rows of which the median distance is taken. Set by hand, not tuned.
_SAMPLE = 150


@dataclass(frozen=True, eq=False)
class Parameters:
    """Of k(x, y) = exp(−Σₖ wₖᵖ |xₖ − yₖ|ᵖ) + `linear` · Σₖ wₖ² xₖ yₖ, and its fit.

    Attributes
    ----------
    factors : (q,), the weights w, as factors on those of the predictors.
    linear : weight of the linear part.
    penalty : λ, added to the diagonal.
    power : p, 1 for a Laplacian and 2 for a Gaussian.
    """

    factors: Array
    linear: float
    penalty: float
    power: int


@dataclass(frozen=True, eq=False)
class TunedKernels:
    """Mean of extensions, each by a kernel with factors (q,) on the weights of the predictors."""

    factors: tuple[Array, ...]
    parts: tuple[Kernels, ...]

    @property
    def mean_factors(self) -> Array:
        """(q,), mean of the factors, each relative to its largest."""
        mean: Array = np.mean([one / one.max(initial=1e-300) for one in self.factors], axis=0)
        return mean

    def at(self, rows: Weighted) -> Array:
        """(1, m, g), values at rows (m, q)."""
        pairs = zip(self.factors, self.parts, strict=True)
        values: Array = np.mean([part.at(rows.times(one)) for one, part in pairs], axis=0)
        return values


def fit_tuned(
    rows: Weighted, f: Array, member: Tuned, preset: Preset, centres: int, variables: Indices
) -> PartFit:
    """Fit f (m, g); `variables` (q,) are equal for predictors of one variable, which have one factor."""
    m = len(rows)
    half = np.arange(m) % 2 if _FEW_ROWS <= m < _MANY_ROWS else np.zeros(m, dtype=np.intp)
    start, factors, fits = _start(rows, member), [], []
    for number in range(int(half.max(initial=0)) + 1):
        others = np.flatnonzero(half != number) if half.any() else np.arange(m)
        found = (
            start if m < _FEW_ROWS else tuned(rows[others], f[others], start, variables, member.iterations)
        )
        factors.append(found.factors)
        fits.append(fit_kernels(rows.times(found.factors), f, [_component(found, rows)], preset, centres))

    def without_own(there: Weighted) -> Array:
        values = [one.without_own(there.times(own)) for one, own in zip(fits, factors, strict=True)]
        return _of_half(values, half)

    part = TunedKernels(tuple(factors), tuple(one.part for one in fits if isinstance(one.part, Kernels)))
    return PartFit(part, _of_half([one.left_out for one in fits], half), without_own)


def _of_half(values: list[Array], half: Indices) -> Array:
    """(1, m, g), of each row the value of the fit that was not tuned on its half."""
    return np.where((half == 0)[:, None], values[0], values[-1])


def _start(rows: Weighted, member: Tuned) -> Parameters:
    """The median distance is the bandwidth, and all predictors keep their weights."""
    kernel = (Gaussian if member.gaussian else Laplacian)(MedianDistance())
    pairs = pairs_for((kernel,), rows[evenly_spaced(len(rows), _SAMPLE)].values)
    power, q = (2, rows.values.shape[1]) if member.gaussian else (1, rows.values.shape[1])
    scale = power**0.5 * float(kernel.tuned(pairs).scale or 1.0)
    return Parameters(np.full(q, 1 / scale), member.linear / q * scale**2, member.ridge, power)


def _component(found: Parameters, rows: Weighted) -> Component:
    """Kernel and ridge with tuned parameters, for rows whose values were multiplied by the factors."""
    base = Gaussian(Fixed(0.5**0.5)) if found.power == 2 else Laplacian(Fixed(1.0))
    squares = np.sum((rows.values * found.factors) ** 2, axis=1)
    diagonal = 1 + found.linear * float(np.mean(squares))  # a ridge is relative to the mean diagonal
    return Component(SemiLinear(base, found.linear * len(found.factors)), Ridge(found.penalty / diagonal))


def tuned(rows: Weighted, f: Array, start: Parameters, labels: Indices, iterations: int) -> Parameters:
    """The parameters with the smallest leave-one-out error of f (m, g), from these on.

    `labels` (q,) are equal for columns that have one factor in common.
    """
    most = min(_MAX_ROWS, int(np.sqrt(_MAX_DISTANCES / max(rows.values.shape[1], 1))))
    some = np.arange(len(rows))[evenly_spaced(len(rows), most)]
    problem = _LeaveOneOut(rows[some], f[some], start, np.unique(labels, return_inverse=True)[1])
    bound = np.log(_MAX_CHANGE)
    size = problem.n_factors + 2
    found = minimize(
        *(problem.loss, np.zeros(size)),
        jac=True,
        method="L-BFGS-B",
        bounds=[(-bound, bound)] * size,
        options={"maxiter": iterations},
    )
    return problem.parameters(found.x) if np.isfinite(found.fun) else start


class _LeaveOneOut:
    """Loss of parameters, as a function of the logarithms of their changes."""

    def __init__(self, rows: Weighted, f: Array, start: Parameters, labels: Indices) -> None:
        power = start.power
        X, own = rows.values, SHARE * rows.imputed * rows.spread**power
        m, q = X.shape
        distance = np.abs(X.T[:, :, None] - X.T[:, None, :])
        if power == 2:
            distance *= distance
        distance += own.T[:, :, None]
        distance += own.T[:, None, :]
        distance[:, np.arange(m), np.arange(m)] = 0.0
        self._distance = distance.reshape(q, m * m)
        self._X, self._f, self._start, self._labels = X, f, start, labels
        self.n_factors = int(labels.max(initial=-1)) + 1

    def parameters(self, change: Array) -> Parameters:
        start, factors = self._start, np.exp(change)
        return Parameters(
            start.factors * factors[self._labels],
            start.linear * float(factors[-2]),
            start.penalty * float(factors[-1]),
            start.power,
        )

    def loss(self, change: Array) -> tuple[float, Array]:
        """The loss and its gradient."""
        now, (m, _) = self.parameters(change), self._X.shape
        weighted = self._X * now.factors
        local = np.exp(-(now.factors**now.power @ self._distance)).reshape(m, m)
        linear = now.linear * (weighted @ weighted.T)
        K = local + linear
        K[np.arange(m), np.arange(m)] += now.penalty
        P = inverse(K)
        if P is None:
            return np.inf, np.zeros(len(change))
        c, own = P @ self._f, np.diagonal(P)[:, None]
        errors = c / own
        total = float(np.sum(errors**2)) + 1e-300
        u = 2 * errors / (total * own)
        v = np.sum(u * errors, axis=1)
        slope = (P * v) @ P - (P @ u) @ c.T
        slope = (slope + slope.T) / 2
        by_column = -now.power * now.factors**now.power * (self._distance @ (slope * local).ravel())
        by_column += 2 * now.linear * np.einsum("ik,ik->k", weighted, slope @ weighted)
        gradient = np.empty(len(change))
        gradient[:-2] = np.bincount(self._labels, by_column, self.n_factors)
        gradient[-2] = np.sum(slope * linear)
        gradient[-1] = now.penalty * np.trace(slope)
        strength = _PENALTY / m
        return np.log(total) + strength * float(change @ change), gradient + 2 * strength * change
