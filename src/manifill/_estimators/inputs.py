"""Validate the inputs of the estimators: tables, bounds, groups, weights and times.

Error messages name the user's columns and cells.
"""

import datetime
import math
import numbers
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import validate_data

from manifill._arrays import Array, Mask, Table
from manifill._checks import complaint, is_option, require_number
from manifill.errors import InvalidInput
from manifill.tables import ArrayTable, Source, as_source


def column_labels(estimator: Any, X: Any = None) -> list[Any]:
    """Names of the columns: those of the data frame, or x0, x1, … as in scikit-learn."""
    names = _frame_names(X)
    if names is not None and len(names) == estimator.n_features_in_:
        return names
    fitted = getattr(estimator, "feature_names_in_", None)
    return [f"x{i}" for i in range(estimator.n_features_in_)] if fitted is None else list(fitted)


def _frame_names(X: Any) -> list[Any] | None:
    names = getattr(X, "column_names", getattr(X, "columns", None))  # arrow; pandas, polars
    return None if names is None else list(names)


def _column(X: Any, index: int) -> npt.NDArray[Any]:
    """One column in its own dtype. Converting an entire frame to an array can turn integers into floats."""
    names = _frame_names(X)
    if names is None:
        return np.asarray(X)[:, index]
    column = X.iloc[:, index] if hasattr(X, "iloc") else X[names[index]]
    if str(getattr(column, "dtype", getattr(column, "type", ""))).lower().startswith(("float", "double")):
        return np.asarray(column, dtype=np.float64)
    values = column.to_list() if hasattr(column, "to_list") else column.to_pylist()
    return np.array([*values, None], dtype=object)[:-1]  # the None keeps numpy from building a 2-D array


def _cells(X: Any) -> npt.NDArray[np.object_]:
    """(n, d), all cells as Python objects."""
    names = _frame_names(X)
    if names is None:
        return np.asarray(X, dtype=object)
    return np.array([_column(X, j).astype(object) for j in range(len(names))], dtype=object).T


def read_table(estimator: Any, X: Any, *, reset: bool) -> Table:
    """Validate a table of numbers: (n, d) float64, or float32 if given so, NaN where missing."""
    _refuse_dates(X)
    if isinstance(X, np.ma.MaskedArray) and X.dtype.kind in "fiu":
        X = np.ma.filled(X if X.dtype.kind == "f" else X.astype(object), np.nan)
    try:
        table: Table = validate_data(
            estimator, X, reset=reset, dtype=(np.float64, np.float32), ensure_all_finite=False
        )
    except (ValueError, TypeError, OverflowError) as error:
        _raise_for_cell(X, error, "Encode text and dates as numbers, or leave out the column.")
        raise
    infinite = np.isinf(table)
    if infinite.any():
        row, index = np.argwhere(infinite)[0]
        raise InvalidInput(
            f"Values must be finite or missing (NaN); column {column_labels(estimator, X)[index]!r} "
            f"contains infinity: {table[row, index]} in row {row}; X has {infinite.sum()} infinite values. "
            "Replace infinite values by NaN to have them imputed."
        )
    _refuse_large_integers(X, table)
    return table


def read_source(estimator: Any, X: Any, *, reset: bool) -> Source:
    """Validate a table of any column types; an array must have the number of columns of the fit."""
    if hasattr(X, "tocsr"):
        raise TypeError("Sparse data was passed, but dense data is required. Use X.toarray() to convert it.")
    table = as_source(X)
    if isinstance(table, ArrayTable):
        if not table.names:
            raise InvalidInput(
                f"Found array with 0 feature(s) (shape=({len(table)}, 0)) while a minimum of 1 is required."
            )
        validate_data(estimator, table.array, reset=reset, skip_check_array=True)
    return table


def read_rows(estimator: Any, X: Any, **options: Any) -> Any:
    """Validate complete float64 rows; `options`, such as `y`, go to scikit-learn's `validate_data`."""
    try:
        return validate_data(estimator, X, dtype=np.float64, **options)
    except (ValueError, TypeError) as error:
        _raise_for_cell(X, error, "Every value must be a finite number; IGHImputer fills missing ones.")
        raise


def _refuse_dates(X: Any) -> None:
    """Refuse dates: numpy would convert them, and also missing dates, to numbers without an error."""
    if isinstance(X, list | tuple) or getattr(getattr(X, "dtype", None), "kind", "") == "O":
        _raise_for_cell(X, TypeError("dates"), "Convert dates to numbers, or leave out the column.")
        return
    types = getattr(X, "dtypes", None)
    if types is None or _frame_names(X) is None:
        types = [getattr(X, "dtype", None)]
    for name, kind in zip(_frame_names(X) or ["X"], types, strict=False):
        if getattr(kind, "kind", "") in ("m", "M") or str(kind).startswith(("Date", "Time", "Duration")):
            raise InvalidInput(
                f"All values must be numbers; column {name!r} holds dates or times ({kind}). Convert them to "
                "numbers, such as days since a fixed date, or leave out the column."
            )


