"""Compare a table before and after it was filled, with readers that share nothing with manifill's."""

import csv
import datetime
import decimal
import io
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

from fuzz.case import Failure

NOT_FILLED = ("text", "identifier", "empty")
"""Types of columns whose missing cells stay missing."""
MISSING = ("NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?")
"""Texts that mean a missing value, unless --missing-values is given."""

csv.field_size_limit(10_000_000)
Cells = list[list[Any]]


def text_rows(content: bytes, delimiter: str, encoding: str) -> Cells:
    """Rows of delimited text without blank lines; those between the cells of a single column are cells."""
    text = content.decode("utf-8-sig" if encoding == "utf-8" else encoding)
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    while rows and not rows[-1]:
        rows.pop()
    while rows and not rows[0]:
        rows.pop(0)
    return [row or [""] for row in rows if row or len(rows[0]) == 1]


def is_missing(cell: Any, codes: Sequence[str] = MISSING) -> bool:
    """Does the cell mean a missing value? Text: blank, a code or NaN; otherwise None, NaN, NaT or NA."""
    if isinstance(cell, str):
        text = cell.strip()
        return not text or text in {code.strip() for code in codes} or text.lower().lstrip("+-") == "nan"
    if isinstance(cell, float | decimal.Decimal):
        return math.isnan(cell)
    if isinstance(cell, complex):
        return math.isnan(cell.real)
    return cell is None or type(cell).__name__ in ("NAType", "NaTType")


def check_fill(
    before: Cells,
    after: Cells,
    columns: Sequence[dict[str, Any]] | None,
    *,
    chosen: Sequence[str] = (),
    missing: Callable[[Any], bool] = is_missing,
    same: Callable[[Any, Any], bool] | None = None,
    named: str = "",
) -> None:
    """Raise Failure if the filled table is not what it must be.

    Parameters
    ----------
    before, after : rows of cells, without names of columns.
    columns : the columns of the summary; None: not known, then `named` must name what is not filled.
    chosen : the columns that are to be filled; empty: all.
    missing : tells which cells are missing.
    same : tells whether two known cells are equal; None: they and their types are.
    named : the summary in words.
    """
    if len(before) != len(after):
        raise Failure("rows", f"{len(before)} before, {len(after)} after")
    same = same or (lambda a, b: a == b and type(a) is type(b))
    width = len(before[0]) if before else 0
    if columns is not None and len(columns) != width:
        raise Failure("summary", f"{len(columns)} columns for {width}")
    if any(len(old) != width or len(new) < width for old, new in zip(before, after, strict=True)):
        raise Failure("width", f"{width} columns before, {sorted({len(row) for row in after})} after")
    for j in range(width):
        pairs = [(row[j], new[j]) for row, new in zip(before, after, strict=True)]
        for i, (old, new) in enumerate(pairs):
            if not missing(old) and not same(old, new):
                raise Failure("known cell changed", f"row {i}, column {j}: {old!r:.200} became {new!r:.200}")
        holes = [(old, new) for old, new in pairs if missing(old)]
        _check_holes(j, holes, None if columns is None else columns[j], chosen, named)


def _check_holes(
    j: int, holes: list[tuple[Any, Any]], column: dict[str, Any] | None, chosen: Sequence[str], named: str
) -> None:
    """Missing cells of one column: all are filled, or none and the summary tells why."""
    left = [old for old, new in holes if is_missing(new, ())]
    if column is None:
        if left and "Not filled: " not in named:
            raise Failure("missing cell left", f"{len(left)} in column {j}, and the summary does not say so")
        return
    if column["missing"] != len(holes):
        raise Failure("summary", f"column {j}: {column['missing']} missing, in truth {len(holes)}")
    if column["type"] in NOT_FILLED or (chosen and column["name"] not in chosen):
        wrong = [(old, new) for old, new in holes if not _unchanged(old, new)]
        if wrong or column["filled"] or not column["because"]:
            raise Failure("column changed that is not filled", f"column {column}: {wrong[:3]}")
    elif left or column["filled"] != len(holes):
        raise Failure("missing cell left", f"{len(left)} of {len(holes)} in column {column}")


def _unchanged(old: Any, new: Any) -> bool:
    return old == new or new is None or (is_missing(old) and is_missing(new))  # None: missing in a typed file


def check_intervals(names: Sequence[str], rows: Cells, width: int) -> None:
    """Additional columns come in pairs, NAME_low and NAME_high, and low is not above high."""
    extra = range(width, len(names))
    ends = [(names[j], names[j + 1]) for j in extra[::2] if j + 1 < len(names)]
    if len(extra) % 2 or any(low[:-4] != high[:-5] for low, high in ends):
        raise Failure("intervals", f"columns {names[width:]}")
    for j in extra[::2]:
        for row in rows:
            low, high = (_ordered(cell) for cell in row[j : j + 2])
            if type(low) is type(high) and low is not None and low > high:
                raise Failure("intervals", f"column {names[j]!r}: from {row[j]!r} to {row[j + 1]!r}")


def _ordered(cell: Any) -> Any:
    """A number or a moment that can be compared; None for other cells."""
    if isinstance(cell, str) and re.match(r"\d{4}-\d\d-\d\d", cell):
        return cell
    if isinstance(cell, datetime.date | datetime.time | datetime.timedelta):
        return cell
    try:
        return None if is_missing(cell) else float(cell.replace(",", ".") if isinstance(cell, str) else cell)
    except (TypeError, ValueError):
        return None


def agrees(a: Any, b: Any) -> bool:
    """Do known cells of files of different formats hold the same value? True if they cannot be compared."""
    if isinstance(b, str) and not isinstance(a, str):
        a, b = b, a
    if isinstance(a, str) and not isinstance(b, str):
        return _text_agrees(a, b)
    numbers = (int, float, decimal.Decimal)
    if isinstance(a, numbers) and isinstance(b, numbers):
        return a == b or float(a) == float(b)
    moments = [
        datetime.datetime(one.year, one.month, one.day) if type(one) is datetime.date else one
        for one in (a, b)
    ]
    if all(isinstance(one, datetime.datetime) for one in moments):
        if any(one.tzinfo is None for one in moments):  # the time zone is not compared
            moments = [one.replace(tzinfo=None) for one in moments]
        return abs((moments[0] - moments[1]).total_seconds()) < 1e-3
    return type(a) is not type(b) or a == b


def agrees_in_excel(a: Any, b: Any) -> bool:
    """The same for .xlsx files, which hold 15 digits of a number."""
    try:
        if isinstance(a, str) and isinstance(b, str) and a == b.removesuffix("+00:00") + "Z":
            return True  # the same zone
        return agrees(a, b) or math.isclose(float(a), float(b), rel_tol=1e-15)
    except (TypeError, ValueError):
        return False


def agrees_in_type(a: Any, b: Any) -> bool:
    """The same within a format: text stays text, numbers stay numbers."""
    kinds = [isinstance(one, str) for one in (a, b)]
    return kinds[0] == kinds[1] and agrees_in_excel(a, b)


def _text_agrees(text: str, value: Any) -> bool:
    try:
        if isinstance(value, bool):
            return text.strip().lower() in (str(value).lower(), "1" if value else "0")
        if isinstance(value, int):
            return decimal.Decimal(text) == value
        if isinstance(value, float):
            return float(text) == value or not math.isfinite(value)
        if isinstance(value, decimal.Decimal):
            return decimal.Decimal(text) == value
        if isinstance(value, datetime.date):
            return agrees(datetime.datetime.fromisoformat(text), value)
    except (ValueError, decimal.InvalidOperation):
        pass  # another notation, such as 12 % or 3,5
    return True
