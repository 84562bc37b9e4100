"""Lag features: a prediction of each column from its own known values nearby in time.

A lag feature is an out-of-fold smoother of one column along time. As an additional column it lets the kernel
between rows use information from neighbouring times. Features of known and of missing entries must have the
same distribution. So for a known value the inputs of the smoother leave out its fold, the weights are fitted
on the other folds, and the gap around it is widened to that around a randomly drawn missing entry. (Centre
and scale of a column are computed from all its known values.)

Two fillers use lag features. `LaggedSweeper` sweeps with them as additional columns. `Interpolation` uses
the feature itself as the imputed value.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from manifill._arrays import Array, Indices, Table, frozen
from manifill._fillers.base import Fill, Run, filled_at_once
from manifill._fillers.sweep import Model, Sweeper, SweepFill
from manifill._problem import Problem
from manifill._scaling import Scaling

# Constants chosen on METR-LA and air quality; docs/benchmarks/sensors.md reports the errors with other masks.
# Widths of the running means that the smoother combines: known values on each side. A width is at most
# _MAX_SHARE of all known values, since the mean of all values but one reveals the one left out.
_WIDTHS = (1, 2, 4, 8, 16, 32)
_MAX_SHARE = 1 / 8
# Ridge penalty of the smoother: 5 + 0.01 n pseudo-observations of zero. Number of folds.
_PSEUDO_COUNT, _PSEUDO_SHARE, _FOLDS = 5.0, 0.01, 5


@dataclass(frozen=True, eq=False, repr=False)
class LagFill(Fill):
    """A fill, with the fill of columns and lag features (`inner`) that it was taken from."""

    inner: SweepFill | None = None


@dataclass(frozen=True, eq=False)
class LaggedSweeper:
    """Sweeps over a table with the lag features of its columns as additional columns."""

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
        """The sweep over columns and lag features, without shrinkage, which was estimated without them."""
        sweeper = self.sweeper.cold
        return replace(sweeper, ensemble=sweeper.ensemble.unshrunk)


@dataclass(frozen=True, eq=False)
class LagExtension:
    """Fills new rows by their lag features: with the model of a sweep, or directly if `model` is None.

    Rows without a time get the column means as lag features.
    """

    problem: Problem
    model: Model | None

    def complete(self, given: Table, moments: Array | None = None) -> Table:
        d = given.shape[1]
        context = np.zeros((len(given), d + 1))
        if moments is not None:
            timed = ~np.isnan(moments)
            lags = timeline_of(self.problem).at(moments[timed]) * self.problem.scaling.weight
            context[timed] = np.column_stack([lags, _standardised(moments[timed], self.problem.times)])
        if self.model is None:
            return self.problem.complete(given, context[:, :d])
        return self.model.complete(np.hstack([given, context]))[:, :d].astype(given.dtype)


@dataclass(frozen=True)
class Interpolation:
    """Fills every column with its lag feature, from no other column."""

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
    """The columns of a problem, in standard deviations, with the times of its rows."""
    return Timeline(np.where(problem.M, np.nan, problem.deviations), problem.times)


def _standardised(moments: Array, times: Array) -> Array:
    """Times of rows, standardised by mean and standard deviation of the fitted `times`."""
    first, last = times.min(), times.max()
    span = (last - first) or 1.0
    fitted = (times - first) / span
    return np.asarray(((moments - first) / span - fitted.mean()) / (float(fitted.std()) or 1.0))


def with_lags(problem: Problem) -> Problem:
    """The problem with the lag feature of every column, and the time, as context columns; all rows take part.

    A lag feature is in standard deviations of its column and has the weight of its column. It is not
    standardised itself, so the feature of a column that time does not predict stays small. The time is
    standardised and has weight 1.
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
    """A table (n, d), NaN where missing, and `moments` (n,), the times of its rows, in any order and unit."""

    X: Array
    moments: Array

    def features(self) -> Array:
        """Lag features (n, d), in standard deviations of the columns."""
        return np.column_stack([column.features() for column in self._columns])

    def expected(self) -> Array:
        """Lag features (n, d) in the units of the table, to be used as imputed values."""
        units = np.array([(column.center, column.scale) for column in self._columns]).T
        return np.asarray(self.features() * units[1] + units[0])

    def at(self, moments: Array) -> Array:
        """Lag features (m, d) of new rows at these times; known values of the same time are not used."""
        return np.column_stack([column.at(self._in_steps(moments)) for column in self._columns])

    @cached_property
    def _columns(self) -> list["_Column"]:
        t = self._in_steps(self.moments)
        return [_Column.of(values, t) for values in self.X.T]

    def _in_steps(self, moments: Array) -> Array:
        return np.asarray((moments - self.moments.min()) / self._step, dtype=np.float64)

    @cached_property
    def _step(self) -> float:
        """Median step between consecutive times."""
        steps = np.diff(np.unique(self.moments))
        return float(np.median(steps)) if len(steps) else 1.0