def _refuse_large_integers(X: Any, table: Table) -> None:
    """Refuse integers that are not exact as floats: observed values must be returned unchanged."""
    if getattr(getattr(X, "dtype", None), "kind", "") == "f":
        return
    large = np.abs(np.where(np.isnan(table), 0.0, table)) >= 2.0**24  # smaller ones are exact in float32
    for index in map(int, np.flatnonzero(large.any(axis=0))):
        values = _column(X, index)
        if values.dtype.kind == "f":
            continue
        for row in np.flatnonzero(large[:, index]):
            if isinstance(values[row], numbers.Integral) and int(values[row]) != int(table[row, index]):
                name = (_frame_names(X) or [f"x{i}" for i in range(table.shape[1])])[index]
                raise InvalidInput(
                    f"Integers must be exact in {table.dtype}; column {name!r} is {values[row]} in row "
                    f"{row}. If it is an identifier, leave out the column."
                )


def _raise_for_cell(X: Any, error: Exception, advice: str) -> None:
    """Raise an error that names the first cell that is not a finite number; return if there is none."""
    try:
        cells = _cells(X)
    except ValueError:
        return
    if cells.ndim != 2:
        return
    names = _frame_names(X)
    if "contains NaN" in str(error) or "contains infinity" in str(error):
        problem, is_invalid = str(error).splitlines()[0].rstrip("."), _is_not_finite
    else:
        problem, is_invalid = "All values must be numbers", _is_not_number
    for row, column in np.ndindex(cells.shape):
        value = cells[row, column]
        if is_invalid(value):
            label = f"x{column}" if names is None else repr(names[column])
            raise InvalidInput(f"{problem}; column {label} is {value!r} in row {row}. {advice}") from error


def _is_not_number(value: Any) -> bool:
    """True for non-numeric text, integers beyond the float range, dates, periods, intervals, pandas' NA."""
    if isinstance(value, int) and abs(value) > sys.float_info.max:
        return True
    if isinstance(value, str | bytes):
        try:
            float(value)
        except ValueError:
            return True
        return False
    dates = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)
    return isinstance(value, dates) or type(value).__name__ in ("NAType", "Period", "Interval")


def _is_not_finite(value: Any) -> bool:
    return value is None or (isinstance(value, float | np.floating) and not math.isfinite(value))


_SEQUENCES = (list, tuple, range, np.ndarray)


def position_of(label: Any, labels: Sequence[Any], parameter: str) -> int:
    """Position of a column given by name or, if all names are strings, by number."""
    if label in labels:
        return labels.index(label)
    integer = isinstance(label, int | np.integer) and not isinstance(label, bool)
    by_number = all(isinstance(name, str) for name in labels)  # else integers may be column names
    if integer and by_number and 0 <= label < len(labels):
        return int(label)
    accepted = f"a number from 0 to {len(labels) - 1} or a column name" if by_number else "a column name"
    raise InvalidInput(
        f"{parameter} names an unknown column: {label!r}. Use {accepted}: "
        f"{', '.join(map(str, labels[:10]))}{', …' if len(labels) > 10 else ''}."
    )


def read_names(estimator: Any, fitted: Sequence[Any], given: Any) -> npt.NDArray[np.object_]:
    """Input names for `get_feature_names_out`: those of the fit, or `given` if it is consistent with them."""
    names = np.asarray(fitted if given is None else given, dtype=object)
    if len(names) != len(fitted):
        raise InvalidInput(
            f"input_features should have length equal to the number of fitted columns, {len(fitted)}; "
            f"got {len(names)}."
        )
    if hasattr(estimator, "feature_names_in_") and not np.array_equal(names, fitted):
        raise InvalidInput("input_features is not equal to feature_names_in_.")
    return names


def read_groups(groups: Any, labels: Sequence[Any], keep: Mask) -> list[list[int]]:
    """Groups of column names or positions → groups of positions among the kept columns."""
    if groups is None:
        return []
    if isinstance(groups, Iterable) and not isinstance(groups, str | Mapping):
        groups = list(groups)
    if not isinstance(groups, list) or not all(isinstance(group, _SEQUENCES) for group in groups):
        raise complaint("groups", "a list of lists of columns, such as [['red', 'green']]", groups)
    renumber = np.cumsum(keep) - 1
    positions = [[position_of(label, labels, "groups") for label in group] for group in groups]
    kept = [[int(renumber[i]) for i in group if keep[i]] for group in positions]
    return [group for group in kept if group]


