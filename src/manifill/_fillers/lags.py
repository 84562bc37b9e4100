"""Lag features: what each column is expected to be from its own known values nearby in time.

A lag feature is an out-of-fold smoother of one column along time. Beside the columns themselves it tells a
kernel between rows, and its linear part, where in time a row is. Features of known and of missing entries
are made alike: the weights of the smoother are learned from other folds, a known value's own fold takes no
part in its feature, and the gap around it is made as wide as that around a missing value, drawn at random.
(Centre and scale of the column are of all its known values.)

Two fillers use them: `LaggedSweeper` sweeps with lag features as additional columns, `Interpolation` takes
the feature itself for the fill.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from manifill._arrays import Array, Indices, Table, frozen
from manifill._fillers.base import Fill, Run, filled_at_once
from manifill._fillers.sweep import Model, Sweeper, SweepFill
from manifill._problem import Problem, Scaling

# Known values on each side that means are taken of, which the smoother weighs. But no more than a share of
# all known values: a mean of all others would tell the one that is left out.
_NEAR = (1, 2, 4, 8, 16, 32)
_LARGEST_SHARE = 1 / 8
# Ridge penalty of the smoother: 5 + 0.01 n pseudo-observations of zero; and number of folds.
_PSEUDO_COUNT, _PSEUDO_SHARE, _FOLDS = 5.0, 0.01, 5


@dataclass(frozen=True, eq=False, repr=False)
class LagFill(Fill):
    """A fill, and the sweep over the columns and their lag features that gave it."""

    inner: SweepFill | None = None


@dataclass(frozen=True, eq=False)
class LaggedSweeper:
    """Sweeps over a table whose rows are also compared by the lag features of its columns."""

    sweeper: Sweeper
    name = "sweep with lag features"
    after = None
    extends = needs_moments = True

    def steps(
        self, problem: Problem, rng: np.random.Generator, run: Run, start: Fill | None
    ) -> Iterator[LagFill]:
        d = problem.shape[1]
        for fill in self._inner.steps(with_lags(problem), rng, run, None):
            yield LagFill(problem, fill.Z[:, :d], fill.trace, fill.status, self.name, fill)

    def extension(self, fill: LagFill, run: Run) -> "LagExtension | None":
        if fill.inner is None or fill.problem.moments is None:
            return None
        return LagExtension(fill.problem, self._inner.extension(fill.inner, run))

    @property
    def _inner(self) -> Sweeper:
        """The sweep over columns and lag features; shrinkage was found without these, so there is none."""
        sweeper = self.sweeper.cold
        return replace(sweeper, ensemble=sweeper.ensemble.unshrunk)


@dataclass(frozen=True, eq=False)
class LagExtension:
    """New rows with what was known near them in time, by a sweep or, where that is None, by that alone.

    Rows without a moment get the column means for it.
    """

    problem: Problem
    model: Model | None

    def complete(self, given: Table, moments: Array | None = None) -> Table:
        d = given.shape[1]
        context = np.zeros((len(given), d + 1))
        if moments is not None:
            there = ~np.isnan(moments)
            lags = timeline_of(self.problem).at(moments[there]) * self.problem.scaling.weight
            context[there] = np.column_stack([lags, _standardised(moments[there], self.problem.times)])
        if self.model is None:
            return self.problem.complete(given, context[:, :d])
        return self.model.complete(np.hstack([given, context]))[:, :d].astype(given.dtype)


@dataclass(frozen=True)
class Interpolation:
    """Every column from its own known values nearby in time, and nothing else."""

    name = "interpolation"
    after = None
    extends = needs_moments = True

    def steps(
        self, problem: Problem, rng: np.random.Generator, run: Run, start: Fill | None
    ) -> Iterator[Fill]:
        began = time.monotonic()
        Z = timeline_of(problem).expected() * problem.scaling.weight
        yield filled_at_once(problem, Z, self.name, began)

    def extension(self, fill: Fill, run: Run) -> LagExtension:
        return LagExtension(fill.problem, None)


def timeline_of(problem: Problem) -> "Timeline":
    """The columns of a problem in order of time, in standard deviations."""
    return Timeline(np.where(problem.M, np.nan, problem.deviations), problem.times)


def _standardised(moments: Array, times: Array) -> Array:
    """Moments in standard deviations of the times fitted, which may be of any size."""
    first, last = times.min(), times.max()
    span = (last - first) or 1.0
    fitted = (times - first) / span
    return np.asarray(((moments - first) / span - fitted.mean()) / (float(fitted.std()) or 1.0))


def with_lags(problem: Problem) -> Problem:
    """The problem with the lag feature of every column, and the time, as context. All rows then take part.

    A lag feature is in standard deviations of its column, and counts what the column counts: one that expects
    little, since time tells nothing of its column, is not blown up to the size of a column. The time counts
    what a column counts.
    """
    scaling, (n, d), times = problem.scaling, problem.shape, problem.times
    context = np.column_stack([timeline_of(problem).features() * scaling.weight, _standardised(times, times)])
    ones = np.ones(d + 1)
    return replace(
        problem,
        given=frozen(np.hstack([problem.given[problem.rows], context.astype(problem.given.dtype)])),
        rows=np.arange(n),
        scaling=Scaling(
            frozen(np.append(scaling.magnitude, ones)),
            frozen(np.append(scaling.center, 0 * ones)),
            frozen(np.append(scaling.std, ones)),
            frozen(np.append(scaling.weight, ones)),
        ),
        Z=frozen(np.hstack([problem.Z, context])),
        M=frozen(np.hstack([problem.M, np.zeros(context.shape, dtype=np.bool_)])),
        bounds=frozen(np.hstack([problem.bounds, np.repeat([[-np.inf], [np.inf]], d + 1, axis=1)])),
        groups=problem.groups + tuple((j,) for j in range(d, 2 * d + 1)),
        n_context=d + 1,
        layout=None,
        moments=None,
    )


@dataclass(frozen=True, eq=False)
class Timeline:
    """A table (n, d), NaN where missing, and the moment of each row (n,), in any order and unit."""

    X: Array
    moments: Array

    def features(self) -> Array:
        """(n, d) in standard units of the columns."""
        return np.column_stack([column.own() for column in self._columns])

    def expected(self) -> Array:
        """(n, d), the first features in the units of the table: a fill from nothing but time."""
        units = np.array([(column.center, column.spread) for column in self._columns]).T
        return np.asarray(self.features() * units[1] + units[0])

    def at(self, moments: Array) -> Array:
        """Features of other rows, at other moments; rows of the very same moment take no part in them."""
        return np.column_stack([column.at(self._in_steps(moments)) for column in self._columns])

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

    def own(self) -> Array:
        """(n,), where the table has its rows."""
        means = self._own_means()
        found: Array = means @ self._fitted(means, np.arange(len(self.known)))
        for fold in self._folds:
            rows, others = self.known[fold], np.delete(np.arange(len(self.known)), fold)
            found[rows] = means[rows] @ self._fitted(means, others)
        return found

    def at(self, t: Array) -> Array:
        """(m,), at other moments."""
        found: Array = self._means(t, *self._around(t)) @ self._weights
        return found

    @cached_property
    def _weights(self) -> Array:
        return self._fitted(self._own_means(), np.arange(len(self.known)))

    @cached_property
    def _folds(self) -> list[Indices]:
        """Known values in folds that take no part in the features of their own fold."""
        mixed = np.random.default_rng(1).permutation(len(self.known))
        return [np.sort(fold) for fold in np.array_split(mixed, _FOLDS) if len(fold) < len(mixed)]

    def _own_means(self) -> Array:
        """Means at the rows of the table: of known values without their fold, in gaps as of missing ones."""
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
            return np.zeros((len(t), 1 + len(_NEAR)))
        back, on = self._distances(t, before, after)
        near = np.minimum(np.minimum(back, on), 1e9)
        with np.errstate(invalid="ignore"):
            share = np.where(np.isinf(back), 1.0, np.where(np.isinf(on), 0.0, back / (back + on)))
        first, last = self.values[np.clip(before, 0, m - 1)], self.values[np.clip(after, 0, m - 1)]
        means = [np.where(np.isinf(back) & np.isinf(on), 0.0, (1 - share) * first + share * last)]
        sums = np.concatenate([[0.0], np.cumsum(self.values)])
        left, right = np.clip(before + 1, 0, m), np.clip(after, 0, m)
        for width in _NEAR:
            most = min(width, max(1, int(_LARGEST_SHARE * m)))
            lowest, highest = np.clip(left - most, 0, m), np.clip(right + most, 0, m)
            total = sums[left] - sums[lowest] + sums[highest] - sums[right]
            number = np.maximum(left - lowest + highest - right, 1)
            means.append(total / number * np.exp(-near / (2 * width + 1)))
        return np.stack(means, axis=1)

    def _fitted(self, means: Array, some: Indices) -> Array:
        """Weights of the near means, by ridge regression."""
        Q = means[self.known[some]]
        penalty = (_PSEUDO_COUNT + _PSEUDO_SHARE * len(Q)) * np.eye(Q.shape[1])
        return np.asarray(np.linalg.solve(Q.T @ Q + penalty, Q.T @ self.values[some]))
