"""Columns of text files: what their cells hold, found out one by one, and how fills are written like them."""

import datetime
import math
import re
from array import array
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from manifill._arrays import Mask
from manifill.errors import InvalidInput
from manifill.tables.frames import moment, plain_time
from manifill.tables.variables import Plain

# Different words of a column beyond which it is text, whatever they are.
_MOST_WORDS = 100_000
# The share of other cells up to which a column is one of numbers with mistakes in it.
_MISTAKES = 0.1
# Whole numbers up to which a float holds each.
_EXACT = 2**53
_INTEGER = re.compile(r"[+-]?\d+")
_LEADING_ZERO = re.compile(r"[+-]?0\d")
# How dates and times are written; where two of them fit, a column is not taken for one.
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
    """A column of a file: numbers, or codes of words.

    Attributes
    ----------
    holds : as of any column of a table.
    words : the different words in it, in the order of their codes; empty for numbers.
    decimal : the decimal mark of its numbers.
    form : how its dates are written.
    """

    name: str
    holds: str
    missing: Mask
    numbers: Plain | None = None
    codes: Plain | None = None
    words: list[str] = field(default_factory=list)
    decimal: str = "."
    form: str = ""
    declared: bool = False
    type_name: str = "text"

    def plain(self) -> Plain:
        if self.numbers is not None:
            return self.numbers
        values = np.empty(len(self.missing), dtype=object)
        if self.codes is not None:
            known = np.array([*self.words, None], dtype=object)
            values[:] = known[self.codes]
        return values

    def levels(self) -> tuple[Any, ...]:
        if self.numbers is not None:
            values: list[Any] = np.unique(self.numbers[~self.missing]).tolist()
            return tuple(values)
        return tuple(sorted(self.words))

    def written(self, values: Plain) -> list[str]:
        """Values as this file writes them."""
        if self.holds in ("date", "date and time", "time"):
            moments = [moment(value) for value in values.tolist()]
            return [one.strftime(self.form.replace("%Y", f"{one.year:04}")) for one in moments]
        if self.holds == "boolean":
            true = next((word for word in self.words if word.lower() == "true"), "true")
            false = next((word for word in self.words if word.lower() == "false"), "false")
            return [true if value else false for value in values.tolist()]
        if self.holds == "integer":
            return [str(round(value)) for value in values.tolist()]
        if self.holds == "number":
            digits = self._digits()
            texts = [repr(round(value, digits)) for value in values.tolist()]
            return texts if self.decimal == "." else [text.replace(".", self.decimal) for text in texts]
        return [str(value) for value in values.tolist()]

    def become(self, holds: str) -> bool:
        """Take a column in which everything is missing for one that holds this; says whether it can."""
        forms = {"date": "%Y-%m-%d", "date and time": "%Y-%m-%d %H:%M:%S", "time": "%H:%M:%S"}
        if not self.missing.all() or holds not in (*forms, "number", "integer", "boolean"):
            return False
        self.holds, self.form = holds, forms.get(holds, "")
        self.numbers = np.full(len(self.missing), np.nan)
        return True

    def _digits(self) -> int:
        """Digits after the point, for the last one to be a millionth of the column's spread."""
        assert self.numbers is not None
        known = self.numbers[~self.missing]
        spread = float(known.max() - known.min()) if len(known) else 0.0
        size = spread or float(np.abs(known).max(initial=1.0)) or 1.0
        return max(0, min(300, 6 - math.floor(math.log10(size))))


