"""Read and write tables as files. Errors name line and column, and output files are written atomically."""

import atexit
import shutil
import sys
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import IO, Any

from manifill._arrays import Indices
from manifill._files import binary
from manifill._files.atomic import Transaction, atomic_path, atomic_write, standard_output, transaction
from manifill._files.binary import ArrayFile, FrameFile
from manifill._files.checks import check_distinct, check_replaceable, check_space, check_writable
from manifill._files.text import DELIMITERS, MISSING, RowWriter, TextTable
from manifill.errors import InvalidInput
from manifill.tables.source import Fills
from manifill.tables.variables import Plain

__all__ = [
    "FORMATS",
    "MISSING",
    "PIPE",
    "ArrayFile",
    "Extra",
    "FrameFile",
    "TableFile",
    "TextTable",
    "Transaction",
    "atomic_path",
    "atomic_write",
    "check_distinct",
    "check_fits",
    "check_output",
    "check_replaceable",
    "check_space",
    "check_writable",
    "read",
    "transaction",
    "write",
    "write_without",
]

FORMATS = (*DELIMITERS, *binary.ARROW, *binary.EXCEL, *binary.NUMPY)
PIPE = Path("-")
"""Standard input or output, as CSV."""

TableFile = TextTable | FrameFile
Extra = dict[str, tuple[Any, Indices, Plain]]
"""Additional columns: name → (column whose format they take, rows where they have values, the values)."""


def read(
    path: Path,
    *,
    missing: Collection[str] = MISSING,
    header: bool | None = None,
    encoding: str = "utf-8",
    delimiter: str | None = None,
    text_columns: Collection[str] = (),
) -> TableFile:
    """Read a table; the options are those of `TextTable` and apply to text files only."""
    display_name = "standard input" if path == PIPE else None
    if path == PIPE:
        path = _standard_input()
    kind = _kind(path)
    if path.is_dir():
        raise InvalidInput(f"{path} is a folder; give the name of a file in it.")
    if not path.is_file():
        raise InvalidInput(f"There is no file {path}. Check the path.")
    if kind in DELIMITERS:
        return TextTable(
            path,
            missing=missing,
            header=header,
            encoding=encoding,
            delimiter=delimiter,
            text_columns=text_columns,
            display_name=display_name,
        )
    return binary.read(path)


def check_output(path: Path) -> None:
    """Raise InvalidInput, before any work is done, if the path cannot be written to."""
    if path != PIPE:
        _kind(path)
        check_writable(path)
    elif sys.stdout is None:
        raise InvalidInput("Standard output is closed; name a file to write.")


def check_fits(table: TableFile, path: Path) -> None:
    """Raise InvalidInput, before any work is done, if the format of `path` cannot hold the table."""
    if path != PIPE and path.suffix.lower() not in DELIMITERS:
        binary.check_fits(table, path)


def write(table: TableFile, fills: Fills, path: Path, extra: Extra | None = None) -> None:
    """Write a table with imputed values and additional columns, in the format of the ending of `path`."""
    check_output(path)
    if isinstance(table, TextTable) and path != PIPE and path.suffix.lower() not in DELIMITERS:
        table = binary.as_arrow(table)
    columns = {name: _column(table, *one) for name, one in (extra or {}).items()}
    if path == PIPE:
        with standard_output() as file:
            _stream(table, fills, file, ",", columns)
    elif path.suffix.lower() in DELIMITERS:
        with atomic_write(path, "w", encoding="utf-8", newline="") as file:
            delimiter = (
                _delimiter(table, path) if isinstance(table, TextTable) else DELIMITERS[path.suffix.lower()]
            )
            _stream(table, fills, file, delimiter, columns)
    else:
        binary.write(table, fills, path, columns)


def write_without(table: TableFile, removed: Mapping[Any, Indices], path: Path) -> None:
    """Write a table without some of its values; `removed` maps columns to rows."""
    check_output(path)
    if isinstance(table, TextTable) and (path == PIPE or path.suffix.lower() in DELIMITERS):
        texts = {name: dict.fromkeys(rows.tolist(), "") for name, rows in removed.items()}
        if path == PIPE:
            with standard_output() as file:
                table.rewrite(texts, file, table.delimiter, {})
            return
        with atomic_write(path, "w", encoding="utf-8", newline="") as file:
            table.rewrite(texts, file, _delimiter(table, path), {})
        return
    write(binary.without(table, removed), {}, path)


def _delimiter(table: TextTable, path: Path) -> str:
    """Delimiter of the output: a tab for .tsv; for .csv that of the table."""
    own = DELIMITERS[path.suffix.lower()]
    return table.delimiter if own == "," and table.path.suffix.lower() != ".tsv" else own


def _stream(
    table: TableFile, fills: Fills, file: IO[str], delimiter: str, extra: Mapping[str, list[Any]]
) -> None:
    """Write the completed table as delimited text."""
    if isinstance(table, TextTable):
        table.stream(fills, file, delimiter, {name: _texts(values) for name, values in extra.items()})
        return
    native = table.native(fills)
    writer = RowWriter(file, delimiter)
    if table.header or extra:
        writer.writerow([*native.column_names, *extra])
    columns = [_texts(native[name].to_pylist()) for name in native.column_names]
    for row in zip(*columns, *(_texts(values) for values in extra.values()), strict=True):
        writer.writerow(row)


def _column(table: TableFile, like: Any, rows: Indices, values: Plain) -> list[Any]:
    """Cells of an additional column, in the format of column `like`; None where it has no value."""
    cells: list[Any] = [None] * len(table)
    for row, value in zip(rows.tolist(), table.column(like).written(values), strict=True):
        cells[row] = value
    return cells


def _texts(values: list[Any]) -> list[str]:
    return ["" if value is None else str(value) for value in values]


def _kind(path: Path) -> str:
    if path.suffix.lower() not in FORMATS:
        raise InvalidInput(f"{path} must end in one of {', '.join(FORMATS)}; the ending sets the format.")
    return path.suffix.lower()


def _standard_input() -> Path:
    """Copy standard input to a temporary file, which can be read twice."""
    folder = Path(tempfile.mkdtemp(prefix="manifill-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = folder / "standard input.csv"
    with path.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return path
