"""Arrays as tables, with columns x0, x1, … of numbers or of Python objects."""

import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from manifill._arrays import Mask
from manifill.errors import InvalidInput
from manifill.tables.frames import Frame, finite_numbers, is_frame, kind_of_objects, sorted_levels
from manifill.tables.source import Fills, Source
from manifill.tables.variables import Plain

# `dtype.kind` → `SourceColumn.holds`.
_HOLDS = {"f": "number", "i": "integer", "u": "integer", "b": "boolean"}


@dataclass(frozen=True, eq=False)
class ArrayColumn:
    """A column of an array; see `SourceColumn`."""

    name: str
    values: npt.NDArray[Any]
    missing: Mask
    declared: bool = False
    note: str = ""

    @property
    def holds(self) -> str:
        kind = self.values.dtype.kind
        if kind != "O":
            return _HOLDS[kind]
        found = kind_of_objects(self.values[~self.missing].tolist())
        return found if found in ("boolean", "label", "integer", "number") else "other"

    @property
    def type_name(self) -> str:
        return str(self.values.dtype)

    def plain(self) -> Plain:
        """Numbers with NaN where missing, or labels with None where missing."""
        if self.holds in ("label", "other"):
            labels = self.values.astype(object)
            labels[self.missing] = None
            return labels
        numeric = np.full(len(self.values), np.nan)
        numeric[~self.missing] = self.values[~self.missing].astype(np.float64)
        return finite_numbers(numeric, self.name)

    def levels(self) -> tuple[Any, ...]:
        """Distinct observed labels or values, sorted."""
        return sorted_levels(set(self.values[~self.missing].tolist()))


class ArrayTable:
    """An array (n, d) of numbers or Python objects as a table; see `Source`."""

    def __init__(self, X: npt.ArrayLike) -> None:
        array = _with_missing(X)
        if array.dtype.kind in "US":
            array = array.astype(object)
        if array.dtype.kind == "c":
            raise InvalidInput("Complex data not supported: a table must hold real numbers or objects.")
        if array.ndim != 2:
            raise InvalidInput(f"An array must have two dimensions; got {array.shape}. Reshape your data.")
        if array.dtype.kind not in "fiubO":
            raise InvalidInput(
                f"An array must hold numbers or objects; got {array.dtype}. Pass dates and times in a frame."
            )
        self.array = array
        self.names = [f"x{i}" for i in range(array.shape[1])]

    def __len__(self) -> int:
        return len(self.array)

    def column(self, name: Any) -> ArrayColumn:
        """The column of this name."""
        values = self.array[:, self.names.index(name)]
        if values.dtype.kind == "O":
            missing = np.array([_is_missing(value) for value in values], dtype=np.bool_)
        else:
            missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=np.bool_)
        return ArrayColumn(name, values, missing)

    def completed(self, fills: Fills) -> npt.NDArray[Any]:
        """A copy of the array with imputed values inserted."""
        completed = self.array.copy()
        for name, (rows, values) in fills.items():
            integers = completed.dtype.kind == "O" and self.column(name).holds == "integer"
            completed[rows, self.names.index(name)] = [int(one) for one in values] if integers else values
        return completed

    def like(self, columns: Mapping[str, Any]) -> npt.NDArray[Any]:
        """These columns as an array."""
        return np.column_stack(list(columns.values()))


def _with_missing(X: Any) -> npt.NDArray[Any]:
    """X as an array; None in lists of numbers becomes NaN, masked entries become NaN (numbers) or None."""
    if isinstance(X, np.ma.MaskedArray):
        masked: Any = X
        if masked.dtype.kind in "fiu":
            kept = masked.dtype if masked.dtype.kind == "f" else np.float64
            return np.asarray(masked.astype(kept).filled(np.nan))
        objects: npt.NDArray[Any] = masked.data.astype(object)
        objects[np.ma.getmaskarray(masked)] = None
        return objects
    array = np.asarray(X)
    if array.dtype.kind == "O" and not isinstance(X, np.ndarray):
        numeric = all(one is None or isinstance(one, float | int) for one in array.ravel())
        return array.astype(np.float64) if numeric and array.ndim == 2 else array
    return array


def _is_missing(value: Any) -> bool:
    """True for None, NaN, pandas.NA and pandas.NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, numbers.Real) and bool(value != value)


def as_source(X: Any) -> Source:
    """X as a `Source`: a `Source` unchanged, a data frame as `Frame`, an array or a list as `ArrayTable`."""
    if is_frame(X):  # first: columns of a pandas frame are attributes, whatever their names
        return Frame(X)
    if hasattr(X, "completed") and hasattr(X, "like"):
        own: Source = X
        return own
    if not (isinstance(X, list | tuple | np.ndarray) or hasattr(X, "__array__")):
        return Frame(X)
    return ArrayTable(X)
