"""Read and write tables as parquet, feather, Excel and NumPy files."""

import datetime
import decimal
import io
import re
import tokenize
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from manifill._arrays import Indices
from manifill._files.atomic import atomic_write
from manifill._files.text import TextTable
from manifill.errors import InvalidInput, MissingDependency
from manifill.tables import Frame
from manifill.tables.source import Fills

ARROW = (".parquet", ".feather", ".arrow")
EXCEL = (".xlsx",)
NUMPY = (".npy",)
# Limits of the format of Excel.
_MAX_EXCEL_TEXT = 32_767
_NOT_IN_EXCEL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")


class FrameFile(Frame):
    """A table read from a file, stored as a pyarrow table."""

    header = True

    def completed(self, fills: Fills) -> Any:
        """The imputed values themselves; `write` inserts them."""
        return fills

    def native(self, fills: Fills) -> Any:
        """The pyarrow table with imputed values inserted."""
        return super().completed(fills)


class ArrayFile(FrameFile):
    """An array of numbers; its columns have no names."""

    header = False


def read(path: Path) -> FrameFile:
    """Read a file in the format of its ending."""
    kind = path.suffix.lower()
    if kind in NUMPY:
        return _read_array(path)
    pa = _arrow()
    try:
        if kind == ".parquet":
            import pyarrow.parquet

            return FrameFile(pyarrow.parquet.read_table(path))
        if kind in ARROW:
            import pyarrow.feather

            return FrameFile(pyarrow.feather.read_table(path))
    except (pa.ArrowInvalid, OSError) as error:
        raise InvalidInput(f"{path} cannot be read as a {kind[1:]} file: {error}.") from error
    return _read_excel(path)


def write(table: TextTable | FrameFile, fills: Fills, path: Path, extra: Mapping[str, list[Any]]) -> None:
    """Write a completed table in the format of the ending of the path; .npy files get no `extra` columns."""
    kind = path.suffix.lower()
    if kind in NUMPY:
        _write_array(table, fills, path)
        return
    native = as_arrow(table).native(fills)
    pa = _arrow()
    for name, values in extra.items():
        native = native.append_column(name, pa.array(values))
    if kind in EXCEL:
        _write_excel(native, path)
        return
    with atomic_write(path, "wb") as file:
        if kind == ".parquet":
            import pyarrow.parquet

            pyarrow.parquet.write_table(native, file)
        else:
            import pyarrow.feather

            pyarrow.feather.write_feather(native, file)


def as_arrow(table: TextTable | FrameFile) -> FrameFile:
    """Convert a text file to a pyarrow table of numbers, booleans, dates and times, and strings."""
    if isinstance(table, FrameFile):
        return table
    pa = _arrow()
    types = {
        "number": pa.float64(),
        "integer": pa.int64(),
        "boolean": pa.bool_(),
        "date": pa.date32(),
        "date and time": pa.timestamp("us"),
        "time": pa.time64("us"),
    }
    columns = {}
    for name in table.names:
        column = table.column(name)
        missing = column.missing
        kind = types.get(column.holds)
        if kind is None:
            columns[name] = pa.array(table.texts(name), type=pa.string())
        elif column.holds in ("number", "integer", "boolean"):
            assert column.numbers is not None
            values = column.numbers if column.holds == "number" else np.where(missing, 0, column.numbers)
            columns[name] = pa.array(values.astype(kind.to_pandas_dtype()), type=kind, mask=missing)
        else:
            times = np.where(missing, 0, column.plain()).astype(np.int64)
            microseconds = pa.array(times, type=pa.int64(), mask=missing)
            if column.holds == "date":
                columns[name] = microseconds.cast(pa.timestamp("us")).cast(kind)
            else:
                columns[name] = microseconds.cast(kind)
    return FrameFile(pa.table(columns))


def check_fits(table: TextTable | FrameFile, path: Path) -> None:
    """Raise InvalidInput if the format of `path` cannot hold the values of the table."""
    kind = path.suffix.lower()
    for name in table.names:
        column: Any = table.column(name)
        numbers = column.numbers if isinstance(table, TextTable) and column.holds == "integer" else None
        if numbers is not None and (np.abs(np.nan_to_num(numbers)) >= 2.0**53).any():
            raise InvalidInput(
                f"Column {name!r} has whole numbers of 2^53 or more, which {path.name} would not hold "
                f'exactly. Write a .csv file, or give --types "{name}=text".'
            )
        if kind in EXCEL and column.holds in ("label", "ordered label", "other"):
            _check_excel_texts(name, table.texts(name) if isinstance(table, TextTable) else column.levels())
        if kind in NUMPY and column.holds not in ("integer", "number", "boolean", "decimal"):
            raise InvalidInput(
                f"{path} can hold numbers only; column {name!r} does not. Write a .csv or .parquet file."
            )


def _check_excel_texts(name: Any, texts: Sequence[Any]) -> None:
    for text in (str(one) for one in texts if one is not None):
        if len(text) > _MAX_EXCEL_TEXT or _NOT_IN_EXCEL.search(text):
            problem = f"{len(text):,} characters" if len(text) > _MAX_EXCEL_TEXT else "a control character"
            raise InvalidInput(
                f"Cells of an .xlsx file hold at most {_MAX_EXCEL_TEXT:,} characters, none of them control "
                f"characters; a cell of column {name!r} has {problem}. Write a .csv or .parquet file."
            )


