"""Which kind of variable a column is, and why; users may say otherwise."""

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from manifill._arrays import Array
from manifill._checks import is_option
from manifill.errors import InvalidInput
from manifill.tables.frames import DAY, TIMES, plain_time
from manifill.tables.source import SourceColumn
from manifill.tables.variables import Category, Cyclic, Flag, Moment, Ordered, Quantity, Untouched, Variable

KINDS = ("number", "integer", "boolean", "category", "ordered", "date", "cyclic:PERIOD", "text", "identifier")

# Levels beyond which a column of words is text, unless its type says that it holds categories …
_MOST_LEVELS = 50
_MOST_DECLARED = 200
# … and rows that each level must have on average.
_ROWS_PER_LEVEL = 2
# Rows from which whole numbers that all differ can be taken for identifiers.
_ROWS_OF_IDENTIFIERS = 20
_NAMES_OF_IDENTIFIERS = re.compile(
    r"(^|[_ .-])(id|uuid|guid|key|index|row|nr|no)([_ .-]|$)|^unnamed: 0$", re.IGNORECASE
)
# Skewness from which the logarithm of positive values is modelled, if it is much less skewed.
_SKEWED = 1.5
# What times are rounded to, in microseconds: the coarsest that all observed ones are whole in.
_STEPS = (DAY, 3600e6, 60e6, 1e6, 1e3, 1.0)


def infer(column: SourceColumn, limits: Any = None) -> tuple[Variable, str]:
    """The variable that a column is, and the reason in words."""
    observed = column.plain()[~column.missing]
    if not len(observed) or column.holds == "other":
        return _not_modelled(column, len(observed))
    if column.holds == "boolean":
        return Flag(), "true or false"
    if "label" in column.holds:
        return _labels(column, len(observed))
    if column.holds in TIMES:
        return _moments(column, observed, limits), f"its type: {column.holds}"
    if column.holds == "integer" and _identifies(column, observed):
        return Untouched("identifier"), "whole numbers that all differ, like a number of the row"
    return _number(column, observed, limits)


def declared(column: SourceColumn, kind: Any, limits: Any = None) -> tuple[Variable, str]:
    """The variable that a user says a column is."""
    reason = "you said so"
    if isinstance(kind, Moment):
        return kind, "the time of the rows"
    if isinstance(kind, Cyclic | Category | Ordered | Flag | Quantity | Untouched):
        if isinstance(kind, Cyclic | Flag | Quantity) and column.plain().dtype == object:
            raise InvalidInput(
                f"Column {column.name!r} cannot be taken for {kind.kind}: it holds {_said(column)}."
            )
        return kind, reason
    if not isinstance(kind, str):
        raise InvalidInput(
            f"The type of column {column.name!r} must be one of {', '.join(KINDS)}, or a variable from "
            f"manifill.tables; got {kind!r}."
        )
    name, _, detail = kind.partition(":")
    observed = column.plain()[~column.missing]
    numeric = column.holds in ("integer", "number", "decimal", "boolean")
    if name in ("text", "identifier", "skip"):
        return Untouched("text" if name == "skip" else name), reason
    if not len(observed):
        return _not_modelled(column, 0)
    of_levels = "label" in column.holds or numeric
    if name == "category" and of_levels:
        return Category(_levels(column, observed)), reason
    if name == "ordered" and of_levels:
        present = _levels(column, observed)
        levels = [level.strip() for level in detail.split("<")] if detail else list(present)
        return Ordered(tuple(_as_values(column, levels, present))), reason
    if name == "cyclic" and numeric and column.holds != "boolean":
        try:
            period = float(detail)
        except ValueError:
            period = math.nan
        if not 1e-9 < period < 1e12:
            raise InvalidInput(f"Column {column.name!r}: a cyclic type needs its period, such as cyclic:24.")
        from_one = observed.max() == period and observed.min() >= 1  # months, say
        return Cyclic(period, _step_of(observed), float(from_one)), reason
    if name == "boolean" and numeric and column.holds != "decimal" and set(np.unique(observed)) <= {0.0, 1.0}:
        return Flag(), reason
    if name in ("number", "integer") and numeric and column.holds != "boolean":
        step = 1.0 if name == "integer" else 0.0
        return Quantity(name, step, limits=_limits(column, limits)), reason
    if name in ("date", *TIMES) and column.holds in TIMES:
        return _moments(column, observed, limits), reason
    if name in {one.partition(":")[0] for one in KINDS}:
        raise InvalidInput(f"Column {column.name!r} cannot be taken for {kind}: it holds {_said(column)}.")
    raise InvalidInput(f"The type of column {column.name!r} must be one of {', '.join(KINDS)}; got {kind!r}.")


def check_bounds(column: SourceColumn, variable: Variable, limits: Any) -> None:
    """Refuse bounds that cannot be held."""
    if limits is None or is_option(limits, "observed"):
        return
    if not isinstance(variable, Quantity):
        raise InvalidInput(
            f"Bounds are for numbers and dates; column {column.name!r} is of the kind {variable.kind}."
        )
    if variable.step and variable.limits is not None:
        low, high = (one / variable.step for one in variable.limits)
        if math.isfinite(low) and math.isfinite(high) and math.ceil(low) > math.floor(high):
            raise InvalidInput(
                f"Bounds of column {column.name!r} must have a value between them that it can take; its "
                f"values are whole, and between {limits[0]} and {limits[1]} there is none."
            )


def _said(column: SourceColumn) -> str:
    return {"label": "text", "ordered label": "ordered categories"}.get(
        column.holds, column.holds + " values"
    )


