"""Accuracy of the imputed values of each column of a table, in the units of the column."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from manifill._arrays import Array
from manifill._messages import text_table
from manifill._validation import Accuracy, Errors
from manifill.tables.encoding import Encoding, Field
from manifill.tables.times import DAY, TIMES
from manifill.tables.variables import Cyclic, Quantity, Variable


@dataclass(frozen=True)
class VariableAccuracy:
    """Expected accuracy of the imputed values of one column.

    Attributes
    ----------
    column, kind : name of the column, and the kind of variable that it is treated as.
    measure : "error", the root mean square error in the units of the column (dates and times: in days), or
        "wrong", the share of wrong values.
    error : of the imputed values, estimated from held-out entries; NaN if no entry could be held out.
    simple_error : of imputing the mean or the most frequent value instead.
    held_out : number of held-out entries.
    missing : number of missing entries.
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
        """`error / simple_error`: 0 is perfect, 1 is no better than the mean or the most frequent value."""
        return self.error / self.simple_error if self.simple_error > 0 else math.nan


class TableAccuracy(tuple[VariableAccuracy, ...]):
    """A `VariableAccuracy` for every modelled column; `pandas.DataFrame(accuracy)` is a table of them."""

    def __str__(self) -> str:
        header = ("column", "missing", "typical error", "of mean or mode", "ratio", "measured as")
        return text_table(header, map(_cells, self), left=(0, 5))


def _cells(one: VariableAccuracy) -> tuple[object, ...]:
    how = "share that is wrong" if one.measure == "wrong" else "root mean square error"
    note = ": no better than the mean or mode" if one.relative >= 1 and one.missing else ""
    errors = (f"{one.error:.4g}", f"{one.simple_error:.4g}", f"{one.relative:.2f}")
    return one.column, f"{one.missing:,}", *errors, how + note


def table_accuracy(encoding: Encoding, numbers: Accuracy, errors: Errors) -> TableAccuracy:
    """Accuracy of the columns of a table, from the accuracy and the errors of the encoded columns."""
    return TableAccuracy(_accuracy(field, numbers, errors) for field in encoding)


def _accuracy(field: Field, numbers: Accuracy, errors: Errors) -> VariableAccuracy:
    variable = field.variable
    own = numbers[field.first]
    missing = int(np.isnan(errors.problem.given[:, field.first]).sum())
    plain = isinstance(variable, Quantity) and not variable.log
    if plain:
        scale = DAY if field.kind in TIMES else 1.0
        error, simple = own.error / scale, own.mean_error / scale
        return VariableAccuracy(field.name, field.kind, "error", error, simple, own.held_out, missing)
    imputed, truth = _held_out(field, errors)
    if not len(truth):
        return VariableAccuracy(field.name, field.kind, "error", math.nan, math.nan, 0, missing)
    mean = errors.problem.scaling.mean[field.columns]
    measure, error = score(variable, imputed, truth)
    _, simple = score(variable, np.broadcast_to(mean, truth.shape), truth)
    return VariableAccuracy(field.name, field.kind, measure, error, simple, len(truth), missing)


def score(variable: Variable, imputed: Array, truth: Array) -> tuple[str, float]:
    """Measure and its value for encoded values (h, width); see `VariableAccuracy.measure`."""
    values, true_values = variable.decode(imputed), variable.decode(truth)
    if variable.chosen or variable.kind == "ordered":
        return "wrong", float(np.mean(values != true_values))
    difference = values.astype(np.float64) - true_values.astype(np.float64)
    if isinstance(variable, Cyclic):
        difference = (difference + variable.period / 2) % variable.period - variable.period / 2
    if isinstance(variable, Quantity) and variable.kind in TIMES:
        difference = difference / DAY
    return "error", float(np.sqrt(np.mean(difference**2)))


def _held_out(field: Field, errors: Errors) -> tuple[Array, Array]:
    """Imputed and true encoded values of the held-out entries of a column, (h, width) each."""
    evidence, scaling = errors.evidence, errors.problem.scaling
    columns = np.arange(field.first, field.columns.stop)
    sets: list[tuple[Array, Array]] = []
    for column in columns:
        selected = evidence.columns == column
        std, mean = scaling.deviation[column], scaling.mean[column]
        sets.append((evidence.found[selected] * std + mean, evidence.truth[selected] * std + mean))
    if len({len(imputed) for imputed, _ in sets}) > 1:  # a level is too rare to be held out
        return np.zeros((0, len(columns))), np.zeros((0, len(columns)))
    return np.column_stack([imputed for imputed, _ in sets]), np.column_stack([truth for _, truth in sets])


def deviation(field: Field, completed: Array, deviations: Array) -> Array:
    """(n,), standard deviation of each value of a column; for categories, the probability of a wrong level.

    `completed` and `deviations` (n, width) hold the encoded values x and their standard deviations s. Columns
    modelled by their logarithm: exp(x)·√(exp(s²) − 1). Cyclic columns: ‖s‖·period/2π, at most the standard
    deviation period/√12 of a uniform distribution. Other columns: s.
    """
    variable: Any = field.variable
    numbers, std = completed[:, field.columns], deviations[:, field.columns]
    if variable.chosen:
        wrong: Array = 1 - variable.probabilities(numbers).max(axis=1)
        return wrong
    if isinstance(variable, Quantity) and variable.log:
        log_normal: Array = np.exp(numbers[:, 0]) * np.sqrt(np.expm1(np.minimum(std[:, 0] ** 2, 50.0)))
        return log_normal
    if variable.kind == "cyclic":
        angle: Array = variable.period / (2 * np.pi) * np.sqrt((std**2).sum(axis=1))
        angle = np.minimum(angle, variable.period / np.sqrt(12))
        return angle
    single: Array = std[:, 0]
    return single
