"""Infer the kind of variable of each column, or check the kind that the user declares."""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from manifill._arrays import Array
from manifill._checks import is_option
from manifill.errors import InvalidInput
from manifill.tables.source import SourceColumn
from manifill.tables.times import DAY, TIMES, plain_time
from manifill.tables.variables import Category, Cyclic, Flag, Moment, Ordered, Quantity, Untouched, Variable

KINDS = ("number", "integer", "boolean", "category", "ordered", "date", "cyclic:PERIOD", "text", "identifier")

# Conditions for a category; a column that does not meet them is text. Set by hand, not tuned.
# Maximum number of levels of a column of strings, and of one whose type declares categories.
_MAX_LEVELS = 50
_MAX_DECLARED_LEVELS = 200
# Minimum number of rows per level on average, unless the type declares categories.
_MIN_ROWS_PER_LEVEL = 2
# Minimum number of rows to recognise identifiers and skewness. Set by hand, not tuned.
_MIN_ROWS = 20
_IDENTIFIER_NAME = re.compile(
    r"(^|[_ .-])(id|uuid|guid|key|index|row|nr|no)([_ .-]|$)|^unnamed: 0$", re.IGNORECASE
)
# Skewness above which the logarithm is modelled, if that at least halves the skewness. Set by hand, not tuned
# (docs/notes/defaults.md has the effect of the logarithm on six tables).
_MIN_SKEWNESS = 1.5
# Steps of times, in microseconds; the largest of which all observed times are multiples is used.
_TIME_STEPS = (DAY, 3600e6, 60e6, 1e6, 1e3, 1.0)


def infer(column: SourceColumn, limits: Any = None) -> tuple[Variable, str]:
    """Inferred variable of a column, and the reason as text."""
    observed = column.plain()[~column.missing]
    if not len(observed) or column.holds == "other":
        return _not_modelled(column, len(observed))
    if column.holds == "boolean":
        return Flag(), "true or false"
    if "label" in column.holds:
        return _labels(column, len(observed))
    if column.holds in TIMES:
        return _time(column, observed, limits), column.note or f"its type: {column.holds}"
    if column.holds == "integer" and _identifies(column, observed):
        return Untouched("identifier"), "unique integers, like row numbers"
    return _number(column, observed, limits)


def declared(column: SourceColumn, kind: Any, limits: Any = None) -> tuple[Variable, str]:
    """Variable of a column for the kind that the user declares, and the reason as text."""
    reason = "declared in types"
    if isinstance(kind, Moment):
        return kind, "times of the rows"
    if isinstance(kind, Cyclic | Category | Ordered | Flag | Quantity | Untouched):
        if isinstance(kind, Cyclic | Flag | Quantity) and column.plain().dtype == object:
            raise _cannot_be(column, kind.kind)
        return kind, reason
    name, _, detail = kind.partition(":") if isinstance(kind, str) else ("", "", "")
    if name not in _DECLARED:
        raise InvalidInput(
            f"The type of column {column.name!r} must be one of {', '.join(KINDS)}, or a variable from "
            f"manifill.tables; got {kind!r}."
        )
    observed = column.plain()[~column.missing]
    if not len(observed) and _DECLARED[name] is not _untouched:
        return _not_modelled(column, 0)
    variable = _DECLARED[name](column, observed, name, detail, limits)
    if variable is None:
        raise _cannot_be(column, kind)
    return variable, reason


def _cannot_be(column: SourceColumn, kind: str) -> InvalidInput:
    return InvalidInput(f"Column {column.name!r} cannot be treated as {kind}: it holds {_describe(column)}.")


# Each of the following returns the variable of a column whose kind was declared by name and detail, as in
# "cyclic:24", or None if the column cannot be of that kind.


def _untouched(column: SourceColumn, observed: Array, name: str, detail: str, limits: Any) -> Variable:
    return Untouched("text" if name == "skip" else name)


def _category(column: SourceColumn, observed: Array, name: str, detail: str, limits: Any) -> Variable | None:
    return Category(_levels(column, observed)) if _has_levels(column) else None


def _ordered(column: SourceColumn, observed: Array, name: str, detail: str, limits: Any) -> Variable | None:
    if not _has_levels(column):
        return None
    present = _levels(column, observed)
    levels = [level.strip() for level in detail.split("<")] if detail else _in_order(present)
    return Ordered(tuple(_as_values(column, levels, present)))


