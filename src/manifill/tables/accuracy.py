"""Accuracy of the imputed values of each column of a table, in the units of the column."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from manifill._arrays import Array
from manifill._messages import MEASURED, text_table
from manifill._validation import Accuracy, Errors
from manifill.tables.encoding import Encoding, Field
from manifill.tables.times import DAY, TIMES
from manifill.tables.variables import Cyclic, Quantity, Variable

# Entries that supplement the held-out ones of a column: of the error before decoding, and wrong ones. Set by
# hand, not tuned.
_PRIOR_ENTRIES, _WRONG_ENTRIES = 5.0, 0.5


@dataclass(frozen=True)
class VariableAccuracy:
    """Expected accuracy of the imputed values of one column, measured on known values that were held out.

    If values are missing because of their own size, errors are larger.

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
        header = ("column", "missing", "typical error", "of mean or mode", "ratio", "held out", "measured as")
        return f"{text_table(header, map(_cells, self), left=(0, 6))}\n{MEASURED}"


def _cells(one: VariableAccuracy) -> tuple[object, ...]:
    how = "share that is wrong" if one.measure == "wrong" else "root mean square error"
    note = ": no better than the mean or mode" if one.relative >= 1 and one.missing else ""
    errors = (f"{one.error:.4g}", f"{one.simple_error:.4g}", f"{one.relative:.2f}")
    return one.column, f"{one.missing:,}", *errors, f"{one.held_out:,}", how + note


def table_accuracy(encoding: Encoding, numbers: Accuracy, errors: Errors) -> TableAccuracy:
    """Accuracy of the columns of a table, from the accuracy and the errors of the encoded columns."""
    return TableAccuracy(_accuracy(field, numbers, errors) for field in encoding)


def _accuracy(field: Field, numbers: Accuracy, errors: Errors) -> VariableAccuracy:
    variable = field.variable
    own = numbers[field.first]
    missing = int(np.isnan(errors.problem.given[:, field.first]).sum())
    imputed, truth, weight = _held_out(field, errors)
    mean = np.broadcast_to(errors.problem.scaling.mean[field.columns], truth.shape)
    measure, held_out = "error", own.held_out
    if isinstance(variable, Quantity):
        error, simple = (
            _decoded(variable, one, truth, weight, encoded)
            for one, encoded in ((imputed, own.error), (mean, own.mean_error))
        )
    elif len(truth):
        measure, error = score(variable, imputed, truth, weight)
        _, simple = score(variable, mean, truth, weight)
        if measure == "wrong":  # few held-out entries raise the claim
            total = float(weight.sum())
            error, simple = (
                (one * total + _WRONG_ENTRIES) / (total + _WRONG_ENTRIES) for one in (error, simple)
            )
        empty = (len(errors.problem.given) - len(errors.problem.rows)) / max(missing, 1)
        error, held_out = (1 - empty) * error + empty * simple, len(truth)
    else:
        error, simple, held_out = math.nan, math.nan, 0
    return VariableAccuracy(field.name, field.kind, measure, error, simple, held_out, missing)


def _decoded(variable: Quantity, imputed: Array, truth: Array, weight: Array, error: float) -> float:
    """The RMS error of encoded values → that of the values, which are rounded or not their logarithm.

    Both errors of the held-out entries give the factor. `_PRIOR_ENTRIES` more entries have the factor 1, or,
    for logarithms, that of small errors: rounding can make all errors 0.
    """
    scale = DAY if variable.kind in TIMES else 1.0
    if not (variable.log or variable.step) or not len(truth) or not weight.sum() > 0:
        return error / scale
    values = variable.decode(truth).astype(np.float64)
    # Encoded errors and those of the values are divided by their sizes, whose squares could overflow.
    size = after_size = error or 1.0
    slope2 = 1.0
    if variable.log:
        size, after_size = 1.0, float(np.abs(values + variable.offset).max()) or 1.0
        slope2 = float(np.average(((values + variable.offset) / after_size) ** 2, weights=weight))
    differences = values / after_size - variable.decode(imputed).astype(np.float64) / after_size
    prior = _PRIOR_ENTRIES * (error / size) ** 2
    before = float((weight * ((truth - imputed)[:, 0] / size) ** 2).sum()) + prior
    after = float((weight * differences**2).sum()) + prior * slope2
    return error * math.sqrt(after / before) * (after_size / size) / scale if before > 0 else 0.0


def score(variable: Variable, imputed: Array, truth: Array, weight: Array | None = None) -> tuple[str, float]:
    """Measure and its value for encoded values (h, width), weighted; see `VariableAccuracy.measure`."""
    values, true_values = variable.decode(imputed), variable.decode(truth)
    weight = weight if weight is not None and weight.sum() > 0 else None
    if variable.chosen or variable.kind == "ordered":
        return "wrong", float(np.average(values != true_values, weights=weight))
    difference = values.astype(np.float64) - true_values.astype(np.float64)
    if isinstance(variable, Cyclic):
        difference = (difference + variable.period / 2) % variable.period - variable.period / 2
    if isinstance(variable, Quantity) and variable.kind in TIMES:
        difference = difference / DAY
    return "error", float(np.sqrt(np.average(difference**2, weights=weight)))


def _held_out(field: Field, errors: Errors) -> tuple[Array, Array, Array]:
    """Imputed and true encoded values (h, width) of the held-out entries of a column; their weights (h,)."""
    evidence, scaling = errors.evidence, errors.problem.scaling
    columns = np.arange(field.first, field.columns.stop)
    selected = [np.flatnonzero(evidence.columns == column) for column in columns]
    if len({len(one) for one in selected}) > 1:  # a level is too rare to be held out
        selected = [one[:0] for one in selected]
    std, mean, largest = scaling.deviation[columns], scaling.mean[columns], np.finfo(np.float64).max
    with np.errstate(over="ignore"):  # near the largest float
        imputed, truth = (
            np.clip(np.column_stack([values[one] for one in selected]) * std + mean, -largest, largest)
            for values in (evidence.found, evidence.truth)
        )
    return imputed, truth, evidence.weight[selected[0]]


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
