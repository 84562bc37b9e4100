"""Predictors of known entries that were imputed without these entries.

A regression learns from the rows in which its target is known. Other entries of such a row may be missing and
imputed. If they were imputed with the help of the target, they tell more about it than they can where the
target is missing; the fit would rely on them too much, and its errors would look too small.

So the columns are divided into folds, and for every fold there is a copy of the rows in which its columns
count as missing. The imputed values of a copy know nothing of the columns of its fold. They are the
predictors for these columns.
"""

from dataclasses import dataclass, replace

import numpy as np

from manifill._arrays import Array, Indices, Mask
from manifill._fillers.sweep import LinearStart
from manifill._fillers.sweep.start import Normal, conditional_mean
from manifill._ordering import Groups
from manifill._problem import Problem

# Folds of the rows: the linear start of a copy is estimated from rows of other folds. Set by hand, not tuned.
_ROW_FOLDS = 5


@dataclass(frozen=True, eq=False)
class Copies:
    """A completed table, and the copies of its rows that regressions learn from.

    Attributes
    ----------
    Z : (n, d), the completed table, in standardised units.
    rows : (t,), rows that regressions are fitted to.
    hidden : (B, t, d), copies of these rows; in copy b all columns of fold b are imputed.
    fold : (d,), the fold of each column; −1 for columns that are in no group that is fitted.
    """

    Z: Array
    rows: Indices
    hidden: Array
    fold: Indices

    def predictors(self, problem: Problem, fold: int) -> Array:
        """(t, d), the copy of a fold, with all known values."""
        return np.where(problem.M[self.rows], self.hidden[fold], problem.Z[self.rows])

    def with_values(self, Z: Array, hidden: Array) -> "Copies":
        """The same with other imputed values."""
        return replace(self, Z=Z, hidden=hidden)


def linear_copies(
    problem: Problem, groups: Groups, n_folds: int, n_rows: int, rng: np.random.Generator
) -> Copies:
    """Copies filled by the conditional means of a normal distribution."""
    n, d = problem.shape
    fold = np.full(d, -1, dtype=np.intp)
    n_folds = max(1, min(n_folds if n <= n_rows else n_folds // 2, len(groups)))
    for position, group in zip(rng.permutation(len(groups)), groups, strict=True):
        fold[list(group)] = position % n_folds
    rows = np.arange(n) if n <= n_rows else np.sort(rng.permutation(n)[:n_rows])
    row_fold = np.arange(n) % min(_ROW_FOLDS, n)
    normal, without = LinearStart().distributions(problem, np.random.default_rng(0), row_fold)
    hidden = np.empty((n_folds, len(rows), d))
    for number, distribution in enumerate(without):
        own = np.flatnonzero(row_fold[rows] == number)
        for b in range(n_folds):
            M = problem.M[rows[own]] | (fold == b)
            hidden[b, own] = _conditional(problem, problem.Z[rows[own]], M, distribution)
    Z = _conditional(problem, problem.Z, problem.M, normal)
    return Copies(np.where(problem.M, Z, problem.Z), rows, hidden, fold)


def linear_start(problem: Problem, Z: Array, M: Mask) -> Array:
    """Rows Z (m, d), filled where M is True by the conditional means that a fit starts from."""
    normal = LinearStart().distribution(problem, np.random.default_rng(0))
    return _conditional(problem, Z, M, normal)


def _conditional(problem: Problem, Z: Array, M: Mask, normal: Normal) -> Array:
    return limited(problem, conditional_mean(Z, M, normal) * (problem.scaling.std > 0))


def limited(problem: Problem, Z: Array) -> Array:
    """Z (…, d) within the bounds of the columns."""
    clipped: Array = np.clip(Z, *problem.standard_bounds)
    return clipped
