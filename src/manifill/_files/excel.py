"""Read and write spreadsheets. The rest of an Excel workbook is kept when a table of it is filled."""

import datetime
import decimal
import io
import re
import secrets
import shutil
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from manifill._files.frame import FrameFile, Options, Origin, of_values, python_values, stripped
from manifill.errors import InvalidInput, MissingDependency
from manifill.tables.source import Fills

EXCEL = (".xlsx",)
OTHER_SHEETS = (".ods", ".xls", ".xlsb")
# Limits of the format of Excel.
_MAX_TEXT = 32_767
_MAX_ROWS, _MAX_COLUMNS = 1_048_576, 16_384
_NOT_IN_EXCEL = re.compile(r"[\x00-\x08\x0b-\x1f]")


@dataclass(frozen=True)
class Place:
    """Where a table is in a workbook.

    Attributes
    ----------
    data : the file.
    header, first : row of the names and first column, counted from 0.
    texts : columns of which all cells are text.
    """

    data: bytes
    sheet: str
    header: int
    first: int
    texts: frozenset[str]


def read_excel(data: bytes, options: Options, origin: Origin) -> FrameFile:
    """Read a sheet of an .xlsx file; formulas count with the value that the file holds for them."""
    openpyxl = _openpyxl()
    try:
        book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
        sheet = book[_chosen(book.sheetnames, options.sheet, origin.path)]
        cells = [list(row) for row in sheet.iter_rows()]
        book.close()
        _require_values(openpyxl, data, sheet.title, cells, origin.path)
    except InvalidInput:
        raise
    except Exception as error:  # openpyxl raises zip, XML, key and other errors
        raise InvalidInput(f"{origin.path} cannot be read as an .xlsx file: {error}.") from error
    return _table([[_value(cell) for cell in row] for row in cells], data, sheet.title, options, origin)


def read_sheets(data: bytes, options: Options, origin: Origin) -> FrameFile:
    """Read a sheet of an .ods, .xls or .xlsb file."""
    try:
        import python_calamine
    except ImportError:
        raise MissingDependency(
            "Files in .ods, .xls and .xlsb need python-calamine: pip install 'manifill[tables]'."
        ) from None
    try:
        book = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
        name = _chosen(book.sheet_names, options.sheet, origin.path)
        cells = book.get_sheet_by_name(name).to_python(skip_empty_area=False)
    except InvalidInput:
        raise
    except Exception as error:  # calamine has an error for every format
        raise InvalidInput(f"{origin.path} cannot be read as a spreadsheet: {error}.") from error
    return _table([[_calamine_value(one) for one in row] for row in cells], None, name, options, origin)


def _chosen(names: Sequence[str], sheet: str | None, path: Path) -> str:
    """Name of the sheet to read: given by name or number, or the first."""
    if sheet is None:
        return names[0]
    if sheet in names:
        return sheet
    if sheet.isdecimal() and 1 <= int(sheet) <= len(names):
        return names[int(sheet) - 1]
    raise InvalidInput(f"{path} has no sheet {sheet!r}; its sheets are {', '.join(names)}.")


def _table(
    rows: list[list[Any]], data: bytes | None, sheet: str, options: Options, origin: Origin
) -> FrameFile:
    """The table of a sheet, below the lines above it."""
    while rows and all(value is None for value in rows[-1]):
        rows.pop()
    width = max((len(row) for row in rows), default=0)
    rows = [[*row, *[None] * (width - len(row))] for row in rows]
    used = [j for j in range(width) if any(row[j] is not None for row in rows[options.skip_rows :])]
    header = options.skip_rows or _header(rows, used)
    body = rows[header + 1 :]
    used = [j for j in used if any(row[j] is not None for row in rows[header:])]
    if not body or not used:
        raise InvalidInput(
            f"{origin.path}, sheet {sheet!r}, has no rows below its first line; at least one is needed. "
            "Choose another sheet with --sheet."
        )
    first = used[0]
    columns = range(first, used[-1] + 1)
    names = [str(rows[header][j]) if rows[header][j] is not None else f"column {j + 1}" for j in columns]
    values = [[row[j] for row in body] for j in columns]
    if data is not None:
        texts = frozenset(
            name
            for name, column in zip(stripped(names), values, strict=True)
            if all(isinstance(one, str) for one in column if one is not None)
        )
        origin.workbook = Place(data, sheet, header, first, texts)
    return of_values(names, values, options, origin)


