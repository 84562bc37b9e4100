"""Results on held-out entries: the accuracy of every column, and the shrinkage of its fill."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from manifill._arrays import Array, Indices
from manifill._messages import text_table
from manifill._validation.holdout import HeldOut

# The constants below were set by hand while looking at the sixteen tables of docs/benchmarks/accuracy.md,
# which also has a check on other masks.
# Pseudo-counts of held-out entries: for shrinkage 1 in a column; for the table's relative squared error in a
# column; and for a relative squared error of 1/2 in the table.
_PRIOR_SHRINKAGE, _PRIOR_ERROR, _PRIOR_OVERALL = 30.0, 5.0, 5.0
# Significance threshold, in standard errors of the gain over the column means. The gain of the table must
# exceed it, or that of the column must exceed twice as much. A column whose loss exceeds it gets its mean.
_STANDARD_ERRORS = 1.7
# Lower bound on the mean square of a column's held-out entries, as a share of the column's variance.
_MIN_VARIANCE_SHARE = 0.003
_TINY = float(np.finfo(float).tiny)
# A column gets its mean if the filler is expected to lower the squared error by less than this share.
_MIN_IMPROVEMENT = 0.02


@dataclass(frozen=True)
class ColumnAccuracy:
    """Expected accuracy of the imputed values of a column.

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
        return text_table(("column", "typical error", "of mean", "ratio", "held out", ""), rows, left=(0, 5))

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
    shrinkage : (d,), factors on the filler's distance from the column means.
    share : share of the observed entries that was held out.
    """

    rows: Indices
    columns: Indices
    found: Array
    truth: Array
    weight: Array
    place: Indices
    shrinkage: Array
    share: float = 0.0

    @classmethod
    def of(cls, sets: Sequence[HeldOut], found: Array, shrinkage: Array, share: float = 0.0) -> "Evidence":
        """Concatenate sets of held-out entries; `found` (h,) are the imputed values before shrinkage."""
        names = ("rows", "columns", "truth", "weight", "place")
        rows, columns, truth, weight, place = (
            np.concatenate([getattr(one, name) for one in sets]) for name in names
        )
        return cls(rows, columns, shrinkage[columns] * found, truth, weight, place, shrinkage, share)

    @classmethod
    def none(cls, d: int) -> "Evidence":
        """Evidence without entries, for a table in which none could be held out."""
        where, values = np.zeros(0, dtype=np.intp), np.zeros(0)
        return cls(where, where, values, values, values, where, np.ones(d))

    @property
    def errors(self) -> Array:
        """(h,), true minus imputed values."""
        return self.truth - self.found

    def sums(self) -> tuple[Array, Array, Array, Array]:
        """(d,) each: weighted squared errors of fills and of column means, weights, and number, summed."""
        d, w = len(self.shrinkage), self.weight
        terms = (w * self.errors**2, w * self.truth**2, w, np.ones(len(w)))
        residual, total, weight, number = (np.bincount(self.columns, one, d).astype(float) for one in terms)
        return residual, total, weight, number


def shrinkage(columns: Indices, found: Array, truth: Array, d: int) -> Array:
    """(d,), factor on each column's fill: the least-squares one, or 0 if the fill does not beat the mean.

    Parameters
    ----------
    columns, found, truth : (h,), columns, imputed and true values of held-out entries; values in standardised
        units, so that 0 is the column mean.
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
    table_gains = gain.sum() + _PRIOR_OVERALL / 2 > _STANDARD_ERRORS * np.sqrt((gain**2).sum())
    gains = np.bincount(columns, gain, d)
    significant = table_gains | (gains > 2 * _STANDARD_ERRORS * standard_error)
    harmful = gains < -_STANDARD_ERRORS * standard_error
    return np.where((expected < 1 - _MIN_IMPROVEMENT) & significant & ~harmful, factor, 0.0)


def accuracy(evidence: Evidence, screened: Evidence | None, std: Array) -> Accuracy:
    """Expected accuracy of every column, from held-out entries.

    With e the errors, t the true values in standard deviations, w the weights, and sums over the held-out
    entries of a column,

        mean_error = std · (Σ w t² / Σ w)^¼,   error = mean_error · √((1 − share) · Σ w e² / Σ w t²).

    The exponent is ¼ and not ½ because it is chance whether a column's rare large values are held out, and
    they change the error of the fill and of the mean equally: the RMS of t is shrunk halfway to 1, in
    logarithms. The factor 1 − share is there because fills are better when nothing is held out. It assumes
    that errors vary as the observed share to the power −½; from 10 to 70 % missing the power is −.6 to −.3
    (MCAR errors in docs/benchmarks/accuracy.md).

    Parameters
    ----------
    evidence : held-out entries of the validation run.
    screened : held-out entries of candidate screening, if any. Their fills were not the final ones, so their
        squared errors are scaled to the relative squared error of the validation run.
    std : (d,), standard deviations of the columns in the user's units.
    """
    residual, total, weight, number = evidence.sums()
    if screened is not None:
        more_residual, more_total, *more = screened.sums()
        if min(more_residual.sum(), more_total.sum(), total.sum()) > 0:
            residual = residual + more_residual * (residual.sum() / total.sum()) / (
                more_residual.sum() / more_total.sum()
            )
            total, weight, number = total + more_total, weight + more[0], number + more[1]
    # Held-out entries that all equal the mean are no proof that the fill is exact.
    total = np.maximum(total, _MIN_VARIANCE_SHARE * weight)
    with np.errstate(invalid="ignore"):
        mean_errors = std * (total / weight) ** 0.25
    relative = np.sqrt((1 - evidence.share) * residual / np.maximum(total, _TINY))
    errors = mean_errors * np.where(evidence.shrinkage > 0, relative, 1.0)
    columns = zip(
        errors.tolist(), mean_errors.tolist(), number.tolist(), evidence.shrinkage.tolist(), strict=True
    )
    return Accuracy(
        ColumnAccuracy(j, error, mean_error, int(count), factor)
        for j, (error, mean_error, count, factor) in enumerate(columns)
    )
