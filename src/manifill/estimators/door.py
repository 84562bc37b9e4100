"""The friendly door: one function."""

from typing import Any

from manifill.errors import InvalidInput
from manifill.estimators.imputer import IGHImputer
from manifill.estimators.table import TableImputer
from manifill.tables import is_frame


def impute(X: Any, **options: Any) -> Any:
    """Fill the missing values of a table.

    Parameters
    ----------
    X : a pandas or polars DataFrame or a pyarrow Table, of numbers, categories, dates and text; or an array
        or list of lists (n, d) of numbers, NaN where missing.
    **options : any parameter of `TableImputer` (types, bounds, random_state, …) for frames, of `IGHImputer`
        for arrays.

    Returns
    -------
    The completed table, of the same kind as `X`, with the same columns and types.

    Examples
    --------
    >>> import manifill
    >>> nan = float("nan")
    >>> manifill.impute([[1.0, 10.0], [2.0, 20.0], [3.0, nan], [4.0, 40.0]], random_state=0).shape
    (4, 2)
    """
    imputer = TableImputer() if is_frame(X) else IGHImputer()
    known = sorted(imputer.get_params())
    unknown = sorted(set(options) - set(known))
    if unknown:
        kind = "frames" if is_frame(X) else "arrays"
        raise InvalidInput(
            f"impute has no option {', '.join(map(repr, unknown))} for {kind}; "
            f"the options are {', '.join(known)}."
        )
    return imputer.set_params(**options).fit_transform(X)
