"""The one door to frame libraries: pandas, polars and pyarrow tables, through narwhals.

Columns come out as plain values, and fills go back into the very column they came from: what is observed is
not touched, and library, index, order and types stay as they are.
"""

import datetime
import decimal
import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from manifill._arrays import Indices, Mask
from manifill.errors import InvalidInput
from manifill.tables.source import Fills
from manifill.tables.variables import Plain

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
MICROSECOND = datetime.timedelta(microseconds=1)
DAY = 86_400e6
"""Dates, times and durations are microseconds."""

TIMES = ("date", "date and time", "duration", "time")
_TIMES = dict(zip(("Date", "Datetime", "Duration", "Time"), TIMES, strict=True))


@dataclass(frozen=True, eq=False)
class Column:
    """A column as its library holds it, and what it holds.

    Attributes
    ----------
    series : of narwhals.
    holds : "boolean", "integer", "number", "decimal", "label", "ordered label", one of the kinds of times, or
        "other".
    missing : (n,), True where null or NaN.
    declared : does its type say that values are categories?
    """

    name: Any
    series: Any
    holds: str
    missing: Mask
    declared: bool = False

    @property
    def type_name(self) -> str:
        return str(self.series.dtype)

    def plain(self) -> Plain:
        """Numbers, with NaN where missing; or labels, with None."""
        if self.holds == "other":
            return np.full(len(self.missing), None, dtype=object)
        if "label" in self.holds:
            return _objects(self._values())
        if self.holds in ("integer", "number") and self.series.dtype != nw.Object:
            return self._numbers()
        convert = _CONVERT.get(self.holds, float)
        values = [
            None if gone else convert(value) for value, gone in zip(self._values(), self.missing, strict=True)
        ]
        return np.array(values, dtype=np.float64)

    def _numbers(self) -> Plain:
        if self.missing.any():
            found = np.full(len(self.missing), np.nan)
            found[~self.missing] = self.series.filter((~self.missing).tolist()).to_numpy().astype(np.float64)
        else:
            found = self.series.to_numpy().astype(np.float64)
        return finite_numbers(found, self.name)

    def _values(self) -> list[Any]:
        return [None if gone else one for one, gone in zip(self.series.to_list(), self.missing, strict=True)]

    def levels(self) -> tuple[Any, ...]:
        """Observed labels or values, in the order of their type, or sorted."""
        present = {value for value in self._values() if value is not None}
        declared = _declared_levels(self.series) if self.declared else None
        if declared is not None:
            return tuple(level for level in declared if level in present)
        return sorted_levels(present)

    def filled(self, rows: Indices, values: Plain) -> Any:
        """The series with plain values at some rows."""
        native: Any = self.written(values)
        library = nw.get_native_namespace(self.series)
        if library.__name__ == "pyarrow":
            return _filled_arrow(self.series, rows, native)
        dtype = self.series.dtype
        if library.__name__ == "polars" and not dtype.is_decimal():  # takes milliseconds for microseconds
            native = nw.new_series(self.series.name, native, dtype, backend=library)
        elif isinstance(getattr(nw.to_native(self.series), "dtype", None), np.dtype) and dtype.is_float():
            # Pandas refuses Python's numbers, which are longer than those of some of its columns.
            native = np.array(native, dtype=nw.to_native(self.series).dtype)
        return self.series.scatter(rows.tolist(), native)

    def written(self, values: Plain) -> list[Any]:
        """Plain values as the column's own kind of values."""
        return [self._native(value) for value in values.tolist()]

    def _native(self, value: Any) -> Any:
        """A plain value as the column's own kind of value, held to what its type can hold."""
        dtype = self.series.dtype
        if self.holds == "boolean":
            return bool(value)
        if self.holds == "number":
            return float(value)
        if self.holds == "integer":
            return max(min(round(value), _most(dtype)), _least(dtype))
        if self.holds == "decimal":
            step = decimal.Decimal(1).scaleb(-_scale(self.series))
            return decimal.Decimal(str(float(value))).quantize(step)
        if self.holds in ("date", "date and time"):
            held = max(min(value, _NANOSECONDS), -_NANOSECONDS) if _in_nanoseconds(dtype) else value
            found = moment(held)
            if self.holds == "date":
                return found.date()
            return found if self._aware else found.replace(tzinfo=None)
        if self.holds == "duration":
            return max(min(value, _NANOSECONDS), -_NANOSECONDS) * MICROSECOND
        if self.holds == "time":
            return (EPOCH + min(value, DAY - 1) * MICROSECOND).time()
        return value

    @property
    def _aware(self) -> bool:
        if self.series.dtype == nw.Datetime:
            return self.series.dtype.time_zone is not None
        return any(value.tzinfo is not None for value in self._values() if value is not None)


