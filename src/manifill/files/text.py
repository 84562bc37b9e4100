"""Tables in delimited text: complaints name line and column, and cells that are not missing stay as written.

A file is read twice: once to find out what its columns hold, of which only numbers and codes are kept, and
once to write it with its gaps filled. So a file of a million lines needs little more memory than its numbers.
"""

import csv
import datetime
import math
import re
from array import array
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np

from manifill.arrays import Mask
from manifill.errors import InvalidInput
from manifill.tables.frames import EPOCH, MICROSECOND, plain_time
from manifill.tables.source import Fills
from manifill.tables.variables import Plain

MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?")
"""Cells that stand for a missing value, unless the user says otherwise."""

DELIMITERS = {".csv": ",", ".tsv": "\t"}
# Different words of a column beyond which it is text, whatever they are.
_MOST_WORDS = 100_000
# The share of other cells up to which a column is one of numbers with mistakes in it.
_MISTAKES = 0.1
_LONGEST_CELL = 1_000_000
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
        if self.holds in ("date", "date and time"):
            return [(EPOCH + value * MICROSECOND).strftime(self.form) for value in values.tolist()]
        if self.holds == "time":
            return [(EPOCH + value * MICROSECOND).strftime(self.form) for value in values.tolist()]
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

    def _digits(self) -> int:
        """Digits after the point, for the last one to be a millionth of the column's spread."""
        assert self.numbers is not None
        known = self.numbers[~self.missing]
        spread = float(known.max() - known.min()) if len(known) else 0.0
        size = spread or float(np.abs(known).max(initial=1.0)) or 1.0
        return max(0, min(300, 6 - math.floor(math.log10(size))))


