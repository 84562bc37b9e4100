"""Writers and readers of file formats that share nothing with manifill's."""

import csv
import datetime
import gzip
import importlib.util
import io
import json
import sqlite3
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fuzz.oracle import Cells, text_rows

Columns = dict[str, list[Any]]
TEXT = {".csv": ",", ".tsv": "\t", ".txt": ","}


def readings(name: str, data: bytes, form: dict[str, Any], header: bool) -> Iterator[tuple[list[str], Cells]]:
    """Names and rows of an output, once for each delimiter and encoding that it may have."""
    ending = Path(name).suffix
    if name != "-" and ending not in TEXT:
        yield READERS[ending](data)
        return
    own = form.get("delimiter", ",")
    free = name == "-" or form.get("ending") == ".tsv" or form.get("pipe")
    delimiters = ["\t"] if ending == ".tsv" else dict.fromkeys([own, ","] if free else [own])
    for delimiter in delimiters:
        for encoding in dict.fromkeys([form.get("encoding", "utf-8"), "utf-8"]):
            if encoding == "utf-16" and data[:2] not in (b"\xff\xfe", b"\xfe\xff"):
                continue
            try:
                rows = text_rows(data, delimiter, encoding)
                pd.read_csv(io.BytesIO(data), sep=delimiter, encoding=encoding, dtype=str, header=None)
            except (csv.Error, ValueError):  # UnicodeError and the errors of pandas are ValueErrors
                continue
            yield (rows[0], rows[1:]) if header else ([""] * len(rows[0]), rows)


def stable(name: str, data: bytes) -> object:
    """The content of a file without the moment at which it was written."""
    if name.endswith((".xlsx", ".ods")):
        with zipfile.ZipFile(io.BytesIO(data)) as book:
            return {one: book.read(one) for one in book.namelist() if one != "docProps/core.xml"}
    return b"" if name.endswith((".html", ".model")) else data  # both tell how long the run took


# Writers take the columns and their arrow types, where there are any, and return bytes.


def _arrow(columns: Columns, types: dict[str, Any]) -> Any:
    import pyarrow as pa

    arrays = [pa.array(values, type=types.get(name)) for name, values in columns.items()]
    return pa.Table.from_arrays(arrays, names=list(columns))


def _parquet(columns: Columns, types: dict[str, Any]) -> bytes:
    import pyarrow.parquet

    file = io.BytesIO()
    pyarrow.parquet.write_table(_arrow(columns, types), file)
    return file.getvalue()


def _feather(columns: Columns, types: dict[str, Any]) -> bytes:
    import pyarrow.feather

    file = io.BytesIO()
    pyarrow.feather.write_feather(_arrow(columns, types), file, compression="uncompressed")
    return file.getvalue()


def _xlsx(columns: Columns, _: dict[str, Any]) -> bytes:
    import openpyxl

    book, file = openpyxl.Workbook(), io.BytesIO()
    # A row of names without the last one is not told from a title.
    book.active.append(
        [name if name.strip() or i == 0 < len(columns) - 1 else f"x{i}" for i, name in enumerate(columns)]
    )
    for row in zip(*columns.values(), strict=True):
        book.active.append([_simple(value) for value in row])
    book.save(file)
    return file.getvalue()


def _simple(value: Any) -> Any:
    """A value that spreadsheets and databases can hold."""
    if isinstance(value, str):
        return "".join(letter for letter in value if letter.isprintable())[:1000]
    known = isinstance(value, bool | int | float | datetime.date | datetime.time)
    return value if value is None or known else str(value)


