"""The parameters `predictors` and `exclude`: which columns may help to fill which."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from manifill._arrays import Mask
from manifill._checks import complaint, is_option
from manifill._estimators.inputs import position_of
from manifill._estimators.options import as_sweep
from manifill._selection import MAX_COLUMNS
from manifill.errors import InvalidInput
from manifill.tables import Encoding


def read_predictors(predictors: Any, exclude: Any, labels: Sequence[Any]) -> Mask | None:
    """(d, d), True where a column (first axis) may be filled with the help of another; None if all may help.

    Parameters
    ----------
    predictors : mapping from columns to lists of columns, or None.
    exclude : list of columns that help to fill no other, or None.
    labels : names of the columns.
    """
    if predictors is not None and not isinstance(predictors, Mapping):
        raise complaint("predictors", "None or a mapping such as {'age': ['height', 'weight']}", predictors)
    excluded = [] if exclude is None else _positions("exclude", exclude, labels)
    allowed = np.ones((len(labels), len(labels)), dtype=np.bool_)
    allowed[:, excluded] = False
    keys = _positions("predictors", list(predictors or ()), labels)
    for column, listed in zip(keys, (predictors or {}).values(), strict=True):
        name = labels[column]
        helping = _positions(f"predictors of column {name!r}", listed, labels)
        if column in helping:
            raise InvalidInput(
                f"predictors of column {name!r} must be other columns; got {name!r} itself. Remove it."
            )
        both = [labels[one] for one in helping if one in excluded]
        if both:
            raise InvalidInput(
                f"predictors of column {name!r} must not be in exclude; got {both} in both. Remove them from "
                "one of the two."
            )
        allowed[column] = False
        allowed[column, helping] = True
    allowed[np.diag_indices(len(labels))] = True
    return None if allowed.all() else allowed


def _positions(what: str, given: Any, labels: Sequence[Any]) -> list[int]:
    """Positions of listed columns, each at most once."""
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise complaint(what, "a list of columns, such as ['age']", given)
    found = [position_of(one, labels, what) for one in given]
    twice = sorted({one for one in found if found.count(one) > 1})
    if twice:
        raise InvalidInput(
            f"{what} must name a column once; {[labels[one] for one in twice]} are named several times."
        )
    return found


def read_encoded_predictors(
    predictors: Any, exclude: Any, names: Sequence[Any], encoding: Encoding
) -> dict[int, list[int]] | None:
    """The parameter `predictors` for the encoded columns of a table, with `exclude` in it, or None."""
    allowed = read_predictors(predictors, exclude, names)
    if allowed is None:
        return None
    _refuse_copied(predictors or {}, names, encoding)
    require_few_columns(encoding.width)
    row = {name: i for i, name in enumerate(names)}
    found: dict[int, list[int]] = {}
    for field in encoding:
        others = [one for one in encoding if one is not field]
        helping = [one for one in others if allowed[row[field.name], row[one.name]]]
        if len(helping) < len(others):
            columns = [j for one in helping for j in range(one.first, one.columns.stop)]
            found |= dict.fromkeys(range(field.first, field.columns.stop), columns)
    return found or None


def _refuse_copied(predictors: Mapping[Any, Any], names: Sequence[Any], encoding: Encoding) -> None:
    kinds = {field.name: field.kind for field in encoding.fields if not field.modelled}
    listed = [*predictors, *(one for some in predictors.values() for one in some)]
    for name in (names[position_of(one, names, "predictors")] for one in listed):
        if name in kinds:
            raise InvalidInput(
                f"predictors must name columns that can be filled; {name!r} is of type {kinds[name]} and is "
                "copied unchanged. Remove it, or set its type with types."
            )


def require_few_columns(d: int) -> None:
    """Raise if a table has too many columns for given predictors."""
    if d > MAX_COLUMNS:
        raise InvalidInput(
            f"predictors and exclude need a table of at most {MAX_COLUMNS} columns, where a category counts "
            f"as one column for each level; got {d}. Leave out columns."
        )


def require_default_method(other: Sequence[str]) -> None:
    """Raise if predictors are given together with parameters for other methods, whose names are `other`."""
    if other:
        raise InvalidInput(
            "predictors and exclude need the default method, in which every column has its own predictors; "
            f"got them together with {', '.join(other)}. Leave out one or the other."
        )


def other_methods(imputer: Any, device: Any) -> list[str]:
    """Parameters by which columns have no predictors of their own; `device` is that of the table."""
    method = as_sweep(imputer.method)
    given = {"kernel": imputer.kernel, "solver": imputer.solver}
    given |= {"a start": method.start, "a schedule": method.schedule}
    other = [name for name, value in given.items() if not is_option(value, "auto")]
    other += [name for name in ("layout", "times", "device") if getattr(imputer, name) is not None]
    return [*other, *(["a tensor on a GPU"] if device not in (None, "cpu") else [])]
