"""Kinds of the columns of new rows, and of the column with the times of the rows."""

from typing import Any

from manifill.errors import InvalidInput
from manifill.tables import Cyclic, Encoding, Field, Flag, Quantity, Source
from manifill.tables.frames import Frame
from manifill.tables.source import SourceColumn
from manifill.tables.times import TIMES


def with_fitted_kinds(table: Source, encoding: Encoding) -> Source:
    """The table, with columns without observed values converted to the kinds of the fit."""
    empty = {}
    for field in encoding:
        column: Any = table.column(field.name)
        if _has_kind(field, column):
            continue
        if not column.missing.all() or not isinstance(table, Frame):
            raise InvalidInput(
                f"New rows must have the column types of the fit; column {field.name!r} was treated as "
                f"{field.kind}, and now holds {column.type_name}. Convert it."
            )
        levels = getattr(field.variable, "levels", ())
        numeric = bool(levels) and all(isinstance(level, float) for level in levels)
        empty[field.name] = "number" if numeric else field.kind
    return table.with_types(empty) if empty and isinstance(table, Frame) else table


def _has_kind(field: Field, column: Any) -> bool:
    """True if a column of new rows holds values of the kind of the fit."""
    kind = field.kind
    if isinstance(field.variable, Quantity | Cyclic):
        fits = column.holds == kind if kind in TIMES else column.holds in ("integer", "number", "decimal")
    elif isinstance(field.variable, Flag):
        fits = column.holds in ("boolean", "integer", "number")
    else:
        fits = "label" in column.holds or (column.holds not in ("other", *TIMES) and not column.missing.all())
    return bool(fits)


def time_problem(column: SourceColumn | None) -> str:
    """Why a column cannot be the time of the rows; empty if it can."""
    if column is None:
        return "which does not exist"
    if column.holds not in ("integer", "number", *TIMES):
        return f"which holds {column.type_name}"
    return f"of which {int(column.missing.sum())} values are missing" if column.missing.any() else ""


def possible_times(table: Source) -> list[str]:
    columns = (table.column(name) for name in table.names)
    return [str(one.name) for one in columns if not time_problem(one)]
