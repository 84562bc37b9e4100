"""The friendly door: one function."""

from typing import Any

from manifill.errors import InvalidInput
from manifill.estimators.imputer import IGHImputer


def impute(X: Any, **options: Any) -> Any:
    """Fill the missing values of a table of numbers.

    Parameters
    ----------
    X : (n, d) array, list of lists, pandas or polars DataFrame; NaN (or null) where missing.
    **options : any parameter of `IGHImputer`: kernel, solver, schedule, start, order, max_sweeps, tol,
        time_limit, bounds, groups, device, n_jobs, random_state, add_indicator, keep_empty_features, verbose.

    Returns
    -------
    The completed table, of the same kind as `X`, all columns as floating-point numbers.

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
    filled = imputer.fit_transform(X)
    if library == "pandas" and filled.shape[1] == X.shape[1]:
        filled.columns = X.columns  # scikit-learn gives columns new names unless theirs are text
    return filled
