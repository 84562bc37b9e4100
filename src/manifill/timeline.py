"""What columns are at the moments before and after: companions, by which rows in order of time are compared.

A companion is what is expected of a column from its own known values nearby in time. Beside the columns
themselves it tells a kernel between rows, and the linear part of it, where in time a row is. Two things make
it honest: a known value has no part in its own companion, and the gap around it is made as wide as that
around a missing value, drawn at random. So known rows and rows to be filled have companions alike, however
long the gaps are.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from manifill.arrays import Array, Indices, Mask

# Known values on each side that means are taken of: all of them for the first companion, which weighs them;
# then one companion each.
_NEAR = (1, 2, 4, 8, 16, 32)
_WIDE = (8, 24)
# Examples that weights of zero count for, and as a share of those there are.
_FEW, _SHARE = 5.0, 0.01


@dataclass(frozen=True, eq=False)
class Timeline:
    """A table (n, d), NaN where missing, and the moment of each row (n,), in any order and unit."""

    X: Array
    moments: Array

    @cached_property
    def _order(self) -> Indices:
        return np.argsort(self.moments, kind="stable")

    @cached_property
    def _columns(self) -> list["_Column"]:
        return [_Column.of(values, self.moments[self._order]) for values in self.X[self._order].T]

    def companions(self, *, wide: bool = False) -> Array:
        """(n, d) in standard units; with those of wide means (n, 3 d)."""
        parts = np.stack([column.own(wide) for column in self._columns], axis=2)
        whole = np.empty_like(parts)
        whole[self._order] = parts
        return whole.reshape(len(whole), -1)

    def expected(self) -> Array:
        """(n, d), the first companions in the units of the table: a fill from nothing but time."""
        units = np.array([(column.center, column.spread) for column in self._columns]).T
        return np.asarray(self.companions() * units[1] + units[0])

    def at(self, moments: Array, *, wide: bool = False) -> Array:
        """Companions of other rows, at other moments; a row at the very same moment has no part in them."""
        parts = np.stack([column.at(moments, wide) for column in self._columns], axis=2)
        return parts.reshape(len(moments), -1)


@dataclass(frozen=True, eq=False)
class _Column:
    """The known values of a column in order of time, in standard units, and where they are known."""

    known: Mask
    moments: Array
    values: Array
    center: float = 0.0
    spread: float = 1.0

    @classmethod
    def of(cls, x: Array, moments: Array) -> "_Column":
        known: Mask = ~np.isnan(x)
        seen = x[known].astype(np.float64)
        if not len(seen):
            return cls(known, moments, seen)
        center, spread = float(seen.mean()), float(seen.std()) or 1.0
        return cls(known, moments, (seen - center) / spread, center, spread)

    @cached_property
    def times(self) -> Array:
        """Moments of the known values, in typical steps from one row to the next."""
        return self._in_steps(self.moments)[self.known]

    def _in_steps(self, moments: Array) -> Array:
        steps = np.diff(np.unique(self.moments))
        typical = float(np.median(steps)) if len(steps) else 1.0
        return np.asarray((moments - self.moments[0]) / typical, dtype=np.float64)

    def own(self, wide: bool) -> Array:
        """(n, 1 or 3), where the table has its rows."""
        means = self._own_means()
        return self._companions(means, self._fitted(means), wide)

    def at(self, moments: Array, wide: bool) -> Array:
        """(m, 1 or 3), at other moments."""
        t = self._in_steps(moments)
        before = np.searchsorted(self.times, t, side="left") - 1
        after = np.searchsorted(self.times, t, side="right")
        return self._companions(self._means(t, before, after), self._weights, wide)

    def _own_means(self) -> Array:
        return self._means(self._in_steps(self.moments), *self._gaps())

    def _gaps(self) -> tuple[Indices, Indices]:
        """The last known value before each row and the first after it, as far as around a missing one."""
        n, m = len(self.known), len(self.values)
        where, missing = np.flatnonzero(self.known), np.flatnonzero(~self.known)
        before = np.searchsorted(where, np.arange(n)) - 1
        after = np.searchsorted(where, np.arange(n), side="right")
        if len(missing) and m:
            like = np.random.default_rng(0).choice(missing, m)
            back, on = self._distances(self._in_steps(self.moments), before, after)
            before[where] = np.minimum(
                np.searchsorted(self.times, self.times - back[like], side="right") - 1, np.arange(m) - 1
            )
            after[where] = np.maximum(np.searchsorted(self.times, self.times + on[like]), np.arange(m) + 1)
        return before, after

    def _distances(self, t: Array, before: Indices, after: Indices) -> tuple[Array, Array]:
        m = len(self.values)
        back = np.where(before >= 0, t - self.times[np.clip(before, 0, m - 1)], np.inf)
        on = np.where(after < m, self.times[np.clip(after, 0, m - 1)] - t, np.inf)
        return back, on

    def _means(self, t: Array, before: Indices, after: Indices) -> Array:
        """(m, k): a line from the value before to that after, and means of values nearby, less when far."""
        m = len(self.values)
        if not m:
            return np.zeros((len(t), 1 + len(_NEAR) + len(_WIDE)))
        back, on = self._distances(t, before, after)
        near = np.minimum(np.minimum(back, on), 1e9)
        with np.errstate(invalid="ignore"):
            share = np.where(np.isinf(back), 1.0, np.where(np.isinf(on), 0.0, back / (back + on)))
        share = np.where(np.isnan(share), 0.5, share)  # several rows of one moment
        first, last = self.values[np.clip(before, 0, m - 1)], self.values[np.clip(after, 0, m - 1)]
        means = [np.where(np.isinf(back) & np.isinf(on), 0.0, (1 - share) * first + share * last)]
        sums = np.concatenate([[0.0], np.cumsum(self.values)])
        left, right = np.clip(before + 1, 0, m), np.clip(after, 0, m)
        for width in (*_NEAR, *_WIDE):
            lowest, highest = np.clip(left - width, 0, m), np.clip(right + width, 0, m)
            total = sums[left] - sums[lowest] + sums[highest] - sums[right]
            number = np.maximum(left - lowest + highest - right, 1)
            means.append(total / number * np.exp(-near / (2 * width + 1)))
        return np.stack(means, axis=1)

    @cached_property
    def _weights(self) -> Array:
        return self._fitted(self._own_means())

    def _fitted(self, means: Array) -> Array:
        """What the near means count: least squares, with some belief in zero."""
        Q = means[self.known, : 1 + len(_NEAR)]
        belief = (_FEW + _SHARE * len(Q)) * np.eye(Q.shape[1])
        return np.asarray(np.linalg.solve(Q.T @ Q + belief, Q.T @ self.values))

    def _companions(self, means: Array, weights: Array, wide: bool) -> Array:
        near = means[:, : len(weights)] @ weights
        return np.column_stack([near, means[:, len(weights) :]]) if wide else near[:, None]
