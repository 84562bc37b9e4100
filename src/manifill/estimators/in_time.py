"""The part of `TableImputer` that knows which rows are near in time."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone

from manifill.arrays import Array
from manifill.progress import say
from manifill.timeline import Timeline

# What a time column may count, and sweeps, rows and share of the time limit to tell by.
_NEXT_TO_NOTHING, _WEIGHTS = 0.01, (1.0, 5.0, 25.0, 125.0)
_SWEEPS, _ROWS, _SHARE = 6, 1000, 0.08
# Companions of a column: none, the near one, or the wide ones too, in tables that are not wide themselves.
_KINDS = (0, 1, 3)
WIDEST = 64


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
        weights = [*imputer.column_weights, *[1.0] * self.n_more]
        weights[self.column] = self.weight
        bounds = [*imputer.bounds, *[(-np.inf, np.inf)] * self.n_more]
        return clone(imputer).set_params(column_weights=weights, bounds=bounds, n_context=self.n_more)


def chosen(imputer: Any, numbers: Array, column: int) -> InTime:
    """How many companions, and then what the time counts: as hidden entries say, of some of the rows."""
    rows = np.sort(np.random.default_rng(0).permutation(len(numbers))[:_ROWS])
    gaps = np.append(np.isnan(numbers).any(axis=0), np.zeros(3 * numbers.shape[1], dtype=np.bool_))

    def error(way: InTime) -> float:
        say(f"{way.companions} companions in time, which counts {way.weight:g} times another column")
        trial = way.fitting(imputer)
        limit = None if imputer.time_limit is None else _SHARE * imputer.time_limit
        trial.set_params(max_sweeps=_SWEEPS, time_limit=limit).fit(way.table[rows])
        evidence = None if trial.tuning_ is None else trial.tuning_.evidence
        if evidence is None or not len(evidence.truth):
            return np.inf
        # Of columns with gaps only: the time itself is hidden too, and nothing foretells it.
        own = gaps[evidence.columns] if gaps[evidence.columns].any() else slice(None)
        return float(np.sqrt(np.mean((evidence.found[own] - evidence.truth[own]) ** 2)))

    kinds = [kind for kind in _KINDS if kind < 3 or numbers.shape[1] <= WIDEST]
    plain = InTime(numbers, column, weight=_NEXT_TO_NOTHING)
    ways = [replace(plain, companions=kind) for kind in kinds]
    errors = [error(way) for way in ways]
    best = ways[int(np.argmin(errors))]
    heavier = [replace(best, weight=weight) for weight in _WEIGHTS]
    errors = [min(errors), *map(error, heavier)]
    return [best, *heavier][int(np.argmin(errors))]