class ColumnBuilder:
    """Finds out what a column holds, cell by cell."""

    def __init__(self, name: str, delimiter: str, words: bool) -> None:
        self.name = name
        self._marks = (".",) if delimiter == "," else (".", ",")
        self._numbers = None if words else array("d")
        self._codes = array("i")
        self._place: dict[str, int] | None = {}
        self._whole = True
        self._decimal = "."
        self._n_numbers = self._n_words = 0
        self._first_word: tuple[int, str] | None = None
        self._first_number: tuple[int, str] | None = None

    def add(self, cell: str | None, line: int) -> None:
        value = math.nan
        if cell is not None and self._numbers is not None:
            value = self._value(cell, line)
        if self._numbers is not None:
            self._numbers.append(value)
        if self._place is None:
            self._codes.append(-1 if cell is None else 0)
            return
        code = -1
        if cell is not None:
            code = self._place.setdefault(cell, len(self._place))
        self._codes.append(code)
        if len(self._place) > _MOST_WORDS:
            self._place = None

    def _value(self, cell: str, line: int) -> float:
        whole = _INTEGER.fullmatch(cell) is not None
        number = None if whole and _LEADING_ZERO.match(cell) else number_in(cell)
        if whole and number is not None and _EXACT < abs(number) < math.inf and int(cell) != number:
            number = None  # an identifier, which a number would change
        if number is None and "," in self._marks and "," in cell:
            number = number_in(cell.replace(",", "."))
            self._decimal = "," if number is not None else self._decimal
        if number is None:
            self._n_words += 1
            self._first_word = self._first_word or (line, cell)
            return math.nan
        if math.isinf(number):
            self._first_number = self._first_number or (line, cell)
        self._n_numbers += 1
        self._whole = self._whole and whole
        return number

    def finished(self, path: Path) -> TextColumn:
        codes = np.frombuffer(self._codes, dtype=np.int32).astype(np.int64)
        missing = codes < 0
        numeric = self._numbers is not None and self._n_numbers > 0
        if numeric and self._n_words == 0:
            if self._first_number is not None:
                line, cell = self._first_number
                raise InvalidInput(
                    f"Numbers must be finite; line {line} of {path}, column {self.name!r}, is "
                    f"{_shortened(cell)}, which is larger than any number can be. Mend the cell."
                )
            numbers = np.frombuffer(self._numbers, dtype=np.float64)  # type: ignore[arg-type]
            holds = "integer" if self._whole else "number"
            return TextColumn(self.name, holds, missing, numbers, decimal=self._decimal, type_name=holds)
        if numeric and self._n_words <= _MISTAKES * (self._n_words + self._n_numbers):
            raise self._mistake(path)
        if self._place is None:
            many = f"text, with more than {_MOST_WORDS:,} different values"
            return TextColumn(self.name, "other", missing, type_name=many)
        words = list(self._place)
        column = TextColumn(self.name, "label", missing, codes=codes, words=words)
        return _as_dates(column) or _as_flags(column) or column

    def _mistake(self, path: Path) -> InvalidInput:
        assert self._first_word is not None
        line, cell = self._first_word
        others = f", and {self._n_words - 1:,} more such cells" if self._n_words > 1 else ""
        return InvalidInput(
            f"Column {self.name!r} of {path} holds numbers, but line {line} is {_shortened(cell)}{others}. "
            f'Mend it, say --missing-values "…,{cell[:20]}" if it stands for a missing value, or --types '
            f'"{self.name}=text" to hand the column through.'
        )


def _as_dates(column: TextColumn) -> TextColumn | None:
    """The column as one of dates or times, if all words are, written in one way."""
    fitting = [
        form for form in _FORMATS if all(_moment(word, form) is not None for word in column.words[:50])
    ]
    fitting = [form for form in fitting if all(_moment(word, form) is not None for word in column.words)]
    if len(fitting) != 1 or column.codes is None:
        return None
    form = fitting[0]
    moments = np.array([*(_moment(word, form) for word in column.words), math.nan], dtype=np.float64)
    return TextColumn(
        column.name,
        _FORMATS[form],
        column.missing,
        moments[column.codes],
        form=form,
        type_name=_FORMATS[form],
    )


def _as_flags(column: TextColumn) -> TextColumn | None:
    """The column as one of true and false, if that is what its words are."""
    if not column.words or not {word.lower() for word in column.words} <= {"true", "false"}:
        return None
    assert column.codes is not None
    values = np.array([*(word.lower() == "true" for word in column.words), math.nan], dtype=np.float64)
    return TextColumn(
        column.name, "boolean", column.missing, values[column.codes], words=column.words, type_name="boolean"
    )


def _moment(word: str, form: str) -> float | None:
    try:
        found = datetime.datetime.strptime(word, form)
    except ValueError:
        return None
    holds = _FORMATS[form]
    return plain_time(holds, found.time() if holds == "time" else found)


def number_in(cell: str) -> float | None:
    """The number that a cell is; None where it is none."""
    if "_" in cell:
        return None
    try:
        return float(cell)
    except ValueError:
        return None


def _shortened(cell: str) -> str:
    return repr(cell) if len(cell) <= 40 else f"{cell[:20]!r}… ({len(cell):,} letters or digits)"
