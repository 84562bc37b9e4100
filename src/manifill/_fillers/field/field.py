"""A table seen as a normal field on rows × columns, and what is expected where it has holes.

The covariance is Φ T Φᵀ: Φ holds the products of the rows' harmonics with the columns', and T their
variances. With Q = (Φ T Φᵀ)⁻¹ = Φ T⁻¹ Φᵀ the missing entries m are expected at

    x_m = −Q_mm⁻¹ Q_mo x_o,

which is solved by conjugate gradients: Q is a product of small matrices along each axis, whatever the holes.
Where T is constant over the columns' harmonics this is geometric harmonics, column by column; where it is
constant over the rows', it is kriging, row by row.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from manifill._arrays import Mask, namespace
from manifill._axes import Axis, along
from manifill._devices import place
from manifill.solvers.base import Explained


@dataclass(frozen=True)
class ConjugateGradients(Explained):
    """How a field is solved on its missing entries.

    Attributes
    ----------
    max_steps : of conjugate gradients.
    window : steps whose gain together must be small for the solution to be taken.
    """

    max_steps: int = 500
    window: int = 4
    needs_psd: ClassVar[bool] = True


class Field:
    """Rows × columns with holes, on the harmonics of their axes.

    Parameters
    ----------
    axes : of the rows first, then of the columns.
    M : (n, ...), True where missing, in the shape of the axes.
    dtype : of the arithmetic.
    device : None for numpy, or a device of torch's.
    """

    solver = ConjugateGradients(why="both geometries are solved at once, on the missing entries")

    def __init__(self, axes: tuple[Axis, ...], M: Mask, dtype: Any, device: str | None = None) -> None:
        self.axes, self.device, self.dtype = axes, device, dtype
        self.missing = self.placed(M)
        self.n_missing = int(M.sum())
        self.steps = 0
        """Steps of conjugate gradients taken so far."""
        self._bases = [None if axis.basis is None else self.placed(axis.basis) for axis in axes]
        self._averages = [self.placed(axis.averages) for axis in axes]
        self._interpolations = [self.placed(axis.interpolation) for axis in axes]
        self._mix = _mixing(axes, M, device)
        self._latest: tuple[Any, Any] = (None, None)

    def placed(self, array: Any) -> Any:
        """The array in the field's precision, on its device."""
        return place(np.asarray(array, dtype=self.dtype), self.device)

    def harmonics(self, V: Any) -> Any:
        """Values → coefficients of the harmonics."""
        for i, basis in enumerate(self._bases):
            if basis is not None and V.shape[i] > 1:
                V = along(basis.T, V, i)
        return V

    def values(self, C: Any) -> Any:
        """Coefficients of the harmonics → values."""
        for i, basis in enumerate(self._bases):
            if basis is not None and C.shape[i] > 1:
                C = along(basis, C, i)
        return C

    def variances(self, powers: Any, before: Any, pseudo_count: float, least: float) -> Any:
        """T learned from squared coefficients: their means over cells, led on from one cell to the next.

        `pseudo_count` is how many coefficients the variances `before` count for in every cell.
        """
        xp = namespace(powers)
        means, old = powers, before
        count = np.ones((1,) * len(self.axes))
        for i, (axis, averages) in enumerate(zip(self.axes, self._averages, strict=True)):
            size = np.diff(np.append(axis.edges, axis.size))
            count = count * size.reshape([-1 if j == i else 1 for j in range(len(self.axes))])
            means = along(averages, means, i)
            old = along(averages, old, i) if old.shape[i] > 1 else old
        count = self.placed(count)
        logs = xp.log(xp.clip((means * count + old * pseudo_count) / (count + pseudo_count), least, None))
        for i, interpolation in enumerate(self._interpolations):
            if self.axes[i].basis is not None:
                logs = along(interpolation, logs, i)
        return xp.exp(logs)

    def mean(self, Y: Any, T: Any, tol: float, start: Any = None) -> Any:
        """Where the missing entries are expected, 0 elsewhere; Y holds the known ones, 0 where missing."""
        return self._solve(-self.missing * self.values(self.harmonics(Y) / T), T, tol, start)

    def deviation(self, T: Any, rng: np.random.Generator, tol: float) -> Any:
        """How far from there they may be: one draw. Its covariance is Q_mm⁻¹, since that of Φ T^−½ Φᵀ z is Q.

        The noise is drawn in values, not in coefficients: then the signs of eigenvectors, which differ from
        machine to machine, do not matter.
        """
        noise = self.placed(rng.standard_normal(tuple(self.missing.shape), dtype=np.float32))
        return self._solve(self.missing * self.values(self.harmonics(noise) * T**-0.5), T, tol, None)

    def _preconditioner(self, T: Any) -> Any:
        if self._latest[0] is T:
            return self._latest[1]
        xp = namespace(T)
        # In double precision: what is averaged spans ten orders of magnitude.
        mixed = self._mix(xp.astype(1 / T, xp.float64))
        inverse = xp.astype(1 / xp.clip(mixed, 1e-12 * float(mixed.max()), None), T.dtype)
        self._latest = T, inverse
        return inverse

    def _solve(self, b: Any, T: Any, tol: float, x: Any) -> Any:
        """Q_mm⁻¹ b, to within `tol` of the standard deviations that the missing entries have.

        Every step lowers the squared distance to the solution, in the norm of Q_mm, by what is called gain
        below; that of a draw of the missing entries is their number on average. So the error can be measured
        in standard deviations, which needs no scale and no knowledge of the data.
        """
        if not self.n_missing:
            return 0 * b
        m, precondition = self.missing, self._preconditioner(T)
        apply: Callable[[Any], Any] = lambda v: m * self.values(self.harmonics(v) / T)  # noqa: E731
        b = b if x is None else b - apply(x)
        x = 0 * b if x is None else 1 * x
        r, p, rz, gains, window = b, 0 * b, math.inf, [], self.solver.window
        for _ in range(self.solver.max_steps):
            z = m * self.values(self.harmonics(r) * precondition)
            before, rz = rz, _dot(r, z)
            if not rz > 0:
                break
            p = z + (rz / before) * p
            Ap = apply(p)
            step = rz / _dot(p, Ap)
            x += step * p
            r = r - step * Ap
            gains.append(step * rz)
            self.steps += 1
            if len(gains) >= window and sum(gains[-window:]) <= tol**2 * self.n_missing:
                break
        return x


