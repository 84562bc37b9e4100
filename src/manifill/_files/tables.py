"""Read and write tables as files, in the format of their ending."""

import gzip
import io
import re
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa

from manifill._arrays import Indices
from manifill._files.atomic import atomic_write, standard_output
from manifill._files.binary import (
    ARROW,
    JSON,
    NUMPY,
    read_array,
    read_arrow,
    read_json,
    write_array,
    write_arrow,
    write_json,
)
from manifill._files.checks import check_distinct, check_replaceable, check_space, check_writable
from manifill._files.databases import DATABASES, read_database, split_table
from manifill._files.excel import (
    EXCEL,
    OTHER_SHEETS,
    check_excel,
    check_text,
    check_times,
    read_excel,
    read_sheets,
    write_excel,
)
from manifill._files.frame import FrameFile, Options, Origin, fingerprint, of_cells
from manifill._files.text import DELIMITERS, MISSING, Layout, TextReader, as_texts
from manifill.errors import InvalidInput
from manifill.tables.source import Fills
from manifill.tables.variables import Plain

__all__ = [
    "FORMATS",
    "MISSING",
    "PIPE",
    "Extra",
    "FrameFile",
    "atomic_write",
    "check_distinct",
    "check_fits",
    "check_output",
    "check_replaceable",
    "check_space",
    "check_writable",
    "ending_of",
    "read",
    "write",
]

PIPE = Path("-")
"""Standard input or output, as text."""

_WRITTEN = (".csv", ".tsv", *ARROW, *EXCEL, *NUMPY, ".txt", *JSON)
FORMATS = (*_WRITTEN, *OTHER_SHEETS, *DATABASES)
_PACKED = (".gz", ".zst", ".zip")
_PACKABLE = (*DELIMITERS, *JSON)

Extra = dict[str, tuple[Any, Indices, Plain]]
"""Additional columns: name → (column whose format they take, rows where they have values, the values)."""


def ending_of(path: Path) -> str:
    """Ending of a path, in lower case; .gz, .zst and .zip together with the one before, such as .csv.gz."""
    found = [one.lower() for one in path.suffixes[-2:]]
    if not found:
        return ""
    packed = len(found) == 2 and found[1] in _PACKED and found[0] in _PACKABLE
    return "".join(found) if packed else found[-1]


def read(path: Path, **options: Any) -> FrameFile:
    """Read a table.

    Parameters
    ----------
    path : a file, `PIPE`, a named pipe, a folder of parquet files, or a table of a database: data.db::people.
    types : column → type as in --types; decides how cells of text are read.
    missing : texts that mean a missing value.
    header, encoding, delimiter : of text files; default: found in the text.
    decimal : decimal separator, where cells can be read in two ways.
    sheet : name or number of a sheet.
    skip_rows : lines above the table, in text files and sheets.
    """
    chosen = Options(**options)
    if path == PIPE:
        return _read_text(sys.stdin.buffer.read(), ".csv", chosen, Origin(Path("standard input")))
    path, table = split_table(path)
    _check_input(path)
    origin = Origin(path, fingerprint(path))
    ending = ending_of(path)
    if path.is_dir():
        return read_arrow(None, ".parquet", origin)
    regular = path.is_file()
    if ending not in FORMATS and not regular:
        ending = ".csv"  # a named pipe, or <(…) of a shell
    kind, packed = ending, ""
    for one in _PACKED:
        if ending.endswith(one):
            kind, packed = ending.removesuffix(one), one
    _check_options(chosen, kind)
    if kind in DATABASES:
        return read_database(path, table, chosen, origin)
    if kind in (*ARROW, *NUMPY) and regular:
        return read_array(path, origin) if kind in NUMPY else read_arrow(path, kind, origin)
    return _read_data(_unpacked(path.read_bytes(), packed, path), kind, chosen, origin)


