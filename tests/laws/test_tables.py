"""Tables of any column types and library are completed; types and observed values are kept."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from manifill import TableImputer

PARIS = "Europe/Paris"
LEVELS = ["red", "green", "blue", "grün"]
DAY = dt.datetime(2020, 2, 28)


def datetimes(hours):
    return [DAY + dt.timedelta(hours=int(x)) for x in hours]


# Type of column → values of the rows, made from integers 0 … 30.
VALUES = {
    "float": lambda x: (x * 0.37 - 2).tolist(),
    "integer": lambda x: x.tolist(),
    "boolean": lambda x: (x > 12).tolist(),
    "category": lambda x: [LEVELS[i % 4] for i in x],
    "datetime": datetimes,
    "date": lambda x: [DAY.date() + dt.timedelta(days=int(i)) for i in x],
    "duration": lambda x: [dt.timedelta(minutes=int(i)) for i in x],
    "decimal": lambda x: [Decimal(int(i)).scaleb(-1) for i in x],
    "text": lambda x: [f"{i} and {j}" for j, i in enumerate(x)],
}
PANDAS = {
    "float": ["float64", "float32", "float16", "Float64", "float64[pyarrow]"],
    "integer": ["Int64", "Int8", "float64", "int64[pyarrow]", object],
    "boolean": ["boolean", "bool[pyarrow]", object],
    "category": [
        object,
        "str",
        "category",
        "string",
        pd.CategoricalDtype([*LEVELS[::-1], "never"], ordered=True),
        "string[pyarrow]",
    ],
    "datetime": [
        "datetime64[ns]",
        "datetime64[us]",
        f"datetime64[ns, {PARIS}]",
        pd.ArrowDtype(pa.timestamp("us", PARIS)),
    ],
    "date": [object, pd.ArrowDtype(pa.date32())],
    "duration": ["timedelta64[ns]", pd.ArrowDtype(pa.duration("us"))],
    "decimal": [pd.ArrowDtype(pa.decimal128(12, 2))],
    "text": [object, "str"],
}
POLARS = {
    "float": [pl.Float64, pl.Float32],
    "integer": [pl.Int64, pl.UInt8, pl.Int16],
    "boolean": [pl.Boolean],
    "category": [pl.String, pl.Categorical, pl.Enum(LEVELS)],
    "datetime": [pl.Datetime("us"), pl.Datetime("ms"), pl.Datetime("us", PARIS)],
    "date": [pl.Date],
    "duration": [pl.Duration("us")],
    "decimal": [pl.Decimal(12, 2)],
    "text": [pl.String],
}
ARROW = {
    "float": [pa.float64(), pa.float32()],
    "integer": [pa.int64(), pa.uint8()],
    "boolean": [pa.bool_()],
    "category": [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())],
    "datetime": [pa.timestamp("us"), pa.timestamp("s", PARIS)],
    "date": [pa.date32()],
    "duration": [pa.duration("us")],
    "decimal": [pa.decimal128(12, 2)],
    "text": [pa.string()],
}


def in_pandas(columns, index):
    made = {}
    for name, (values, dtype) in columns.items():
        if isinstance(dtype, str) and PARIS in dtype:
            made[name] = pd.Series(pd.to_datetime(values)).dt.tz_localize(PARIS).astype(dtype)
        elif isinstance(dtype, str) and dtype.startswith("float") and "pyarrow" not in dtype:
            made[name] = pd.Series([np.nan if v is None else v for v in values], dtype=dtype)
        else:
            made[name] = pd.Series(values, dtype=dtype)
    frame = pd.DataFrame(made)
    frame.index = index
    return frame


def in_polars(columns, index):
    made = []
    for name, (values, dtype) in columns.items():
        zone = getattr(dtype, "time_zone", None)
        series = pl.Series(name, values, dtype=pl.Datetime(dtype.time_unit) if zone else dtype)
        made.append(series.dt.replace_time_zone(zone) if zone else series)
    return pl.DataFrame(made)


def in_arrow(columns, index):
    made = {}
    for name, (values, dtype) in columns.items():
        half = len(values) // 2  # in two chunks
        plain = pa.string() if pa.types.is_dictionary(dtype) else dtype
        chunks = [pa.array(part, type=plain) for part in (values[:half], values[half:])]
        chunked = pa.chunked_array(chunks, type=plain)
        made[name] = chunked.dictionary_encode() if plain is not dtype else chunked
    return pa.table(made)


LIBRARIES = {"pandas": (PANDAS, in_pandas), "polars": (POLARS, in_polars), "arrow": (ARROW, in_arrow)}


@st.composite
def tables(draw, library):
    types, make = LIBRARIES[library]
    n = draw(st.integers(8, 24))
    kinds = draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=2, max_size=6))
    columns = {}
    for i, kind in enumerate(kinds):
        x = np.array(draw(st.lists(st.integers(0, 30), min_size=n, max_size=n)))
        missing = draw(st.lists(st.booleans(), min_size=n, max_size=n))
        values = [None if absent else v for v, absent in zip(VALUES[kind](x), missing, strict=True)]
        columns[f"{kind} {i}"] = values, draw(st.sampled_from(types[kind]))
    columns["number"] = np.linspace(0, 1, n).tolist(), types["float"][0]  # a complete column to impute from
    index = draw(st.sampled_from([pd.RangeIndex(n), pd.Index([f"r{i % 5}" for i in range(n)])]))
    return make(columns, index)


def cells(frame, name):
    if isinstance(frame, pd.DataFrame):
        return [
            None if absent else v for v, absent in zip(frame[name].tolist(), frame[name].isna(), strict=True)
        ]
    values = frame[name].to_list() if hasattr(frame[name], "to_list") else frame[name].to_pylist()
    return [None if value is None or value != value else value for value in values]


def check(frame, filled, not_modelled):
    names = frame.column_names if isinstance(frame, pa.Table) else list(frame.columns)
    for name in names:
        before, after = cells(frame, name), cells(filled, name)
        assert all(b is None or a == b for a, b in zip(after, before, strict=True)), name
        if name not in not_modelled:
            assert None not in after, name
        else:
            assert before == after


# pandas 2.3 with numpy 2.1 warns when it formats a float16 column.
@pytest.mark.filterwarnings("ignore:overflow encountered in cast:RuntimeWarning")
@pytest.mark.parametrize("library", LIBRARIES)
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_types_and_observed_values_are_kept(library, data):
    frame = data.draw(tables(library))
    imputer = TableImputer(random_state=0, max_sweeps=1)
    filled = imputer.fit_transform(frame)
    assert type(filled) is type(frame)
    if isinstance(frame, pd.DataFrame):
        pd.testing.assert_series_equal(filled.dtypes, frame.dtypes)
        pd.testing.assert_index_equal(filled.index, frame.index)
    else:
        assert filled.schema == frame.schema
    check(frame, filled, {field.name for field in imputer.fields_ if not field.modelled})
    low, high = imputer.intervals(0.8)
    table, *_ = imputer.draws(1)
    for other in (low, high, table):
        assert type(other) is type(frame)
        names = [field.name for field in imputer.fields_ if field.modelled]
        assert all(
            b is None or a == b
            for name in names
            for a, b in zip(cells(other, name), cells(frame, name), strict=True)
        )
