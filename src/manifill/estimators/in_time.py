"""The part of `TableImputer` that knows which rows are near in time."""

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone

from manifill.arrays import Array, Mask
from manifill.progress import say
from manifill.sweep import Status
from manifill.timeline import Timeline

# What a time column may count, and sweeps, rows and share of the time limit to tell by.
_NEXT_TO_NOTHING, _WEIGHTS = 0.01, (1.0, 5.0, 25.0, 125.0)
_SWEEPS, _ROWS, _SHARE = 6, 1000, 0.08
# Share of the known entries that is hidden, and how often gaps are moved for it at most; a column keeps some.
_HIDDEN, _MOST_COPIES, _FEWEST = 0.05, 50, 4
# Companions of a column: none, the near one, or the wide ones too, in tables that are not wide themselves.
_KINDS = (0, 1, 3)
WIDEST = 64
# The least that a companion counts.
_LEAST = 0.01


@dataclass(frozen=True, eq=False)
class InTime:
    """Numbers of a table (n, d), one of which is the time; with companions of the others beside them.

    Attributes
    ----------
    numbers : (n, d), NaN where missing; the time is complete.
    column : which of them is the time.
    companions : how many each of the others has: 0, 1 or 3.
    weight : what the time itself counts, in terms of another column.
    """

    numbers: Array
    column: int
    companions: int = 0
    weight: float = 1.0

    @cached_property
    def _timeline(self) -> Timeline:
        return Timeline(np.delete(self.numbers, self.column, axis=1), self.numbers[:, self.column])

    @property
    def n_more(self) -> int:
        """How many columns are beside the numbers."""
        return self.companions * int(self.numbers.shape[1] - 1)

    @cached_property
    def table(self) -> Array:
        """The numbers and their companions, to be filled."""
        if not self.companions:
            return self.numbers
        return np.hstack([self.numbers, self._timeline.companions(wide=self.companions > 1)])

    def beside(self, new: Array) -> Array:
        """Numbers of new rows, with what was known near them in time; where that is missing, nothing."""
        if not self.companions:
            return new
        moments = new[:, self.column]
        more = self._timeline.at(np.where(np.isnan(moments), 0.0, moments), wide=self.companions > 1)
        more[np.isnan(moments)] = 0.0
        return np.hstack([new, more])

    def fitting(self, imputer: Any) -> Any:
        """An imputer of the numbers as one of `table`."""
        weights = np.array(imputer.column_weights, dtype=np.float64)
        more = what_they_count(self.table[:, len(weights) :], np.delete(weights, self.column))
        weights[self.column] = self.weight
        return clone(imputer).set_params(
            column_weights=[*weights.tolist(), *more.tolist()],
            bounds=[*imputer.bounds, *[(-np.inf, np.inf)] * self.n_more],
            n_context=self.n_more,
        )


def what_they_count(companions: Array, weights: Array) -> Array:
    """(k d,), what companions (n, k d) of columns with these weights (d,) count when rows are compared.

    As much as they vary, in units of their column: one that expects little, since time tells nothing of its
    column, must not be blown up to the size of a column.
    """
    times = companions.shape[1] // len(weights)
    return np.asarray(np.tile(weights, times) * np.clip(companions.std(axis=0), _LEAST, 1.0))


def chosen(imputer: Any, numbers: Array, column: int) -> InTime:
    """How many companions, and then what the time counts: as hidden entries say, of some of the rows."""
    rng = np.random.default_rng(0)
    hidden = _hidden(numbers, numbers[:, column], imputer.groups or [], rng)
    rows = np.sort(rng.permutation(len(numbers))[:_ROWS])
    seen = np.where(hidden, np.nan, numbers)
    spread = np.nanstd(seen, axis=0)
    where = hidden[rows] & (spread > 0)

    def error(way: InTime) -> float:
        say(f"{way.companions} companions in time, which counts {way.weight:g} times another column")
        limit = None if imputer.time_limit is None else _SHARE * imputer.time_limit
        trial = way.fitting(imputer).set_params(
            max_sweeps=_SWEEPS, time_limit=limit, keep_empty_features=True
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a trial, not of the fit
            found = trial.fit(way.table[rows]).completed_[:, : numbers.shape[1]]
        if not where.any() or trial.status_ is Status.TIME_LIMIT:
            return np.inf
        return float(
            np.sqrt(np.mean((((found - numbers[rows]) / np.where(spread > 0, spread, 1))[where]) ** 2))
        )

    kinds = [kind for kind in _KINDS if kind < 3 or numbers.shape[1] <= WIDEST]
    plain = InTime(seen, column, weight=_NEXT_TO_NOTHING)
    ways = [replace(plain, companions=kind) for kind in kinds]
    errors = [error(way) for way in ways]
    best = ways[int(np.argmin(errors))]
    heavier = [replace(best, weight=weight) for weight in _WEIGHTS]
    errors = [min(errors), *map(error, heavier)]
    return replace([best, *heavier][int(np.argmin(errors))], numbers=numbers)


def _hidden(numbers: Array, moments: Array, groups: Any, rng: np.random.Generator) -> Mask:
    """Known entries (n, d) that are hidden like others are missing: their gaps, moved along the time."""
    n = len(numbers)
    order = np.argsort(moments, kind="stable")
    missing = np.isnan(numbers)[order]
    moved = np.zeros_like(missing)
    for _ in range(_MOST_COPIES):
        if (moved & ~missing).sum() >= _HIDDEN * (~missing[:, missing.any(axis=0)]).sum():
            break
        stretch = np.roll(np.arange(n) < max(1, n // 3), rng.integers(n))
        moved |= np.roll(missing, rng.integers(n), axis=0) & stretch[:, None]
    for group in groups:
        moved[:, group] = moved[:, group[:1]]
    hidden: Mask = np.zeros_like(missing)
    hidden[order] = moved & ~missing
    left = (~np.isnan(numbers) & ~hidden).sum(axis=0)
    hidden[:, left < _FEWEST] = False
    return hidden
