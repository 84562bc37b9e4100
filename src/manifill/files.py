"""Tables of numbers in files: complaints name line and column, output is written whole or not at all."""

import csv
import math
import os
import tempfile
import tokenize
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from manifill.arrays import Mask, Table
from manifill.errors import InvalidInput

MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?")
"""Cells of a text file that stand for a missing value, unless the user says otherwise."""

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
FORMATS = (*_DELIMITERS, ".npy")


@dataclass(frozen=True, eq=False)
class TextTable:
    """A delimited file as it was written, and the numbers in it.

    Observed cells keep their text, so that what was not missing goes out as it came in.
    """

    header: list[str] | None
    cells: list[list[str]]
    numeric: Mask
    X: Table

    @property
    def columns(self) -> list[str]:
        """Names of the numeric columns."""
        names = self.header or [f"x{i}" for i in range(len(self.numeric))]
        return [name for name, numeric in zip(names, self.numeric, strict=True) if numeric]

    def filled(self, X: Table) -> "TextTable":
        """The same text with the numbers filled in written out."""
        cells = [row.copy() for row in self.cells]
        to_write = np.isnan(self.X) & ~np.isnan(X)
        for column, values, write in zip(np.flatnonzero(self.numeric), X.T, to_write.T, strict=True):
            for row in np.flatnonzero(write):
                cells[row][column] = repr(float(values[row]))
        return TextTable(self.header, cells, self.numeric, X)


@dataclass(frozen=True, eq=False)
class ArrayTable:
    """A NumPy array from a file."""

    X: Table
    header = None

    @property
    def columns(self) -> list[str]:
        return [f"x{i}" for i in range(self.X.shape[1])]

    def filled(self, X: Table) -> "ArrayTable":
        return ArrayTable(X)


def read(
    path: Path,
    *,
    missing: Collection[str] = MISSING,
    skip: Collection[str] = (),
    header: bool | None = None,
) -> TextTable | ArrayTable:
    """Read a table of numbers.

    Parameters
    ----------
    path : a .csv, .tsv or .npy file.
    missing : cells that stand for a missing value (text files).
    skip : names of columns to hand through untouched (text files).
    header : whether the first line holds names; None: if anything in it is not a number (text files).
    """
    kind = _kind(path)
    if not path.is_file():
        raise InvalidInput(f"There is no file {path}.")
    if kind != ".npy":
        return _read_text(path, missing, skip, header)
    if skip:
        raise InvalidInput(f"The columns of {path} have no names, so none can be skipped.")
    return _read_array(path)


def check_output(path: Path) -> None:
    """Refuse, before any work is done, a place that cannot be written to."""
    _kind(path)
    if not path.parent.is_dir():
        raise InvalidInput(f"There is no folder {path.parent} to write {path.name} into.")
    if path.is_dir() or not os.access(path.parent, os.W_OK):
        raise InvalidInput(f"{path} cannot be written: it is a folder, or its folder is not writable.")


def write(table: TextTable | ArrayTable, path: Path) -> None:
    """Write a table, whole or not at all, in the format that the ending of `path` names."""
    check_output(path)
    if _kind(path) == ".npy" and isinstance(table, TextTable) and not table.numeric.all():
        raise InvalidInput(f"{path} can hold numbers only; write skipped columns to a .csv or .tsv file.")
    if _kind(path) == ".npy":
        with whole(path, "wb") as file:
            np.save(file, table.X)
        return
    cells = (
        table.cells if isinstance(table, TextTable) else [[repr(float(v)) for v in row] for row in table.X]
    )
    with whole(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=_DELIMITERS[_kind(path)], lineterminator="\n")
        if table.header is not None:
            writer.writerow(table.header)
        writer.writerows(cells)


def _kind(path: Path) -> str:
    if path.suffix.lower() not in FORMATS:
        raise InvalidInput(f"{path} must end in one of {', '.join(FORMATS)}, which tells its format.")
    return path.suffix.lower()


