"""Tables of pandas, polars and pyarrow, accessed through narwhals.

Columns are read as plain values. Imputed values are written back into the original columns: observed values,
library, index, column order and types do not change.
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
from manifill.tables import arrow
from manifill.tables.levels import declared_levels, is_ordered, with_levels
from manifill.tables.source import Fills
from manifill.tables.times import CONVERT, DAY, EPOCH, MICROSECOND, TIMES, moment
from manifill.tables.variables import Plain

# Types of columns that are empty in new rows, by kind of variable; labels are strings.
_TYPES = {
    **dict.fromkeys(("number", "cyclic"), nw.Float64()),
    "integer": nw.Int64(),
    "boolean": nw.Boolean(),
    "date": nw.Date(),
    "date and time": nw.Datetime("us"),
    "duration": nw.Duration("us"),
    "time": nw.Time(),
}
_PANDAS_TYPES = {
    **dict.fromkeys(("number", "cyclic"), "float64"),
    "integer": "Int64",
    "boolean": "boolean",
    **dict.fromkeys(("date", "date and time"), "datetime64[us]"),
    "duration": "timedelta64[us]",
}
# narwhals dtype → `Column.holds`.
_HOLDS = dict(zip(("Date", "Datetime", "Duration", "Time"), TIMES, strict=True))


@dataclass(frozen=True, eq=False)
class Column:
    """A column of a data frame; see `SourceColumn`.

    Attributes
    ----------
    series : narwhals series.
    holds : "boolean", "integer", "number", "decimal", "label", "ordered label", one of `TIMES`, or "other".
    missing : (n,), True where null or NaN.
    declared : True if its dtype declares the values to be categories.
    """

    name: Any
    series: Any
    holds: str
    missing: Mask
    declared: bool = False
    note: str = ""

    @property
    def type_name(self) -> str:
        return str(self.series.dtype)

    def plain(self) -> Plain:
        """Numbers with NaN where missing, or labels with None where missing."""
        if self.holds == "other":
            return np.full(len(self.missing), None, dtype=object)
        if "label" in self.holds:
            return _objects(self._values())
        if self.holds in ("integer", "number") and self.series.dtype != nw.Object:
            return self._numbers()
        convert = CONVERT.get(self.holds, float)
        try:
            values = [None if value is None else convert(value) for value in self._values()]
        except (OverflowError, ValueError, KeyError):  # no time of Python: after 9999, or of an unknown zone
            return np.where(self.missing, np.nan, arrow.microseconds(self.series.to_arrow()))
        return np.array(values, dtype=np.float64)

    def _numbers(self) -> Plain:
        # Integers of 128 bits have no NumPy type.
        series = self.series.cast(nw.Float64()) if "128" in self.type_name else self.series
        found = np.full(len(self.missing), np.nan)
        known = series.filter((~self.missing).tolist()) if self.missing.any() else series
        found[~self.missing] = known.to_numpy().astype(np.float64)
        return finite_numbers(found, self.name)

    def _values(self) -> list[Any]:
        return [
            None if missing else one for one, missing in zip(self.series.to_list(), self.missing, strict=True)
        ]

    def levels(self) -> tuple[Any, ...]:
        """Distinct observed labels or values, in the order that the dtype declares, or sorted."""
        present = {value for value in self._values() if value is not None}
        declared = declared_levels(self.series) if self.declared else None
        if declared is not None:
            return tuple(level for level in declared if level in present)
        return sorted_levels(present)

    def filled(self, rows: Indices, values: Plain) -> Any:
        """The series with plain values inserted at these rows."""
        library = nw.get_native_namespace(self.series)
        if library.__name__ == "pyarrow" and self.holds in ("date", "date and time"):
            return arrow.filled(self.series, rows, arrow.times(self.series, values))
        native: Any = self.written(values)
        if library.__name__ == "pyarrow":
            return arrow.filled(self.series, rows, native)
        series = with_levels(self.series, native)
        dtype = series.dtype
        if library.__name__ == "polars" and not dtype.is_decimal():
            # Without the dtype, polars confuses milliseconds and microseconds.
            native = nw.new_series(series.name, native, dtype, backend=library)
        elif isinstance(getattr(nw.to_native(series), "dtype", None), np.dtype) and dtype.is_float():
            # pandas refuses Python floats for columns of less precision, such as float32.
            native = np.array(native, dtype=nw.to_native(series).dtype)
        with np.errstate(over="ignore"):  # ends of intervals may be beyond the range of float32
            return series.scatter(rows.tolist(), native)

    def written(self, values: Plain) -> list[Any]:
        """Plain values converted to the type of the column."""
        return [self._native(value) for value in values.tolist()]

    def _native(self, value: Any) -> Any:
        """A plain value converted to the type of the column, clipped to the range of the type."""
        dtype = self.series.dtype
        if self.holds == "boolean":
            return bool(value)
        if self.holds == "number":
            return float(value)
        if self.holds == "integer":
            return max(min(round(value), _max_integer(dtype)), _min_integer(dtype))
        if self.holds == "decimal":
            step = decimal.Decimal(1).scaleb(-_scale(self.series))
            return decimal.Decimal(str(float(value))).quantize(step, context=_DECIMALS)
        if self.holds in ("date", "date and time"):
            clipped = (
                max(min(value, arrow.MAX_NS_TIME), -arrow.MAX_NS_TIME) if _in_nanoseconds(dtype) else value
            )
            found = moment(clipped)
            if self.holds == "date":
                return found.date()
            return found if self._aware else found.replace(tzinfo=None)
        if self.holds == "duration":
            return max(min(value, arrow.MAX_NS_TIME), -arrow.MAX_NS_TIME) * MICROSECOND
        if self.holds == "time":
            return (EPOCH + min(value, DAY - 1) * MICROSECOND).time()
        return value

    @property
    def _aware(self) -> bool:
        """True if its date-times have a time zone."""
        if self.series.dtype == nw.Datetime:
            return self.series.dtype.time_zone is not None
        return any(value.tzinfo is not None for value in self._values() if value is not None)


class Frame:
    """A table of pandas, polars or pyarrow; see `Source`."""

    def __init__(self, native: Any) -> None:
        try:
            self._frame = nw.from_native(native, eager_only=True)
            names = list(self._frame.columns)
        except TypeError:
            raise InvalidInput(
                "A table must be a pandas or polars DataFrame, a pyarrow Table or an array; "
                f"got {type(native).__name__}."
            ) from None
        except Exception as error:  # narwhals raises its own type for duplicate names
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
        """The column of this name."""
        series = self._frame.get_column(name)
        missing = np.asarray(series.is_null().to_numpy(), dtype=np.bool_)
        if series.dtype.is_float():
            missing = missing | np.asarray(series.is_nan().fill_null(True).to_numpy(), dtype=np.bool_)
        holds, declared = _classify(series, missing)
        return Column(name, series, holds, missing, declared)

    def completed(self, fills: Fills) -> Any:
        """The native table with imputed values inserted.

        pandas and pyarrow tables are changed column by column: `with_columns` would lose subclasses, names of
        column levels, and metadata of fields.
        """
        native = nw.to_native(self._frame)
        series = {name: self.column(name).filled(rows, values) for name, (rows, values) in fills.items()}
        library = nw.get_native_namespace(self._frame).__name__
        if library == "pandas":
            native = native.copy()
            for name, one in series.items():
                native.isetitem(self.names.index(name), nw.to_native(one))
        elif library == "pyarrow":
            for name, one in series.items():
                place = self.names.index(name)
                native = native.set_column(place, native.schema.field(place), nw.to_native(one))
        elif series:
            native = nw.to_native(self._frame.with_columns(*series.values()))
        return native

    def with_types(self, kinds: Mapping[Any, str]) -> "Frame":
        """The table with these columns, which have no observed value, as empty columns of other kinds."""
        library, native = nw.get_native_namespace(self._frame), nw.to_native(self._frame)
        if library.__name__ == "pandas":
            empty = {name: _PANDAS_TYPES.get(kind, "object") for name, kind in kinds.items()}
            made = {
                name: library.Series([None] * len(self), native.index, dtype) for name, dtype in empty.items()
            }
            native = native.copy()
            for name, column in made.items():
                native[name] = column
            return Frame(native)
        series = [
            nw.new_series(name, [None] * len(self), _TYPES.get(kind, nw.String()), backend=library)
            for name, kind in kinds.items()
        ]
        return Frame(nw.to_native(self._frame.with_columns(*series)))

    def like(self, columns: Mapping[str, Any]) -> Any:
        """These columns as a native table of the same library, with the same index if it has one."""
        made = nw.from_dict(dict(columns), backend=nw.get_native_namespace(self._frame))
        native = nw.to_native(made)
        index = getattr(nw.to_native(self._frame), "index", None)
        if index is not None and len(index) == len(native):
            native.index = index
        return native


# Arithmetic with as many digits as any decimal type has.
_DECIMALS = decimal.Context(prec=200)


def _in_nanoseconds(dtype: Any) -> bool:
    return getattr(dtype, "time_unit", "us") == "ns"


def _bits(dtype: Any) -> tuple[bool, int]:
    """Whether an integer dtype is signed, and its number of bits."""
    name = type(dtype).__name__
    digits = "".join(character for character in name if character.isdigit())
    return not name.startswith("U"), int(digits) if digits else 64


def _max_integer(dtype: Any) -> int:
    signed, bits = _bits(dtype)
    return int(2 ** (bits - signed) - 1)


def _min_integer(dtype: Any) -> int:
    signed, bits = _bits(dtype)
    return -(2 ** (bits - 1)) if signed else 0


def is_frame(X: Any) -> bool:
    """True for a table of pandas, polars, pyarrow or another library that narwhals supports."""
    return bool(nw.dependencies.is_into_dataframe(X))


def _classify(series: Any, missing: Mask) -> tuple[str, bool]:
    """`Column.holds` and `Column.declared` of a series."""
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
        return ("ordered label" if is_ordered(series) else "label"), True
    if dtype == nw.String:
        return "label", False
    time = _HOLDS.get(type(dtype).__name__)
    if time is not None:
        return time, False
    if dtype != nw.Object:
        return "other", False
    present = [value for value, absent in zip(series.to_list(), missing, strict=True) if not absent]
    return kind_of_objects(present), False


def finite_numbers(found: npt.NDArray[np.float64], name: Any) -> npt.NDArray[np.float64]:
    """The numbers unchanged; raises InvalidInput if any is infinite."""
    infinite = np.isinf(found)
    if infinite.any():
        row = int(np.flatnonzero(infinite)[0])
        raise InvalidInput(
            f"Values must be finite or missing; column {name!r} contains infinity: {found[row]} in row "
            f"{row}; {infinite.sum()} infinite values in total. Set them to NaN to impute them."
        )
    return found


def sorted_levels(present: set[Any]) -> tuple[Any, ...]:
    """Values sorted by type and value, so that the order is reproducible for mixed types too."""
    return tuple(sorted(present, key=lambda value: (type(value).__name__, value)))


def kind_of_objects(values: list[Any]) -> str:
    """`SourceColumn.holds` of Python objects: "other" if they are not all of one kind."""
    kinds: dict[str, tuple[type, ...]] = {
        "boolean": (bool, np.bool_),
        "label": (str,),
        "integer": (numbers.Integral,),
        "number": (numbers.Real,),
        "date and time": (datetime.datetime,),
        "date": (datetime.date,),
    }
    for kind, types in kinds.items():
        if values and all(isinstance(value, types) for value in values):
            return kind
    return "other"


def _scale(series: Any) -> int:
    """Number of decimal places of a decimal column."""
    native = nw.to_native(series)
    kind: Any = getattr(native, "dtype", getattr(native, "type", None))
    return int(getattr(kind, "pyarrow_dtype", kind).scale)


def _objects(values: list[Any]) -> npt.NDArray[np.object_]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _repeated(native: Any) -> list[Any]:
    """Column names that occur more than once."""
    names = list(getattr(native, "column_names", getattr(native, "columns", ())))
    return sorted({name for name in names if names.count(name) > 1}, key=str)