def _read_data(data: bytes, kind: str, options: Options, origin: Origin) -> FrameFile:
    """Read the content of a file of this kind."""
    if kind in DELIMITERS:
        return _read_text(data, kind, options, origin)
    if kind in JSON:
        return read_json(data, kind, options, origin)
    if kind in EXCEL:
        return read_excel(data, options, origin)
    if kind in OTHER_SHEETS:
        return read_sheets(data, options, origin)
    if kind in NUMPY:
        return read_array(io.BytesIO(data), origin)
    return read_arrow(pa.BufferReader(data), kind, origin)


def _read_text(data: bytes, kind: str, options: Options, origin: Origin) -> FrameFile:
    cells = TextReader(
        data,
        str(origin.path),
        missing=options.missing,
        header=options.header,
        encoding=options.encoding,
        delimiter=options.delimiter or ("\t" if DELIMITERS[kind] == "\t" else None),
        skip_rows=options.skip_rows,
    ).cells()
    origin.layout = cells.layout
    return of_cells(cells.names, cells.columns, cells.place, options, origin)


def _check_input(path: Path) -> None:
    """Raise InvalidInput if there is nothing to read."""
    if re.match(r"[A-Za-z][A-Za-z0-9+]+:/", str(path)):
        raise InvalidInput(f"Files are not downloaded; download {path} first, and give the name of the file.")
    if path.is_dir():
        if not any(path.rglob("*.parquet")):
            raise InvalidInput(f"{path} is a folder; give the name of a file in it.")
        return
    if not path.exists():
        _require_ending(path, FORMATS)
        raise InvalidInput(f"There is no file {path}. Check the path.")
    if path.is_file():
        _require_ending(path, FORMATS)


def _check_options(options: Options, kind: str) -> None:
    """Raise InvalidInput for options that this kind of file does not have."""
    sheets = kind in (*EXCEL, *OTHER_SHEETS)
    if options.sheet is not None and not sheets:
        raise InvalidInput(f"--sheet is for spreadsheets; {kind} files have no sheets. Leave it away.")
    if options.skip_rows and not sheets and kind not in DELIMITERS:
        raise InvalidInput(f"--skip-rows is for text files and spreadsheets, not for {kind} files.")


def _require_ending(path: Path, formats: tuple[str, ...]) -> None:
    ending = ending_of(path)
    plain = next((ending.removesuffix(one) for one in _PACKED if ending.endswith(one)), ending)
    if plain not in formats or (formats == _WRITTEN and ending.endswith(".zip")):
        raise InvalidInput(
            f"{path} must end in one of {', '.join(formats)}; the ending sets the format. Text may be packed "
            f"as {'.gz, .zst or .zip' if formats == FORMATS else '.gz or .zst'}."
        )