def _dot(a: Any, b: Any) -> float:
    if isinstance(a, np.ndarray):
        return float(np.vdot(a, b))
    return float((a * b).sum())


def _mixed_levels(mean: float, of_rows: float, of_columns: float, rest: float, Q: Any) -> Any:
    """Mixing where harmonics are no waves: by the mask's mean, and what it varies along rows and columns."""
    over_rows, over_columns = Q.mean(0)[None], Q.mean(1)[:, None]
    parts = mean * Q + of_rows * over_rows + of_columns * over_columns
    return (parts + rest * over_rows.mean()) / (mean + of_rows + of_columns + rest)


def _mixed_waves(axes: tuple[Axis, ...], waves: list[int], steady: Any, moving: Any, Q: Any) -> Any:
    """Mixing of waves with their neighbours, by the power of what is steady and what moves of the mask."""
    rows = [Q[i : i + 16] for i in range(0, Q.shape[0], 16)]
    averaged = namespace(Q).concat([_convolved(some, steady, waves, axes) for some in rows])
    return averaged + _convolved(Q.mean(0)[None], moving, waves, axes)


def _mixing(axes: tuple[Axis, ...], M: Mask, device: str | None) -> Callable[[Any], Any]:
    """Φᵀ Q_mm Φ has, per missing entry, about the diagonal mixing(1/T); its inverse preconditions Q_mm.

    A harmonic that is cut to the holes is mixed with others: with all of them alike where holes lie at
    random, with its neighbours where they are large. So 1/T is averaged with the power that the mask has at
    each difference of harmonics. Along rows the mask is taken apart into its mean, which mixes nothing,
    and the rest, which mixes all rows' harmonics.
    """
    waves = [i for i in range(1, len(axes)) if axes[i].waves]
    m = M.astype(np.float64)
    if not waves:
        mean, of_rows, of_columns = m.mean() ** 2, m.mean(1).var(), m.mean(0).var()
        rest = max(1e-300, m.mean() - mean - of_rows - of_columns)
        return partial(_mixed_levels, mean, of_rows, of_columns, rest)
    sizes = [2 * axes[i].size for i in waves]
    steady = m.mean(0, keepdims=True)
    steady_power = _power(steady, sizes, waves)
    moving_power = sum(
        _power(m[i : i + 16] - steady, sizes, waves) * len(m[i : i + 16]) for i in range(0, len(m), 16)
    ) / len(m)
    total = max(steady_power.sum() + moving_power.sum(), 1e-300)
    powers = (place(np.fft.rfftn(power / total).real, device) for power in (steady_power, moving_power))
    return partial(_mixed_waves, axes, waves, *powers)


def _power(m: Any, sizes: list[int], waves: list[int]) -> Any:
    """Power of a mask at each difference of waves, mean over rows and whatever is no wave."""
    power = np.abs(np.fft.fftn(m, sizes, axes=waves)) ** 2
    return power.mean(axis=tuple(i for i in range(m.ndim) if i not in waves))


def _convolved(Q: Any, wave: Any, waves: list[int], axes: tuple[Axis, ...]) -> Any:
    """Q, mirrored at both ends of its waves, averaged with the weights whose transform is `wave`."""
    xp = namespace(Q)
    sizes = [axes[i].size for i in waves]
    for i in waves:
        before = (slice(None),) * i
        last, mirrored = Q[(*before, slice(-1, None))], xp.flip(Q[(*before, slice(1, None))], axis=i)
        Q = xp.concat([Q, last, mirrored], axis=i)
    shaped = wave.reshape([1] + [wave.shape[waves.index(i)] if i in waves else 1 for i in range(1, Q.ndim)])
    mixed = xp.fft.irfftn(xp.fft.rfftn(Q, axes=waves) * shaped, s=[2 * n for n in sizes], axes=waves)
    return mixed[tuple(slice(0, axis.size) if i in waves else slice(None) for i, axis in enumerate(axes))]