def _cyclic(column: SourceColumn, observed: Array, name: str, detail: str, limits: Any) -> Variable | None:
    if column.holds not in _NUMBERS:
        return None
    try:
        period = float(detail)
    except ValueError:
        period = math.nan
    if not 1e-9 < period < 1e12:
        raise InvalidInput(f"Column {column.name!r}: a cyclic type needs its period, such as cyclic:24.")
    from_one = observed.max() == period and observed.min() >= 1  # such as months
    return Cyclic(period, _step_of(observed), float(from_one))


def _boolean(column: SourceColumn, observed: Array, name: str, detail: str, limits: Any) -> Variable | None:
    fits = column.holds in ("boolean", "integer", "number") and set(np.unique(observed)) <= {0.0, 1.0}
    return Flag() if fits else None


def _quantity(column: SourceColumn, observed: Array, name: str, detail: str, limits: Any) -> Variable | None:
    if column.holds not in _NUMBERS:
        return None
    return Quantity(name, 1.0 if name == "integer" else 0.0, limits=_limits(column, limits))


def _date(column: SourceColumn, observed: Array, name: str, detail: str, limits: Any) -> Variable | None:
    return _time(column, observed, limits) if column.holds in TIMES else None


_NUMBERS = ("integer", "number", "decimal")
_DECLARED: dict[str, Callable[[SourceColumn, Array, str, str, Any], Variable | None]] = {
    **dict.fromkeys(("text", "identifier", "skip"), _untouched),
    "category": _category,
    "ordered": _ordered,
    "cyclic": _cyclic,
    "boolean": _boolean,
    **dict.fromkeys(("number", "integer"), _quantity),
    **dict.fromkeys(("date", *TIMES), _date),
}


def _has_levels(column: SourceColumn) -> bool:
    return "label" in column.holds or column.holds in (*_NUMBERS, "boolean")


def check_bounds(column: SourceColumn, variable: Variable, limits: Any) -> None:
    """Raise InvalidInput for bounds that the variable cannot have or that exclude all its values."""
    if limits is None or is_option(limits, "observed"):
        return
    if not isinstance(variable, Quantity):
        raise InvalidInput(
            f"Bounds are for numbers and dates; column {column.name!r} is of the kind {variable.kind}. "
            "Remove its bounds."
        )
    if variable.step and variable.limits is not None:
        low, high = (one / variable.step for one in variable.limits)
        if math.isfinite(low) and math.isfinite(high) and math.ceil(low) > math.floor(high):
            raise InvalidInput(
                f"Bounds of column {column.name!r} must include a value that it can take; its values are "
                f"discrete, and none lies between {limits[0]} and {limits[1]}. Widen the bounds."
            )


def _describe(column: SourceColumn) -> str:
    """Content of a column, for error messages."""
    return {"label": "text", "ordered label": "ordered categories"}.get(
        column.holds, column.holds + " values"
    )


def _not_modelled(column: SourceColumn, observed: int) -> tuple[Variable, str]:
    if column.missing.all() or (not observed and column.holds != "other"):
        return Untouched("empty"), "no observed values"
    return Untouched("text"), column.note or f"values of type {column.type_name} are not modelled"


def _labels(column: SourceColumn, observed: int) -> tuple[Variable, str]:
    levels = column.levels()
    max_levels = _MAX_DECLARED_LEVELS if column.declared else _MAX_LEVELS
    if column.holds == "ordered label" and len(levels) <= max_levels:
        return Ordered(levels), f"its type: {len(levels)} ordered categories"
    frequent = column.declared or len(levels) * _MIN_ROWS_PER_LEVEL <= observed
    note = f"{column.note}; " if column.note else ""
    if len(levels) <= max_levels and frequent:
        return Category(levels), f"{note}{len(levels)} different values in {observed:,} rows"
    if len(levels) == observed:
        return Untouched("identifier"), f"{note}all values differ"
    many = f"{len(levels):,} different values in {observed:,} rows, too many for categories"
    return Untouched("text"), column.note or many


def _identifies(column: SourceColumn, observed: Array) -> bool:
    """True for integers that increase by 1 per row, or are unique in a column named like an identifier."""
    if column.missing.any() or len(observed) < _MIN_ROWS:
        return False
    steps = np.diff(observed)
    numbered = bool((steps == 1).all())
    named = bool(_IDENTIFIER_NAME.search(str(column.name)))
    return numbered or (named and len(np.unique(observed)) == len(observed))


