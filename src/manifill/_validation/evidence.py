"""Results on held-out entries: the accuracy of every column, and the shrinkage of its fill."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from manifill._arrays import Array, Indices, Mask
from manifill._messages import MEASURED, text_table
from manifill._problem import Problem
from manifill._validation.holdout import HeldOut

# The constants below were set by hand while looking at the sixteen tables of docs/benchmarks/accuracy.md,
# which also has a check on other masks.
# Pseudo-counts of held-out entries: for shrinkage 1 in a column; for the table's relative squared error in a
# column; and for a relative squared error of 1/2 in the table.
_PRIOR_SHRINKAGE, _PRIOR_ERROR, _PRIOR_OVERALL = 30.0, 5.0, 5.0
# Significance threshold, in standard errors of the gain over the column means. The gain of the table must
# exceed it, or that of the column must exceed twice as much. A column whose loss exceeds it gets its mean.
_STANDARD_ERRORS = 1.7
# Entries of the table's relative error that supplement the held-out ones of a column in its accuracy. On six
# development tables (500 rows, 30 % MCAR, seeds 100 to 102) the standard deviation of log(claimed / true)
# over the columns is .32 with 1 entry and .33 with 5, which claim too much for well filled columns.
# Almost without them, the lowest claim is a tenth of the true error: no rare large value was held out.
_PRIOR_ENTRIES = 1.0
_TINY, _HUGE = float(np.finfo(float).tiny), float(np.finfo(float).max)
# A column gets its mean if the filler is expected to lower the squared error by less than this share.
_MIN_IMPROVEMENT = 0.02


@dataclass(frozen=True)
class ColumnAccuracy:
    """Expected accuracy of the imputed values of a column, measured on known values that were held out.

    If values are missing because of their own size, errors are larger.

    Attributes
    ----------
    column : its name or number.
    error : expected root mean square error, in the column's units; NaN if no entry could be held out.
    mean_error : the same for a fill by the column mean.
    held_out : number of held-out entries.
    shrinkage : factor on the filler's distance from the column mean; 0 is a fill by the column mean.
    """

    column: Any
    error: float
    mean_error: float
    held_out: int
    shrinkage: float

    @property
    def relative(self) -> float:
        """The ratio error / mean_error: 0 is perfect, 1 is no better than the column mean."""
        return self.error / self.mean_error if self.mean_error > 0 else math.nan


class Accuracy(tuple[ColumnAccuracy, ...]):
    """A `ColumnAccuracy` for every column; `pandas.DataFrame(accuracy)` makes a table of it."""

    def __str__(self) -> str:
        rows = [
            (
                *(
                    one.column,
                    f"{one.error:.4g}",
                    f"{one.mean_error:.4g}",
                    f"{one.relative:.2f}",
                    one.held_out,
                ),
                "" if one.shrinkage > 0 else "filled by the mean",
            )
            for one in self
        ]
        header = ("column", "typical error", "of mean", "ratio", "held out", "")
        return f"{text_table(header, rows, left=(0, 5))}\n{MEASURED}"

    def named(self, labels: list[Any]) -> "Accuracy":
        """The same with these column names."""
        return Accuracy(
            ColumnAccuracy(label, one.error, one.mean_error, one.held_out, one.shrinkage)
            for label, one in zip(labels, self, strict=True)
        )


@dataclass(frozen=True, eq=False)
class Evidence:
    """Held-out entries (h,) and their imputed values, in standard deviations of the columns.

    Accuracy, intervals and the residuals of draws are all computed from it.

    Attributes
    ----------
    rows, columns : (h,), positions in `Problem.Z`.
    found, truth : (h,), imputed values, after shrinkage, and true values.
    weight : (h,), weights that make the held-out entries representative of the missing ones.
    place : (h,), distance bins: classes of distance to the nearest known entries.
    sets : (h,), the number of the set: entries of one set were held out together.
    shrinkage : (d,), factors on the filler's distance from the column means.
    share : share of the observed entries that was held out.
    """

    rows: Indices
    columns: Indices
    found: Array
    truth: Array
    weight: Array
    place: Indices
    sets: Indices
    shrinkage: Array
    share: float = 0.0

    @classmethod
    def of(cls, sets: Sequence[HeldOut], found: Array, shrinkage: Array, share: float = 0.0) -> "Evidence":
        """Concatenate sets of held-out entries; `found` (h,) are the imputed values, after shrinkage."""
        names = ("rows", "columns", "truth", "weight", "place")
        rows, columns, truth, weight, place = (
            np.concatenate([getattr(one, name) for one in sets]) for name in names
        )
        numbers = np.repeat(np.arange(len(sets)), [len(one.truth) for one in sets])
        return cls(rows, columns, found, truth, weight, place, numbers, shrinkage, share)

    @classmethod
    def left_out(
        cls, problem: Problem, rows: Indices, values: Array, odds: Array, shrinkage: Array, columns: Mask
    ) -> "Evidence":
        """Every known entry of some rows and columns, each held out alone.

        Entries that are the only ones of their row are left out: a row in which nothing else is known is not
        filled.

        Parameters
        ----------
        rows : (t,), the rows.
        values : (t, d), values of the known entries without them, in standardised units, after shrinkage.
        odds : (n, d), weights of the entries.
        columns : (d,), True for the columns.
        """
        rows_of, columns_of = np.nonzero(has_others(problem)[rows] & columns)
        scale = problem.scaling.weight[columns_of]
        at = rows[rows_of], columns_of
        # Entries of one column are a set: no other entry of their row is held out with them.
        group = {column: number for number, one in enumerate(problem.groups) for column in one}
        sets = np.array([group[column] for column in range(problem.shape[1])], dtype=np.intp)[columns_of]
        place = np.zeros(len(rows_of), dtype=np.intp)
        found = values[rows_of, columns_of] / scale
        return cls(*at, found, problem.Z[at] / scale, odds[at], place, sets, shrinkage)

    @classmethod
    def none(cls, d: int) -> "Evidence":
        """Evidence without entries, for a table in which none could be held out."""
        where, values = np.zeros(0, dtype=np.intp), np.zeros(0)
        return cls(where, where, values, values, values, where, where, np.ones(d))

    @property
    def errors(self) -> Array:
        """(h,), true minus imputed values."""
        return self.truth - self.found

    def sums(self) -> tuple[Array, Array, Array, Array]:
        """(d,) each: Σ w e², Σ w t², the number of entries, and Σ (w e²)² / Σ w e²; see `accuracy`."""
        d, w = len(self.shrinkage), self.weight
        squares = w * self.errors**2
        terms = (squares, w * self.truth**2, np.ones(len(w)), squares**2)
        residual, total, number, squared = (np.bincount(self.columns, one, d).astype(float) for one in terms)
        return residual, total, number, squared / np.maximum(residual, _TINY)


def has_others(problem: Problem) -> Mask:
    """(n, d), True for known entries in rows in which a predictor, a column of another group, is known."""
    known = ~problem.M
    if problem.predictors.restricted:
        helpful = np.array([problem.predictors.of_group([j]) for j in range(problem.shape[1])])
        return np.asarray(known & (known.astype(float) @ helpful.astype(float).T > 0))
    groups_known = sum(known[:, group[0]].astype(np.intp) for group in problem.groups)
    return np.asarray(known & (np.asarray(groups_known) > 1)[:, None])


def shrinkage(
    columns: Indices, found: Array, truth: Array, d: int, standard_errors: float = _STANDARD_ERRORS
) -> Array:
    """(d,), factor on each column's fill: the least-squares one, or 0 if the fill does not beat the mean.

    Parameters
    ----------
    columns, found, truth : (h,), columns, imputed and true values of held-out entries; values in standardised
        units, so that 0 is the column mean.
    standard_errors : the gain of the table over the column means must exceed so many standard errors; if it
        does not, the gain of a column must exceed twice as many.
    """
    products = np.bincount(columns, found * truth, d)
    squares = np.bincount(columns, found**2, d)
    factor = np.clip((products + _PRIOR_SHRINKAGE) / (squares + _PRIOR_SHRINKAGE), 0.0, 1.0)
    residual = np.bincount(columns, (factor[columns] * found - truth) ** 2, d)
    total = np.bincount(columns, truth**2, d)
    overall = (residual.sum() + _PRIOR_OVERALL / 2) / (total.sum() + _PRIOR_OVERALL)
    expected = (residual + _PRIOR_ERROR * overall) / (total + _PRIOR_ERROR)
    gain = truth**2 - (factor[columns] * found - truth) ** 2
    standard_error = np.sqrt(np.bincount(columns, gain**2, d))
    table_gains = gain.sum() + _PRIOR_OVERALL / 2 > standard_errors * np.sqrt((gain**2).sum())
    gains = np.bincount(columns, gain, d)
    significant = table_gains | (gains > 2 * standard_errors * standard_error)
    harmful = gains < -_STANDARD_ERRORS * standard_error
    return np.where((expected < 1 - _MIN_IMPROVEMENT) & significant & ~harmful, factor, 0.0)


def accuracy(
    evidence: Evidence, problem: Problem, odds: Array | None = None, screened: Evidence | None = None
) -> Accuracy:
    """Expected accuracy of every column, from held-out entries.

    With e the errors and t the true values of held-out entries, in standard deviations, w their weights, sums
    over the held-out entries of a column, V the mean of t² over all its known entries, weighted by their odds
    of being missing, and R the ratio Σ w e² / Σ w t² of the entire table,

        mean_error = std · √V,   error = mean_error · √((1 − share) · (Σ w e² + m + p V R) / (Σ w t² + p V)).

    Known entries are more than held-out ones, and it is chance which of a column's rare large values are held
    out, so √V is used rather than the RMS of t. Few held-out entries raise the claim: p entries have the
    table's ratio, and m = Σ (w e²)² / Σ w e² is one more squared error, the mean of w e² weighted by itself,
    which is large if the error comes from a few entries. The factor 1 − share is there because fills are
    better when nothing is held out: from 10 to 70 % missing, errors vary as the observed share to the power
    −.6 to −.3 (MCAR errors in docs/benchmarks/accuracy.md). Entries in rows without known values have
    mean_error instead of error.

    Parameters
    ----------
    evidence : held-out entries of the validation run.
    problem : the problem that was filled.
    odds : (n, d), odds that an entry is missing given the rest of its row; default 1.
    screened : held-out entries of candidate screening, if any. Their fills were not the final ones, so their
        squared errors are scaled to the relative squared error of the validation run.
    """
    residual, total, number, largest = evidence.sums()
    if screened is not None:
        more_residual, more_total, more_entries, _ = screened.sums()
        if min(more_residual.sum(), more_total.sum(), total.sum()) > 0:
            residual = residual + more_residual * (residual.sum() / total.sum()) / (
                more_residual.sum() / more_total.sum()
            )
            total, number = total + more_total, number + more_entries
    variance = _variances(problem, odds)
    ratio = min(1.0, float(residual.sum() / max(total.sum(), _TINY)))
    residual = residual + largest + _PRIOR_ENTRIES * variance * ratio
    relative = (1 - evidence.share) * residual / np.maximum(total + _PRIOR_ENTRIES * variance, _TINY)
    relative = np.where(evidence.shrinkage > 0, relative, 1.0)
    empty = len(problem.given) - len(problem.rows)
    empty_share = empty / np.maximum(empty + problem.M.sum(axis=0), 1)
    with np.errstate(over="ignore"):  # values near the largest float
        mean_errors = np.where(number > 0, problem.scaling.deviation * np.sqrt(variance), math.nan)
        errors = np.minimum(mean_errors * np.sqrt((1 - empty_share) * relative + empty_share), _HUGE)
    mean_errors = np.minimum(mean_errors, _HUGE)
    columns = zip(
        errors.tolist(), mean_errors.tolist(), number.tolist(), evidence.shrinkage.tolist(), strict=True
    )
    return Accuracy(
        ColumnAccuracy(j, error, mean_error, int(count), factor)
        for j, (error, mean_error, count, factor) in enumerate(columns)
    )


def _variances(problem: Problem, odds: Array | None) -> Array:
    """(d,), V: mean square of the known values, weighted by their odds, in squared standard deviations.

    It is raised like the squared errors in `accuracy` if it comes from a few values.
    """
    if odds is None:
        return np.ones(problem.shape[1])
    weight = np.where(problem.M, 0.0, odds)
    scale = np.where(problem.scaling.weight > 0, problem.scaling.weight, 1.0)
    terms = weight * (problem.Z / scale) ** 2
    squares = terms.sum(axis=0)
    raised = squares + (terms**2).sum(axis=0) / np.maximum(squares, _TINY)
    return np.where(squares > 0, raised / np.maximum(weight.sum(axis=0), _TINY), 1.0)
