"""How good the fills are, measured on entries that were hidden."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from manifill.arrays import Array, Indices
from manifill.tuning.hidden import Hidden

# Hidden entries that a column's own are weighed against, so that few of them do not decide alone.
_PRIOR_RELIANCE = 30.0
_PRIOR_ERROR = 5.0
# And hidden entries of the whole table against this many, of which half is explained.
_PRIOR_OVERALL = 5.0
# Standard deviations by which the gain of the table over the column means must stand out from what chance
# makes of it, or twice as many for a column by itself; and a loss of a column, for its mean to be taken.
_CHANCE = 1.7
# Share of a column's variance that its hidden entries have at least.
_LEAST = 0.003
_TINY = float(np.finfo(float).tiny)
# A fill must be expected to lower the squared error by this share, or the column mean is taken.
_WORTH = 0.02


@dataclass(frozen=True)
class ColumnAccuracy:
    """What to expect of a column's fills.

    Attributes
    ----------
    column : its name or number.
    error : root mean square error to expect, in the column's units; NaN where no entry could be hidden.
    mean_error : the same for the column mean.
    hidden : how many entries were hidden.
    reliance : share of the extension that the fill takes; 0 is a fill by the column mean.
    """

    column: Any
    error: float
    mean_error: float
    hidden: int
    reliance: float

    @property
    def relative(self) -> float:
        """Error over that of the column mean: 0 is perfect, 1 has learned nothing."""
        return self.error / self.mean_error if self.mean_error > 0 else math.nan


class Accuracy(tuple[ColumnAccuracy, ...]):
    """A `ColumnAccuracy` for every column; `pandas.DataFrame(accuracy)` is a table of them."""

    def __str__(self) -> str:
        names = [str(one.column) for one in self]
        width = max([6, *map(len, names)])
        lines = [f"{'column':<{width}}  {'error':>10}  {'of mean':>10}  {'relative':>8}  hidden"]
        for name, one in zip(names, self, strict=True):
            note = "" if one.reliance > 0 else "  filled by the mean"
            lines.append(
                f"{name:<{width}}  {one.error:>10.4g}  {one.mean_error:>10.4g}  {one.relative:>8.2f}  "
                f"{one.hidden:>6}{note}"
            )
        return "\n".join(lines)

    def named(self, labels: list[Any]) -> "Accuracy":
        """The same for columns of these names."""
        return Accuracy(
            ColumnAccuracy(label, one.error, one.mean_error, one.hidden, one.reliance)
            for label, one in zip(labels, self, strict=True)
        )


def reliance(columns: Indices, found: Array, truth: Array, d: int) -> Array:
    """(d,), the share of its extension that each column's fill should take.

    Parameters
    ----------
    columns, found, truth : (h,), of the hidden entries; values in standard units, so that 0 is the mean.
    """
    overlap = np.bincount(columns, found * truth, d)
    size = np.bincount(columns, found**2, d)
    share = np.clip((overlap + _PRIOR_RELIANCE) / (size + _PRIOR_RELIANCE), 0.0, 1.0)
    left = np.bincount(columns, (share[columns] * found - truth) ** 2, d)
    before = np.bincount(columns, truth**2, d)
    overall = (left.sum() + _PRIOR_OVERALL / 2) / (before.sum() + _PRIOR_OVERALL)
    expected = (left + _PRIOR_ERROR * overall) / (before + _PRIOR_ERROR)
    gain = truth**2 - (share[columns] * found - truth) ** 2
    by_chance = np.sqrt(np.bincount(columns, gain**2, d))
    table_stands_out = gain.sum() + _PRIOR_OVERALL / 2 > _CHANCE * np.sqrt((gain**2).sum())
    gains = np.bincount(columns, gain, d)
    stands_out = table_stands_out | (gains > 2 * _CHANCE * by_chance)
    harms = gains < -_CHANCE * by_chance
    return np.where((expected < 1 - _WORTH) & stands_out & ~harms, share, 0.0)


@dataclass(frozen=True, eq=False)
class Evidence:
    """Hidden entries (h,) of a table, in standard deviations of the columns.

    Their rows and columns, what was found, the truth, and what each counts.
    """

    rows: Indices
    columns: Indices
    found: Array
    truth: Array
    weight: Array

    @classmethod
    def of(cls, hidden: Sequence[Hidden], found: Array) -> "Evidence":
        """All that were hidden, one set after the other."""
        rows, columns, truth, weight = (
            np.concatenate([getattr(one, name) for one in hidden])
            for name in ("rows", "columns", "truth", "weight")
        )
        return cls(rows, columns, found, truth, weight)

    def sums(self, relied_on: Array) -> tuple[Array, Array, Array, Array]:
        """For every column: squared errors of fills and of the mean, weights, all summed, and the number."""
        d = len(relied_on)
        wrong = relied_on[self.columns] * self.found - self.truth
        terms = (self.weight * wrong**2, self.weight * self.truth**2, self.weight, np.ones(len(wrong)))
        left, before, weight, number = (np.bincount(self.columns, one, d).astype(float) for one in terms)
        return left, before, weight, number


def accuracy(
    rehearsed: Evidence, auditioned: Evidence | None, unit: Array, relied_on: Array, share: float = 0.0
) -> Accuracy:
    """From hidden entries, in standard units; `unit` (d,) is the size of one in the user's.

    What was found in the audition was not the last word, and its errors count as if they were smaller by as
    much as those of the rehearsal are. Whether a column's rare large values are among the hidden ones is
    chance, and hits its fill and its mean alike: so half of what the hidden ones have more or less than the
    spread of the column is taken back. And with a `share` of the observed entries hidden fills are a little
    worse than with all of them: errors shrink about as the root of the number of entries grows (from 10 to
    70 % missing, with its power -.3 to -.6: docs/choosing.md).
    """
    left, before, weight, number = rehearsed.sums(relied_on)
    if auditioned is not None:
        more, base, *size = auditioned.sums(relied_on)
        if min(more.sum(), base.sum(), before.sum()) > 0:
            left = left + more * (left.sum() / before.sum()) / (more.sum() / base.sum())
            before, weight, number = before + base, weight + size[0], number + size[1]
    # Hidden entries that all happen to be the mean do not say that nothing can go wrong.
    before = np.maximum(before, _LEAST * weight)
    with np.errstate(invalid="ignore"):
        mean_errors = unit * (before / weight) ** 0.25
    of_mean = np.sqrt((1 - share) * left / np.maximum(before, _TINY))
    errors = mean_errors * np.where(relied_on > 0, of_mean, 1.0)
    return Accuracy(
        ColumnAccuracy(j, float(errors[j]), float(mean_errors[j]), int(number[j]), float(relied_on[j]))
        for j in range(len(unit))
    )
