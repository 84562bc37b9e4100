"""Delimited text: read once into columns of cells, and written in the layout of the file it came from."""

import csv
import io
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, islice
from types import SimpleNamespace
from typing import IO, Any, Literal

import numpy as np
import pyarrow as pa

from manifill._files.typing import Place
from manifill.errors import InvalidInput

MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?")
"""Cells that mean a missing value by default."""

DELIMITERS = {".csv": ",", ".tsv": "\t", ".txt": ","}
# Maximum length of a cell, in characters.
_MAX_CELL = 1_000_000
# Rows that are converted at a time, and characters that are looked at to find the layout.
_BATCH, _SAMPLE = 10_000, 10_000
_BOMS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


@dataclass(frozen=True)
class Layout:
    """How a text file is written.

    Parameters
    ----------
    quoting : `csv.QUOTE_MINIMAL`, or `csv.QUOTE_ALL` if all cells of the file have quotation marks.
    header : whether the first line holds the names of the columns.
    preamble : lines above the table, which are copied.
    """

    delimiter: str = ","
    encoding: str = "utf-8"
    newline: str = "\n"
    quoting: Literal[0, 1] = csv.QUOTE_MINIMAL
    header: bool = True
    preamble: str = ""

    def converted(self, before: str, after: str) -> "Layout":
        """The layout for another ending: .tsv files have tabs, and .csv files made of them commas."""
        if after == ".tsv" or (before == ".tsv" and after == ".csv"):
            return replace(self, delimiter=DELIMITERS[after])
        return self

    def write(self, file: IO[str], names: Sequence[str], columns: Sequence[Any]) -> None:
        """Write a table; columns are arrays of texts."""
        # csv quotes a carriage return only if rows end in one, so they do until here.
        lines = SimpleNamespace(write=lambda line: file.write(line[:-2] + self.newline))
        writer = csv.writer(lines, delimiter=self.delimiter, lineterminator="\r\n", quoting=self.quoting)
        file.write(self.preamble)
        if self.header:
            writer.writerow(names)
        n = len(columns[0]) if columns else 0
        for first in range(0, n, _BATCH):
            for row in zip(*(one.slice(first, _BATCH).to_pylist() for one in columns), strict=True):
                writer.writerow(row)


@dataclass(frozen=True)
class Cells:
    """The cells of a text file: names and columns, its layout, and the line of every row."""

    names: list[str]
    columns: list[Any]
    layout: Layout
    place: Place