def read_weights(weights: Any, labels: Sequence[Any]) -> Array:
    """Column weights as a mapping from columns, or one per column → (d,)."""
    each = np.ones(len(labels))
    if isinstance(weights, Mapping):
        positions = [position_of(label, labels, "column_weights") for label in weights]
        given = list(weights.values())
    elif weights is None or isinstance(weights, _SEQUENCES):
        given = [] if weights is None else list(weights)
        positions = list(range(len(given)))
    else:
        raise complaint(
            "column_weights", "None, a mapping such as {'age': 2}, or one number per column", weights
        )
    if given and not isinstance(weights, Mapping) and len(given) != len(labels):
        raise InvalidInput(
            f"column_weights must have one number for each of the {len(labels)} columns; got {len(given)}."
        )
    for position, weight in zip(positions, given, strict=True):
        require_number(f"column_weights of column {labels[position]!r}", weight, above=0)
        each[position] = weight
    return each


def read_bounds(bounds: Any, labels: Sequence[Any], X: Table) -> Array:
    """Parameter `bounds` → (2, d), lowest and highest value of each column, infinite where unbounded.

    `bounds` is None (no bounds), "observed" (observed range of each column), a pair for all columns, a list
    of these with one per column, or a mapping from columns to these; columns not named are "observed".
    """
    d = len(labels)
    if is_option(bounds, "observed"):
        return _observed_range(X)
    each: list[Any]
    if isinstance(bounds, Mapping):
        each = ["observed"] * d
        for label, value in bounds.items():
            each[position_of(label, labels, "bounds")] = value
    elif bounds is None or isinstance(bounds, str) or _is_pair(bounds):
        each = [bounds] * d
    elif isinstance(bounds, list | tuple) and len(bounds) == d:
        each = list(bounds)
    else:
        raise InvalidInput(
            "bounds must be None, 'observed', a pair (lowest, highest), a mapping such as "
            f"{{'age': (0, 120)}}, or one of these for each of the {d} columns; got {bounds!r}."
        )
    limits = [
        _column_bounds(one, label, X[:, i]) for i, (one, label) in enumerate(zip(each, labels, strict=True))
    ]
    return np.array(limits, dtype=np.float64).reshape(d, 2).T


def _observed_range(X: Table) -> Array:
    known = ~np.isnan(X)
    lowest = np.min(X, axis=0, initial=np.inf, where=known)
    highest = np.max(X, axis=0, initial=-np.inf, where=known)
    empty = ~known.any(axis=0)
    return np.array([np.where(empty, -np.inf, lowest), np.where(empty, np.inf, highest)], dtype=np.float64)


def _is_pair(bounds: Any) -> bool:
    return (
        isinstance(bounds, tuple)
        and len(bounds) == 2
        and all(one is None or isinstance(one, int | float | np.number) for one in bounds)
    )


def _column_bounds(bound: Any, label: Any, column: Table) -> tuple[float, float]:
    if bound is None:
        return -np.inf, np.inf
    if is_option(bound, "observed"):
        lowest, highest = _observed_range(column[:, None])[:, 0]
        return float(lowest), float(highest)
    try:
        low, high = bound if isinstance(bound, _SEQUENCES) else ()
        lowest = -np.inf if low is None else float(low)
        highest = np.inf if high is None else float(high)
    except (TypeError, ValueError, OverflowError):
        lowest, highest = np.nan, np.nan
    if not (lowest <= highest and lowest < np.inf and highest > -np.inf):
        raise InvalidInput(
            f"bounds of column {label!r} must be None, 'observed' or a pair with lowest ≤ highest; "
            f"got {bound!r}."
        )
    return lowest, highest


def read_times(times: Any, n: int) -> Array | None:
    """Times of the rows as None, "even", or n numbers or dates → (n,) numbers, or None."""
    if times is None:
        return None
    if is_option(times, "even"):
        return np.arange(n, dtype=np.float64)
    if isinstance(times, str):
        raise complaint("times", "None, 'even', or one number or date per row", times)
    given = np.asarray(times)
    if given.dtype.kind == "M":
        missing = np.isnat(given)
        given = np.where(missing, np.nan, given.astype("datetime64[us]").astype(np.int64))
    try:
        moments = given.astype(np.float64)
    except (TypeError, ValueError):
        raise complaint("times", "None, 'even', or one number or date per row", times) from None
    if moments.shape != (n,) or not np.isfinite(moments).all():
        raise InvalidInput(
            f"times must be 'even', or one finite number or date for each of the {n} rows; got shape "
            f"{moments.shape} with {int((~np.isfinite(moments)).sum())} missing or infinite."
        )
    return np.asarray(moments)