def _number(column: SourceColumn, observed: Array, limits: Any) -> tuple[Variable, str]:
    integer = column.holds == "integer" or bool((observed == np.round(observed)).all())
    kind, step = ("integer", 1.0) if integer else ("number", 0.0)
    reason = "its type" if column.holds == "integer" else "all values are integers" if integer else "numbers"
    pair = _limits(column, limits)
    log, offset = _logarithm(observed)
    if log and not (pair is not None and pair[0] < 0):
        return Quantity(
            kind, step, True, offset, pair
        ), f"{reason}; not negative and skewed, so its logarithm is modelled"
    return Quantity(kind, step, limits=pair), reason


def _logarithm(observed: Array) -> tuple[bool, float]:
    """Whether to model log(values + offset), and the offset: positive if there are zeros."""
    positive = observed[observed > 0]
    if len(observed) < _MIN_ROWS or observed.min() < 0 or 2 * len(positive) < len(observed):
        return False, 0.0
    offset = float(np.median(positive)) if observed.min() == 0 else 0.0
    before, after = _skewness(observed), _skewness(np.log(observed + offset))
    return before > _MIN_SKEWNESS and abs(after) < before / 2, offset


def _skewness(values: Array) -> float:
    values = values / (np.abs(values).max() or 1.0)  # squares of 1e300 would overflow
    std = float(values.std())
    return float((((values - values.mean()) / std) ** 3).mean()) if std > 0 else 0.0


def _time(column: SourceColumn, observed: Array, limits: Any) -> Quantity:
    step = next((step for step in _TIME_STEPS if (observed % step == 0).all()), 1.0)
    pair = (0.0, DAY - 1) if column.holds == "time" else None
    return Quantity(column.holds, step, limits=_limits(column, limits) or pair)


def _limits(column: SourceColumn, limits: Any) -> tuple[float, float] | None:
    """Bounds given by the user as plain values; None for the observed range."""
    if limits is None or is_option(limits, "observed"):
        return None
    try:
        low, high = limits
        pair = tuple(_plain_limit(column, one, side) for one, side in ((low, -math.inf), (high, math.inf)))
    except (TypeError, ValueError, AttributeError):
        pair = (math.nan, math.nan)
    if not pair[0] <= pair[1]:
        raise InvalidInput(
            f"Bounds of column {column.name!r} must be 'observed' or a pair (lowest, highest), in which "
            f"None means unbounded; got {limits!r}."
        )
    return pair[0], pair[1]


def _plain_limit(column: SourceColumn, limit: Any, default: float) -> float:
    if limit is None:
        return default
    if column.holds in TIMES:
        return plain_time(column.holds, limit)
    return float(limit)


def _step_of(observed: Array) -> float:
    return 1.0 if bool((observed == np.round(observed)).all()) else 0.0


def _levels(column: SourceColumn, observed: Array) -> tuple[Any, ...]:
    return column.levels() if "label" in column.holds else tuple(np.unique(observed).tolist())


def _in_order(levels: tuple[Any, ...]) -> list[Any]:
    """The levels; texts that are all numbers by their size, not by the alphabet."""
    try:
        return sorted(levels, key=float) if all(isinstance(one, str) for one in levels) else list(levels)
    except ValueError:
        return list(levels)


def _as_values(column: SourceColumn, levels: list[Any], present: tuple[Any, ...]) -> list[Any]:
    """Levels given as text, converted to values of the column; they must include all observed values."""
    by_text = {str(level): level for level in present}
    by_text |= {f"{level:g}": level for level in present if isinstance(level, float)}
    given = [by_text.get(str(level), level) for level in levels]
    unlisted = [level for level in present if level not in given]
    if len(present) < len(given) and column.declared:
        given = [level for level in given if level in present]  # its type allows no other levels
    if unlisted:
        raise InvalidInput(
            f"The order of column {column.name!r} must list all its values; not listed: "
            f"{', '.join(map(repr, unlisted[:5]))}."
        )
    return given


def by_name(given: Mapping[Any, Any], names: list[Any], what: str) -> dict[Any, Any]:
    """A mapping with column names as keys; integer keys are positions if all names are strings."""
    positions = all(isinstance(name, str) for name in names)

    def name_of(key: Any) -> Any:
        numbered = positions and isinstance(key, int) and not isinstance(key, bool) and 0 <= key < len(names)
        return names[key] if numbered and key not in names else key

    found = {name_of(key): value for key, value in given.items()}
    unknown = [name for name in found if name not in names]
    if unknown:
        raise InvalidInput(
            f"{what} names unknown columns: {', '.join(map(repr, unknown))}. "
            f"The columns are {', '.join(map(str, names[:20]))}{', …' if len(names) > 20 else ''}."
        )
    return found
