"""How well each column of a table is filled, in its own terms."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from manifill.arrays import Array
from manifill.tables.encoding import Encoding, Field
from manifill.tables.variables import Quantity
from manifill.tuning import Accuracy
from manifill.uncertainty import Errors


@dataclass(frozen=True)
class VariableAccuracy:
    """What to expect of a column's fills.

    Attributes
    ----------
    column, kind : its name, and what it was taken for.
    measure : "error", a root mean square in the column's units, or "wrong", the share of wrong values.
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
        return VariableAccuracy(
            field.name, field.word, "error", own.error, own.mean_error, own.hidden, missing
        )
    found, truth = _hidden(field, errors)
    if not len(truth):
        return VariableAccuracy(field.name, field.word, "error", math.nan, math.nan, 0, missing)
    if variable.chosen or variable.kind == "ordered":
        right = variable.decode(truth)
        values, counts = np.unique(_codes(right), return_counts=True)
        simple = 1 - counts.max() / counts.sum() if len(values) > 1 else 0.0
        wrong = float(np.mean(variable.decode(found) != right))
        return VariableAccuracy(field.name, field.word, "wrong", wrong, float(simple), len(truth), missing)
    apart = variable.decode(found).astype(float) - variable.decode(truth).astype(float)
    simple_apart = variable.decode(truth).astype(float)
    if variable.kind == "cyclic":
        period = float(getattr(variable, "period"))  # noqa: B009
        apart = (apart + period / 2) % period - period / 2
        mean = variable.decode(truth.mean(axis=0, keepdims=True)).astype(float)[0]
        simple_apart = (simple_apart - mean + period / 2) % period - period / 2
    else:
        simple_apart = simple_apart - simple_apart.mean()
    rms = [float(np.sqrt(np.mean(one**2))) for one in (apart, simple_apart)]
    return VariableAccuracy(field.name, field.word, "error", rms[0], rms[1], len(truth), missing)


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


def _codes(values: Any) -> Array:
    """Any values as numbers, the same for the same."""
    place: dict[Any, int] = {}
    return np.array([place.setdefault(value, len(place)) for value in values.tolist()], dtype=float)
