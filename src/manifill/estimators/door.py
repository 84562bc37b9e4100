"""The friendly door: one function."""

from typing import Any

from manifill.errors import InvalidInput
from manifill.estimators.imputer import IGHImputer


def impute(X: Any, **options: Any) -> Any:
    """Fill the missing values of a table of numbers.

    Parameters
    ----------
    X : (n, d) array, list of lists, pandas or polars DataFrame; NaN (or null) where missing.
    **options : any parameter of `IGHImputer`.

    Returns
    -------
    The completed table, of the same kind as `X`.

    Examples
    --------
    >>> import manifill
    >>> nan = float("nan")
    >>> manifill.impute([[1.0, 10.0], [2.0, 20.0], [3.0, nan], [4.0, 40.0]], random_state=0).shape
    (4, 2)
    """
    unknown = sorted(set(options) - set(IGHImputer().get_params()))
    if unknown:
        raise InvalidInput(
            f"impute has no option {', '.join(map(repr, unknown))}; "
            f"the options are {', '.join(sorted(IGHImputer().get_params()))}."
        )
    library = type(X).__module__.partition(".")[0]
    imputer = IGHImputer(**options)
    if library in ("pandas", "polars"):
        imputer.set_output(transform=library)
    return imputer.fit_transform(X)
