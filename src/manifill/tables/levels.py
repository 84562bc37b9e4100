"""Levels that the dtypes of categorical columns declare."""

from typing import Any

import narwhals as nw


def is_ordered(series: Any) -> bool:
    """True for ordered categories of pandas and pyarrow."""
    native = nw.to_native(series)
    kind = getattr(native, "dtype", getattr(native, "type", None))
    return bool(getattr(kind, "ordered", False)) and type(native).__module__.startswith(("pandas", "pyarrow"))


def declared_levels(series: Any) -> list[Any] | None:
    """All levels that a categorical dtype declares, in its order; None if it declares none."""
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


def with_levels(series: Any, values: list[Any]) -> Any:
    """The series; if it has categories of pandas or an Enum of polars, with those of the values added.

    New rows may declare fewer categories than the rows of the fit.
    """
    declared = declared_levels(series) if series.dtype in (nw.Categorical, nw.Enum) else None
    if declared is None or set(values) <= set(declared):
        return series
    new = [value for value in dict.fromkeys(values) if value not in declared]
    if series.dtype == nw.Enum:
        return series.cast(nw.Enum([*declared, *new]))
    return nw.from_native(nw.to_native(series).cat.add_categories(new), series_only=True)