def _npy(columns: Columns, types: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    kind = np.dtype(types.get("", "f8"))
    rows = [[np.nan if one is None else one for one in values] for values in columns.values()]
    with np.errstate(all="ignore"):
        np.save(file, np.array(rows, dtype=object).T.astype(float).astype(kind))
    return file.getvalue()


def _csv(columns: Columns, _: dict[str, Any]) -> bytes:
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(columns)
    writer.writerows(
        ["" if one is None else one for one in row] for row in zip(*columns.values(), strict=True)
    )
    return file.getvalue().encode()


def _records(columns: Columns) -> list[dict[str, Any]]:
    simple = {
        name: [one if isinstance(one, bool | int | float | None) else str(one) for one in values]
        for name, values in columns.items()
    }
    return [dict(zip(simple, row, strict=True)) for row in zip(*simple.values(), strict=True)]


def _sqlite(columns: Columns, _: dict[str, Any]) -> bytes:
    base = sqlite3.connect(":memory:")
    listed = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
    base.execute(f"create table data ({listed})")
    places = ", ".join("?" * len(columns))
    rows = [tuple(row.values()) for row in _records(columns)]
    base.executemany(f"insert into data values ({places})", rows)
    return base.serialize()


def _ods(columns: Columns, _: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    pd.DataFrame({name: [_simple(one) for one in values] for name, values in columns.items()}).to_excel(
        file, engine="odf", index=False
    )
    return file.getvalue()


WRITERS: dict[str, Callable[[Columns, dict[str, Any]], bytes]] = {
    ".parquet": _parquet,
    ".feather": _feather,
    ".arrow": _feather,
    ".xlsx": _xlsx,
    ".npy": _npy,
    ".csv": _csv,
    ".txt": _csv,
    ".csv.gz": lambda columns, types: gzip.compress(_csv(columns, types), mtime=0),
    ".json": lambda columns, _: json.dumps(_records(columns)).encode(),
    ".jsonl": lambda columns, _: "".join(json.dumps(one) + "\n" for one in _records(columns)).encode(),
    ".db": _sqlite,
    **({".ods": _ods} if importlib.util.find_spec("odf") else {}),
}
"""Ending → writer."""


# Readers return names and rows.


def _rows_of(table: Any) -> tuple[list[str], Cells]:
    columns = [column.to_pylist() for column in table.columns]
    return list(table.column_names), [list(row) for row in zip(*columns, strict=True)]


def _read_parquet(data: bytes) -> tuple[list[str], Cells]:
    import pyarrow.parquet

    return _rows_of(pyarrow.parquet.read_table(io.BytesIO(data)))


def _read_feather(data: bytes) -> tuple[list[str], Cells]:
    import pyarrow.feather

    return _rows_of(pyarrow.feather.read_table(io.BytesIO(data)))


def _read_xlsx(data: bytes) -> tuple[list[str], Cells]:
    import openpyxl

    rows = [list(row) for row in openpyxl.load_workbook(io.BytesIO(data)).worksheets[0].values]
    while rows and all(cell is None for cell in rows[-1]):
        rows.pop()
    return ["" if name is None else str(name) for name in rows[0]], rows[1:]


def _read_npy(data: bytes) -> tuple[list[str], Cells]:
    array = np.load(io.BytesIO(data), allow_pickle=False)
    return [""] * array.shape[1], array.tolist()


def _read_records(records: list[dict[str, Any]]) -> tuple[list[str], Cells]:
    names = list(dict.fromkeys(name for record in records for name in record))
    return names, [[record.get(name) for name in names] for record in records]


def _read_sqlite(data: bytes) -> tuple[list[str], Cells]:
    base = sqlite3.connect(":memory:")
    base.deserialize(data)
    found = base.execute("select * from data")
    return [one[0] for one in found.description], [list(row) for row in found]


def _read_ods(data: bytes) -> tuple[list[str], Cells]:
    frame = pd.read_excel(io.BytesIO(data), engine="odf")
    return [str(name) for name in frame.columns], frame.astype(object).where(
        frame.notna(), None
    ).to_numpy().tolist()


def _read_csv(data: bytes, delimiter: str = ",") -> tuple[list[str], Cells]:
    rows = text_rows(data, delimiter, "utf-8")
    return rows[0], rows[1:]


READERS: dict[str, Callable[[bytes], tuple[list[str], Cells]]] = {
    ".parquet": _read_parquet,
    ".feather": _read_feather,
    ".arrow": _read_feather,
    ".xlsx": _read_xlsx,
    ".npy": _read_npy,
    ".csv": _read_csv,
    ".txt": _read_csv,
    ".tsv": lambda data: _read_csv(data, "\t"),
    ".csv.gz": lambda data: _read_csv(gzip.decompress(data)),
    ".json": lambda data: _read_records(json.loads(data)),
    ".jsonl": lambda data: _read_records([json.loads(line) for line in data.splitlines()]),
    ".db": _read_sqlite,
    ".ods": _read_ods,
}
"""Ending → reader."""