def _header(rows: list[list[Any]], used: Sequence[int]) -> int:
    """Row of the names: the first with a cell in the last column, and in at least half of all columns.

    If that row has other values than texts, a row of texts above it may hold the names: that of the last
    column is empty then.
    """
    filled = [[row[j] for j in used if row[j] is not None] for row in rows]
    many = [i for i, values in enumerate(filled) if values and 2 * len(values) >= len(used)]
    found = next((i for i in many if rows[i][used[-1]] is not None), None)
    if found is None:
        return next((i for i, values in enumerate(filled) if values), 0)
    texts = [i for i in many if all(isinstance(value, str) for value in filled[i])]
    above = [i for i in texts if i < found and len(filled[i]) > 1]
    return found if found in texts or not above else above[-1]


def _value(cell: Any) -> Any:
    """Value of an Excel cell; None for blank text and error values such as #N/A or #DIV/0!"""
    if getattr(cell, "data_type", None) == "e":
        return None
    return None if isinstance(cell.value, str) and not cell.value.strip() else cell.value


def _calamine_value(value: Any) -> Any:
    if isinstance(value, str) and (not value.strip() or value.startswith("#N/A")):
        return None
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value


def _require_values(openpyxl: Any, data: bytes, sheet: str, cached: list[list[Any]], path: Path) -> None:
    """Raise InvalidInput if a formula has no value in the file, as programs other than Excel write it."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        sheets = [name for name in file.namelist() if name.startswith("xl/worksheets/")]
        if not any(re.search(rb"<f[ >]", file.read(name)) for name in sheets):
            return
    book = openpyxl.load_workbook(io.BytesIO(data), read_only=True)
    for cells, values in zip(book[sheet].iter_rows(), cached, strict=False):
        for cell, value in zip(cells, values, strict=False):
            if getattr(cell, "data_type", None) == "f" and value.value is None:
                raise InvalidInput(
                    f"Cells must hold values; {cell.coordinate} of {path} holds a formula, "
                    f"{str(cell.value)[:40]!r}, without its value. Open and save the file in Excel or "
                    "LibreOffice, which compute it."
                )


def check_excel(table: FrameFile, path: Path) -> None:
    """Raise InvalidInput if an .xlsx file cannot hold the table."""
    if len(table) >= _MAX_ROWS or len(table.names) > _MAX_COLUMNS:
        raise InvalidInput(
            f"An .xlsx file holds at most {_MAX_ROWS - 1:,} rows and {_MAX_COLUMNS:,} columns; the table has "
            f"{len(table):,} and {len(table.names):,}. Write a .csv or .parquet file."
        )
    for name in table.names:
        check_text(name, [name])
    place = table.origin.workbook
    lost = [] if place is None else drawings(place.data)
    if lost and path.resolve() == table.origin.path.resolve():
        raise InvalidInput(f"{path} holds {' and '.join(lost)}, which would be lost. Write to another file.")


def drawings(data: bytes) -> list[str]:
    """What a workbook holds that is not kept when it is written."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        names = file.namelist()
    kinds = {"charts": "xl/charts/", "pivot tables": "xl/pivotTables/", "macros": "xl/vbaProject"}
    return [kind for kind, folder in kinds.items() if any(name.startswith(folder) for name in names)]


def check_text(name: Any, texts: Iterable[Any]) -> None:
    """Raise InvalidInput if a cell of an .xlsx file cannot hold one of the texts."""
    for text in (str(one) for one in texts if one is not None):
        if len(text) > _MAX_TEXT or _NOT_IN_EXCEL.search(text):
            problem = f"{len(text):,} characters" if len(text) > _MAX_TEXT else "a control character"
            raise InvalidInput(
                f"Cells of an .xlsx file hold at most {_MAX_TEXT:,} characters, none of them control "
                f"characters; column {name!r} has {problem}. Write a .csv or .parquet file."
            )


