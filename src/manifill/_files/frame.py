"""A table read from a file: a pyarrow table, and what is needed to write it back as it was."""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from manifill._arrays import Indices
from manifill._files.columns import TextColumn
from manifill._files.formats import NumberFormat
from manifill._files.text import MISSING, Layout, as_texts
from manifill._files.typing import Place, Reader
from manifill.errors import InvalidInput, InvalidOption
from manifill.tables import Frame
from manifill.tables.source import Fills
from manifill.tables.variables import Plain


@dataclass(frozen=True)
class Options:
    """How a file is read; see `read`."""

    types: Mapping[str, str] = field(default_factory=dict)
    missing: Sequence[str] = MISSING
    header: bool | None = None
    encoding: str = "utf-8"
    delimiter: str | None = None
    decimal: str | None = None
    sheet: str | None = None
    skip_rows: int = 0


@dataclass
class Origin:
    """The file that a table came from.

    Attributes
    ----------
    path : its path, or "standard input".
    fingerprint : size, time of change and identity of the file when it was read; None for a pipe.
    layout : of text files; of others, how they are written as text.
    workbook : of Excel files, the place of the table in the workbook.
    records : of JSON files, their content.
    """

    path: Path = Path()
    fingerprint: tuple[int, ...] | None = None
    layout: Layout = field(default_factory=Layout)
    workbook: Any = None
    records: Any = None

    def require_unchanged(self) -> None:
        """Raise InvalidInput if the file is no longer the one that was read."""
        if self.fingerprint is not None and fingerprint(self.path) != self.fingerprint:
            raise InvalidInput(
                f"{self.path} was changed while it was being filled, so the result would be of an old "
                "version. Nothing was written; run it again, on a copy if the file keeps changing."
            )


def stripped(names: list[str]) -> list[str]:
    """Names without spaces around them, by which options name columns; unchanged if two would be the same."""
    found = [name.strip() for name in names]
    return found if len(set(found)) == len(found) else names


def fingerprint(path: Path) -> tuple[int, ...] | None:
    """Size, time of the last change and identity of a file; None if it is not a regular file."""
    if not path.is_file():
        return None
    found = path.stat()
    return found.st_size, found.st_mtime_ns, found.st_ino, found.st_dev


class FrameFile(Frame):
    """A table read from a file, stored as a pyarrow table.

    Parameters
    ----------
    native : the table; columns of text cells hold them as they are in the file.
    columns : what the columns of text cells hold.
    """

    def __init__(self, native: Any, origin: Origin, columns: Mapping[str, TextColumn] | None = None) -> None:
        self.header = list(native.column_names)
        names = stripped(self.header)
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise InvalidInput(f"Column names must differ; {origin.path} repeats {repeated}. Rename them.")
        super().__init__(native.rename_columns(names))
        self.origin, self._columns = origin, dict(columns or {})
        self.removed: Mapping[Any, Indices] = {}

    def column(self, name: Any) -> Any:
        """The column of this name."""
        return self._columns[name] if name in self._columns else super().column(name)

    def completed(self, fills: Fills) -> Any:
        """The imputed values themselves; `write` inserts them."""
        return fills

    def with_types(self, kinds: Mapping[Any, str]) -> "FrameFile":
        """The table with these columns, which have no observed value, as empty columns of other kinds.

        The file is written with these kinds, so this table itself changes.
        """
        for name, kind in kinds.items():
            self._columns[name] = TextColumn(name, np.ones(len(self), dtype=np.bool_)).empty_as(kind)
        return self

    def without(self, removed: Mapping[Any, Indices]) -> "FrameFile":
        """The table without some of its values; `removed` maps columns to rows."""
        native, columns = self._frame.to_native(), dict(self._columns)
        for name, rows in removed.items():
            gone = np.zeros(len(self), dtype=bool)
            gone[rows] = True
            column = pc.if_else(pa.array(gone), pa.scalar(None, native[name].type), native[name])
            native = native.set_column(self.names.index(name), name, column)
            if name in columns:
                columns[name] = replace(columns[name], missing=columns[name].missing | gone)
        made = FrameFile(native.rename_columns(self.header), self.origin, columns)
        made.removed = removed
        return made

    def texts_of(self, name: Any) -> list[Any]:
        """All texts of a column."""
        if self.is_text(name):
            texts: list[Any] = self._frame.to_native()[name].unique().to_pylist()
            return texts
        column = self.column(name)
        nested = column.holds == "other"  # such as lists, which cannot be compared
        return self._frame.to_native()[name].to_pylist() if nested else list(column.levels())

    def is_text(self, name: Any) -> bool:
        """True for columns of text cells."""
        return name in self._columns

    def typed(self, fills: Fills) -> Any:
        """A pyarrow table of numbers, booleans, times and strings, with imputed values inserted."""
        native = self._frame.to_native()
        for name, column in self._columns.items():
            native = native.set_column(self.names.index(name), name, column.arrow(native[name]))
        values = {
            name: (rows, self._columns[name].arrow_values(values) if name in self._columns else values)
            for name, (rows, values) in fills.items()
        }
        return Frame(native).completed(values).rename_columns(self.header)

    def texts(self, fills: Fills) -> list[Any]:
        """The columns as arrays of texts, with imputed values inserted; known text cells are unchanged."""
        others = {name: fill for name, fill in fills.items() if name not in self._columns}
        native = Frame(self._frame.to_native()).completed(others)
        columns = []
        for name in self.names:
            if name not in self._columns:
                columns.append(as_texts(python_values(native[name])))
                continue
            cells = pc.fill_null(native[name].cast(pa.large_string()).combine_chunks(), "")
            if name in fills and len(fills[name][0]):
                mask = np.zeros(len(self), dtype=bool)
                mask[fills[name][0]] = True
                written = pa.array(self._columns[name].written(fills[name][1]), pa.large_string())
                cells = pc.replace_with_mask(cells, pa.array(mask), written)
            columns.append(cells)
        return columns

    def like_column(self, like: Any, rows: Indices, values: Plain, *, typed: bool) -> list[Any]:
        """Cells of a column in the format of column `like`, as text or typed; None where it has no value."""
        cells: list[Any] = [None] * len(self)
        column = self.column(like)
        if typed and self.is_text(like):
            values = column.arrow_values(values)
            column = Frame(self.typed({}).rename_columns(self.names)).column(like)
        for row, value in zip(rows.tolist(), column.written(values), strict=True):
            cells[row] = value
        return cells


