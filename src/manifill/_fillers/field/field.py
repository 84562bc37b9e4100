"""A table as a Gaussian field on rows × columns: conditional mean and draws of its missing entries.

The covariance is Φ T Φᵀ: Φ holds the products of the rows' harmonics with the columns', and the diagonal T
their variances. With the precision matrix Q = (Φ T Φᵀ)⁻¹ = Φ T⁻¹ Φᵀ the conditional mean of the missing
entries m given the observed ones o is

    x_m = −Q_mm⁻¹ Q_mo x_o.

It is solved by conjugate gradients. A product with Q is a small matrix product along each axis, whatever the
mask. If T is constant over the columns' harmonics this is geometric harmonics, column by column; if T is
constant over the rows' harmonics it is kriging, row by row.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from manifill._arrays import Mask, Tensor, namespace
from manifill._axes import Axis, along
from manifill._devices import place
from manifill.solvers.base import Explained


@dataclass(frozen=True)
class ConjugateGradients(Explained):
    """Options of the conjugate gradients that solve a field on its missing entries.

    Attributes
    ----------
    max_steps : maximum number of steps; 5 to 30 are usual (docs/notes/pictures.md).
    window : number of last steps whose total gain must be small to stop; set by hand.
    """

    max_steps: int = 500
    window: int = 4
    needs_psd: ClassVar[bool] = True


class Field:
    """A Gaussian field on rows × columns with missing entries, in the harmonics of its axes.

    Parameters
    ----------
    axes : axis of the rows, then those of the columns.
    M : (n, ...), True where missing, in the shape of the axes.
    dtype : dtype of the arithmetic.
    device : None for numpy, or the name of a torch device.
    """

    solver = ConjugateGradients(why="rows and columns are modelled together, on the missing entries")

    def __init__(self, axes: tuple[Axis, ...], M: Mask, dtype: Any, device: str | None = None) -> None:
        self.axes, self.device, self.dtype = axes, device, dtype
        self.missing = self.placed(M)
        self.n_missing = int(M.sum())
        self.steps = 0
        """Number of conjugate gradient steps so far."""
        self._bases = [None if axis.basis is None else self.placed(axis.basis) for axis in axes]
        self._averages = [self.placed(axis.averages) for axis in axes]
        self._interpolations = [self.placed(axis.interpolation) for axis in axes]
        self._mix = _mixing(axes, M, device)
        self._latest: tuple[Any, Any] = (None, None)

    def placed(self, array: Tensor) -> Tensor:
        """The array in the field's dtype, on its device."""
        return place(np.asarray(array, dtype=self.dtype), self.device)

    def harmonics(self, V: Tensor) -> Tensor:
        """Values → coefficients of the harmonics."""
        for i, basis in enumerate(self._bases):
            if basis is not None and V.shape[i] > 1:
                V = along(basis.T, V, i)
        return V

    def values(self, C: Tensor) -> Tensor:
        """Coefficients of the harmonics → values."""
        for i, basis in enumerate(self._bases):
            if basis is not None and C.shape[i] > 1:
                C = along(basis, C, i)
        return C

    def variances(self, powers: Tensor, before: Tensor, pseudo_count: float, floor: float) -> Tensor:
        """T estimated from squared coefficients: means over cells, log-interpolated between the cells.

        In every cell the variances `before` count as `pseudo_count` coefficients. Means are no less
        than `floor`.
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
        logs = xp.log(xp.clip((means * count + old * pseudo_count) / (count + pseudo_count), floor, None))
        for i, interpolation in enumerate(self._interpolations):
            if self.axes[i].basis is not None:
                logs = along(interpolation, logs, i)
        return xp.exp(logs)

    def mean(self, Y: Tensor, T: Tensor, tol: float, start: Tensor = None) -> Tensor:
        """Conditional mean of the missing entries, 0 elsewhere; Y holds the known ones, 0 where missing."""
        return self._solve(-self.missing * self.values(self.harmonics(Y) / T), T, tol, start)

    def deviation(self, T: Tensor, rng: np.random.Generator, tol: float) -> Tensor:
        """One draw of the missing entries about their conditional mean, 0 elsewhere.

        It is Q_mm⁻¹ b_m with b = Φ T^−½ Φᵀ z. The covariance of b is Q, so that of the draw is Q_mm⁻¹. The
        noise z is drawn in values, not in coefficients: the signs of eigenvectors differ between machines.
        """
        noise = self.placed(rng.standard_normal(tuple(self.missing.shape), dtype=np.float32))
        return self._solve(self.missing * self.values(self.harmonics(noise) * T**-0.5), T, tol, None)

    def _preconditioner(self, T: Tensor) -> Tensor:
        if self._latest[0] is T:
            return self._latest[1]
        xp = namespace(T)
        # In double precision: 1/T spans ten orders of magnitude.
        mixed = self._mix(xp.astype(1 / T, xp.float64))
        inverse = xp.astype(1 / xp.clip(mixed, 1e-12 * float(mixed.max()), None), T.dtype)
        self._latest = T, inverse
        return inverse

    def _solve(self, b: Tensor, T: Tensor, tol: float, x: Tensor) -> Tensor:
        """Q_mm⁻¹ b, with an error of about `tol` conditional standard deviations of the missing entries.

        Each step reduces the squared error in the norm of Q_mm by its gain. In that norm, a draw of the
        missing entries about their mean has an expected square of n_missing. So the iteration stops when the
        last `window` gains sum to at most tol² · n_missing, whatever the scale of the data.
        """
        if not self.n_missing:
            return 0 * b
        m, precondition = self.missing, self._preconditioner(T)
        apply: Callable[[Tensor], Tensor] = lambda v: m * self.values(self.harmonics(v) / T)  # noqa: E731
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


def _dot(a: Tensor, b: Tensor) -> float:
    if isinstance(a, np.ndarray):
        return float(np.vdot(a, b))
    return float((a * b).sum())


def _mixed_means(
    mean: float, row_variance: float, column_variance: float, remainder: float, Q: Tensor
) -> Tensor:
    """Mixing if no axis has cosines: weights are the mask's squared mean and its variance components."""
    over_rows, over_columns = Q.mean(0)[None], Q.mean(1)[:, None]
    parts = mean * Q + row_variance * over_rows + column_variance * over_columns
    return (parts + remainder * over_rows.mean()) / (mean + row_variance + column_variance + remainder)