class TextTable:
    """A delimited file.

    Parameters
    ----------
    path : of the file.
    missing : cells that stand for a missing value, spaces around them aside.
    header : whether the first line holds names; None: if anything in it is neither a number nor missing.
    encoding : of its letters.
    delimiter : between cells; None: what the first line has most of among comma, semicolon, tab and bar.
    words : columns whose cells are words whatever they look like.
    """

    def __init__(
        self,
        path: Path,
        *,
        missing: Collection[str] = MISSING,
        header: bool | None = None,
        encoding: str = "utf-8",
        delimiter: str | None = None,
        words: Collection[str] = (),
    ) -> None:
        self.path, self._missing = path, {code.strip() for code in missing} | {""}
        self._encoding = "utf-8-sig" if encoding.lower().replace("-", "") == "utf8" else encoding
        self.delimiter = delimiter or self._likely_delimiter()
        lines = self._lines()
        _, first = next(lines, (0, []))
        if not first:
            raise InvalidInput(
                f"{path} is empty; a table with a line of names and at least one row is needed."
            )
        if header is None:
            header = any(not self._is_missing(cell) and _number(cell) is None for cell in first)
        self.header = header
        self.names = [cell.strip() for cell in first] if header else [f"x{i}" for i in range(len(first))]
        repeated = sorted({name for name in self.names if self.names.count(name) > 1})
        if repeated:
            raise InvalidInput(f"Column names must differ; {path} repeats {repeated}. Rename them.")
        builders = [_Builder(name, self.delimiter, name in words) for name in self.names]
        self._count = 0
        for number, cells in self._rows():
            self._count += 1
            for builder, cell in zip(builders, cells, strict=True):
                text = cell.strip()
                builder.add(None if text in self._missing else text, number)
        if not self._count:
            raise InvalidInput(f"{path} has a header and no rows; there is nothing to fill.")
        self._columns = {builder.name: builder.finished(path) for builder in builders}

    def __len__(self) -> int:
        return self._count

    def column(self, name: Any) -> TextColumn:
        return self._columns[name]

    def completed(self, fills: Fills) -> Fills:
        """The fills themselves; `write` puts them in."""
        return fills

    def like(self, columns: Mapping[str, Any]) -> dict[str, Any]:
        return dict(columns)

    def stream(self, fills: Fills, file: IO[str], delimiter: str, extra: Mapping[str, list[str]]) -> None:
        """The file again, with fills where cells are missing, and columns more at its right."""
        texts = {
            name: dict(zip(rows.tolist(), self.column(name).written(values), strict=True))
            for name, (rows, values) in fills.items()
        }
        self.rewrite(texts, file, delimiter, extra)

    def rewrite(
        self,
        texts: Mapping[Any, Mapping[int, str]],
        file: IO[str],
        delimiter: str,
        extra: Mapping[str, list[str]],
    ) -> None:
        """The file again, with other cells in some rows of its columns."""
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        if self.header or extra:
            writer.writerow([*self.names, *extra])
        places = [(self.names.index(name), cells) for name, cells in texts.items() if cells]
        for row, (_, cells) in enumerate(self._rows()):
            for place, others in places:
                text = others.get(row)
                if text is not None:
                    cells[place] = text
            writer.writerow([*cells, *(column[row] for column in extra.values())])

    def texts(self, name: str) -> list[str | None]:
        """The cells of a column as they are written; None where missing."""
        place = self.names.index(name)
        return [None if self._is_missing(cells[place]) else cells[place] for _, cells in self._rows()]

    def _is_missing(self, cell: str) -> bool:
        return cell.strip() in self._missing

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """Line number and cells of every row."""
        lines = self._lines()
        if self.header:
            next(lines)
        for number, cells in lines:
            if len(cells) != len(self.names):
                raise InvalidInput(
                    f"Line {number} of {self.path} has {len(cells)} cells where the first line has "
                    f"{len(self.names)}. Mend the line; a cell with {self.delimiter!r} in it needs quotes."
                )
            yield number, cells

    def _lines(self) -> Iterator[tuple[int, list[str]]]:
        """Line number and cells; blank lines are left out, but between values of a single column."""
        csv.field_size_limit(_LONGEST_CELL)
        width, blank = 0, list[int]()
        with self.path.open(encoding=self._encoding, newline="") as file:
            reader = csv.reader(file, delimiter=self.delimiter, strict=True)
            try:
                for cells in reader:
                    width = width or len(cells)
                    if not cells:
                        blank += [reader.line_num] * (width == 1)
                        continue
                    yield from ((number, [""]) for number in blank)
                    blank.clear()
                    yield reader.line_num, cells
            except UnicodeDecodeError as error:
                raise InvalidInput(self._not_text(error)) from error
            except csv.Error as error:
                if "field larger" in str(error):
                    raise InvalidInput(self._too_long(reader.line_num)) from error
                raise InvalidInput(
                    f"Line {reader.line_num} of {self.path} cannot be read as cells: {error}. Look for a "
                    "quotation mark that is not closed."
                ) from error

    def _not_text(self, error: UnicodeDecodeError) -> str:
        before = self.path.read_bytes()
        line, start = 1, 0
        for i, text in enumerate(before.split(b"\n"), start=1):
            try:
                text.decode(self._encoding)
            except UnicodeDecodeError as wrong:
                line, start = i, text[: wrong.start].count(self.delimiter.encode())
                break
        return (
            f"{self.path} must be {self._encoding.removesuffix('-sig')} text; line {line}, cell {start + 1}, "
            f"is not ({error.reason}). Say how it is encoded, such as --encoding latin-1."
        )

    def _too_long(self, line: int) -> str:
        with self.path.open(encoding=self._encoding, newline="") as file:
            for _ in range(line - 1):
                file.readline()
            start = file.read(_LONGEST_CELL)
        place = start.count(self.delimiter)
        names = getattr(self, "names", [])
        name = repr(names[place]) if place < len(names) else f"number {place + 1}"
        return (
            f"Cells must have at most {_LONGEST_CELL:,} letters or digits; line {line} of {self.path}, "
            f"column {name}, has more."
        )

    def _likely_delimiter(self) -> str:
        if self.path.suffix.lower() == ".tsv":
            return "\t"
        try:
            with self.path.open(encoding=self._encoding, newline="") as file:
                first = file.readline(_LONGEST_CELL)
        except UnicodeDecodeError:
            return ","
        outside = re.sub(r'"[^"]*"', "", first)
        return max(",;\t|", key=lambda mark: (outside.count(mark), mark == ","))


class _Builder:
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
        number = None if _LEADING_ZERO.match(cell) and _INTEGER.fullmatch(cell) else _number(cell)
        if number is None and "," in self._marks and "," in cell:
            number = _number(cell.replace(",", "."))
            self._decimal = "," if number is not None else self._decimal
        if number is None:
            self._n_words += 1
            self._first_word = self._first_word or (line, cell)
            return math.nan
        if math.isinf(number):
            self._first_number = self._first_number or (line, cell)
        self._n_numbers += 1
        self._whole = self._whole and _INTEGER.fullmatch(cell) is not None
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


def _number(cell: str) -> float | None:
    if "_" in cell:
        return None
    try:
        return float(cell)
    except ValueError:
        return None


def _shortened(cell: str) -> str:
    return repr(cell) if len(cell) <= 40 else f"{cell[:20]!r}… ({len(cell):,} letters or digits)"
