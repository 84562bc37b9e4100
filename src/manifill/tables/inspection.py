"""Missing values of a table: counts, patterns, and a test whether they are missing completely at random."""

import math
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from scipy.special import stdtr

from manifill._arrays import Array, Mask
from manifill.errors import InvalidInput
from manifill.tables.encoding import Encoding, Fields
from manifill.tables.source import Source

# Minimum number of values in both groups of a comparison. Set by hand, not tuned.
_MIN_VALUES = 5
# Maximum number of patterns that are listed.
_MAX_PATTERNS = 12
# Maximum number of columns to compare: those with most missing values, each with the first ones of the table.
_MAX_COMPARED = 100


@dataclass(frozen=True)
class Pattern:
    """A set of columns, and the number of rows in which exactly these are missing."""

    columns: tuple[Any, ...]
    rows: int


@dataclass(frozen=True)
class Relation:
    """Mean of `other` where `column` is missing minus where it is observed, in standard deviations."""

    column: Any
    other: Any
    difference: float
    p_value: float


@dataclass(frozen=True, eq=False)
class Inspection:
    """Missing values of a table.

    Attributes
    ----------
    fields : kind of every column, and the reason.
    missing : number of missing values of every column.
    rows, cells : number of rows, and of cells.
    complete_rows, empty_rows : number of rows without missing values, and without observed values.
    patterns : columns missing together, the most frequent patterns first.
    relations : significant evidence against missing completely at random (MCAR), by increasing p-value; 5 %
        level with Holm's correction for `tests`.
    tests : number of comparisons (Welch's t-test).
    """

    fields: Fields
    missing: dict[Any, int]
    rows: int
    cells: int
    complete_rows: int
    empty_rows: int
    patterns: tuple[Pattern, ...]
    relations: tuple[Relation, ...]
    tests: int

    @property
    def likely_mcar(self) -> bool | None:
        """True if no comparison rejects MCAR; None if nothing could be compared."""
        return None if not self.tests else not self.relations

    @property
    def verdict(self) -> str:
        """The result of the tests as text."""
        if not any(self.missing.values()):
            return "Nothing is missing."
        if self.likely_mcar is None:
            return "There are too few values to test whether they are missing completely at random."
        if self.likely_mcar:
            return (
                f"{self.tests} comparisons give no evidence against values missing completely at random."
                " (A dependence on the missing values themselves cannot be detected.)"
            )
        first = self.relations[0]
        more = "larger" if first.difference > 0 else "smaller"
        return (
            f"Values are not missing completely at random: where {first.column!s} is missing, "
            f"{first.other!s} is {more} by {abs(first.difference):.2f} standard deviations (p = "
            f"{first.p_value:.1g}). Fills follow the known values of the other columns. If values are also "
            "missing because of their own size, which no test can detect, fills are biased."
        )


def inspect(table: Source, types: Any = None) -> Inspection:
    """Count the missing values of a table and test whether they are missing completely at random."""
    if not len(table) or not table.names:
        raise InvalidInput(f"A table must have rows and columns; got {len(table)} × {len(table.names)}.")
    encoding = Encoding.of(table, types, None)
    M = np.column_stack([table.column(name).missing for name in table.names])
    relations, tests = _relations(encoding, encoding.encode(table), M, table.names)
    return Inspection(
        fields=encoding.fields,
        missing={name: int(M[:, j].sum()) for j, name in enumerate(table.names)},
        rows=len(table),
        cells=M.size,
        complete_rows=int((~M.any(axis=1)).sum()),
        empty_rows=int(M.all(axis=1).sum()),
        patterns=_patterns(M, table.names),
        relations=relations,
        tests=tests,
    )


def _patterns(M: Mask, names: list[Any]) -> tuple[Pattern, ...]:
    found, counts = np.unique(np.packbits(M, axis=1), axis=0, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:_MAX_PATTERNS]
    masks = np.unpackbits(found[order], axis=1, count=M.shape[1]).astype(bool)
    return tuple(
        Pattern(tuple(name for name, missing in zip(names, mask, strict=True) if missing), int(counts[i]))
        for mask, i in zip(masks, order, strict=True)
    )


def _relations(encoding: Encoding, X: Array, M: Mask, names: list[Any]) -> tuple[tuple[Relation, ...], int]:
    """Significant relations between columns and missingness, and the number of tests."""
    found: list[Relation] = []
    most = np.argsort(-M.sum(axis=0), kind="stable")[:_MAX_COMPARED]
    for j in most.tolist():
        name, missing = names[j], M[:, j]
        for field in islice(encoding, _MAX_COMPARED):
            if field.name == name:
                continue
            for column in range(field.first, field.columns.stop):
                relation = _compare(X[:, column], missing, name, field.name)
                if relation is not None:
                    found.append(relation)
    found.sort(key=lambda relation: relation.p_value)
    significant = []
    for i, relation in enumerate(found):
        if relation.p_value > 0.05 / (len(found) - i):
            break
        significant.append(relation)
    return tuple(significant), len(found)


def _compare(values: Array, missing: Mask, name: Any, other: Any) -> Relation | None:
    """Welch's t-test of the values of `other`, grouped by whether `name` is missing."""
    values = values / (float(np.nanmax(np.abs(values), initial=0.0)) or 1.0)  # squares must not overflow
    a, b = values[missing & ~np.isnan(values)], values[~missing & ~np.isnan(values)]
    std = float(np.nanstd(values)) if len(a) and len(b) else 0.0
    if min(len(a), len(b)) < _MIN_VALUES or std == 0 or (a.std() == 0 and b.std() == 0):
        return None
    difference = float(a.mean() - b.mean())
    variances = a.var(ddof=1) / len(a), b.var(ddof=1) / len(b)
    df = sum(variances) ** 2 / (variances[0] ** 2 / (len(a) - 1) + variances[1] ** 2 / (len(b) - 1))
    p = 2 * float(stdtr(df, -abs(difference) / math.sqrt(sum(variances))))
    return Relation(name, other, difference / std, p)
