"""Tables, bounds and groups as users give them; complaints in the users' words."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from manifill.arrays import Array, Mask, Table
from manifill.errors import InvalidInput


def column_labels(estimator: Any) -> list[str]:
    """The names users gave their columns, or x0, x1, … as scikit-learn calls them."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        return [f"x{i}" for i in range(estimator.n_features_in_)]
    return [str(name) for name in names]


def read_table(estimator: Any, X: Any, *, reset: bool) -> Table:
    """A float table (float32 stays float32), NaN where missing."""
    try:
        table: Table = validate_data(
            estimator, X, reset=reset, dtype=(np.float64, np.float32), ensure_all_finite=False
        )
    except (ValueError, TypeError) as error:
        _name_the_cell(X, error, "Encode text as numbers, or leave the column out.")
        raise
    infinite = np.isinf(table)
    if infinite.any():
        row, index = np.argwhere(infinite)[0]
        raise InvalidInput(
            f"Values must be finite or missing (NaN); column {column_labels(estimator)[index]!r} "
            f"contains infinity: {table[row, index]} in row {row}, and {infinite.sum()} such values in all. "
            "Replace infinite values by NaN to have them filled."
        )
    return table


def read_rows(estimator: Any, X: Any, **options: Any) -> Any:
    """Complete float64 rows; options, such as `y`, are those of scikit-learn's `validate_data`."""
    try:
        return validate_data(estimator, X, dtype=np.float64, **options)
    except (ValueError, TypeError) as error:
        _name_the_cell(X, error, "Every value must be a finite number; IGHImputer fills missing ones.")
        raise


def _name_the_cell(X: Any, error: Exception, advice: str) -> None:
    """Raise an error that names the first cell which is not a finite number, if that is what is wrong."""
    names = getattr(X, "columns", None)
    try:
        cells = np.asarray(X, dtype=object)
    except ValueError:
        return
    if cells.ndim != 2:
        return
    if "NaN" in str(error) or "infinity" in str(error):
        problem, is_wrong = str(error).splitlines()[0].rstrip("."), _is_not_finite
    else:
        problem, is_wrong = "All values must be numbers", _is_text
    for row, column in np.ndindex(cells.shape):
        value = cells[row, column]
        if is_wrong(value):
            label = f"x{column}" if names is None else repr(str(names[column]))
            raise InvalidInput(f"{problem}; column {label} is {value!r} in row {row}. {advice}") from error


def _is_text(value: Any) -> bool:
    if not isinstance(value, str | bytes):
        return False
    try:
        float(value)
    except ValueError:
        return True
    return False


def _is_not_finite(value: Any) -> bool:
    return value is None or (isinstance(value, float | np.floating) and not math.isfinite(value))


def _position(label: object, labels: Sequence[str], parameter: str) -> int:
    if isinstance(label, str) and label in labels:
        return labels.index(label)
    whole = isinstance(label, int | np.integer) and not isinstance(label, bool)
    if whole and 0 <= int(label) < len(labels):  # type: ignore[call-overload]
        return int(label)  # type: ignore[call-overload, no-any-return]
    raise InvalidInput(
        f"{parameter} names the column {label!r}, which is not there. Use a number from 0 to "
        f"{len(labels) - 1} or one of the names: {', '.join(labels[:10])}"
        f"{', …' if len(labels) > 10 else ''}."
    )


def read_groups(groups: Any, labels: Sequence[str], keep: Mask) -> list[list[int]]:
    """Groups of column names or numbers → groups of positions among the columns kept."""
    if groups is None:
        return []
    renumber = np.cumsum(keep) - 1
    lists = isinstance(groups, Iterable) and not isinstance(groups, str | Mapping)
    if not (
        lists
        and all(isinstance(group, Sequence | np.ndarray) and not isinstance(group, str) for group in groups)
    ):
        raise InvalidInput(
            f"groups must be a list of lists of columns, such as [['red', 'green', 'blue']]; got {groups!r}."
        )
    positions = [[_position(label, labels, "groups") for label in group] for group in groups]
    kept = [[int(renumber[i]) for i in group if keep[i]] for group in positions]
    return [group for group in kept if group]


def read_bounds(bounds: Any, labels: Sequence[str], X: Table) -> Array:
    """Bounds as users give them → (2, d) numbers, infinite where there is no bound.

    None: no bounds. "observed": the observed range of each column. A pair: the same for all. A list of
    such: one per column. A mapping from column to such: those columns; the others keep "observed".
    """
    d = len(labels)
    each: list[Any]
    if isinstance(bounds, Mapping):
        each = ["observed"] * d
        for label, value in bounds.items():
            each[_position(label, labels, "bounds")] = value
    elif bounds is None or isinstance(bounds, str) or _is_pair(bounds):
        each = [bounds] * d
    elif isinstance(bounds, Sequence | np.ndarray) and len(bounds) == d:
        each = list(bounds)
    else:
        raise InvalidInput(
            "bounds must be None, 'observed', a pair (lowest, highest), a mapping such as "
            f"{{'age': (0, 120)}}, or one of these for each of the {d} columns; got {bounds!r}."
        )
    limits = [_limits(one, label, X[:, i]) for i, (one, label) in enumerate(zip(each, labels, strict=True))]
    return np.array(limits, dtype=np.float64).reshape(d, 2).T


def _is_pair(bounds: Any) -> bool:
    return (
        isinstance(bounds, tuple)
        and len(bounds) == 2
        and all(one is None or isinstance(one, int | float | np.number) for one in bounds)
    )


def _limits(bound: Any, label: str, column: Table) -> tuple[float, float]:
    if bound is None:
        return -np.inf, np.inf
    if isinstance(bound, str) and bound == "observed":
        observed = column[~np.isnan(column)]
        return (float(observed.min()), float(observed.max())) if observed.size else (-np.inf, np.inf)
    try:
        low, high = bound
        lowest = -np.inf if low is None else float(low)
        highest = np.inf if high is None else float(high)
    except (TypeError, ValueError):
        lowest, highest = np.nan, np.nan
    if not lowest <= highest:
        raise InvalidInput(
            f"bounds of column {label!r} must be None, 'observed' or a pair with lowest ≤ highest; "
            f"got {bound!r}."
        )
    return lowest, highest
