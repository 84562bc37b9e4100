"""What is missing of a table, in which patterns, and whether it is missing at random."""

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

# Values that a column needs on both sides for a comparison, and patterns that are listed.
_FEW = 5
_PATTERNS = 12
# Columns that are compared with one another: those that lack most, and the first.
_COMPARED = 100


@dataclass(frozen=True)
class Pattern:
    """Columns that are missing together, and in how many rows just these are."""

    columns: tuple[Any, ...]
    rows: int


@dataclass(frozen=True)
class Relation:
    """Rows in which `column` is missing differ in `other`, by so many standard deviations."""

    column: Any
    other: Any
    difference: float
    p_value: float


@dataclass(frozen=True, eq=False)
class Inspection:
    """What was found.

    Attributes
    ----------
    fields : what the columns were taken for, and why.
    missing : for every column the number of missing values.
    rows, cells : numbers of rows, and of cells.
    complete_rows, empty_rows : rows that lack nothing, and everything.
    patterns : the most frequent ones first.
    relations : where it shows that values are not missing completely at random; the clearest first.
    tests : how many comparisons that was found in; p-values below .05 over this number are not chance (Holm).
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
        """Could values be missing completely at random? None where nothing could be compared."""
        return None if not self.tests else not self.relations

    @property
    def verdict(self) -> str:
        """The same in words."""
        if not any(self.missing.values()):
            return "Nothing is missing."
        if self.likely_mcar is None:
            return "There is too little to compare: whether values are missing at random cannot be told."
        if self.likely_mcar:
            return (
                f"In {self.tests} comparisons nothing shows that values are not missing completely at random."
                " (That they depend on the missing values themselves cannot be seen.)"
            )
        first = self.relations[0]
        more = "larger" if first.difference > 0 else "smaller"
        return (
            f"Values are not missing completely at random: where {first.column!s} is missing {first.other!s} "
            f"is {more}, by {abs(first.difference):.2f} standard deviations (p = {first.p_value:.1g}). Fills "
            "take that into account as far as the other columns tell it."
        )


def inspect(table: Source, types: Any = None) -> Inspection:
    """Look at a table."""
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
    order = np.argsort(-counts, kind="stable")[:_PATTERNS]
    masks = np.unpackbits(found[order], axis=1, count=M.shape[1]).astype(bool)
    return tuple(
        Pattern(tuple(name for name, gone in zip(names, mask, strict=True) if gone), int(counts[i]))
        for mask, i in zip(masks, order, strict=True)
    )


def _relations(encoding: Encoding, X: Array, M: Mask, names: list[Any]) -> tuple[tuple[Relation, ...], int]:
    """Compare every column where another is missing with where it is not, by Welch's test."""
    found: list[Relation] = []
    most = np.argsort(-M.sum(axis=0), kind="stable")[:_COMPARED]
    for j in most.tolist():
        name, gone = names[j], M[:, j]
        for field in islice(encoding, _COMPARED):
            if field.name == name:
                continue
            for column in range(field.first, field.columns.stop):
                relation = _compare(X[:, column], gone, name, field.name)
                if relation is not None:
                    found.append(relation)
    found.sort(key=lambda relation: relation.p_value)
    clear = []
    for i, relation in enumerate(found):
        if relation.p_value > 0.05 / (len(found) - i):
            break
        clear.append(relation)
    return tuple(clear), len(found)


def _compare(values: Array, gone: Mask, name: Any, other: Any) -> Relation | None:
    there, here = values[gone & ~np.isnan(values)], values[~gone & ~np.isnan(values)]
    spread = float(np.nanstd(values)) if len(there) and len(here) else 0.0
    if min(len(there), len(here)) < _FEW or spread == 0 or (there.std() == 0 and here.std() == 0):
        return None
    gap = float(there.mean() - here.mean())
    parts = there.var(ddof=1) / len(there), here.var(ddof=1) / len(here)
    df = sum(parts) ** 2 / (parts[0] ** 2 / (len(there) - 1) + parts[1] ** 2 / (len(here) - 1))
    p = 2 * float(stdtr(df, -abs(gap) / math.sqrt(sum(parts))))
    return Relation(name, other, gap / spread, p)