def _mixed_waves(
    axes: tuple[Axis, ...], waves: list[int], mean_power: Tensor, residual_power: Tensor, Q: Tensor
) -> Tensor:
    """Mixing of cosines, with the power spectra of the mean mask and of the deviations from it as weights."""
    rows = [Q[i : i + 16] for i in range(0, Q.shape[0], 16)]
    averaged = namespace(Q).concat([_convolved(some, mean_power, waves, axes) for some in rows])
    return averaged + _convolved(Q.mean(0)[None], residual_power, waves, axes)


def _mixing(axes: tuple[Axis, ...], M: Mask, device: str | None) -> Callable[[Tensor], Tensor]:
    """The function `mixing` of the preconditioner: mixing(1/T) ≈ the diagonal of Φᵀ Q_mm Φ per missing entry.

    Restricting a harmonic to the missing entries mixes it with others: with all harmonics if entries are
    missing at random, with neighbouring ones if the missing regions are large. So 1/T is averaged with the
    mask's power spectrum as weights. The mask is split into its mean over rows, which does not mix the rows'
    harmonics, and the deviations from it, which mix all of them.
    """
    waves = [i for i in range(1, len(axes)) if axes[i].waves]
    m = M.astype(np.float64)
    if not waves:
        mean, row_variance, column_variance = m.mean() ** 2, m.mean(1).var(), m.mean(0).var()
        remainder = max(1e-300, m.mean() - mean - row_variance - column_variance)
        return partial(_mixed_means, mean, row_variance, column_variance, remainder)
    sizes = [2 * axes[i].size for i in waves]
    mean_mask = m.mean(0, keepdims=True)
    mean_power = _power(mean_mask, sizes, waves)
    residual_power = sum(
        _power(m[i : i + 16] - mean_mask, sizes, waves) * len(m[i : i + 16]) for i in range(0, len(m), 16)
    ) / len(m)
    total = max(mean_power.sum() + residual_power.sum(), 1e-300)
    powers = (place(np.fft.rfftn(power / total).real, device) for power in (mean_power, residual_power))
    return partial(_mixed_waves, axes, waves, *powers)


def _power(m: Tensor, sizes: list[int], waves: list[int]) -> Tensor:
    """Power spectrum of a mask along the cosine axes, averaged over the other axes."""
    power = np.abs(np.fft.fftn(m, sizes, axes=waves)) ** 2
    return power.mean(axis=tuple(i for i in range(m.ndim) if i not in waves))


def _convolved(Q: Tensor, spectrum: Tensor, waves: list[int], axes: tuple[Axis, ...]) -> Tensor:
    """Q, reflected at both ends of its cosine axes, convolved with the weights of this Fourier spectrum."""
    xp = namespace(Q)
    sizes = [axes[i].size for i in waves]
    for i in waves:
        before = (slice(None),) * i
        last, mirrored = Q[(*before, slice(-1, None))], xp.flip(Q[(*before, slice(1, None))], axis=i)
        Q = xp.concat([Q, last, mirrored], axis=i)
    shaped = spectrum.reshape(
        [1] + [spectrum.shape[waves.index(i)] if i in waves else 1 for i in range(1, Q.ndim)]
    )
    mixed = xp.fft.irfftn(xp.fft.rfftn(Q, axes=waves) * shaped, s=[2 * n for n in sizes], axes=waves)
    return mixed[tuple(slice(0, axis.size) if i in waves else slice(None) for i, axis in enumerate(axes))]
