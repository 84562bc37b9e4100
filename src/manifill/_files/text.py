"""Tables in delimited text: complaints name line and column, and cells that are not missing stay as written.

A file is read twice: once to find out what its columns hold, of which only numbers and codes are kept, and
once to write it with its gaps filled. So a file of a million lines needs little more memory than its numbers.
"""

import csv
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from manifill._files.cells import ColumnBuilder, TextColumn, number_in
from manifill.errors import InvalidInput
from manifill.tables.source import Fills

MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?")
"""Cells that stand for a missing value, unless the user says otherwise."""

DELIMITERS = {".csv": ",", ".tsv": "\t"}
_LONGEST_CELL = 1_000_000


class TextTable:
    """A delimited file.

    Parameters
    ----------
    path : of the file.
    missing : cells that stand for a missing value, spaces around them aside.
    header : whether the first line holds names; None: if anything in it is neither a number nor missing.
    encoding : of its letters.
    delimiter : between cells; None: what the first line has most of among comma, semicolon, tab and bar.
    text_columns : columns whose cells are text, whatever they look like.
    called : what complaints call it; default its path.
    """

    def __init__(
        self,
        path: Path,
        *,
        missing: Collection[str] = MISSING,
        header: bool | None = None,
        encoding: str = "utf-8",
        delimiter: str | None = None,
        text_columns: Collection[str] = (),
        called: str | None = None,
    ) -> None:
        self._file, self._missing = path, {code.strip() for code in missing} | {""}
        self.path = path = Path(called) if called else path
        self._encoding = "utf-8-sig" if encoding.lower().replace("-", "") == "utf8" else encoding
        self.delimiter = delimiter or self._likely_delimiter()
        lines = self._lines()
        _, first = next(lines, (0, []))
        if not first:
            raise InvalidInput(
                f"{path} is empty; a table with a line of names and at least one row is needed."
            )
        if header is None:
            header = any(not self._is_missing(cell) and number_in(cell) is None for cell in first)
        self.header = header
        self.names = [cell.strip() for cell in first] if header else [f"x{i}" for i in range(len(first))]
        repeated = sorted({name for name in self.names if self.names.count(name) > 1})
        if repeated:
            raise InvalidInput(f"Column names must differ; {path} repeats {repeated}. Rename them.")
        builders = [ColumnBuilder(name, self.delimiter, name in text_columns) for name in self.names]
        self._count = 0
        for number, cells in self._rows():
            self._count += 1
            for builder, cell in zip(builders, cells, strict=True):
                builder.add(None if self._is_missing(cell) else cell.strip(), number)
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
        text = cell.strip()
        return text in self._missing or text.lower() in ("nan", "-nan", "+nan")

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
        with self._file.open(encoding=self._encoding, newline="") as file:
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
            except UnicodeError as error:
                raise InvalidInput(self._not_text(error)) from error
            except csv.Error as error:
                if "field larger" in str(error):
                    raise InvalidInput(self._too_long(reader.line_num)) from error
                raise InvalidInput(
                    f"Line {reader.line_num} of {self.path} cannot be read as cells: {error}. Look for a "
                    "quotation mark that is not closed."
                ) from error

    def _not_text(self, error: UnicodeError) -> str:
        before = self._file.read_bytes()
        line, start = 1, 0
        for i, text in enumerate(before.split(b"\n"), start=1):
            try:
                text.decode(self._encoding)
            except UnicodeDecodeError as wrong:
                line, start = i, text[: wrong.start].count(self.delimiter.encode())
                break
        return (
            f"{self.path} must be {self._encoding.removesuffix('-sig')} text; line {line}, cell {start + 1}, "
            f"is not ({getattr(error, 'reason', error)}). Say how it is encoded, such as --encoding latin-1."
        )

    def _too_long(self, line: int) -> str:
        with self._file.open(encoding=self._encoding, newline="") as file:
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
        if self._file.suffix.lower() == ".tsv":
            return "\t"
        try:
            with self._file.open(encoding=self._encoding, newline="") as file:
                first = file.readline(_LONGEST_CELL)
        except UnicodeError:
            return ","
        outside = re.sub(r'"[^"]*"', "", first)
        return max(",;\t|", key=lambda mark: (outside.count(mark), mark == ","))