def without(table: TextTable | FrameFile, removed: Mapping[Any, Indices]) -> FrameFile:
    """A table without some of its values; `removed` maps columns to rows."""
    pa = _arrow()
    native = as_arrow(table).native({})
    for name, rows in removed.items():
        empty = np.zeros(native.num_rows, dtype=bool)
        empty[rows] = True
        import pyarrow.compute as pc

        column = pc.if_else(pa.array(empty), pa.scalar(None, type=native[name].type), native[name])
        native = native.set_column(native.column_names.index(name), name, column)
    return type(table)(native) if isinstance(table, FrameFile) else FrameFile(native)


def _read_array(path: Path) -> FrameFile:
    try:
        X = np.load(path, allow_pickle=False)
    except (ValueError, EOFError, SyntaxError, MemoryError, tokenize.TokenError, zipfile.BadZipFile):
        raise InvalidInput(f"{path} must hold an array of numbers saved by numpy.save.") from None
    if not isinstance(X, np.ndarray):
        raise InvalidInput(f"{path} must hold one array, saved by numpy.save; it is an archive of arrays.")
    if X.ndim != 2 or X.dtype.kind not in "fiu" or X.dtype.itemsize > 8:
        raise InvalidInput(
            f"{path} must hold numbers in two dimensions, rows and columns; it holds an array of type "
            f"{X.dtype} and shape {X.shape}. Reshape or convert it."
        )
    pa = _arrow()
    native = X.astype(X.dtype.newbyteorder("="), copy=False)
    return ArrayFile(pa.table({f"x{i}": pa.array(column) for i, column in enumerate(native.T)}))


def _write_array(table: TextTable | FrameFile, fills: Fills, path: Path) -> None:
    native = as_arrow(table).native(fills)
    others = [name for name in native.column_names if native[name].to_numpy().dtype.kind not in "fiub"]
    if others:
        raise InvalidInput(
            f"{path} can hold numbers only; columns {others} do not. Write a .csv or .parquet file."
        )
    with atomic_write(path, "wb") as file:
        np.save(file, np.column_stack([native[name].to_numpy() for name in native.column_names]))


def _read_excel(path: Path) -> FrameFile:
    openpyxl = _openpyxl()
    try:
        book = openpyxl.load_workbook(path, read_only=True)
    except Exception as error:  # openpyxl raises zip, XML, key and other errors
        raise InvalidInput(f"{path} cannot be read as an .xlsx file: {error}.") from error
    sheet = book.worksheets[0]
    rows = [[_cell(path, cell) for cell in row] for row in sheet.iter_rows()]
    book.close()
    while rows and all(value is None for value in rows[-1]):
        rows.pop()
    if len(rows) < 2:
        raise InvalidInput(f"{path} has no rows below its first line; at least one is needed.")
    names = [f"column {i + 1}" if name is None else str(name) for i, name in enumerate(rows[0])]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InvalidInput(f"Column names must differ; {path} repeats {repeated}. Rename them.")
    pa = _arrow()
    columns = {}
    for j, name in enumerate(names):
        values = [row[j] if j < len(row) else None for row in rows[1:]]
        kinds = {type(value) for value in values if value is not None}
        if kinds == {int, float}:
            values = [None if value is None else float(value) for value in values]
        elif len(kinds) > 1:
            values = [None if value is None else str(value) for value in values]
        columns[name] = pa.array(values)
    return FrameFile(pa.table(columns))


def _cell(path: Path, cell: Any) -> Any:
    """Value of an Excel cell; None for blank text and error values."""
    if getattr(cell, "data_type", None) == "f":
        raise InvalidInput(
            f"Cells must hold values; {cell.coordinate} of {path} holds a formula, {str(cell.value)[:40]!r}, "
            "and formulas are not evaluated. Save the file with values in place of formulas."
        )
    if getattr(cell, "data_type", None) == "e":
        return None  # an error value such as #N/A or #DIV/0!
    value = cell.value
    return None if isinstance(value, str) and not value.strip() else value


def _write_excel(native: Any, path: Path) -> None:
    openpyxl = _openpyxl()
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("completed")
    sheet.append([_text_cell(openpyxl, sheet, name) for name in native.column_names])
    for row in zip(*(native[name].to_pylist() for name in native.column_names), strict=True):
        sheet.append([_excel_value(openpyxl, sheet, value) for value in row])
    content = io.BytesIO()  # openpyxl does not close its archive after an error, so it does not get the file
    book.save(content)
    with atomic_write(path, "wb") as file:
        file.write(content.getbuffer())


def _excel_value(openpyxl: Any, sheet: Any, value: Any) -> Any:
    if isinstance(value, str):
        return _text_cell(openpyxl, sheet, value)
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return value.isoformat()
    known = (bool, int, float, decimal.Decimal, datetime.date, datetime.time, datetime.timedelta)
    return value if value is None or isinstance(value, known) else str(value)


def _text_cell(openpyxl: Any, sheet: Any, text: str) -> Any:
    """A text cell; `data_type` keeps Excel from reading text that starts with = as a formula."""
    cell = openpyxl.cell.WriteOnlyCell(sheet, text)
    cell.data_type = "s"
    return cell


def _arrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise MissingDependency(
            "Files other than .csv and .tsv need pyarrow: pip install 'manifill[tables]'."
        ) from None
    return pyarrow


def _openpyxl() -> Any:
    try:
        import openpyxl
        import openpyxl.cell
    except ImportError:
        raise MissingDependency("Excel files need openpyxl: pip install 'manifill[tables]'.") from None
    return openpyxl
