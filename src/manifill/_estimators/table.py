"""`TableImputer`: imputation of data frames with numbers, categories, dates and text, and of arrays."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from manifill._arrays import Array
from manifill._devices import is_tensor
from manifill._estimators.imputer import IGHImputer
from manifill._estimators.inputs import read_names, read_source
from manifill._estimators.kinds import possible_times, time_problem, with_fitted_kinds
from manifill._estimators.options import Sweep
from manifill._estimators.predictors import read_encoded_predictors
from manifill._estimators.running import run_to_end
from manifill._fillers import Fill
from manifill._fillers.metric import Importances
from manifill._result import Rows
from manifill.errors import InvalidInput
from manifill.tables import ArrayTable, Encoding, Moment, Ordered, Quantity, Source
from manifill.tables.accuracy import TableAccuracy, deviation, table_accuracy

# Fitted attributes read from `imputer_`.
_DELEGATED = ("result_", "status_", "n_sweeps_", "max_sweeps_", "trace_", "kernel_", "solver_")


class TableImputer(TransformerMixin, BaseEstimator):
    """Fill the missing values of a pandas, polars or pyarrow table, or of an array, with columns of any type.

    The result is a table of the same class with the same columns, order, index and dtypes; observed cells are
    unchanged. Numbers, integers, booleans, categories, ordered categories, dates and times are imputed; text
    and identifiers are returned unchanged. `print(imputer.fields_)` shows the inferred type of each column.

    Parameters
    ----------
    types : mapping from columns to types, or None, default=None
        Types of columns for which the inferred type is wrong: "number", "integer", "boolean", "category",
        "ordered" (or "ordered:low<middle<high"), "date", "cyclic:24" (hours; "cyclic:360" for directions),
        "text", "identifier", or a variable object from `manifill.tables`.
    bounds : "observed", pair, mapping from columns to pairs, or None, default="observed"
        Lowest and highest imputed value, such as `{"age": (0, 120)}`; either may be None. Columns not named
        keep their observed range. A pair applies to all numeric columns; None sets no bounds on them.
    time : column name or None, default=None
        Column with the time of each row: dates, times or numbers without missing values, in any order, at any
        steps. Values before and after a row are then used as predictors too, with weights fitted on held-out
        entries. The time column is used in no other way.
    layout : layout object or None, default=None
        Geometry of the columns other than `time`, as in `IGHImputer`. They must all be numeric.
    predictors : mapping from columns to lists of columns, or None, default=None
        Columns that may be used to fill a column, such as `{"age": ["height", "weight"]}`. Columns that are
        not keys are filled from all others; with an empty list a column is filled with its mean or most
        frequent category. Values that were imputed in the listed columns are used too, and these may come
        from any column (docs/guide/predictors.md). Not with `time`, `layout`, `kernel`, `solver`
        and `device`.
    exclude : list of columns or None, default=None
        Columns that are not used to fill any other column, such as the target of a later prediction. They are
        filled themselves. Their values do not change the other fills in any way.
    kernel, solver, effort, estimate, max_sweeps, time_limit, device, n_jobs, random_state, verbose : as in
        `IGHImputer`.

    Attributes
    ----------
    fields_ : type of each column, and the reason for it.
    accuracy_ : error of each imputed column on held-out entries.
    imputer_ : the `IGHImputer` fitted to the encoded table, with more results: `ensemble_`, `weights_`.
    result_, status_, n_sweeps_, max_sweeps_, trace_, kernel_, solver_ : those of `imputer_`.
    completed_ : the completed training table.
    n_features_in_, feature_names_in_ : number and names of the input columns, as in scikit-learn.

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
        predictors: Any = None,
        exclude: Any = None,
        kernel: Any = "auto",
        solver: Any = "auto",
        layout: Any = None,
        effort: Any = "balanced",
        estimate: Any = "mean",
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
        self.predictors = predictors
        self.exclude = exclude
        self.kernel = kernel
        self.solver = solver
        self.layout = layout
        self.effort = effort
        self.estimate = estimate
        self.max_sweeps = max_sweeps
        self.time_limit = time_limit
        self.device = device
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: None = None) -> Self:
        """Fill the table `X`, and store the model for `transform`."""
        run_to_end(self.iter_fit(X), self.verbose)
        return self

    def fit_transform(self, X: Any, y: None = None) -> Any:
        """Fill the table `X` and return the completed table."""
        return self.fit(X).completed_

    def iter_fit(self, X: Any) -> Iterator[Fill]:
        """Fit step by step: yield the fill at the start and after every step; see `IGHImputer.iter_fit`.

        The attribute `X` of each fill is the completed table, like `completed_`.
        """
        for name in [name for name in vars(self) if name.endswith("_") or name in ("_table", "_encoding")]:
            delattr(self, name)
        table = read_source(self, X, reset=True)
        if not len(table):
            raise InvalidInput("X must have rows; it has none.")
        encoding = self.encoding_of(table)
        numbers = encoding.encode(table)
        if not encoding.width:
            raise InvalidInput(
                "X must have a column with observed values of a type that can be imputed; its columns are:\n"
                f"{encoding.fields}"
            )
        self._table, self._encoding, self.fields_ = table, encoding, encoding.fields
        self.n_features_in_ = len(table.names)
        if not isinstance(table, ArrayTable):  # an array has no column names
            self.feature_names_in_ = np.array(table.names, dtype=object)
        self.imputer_ = IGHImputer(
            self.kernel,
            solver=self.solver,
            method=Sweep(column_weights=encoding.weights(numbers)),
            layout=self.layout,
            times=encoding.moments(table),
            groups=encoding.groups,
            predictors=read_encoded_predictors(self.predictors, self.exclude, table.names, encoding),
            bounds=encoding.bounds(numbers),
            effort=self.effort,
            estimate=self.estimate,
            max_sweeps=self.max_sweeps,
            time_limit=self.time_limit,
            device=self.device,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        )
        for fill in self.imputer_.iter_fit(numbers):
            yield replace(fill, output=self._completed)

    def encoding_of(self, table: Source) -> Encoding:
        """How the columns of a table would be encoded by `fit`; raises InvalidInput for wrong parameters."""
        encoding = Encoding.of(table, self._all_types(table), self.bounds)
        read_encoded_predictors(self.predictors, self.exclude, table.names, encoding)
        return encoding

    def _all_types(self, table: Source) -> Any:
        """The parameter `types`, with the type of the time column added."""
        if self.time is None or not isinstance(self.types, Mapping | None):
            return self.types
        numbered = isinstance(table, ArrayTable) and self.time in range(len(table.names))
        time = table.names[self.time] if numbered else self.time
        column = table.column(time) if time in table.names else None
        problem = time_problem(column)
        if column is None or problem:
            raise InvalidInput(
                "time must name a column of dates, times or numbers without missing values; got "
                f"{self.time!r}, {problem}. Suitable columns: {', '.join(possible_times(table)) or 'none'}."
            )
        return {**(self.types or {}), time: Moment(column.holds)}

    @property
    def importances_(self) -> Importances | None:
        """Which column tells about which, as in `IGHImputer`."""
        check_is_fitted(self)
        weights = self.result_.importances
        if weights is None:
            return None
        modelled = [field for field in self.fields_ if field.modelled]
        # The columns of a variable have one weight.
        by_field = weights[np.ix_([one.first for one in modelled], [one.first for one in modelled])]
        names = [one.name for one in modelled]
        return Importances.of(by_field, names, names)

    def __getattr__(self, name: str) -> Any:
        if name in _DELEGATED and "imputer_" in vars(self):
            return getattr(self.imputer_, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def completed_(self) -> Any:
        """The completed training table."""
        check_is_fitted(self)
        return self._completed(self.imputer_.completed_)

    def transform(self, X: Any) -> Any:
        """Fill new rows from the training rows, each independently; missing times are not filled."""
        table, numbers, moments = self._new_rows(X)
        if not len(table):
            return table.completed({})
        return table.completed(self._encoding.fills(table, self.result_.complete(numbers, moments)))

    def _new_rows(self, X: Any) -> tuple[Source, Array, Array | None]:
        """New rows as a table with the column types of the fit, encoded, and their times."""
        check_is_fitted(self)
        table = read_source(self, X, reset=False)
        absent = [field.name for field in self._encoding if field.name not in table.names]
        if absent:
            raise InvalidInput(f"New rows must have the columns of the fit; missing columns: {absent}.")
        table = with_fitted_kinds(table, self._encoding) if len(table) else table
        for name, notation in self._notations().items():
            column: Any = table.column(name) if name in table.names else None
            if hasattr(column, "adopt"):
                column.adopt(notation)
        return table, self._encoding.encode(table), self._encoding.moments(table)

    def _notations(self) -> dict[Any, Any]:
        """How values of the columns of a text file were written at the fit."""
        if not hasattr(self, "_table"):
            return dict(self._loaded_notations)
        columns = ((field.name, self._table.column(field.name)) for field in self._encoding)
        found = {name: getattr(column, "notation", None) for name, column in columns}
        return {name: notation for name, notation in found.items() if notation is not None}

    def _rows(self, X: Any) -> tuple[Source, Rows]:
        """The rows of the fit, or new rows, with their fill and its expected errors."""
        check_is_fitted(self)
        if X is None:
            return self._fitted_table(), self.result_.fitted_rows
        table, numbers, moments = self._new_rows(X)
        if not len(table):
            return table, Rows(numbers, numbers, numbers)
        return table, self.result_.new_rows(numbers, moments)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the output columns, equal to those of the input."""
        check_is_fitted(self)
        return read_names(self, [field.name for field in self.fields_], input_features)

    @property
    def accuracy_(self) -> TableAccuracy:
        """Expected error of the imputed values of each column.

        Measured on known values that were held out. If values are missing because of their own size, errors
        are larger.
        """
        check_is_fitted(self)
        return table_accuracy(self._encoding, self.imputer_.accuracy_, self.imputer_.errors_)

    def intervals(self, level: float = 0.9, X: Any = None) -> tuple[Any, Any]:
        """Prediction intervals of the missing values.

        Measured on known values that were held out. If values are missing because of their own size,
        intervals are too short.

        Parameters
        ----------
        level : float, default=0.9
            Probability that an interval contains the missing value.
        X : table or None, default=None
            New rows, as in `transform`; None for the rows of the fit.

        Returns
        -------
        lower, upper : tables like `completed_`, or like `transform(X)`
            Ends of the intervals, rounded outwards in integer columns. Both equal the observed value where
            there is one. Booleans, unordered categories and cyclic columns have no intervals: their missing
            entries stay missing. For booleans and categories use `probabilities`.
        """
        table, rows = self._rows(X)
        low, high = self.result_.intervals(level, self._limits(), rows)
        fields = [field for field in self._encoding if isinstance(field.variable, Quantity | Ordered)]
        below, above = (
            table.completed(self._encoding.fills(table, ends, fields, outward))
            for ends, outward in ((low, -1), (high, 1))
        )
        return below, above

    def deviations(self, X: Any = None) -> Any:
        """Standard deviation of each imputed value, in the units of its column; 0 where observed.

        For categories it is the probability that the imputed category is wrong. Measured on known values that
        were held out. If values are missing because of their own size, errors are larger. `X` are new rows,
        as in `transform`; None for the rows of the fit.
        """
        table, rows = self._rows(X)
        problem = self.result_.problem
        filled = problem.complete(rows.given, rows.Z)
        std = rows.expected * problem.scaling.deviation
        columns = {}
        for field in self._encoding:
            missing = table.column(field.name).missing
            columns[str(field.name)] = np.where(missing, deviation(field, filled, std), 0.0)
        return table.like(columns)

    def probabilities(self, name: Any, X: Any = None) -> Any:
        """Probabilities of the levels of a categorical or boolean column: a table, one column per level.

        `X` are new rows, as in `transform`; None for the rows of the fit.
        """
        check_is_fitted(self)
        field = next((field for field in self._encoding if field.name == name), None)
        if field is None or not field.variable.chosen:
            chosen = [field.name for field in self._encoding if field.variable.chosen]
            raise InvalidInput(
                f"Probabilities exist for categorical and boolean columns only, {chosen}; got {name!r}."
            )
        table, rows = self._rows(X)
        variable: Any = field.variable
        filled = self.result_.problem.complete(rows.given, rows.Z)
        shares = variable.probabilities(filled[:, field.columns])
        return table.like({str(level): shares[:, i] for i, level in enumerate(variable.levels)})

    def draws(self, m: int = 5, *, random_state: Any = None) -> list[Any]:
        """Completed tables whose imputed values are drawn at random from their predictive distribution.

        For multiple imputation: fit your model to each table, and combine the results with `manifill.pool`.

        Parameters
        ----------
        m : int, default=5
            Number of tables.
        random_state : int, Generator, RandomState or None, default=None
            Seed. The same int gives the same tables; None uses that of the imputer.
        """
        check_is_fitted(self)
        limits = self._limits()
        chosen = tuple(
            tuple(range(field.first, field.columns.stop)) for field in self._encoding if field.variable.chosen
        )
        tables = self.imputer_._draw(m, limits, random_state, chosen)
        return [self._completed(numbers) for numbers in tables]

    def save(self, path: Any) -> None:
        """Save the model for `transform` to a file.

        The file holds no code, so files of unknown origin are safe to load. It does hold the training data,
        as numbers: give it only to people who may see them.
        """
        from manifill._estimators import saving

        check_is_fitted(self)
        saving.save(Path(path), self.fields_, self.imputer_.result_, self.imputer_.tol, self._notations())

    @classmethod
    def load(cls, path: Any, *, max_bytes: int = 2**30) -> Self:
        """Load an imputer that `save` wrote, for new rows X: `transform(X)`, `intervals(level, X)`, ….

        `accuracy_` is that of the fit; `completed_` and `draws` are not available.

        Parameters
        ----------
        path : the file.
        max_bytes : files that unpack to more are refused.
        """
        from manifill._estimators import saving

        fields, fitted, tol, notations = saving.load(Path(path), max_bytes)
        self = cls()
        self._loaded_notations = notations
        self.fields_, self._encoding = fields, Encoding(fields)
        self.imputer_ = IGHImputer._from_fitted(fitted, tol)
        self.n_features_in_ = len(fields)
        names = [field.name for field in fields]
        if names != [f"x{i}" for i in range(len(names))]:  # the names of array columns
            self.feature_names_in_ = np.array(names, dtype=object)
        return self

    def _fitted_table(self) -> Source:
        check_is_fitted(self)
        if not hasattr(self, "_table"):
            raise InvalidInput(
                "A model loaded from a file has no table of its own. Give it new rows X: transform(X), "
                "intervals(level, X), deviations(X), probabilities(column, X)."
            )
        return self._table

    def _limits(self) -> Array:
        """(2, width), limits of intervals and draws of the encoded columns."""
        return np.array(self._encoding.hard_bounds(self.result_.problem.given)).T

    def _completed(self, numbers: Any) -> Any:
        """The training table, completed by decoding `numbers`."""
        table = self._fitted_table() if hasattr(self.imputer_, "result_") else self._table
        return table.completed(self._encoding.fills(table, numbers))

    def __sklearn_is_fitted__(self) -> bool:
        return "imputer_" in vars(self) and hasattr(self.imputer_, "result_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def impute(
    X: Any,
    *,
    types: Any = None,
    bounds: Any = "observed",
    time: Any = None,
    predictors: Any = None,
    exclude: Any = None,
    kernel: Any = "auto",
    solver: Any = "auto",
    layout: Any = None,
    effort: Any = "balanced",
    estimate: Any = "mean",
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
    X : pandas or polars DataFrame, pyarrow Table, array, torch tensor or list of lists (n, d)
        Table of numbers, categories, dates and text. Missing entries are NaN or None.
    types, bounds, time, predictors, exclude, kernel, solver, layout, effort, estimate, max_sweeps, \
            time_limit, device, n_jobs, random_state, verbose : as in `TableImputer`.

    Returns
    -------
    filled : table of the class of `X`
        The completed table, with the same columns and dtypes.

    Examples
    --------
    >>> import manifill
    >>> nan = float("nan")
    >>> manifill.impute([[1.0, 10.0], [2.0, 20.0], [3.0, nan], [4.0, 40.0]], random_state=0).shape
    (4, 2)
    """
    options = {name: value for name, value in locals().items() if name != "X"}
    if is_tensor(X):
        supported = {name: value for name, value in options.items() if name not in ("types", "time")}
        if types is not None or time is not None:
            raise InvalidInput(
                "types and time are not supported for tensors, which hold numbers only. Remove them."
            )
        return IGHImputer(**supported).fit_transform(X)
    return TableImputer(**options).fit_transform(X)
