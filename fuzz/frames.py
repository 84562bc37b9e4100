"""Data frames of pandas, polars and pyarrow through `TableImputer`."""

import random
import warnings
from pathlib import Path
from typing import Any

from fuzz import values
from fuzz.case import Case, Failure, Refused, some
from fuzz.oracle import NOT_FILLED, check_fill, is_missing

HAS_COLUMNS = True
# Column types → family of their values. In polars and pyarrow they are expressions.
PANDAS = {
    **dict.fromkeys(("float64", "float32", "Float64", "Float32", "double[pyarrow]"), "number"),
    **dict.fromkeys(("int64", "int8", "Int64", "Int8", "UInt8", "uint64", "int64[pyarrow]"), "integer"),
    **dict.fromkeys(("bool", "boolean", "bool[pyarrow]"), "boolean"),
    **dict.fromkeys(("category", "ordered", "str", "string", "string[pyarrow]", "object"), "label"),
    **dict.fromkeys(("datetime64[ns]", "datetime64[us]", "datetime64[s]", "datetime64[us, UTC]"), "moment"),
    **dict.fromkeys(("datetime64[ns, Europe/Berlin]", "timestamp[us][pyarrow]"), "moment"),
    **dict.fromkeys(("timedelta64[ns]", "timedelta64[us]", "duration[us][pyarrow]"), "duration"),
    "date32[day][pyarrow]": "date",
    "time64[us][pyarrow]": "time",
    "decimal128(12, 2)[pyarrow]": "decimal",
    "object number": "number",
    "object integer": "integer",
    "object boolean": "boolean",
    "object date": "date",
    "object moment": "moment",
    "object decimal": "decimal",
    "object list": "list",
    "object mixed": "mixed",
    "complex128": "complex",
    "object text": "text",
    "object bytes": "bytes",
    "period[D]": "date",
}
POLARS = {
    **dict.fromkeys(("pl.Float64", "pl.Float32"), "number"),
    **dict.fromkeys(("pl.Int64", "pl.Int8", "pl.UInt8", "pl.UInt64", "pl.Int128"), "integer"),
    **dict.fromkeys(("pl.String", "pl.Categorical"), "label"),
    **dict.fromkeys(("pl.Datetime('ms')", "pl.Datetime('us')", "pl.Datetime('ns')"), "moment"),
    **dict.fromkeys(("pl.Datetime('us', 'UTC')", "pl.Datetime('ms', 'Asia/Tokyo')"), "moment"),
    "pl.Boolean": "boolean",
    "pl.Enum(WORDS)": "label",
    "pl.Date": "date",
    "pl.Time": "time",
    "pl.Duration('ms')": "duration",
    "pl.Duration('us')": "duration",
    "pl.Decimal(12, 2)": "decimal",
    "pl.List(pl.Int64)": "list",
    "pl.Struct({'p': pl.Int64})": "struct",
    "pl.Binary": "bytes",
    "pl.Null": "null",
}
ARROW = {
    **dict.fromkeys(("pa.float64()", "pa.float32()", "pa.float16()"), "number"),
    **dict.fromkeys(("pa.int64()", "pa.int8()", "pa.uint8()", "pa.uint64()", "pa.int32()"), "integer"),
    **dict.fromkeys(("pa.string()", "pa.large_string()", "pa.string_view()"), "label"),
    **dict.fromkeys(("pa.dictionary(pa.int8(), pa.string())",), "label"),
    **dict.fromkeys(
        ("pa.timestamp('s')", "pa.timestamp('ms')", "pa.timestamp('us')", "pa.timestamp('ns')"), "moment"
    ),
    **dict.fromkeys(("pa.timestamp('us', 'UTC')", "pa.timestamp('ms', 'America/New_York')"), "moment"),
    "pa.bool_()": "boolean",
    "pa.date32()": "date",
    "pa.date64()": "date",
    "pa.duration('us')": "duration",
    "pa.time32('ms')": "time",
    "pa.time64('us')": "time",
    "pa.decimal128(12, 2)": "decimal",
    "pa.list_(pa.int64())": "list",
    "pa.struct({'p': pa.int64()})": "struct",
    "pa.binary()": "bytes",
    "pa.null()": "null",
    "pa.decimal256(40, 2)": "decimal",
}
_TYPES = {"pandas": PANDAS, "polars": POLARS, "pyarrow": ARROW}
_NARROW = {"int8": (-128, 127), "uint8": (0, 255), "uint64": (0, 2**63 - 1), "int32": (-(2**31), 2**31 - 1)}
_NEVER_MISSING = ("int64", "int8", "uint64", "bool")
_INDICES = ("range", "dates", "texts", "repeated", "multi", "float")


