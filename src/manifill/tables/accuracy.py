"""How well each column of a table is filled, in its own terms."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from manifill._arrays import Array
from manifill._validation import Accuracy, Errors
from manifill.tables.encoding import Encoding, Field
from manifill.tables.frames import DAY, TIMES
from manifill.tables.variables import Cyclic, Quantity, Variable


@dataclass(frozen=True)
class VariableAccuracy:
    """What to expect of a column's fills.

    Attributes
    ----------
    column, kind : its name, and what it was taken for.
    measure : "error", a root mean square in the column's units (dates and times: days), or "wrong", the share
        of wrong values.
    error : of fills; NaN where no entry could be held out.
    simple_error : of the mean, or of the most frequent value.
    held_out : how many entries were held out.
    missing : how many were to be filled.
    """

    column: Any
    kind: str
    measure: str
    error: float
    simple_error: float
    held_out: int
    missing: int

    @property
    def relative(self) -> float:
        """Error over that of the mean or most frequent value: 0 is perfect, 1 has learned nothing."""
        return self.error / self.simple_error if self.simple_error > 0 else math.nan


class TableAccuracy(tuple[VariableAccuracy, ...]):
    """A `VariableAccuracy` for every column that is modelled; `pandas.DataFrame` makes a table of them."""

    def __str__(self) -> str:
        names = [str(one.column) for one in self]
        width = max([6, *map(len, names)])
        heads = f"{'missing':>8}  {'expected':>10}  {'simple':>10}  {'relative':>8}  measured as"
        lines = [f"{'column':<{width}}  {heads}"]
        for name, one in zip(names, self, strict=True):
            how = "share that is wrong" if one.measure == "wrong" else "root mean square error"
            note = "" if not one.relative >= 1 or not one.missing else ": no better than the simple fill"
            lines.append(
                f"{name:<{width}}  {one.missing:>8,}  {one.error:>10.4g}  {one.simple_error:>10.4g}  "
                f"{one.relative:>8.2f}  {how}{note}"
            )
        return "\n".join(lines)


def table_accuracy(encoding: Encoding, numbers: Accuracy, errors: Errors) -> TableAccuracy:
    """From what is known of the numbers that stand for the columns."""
    return TableAccuracy(_accuracy(field, numbers, errors) for field in encoding)


def _accuracy(field: Field, numbers: Accuracy, errors: Errors) -> VariableAccuracy:
    variable = field.variable
    own = numbers[field.first]
    missing = int(np.isnan(errors.problem.given[:, field.first]).sum())
    plain = isinstance(variable, Quantity) and not variable.log
    if plain:
        unit = DAY if field.kind in TIMES else 1.0  # times in days
        error, simple = own.error / unit, own.mean_error / unit
        return VariableAccuracy(field.name, field.kind, "error", error, simple, own.held_out, missing)
    found, truth = _held_out(field, errors)
    if not len(truth):
        return VariableAccuracy(field.name, field.kind, "error", math.nan, math.nan, 0, missing)
    mean = errors.problem.scaling.mean[field.columns]
    measure, error = score(variable, found, truth)
    _, simple = score(variable, np.broadcast_to(mean, truth.shape), truth)
    return VariableAccuracy(field.name, field.kind, measure, error, simple, len(truth), missing)


def score(variable: Variable, found: Array, truth: Array) -> tuple[str, float]:
    """How wrong numbers (h, width) of a variable are: a share "wrong", or a root mean square "error"."""
    values, right = variable.decode(found), variable.decode(truth)
    if variable.chosen or variable.kind == "ordered":
        return "wrong", float(np.mean(values != right))
    apart = values.astype(np.float64) - right.astype(np.float64)
    if isinstance(variable, Cyclic):
        apart = (apart + variable.period / 2) % variable.period - variable.period / 2
    if isinstance(variable, Quantity) and variable.kind in TIMES:
        apart = apart / DAY
    return "error", float(np.sqrt(np.mean(apart**2)))


def _held_out(field: Field, errors: Errors) -> tuple[Array, Array]:
    """Numbers of a column's held-out entries, found and true, (h, width) each, as they were encoded."""
    evidence, scaling = errors.evidence, errors.problem.scaling
    columns = np.arange(field.first, field.columns.stop)
    sets: list[tuple[Array, Array]] = []
    for column in columns:
        mine = evidence.columns == column
        unit, center = scaling.deviation[column], scaling.mean[column]
        sets.append((evidence.found[mine] * unit + center, evidence.truth[mine] * unit + center))
    if len({len(found) for found, _ in sets}) > 1:  # a level so rare that holding it out left none
        return np.zeros((0, len(columns))), np.zeros((0, len(columns)))
    return np.column_stack([f for f, _ in sets]), np.column_stack([t for _, t in sets])


def deviation(field: Field, completed: Array, half: Array) -> Array:
    """Standard deviations in the units of a column, from those of its numbers."""
    variable: Any = field.variable
    numbers, spread = completed[:, field.columns], half[:, field.columns]
    if variable.chosen:
        wrong: Array = 1 - variable.probabilities(numbers).max(axis=1)
        return wrong
    if isinstance(variable, Quantity) and variable.log:
        skewed: Array = np.exp(numbers[:, 0]) * np.sqrt(np.expm1(np.minimum(spread[:, 0] ** 2, 50.0)))
        return skewed
    if variable.kind == "cyclic":
        angle: Array = variable.period / (2 * np.pi) * np.sqrt((spread**2).sum(axis=1))
        angle = np.minimum(angle, variable.period / np.sqrt(12))
        return angle
    single: Array = spread[:, 0]
    return single
