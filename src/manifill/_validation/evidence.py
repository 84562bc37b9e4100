"""What held-out entries say: how far off fills are, column by column, and how much of them to use."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from manifill._arrays import Array, Indices
from manifill._validation.holdout import HeldOut

# Pseudo-counts of held-out entries: for shrinkage 1 in a column, for the error of the whole table in a
# column, and for half of the variance explained in the whole table.
_PRIOR_SHRINKAGE, _PRIOR_ERROR, _PRIOR_OVERALL = 30.0, 5.0, 5.0
# Standard errors by which the gain of the table over the column means must stand out from chance, or twice as
# many for a column by itself; and a loss of a column, for its mean to be taken.
_STANDARD_ERRORS = 1.7
# Least share of a column's variance that its held-out entries are taken to have.
_MIN_VARIANCE_SHARE = 0.003
_TINY = float(np.finfo(float).tiny)
# A fill must be expected to lower the squared error by this share, or the column mean is taken.
_MIN_IMPROVEMENT = 0.02


@dataclass(frozen=True)
class ColumnAccuracy:
    """What to expect of a column's fills.

    Attributes
    ----------
    column : its name or number.
    error : root mean square error to expect, in the column's units; NaN where no entry could be held out.
    mean_error : the same for the column mean.
    held_out : how many entries were held out.
    shrinkage : share of the filler's value that the fill takes; 0 is a fill by the column mean.
    """

    column: Any
    error: float
    mean_error: float
    held_out: int
    shrinkage: float

    @property
    def relative(self) -> float:
        """Error over that of the column mean: 0 is perfect, 1 has learned nothing."""
        return self.error / self.mean_error if self.mean_error > 0 else math.nan


class Accuracy(tuple[ColumnAccuracy, ...]):
    """A `ColumnAccuracy` for every column; `pandas.DataFrame(accuracy)` is a table of them."""

    def __str__(self) -> str:
        names = [str(one.column) for one in self]
        width = max([6, *map(len, names)])
        lines = [f"{'column':<{width}}  {'error':>10}  {'of mean':>10}  {'relative':>8}  held out"]
        for name, one in zip(names, self, strict=True):
            note = "" if one.shrinkage > 0 else "  filled by the mean"
            lines.append(
                f"{name:<{width}}  {one.error:>10.4g}  {one.mean_error:>10.4g}  {one.relative:>8.2f}  "
                f"{one.held_out:>8}{note}"
            )
        return "\n".join(lines)

    def named(self, labels: list[Any]) -> "Accuracy":
        """The same for columns of these names."""
        return Accuracy(
            ColumnAccuracy(label, one.error, one.mean_error, one.held_out, one.shrinkage)
            for label, one in zip(labels, self, strict=True)
        )


@dataclass(frozen=True, eq=False)
class Evidence:
    """Held-out entries (h,) of a table, in standard deviations of the columns.

    Accuracy, intervals and the residuals of draws all come from it.

    Attributes
    ----------
    rows, columns : where they are among the rows that take part.
    found, truth : what was filled in, shrinkage included, and what was there.
    weight : what each counts, for all of them to be like the missing ones.
    place : the kind of place of each: how far known entries are.
    shrinkage : (d,), the share of a filler's value that the fill of each column takes.
    share : of the observed entries, that was held out.
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
        """All that was held out, one set after the other; `found` before shrinkage."""
        names = ("rows", "columns", "truth", "weight", "place")
        rows, columns, truth, weight, place = (
            np.concatenate([getattr(one, name) for one in sets]) for name in names
        )
        return cls(rows, columns, shrinkage[columns] * found, truth, weight, place, shrinkage, share)

    @classmethod
    def none(cls, d: int) -> "Evidence":
        """Of a table of which nothing could be held out."""
        where, values = np.zeros(0, dtype=np.intp), np.zeros(0)
        return cls(where, where, values, values, values, where, np.ones(d))

    @property
    def errors(self) -> Array:
        """(h,), truth less fill."""
        return self.truth - self.found

    def sums(self) -> tuple[Array, Array, Array, Array]:
        """For every column: squared errors of fills and of the mean, weights, all summed, and the number."""
        d, count = len(self.shrinkage), self.weight
        terms = (count * self.errors**2, count * self.truth**2, count, np.ones(len(count)))
        left, before, weight, number = (np.bincount(self.columns, one, d).astype(float) for one in terms)
        return left, before, weight, number


def shrinkage(columns: Indices, found: Array, truth: Array, d: int) -> Array:
    """(d,), the share of its filler's value that each column's fill should take.

    Parameters
    ----------
    columns, found, truth : (h,), of held-out entries; values in standard units, so that 0 is the mean.
    """
    overlap = np.bincount(columns, found * truth, d)
    size = np.bincount(columns, found**2, d)
    share = np.clip((overlap + _PRIOR_SHRINKAGE) / (size + _PRIOR_SHRINKAGE), 0.0, 1.0)
    left = np.bincount(columns, (share[columns] * found - truth) ** 2, d)
    before = np.bincount(columns, truth**2, d)
    overall = (left.sum() + _PRIOR_OVERALL / 2) / (before.sum() + _PRIOR_OVERALL)
    expected = (left + _PRIOR_ERROR * overall) / (before + _PRIOR_ERROR)
    gain = truth**2 - (share[columns] * found - truth) ** 2
    by_chance = np.sqrt(np.bincount(columns, gain**2, d))
    table_stands_out = gain.sum() + _PRIOR_OVERALL / 2 > _STANDARD_ERRORS * np.sqrt((gain**2).sum())
    gains = np.bincount(columns, gain, d)
    stands_out = table_stands_out | (gains > 2 * _STANDARD_ERRORS * by_chance)
    harms = gains < -_STANDARD_ERRORS * by_chance
    return np.where((expected < 1 - _MIN_IMPROVEMENT) & stands_out & ~harms, share, 0.0)


def accuracy(evidence: Evidence, screened: Evidence | None, unit: Array) -> Accuracy:
    """From held-out entries, in standard deviations; `unit` (d,) is the size of one in the user's units.

    `screened` are fills of the screening of candidates, which were not the last word: their errors count as
    if they were smaller by as much as those of the validation run are. Whether a column's rare large values
    are among those held out is chance, and hits its fill and its mean alike: so half of what they have more
    or less than the standard deviation of the column is taken back. And with a share of the observed entries
    held out fills are a little worse than with all of them: errors shrink about as the root of the number of
    entries grows (from 10 to 70 % missing, with its power -.3 to -.6: docs/choosing.md).
    """
    left, before, weight, number = evidence.sums()
    if screened is not None:
        more, base, *size = screened.sums()
        if min(more.sum(), base.sum(), before.sum()) > 0:
            left = left + more * (left.sum() / before.sum()) / (more.sum() / base.sum())
            before, weight, number = before + base, weight + size[0], number + size[1]
    # Held-out entries that all happen to be the mean do not say that nothing can go wrong.
    before = np.maximum(before, _MIN_VARIANCE_SHARE * weight)
    with np.errstate(invalid="ignore"):
        mean_errors = unit * (before / weight) ** 0.25
    of_mean = np.sqrt((1 - evidence.share) * left / np.maximum(before, _TINY))
    errors = mean_errors * np.where(evidence.shrinkage > 0, of_mean, 1.0)
    columns = zip(
        errors.tolist(), mean_errors.tolist(), number.tolist(), evidence.shrinkage.tolist(), strict=True
    )
    return Accuracy(
        ColumnAccuracy(j, error, mean_error, int(count), share)
        for j, (error, mean_error, count, share) in enumerate(columns)
    )
