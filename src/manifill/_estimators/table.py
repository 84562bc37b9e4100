"""`TableImputer`: tables of numbers, categories, dates and words, of any frame library, and arrays."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from manifill._arrays import Array
from manifill._devices import is_tensor
from manifill._estimators.imputer import IGHImputer, run_to_end
from manifill._estimators.inputs import read_names, read_source
from manifill._estimators.options import Sweep
from manifill._fillers import Fill
from manifill.errors import InvalidInput
from manifill.tables import ArrayTable, Cyclic, Encoding, Field, Flag, Moment, Ordered, Quantity, Source
from manifill.tables.accuracy import TableAccuracy, deviation, table_accuracy
from manifill.tables.frames import TIMES

# Fitted attributes that are those of the imputer of the numbers.
_OF_NUMBERS = ("result_", "status_", "n_sweeps_", "max_sweeps_", "trace_", "kernel_", "solver_")


class TableImputer(TransformerMixin, BaseEstimator):
    """Fill the missing values of a pandas, polars or pyarrow table or of an array, of columns of any kind.

    What comes out is the same kind of table with the same columns, order, index and types, and observed cells
    are not touched. Numbers, integers, booleans, categories, ordered categories, dates and times are filled;
    text and identifiers are handed through. `print(imputer.fields_)` says what each column was taken for.

    Parameters
    ----------
    types : mapping from columns to kinds, default=None
        Where what is inferred is not what you mean: "number", "integer", "boolean", "category", "ordered"
        ("ordered:low<middle<high"), "date", "cyclic:24" (hours; "cyclic:360" for directions), "text",
        "identifier"; or a variable from `manifill.tables`.
    bounds : "observed", None, pair, or mapping from columns to pairs, default="observed"
        Lowest and highest value of fills: `{"age": (0, 120)}`; either may be None. Columns not named keep to
        the range observed. A pair holds for all columns of numbers; with None they have no bounds.
    time : name of a column of dates, times or numbers, complete, default=None
        When each row was measured, in any order, at any steps. Columns are then filled also from what they
        are before and after, as much as held-out entries say. The column itself is not modelled.
    layout : as in `IGHImputer`, of the columns other than `time`; all of them must then be numbers.
    kernel, solver, max_sweeps, time_limit, device, n_jobs, random_state, verbose : as in `IGHImputer`.

    Attributes
    ----------
    fields_ : what each column was taken for, and why.
    accuracy_ : for every column that has missing values, how well it is filled, measured on held-out
        entries.
    imputer_ : the `IGHImputer` that filled the numbers; its `ensemble_`, `weights_` and `trace_` say how.
    result_, status_, n_sweeps_, max_sweeps_, trace_, kernel_, solver_ : those of `imputer_`.
    completed_ : the training table, completed.
    n_features_in_, feature_names_in_ : as always in scikit-learn.

    Examples
    --------
    >>> import pandas as pd
    >>> from manifill import TableImputer
    >>> frame = pd.DataFrame({
    ...     "size": [1.0, 2.0, None, 4.0, 5.0, 6.0, 7.0, 8.0],
    ...     "kind": ["s", "s", "s", "s", "b", "b", None, "b"],
    ... })
    >>> TableImputer(random_state=0).fit_transform(frame).isna().sum().sum()
    np.int64(0)
    """

    def __init__(
        self,
        types: Any = None,
        *,
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
    ) -> None:
        self.types = types
        self.bounds = bounds
        self.time = time
        self.kernel = kernel
        self.solver = solver
        self.layout = layout
        self.max_sweeps = max_sweeps
        self.time_limit = time_limit
        self.device = device
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: None = None) -> Self:
        """Fill the table, and remember it to fill new rows from."""
        run_to_end(self.iter_fit(X), self.verbose)
        return self

    def fit_transform(self, X: Any, y: None = None) -> Any:
        """Fill the table and return it completed."""
        return self.fit(X).completed_

    def iter_fit(self, X: Any) -> Iterator[Fill]:
        """`fit`, watched: yields the fill at the start and after every step; see `IGHImputer.iter_fit`.

        `state.X` is the completed table, as `completed_` is.
        """
        for name in [name for name in vars(self) if name.endswith("_") or name in ("_table", "_encoding")]:
            delattr(self, name)
        table = read_source(self, X, reset=True)
        if not len(table):
            raise InvalidInput("A table must have rows; this one has none.")
        encoding = Encoding.of(table, self._kinds(table), self.bounds)
        numbers = encoding.encode(table)
        if not encoding.width:
            raise InvalidInput(
                "A table must have a column with observed values that can be filled from; this one has:\n"
                f"{encoding.fields}"
            )
        self._table, self._encoding, self.fields_ = table, encoding, encoding.fields
        self.n_features_in_ = len(table.names)
        if not isinstance(table, ArrayTable):  # columns of arrays have no names
            self.feature_names_in_ = np.array(table.names, dtype=object)
        self.imputer_ = IGHImputer(
            self.kernel,
            solver=self.solver,
            method=Sweep(column_weights=encoding.weights(numbers)),
            layout=self.layout,
            times=encoding.moments(table),
            groups=encoding.groups,
            bounds=encoding.bounds(numbers),
            max_sweeps=self.max_sweeps,
            time_limit=self.time_limit,
            device=self.device,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        )
        for fill in self.imputer_.iter_fit(numbers):
            yield replace(fill, output=self._completed)

    def _kinds(self, table: Source) -> Any:
        """The types given, and that of the time column."""
        if self.time is None or not isinstance(self.types, Mapping | None):
            return self.types
        numbered = isinstance(table, ArrayTable) and self.time in range(len(table.names))
        time = table.names[self.time] if numbered else self.time
        column = table.column(time) if time in table.names else None
        if column is None or column.holds not in ("integer", "number", *TIMES) or column.missing.any():
            raise InvalidInput(
                "time must name a column of dates, times or numbers in which nothing is missing; "
                f"got {self.time!r}. These could: {', '.join(_possible_times(table)) or 'none'}."
            )
        return {**(self.types or {}), time: Moment(column.holds)}

    def __getattr__(self, name: str) -> Any:
        if name in _OF_NUMBERS and "imputer_" in vars(self):
            return getattr(self.imputer_, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def completed_(self) -> Any:
        """The training table, completed."""
        check_is_fitted(self)
        return self._completed(self.imputer_.completed_)

    def transform(self, X: Any) -> Any:
        """Fill new rows from the fitted ones, each on its own; a time that is missing stays so."""
        check_is_fitted(self)
        table = read_source(self, X, reset=False)
        lost = [field.name for field in self._encoding if field.name not in table.names]
        if lost:
            raise InvalidInput(f"New rows must have the columns fitted; these are not there: {lost}.")
        if not len(table):
            return table.completed({})
        for field in self._encoding:
            _require_kind(field, table)
        numbers, moments = self._encoding.encode(table), self._encoding.moments(table)
        filled: Any = self.result_.complete(numbers, moments)
        return table.completed(self._encoding.fills(table, filled))

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the columns that come out: those that went in."""
        check_is_fitted(self)
        return read_names(self, [field.name for field in self.fields_], input_features)

    @property
    def accuracy_(self) -> TableAccuracy:
        """What to expect of the fills, column by column, measured on held-out entries."""
        check_is_fitted(self)
        return table_accuracy(self._encoding, self.imputer_.accuracy_, self.imputer_.errors_)

    def intervals(self, level: float = 0.9) -> tuple[Any, Any]:
        """Two tables: lower and upper end of an interval that holds each missing value with this probability.

        They have the type of the table, whole numbers where it has whole numbers, and the observed values
        where it has them. Categories without an order have no intervals, but `probabilities`.
        """
        check_is_fitted(self)
        ends = self.result_.intervals(level, self._limits())
        fields = [field for field in self._encoding if isinstance(field.variable, Quantity | Ordered)]
        return self._completed(ends[0], fields, -1), self._completed(ends[1], fields, 1)

    def deviations(self) -> Any:
        """A table of numbers: the standard deviation of each fill, in units of its column; 0 where observed.

        Of categories it is the probability that the fill is wrong.
        """
        check_is_fitted(self)
        errors, completed = self.imputer_.errors_, self.imputer_.completed_
        problem = errors.problem
        half = np.tile(problem.scaling.deviation, (len(completed), 1))
        half[problem.rows] = errors.expected * problem.scaling.deviation
        found = {}
        for field in self._encoding:
            missing = self._fitted_table().column(field.name).missing
            found[str(field.name)] = np.where(missing, deviation(field, completed, half), 0.0)
        return self._fitted_table().like(found)

    def probabilities(self, name: Any) -> Any:
        """A table with a column for every level of a category or boolean: how likely each row has it."""
        check_is_fitted(self)
        field = next((field for field in self._encoding if field.name == name), None)
        if field is None or not field.variable.chosen:
            chosen = [field.name for field in self._encoding if field.variable.chosen]
            raise InvalidInput(f"Probabilities are of categories and booleans, {chosen}; got {name!r}.")
        variable: Any = field.variable
        shares = variable.probabilities(self.imputer_.completed_[:, field.columns])
        return self._fitted_table().like(
            {str(level): shares[:, i] for i, level in enumerate(variable.levels)}
        )

    def draws(self, m: int = 5, *, random_state: Any = None) -> list[Any]:
        """Completed tables, m of them, whose fills are drawn from what the missing values may be.

        For multiple imputation: fit your model to each, and let `manifill.pool` pool the results. The same
        `random_state` gives the same tables; None is that of the imputer.
        """
        check_is_fitted(self)
        limits = self._limits()
        chosen = tuple(
            tuple(range(field.first, field.columns.stop)) for field in self._encoding if field.variable.chosen
        )
        tables = self.imputer_._drawn(m, limits, random_state, chosen)
        return [self._completed(numbers) for numbers in tables]

    def save(self, path: Any) -> None:
        """Write what is needed to fill new rows into a file, which is safe to load whoever made it."""
        from manifill._estimators import saving

        check_is_fitted(self)
        saving.save(Path(path), self.fields_, self.imputer_.result_, self.imputer_.tol)

    @classmethod
    def load(cls, path: Any) -> Self:
        """An imputer from a file that `save` wrote, to `transform` new rows; its own table is not in it."""
        from manifill._estimators import saving

        fields, fitted, tol = saving.load(Path(path))
        self = cls()
        self.fields_, self._encoding = fields, Encoding(fields)
        self.imputer_ = IGHImputer._loaded(fitted, tol)
        self.n_features_in_ = len(fields)
        names = [field.name for field in fields]
        if names != [f"x{i}" for i in range(len(names))]:  # as the columns of an array are called
            self.feature_names_in_ = np.array(names, dtype=object)
        return self

    def _fitted_table(self) -> Source:
        check_is_fitted(self)
        if not hasattr(self, "_table"):
            raise InvalidInput(
                "A model from a file fills new rows, by transform; it has no table of its own."
            )
        return self._table

    def _limits(self) -> Array:
        """(2, width), bounds of what the numbers might be."""
        numbers = self._encoding.encode(self._fitted_table())
        return np.array(self._encoding.hard_bounds(numbers)).T

    def _completed(self, numbers: Any, fields: Any = None, outward: int = 0) -> Any:
        table = self._fitted_table() if hasattr(self.imputer_, "result_") else self._table
        return table.completed(self._encoding.fills(table, numbers, fields, outward))

    def __sklearn_is_fitted__(self) -> bool:
        return "imputer_" in vars(self) and hasattr(self.imputer_, "result_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def _require_kind(field: Field, table: Source) -> None:
    """Refuse a column of new rows that holds something else than the one fitted."""
    column: Any = table.column(field.name)
    kind = field.kind
    if isinstance(field.variable, Quantity | Cyclic):
        fits = column.holds == kind if kind in TIMES else column.holds in ("integer", "number", "decimal")
    elif isinstance(field.variable, Flag):
        fits = column.holds in ("boolean", "integer", "number")
    else:
        fits = column.holds not in ("other", *TIMES)
    if fits or (hasattr(column, "become") and column.become(kind)):
        return
    raise InvalidInput(
        f"New rows must be of the types fitted; column {field.name!r} was taken for {kind}, and now holds "
        f"{column.type_name}. Give it the type it had."
    )


def _possible_times(table: Source) -> list[str]:
    columns = (table.column(name) for name in table.names)
    kinds = ("integer", "number", *TIMES)
    return [str(one.name) for one in columns if one.holds in kinds and not one.missing.any()]


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