class TextReader:
    """Reads delimited text.

    Parameters
    ----------
    data : the file.
    name : name of the file in messages.
    missing : cells that mean a missing value; spaces around them are ignored.
    header : whether the first line holds names; None: if any of its cells is neither a number nor missing.
    encoding : encoding of the text; a byte order mark at its start is respected.
    delimiter : None: the most frequent one of comma, semicolon, tab and bar in the first line.
    skip_rows : lines above the table.
    """

    def __init__(
        self,
        data: bytes,
        name: str,
        *,
        missing: Collection[str] = MISSING,
        header: bool | None = None,
        encoding: str = "utf-8",
        delimiter: str | None = None,
        skip_rows: int = 0,
    ) -> None:
        self._data, self._name = data, name
        self._missing = {code.strip() for code in missing} | {""}
        utf8 = encoding.lower().replace("-", "").replace("_", "") == "utf8"
        marked = next((one for mark, one in _BOMS.items() if data.startswith(mark)), "utf-8")
        self._encoding = marked if utf8 else encoding
        self._header, self._delimiter, self._skip = header, delimiter, skip_rows

    def cells(self) -> Cells:
        """Read the entire text."""
        layout = self._layout()
        rows = self._lines(layout)
        number, first = next(rows, (0, []))
        if not first:
            raise InvalidInput(
                f"{self._name} is empty; it must have a line of column names and at least one row."
            )
        header = self._header
        if header is None:
            header = any(cell.strip() not in self._missing and not _is_number(cell) for cell in first)
        names = list(first) if header else [f"x{i}" for i in range(len(first))]
        data = rows if header else chain([(number, first)], rows)
        numbers, columns = self._columns(data, names, layout)
        if not len(numbers):
            raise InvalidInput(f"{self._name} has a header and no rows; at least one row is needed.")
        return Cells(names, columns, replace(layout, header=header), Place(self._name, numbers))

    def _columns(
        self, rows: Iterator[tuple[int, list[str]]], names: list[str], layout: Layout
    ) -> tuple[Any, list[Any]]:
        """Line numbers of the rows, and the columns."""
        chunks: list[list[Any]] = [[] for _ in names]
        numbers: list[Any] = []
        while batch := list(islice(rows, _BATCH)):
            for number, cells in batch:
                if len(cells) != len(names):
                    raise InvalidInput(
                        f"Line {number} of {self._name} has {len(cells)} cells where the first line has "
                        f"{len(names)}. Correct the line; "
                        f"cells with {layout.delimiter!r} in them need quotes."
                    )
            numbers.append(np.array([number for number, _ in batch], dtype=np.int64))
            for chunk, column in zip(chunks, zip(*(cells for _, cells in batch), strict=True), strict=True):
                chunk.append(pa.array(column, pa.large_string()))
        columns = [pa.chunked_array(chunk, pa.large_string()) for chunk in chunks]
        return np.concatenate(numbers) if numbers else np.zeros(0, dtype=np.int64), columns

    def _open(self) -> IO[str]:
        return io.TextIOWrapper(io.BytesIO(self._data), encoding=self._encoding, newline="")

    def _lines(self, layout: Layout) -> Iterator[tuple[int, list[str]]]:
        """Line number and cells of every line of the table.

        Blank lines are skipped, except between the values of a single column, where they are missing cells.
        """
        csv.field_size_limit(_MAX_CELL)
        width, blank = 0, list[int]()
        file = self._open()
        file.read(len(layout.preamble))
        reader = csv.reader(file, delimiter=layout.delimiter, strict=True)
        try:
            for cells in reader:
                width = width or len(cells)
                number = reader.line_num + self._skip
                if not cells:
                    blank += [number] * (width == 1)
                    continue
                yield from ((one, [""]) for one in blank)
                blank.clear()
                yield number, cells
        except UnicodeError as error:
            raise InvalidInput(self._not_text(error, layout.delimiter)) from error
        except csv.Error as error:
            number = reader.line_num + self._skip
            if "field larger" in str(error):
                raise InvalidInput(self._too_long(number, layout)) from error
            raise InvalidInput(
                f"Line {number} of {self._name} cannot be split into cells: {error}. Look for a "
                "quotation mark that is not closed."
            ) from error

    def _layout(self) -> Layout:
        """Layout of the file, from its first lines."""
        file = self._open()
        try:
            preamble = "".join(file.readline() for _ in range(self._skip))
            first = file.readline(_MAX_CELL)
            sample = first + file.read(_SAMPLE)
        except UnicodeError as error:
            raise InvalidInput(self._not_text(error, self._delimiter or ",")) from error
        while first and not first.strip():  # blank lines above the table
            sample = sample[len(first) :]
            first = "".join(sample.partition("\n")[:2])
        unquoted = re.sub(r'"[^"]*"', "", first)
        frequent = max(",;\t|", key=lambda mark: (unquoted.count(mark), mark == ","))
        ending = next((one for one in ("\r\n", "\n", "\r") if first.endswith(one)), "\n")
        layout = Layout(self._delimiter or frequent, self._encoding, ending, preamble=preamble)
        return replace(layout, quoting=csv.QUOTE_ALL) if _all_quoted(sample, layout) else layout

    def _not_text(self, error: UnicodeError, delimiter: str) -> str:
        """Error message for bytes that cannot be decoded, with their place."""
        before = self._data[: _first_wrong(self._data, self._encoding)]
        cell, line = before.rpartition(b"\n")[2].count(delimiter.encode()), before.count(b"\n") + 1
        return (
            f"{self._name} must be {self._encoding.removesuffix('-sig')} text; line {line}, cell "
            f"{cell + 1}, is not ({getattr(error, 'reason', error)}). Give its encoding, such as "
            "--encoding latin-1."
        )

    def _too_long(self, line: int, layout: Layout) -> str:
        """Error message for a cell longer than the maximum."""
        before = "".join(islice(self._open(), line - 1, line))[:_MAX_CELL]
        place, names = before.count(layout.delimiter), list[str]()
        with suppress(csv.Error):  # raised if the cell is one of the names
            lines = islice(self._open(), self._skip, None)
            names = next(csv.reader(lines, delimiter=layout.delimiter), [])
        name = repr(names[place].strip()) if place < len(names) else f"number {place + 1}"
        return (
            f"Cells must have at most {_MAX_CELL:,} characters; line {line} of {self._name}, "
            f"column {name}, has more."
        )


def _first_wrong(data: bytes, encoding: str) -> int:
    """Position of the first byte that cannot be decoded."""
    try:
        data.decode(encoding)
    except UnicodeDecodeError as error:
        return error.start + 3 * data.startswith(b"\xef\xbb\xbf")
    except UnicodeError:
        pass
    return 0


def _all_quoted(sample: str, layout: Layout) -> bool:
    """True if all cells of the first lines have quotation marks."""
    if not sample.startswith('"'):
        return False
    lines = io.StringIO(newline="")
    writer = csv.writer(
        lines, delimiter=layout.delimiter, lineterminator=layout.newline, quoting=csv.QUOTE_ALL
    )
    with suppress(csv.Error):
        rows = list(csv.reader(io.StringIO(sample, newline=""), delimiter=layout.delimiter))
        writer.writerows(rows if len(rows) < 3 else rows[:-1])  # the last one may be cut off
    return bool(lines.getvalue()) and sample.startswith(lines.getvalue().rstrip(layout.newline))


def _is_number(cell: str) -> bool:
    if "_" in cell:
        return False
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return True


def as_texts(values: Iterable[Any]) -> Any:
    """Values as an array of texts; empty where there is none."""
    return pa.array(["" if value is None else str(value) for value in values], pa.large_string())
