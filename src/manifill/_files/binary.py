"""Read and write tables as parquet, feather, NumPy and JSON files."""

import json
import math
import tokenize
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet

from manifill._files.frame import FrameFile, Options, Origin, of_values, python_values
from manifill._files.text import Layout
from manifill.errors import InvalidInput
from manifill.tables.source import Fills

ARROW = (".parquet", ".feather", ".arrow")
NUMPY = (".npy",)
JSON = (".json", ".jsonl", ".ndjson")


def read_arrow(source: Any, ending: str, origin: Origin) -> FrameFile:
    """Read a parquet or feather file; a folder of parquet files is one table."""
    try:
        if Path(origin.path).is_dir():
            native = pyarrow.dataset.dataset(str(origin.path), format="parquet").to_table()
        elif ending == ".parquet":
            names = pyarrow.parquet.ParquetFile(source).schema_arrow.names
            if len(set(names)) < len(names):
                repeated = sorted({name for name in names if names.count(name) > 1})
                raise InvalidInput(
                    f"Column names must differ; {origin.path} repeats {repeated}. Rename them."
                )
            native = pyarrow.parquet.read_table(source)
        else:
            native = pyarrow.feather.read_table(source)
        native.validate(full=True)
        native = _without_views(native)
        _read_time_zones(native)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InvalidInput(
            f"{origin.path} cannot be read as a {ending[1:]} file: {str(error).rstrip('.')}."
        ) from error
    return FrameFile(native, origin)


def _without_views(native: Any) -> Any:
    """The table with string views as strings, which pyarrow can compute with."""
    for i, one in enumerate(native.schema):
        if str(one.type) in ("string_view", "binary_view"):
            kind = pa.large_string() if str(one.type) == "string_view" else pa.large_binary()
            native = native.set_column(i, one.name, native.column(i).cast(kind))
    return native


def _read_time_zones(native: Any) -> None:
    """Raise UnicodeDecodeError if the name of a time zone is damaged; pyarrow reads it when first needed."""
    for one in native.schema:
        getattr(one.type, "tz", None)


def write_arrow(native: Any, file: IO[bytes], ending: str) -> None:
    if ending == ".parquet":
        pyarrow.parquet.write_table(native, file)
    else:
        pyarrow.feather.write_feather(native, file)


def read_array(source: Any, origin: Origin) -> FrameFile:
    """Read an array of numbers; its columns have no names."""
    try:
        X = np.load(source, allow_pickle=False)
    except (ValueError, EOFError, SyntaxError, MemoryError, tokenize.TokenError, zipfile.BadZipFile):
        raise InvalidInput(f"{origin.path} must hold an array of numbers saved by numpy.save.") from None
    if not isinstance(X, np.ndarray):
        raise InvalidInput(
            f"{origin.path} must hold one array, saved by numpy.save; it is an archive of arrays."
        )
    if X.ndim != 2 or X.dtype.kind not in "fiu" or X.dtype.itemsize > 8:
        raise InvalidInput(
            f"{origin.path} must hold numbers in two dimensions, rows and columns; it holds an array of type "
            f"{X.dtype} and shape {X.shape}. Reshape or convert it."
        )
    native = X.astype(X.dtype.newbyteorder("="), copy=False)
    origin.layout = Layout(header=False)
    return FrameFile(pa.table({f"x{i}": pa.array(column) for i, column in enumerate(native.T)}), origin)


def write_array(native: Any, file: IO[bytes], path: Path) -> None:
    others = [name for name in native.column_names if native[name].to_numpy().dtype.kind not in "fiub"]
    if others:
        raise InvalidInput(
            f"{path} can hold numbers only; columns {others} do not. Write a .csv or .parquet file."
        )
    np.save(file, np.column_stack([native[name].to_numpy() for name in native.column_names]))


def read_json(data: bytes, ending: str, options: Options, origin: Origin) -> FrameFile:
    """Read a list of records, an object of columns, or one record a line."""
    try:
        text = data.decode("utf-8-sig")
        records = (
            [json.loads(line) for line in text.splitlines() if line.strip()]
            if ending != ".json"
            else json.loads(text)
        )
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{origin.path} cannot be read as JSON: {error}.") from error
    if isinstance(records, list) and records and all(isinstance(one, dict) for one in records):
        names = list(dict.fromkeys(name for one in records for name in one))
        columns = [[one.get(name) for one in records] for name in names]
    elif isinstance(records, dict) and records and all(isinstance(one, list) for one in records.values()):
        names, columns = list(records), list(records.values())
    else:
        raise InvalidInput(
            f'{origin.path} must hold a list of records, such as [{{"a": 1}}, …], or columns, such as '
            '{"a": [1, …]}.'
        )
    if len({len(column) for column in columns}) != 1 or not names:
        raise InvalidInput(f"Columns of {origin.path} must have the same number of values, at least one.")
    origin.records = records
    return of_values(names, [[_json_value(one) for one in column] for column in columns], options, origin)


def _json_value(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


def write_json(
    table: FrameFile, fills: Fills, file: IO[str], ending: str, extra: Mapping[str, list[Any]]
) -> None:
    """Write records; those of a JSON file are copied, with imputed values inserted."""
    records = table.origin.records
    if not isinstance(records, list):
        native = table.typed(fills)
        columns = {name: python_values(native[name]) for name in native.column_names}
        records = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    else:
        records = [dict(one) for one in records]
        for name, (rows, values) in fills.items():
            key, column = table.header[table.names.index(name)], table.column(name)
            numbers = (
                table.is_text(name) and column.numbers is not None and column.holds in ("number", "integer")
            )
            texts = all(isinstance(one.get(key), str | None) for one in records)
            cells = values.tolist() if numbers and not texts else column.written(values)
            for row, cell in zip(rows.tolist(), cells, strict=True):
                records[row][key] = cell
        for name, rows in table.removed.items():
            for row in rows.tolist():
                records[row][table.header[table.names.index(name)]] = None
    for name, cells in extra.items():
        for record, cell in zip(records, cells, strict=True):
            record[name] = cell
    if ending == ".json":
        json.dump(records, file, ensure_ascii=False, indent=1, default=str)
        file.write("\n")
    else:
        file.writelines(json.dumps(one, ensure_ascii=False, default=str) + "\n" for one in records)