class Frame:
    """A table of any of the libraries."""

    def __init__(self, native: Any) -> None:
        try:
            self._frame = nw.from_native(native, eager_only=True)
            names = list(self._frame.columns)
        except TypeError:
            raise InvalidInput(
                "A table must be a pandas or polars DataFrame, a pyarrow Table or an array; "
                f"got {type(native).__name__}."
            ) from None
        except Exception as error:  # narwhals' own, about names that are there twice
            if "unique" not in str(error).lower() and "duplicate" not in str(error).lower():
                raise
            raise InvalidInput(
                f"Column names must differ; {_repeated(native)} occur more than once."
            ) from None
        if len(set(names)) < len(names):
            raise InvalidInput(f"Column names must differ; {_repeated(native)} occur more than once.")
        self.names = names

    def __len__(self) -> int:
        return len(self._frame)

    def column(self, name: Any) -> Column:
        """A column, and what it holds."""
        series = self._frame.get_column(name)
        missing = np.asarray(series.is_null().to_numpy(), dtype=np.bool_)
        if series.dtype.is_float():
            missing = missing | np.asarray(series.is_nan().fill_null(True).to_numpy(), dtype=np.bool_)
        holds, declared = _what(series, missing)
        return Column(name, series, holds, missing, declared)

    def completed(self, fills: Fills) -> Any:
        """The native table with these values put in."""
        series = [self.column(name).filled(rows, values) for name, (rows, values) in fills.items()]
        return nw.to_native(self._frame.with_columns(*series) if series else self._frame)

    def like(self, columns: Mapping[str, Any]) -> Any:
        """A new native table of the same library, with the same index where there is one."""
        made = nw.from_dict(dict(columns), backend=nw.get_native_namespace(self._frame))
        native = nw.to_native(made)
        index = getattr(nw.to_native(self._frame), "index", None)
        if index is not None and len(index) == len(native):
            native.index = index
        return native


# Microseconds that 64 bits of nanoseconds can hold, and dates at all.
_NANOSECONDS = 2**63 / 1e3 - 1e9
_FIRST = (datetime.datetime(1, 1, 2, tzinfo=datetime.UTC) - EPOCH) / MICROSECOND
_LAST = (datetime.datetime(9999, 12, 30, tzinfo=datetime.UTC) - EPOCH) / MICROSECOND


def moment(microseconds: float) -> datetime.datetime:
    """So many microseconds after 1970, held to the years 1 to 9999."""
    return EPOCH + max(min(microseconds, _LAST), _FIRST) * MICROSECOND


def _in_nanoseconds(dtype: Any) -> bool:
    return getattr(dtype, "time_unit", "us") == "ns"


def _bits(dtype: Any) -> tuple[bool, int]:
    """Is a type of whole numbers one with a sign, and how many bits has it?"""
    name = type(dtype).__name__
    digits = "".join(letter for letter in name if letter.isdigit())
    return not name.startswith("U"), int(digits) if digits else 64


def _most(dtype: Any) -> int:
    signed, bits = _bits(dtype)
    return int(2 ** (bits - signed) - 1)


def _least(dtype: Any) -> int:
    signed, bits = _bits(dtype)
    return -(2 ** (bits - 1)) if signed else 0


def is_frame(X: Any) -> bool:
    """Is this a table of one of the libraries?"""
    return bool(nw.dependencies.is_into_dataframe(X))


def _what(series: Any, missing: Mask) -> tuple[str, bool]:
    """What a series holds, and whether its type declares categories."""
    dtype = series.dtype
    if dtype == nw.Boolean:
        return "boolean", False
    if dtype.is_integer():
        return "integer", False
    if dtype.is_float():
        return "number", False
    if dtype.is_decimal():
        return "decimal", False
    if dtype in (nw.Categorical, nw.Enum):
        return ("ordered label" if _is_ordered(series) else "label"), True
    if dtype == nw.String:
        return "label", False
    word = _TIMES.get(type(dtype).__name__)
    if word is not None:
        return word, False
    if dtype != nw.Object:
        return "other", False
    present = [value for value, gone in zip(series.to_list(), missing, strict=True) if not gone]
    return kind_of_objects(present), False


