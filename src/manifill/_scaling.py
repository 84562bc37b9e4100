"""`Scaling`: means and standard deviations of the columns, which standardise a table."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from manifill._arrays import Array, Indices, Mask, frozen

# Entries of a table that are scaled at a time, to need little memory for intermediate results.
_MANY_ENTRIES = 2**17


def _rows_at_a_time(X: Array) -> int:
    return max(1, _MANY_ENTRIES // max(1, X[:1].size))


def _column_parts(shape: tuple[int, ...]) -> list[slice]:
    """Parts of two or more columns each; numpy sums a single column in another order."""
    n, d = shape
    width = max(2, _MANY_ENTRIES // max(1, n))
    firsts = list(range(0, max(d - 1, 1), width))
    return [slice(first, last) for first, last in pairwise([*firsts, d])]


@dataclass(frozen=True, eq=False)
class Scaling:
    """Mean and sample standard deviation of each column's observed values.

    Homogeneous columns, such as pixels, share one standard deviation, and those of a channel share one mean.
    Standardised units: Z = weight · (X / magnitude − center) / std.
    """

    magnitude: Array
    """(d,), largest absolute values, divided out so that columns of 1e±300 neither underflow nor overflow."""
    center: Array
    """(d,), means, in magnitudes."""
    std: Array
    """(d,), standard deviations, in magnitudes; 0 for constant columns, in which nothing is learned."""
    weight: Array
    """(d,), weights of the columns in distances between rows: the standard deviation of Z."""

    @classmethod
    def of(
        cls, X: Array, M: Mask, weight: npt.ArrayLike | None = None, channel: Indices | None = None
    ) -> "Scaling":
        """Scaling by the known values; `channel` (d,) are the channels of homogeneous columns, else None."""
        if channel is not None:
            return cls._shared(X, M, channel)
        weight = np.ones(X.shape[1]) if weight is None else np.array(weight, dtype=np.float64)
        parts = [cls._of_columns(X[:, part], M[:, part]) for part in _column_parts(X.shape)]
        magnitude, center, std = (frozen(np.concatenate(one)) for one in zip(*parts, strict=True))
        return cls(magnitude, center, std, frozen(weight))

    @staticmethod
    def _of_columns(X: Array, M: Mask) -> tuple[Array, Array, Array]:
        """Magnitude, center and std of some columns."""
        known = ~M
        count = np.maximum(known.sum(axis=0), 1)
        low = np.min(X, axis=0, initial=np.inf, where=known)
        high = np.max(X, axis=0, initial=-np.inf, where=known)
        magnitude = np.maximum(np.abs(low), np.abs(high))
        magnitude = np.where(np.isfinite(magnitude) & (magnitude > 0), magnitude, 1.0)
        relative = np.where(known, X, 0.0) / magnitude
        constant = ~(high > low)
        # The mean of equal values may differ from them by rounding, so a constant column uses the value.
        center = np.where(constant & np.isfinite(low), low / magnitude, relative.sum(axis=0) / count)
        deviation = np.where(known, relative - center, 0.0)
        std = np.sqrt((deviation**2).sum(axis=0) / np.maximum(count - 1, 1))
        return magnitude, center, np.where(constant, 0.0, std)

    @classmethod
    def _shared(cls, X: Array, M: Mask, channel: Indices) -> "Scaling":
        d = len(channel)
        known = np.where(M, 0.0, X)
        magnitude = float(np.abs(known).max(initial=0.0)) or 1.0
        known = known / magnitude
        count = np.maximum(np.bincount(channel, (~M).sum(axis=0)), 1)
        center = (np.bincount(channel, known.sum(axis=0)) / count)[channel]
        squares = np.bincount(channel, (np.where(M, 0.0, known - center) ** 2).sum(axis=0))
        std = float(np.sqrt((squares / np.maximum(count - 1, 1)).mean()))
        if std <= 1e-12 * float(np.abs(center).max(initial=1e-300)):
            std = 0.0
        each = (frozen(np.full(d, one)) for one in (magnitude, std, 1.0))
        magnitudes, stds, weights = each
        return cls(magnitudes, frozen(center), stds, weights)

    def only(self, columns: Indices) -> "Scaling":
        """The scaling of some of the columns."""
        return Scaling(self.magnitude[columns], self.center[columns], self.std[columns], self.weight[columns])

    @property
    def scale(self) -> Array:
        """One standardised unit, in magnitudes."""
        return self.std / self.weight

    @property
    def deviation(self) -> Array:
        """The standard deviation of each column in the user's units."""
        return self.std * self.magnitude

    @property
    def mean(self) -> Array:
        """The mean of each column in the user's units."""
        return self.center * self.magnitude

    def standardise(self, X: Array) -> Array:
        """User's units → standardised units; constant columns → 0.

        Clipped to ±1e6, so that powers of extreme values in new rows stay finite.
        """
        step, standard = np.where(self.std > 0, self.scale, 1.0), np.empty(np.shape(X))
        for first in range(0, len(X), _rows_at_a_time(standard)):
            part = slice(first, first + _rows_at_a_time(standard))
            with np.errstate(over="ignore"):
                values = (X[part] / self.magnitude - self.center) / step
            standard[part] = np.where(self.std > 0, np.clip(values, -1e6, 1e6), 0.0)
        return standard

    def restore(self, Z: Array) -> Array:
        """Standardised units → user's units."""
        largest = np.finfo(np.float64).max
        with np.errstate(over="ignore"):
            restored = (Z * self.scale + self.center) * self.magnitude
        return np.clip(restored, -largest, largest)
