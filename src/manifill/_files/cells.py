"""Columns of text files: infer their type from the cells, and format imputed values like the cells."""

import datetime
import math
import re
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from manifill._arrays import Mask
from manifill.errors import InvalidInput
from manifill.tables.times import moment, plain_time
from manifill.tables.variables import Plain

# Maximum number of distinct strings to store per column; a column with more is text.
_MAX_DISTINCT = 100_000
# Share of cells that are not numbers up to which a column counts as numeric with invalid cells, which is an
# error; above it the column is text. Set by hand, not tuned.
_MAX_INVALID_SHARE = 0.1
# Up to here a float represents every integer exactly.
_MAX_EXACT = 2**53
_INTEGER = re.compile(r"[+-]?\d+")
_LEADING_ZERO = re.compile(r"[+-]?0\d")
# strptime formats of dates and times. A column that fits two of them is ambiguous and stays text.
_FORMATS = {
    "%Y-%m-%d": "date",
    "%Y/%m/%d": "date",
    "%d.%m.%Y": "date",
    "%d/%m/%Y": "date",
    "%m/%d/%Y": "date",
    "%Y-%m-%d %H:%M": "date and time",
    "%Y-%m-%dT%H:%M": "date and time",
    "%Y-%m-%d %H:%M:%S": "date and time",
    "%Y-%m-%dT%H:%M:%S": "date and time",
    "%Y-%m-%dT%H:%M:%SZ": "date and time",
    "%d/%m/%Y %H:%M": "date and time",
    "%m/%d/%Y %H:%M": "date and time",
    "%d.%m.%Y %H:%M": "date and time",
    "%H:%M": "time",
    "%H:%M:%S": "time",
}


@dataclass(eq=False)
class TextColumn:
    """A column of a text file, stored as numbers or as codes of labels; see `SourceColumn`.

    Attributes
    ----------
    numbers : (n,), numbers or times; None for labels.
    codes : (n,), index of each cell in `labels`, -1 where missing; None for numbers.
    labels : distinct cells; empty for numbers.
    decimal : decimal separator of its numbers.
    time_format : strptime format of its dates and times.
    """

    name: str
    holds: str
    missing: Mask
    numbers: Plain | None = None
    codes: Plain | None = None
    labels: list[str] = field(default_factory=list)
    decimal: str = "."
    time_format: str = ""
    declared: bool = False
    type_name: str = "text"
    _adopted_digits: int | None = None

    def plain(self) -> Plain:
        if self.numbers is not None:
            return self.numbers
        values = np.empty(len(self.missing), dtype=object)
        if self.codes is not None:
            labels = np.array([*self.labels, None], dtype=object)
            values[:] = labels[self.codes]
        return values

    def levels(self) -> tuple[Any, ...]:
        if self.numbers is not None:
            values: list[Any] = np.unique(self.numbers[~self.missing]).tolist()
            return tuple(values)
        return tuple(sorted(self.labels))

    def written(self, values: Plain) -> list[str]:
        """Values formatted like the cells of the column."""
        if self.holds in ("date", "date and time", "time"):
            times = [moment(value) for value in values.tolist()]
            return [one.strftime(self.time_format.replace("%Y", f"{one.year:04}")) for one in times]
        if self.holds == "boolean":
            words = {label.lower(): label for label in self.labels}
            like = next(iter(self.labels), "true")
            case = str.upper if like.isupper() else str.title if like[0].isupper() else str.lower
            true, false = (words.get(word, case(word)) for word in ("true", "false"))
            return [true if value else false for value in values.tolist()]
        if self.holds == "integer":
            return [str(round(value)) for value in values.tolist()]
        if self.holds == "number":
            digits = self._digits()
            texts = [repr(round(value, digits)) for value in values.tolist()]
            return texts if self.decimal == "." else [text.replace(".", self.decimal) for text in texts]
        return [str(value) for value in values.tolist()]

    def become(self, holds: str) -> bool:
        """Set the type of a column without observed values; returns whether that is possible."""
        formats = {"date": "%Y-%m-%d", "date and time": "%Y-%m-%d %H:%M:%S", "time": "%H:%M:%S"}
        if not self.missing.all() or holds not in (*formats, "number", "integer", "boolean"):
            return False
        self.holds, self.time_format = holds, formats.get(holds, "")
        self.numbers = np.full(len(self.missing), np.nan)
        return True

    @property
    def notation(self) -> dict[str, Any]:
        """How values of the column are written, for `adopt`."""
        digits = self._digits() if self.holds == "number" else None
        labels = self.labels if self.holds == "boolean" else []
        return {"holds": self.holds, "time_format": self.time_format, "labels": labels, "digits": digits}

    def adopt(self, notation: Mapping[str, Any]) -> None:
        """Write values like those of another column, if this one has no observed value."""
        kinds = [("number", "integer"), ("date", "date and time", "time"), ("boolean",)]
        alike = any(self.holds in kind and notation["holds"] in kind for kind in kinds)
        if self.missing.all() and alike:
            self.holds, self.time_format = notation["holds"], notation["time_format"]
            self.labels, self._adopted_digits = list(notation["labels"]), notation["digits"]

    def _digits(self) -> int:
        """Decimal places such that the last one is about a millionth of the range of the column."""
        assert self.numbers is not None
        if self._adopted_digits is not None:
            return self._adopted_digits
        known = self.numbers[~self.missing]
        span = float(known.max() - known.min()) if len(known) else 0.0
        size = span or float(np.abs(known).max(initial=1.0)) or 1.0
        return max(0, min(300, 6 - math.floor(math.log10(size))))


