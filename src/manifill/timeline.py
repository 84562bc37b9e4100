"""What columns are at the moments before and after: companions, by which rows in order of time are compared.

A companion is what is expected of a column from its own known values nearby in time. Beside the columns
themselves it tells a kernel between rows, and the linear part of it, where in time a row is. Three things
make it honest. A known value has no part in its own companion. The gap around it is made as wide as that
around a missing value, drawn at random. And the weights of its companion are learned from other values. So
known rows and rows to be filled have companions alike, however long the gaps are.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from manifill.arrays import Array, Indices

# Known values on each side that means are taken of: all of them for the first companion, which weighs them;
# then one companion each. But no more than a share of all: a mean of all others would tell what is left out.
_NEAR = (1, 2, 4, 8, 16, 32)
_WIDE = (8, 24)
_LARGEST_SHARE = 1 / 8
# Examples that weights of zero count for, also as a share of those there are; and how many sets of values
# get weights from the others.
_FEW, _SHARE, _FOLDS = 5.0, 0.01, 5


@dataclass(frozen=True, eq=False)
class Timeline:
    """A table (n, d), NaN where missing, and the moment of each row (n,), in any order and unit."""

    X: Array
    moments: Array

    def companions(self, *, wide: bool = False) -> Array:
        """(n, d) in standard units of the columns; with those of wide means (n, 3 d)."""
        parts = np.stack([column.own(wide) for column in self._columns], axis=2)
        return parts.reshape(len(parts), -1)

    def expected(self) -> Array:
        """(n, d), the first companions in the units of the table: a fill from nothing but time."""
        units = np.array([(column.center, column.spread) for column in self._columns]).T
        return np.asarray(self.companions() * units[1] + units[0])

    def at(self, moments: Array, *, wide: bool = False) -> Array:
        """Companions of other rows, at other moments; rows of the very same moment have no part in them."""
        parts = np.stack([column.at(self._in_steps(moments), wide) for column in self._columns], axis=2)
        return parts.reshape(len(moments), -1)

    @cached_property
    def _columns(self) -> list["_Column"]:
        t = self._in_steps(self.moments)
        return [_Column.of(values, t) for values in self.X.T]

    def _in_steps(self, moments: Array) -> Array:
        return np.asarray((moments - self.moments.min()) / self._step, dtype=np.float64)

    @cached_property
    def _step(self) -> float:
        """A typical step from one moment to the next."""
        steps = np.diff(np.unique(self.moments))
        return float(np.median(steps)) if len(steps) else 1.0


@dataclass(frozen=True, eq=False)
class _Column:
    """A column in order of time.

    Attributes
    ----------
    t : (n,), the moments of all rows.
    known : (m,), the rows where it is known, in order of time.
    values : (m,), what it is there, in standard units.
    center, spread : these units.
    """

    t: Array
    known: Indices
    values: Array
    center: float
    spread: float

    @classmethod
    def of(cls, x: Array, t: Array) -> "_Column":
        known = np.flatnonzero(~np.isnan(x))
        # Among rows of one moment the value decides, not the place in the table.
        known = known[np.lexsort((x[known], t[known]))]
        seen = x[known].astype(np.float64)
        largest = float(np.abs(seen).max(initial=0.0)) or 1.0  # squares of large numbers would be lost
        seen = seen / largest
        center = float(seen.mean()) if len(seen) else 0.0
        spread = (float(seen.std()) if len(seen) else 0.0) or 1.0
        return cls(t, known, (seen - center) / spread, center * largest, spread * largest)

    @cached_property
    def times(self) -> Array:
        """Moments of the known values."""
        return np.asarray(self.t[self.known])

    def own(self, wide: bool) -> Array:
        """(n, 1 or 3), where the table has its rows."""
        means = self._own_means()
        near = means[:, : 1 + len(_NEAR)]
        found = near @ self._fitted(means, np.arange(len(self.known)))
        for fold in self._folds:
            rows, others = self.known[fold], np.delete(np.arange(len(self.known)), fold)
            found[rows] = near[rows] @ self._fitted(means, others)
        return self._beside(found, means, wide)

    def at(self, t: Array, wide: bool) -> Array:
        """(m, 1 or 3), at other moments."""
        means = self._means(t, *self._around(t))
        return self._beside(means[:, : len(self._weights)] @ self._weights, means, wide)

    @cached_property
    def _weights(self) -> Array:
        return self._fitted(self._own_means(), np.arange(len(self.known)))

    @cached_property
    def _folds(self) -> list[Indices]:
        """Known values in sets that have no part in the companions of their own set."""
        mixed = np.random.default_rng(1).permutation(len(self.known))
        return [np.sort(fold) for fold in np.array_split(mixed, _FOLDS) if len(fold) < len(mixed)]

    def _own_means(self) -> Array:
        """Means at the rows of the table: of known values without their set, in gaps as of missing ones."""
        before, after = self._around(self.t)
        means = self._means(self.t, before, after)
        if not len(self.known):
            return means
        missing = np.delete(np.arange(len(self.t)), self.known)
        missing = missing[np.argsort(self.t[missing], kind="stable")]
        like = np.random.default_rng(0).choice(missing, len(self.known)) if len(missing) else self.known
        back, on = self._distances(self.t, before, after)
        for fold in self._folds:
            others = np.delete(np.arange(len(self.known)), fold)
            rest = replace(self, known=self.known[others], values=self.values[others])
            t = self.times[fold]
            before, after = rest._around(t)
            earlier = np.searchsorted(rest.times, t - back[like[fold]], side="right") - 1
            later = np.searchsorted(rest.times, t + on[like[fold]])
            means[self.known[fold]] = rest._means(t, np.minimum(earlier, before), np.maximum(later, after))
        return means

    def _around(self, t: Array) -> tuple[Indices, Indices]:
        """The last known value before each moment, and the first after it."""
        before = np.searchsorted(self.times, t, side="left") - 1
        return before, np.searchsorted(self.times, t, side="right")

    def _distances(self, t: Array, before: Indices, after: Indices) -> tuple[Array, Array]:
        last = len(self.known) - 1
        back = np.where(before >= 0, t - self.times[np.clip(before, 0, last)], np.inf)
        on = np.where(after <= last, self.times[np.clip(after, 0, last)] - t, np.inf)
        return back, on

    def _means(self, t: Array, before: Indices, after: Indices) -> Array:
        """(m, k): a line from the value before to that after, and means of values nearby, less when far."""
        m = len(self.known)
        if not m:
            return np.zeros((len(t), 1 + len(_NEAR) + len(_WIDE)))
        back, on = self._distances(t, before, after)
        near = np.minimum(np.minimum(back, on), 1e9)
        with np.errstate(invalid="ignore"):
            share = np.where(np.isinf(back), 1.0, np.where(np.isinf(on), 0.0, back / (back + on)))
        first, last = self.values[np.clip(before, 0, m - 1)], self.values[np.clip(after, 0, m - 1)]
        means = [np.where(np.isinf(back) & np.isinf(on), 0.0, (1 - share) * first + share * last)]
        sums = np.concatenate([[0.0], np.cumsum(self.values)])
        left, right = np.clip(before + 1, 0, m), np.clip(after, 0, m)
        for width in (*_NEAR, *_WIDE):
            most = min(width, max(1, int(_LARGEST_SHARE * m)))
            lowest, highest = np.clip(left - most, 0, m), np.clip(right + most, 0, m)
            total = sums[left] - sums[lowest] + sums[highest] - sums[right]
            number = np.maximum(left - lowest + highest - right, 1)
            means.append(total / number * np.exp(-near / (2 * width + 1)))
        return np.stack(means, axis=1)

    def _fitted(self, means: Array, some: Indices) -> Array:
        """What the near means count: least squares, with some belief in zero."""
        Q = means[self.known[some], : 1 + len(_NEAR)]
        belief = (_FEW + _SHARE * len(Q)) * np.eye(Q.shape[1])
        return np.asarray(np.linalg.solve(Q.T @ Q + belief, Q.T @ self.values[some]))

    def _beside(self, near: Array, means: Array, wide: bool) -> Array:
        return np.column_stack([near, means[:, 1 + len(_NEAR) :]]) if wide else near[:, None]
