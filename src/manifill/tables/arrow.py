"""Columns of pyarrow: insert values, and convert times that Python does not have."""

from typing import Any

import narwhals as nw
import numpy as np

from manifill._arrays import Array, Indices
from manifill.tables.times import FIRST_TIME, LAST_TIME
from manifill.tables.variables import Plain

# Largest time that fits into 64 bits as nanoseconds, in microseconds, less a margin of 1000 s.
MAX_NS_TIME = 2**63 / 1e3 - 1e9


def microseconds(moments: Any) -> Array:
    """Dates and times as microseconds since 1970; 0 where missing."""
    import pyarrow as pa

    if pa.types.is_date(moments.type):
        moments = moments.cast(pa.timestamp("s"))
    per_unit = {"s": 1e6, "ms": 1e3, "us": 1.0, "ns": 1e-3}[moments.type.unit]
    known = moments.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    return np.asarray(known * per_unit)


def times(series: Any, values: Plain) -> Any:
    """Microseconds as dates or times of the type of a pyarrow column.

    They are clipped to the years 1 to 9999, which Python has, and to the range of the column if it is wider.
    """
    import pyarrow as pa

    column = nw.to_native(series)
    kind, known = column.type, microseconds(column)
    unit, zone = getattr(kind, "unit", "us"), getattr(kind, "tz", None)
    limit = MAX_NS_TIME if unit == "ns" else 2.0**62
    low = max(-limit, known.min(initial=FIRST_TIME))
    high = min(limit, known.max(initial=LAST_TIME))
    moments = pa.array(np.clip(np.round(values.astype(np.float64)), low, high).astype(np.int64))
    if pa.types.is_date(kind):
        return moments.cast(pa.timestamp("us")).cast(kind, safe=False)
    return moments.cast(pa.timestamp("us", zone)).cast(kind, safe=False)


def filled(series: Any, rows: Indices, values: Any) -> Any:
    """Copy of a pyarrow column with values at these rows; its type, also a dictionary type, is unchanged."""
    import pyarrow as pa

    column = nw.to_native(series)
    if pa.types.is_dictionary(column.type):
        chunks = column.unify_dictionaries().chunks
        joined = pa.concat_arrays(chunks) if len(chunks) > 1 else chunks[0]
        levels = list(dict.fromkeys([*joined.dictionary.to_pylist(), *values]))  # new rows may lack some
        code_of = {level: code for code, level in enumerate(levels)}
        codes = _replaced(joined.indices, rows, [code_of[value] for value in values])
        dictionary = pa.array(levels, type=joined.dictionary.type)
        made = pa.DictionaryArray.from_arrays(codes, dictionary, ordered=column.type.ordered)
    else:
        made = _replaced(column.combine_chunks(), rows, values)
    whole = made if isinstance(made, pa.ChunkedArray) else pa.chunked_array([made], type=column.type)
    return nw.from_native(whole, series_only=True).alias(series.name)


def _replaced(array: Any, rows: Indices, values: Any) -> Any:
    """Copy of a pyarrow array with values at these rows; its type is unchanged."""
    import pyarrow as pa

    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], type=array.type)
    kind = array.type
    if str(kind).endswith("_view"):  # pyarrow cannot take from views
        array = array.cast(pa.large_string() if kind == pa.string_view() else pa.large_binary())
    new = values if isinstance(values, pa.Array) else pa.array(values, type=array.type)
    both = pa.concat_arrays([array, new])
    take = np.arange(len(array))
    take[rows] = len(array) + np.arange(len(values))
    return both.take(pa.array(take)).cast(kind)