@contextmanager
def whole(path: Path, mode: str, **options: Any) -> Iterator[IO[Any]]:
    """A file that takes its name only when everything in it is written."""
    path = path.resolve()  # through a link to what it points to
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, mode, **options) as file:
            yield file
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _read_array(path: Path) -> ArrayTable:
    try:
        X = np.load(path, allow_pickle=False)
    except (ValueError, EOFError, SyntaxError, tokenize.TokenError) as error:
        raise InvalidInput(f"{path} must be an array of numbers saved by numpy.save ({error}).") from error
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind not in "fiu":
        raise InvalidInput(f"{path} must hold a table of numbers with two dimensions.")
    if X.dtype in (np.float32, np.float64):
        return ArrayTable(X)
    exact = X.astype(np.float64)
    if not np.array_equal(exact.astype(X.dtype), X, equal_nan=X.dtype.kind == "f"):
        raise InvalidInput(f"{path} holds numbers of type {X.dtype} which float64 cannot hold exactly.")
    return ArrayTable(exact)


def _read_text(
    path: Path, missing: Collection[str], skip: Collection[str], has_header: bool | None
) -> TextTable:
    lines = _lines(path)
    if not lines:
        raise InvalidInput(f"{path} is empty; a table with at least one row is needed.")
    first = lines[0][1]
    if has_header is None:
        has_header = any(_number(cell, missing) is None for cell in first)
    names = [cell.strip() for cell in first] if has_header else [f"x{i}" for i in range(len(first))]
    rows = lines[1:] if has_header else lines
    if not rows:
        raise InvalidInput(f"{path} has a header and no rows; there is nothing to fill.")
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InvalidInput(f"Column names must differ; {path} repeats {repeated}. Rename them.")
    unknown = sorted(set(skip) - set(names))
    if unknown:
        raise InvalidInput(f"There is no column {unknown} to skip in {path}; its columns are {names}.")
    numeric = np.array([name not in set(skip) for name in names])
    X = np.full((len(rows), len(names)), np.nan)
    for i, (line, cells) in enumerate(rows):
        if len(cells) != len(names):
            hint = " Are its cells separated by semicolons? Commas are expected." if ";" in cells[0] else ""
            raise InvalidInput(
                f"Line {line} of {path} has {len(cells)} cells where the first line has {len(names)}.{hint}"
            )
        for j in np.flatnonzero(numeric):
            value = _number(cells[j], missing)
            if value is None or math.isinf(value):
                raise _not_a_number(path, line, names[j], cells[j], missing)
            X[i, j] = value
    cells_only = [cells for _, cells in rows]
    return TextTable(names if has_header else None, cells_only, numeric, X[:, numeric])


def _not_a_number(path: Path, line: int, name: str, cell: str, missing: Collection[str]) -> InvalidInput:
    ways = [f'use --skip "{name}" to hand the column through as it is']
    if "," not in cell:
        codes = ",".join([*(code for code in missing if code), cell.strip()])
        ways.append(f'--missing-values "{codes}" if it stands for a missing value')
    return InvalidInput(
        f"Cells must be finite numbers; line {line} of {path}, column {name!r}, is {cell!r}: "
        f"{', or '.join(ways)}."
    )


def _lines(path: Path) -> list[tuple[int, list[str]]]:
    """Line number and cells of every line; blank lines count in tables of one column only."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, delimiter=_DELIMITERS[path.suffix.lower()], strict=True)
            lines = [(reader.line_num, cells) for cells in reader]
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} must be UTF-8 text; it is not ({error}). Save it as UTF-8.") from error
    except csv.Error as error:
        raise InvalidInput(f"{path} cannot be read as a table of cells: {error}.") from error
    while lines and not lines[-1][1]:
        lines.pop()
    if all(len(cells) <= 1 for _, cells in lines):
        return [(number, cells or [""]) for number, cells in lines]
    return [(number, cells) for number, cells in lines if cells]


def _number(cell: str, missing: Collection[str]) -> float | None:
    """A number, NaN for a cell that stands for a missing value, None for anything else."""
    text = cell.strip()
    if text in missing:
        return float("nan")
    try:
        return float(text)
    except ValueError:
        return None
