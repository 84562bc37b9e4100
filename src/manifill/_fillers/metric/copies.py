"""Predictors of known entries that were imputed without these entries.

A regression learns from the rows in which its target is known. Other entries of such a row may be missing and
imputed. If they were imputed with the help of the target, they tell more about it than they can where the
target is missing; the fit would rely on them too much, and its errors would look too small.

So the columns are divided into folds, and for every fold there is a copy of the rows in which its columns
count as missing. The imputed values of a copy know nothing of the columns of its fold. They are the
predictors for these columns.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from manifill._arrays import Array, Indices, Mask
from manifill._fillers.metric.preset import Member, Preset
from manifill._fillers.metric.regression import Fitted, fit
from manifill._fillers.metric.rows import Rows
from manifill._fillers.sweep import LinearStart
from manifill._fillers.sweep.start import Normal, conditional_mean
from manifill._ordering import Groups
from manifill._parts import Part, parts_of
from manifill._problem import Problem

# Known rows that a column needs to be fitted; other columns get their mean. Set by hand, not tuned.
_MIN_ROWS = 3
# Folds of the rows: the linear start of a copy is estimated from rows of other folds. Set by hand, not tuned.
_ROW_FOLDS = 5


@dataclass(frozen=True, eq=False)
class Copies:
    """A completed table, and the copies of its rows that regressions learn from.

    Attributes
    ----------
    Z : (n, d), the completed table, in standardised units.
    rows : (t,), rows that regressions are fitted to.
    completed : (t, d), these rows of the completed table before the sweep.
    hidden : (B, t, d), copies of these rows; in copy b all columns of fold b are imputed.
    fold : (d,), the fold of each column; −1 for columns that are in no group that is fitted.
    """

    Z: Array
    rows: Indices
    completed: Array
    hidden: Array
    fold: Indices

    def predictors(self, problem: Problem, fold: int) -> Array:
        """(t, d), the copy of a fold, with all known values."""
        return np.where(problem.M[self.rows], self.hidden[fold], problem.Z[self.rows])

    def errors(self, problem: Problem) -> Array:
        """(d,), root mean square error of the copies in which the known entries of a column are imputed."""
        squares, count = self._squares(problem)
        return np.where(count > 0, np.sqrt(squares / np.maximum(count, 1)), problem.scaling.weight)

    def _squares(self, problem: Problem) -> tuple[Array, Array]:
        """(d,) each: sum of squared errors of known entries in the copies without them, and their number."""
        squares, count = np.zeros(problem.shape[1]), np.zeros(problem.shape[1])
        for column in np.flatnonzero(self.fold >= 0):
            known = ~problem.M[self.rows, column]
            wrong = (self.hidden[self.fold[column], :, column] - problem.Z[self.rows, column])[known]
            squares[column], count[column] = np.sum(wrong**2), wrong.size
        return squares, count


def linear_copies(
    problem: Problem, groups: Groups, n_folds: int, n_rows: int, rng: np.random.Generator
) -> Copies:
    """Copies filled by the conditional means of normal distributions."""
    n, d = problem.shape
    rows = np.arange(n) if n <= n_rows else np.sort(rng.permutation(n)[:n_rows])
    row_fold = np.arange(n) % min(_ROW_FOLDS, n)
    parts = parts_of(problem)
    start = LinearStart()
    normals = [start.distributions(one.problem, np.random.default_rng(0), row_fold) for one in parts]
    fold = _all_folds(problem, groups, n_folds, _related(problem, parts, [one[0] for one in normals]), rng)
    hidden = np.empty((number_of_copies(problem, fold), len(rows), d))
    Z = np.empty((n, d))
    for part, (normal, without) in zip(parts, normals, strict=True):
        Z[:, part.targets] = _of_targets(part, problem.Z, problem.M, normal)
        for number, distribution in enumerate(without):
            own = np.flatnonzero(row_fold[rows] == number)
            for b in range(len(hidden)):
                M = problem.M[rows[own]] | (fold == b)
                found = _of_targets(part, problem.Z[rows[own]], M, distribution)
                hidden[b, own[:, None], part.targets] = found
    Z = np.where(problem.M, Z, problem.Z)
    return Copies(Z, rows, Z[rows], hidden, fold)


def fit_on_copy(
    problem: Problem,
    copies: Copies,
    group: Sequence[int],
    weights: Array,
    errors: Array,
    members: Sequence[Member],
    preset: Preset,
    centres: int,
    slopes: bool = False,
) -> Fitted | None:
    """The regression of a group on its copy, in the rows in which it is known; None if it gets its mean."""
    M = problem.M[copies.rows]
    known = np.flatnonzero(~M[:, group[0]])
    if len(known) < _MIN_ROWS or not weights.any():
        return None
    predictors = Rows(copies.predictors(problem, int(copies.fold[group[0]]))[known], M[known])
    completed = Rows(copies.completed[known], M[known])
    f = problem.Z[copies.rows[known]][:, list(group)]
    variables = _variables(problem)
    return fit(predictors, f, weights, errors, members, preset, centres, variables, completed, slopes)


def _variables(problem: Problem) -> Indices:
    """(d,), number of the group of each column."""
    variables = np.empty(problem.shape[1], dtype=np.intp)
    for number, group in enumerate(problem.groups):
        variables[list(group)] = number
    return variables


def _related(problem: Problem, parts: Sequence[Part], normals: Sequence[Normal]) -> Array:
    """(d, d), covariances of the columns that decide for all; without any, 1 if one may help another."""
    predictors = problem.predictors
    deciding = np.flatnonzero(predictors.deciding)
    related = np.eye(problem.shape[1])
    if predictors.allowed is not None and not deciding.size:
        return np.asarray(predictors.allowed | predictors.allowed.T, dtype=np.float64)
    for part, (_, precision) in zip(parts, normals, strict=True):
        if np.array_equal(part.used, deciding):
            related[np.ix_(deciding, deciding)] = np.linalg.inv(precision)
    return related


def number_of_copies(problem: Problem, fold: Indices) -> int:
    """Copies for the folds (d,): one more, used or not, if some columns help to fill no other one.

    So the number does not depend on the values of these columns.
    """
    helping = problem.predictors.helping
    return max(1, int(fold.max(initial=-1, where=helping)) + 1 + (not helping.all()))


def _all_folds(
    problem: Problem, groups: Groups, n_folds: int, covariance: Array, rng: np.random.Generator
) -> Indices:
    """(d,), the fold of each column; columns that help to fill no other need none of each other: one fold."""
    helping = problem.predictors.helping
    some = tuple(group for group in groups if helping[group[0]])
    fold = _folds(covariance, some, max(1, min(n_folds, len(some))), rng)
    last = fold.max() + 1
    for group in groups:
        if not helping[group[0]]:
            fold[list(group)] = last
    return fold


def _folds(covariance: Array, groups: Groups, n_folds: int, rng: np.random.Generator) -> Indices:
    """(d,), the fold of each column, of equal size; columns that tell much about each other are kept apart.

    Known values of a fold are not used in its copy, so columns of one fold should not need each other.
    """
    deviation = np.sqrt(np.diag(covariance))
    related = np.abs(covariance / np.maximum(np.outer(deviation, deviation), 1e-300))
    fold = np.full(len(covariance), -1, dtype=np.intp)
    most = -(-len(groups) // n_folds)
    sizes = np.zeros(n_folds, dtype=np.intp)
    for group in (groups[position] for position in rng.permutation(len(groups))):
        strongest = [related[np.ix_(group, fold == b)].max(initial=0.0) for b in range(n_folds)]
        free = np.flatnonzero(sizes < most)
        chosen = free[np.lexsort((sizes[free], np.array(strongest)[free]))[0]]
        fold[list(group)] = chosen
        sizes[chosen] += 1
    return fold


def linear_start(problem: Problem, Z: Array, M: Mask) -> Array:
    """Rows Z (m, d), filled where M is True by the conditional means that a fit starts from."""
    filled = Z.copy()
    for part in parts_of(problem):
        normal = LinearStart().distribution(part.problem, np.random.default_rng(0))
        # The number of rows changes rounding errors, so it must not depend on other columns.
        rows = np.flatnonzero(M[:, part.used].any(axis=1))
        filled[np.ix_(rows, part.targets)] = _of_targets(part, Z[rows], M[rows], normal)
    return filled


def _of_targets(part: Part, Z: Array, M: Mask, normal: Normal) -> Array:
    """The targets of a part in rows Z (m, d) of the whole problem, filled by conditional means."""
    known, missing = np.take(Z, part.used, axis=1), np.take(M, part.used, axis=1)
    found = conditional_mean(known, missing, normal) * (part.problem.scaling.std > 0)
    return limited(part.problem, found)[:, part.own]


def limited(problem: Problem, Z: Array, columns: Indices | slice = slice(None)) -> Array:
    """Z (…, columns) within the bounds of these columns; default all."""
    clipped: Array = np.clip(Z, *problem.standard_bounds[:, columns])
    return clipped