def make(rng: random.Random) -> Case:
    """A random frame, arguments of `TableImputer`, and what is called after the fit."""
    library = rng.choice(("pandas", "pandas", "polars", "pyarrow"))
    count, width = (
        rng.choice((0, 1, 2, 5, 5, 12, 12, 20, 20, 20, 30, 30, 40, 60)),
        rng.choice((1, 2, 3, 3, 4, 6)),
    )
    kinds = [rng.choice(list(_TYPES[library])) for _ in range(width)]
    names: list[Any] = values.names(rng, width)
    if library == "pandas" and rng.random() < 0.2:
        names = list(rng.choice((range(width), [("a", i) for i in range(width)], [None, *names[1:]])))
    columns = [typed_cells(rng, kind, _TYPES[library][kind], count) for kind in kinds]
    rows = [tuple(zip(names, kinds, strict=True)), *zip(*columns, strict=True)]
    steps = ("intervals", "draws", "deviations", "transform", "none", "save")
    options = some(rng, [(0.5, lambda step=step: (step,)) for step in steps])
    options += some(
        rng,
        [
            (0.1, lambda: ("bounds", rng.choice(((0, 1), (None, 5), None)))),
            (0.1, lambda: ("max_sweeps", rng.choice((1, 3)))),
            (0.07, lambda: ("time", rng.choice(names))),
            (
                0.1,
                lambda: ("types", {rng.choice(names): rng.choice(("text", "category", "number", "ordered"))}),
            ),
        ],
    )
    form = {"library": library, "index": rng.choice(_INDICES) if rng.random() < 0.5 else "range"}
    return Case("frames", tuple(rows), form, options)


def typed_cells(rng: random.Random, kind: str, family: str, count: int) -> list[Any]:
    """A column of values for a type, None where missing."""
    if family == "null":
        return [None] * count
    limits = next((_NARROW[one] for one in _NARROW if one in kind.lower()), None)
    make_value = (
        values.integers(rng, *limits) if family == "integer" and limits else values.PLAIN[family](rng)
    )
    share = 0.0 if kind in _NEVER_MISSING else rng.choice((0, 0.1, 0.3, 0.9, 1, 1 / max(count, 1)))
    found = [None if rng.random() < share else make_value() for _ in range(count)]
    if limits and family == "integer":
        found = [one if one is None else min(max(one, limits[0]), limits[1]) for one in found]
    return found


def frame(case: Case, rows: Any = None) -> Any:
    """The frame of a case, or one with the same columns and other rows."""
    rows = case.rows[1:] if rows is None else rows
    specs = case.rows[0]
    columns = [[row[j] for row in rows] for j in range(len(specs))]
    library = case.form.get("library", "pandas")
    if library == "pandas":
        return _pandas(specs, columns, case.form.get("index", "range"), len(rows))
    if library == "polars":
        import polars as pl

        kinds = [eval(kind, {"pl": pl, "WORDS": list(values.WORDS)}) for _, kind in specs]
        return pl.DataFrame(
            [
                pl.Series(name, cells, dtype=kind)
                for (name, _), cells, kind in zip(specs, columns, kinds, strict=True)
            ]
        )
    import pyarrow as pa

    arrays = [
        pa.array(cells, type=eval(kind, {"pa": pa})) for (_, kind), cells in zip(specs, columns, strict=True)
    ]
    return pa.Table.from_arrays(arrays, names=[name for name, _ in specs])


