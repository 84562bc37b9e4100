"""Tables in delimited text files. Errors name line and column, and observed cells are copied as they are.

A file is read twice: first to infer the types of its columns, then to write it with imputed values. Only
numbers and codes are kept in between, so a file needs little more memory than its numbers.
"""

import csv
import io
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from manifill._files.cells import ColumnBuilder, TextColumn, number_in
from manifill.errors import InvalidInput
from manifill.tables.source import Fills

MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?")
"""Cells that mean a missing value by default."""

DELIMITERS = {".csv": ",", ".tsv": "\t"}
# Maximum length of a cell, in characters.
_MAX_CELL = 1_000_000


def _fingerprint(path: Path) -> tuple[int, ...]:
    """Size, time of the last change and identity of a file."""
    found = path.stat()
    return found.st_size, found.st_mtime_ns, found.st_ino, found.st_dev


class RowWriter:
    """Writes rows of delimited text that end in a line feed.

    Cells with a carriage return are quoted too, which `csv.writer` does only if rows end in one.
    """

    def __init__(self, file: IO[str], delimiter: str) -> None:
        self._file, self._delimiter = file, delimiter
        self._writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")

    def writerow(self, cells: Sequence[str]) -> None:
        if not any("\r" in cell for cell in cells):
            self._writer.writerow(cells)
            return
        line = io.StringIO()
        csv.writer(line, delimiter=self._delimiter, lineterminator="\r\n").writerow(cells)
        self._file.write(line.getvalue().removesuffix("\r\n") + "\n")


class TextTable:
    """A delimited file.

    Parameters
    ----------
    path : path of the file.
    missing : cells that mean a missing value; spaces around them are ignored.
    header : whether the first line holds names; None: if any of its cells is neither a number nor missing.
    encoding : text encoding of the file.
    delimiter : None: the most frequent one of comma, semicolon, tab and bar in the first line.
    text_columns : columns to read as text, whatever their cells look like.
    display_name : name of the file in error messages; default: its path.
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
        display_name: str | None = None,
    ) -> None:
        self._file, self._missing = path, {code.strip() for code in missing} | {""}
        self.path = path = Path(display_name) if display_name else path
        self._encoding = "utf-8-sig" if encoding.lower().replace("-", "") == "utf8" else encoding
        self.delimiter = delimiter or self._likely_delimiter()
        self._fingerprint = _fingerprint(self._file)
        lines = self._lines()
        _, first = next(lines, (0, []))
        if not first:
            raise InvalidInput(f"{path} is empty; it must have a line of column names and at least one row.")
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
            raise InvalidInput(f"{path} has a header and no rows; at least one row is needed.")
        self._columns = {builder.name: builder.finished(path) for builder in builders}

    def __len__(self) -> int:
        return self._count

    def column(self, name: Any) -> TextColumn:
        return self._columns[name]

    def completed(self, fills: Fills) -> Fills:
        """The imputed values themselves; `write` inserts them."""
        return fills

    def like(self, columns: Mapping[str, Any]) -> dict[str, Any]:
        return dict(columns)

    def stream(self, fills: Fills, file: IO[str], delimiter: str, extra: Mapping[str, list[str]]) -> None:
        """Write the file with imputed values for missing cells, and additional columns at the right."""
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
        """Write the file with new texts for some cells (column → row → text), and additional columns."""
        self._require_unchanged()
        writer = RowWriter(file, delimiter)
        if self.header or extra:
            writer.writerow([*self.names, *extra])
        places = [(self.names.index(name), cells) for name, cells in texts.items() if cells]
        for row, (_, cells) in enumerate(self._rows()):
            for place, replacements in places:
                text = replacements.get(row)
                if text is not None:
                    cells[place] = text
            writer.writerow([*cells, *(column[row] for column in extra.values())])
        self._require_unchanged()

    def _require_unchanged(self) -> None:
        """Raise InvalidInput if the file is not the one that was read first: it is read twice."""
        if _fingerprint(self._file) != self._fingerprint:
            raise InvalidInput(
                f"{self.path} was changed while it was being filled, so the result would mix two versions. "
                "Nothing was written; run it again, on a copy if the file keeps changing."
            )

    def texts(self, name: str) -> list[str | None]:
        """Cells of a column as in the file; None where missing."""
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
                    f"{len(self.names)}. Correct the line; cells with {self.delimiter!r} in them need quotes."
                )
            yield number, cells

    def _lines(self) -> Iterator[tuple[int, list[str]]]:
        """Line number and cells of every line.

        Blank lines are skipped, except between the values of a single column, where they are missing cells.
        """
        csv.field_size_limit(_MAX_CELL)
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
                    f"Line {reader.line_num} of {self.path} cannot be split into cells: {error}. Look for a "
                    "quotation mark that is not closed."
                ) from error

    def _not_text(self, error: UnicodeError) -> str:
        """Error message for bytes that cannot be decoded, with their place."""
        content = self._file.read_bytes()
        line, cell = 1, 0
        for i, text in enumerate(content.split(b"\n"), start=1):
            try:
                text.decode(self._encoding)
            except UnicodeDecodeError as wrong:
                line, cell = i, text[: wrong.start].count(self.delimiter.encode())
                break
        return (
            f"{self.path} must be {self._encoding.removesuffix('-sig')} text; line {line}, cell {cell + 1}, "
            f"is not ({getattr(error, 'reason', error)}). Give its encoding, such as --encoding latin-1."
        )

    def _too_long(self, line: int) -> str:
        """Error message for a cell longer than the maximum."""
        with self._file.open(encoding=self._encoding, newline="") as file:
            for _ in range(line - 1):
                file.readline()
            start = file.read(_MAX_CELL)
        place = start.count(self.delimiter)
        names = getattr(self, "names", [])
        name = repr(names[place]) if place < len(names) else f"number {place + 1}"
        return (
            f"Cells must have at most {_MAX_CELL:,} characters; line {line} of {self.path}, "
            f"column {name}, has more."
        )

    def _likely_delimiter(self) -> str:
        if self._file.suffix.lower() == ".tsv":
            return "\t"
        try:
            with self._file.open(encoding=self._encoding, newline="") as file:
                first = file.readline(_MAX_CELL)
        except UnicodeError:
            return ","
        unquoted = re.sub(r'"[^"]*"', "", first)
        return max(",;\t|", key=lambda delimiter: (unquoted.count(delimiter), delimiter == ","))