def _unpacked(data: bytes, packed: str, path: Path) -> bytes:
    """The content of a packed file."""
    try:
        if packed == ".gz":
            return gzip.decompress(data)
        if packed == ".zst":
            found: bytes = pa.CompressedInputStream(pa.BufferReader(data), "zstd").read()
            return found
        if packed == ".zip":
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                names = [
                    name for name in archive.namelist() if not name.endswith("/") and "__MACOSX" not in name
                ]
                if len(names) != 1:
                    raise InvalidInput(
                        f"{path} must hold one file; it holds {', '.join(names) or 'none'}. Unpack it first."
                    )
                return archive.read(names[0])
    except (OSError, EOFError, ValueError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(f"{path} cannot be unpacked: {error}.") from error
    return data


def check_output(path: Path) -> None:
    """Raise InvalidInput, before any work is done, if the path cannot be written to."""
    if path != PIPE:
        if ending_of(path) in (*OTHER_SHEETS, *DATABASES):
            raise InvalidInput(
                f"{ending_of(path)} files are read only; write a .csv, .parquet or .xlsx file."
            )
        _require_ending(path, _WRITTEN)
        check_writable(path)
    elif sys.stdout is None:
        raise InvalidInput("Standard output is closed; name a file to write.")


def check_fits(table: FrameFile, path: Path) -> None:
    """Raise InvalidInput, before any work is done, if the format of `path` cannot hold the table."""
    kind = ending_of(path)
    if kind in EXCEL:
        check_excel(table, path)
        if table.origin.workbook is None:
            for name, values in zip(table.names, table.typed({}).columns, strict=True):
                check_times(name, values)
                if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
                    check_text(name, values.unique().to_pylist())
    for name in table.names if kind in (*EXCEL, *NUMPY) else ():
        column: Any = table.column(name)
        exact = getattr(column, "exact", None)
        too_long = exact is None and table.is_text(name) and column.holds == "integer"  # 2^63 or more
        if too_long or (exact is not None and (np.abs(exact[~column.missing]) > 2**53).any()):
            raise InvalidInput(
                f"Column {name!r} has whole numbers above 2^53, which {path.name} would not hold exactly. "
                f'Write a .csv or .parquet file, or give --types "{name}=text".'
            )
        if kind in EXCEL and column.holds in ("label", "ordered label", "other"):
            check_text(name, table.texts_of(name))
        if kind in NUMPY and column.holds not in ("integer", "number", "boolean", "decimal"):
            raise InvalidInput(
                f"{path} can hold numbers only; column {name!r} does not. Write a .csv or .parquet file."
            )


def write(table: FrameFile, fills: Fills, path: Path, extra: Extra | None = None) -> None:
    """Write a table with imputed values and additional columns, in the format of the ending of `path`."""
    check_output(path)
    table.origin.require_unchanged()
    kind = ".csv" if path == PIPE else ending_of(path)
    packed = next((one for one in _PACKED if kind.endswith(one)), "")
    kind = kind.removesuffix(packed)
    typed = kind not in DELIMITERS
    columns = {name: table.like_column(*one, typed=typed) for name, one in (extra or {}).items()}
    if path == PIPE:
        layout = table.origin.layout
        with standard_output(layout.encoding) as file:
            _write_text(table, fills, file, layout, columns)
    elif kind in DELIMITERS:
        layout = table.origin.layout.converted(ending_of(table.origin.path)[:4], kind)
        with _writing(table, path, packed, layout.encoding) as file:
            _write_text(table, fills, file, layout, columns)
    elif kind in JSON:
        with _writing(table, path, packed, "utf-8") as file:
            write_json(table, fills, file, kind, columns)
    else:
        with _writing(table, path, packed) as file:
            _write_binary(table, fills, file, path, columns)


def _write_binary(
    table: FrameFile, fills: Fills, file: IO[bytes], path: Path, extra: dict[str, list[Any]]
) -> None:
    kind = ending_of(path)
    if kind in EXCEL:
        write_excel(table, fills, file, extra)
        return
    native = table.typed(fills)
    for name, values in extra.items():
        native = native.append_column(name, _array(values))
    if kind in NUMPY:
        write_array(native, file, path)
    else:
        write_arrow(native, file, kind)


def _array(values: list[Any]) -> Any:
    """A pyarrow array; of floats if a whole number has more than 64 bits."""
    try:
        return pa.array(values)
    except OverflowError:
        return pa.array([None if value is None else float(value) for value in values])


def _write_text(
    table: FrameFile, fills: Fills, file: IO[str], layout: Layout, extra: dict[str, list[Any]]
) -> None:
    columns = [*table.texts(fills), *(as_texts(values) for values in extra.values())]
    layout.write(file, [*table.header, *extra], columns)


@contextmanager
def _writing(table: FrameFile, path: Path, packed: str, encoding: str | None = None) -> Iterator[IO[Any]]:
    """Open a file for text in this encoding, or for bytes; the input must not change meanwhile."""
    with atomic_write(path, "wb") as file:
        target: Any = io.BytesIO() if packed else file
        with _as_text(target, encoding) if encoding else nullcontext(target) as opened:
            yield opened
        if packed == ".gz":
            file.write(gzip.compress(target.getbuffer(), mtime=0))
        elif packed:
            file.write(pa.compress(target.getvalue(), "zstd", asbytes=True))
        table.origin.require_unchanged()


@contextmanager
def _as_text(file: IO[bytes], encoding: str) -> Iterator[IO[str]]:
    """A file of bytes opened for text; it stays open."""
    text = io.TextIOWrapper(file, encoding=encoding, newline="")
    try:
        yield text
        text.flush()
    finally:
        with suppress(OSError):
            text.detach()
