"""How well each column of a table is filled, in its own terms."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from manifill.arrays import Array
from manifill.tables.encoding import Encoding, Field
from manifill.tables.frames import DAY, TIMES
from manifill.tables.variables import Cyclic, Quantity, Variable
from manifill.tuning import Accuracy
from manifill.uncertainty import Errors


@dataclass(frozen=True)
class VariableAccuracy:
    """What to expect of a column's fills.

    Attributes
    ----------
    column, kind : its name, and what it was taken for.
    measure : "error", a root mean square in the column's units (dates and times: days), or "wrong", the share
        of wrong values.
    error : of fills; NaN where no entry could be hidden.
    simple_error : of the mean, or of the most frequent value.
    hidden : how many entries were hidden.
    missing : how many were to be filled.
    """

    column: Any
    kind: str
    measure: str
    error: float
    simple_error: float
    hidden: int
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
    missing = int(errors.problem.M[:, field.first].sum()) + int((~errors.problem.rows).sum())
    plain = isinstance(variable, Quantity) and not variable.log
    if plain:
        unit = DAY if field.word in TIMES else 1.0  # times in days
        error, simple = own.error / unit, own.mean_error / unit
        return VariableAccuracy(field.name, field.word, "error", error, simple, own.hidden, missing)
    found, truth = _hidden(field, errors)
    if not len(truth):
        return VariableAccuracy(field.name, field.word, "error", math.nan, math.nan, 0, missing)
    scaling = errors.problem.scaling
    mean = (scaling.center * scaling.magnitude)[field.columns]
    measure, error = score(variable, found, truth)
    _, simple = score(variable, np.broadcast_to(mean, truth.shape), truth)
    return VariableAccuracy(field.name, field.word, measure, error, simple, len(truth), missing)


def score(variable: Variable, found: Array, truth: Array) -> tuple[str, float]:
    """How wrong numbers (h, width) of a variable are: a share "wrong", or a root mean square "error"."""
    values, right = variable.decode(found), variable.decode(truth)
    if variable.chosen or variable.kind == "ordered":
        return "wrong", float(np.mean(values != right))
    apart = values.astype(np.float64) - right.astype(np.float64)
    if isinstance(variable, Cyclic):
        apart = (apart + variable.period / 2) % variable.period - variable.period / 2
    if isinstance(variable, Quantity) and variable.word in TIMES:
        apart = apart / DAY
    return "error", float(np.sqrt(np.mean(apart**2)))


def _hidden(field: Field, errors: Errors) -> tuple[Array, Array]:
    """Numbers of a column's hidden entries, found and true, (h, width) each, as they were encoded."""
    evidence, scaling = errors.evidence, errors.problem.scaling
    columns = np.arange(field.first, field.columns.stop)
    sets: list[tuple[Array, Array]] = []
    for column in columns:
        mine = evidence.columns == column
        unit, center = (
            scaling.spread[column] * scaling.magnitude[column],
            scaling.center[column] * scaling.magnitude[column],
        )
        found = errors.reliance[column] * evidence.found[mine]
        sets.append((found * unit + center, evidence.truth[mine] * unit + center))
    if len({len(found) for found, _ in sets}) > 1:  # a level so rare that hiding it left none
        return np.zeros((0, len(columns))), np.zeros((0, len(columns)))
    return np.column_stack([f for f, _ in sets]), np.column_stack([t for _, t in sets])