def _pandas(specs: Any, columns: list[list[Any]], index: str, count: int) -> Any:
    import pandas as pd
    import pyarrow as pa

    found = []
    for (_, kind), cells in zip(specs, columns, strict=True):
        dtype: Any = "object" if kind.startswith("object") else kind
        if kind == "ordered":
            dtype = pd.CategoricalDtype(sorted({one for one in cells if one is not None}), ordered=True)
        if kind.startswith("decimal128"):
            dtype = pd.ArrowDtype(pa.decimal128(12, 2))
        if kind == "period[D]":
            cells = [None if one is None else str(one) for one in cells]
        found.append(pd.Series(cells, dtype=dtype))
    made = pd.concat(found, axis=1) if found else pd.DataFrame()
    names = [name for name, _ in specs]
    tuples = bool(names) and all(isinstance(name, tuple) for name in names)
    made.columns = pd.MultiIndex.from_tuples(names) if tuples else pd.Index(names)
    half = [i // 2 for i in range(count)]
    indices = {
        "dates": lambda: pd.date_range("2024-01-01", periods=count),
        "texts": lambda: [f"r{i}" for i in range(count)],
        "repeated": lambda: half,
        "multi": lambda: pd.MultiIndex.from_arrays([half, range(count)], names=["g", None]),
        "float": lambda: [i / 3 for i in range(count)],
    }
    if index in indices:
        made.index = indices[index]()
    return made


def check(case: Case, folder: Path, _: Any, again: bool) -> None:
    """Fit, call everything that the case asks for, and compare; only manifill's own errors may occur."""
    from manifill.errors import ManifillError, ManifillWarning

    try:
        given = frame(case)
    except Exception as error:
        raise Refused(f"not made: {error}") from error
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            _check_all(case, given, folder, again)
            refusal = None
        except ManifillError as error:
            if not str(error).strip():
                raise Failure("message", repr(error)) from error
            refusal = Refused(str(error))
    foreign = [one for one in caught if not issubclass(one.category, ManifillWarning)]
    if foreign:
        raise Failure(
            "warning of a library", f"{foreign[0].message} ({foreign[0].filename}:{foreign[0].lineno})"
        )
    if refusal is not None:
        raise refusal


def _check_all(case: Case, given: Any, folder: Path, again: bool) -> None:
    from manifill import TableImputer

    steps = {one[0] for one in case.options}
    arguments = {one[0]: one[1] for one in case.options if len(one) == 2}
    imputer = TableImputer(random_state=0, **arguments)
    filled = imputer.fit_transform(given)
    fields = [{"name": one.name, "type": one.kind, "because": one.reason} for one in imputer.fields_]
    _compare(given, filled, fields)
    if again:
        _same(TableImputer(random_state=0, **arguments).fit_transform(given), filled, "not repeatable")
    if "intervals" in steps:
        _check_intervals(given, *imputer.intervals(0.9))
    for drawn in imputer.draws(2, random_state=1) if "draws" in steps else []:
        _compare(given, drawn, fields)
    if "deviations" in steps:
        numbers = [value for column in cells_of(imputer.deviations()) for value in column]
        if any(value is None or value < 0 for value in numbers):
            raise Failure("deviations", numbers[:20])
    if "save" in steps:
        imputer.save(folder / "model")
    for rows in _new_rows(case, steps, arguments.get("time")):
        new = frame(case, rows)
        after = imputer.transform(new)
        _compare(new, after, fields, types=False)
        if "save" in steps:
            _same(TableImputer.load(folder / "model").transform(new), after, "loaded model differs")


def _new_rows(case: Case, steps: set[str], time: Any) -> list[Any]:
    """New rows: some of the table's with fewer values, and one in which nothing is known."""
    never = [kind in _NEVER_MISSING or name == time for name, kind in case.rows[0]]
    rows = case.rows[1:4]
    less = [
        tuple(
            None if (i + j) % 2 and not keep else one
            for j, (one, keep) in enumerate(zip(row, never, strict=True))
        )
        for i, row in enumerate(rows)
    ]
    nothing = [tuple(one if keep else None for one, keep in zip(row, never, strict=True)) for row in rows[:1]]
    return [less] * ("transform" in steps and bool(less)) + [nothing] * ("none" in steps and bool(nothing))


def cells_of(given: Any) -> list[list[Any]]:
    """Columns as lists of values, None where missing."""
    if type(given).__module__.startswith("pandas"):
        columns = [given.iloc[:, j].tolist() for j in range(given.shape[1])]
    elif type(given).__module__.startswith("polars"):
        columns = [column.to_list() for column in given.get_columns()]
    else:
        columns = [column.to_pylist() for column in given.columns]
    return [[None if is_missing_value(one) else one for one in column] for column in columns]


def is_missing_value(value: Any) -> bool:
    """Texts are never missing in a frame, unlike in a text file."""
    return not isinstance(value, str) and is_missing(value)


def _types(given: Any) -> list[str]:
    return [
        str(one)
        for one in (
            given.schema.types
            if hasattr(given, "schema") and hasattr(given.schema, "types")
            else given.dtypes
        )
    ]


def _compare(given: Any, filled: Any, fields: list[dict[str, Any]], types: bool = True) -> None:
    """The filled frame has the class, names, types and index of the given one, and its known values."""
    if type(given) is not type(filled):
        raise Failure("class", f"{type(given)} became {type(filled)}")
    names = [
        list(one.column_names if hasattr(one, "column_names") else one.columns) for one in (given, filled)
    ]
    if repr(names[0]) != repr(names[1]) or (types and _types(given) != _types(filled)):
        raise Failure("types", f"{names[0]} {_types(given)} became {names[1]} {_types(filled)}")
    if hasattr(given, "index") and hasattr(given, "iloc") and not given.index.equals(filled.index):
        raise Failure("index", f"{given.index} became {filled.index}")
    before, after = cells_of(given), cells_of(filled)
    columns = [
        {**one, "missing": holes, "filled": 0 if one["type"] in NOT_FILLED else holes}
        for one, holes in zip(
            fields, (sum(cell is None for cell in column) for column in before), strict=True
        )
    ]
    rows = [[list(row) for row in zip(*one, strict=True)] for one in (before, after)]
    check_fill(*rows, columns, missing=lambda cell: cell is None, same=None if types else lambda a, b: a == b)


def _same(a: Any, b: Any, kind: str) -> None:
    if repr(cells_of(a)) != repr(cells_of(b)):
        raise Failure(kind, f"{cells_of(a)} and {cells_of(b)}")


def _check_intervals(given: Any, low: Any, high: Any) -> None:
    for j, columns in enumerate(zip(cells_of(given), cells_of(low), cells_of(high), strict=True)):
        for known, bottom, top in zip(*columns, strict=True):
            if known is not None and not (known == bottom == top):
                raise Failure("intervals", f"column {j}: {known!r} became {bottom!r}, {top!r}")
            if known is None and (bottom is None) != (top is None):
                raise Failure("intervals", f"column {j}: from {bottom!r} to {top!r}")
            if known is None and bottom is not None and not isinstance(bottom, str) and bottom > top:
                raise Failure("intervals", f"column {j}: from {bottom!r} to {top!r}")