def _not_modelled(column: SourceColumn, observed: int) -> tuple[Variable, str]:
    if not observed and column.holds != "other":
        return Untouched("empty"), "nothing is observed in it, so there is nothing to fill from"
    if column.missing.all():
        return Untouched("empty"), "nothing is observed in it, so there is nothing to fill from"
    return Untouched("text"), f"values of type {column.type_name} are not modelled"


def _labels(column: SourceColumn, observed: int) -> tuple[Variable, str]:
    levels = column.levels()
    most = _MOST_DECLARED if column.declared else _MOST_LEVELS
    if column.holds == "ordered label" and len(levels) <= most:
        return Ordered(levels), f"its type: {len(levels)} ordered categories"
    enough = column.declared or len(levels) * _ROWS_PER_LEVEL <= observed
    if len(levels) <= most and enough:
        return Category(levels), f"{len(levels)} different values in {observed:,} rows"
    if len(levels) == observed:
        return Untouched("identifier"), "all values differ"
    return Untouched(
        "text"
    ), f"{len(levels):,} different values in {observed:,} rows, too many for categories"


def _identifies(column: SourceColumn, observed: Array) -> bool:
    """Whole numbers without gaps that number the rows, or all differ under a name that says so."""
    if column.missing.any() or len(observed) < _ROWS_OF_IDENTIFIERS:
        return False
    steps = np.diff(observed)
    numbered = bool((steps == 1).all())
    named = bool(_NAMES_OF_IDENTIFIERS.search(str(column.name)))
    return numbered or (named and len(np.unique(observed)) == len(observed))


def _number(column: SourceColumn, observed: Array, limits: Any) -> tuple[Variable, str]:
    whole = column.holds == "integer" or bool((observed == np.round(observed)).all())
    kind, step = ("integer", 1.0) if whole else ("number", 0.0)
    reason = "its type" if column.holds == "integer" else "all values are whole" if whole else "numbers"
    pair = _limits(column, limits)
    log, offset = _logarithm(observed)
    if log and not (pair is not None and pair[0] < 0):
        return Quantity(
            kind, step, True, offset, pair
        ), f"{reason}; positive and skewed, so modelled by its logarithm"
    return Quantity(kind, step, limits=pair), reason


def _logarithm(observed: Array) -> tuple[bool, float]:
    """Should the logarithm be modelled, and what is added within it for the sake of zeros?"""
    positive = observed[observed > 0]
    if len(observed) < _ROWS_OF_IDENTIFIERS or observed.min() < 0 or 2 * len(positive) < len(observed):
        return False, 0.0
    offset = float(np.median(positive)) if observed.min() == 0 else 0.0
    before, after = _skewness(observed), _skewness(np.log(observed + offset))
    return before > _SKEWED and abs(after) < before / 2, offset


def _skewness(values: Array) -> float:
    std = float(values.std())
    return float((((values - values.mean()) / std) ** 3).mean()) if std > 0 else 0.0


def _moments(column: SourceColumn, observed: Array, limits: Any) -> Quantity:
    step = next((step for step in _STEPS if (observed % step == 0).all()), 1.0)
    pair = (0.0, DAY - 1) if column.holds == "time" else None
    return Quantity(column.holds, step, limits=_limits(column, limits) or pair)


def _limits(column: SourceColumn, limits: Any) -> tuple[float, float] | None:
    """Bounds as users give them, in plain values; None for the range observed."""
    if limits is None or is_option(limits, "observed"):
        return None
    try:
        low, high = limits
        pair = tuple(_plain_limit(column, one, side) for one, side in ((low, -math.inf), (high, math.inf)))
    except (TypeError, ValueError, AttributeError):
        pair = (math.nan, math.nan)
    if not pair[0] <= pair[1]:
        raise InvalidInput(
            f"Bounds of column {column.name!r} must be 'observed' or a pair (lowest, highest), either of "
            f"which may be None; got {limits!r}."
        )
    return pair[0], pair[1]


def _plain_limit(column: SourceColumn, limit: Any, none: float) -> float:
    if limit is None:
        return none
    if column.holds in TIMES:
        return plain_time(column.holds, limit)
    return float(limit)


def _step_of(observed: Array) -> float:
    return 1.0 if bool((observed == np.round(observed)).all()) else 0.0


def _levels(column: SourceColumn, observed: Array) -> tuple[Any, ...]:
    return column.levels() if "label" in column.holds else tuple(np.unique(observed).tolist())


def _as_values(column: SourceColumn, levels: list[Any], present: tuple[Any, ...]) -> list[Any]:
    """Levels that a user wrote, as the values the column holds; all that are observed must be among them."""
    by_text = {str(level): level for level in present}
    by_text |= {f"{level:g}": level for level in present if isinstance(level, float)}
    given = [by_text.get(str(level), level) for level in levels]
    lost = [level for level in present if level not in given]
    if len(present) < len(given) and column.declared:
        given = [level for level in given if level in present]  # its type has no room for others
    if lost:
        raise InvalidInput(
            f"The order of column {column.name!r} must have all its values; {', '.join(map(repr, lost[:5]))} "
            "are not in it."
        )
    return given


def by_name(given: Mapping[Any, Any], names: list[Any], what: str) -> dict[Any, Any]:
    """A mapping from columns, by name or, where names are words, by number; others are refused."""
    words = all(isinstance(name, str) for name in names)

    def name_of(key: Any) -> Any:
        numbered = words and isinstance(key, int) and not isinstance(key, bool) and 0 <= key < len(names)
        return names[key] if numbered and key not in names else key

    found = {name_of(key): value for key, value in given.items()}
    unknown = [name for name in found if name not in names]
    if unknown:
        raise InvalidInput(
            f"{what} names columns that are not there: {', '.join(map(repr, unknown))}. "
            f"The columns are {', '.join(map(str, names[:20]))}{', …' if len(names) > 20 else ''}."
        )
    return found