def python_values(column: Any) -> list[Any]:
    """Values of a pyarrow column; as texts those that Python does not have, such as times after 9999."""
    try:
        values: list[Any] = column.to_pylist()
    except (OverflowError, ValueError, KeyError, pa.ArrowException):
        kind = column.type
        if pa.types.is_timestamp(kind) and kind.tz is not None:
            column = column.cast(pa.timestamp(kind.unit, "UTC")).cast(pa.timestamp(kind.unit))
        values = column.cast(pa.string()).to_pylist()
    return values


def of_cells(
    names: list[str], columns: list[Any], place: Place, options: Options, origin: Origin
) -> FrameFile:
    """A table of columns that are text cells, or typed."""
    found: dict[str, TextColumn] = {}
    reader = Reader(place, options.missing, options.decimal)
    problems: list[tuple[str, InvalidOption]] = []

    def tried(name: str, action: Any) -> None:
        try:
            action()
        except InvalidOption as error:
            problems.append((name, error))

    texts = {
        name: cells
        for name, cells in zip(stripped(names), columns, strict=True)
        if pa.types.is_large_string(cells.type)
    }
    for name, cells in texts.items():
        tried(name, lambda n=name, c=cells: found.update({n: reader.column(n, c, options.types.get(n, ""))}))
    formats = [column.format for column in found.values()]
    if not options.decimal and any(isinstance(one, NumberFormat) and one.decimal == "," for one in formats):
        for name, column in found.items():
            if name not in options.types:
                tried(name, lambda c=column, n=name: reader.check_point(c, texts[n]))
    if problems:
        numbers = [(name, error) for name, error in problems if "--decimal" in str(error)]
        dates = [one for one in problems if one not in numbers]
        raise InvalidOption(" ".join(_all_in_one(some) for some in (numbers, dates) if some))
    return FrameFile(pa.Table.from_arrays(columns, names), origin, found)


def _all_in_one(problems: list[tuple[str, InvalidOption]]) -> str:
    """The message of the first column, and the names of the others."""
    others = ", ".join(repr(name) for name, _ in problems[1:])
    return str(problems[0][1]) + (f" The same holds for {others}." if others else "")


def of_values(names: list[str], columns: list[list[Any]], options: Options, origin: Origin) -> FrameFile:
    """A table of Python values, as sheets, JSON and SQLite hold them; None where missing.

    Columns of text, and of values of more than one kind, are read like the cells of a text file.
    """
    arrays = [_array(values) for values in columns]
    return of_cells(names, arrays, Place(str(origin.path)), options, origin)


def _array(values: list[Any]) -> Any:
    """Values of one kind as a typed array, others as text."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        values, kinds = [None if value is None else float(value) for value in values], {float}
    elif kinds == {datetime.date, datetime.datetime}:
        values, kinds = [None if value is None else _midnight(value) for value in values], {datetime.datetime}
    if len(kinds) == 1 and kinds != {str}:
        try:
            return pa.chunked_array([pa.array(values)])
        except (OverflowError, pa.ArrowException):
            pass
    texts = [None if value is None else str(value) for value in values]
    return pa.chunked_array([pa.array(texts, pa.large_string())])


def _midnight(value: datetime.date) -> datetime.datetime:
    if isinstance(value, datetime.datetime):
        return value
    return datetime.datetime.combine(value, datetime.time())