def check_times(name: Any, column: Any) -> None:
    """Raise InvalidInput if times of a pyarrow column are finer than those of an .xlsx file."""
    import pyarrow as pa

    kind = column.type
    plain = pa.types.is_timestamp(kind) and kind.tz is None  # others are written as text
    step = {"us": 1000, "ns": 1_000_000}.get(getattr(kind, "unit", ""), 1)
    if step == 1 or not (plain or pa.types.is_time(kind) or pa.types.is_duration(kind)):
        return
    if (column.drop_null().cast(pa.int64()).to_numpy() % step).any():
        raise InvalidInput(
            f"Times in .xlsx files are exact to milliseconds; column {name!r} has finer ones. Write a "
            ".csv or .parquet file."
        )


def write_excel(table: FrameFile, fills: Fills, file: IO[bytes], extra: Mapping[str, list[Any]]) -> None:
    """Write a new workbook, or the one that the table came from with imputed values in its cells."""
    openpyxl = _openpyxl()
    if table.origin.workbook is not None:
        _fill_workbook(openpyxl, table, fills, file, extra)
        return
    native = table.typed(fills)
    names, values = [*native.column_names, *extra], [python_values(one) for one in native.columns]
    with temporary_files():
        book = openpyxl.Workbook(write_only=True)
        sheet = book.create_sheet("completed")
        for row in (names, *zip(*values, *extra.values(), strict=True)):
            sheet.append([_cell(openpyxl.cell.WriteOnlyCell(sheet), value) for value in row])
        _save(book, file)


def _fill_workbook(
    openpyxl: Any, table: FrameFile, fills: Fills, file: IO[bytes], extra: Mapping[str, list[Any]]
) -> None:
    """Write imputed values into the cells of the workbook; everything else stays."""
    place = table.origin.workbook
    book = openpyxl.load_workbook(io.BytesIO(place.data))
    sheet = book[place.sheet]
    top = place.header + 2  # the first row of values, counted from 1
    typed = table.typed(fills)
    for name, (rows, values) in fills.items():
        j = table.names.index(name)
        text = name in place.texts and table.is_text(name)
        cells = table.column(name).written(values) if text else python_values(typed.column(j).take(rows))
        known = int((~table.column(name).missing).argmax())
        style = sheet.cell(top + known, place.first + j + 1).number_format
        for row, value in zip(rows.tolist(), cells, strict=True):
            cell = _cell(sheet.cell(top + row, place.first + j + 1), value)
            if cell.number_format == "General":
                cell.number_format = style
    for name, rows in table.removed.items():
        for row in rows.tolist():
            sheet.cell(top + row, place.first + table.names.index(name) + 1).value = None
    right = sheet.max_column + 1
    for i, (name, cells) in enumerate(extra.items()):
        _cell(sheet.cell(top - 1, right + i), name)
        for row, value in enumerate(cells):
            if value is not None:
                _cell(sheet.cell(top + row, right + i), value)
    _save(book, file)


def _save(book: Any, file: IO[bytes]) -> None:
    """Save a workbook; openpyxl complains about a file that fails while it writes, so it writes to memory.

    openpyxl has a temporary file for each sheet, and does not remove it if a signal comes right after its
    creation.
    """
    buffer = io.BytesIO()
    with temporary_files():
        book.save(buffer)
    file.write(buffer.getbuffer())


@contextmanager
def temporary_files() -> Iterator[None]:
    """Put temporary files of libraries into a folder that is removed at the end, also after a signal."""
    folder = Path(tempfile.gettempdir(), f"manifill-{secrets.token_hex(6)}")
    former = tempfile.tempdir
    try:
        try:
            folder.mkdir(mode=0o700)
            tempfile.tempdir = str(folder)
            yield
        finally:  # a signal may interrupt it
            tempfile.tempdir = former
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        tempfile.tempdir = former
        shutil.rmtree(folder, ignore_errors=True)


def _cell(cell: Any, value: Any) -> Any:
    """The cell with a value; text that starts with = is not read as a formula."""
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        value = value.isoformat()
    known = (bool, int, float, decimal.Decimal, datetime.date, datetime.time, datetime.timedelta)
    cell.value = value if value is None or isinstance(value, known) else str(value)
    if isinstance(cell.value, str):
        cell.data_type = "s"
    return cell


def _openpyxl() -> Any:
    try:
        import openpyxl
        import openpyxl.cell
    except ImportError:
        raise MissingDependency("Excel files need openpyxl: pip install 'manifill[tables]'.") from None
    return openpyxl