def finite_numbers(found: npt.NDArray[np.float64], name: Any) -> npt.NDArray[np.float64]:
    """Refuse infinite numbers."""
    infinite = np.isinf(found)
    if infinite.any():
        row = int(np.flatnonzero(infinite)[0])
        raise InvalidInput(
            f"Values must be finite or missing; column {name!r} contains infinity: {found[row]} in row "
            f"{row}, and {infinite.sum()} such values in all. Make them missing to have them filled."
        )
    return found


def sorted_levels(present: set[Any]) -> tuple[Any, ...]:
    """Values of any kinds in an order that is always the same."""
    return tuple(sorted(present, key=lambda value: (type(value).__name__, value)))


def kind_of_objects(values: list[Any]) -> str:
    """What Python objects are, if they are all of one kind."""
    kinds: dict[str, tuple[type, ...]] = {
        "boolean": (bool, np.bool_),
        "label": (str,),
        "integer": (numbers.Integral,),
        "number": (numbers.Real,),
        "date and time": (datetime.datetime,),
        "date": (datetime.date,),
    }
    for word, types in kinds.items():
        if values and all(isinstance(value, types) for value in values):
            return word
    return "other"


def _is_ordered(series: Any) -> bool:
    native = nw.to_native(series)
    kind = getattr(native, "dtype", getattr(native, "type", None))
    return bool(getattr(kind, "ordered", False)) and type(native).__module__.startswith(("pandas", "pyarrow"))


def _declared_levels(series: Any) -> list[Any] | None:
    """All levels of a column of categories, in the order of its type; None where it has none."""
    if series.dtype == nw.Enum and getattr(series.dtype, "categories", None):
        return list(series.dtype.categories)
    native = nw.to_native(series)
    categories = getattr(getattr(native, "cat", None), "categories", None)
    if categories is not None:
        return list(categories)
    if hasattr(native, "unify_dictionaries") and native.num_chunks:
        levels: list[Any] = native.unify_dictionaries().chunk(0).dictionary.to_pylist()
        return levels
    return None


def _moment(value: Any) -> float:
    """Microseconds since 1970; moments without a zone are taken for UTC, days for their first moment."""
    if not isinstance(value, datetime.datetime):
        value = datetime.datetime(value.year, value.month, value.day)
    return float((value.replace(tzinfo=value.tzinfo or datetime.UTC) - EPOCH) / MICROSECOND)


def _time_of_day(value: datetime.time) -> float:
    return value.hour * 3600e6 + value.minute * 60e6 + value.second * 1e6 + value.microsecond


_CONVERT = {
    "date": _moment,
    "date and time": _moment,
    "duration": lambda value: value / MICROSECOND,
    "time": _time_of_day,
}


def plain_time(holds: str, value: Any) -> float:
    """A date, time or duration as microseconds; dates may also be text, as in 2026-11-16."""
    if isinstance(value, str):
        value = datetime.datetime.fromisoformat(value)
    return float(_CONVERT[holds](value))


def _scale(series: Any) -> int:
    """Digits after the point of a decimal column."""
    native = nw.to_native(series)
    kind: Any = getattr(native, "dtype", getattr(native, "type", None))
    return int(getattr(kind, "pyarrow_dtype", kind).scale)


def _filled_arrow(series: Any, rows: Indices, values: list[Any]) -> Any:
    import pyarrow as pa

    column = nw.to_native(series)
    if pa.types.is_dictionary(column.type):
        chunks = column.unify_dictionaries().chunks
        whole = pa.concat_arrays(chunks) if len(chunks) > 1 else chunks[0]
        place = {level: code for code, level in enumerate(whole.dictionary.to_pylist())}
        codes = _replaced(whole.indices, rows, [place[value] for value in values])
        filled = pa.DictionaryArray.from_arrays(codes, whole.dictionary, ordered=column.type.ordered)
    else:
        filled = _replaced(column.combine_chunks(), rows, values)
    filled = filled if isinstance(filled, pa.ChunkedArray) else pa.chunked_array([filled], type=column.type)
    return nw.from_native(filled, series_only=True).alias(series.name)


def _replaced(array: Any, rows: Indices, values: list[Any]) -> Any:
    """An arrow array with values at some rows, its type unchanged."""
    import pyarrow as pa

    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], type=array.type)
    both = pa.concat_arrays([array, pa.array(values, type=array.type)])
    take = np.arange(len(array))
    take[rows] = len(array) + np.arange(len(values))
    return both.take(pa.array(take))


def _objects(values: list[Any]) -> npt.NDArray[np.object_]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _repeated(native: Any) -> list[Any]:
    names = list(getattr(native, "column_names", getattr(native, "columns", ())))
    return sorted({name for name in names if names.count(name) > 1}, key=str)
