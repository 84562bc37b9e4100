"""`impute`: fill a table in one call."""

from typing import Any

from manifill._devices import is_tensor
from manifill._estimators.imputer import IGHImputer
from manifill._estimators.table import TableImputer
from manifill.errors import InvalidInput


def impute(
    X: Any,
    *,
    types: Any = None,
    bounds: Any = "observed",
    time: Any = None,
    kernel: Any = "auto",
    solver: Any = "auto",
    layout: Any = None,
    max_sweeps: Any = "auto",
    time_limit: float | None = None,
    device: Any = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    verbose: bool = False,
) -> Any:
    """Fill the missing values of a table.

    Parameters
    ----------
    X : a pandas or polars DataFrame or a pyarrow Table, of numbers, categories, dates and text; or an array
        or list of lists (n, d), NaN or None where missing.
    types, bounds, time, kernel, solver, layout, max_sweeps, time_limit, device, n_jobs, random_state, \
            verbose : as in `TableImputer`.

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
    options = {name: value for name, value in locals().items() if name != "X"}
    if is_tensor(X):
        named = {name: value for name, value in options.items() if name not in ("types", "time")}
        if types is not None or time is not None:
            raise InvalidInput("types and time are for tables; tensors hold numbers only. Remove them.")
        return IGHImputer(**named).fit_transform(X)
    return TableImputer(**options).fit_transform(X)