@dataclass(frozen=True, eq=False)
class _Column:
    """One column, its known values in order of time.

    Attributes
    ----------
    t : (n,), times of all rows, in median steps.
    known : (m,), rows where the column is known, in order of time.
    values : (m,), the known values, less `center`, divided by `scale`.
    center, scale : mean and standard deviation of the known values.
    """

    t: Array
    known: Indices
    values: Array
    center: float
    scale: float

    @classmethod
    def of(cls, x: Array, t: Array) -> "_Column":
        known = np.flatnonzero(~np.isnan(x))
        # Rows of equal times are sorted by value, so that the order of rows in the table does not matter.
        known = known[np.lexsort((x[known], t[known]))]
        seen = x[known].astype(np.float64)
        largest = float(np.abs(seen).max(initial=0.0)) or 1.0  # else squares of large numbers would overflow
        seen = seen / largest
        center = float(seen.mean()) if len(seen) else 0.0
        scale = (float(seen.std()) if len(seen) else 0.0) or 1.0
        return cls(t, known, (seen - center) / scale, center * largest, scale * largest)

    @cached_property
    def times(self) -> Array:
        """(m,), times of the known values."""
        return np.asarray(self.t[self.known])

    def features(self) -> Array:
        """(n,), the lag feature at the rows of the table; out of fold where the column is known."""
        means = self._out_of_fold_means()
        found: Array = means @ self._fitted(means, np.arange(len(self.known)))
        for fold in self._folds:
            rows, others = self.known[fold], np.delete(np.arange(len(self.known)), fold)
            found[rows] = means[rows] @ self._fitted(means, others)
        return found

    def at(self, t: Array) -> Array:
        """(m,), the lag feature at other times."""
        found: Array = self._means(t, *self._neighbours(t)) @ self._weights
        return found

    @cached_property
    def _weights(self) -> Array:
        return self._fitted(self._out_of_fold_means(), np.arange(len(self.known)))

    @cached_property
    def _folds(self) -> list[Indices]:
        """Random folds of the known values, as positions in `known`."""
        mixed = np.random.default_rng(1).permutation(len(self.known))
        return [np.sort(fold) for fold in np.array_split(mixed, _FOLDS) if len(fold) < len(mixed)]

    def _out_of_fold_means(self) -> Array:
        """(n, k), the smoother's inputs at the rows of the table.

        At a known value the values of its fold are left out, and the gap around it is at least as wide as
        that around a missing entry drawn at random.
        """
        before, after = self._neighbours(self.t)
        means = self._means(self.t, before, after)
        if not len(self.known):
            return means
        missing = np.delete(np.arange(len(self.t)), self.known)
        missing = missing[np.argsort(self.t[missing], kind="stable")]
        drawn = np.random.default_rng(0).choice(missing, len(self.known)) if len(missing) else self.known
        back, ahead = self._distances(self.t, before, after)
        for fold in self._folds:
            others = np.delete(np.arange(len(self.known)), fold)
            rest = replace(self, known=self.known[others], values=self.values[others])
            t = self.times[fold]
            before, after = rest._neighbours(t)
            earlier = np.searchsorted(rest.times, t - back[drawn[fold]], side="right") - 1
            later = np.searchsorted(rest.times, t + ahead[drawn[fold]])
            means[self.known[fold]] = rest._means(t, np.minimum(earlier, before), np.maximum(later, after))
        return means

    def _neighbours(self, t: Array) -> tuple[Indices, Indices]:
        """Positions in `known` of the last value before each time, and of the first after it."""
        before = np.searchsorted(self.times, t, side="left") - 1
        return before, np.searchsorted(self.times, t, side="right")

    def _distances(self, t: Array, before: Indices, after: Indices) -> tuple[Array, Array]:
        """Distances in time to the values at `before` and `after`; infinite where there is none."""
        last = len(self.known) - 1
        back = np.where(before >= 0, t - self.times[np.clip(before, 0, last)], np.inf)
        ahead = np.where(after <= last, self.times[np.clip(after, 0, last)] - t, np.inf)
        return back, ahead

    def _means(self, t: Array, before: Indices, after: Indices) -> Array:
        """Inputs of the smoother, (m, k).

        The first is linear interpolation between the values `before` and `after`. The others are the means of
        `width` known values on each side, times exp(−distance to the nearest of them / (2·width + 1)).
        """
        m = len(self.known)
        if not m:
            return np.zeros((len(t), 1 + len(_WIDTHS)))
        back, ahead = self._distances(t, before, after)
        nearest = np.minimum(np.minimum(back, ahead), 1e9)
        with np.errstate(invalid="ignore"):
            share = np.where(np.isinf(back), 1.0, np.where(np.isinf(ahead), 0.0, back / (back + ahead)))
        first, last = self.values[np.clip(before, 0, m - 1)], self.values[np.clip(after, 0, m - 1)]
        means = [np.where(np.isinf(back) & np.isinf(ahead), 0.0, (1 - share) * first + share * last)]
        sums = np.concatenate([[0.0], np.cumsum(self.values)])
        left, right = np.clip(before + 1, 0, m), np.clip(after, 0, m)
        for width in _WIDTHS:
            size = min(width, max(1, int(_MAX_SHARE * m)))
            lowest, highest = np.clip(left - size, 0, m), np.clip(right + size, 0, m)
            total = sums[left] - sums[lowest] + sums[highest] - sums[right]
            count = np.maximum(left - lowest + highest - right, 1)
            means.append(total / count * np.exp(-nearest / (2 * width + 1)))
        return np.stack(means, axis=1)

    def _fitted(self, means: Array, some: Indices) -> Array:
        """Weights of the smoother (k,), by ridge regression on the known values `some`."""
        Q = means[self.known[some]]
        penalty = (_PSEUDO_COUNT + _PSEUDO_SHARE * len(Q)) * np.eye(Q.shape[1])
        return np.asarray(np.linalg.solve(Q.T @ Q + penalty, Q.T @ self.values[some]))