class ColumnBuilder:
    """Collects the cells of a column and infers what it holds."""

    def __init__(self, name: str, delimiter: str, as_text: bool) -> None:
        self.name = name
        self._separators = (".",) if delimiter == "," else (".", ",")
        self._numbers = None if as_text else array("d")
        self._codes = array("i")
        self._code_of: dict[str, int] | None = {}
        self._integer = True
        self._decimal = "."
        self._n_numbers = self._n_invalid = 0
        self._first_invalid: tuple[int, str] | None = None
        self._first_infinite: tuple[int, str] | None = None

    def add(self, cell: str | None, line: int) -> None:
        value = math.nan
        if cell is not None and self._numbers is not None:
            value = self._value(cell, line)
        if self._numbers is not None:
            self._numbers.append(value)
        if self._code_of is None:
            self._codes.append(-1 if cell is None else 0)
            return
        code = -1
        if cell is not None:
            code = self._code_of.setdefault(cell, len(self._code_of))
        self._codes.append(code)
        if len(self._code_of) > _MAX_DISTINCT:
            self._code_of = None

    def _value(self, cell: str, line: int) -> float:
        integer = _INTEGER.fullmatch(cell) is not None
        number = None if integer and _LEADING_ZERO.match(cell) else number_in(cell)
        if integer and number is not None and _MAX_EXACT < abs(number) < math.inf and int(cell) != number:
            number = None  # probably an identifier, which a float would change
        if number is None and "," in self._separators and "," in cell:
            number = number_in(cell.replace(",", "."))
            self._decimal = "," if number is not None else self._decimal
        if number is None:
            self._n_invalid += 1
            self._first_invalid = self._first_invalid or (line, cell)
            return math.nan
        if math.isinf(number):
            self._first_infinite = self._first_infinite or (line, cell)
        self._n_numbers += 1
        self._integer = self._integer and integer
        return number

    def finished(self, path: Path) -> TextColumn:
        codes = np.frombuffer(self._codes, dtype=np.int32).astype(np.int64)
        missing = codes < 0
        numeric = self._numbers is not None and self._n_numbers > 0
        if numeric and self._n_invalid == 0:
            if self._first_infinite is not None:
                line, cell = self._first_infinite
                raise InvalidInput(
                    f"Numbers must be finite; line {line} of {path}, column {self.name!r}, is "
                    f"{_shortened(cell)}, which is infinite or too large. Correct the cell."
                )
            numbers = np.frombuffer(self._numbers, dtype=np.float64)  # type: ignore[arg-type]
            holds = "integer" if self._integer else "number"
            return TextColumn(self.name, holds, missing, numbers, decimal=self._decimal, type_name=holds)
        if numeric and self._n_invalid <= _MAX_INVALID_SHARE * (self._n_invalid + self._n_numbers):
            raise self._invalid_cell(path)
        if self._code_of is None:
            many = f"text, with more than {_MAX_DISTINCT:,} different values"
            return TextColumn(self.name, "other", missing, type_name=many)
        labels = list(self._code_of)
        column = TextColumn(self.name, "label", missing, codes=codes, labels=labels)
        return _as_dates(column) or _as_flags(column) or column

    def _invalid_cell(self, path: Path) -> InvalidInput:
        assert self._first_invalid is not None
        line, cell = self._first_invalid
        others = f", and {self._n_invalid - 1:,} more cells are not numbers" if self._n_invalid > 1 else ""
        return InvalidInput(
            f"Column {self.name!r} of {path} holds numbers, but line {line} is {_shortened(cell)}{others}. "
            f'Correct the file, use --missing-values "…,{cell[:20]}" if this means a missing value, or '
            f'--types "{self.name}=text" to copy the column unchanged.'
        )


def _as_dates(column: TextColumn) -> TextColumn | None:
    """The column as dates or times; None unless exactly one format fits all labels."""
    fitting = [
        form for form in _FORMATS if all(_parsed(label, form) is not None for label in column.labels[:50])
    ]
    fitting = [form for form in fitting if all(_parsed(label, form) is not None for label in column.labels)]
    if len(fitting) != 1 or column.codes is None:
        return None
    form = fitting[0]
    times = np.array([*(_parsed(label, form) for label in column.labels), math.nan], dtype=np.float64)
    return TextColumn(
        column.name,
        _FORMATS[form],
        column.missing,
        times[column.codes],
        time_format=form,
        type_name=_FORMATS[form],
    )


def _as_flags(column: TextColumn) -> TextColumn | None:
    """The column as booleans; None if it has other labels than true and false."""
    if not column.labels or not {label.lower() for label in column.labels} <= {"true", "false"}:
        return None
    assert column.codes is not None
    values = np.array([*(label.lower() == "true" for label in column.labels), math.nan], dtype=np.float64)
    return TextColumn(
        column.name,
        "boolean",
        column.missing,
        values[column.codes],
        labels=column.labels,
        type_name="boolean",
    )


def _parsed(label: str, form: str) -> float | None:
    """Time in microseconds; None if the label does not have this format."""
    try:
        found = datetime.datetime.strptime(label, form)
    except ValueError:
        return None
    holds = _FORMATS[form]
    return plain_time(holds, found.time() if holds == "time" else found)


def number_in(cell: str) -> float | None:
    """The cell as a number; None if it is not a number."""
    if "_" in cell:
        return None
    try:
        return float(cell)
    except ValueError:
        return None


def _shortened(cell: str) -> str:
    return repr(cell) if len(cell) <= 40 else f"{cell[:20]!r}… ({len(cell):,} characters)"
