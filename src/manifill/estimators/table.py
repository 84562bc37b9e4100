"""`TableImputer`: tables of numbers, categories, dates and words, of any frame library."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from time import monotonic
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from manifill.arrays import Array
from manifill.errors import InvalidInput
from manifill.estimators import in_time
from manifill.estimators.imputer import IGHImputer
from manifill.estimators.in_time import InTime
from manifill.sweep import State, Status
from manifill.tables import Cyclic, Encoding, Field, Flag, Frame, Ordered, Quantity, Source
from manifill.tables.accuracy import TableAccuracy, table_accuracy
from manifill.tables.frames import TIMES


class TableImputer(TransformerMixin, BaseEstimator):
    """Fill the missing values of a pandas, polars or pyarrow table, by iterated geometric harmonics.

    What comes out is the same kind of table with the same columns, order, index and types, and observed cells
    are not touched. Numbers, integers, booleans, categories, ordered categories, dates and times are filled;
    text and identifiers are handed through. `print(imputer.fields_)` says what each column was taken for.

    Parameters
    ----------
    types : mapping from columns to kinds, default=None
        Where what is inferred is not what you mean: "number", "integer", "boolean", "category", "ordered"
        ("ordered:low<middle<high"), "date", "cyclic:24" (hours; "cyclic:360" for directions), "text",
        "identifier"; or a variable from `manifill.tables`.
    bounds : mapping from columns to pairs, default=None
        Lowest and highest value: `{"age": (0, 120)}`; either may be None. Fills of other columns keep to the
        range observed.
    time : name of a column of dates, times or numbers, complete, default=None
        Rows near in time count as alike, and each column is compared with what it is before and after, as
        much as hidden entries say, which takes some runs more. Rows may come in any order, at any steps.
    max_sweeps, time_limit, n_jobs, random_state, verbose : as in `IGHImputer`.

    Attributes
    ----------
    fields_ : what each column was taken for, and why.
    accuracy_ : for every column that has missing values, how well it is filled, measured on hidden entries.
    time_weight_ : what the time column counts, in terms of another column; None without one.
    companions_ : how many columns each column got beside it, with what it is before and after: 0, 1 or 3.
    imputer_ : the `IGHImputer` that filled the numbers; its `recipe_` and `trace_` say how.
    status_, n_sweeps_ : how the run ended.
    completed_ : the training table, completed.

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
        bounds: Any = None,
        time: Any = None,
        max_sweeps: Any = "auto",
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.types = types
        self.bounds = bounds
        self.time = time
        self.max_sweeps = max_sweeps
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: None = None) -> Self:
        """Fill the table, and remember it to fill new rows from."""
        for _ in self.iter_fit(X):
            pass
        return self

    def fit_transform(self, X: Any, y: None = None) -> Any:
        """Fill the table and return it completed."""
        return self.fit(X).completed_

    def iter_fit(self, X: Any) -> Iterator[State]:
        """`fit`, watched: yields the `State` of the start and of every sweep; see `IGHImputer.iter_fit`."""
        table = as_source(X)
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
        self.feature_names_in_ = np.array(table.names, dtype=object)
        self.imputer_ = IGHImputer(
            groups=encoding.groups,
            bounds=encoding.bounds(numbers),
            column_weights=encoding.weights(numbers),
            max_sweeps=self.max_sweeps,
            time_limit=self.time_limit,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
            verbose=self.verbose,
        )
        self._in_time = None
        column = None if self.time is None else self._time_column(numbers)
        if column is not None and encoding.width > 1:
            began = monotonic()
            self._in_time = in_time.chosen(self.imputer_, numbers, column)
            self.imputer_, numbers = self._in_time.fitting(self.imputer_), self._in_time.table
            self.imputer_.random_state = self.random_state  # itself: a copy of a generator would not advance
            if self.time_limit is not None:
                self.imputer_.time_limit = max(self.time_limit - (monotonic() - began), 1e-3)
        yield from self.imputer_.iter_fit(numbers)

    def _kinds(self, table: Source) -> Any:
        """The types given; numbers that are the time are no identifiers, and their logarithm is not taken."""
        if self.time is None or not isinstance(self.types, Mapping | None):
            return self.types
        kinds = dict(self.types or {})
        if self.time in table.names and self.time not in kinds:
            holds = table.column(self.time).holds
            kinds |= {self.time: holds} if holds in ("integer", "number") else {}
        return kinds

    def _time_column(self, numbers: Array) -> int:
        """Where the time is among the numbers."""
        field = next((field for field in self._encoding if field.name == self.time), None)
        if (
            field is None
            or not isinstance(field.variable, Quantity)
            or np.isnan(numbers[:, field.first]).any()
        ):
            raise InvalidInput(
                "time must name a column of dates, times or numbers in which nothing is missing; "
                f"got {self.time!r}. These could: {', '.join(self._possible_times(numbers)) or 'none'}."
            )
        return field.first

    def _possible_times(self, numbers: Array) -> list[str]:
        complete = np.asarray(~np.isnan(numbers).any(axis=0))
        fields = (field for field in self._encoding if isinstance(field.variable, Quantity))
        return [str(field.name) for field in fields if complete[field.first]]

    @property
    def time_weight_(self) -> float | None:
        """What the time column counts, in terms of another column; None without one."""
        check_is_fitted(self)
        return None if self._in_time is None else self._in_time.weight

    @property
    def companions_(self) -> int:
        """How many companions in time each column has."""
        check_is_fitted(self)
        return 0 if self._in_time is None else self._in_time.companions

    @property
    def status_(self) -> Status:
        check_is_fitted(self)
        return self.imputer_.status_

    @property
    def n_sweeps_(self) -> int:
        check_is_fitted(self)
        return self.imputer_.n_sweeps_

    @property
    def max_sweeps_(self) -> int:
        return self.imputer_.max_sweeps_

    @property
    def completed_(self) -> Any:
        """The training table, as the last full sweep completed it."""
        check_is_fitted(self)
        return self._completed(self.imputer_.completed_)

    def transform(self, X: Any) -> Any:
        """Fill new rows from the fitted ones, each on its own."""
        check_is_fitted(self)
        table = as_source(X)
        lost = [field.name for field in self._encoding if field.name not in table.names]
        if lost:
            raise InvalidInput(f"New rows must have the columns fitted; these are not there: {lost}.")
        if not len(table):
            return table.completed({})
        for field in self._encoding:
            _require_kind(field, table)
        numbers = self._encoding.encode(table)
        if self._in_time is not None:
            numbers = self._in_time.beside(numbers)
        return table.completed(self._encoding.fills(table, self.imputer_.transform(numbers)))

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the columns that come out: those that went in."""
        check_is_fitted(self)
        return self.feature_names_in_

    @property
    def accuracy_(self) -> TableAccuracy:
        """What to expect of the fills, column by column, measured on hidden entries."""
        check_is_fitted(self)
        return table_accuracy(self._encoding, self.imputer_.accuracy_, self.imputer_.errors_)

    def intervals(self, level: float = 0.9) -> tuple[Any, Any]:
        """Two tables: lower and upper end of an interval that holds each missing value with this probability.

        They have the type of the table, whole numbers where it has whole numbers, and the observed values
        where it has them. Categories without an order have no intervals, but `probabilities`.
        """
        check_is_fitted(self)
        ends = self.imputer_.intervals(level, bounds=self.hard_bounds())
        fields = [field for field in self._encoding if isinstance(field.variable, Quantity | Ordered)]
        return self._completed(ends[0], fields, -1), self._completed(ends[1], fields, 1)

    def deviations(self) -> Any:
        """A table of numbers: the standard deviation of each fill, in units of its column; 0 where observed.

        Of categories it is the probability that the fill is wrong.
        """
        check_is_fitted(self)
        errors, completed = self.imputer_.errors_, self.imputer_.completed_
        scaling = errors.problem.scaling
        half = np.zeros(completed.shape)
        half[errors.problem.rows] = errors.expected * scaling.spread * scaling.magnitude
        half[~errors.problem.rows] = scaling.spread * scaling.magnitude
        found = {}
        for field in self._encoding:
            missing = self._fitted_table().column(field.name).missing
            found[str(field.name)] = np.where(missing, _deviation(field, completed, half), 0.0)
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

    def draws(self, m: int = 5, *, seed: Any = 0) -> list[Any]:
        """Completed tables, m of them, whose fills are drawn from what the missing values may be.

        For multiple imputation: fit your model to each, and let `manifill.pool` pool the results.
        """
        check_is_fitted(self)
        chosen = [
            tuple(range(field.first, field.columns.stop)) for field in self._encoding if field.variable.chosen
        ]
        tables = self.imputer_.draws(m, bounds=self.hard_bounds(), chosen=chosen, seed=seed)
        return [self._completed(numbers) for numbers in tables]

    def save(self, path: Any) -> None:
        """Write what is needed to fill new rows into a file, which is safe to load whoever made it."""
        from manifill.estimators import saving

        check_is_fitted(self)
        imputer = self.imputer_
        state, choice = imputer._model.state, imputer._judged()
        way = self._in_time
        time = None if way is None else (way.column, way.companions, way.weight)
        saving.save(
            Path(path),
            self.fields_,
            state,
            choice,
            imputer.recipe_,
            imputer._model.max_sweeps,
            imputer.tol,
            time,
        )

    @classmethod
    def load(cls, path: Any) -> Self:
        """An imputer from a file that `save` wrote, to `transform` new rows; its own table is not in it."""
        from manifill.estimators import saving

        fields, state, choice, recipe, max_sweeps, tol, time = saving.load(Path(path))
        imputer = IGHImputer._restored(state, choice, recipe, max_sweeps, tol)
        self = cls()
        self.fields_, self._encoding, self.imputer_ = fields, Encoding(fields), imputer
        numbers = np.asarray(state.problem.given[:, : self._encoding.width], dtype=np.float64)
        self._in_time = None if time is None else InTime(numbers, *time)
        self.n_features_in_ = len(fields)
        self.feature_names_in_ = np.array([field.name for field in fields], dtype=object)
        return self

    def _fitted_table(self) -> Source:
        check_is_fitted(self)
        if not hasattr(self, "_table"):
            raise InvalidInput(
                "A model from a file fills new rows, by transform; it has no table of its own."
            )
        return self._table

    def _completed(self, numbers: Array, fields: Any = None, outward: int = 0) -> Any:
        table = self._fitted_table()
        return table.completed(self._encoding.fills(table, numbers, fields, outward))

    def hard_bounds(self) -> list[tuple[float, float]]:
        """Bounds of what might be: those that were given, and 0 below what was never negative."""
        numbers = self._encoding.encode(self._fitted_table())
        pairs: list[tuple[float, float]] = []
        for field in self._encoding:
            low, high = field.variable.bounds(numbers[:, field.columns])
            if isinstance(field.variable, Quantity) and field.variable.limits is None:
                least = 0.0 if low[0] >= 0 and not field.variable.log else -np.inf
                low, high = np.array([least]), np.array([np.inf])
            pairs += zip(low.tolist(), high.tolist(), strict=True)
        more = 0 if self._in_time is None else self._in_time.n_more
        return pairs + [(-np.inf, np.inf)] * more

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "imputer_") and hasattr(self.imputer_, "_model")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def as_source(X: Any) -> Source:
    """A table of manifill's own as it is, any other through the frame libraries."""
    return X if hasattr(X, "completed") and hasattr(X, "like") else Frame(X)


def _require_kind(field: Field, table: Source) -> None:
    """Refuse a column of new rows that holds something else than the one fitted."""
    column: Any = table.column(field.name)
    word = field.word
    if isinstance(field.variable, Quantity | Cyclic):
        fits = column.holds == word if word in TIMES else column.holds in ("integer", "number", "decimal")
    elif isinstance(field.variable, Flag):
        fits = column.holds in ("boolean", "integer", "number")
    else:
        fits = column.holds not in ("other", *TIMES)
    if fits or (hasattr(column, "become") and column.become(word)):
        return
    raise InvalidInput(
        f"New rows must be of the types fitted; column {field.name!r} was taken for {word}, and now holds "
        f"{column.type_name}. Give it the type it had."
    )


def _deviation(field: Field, completed: Array, half: Array) -> Array:
    """Standard deviations in the units of a column, from those of its numbers."""
    variable: Any = field.variable
    numbers, spread = completed[:, field.columns], half[:, field.columns]
    if variable.chosen:
        wrong: Array = 1 - variable.probabilities(numbers).max(axis=1)
        return wrong
    if isinstance(variable, Quantity) and variable.log:
        skewed: Array = np.exp(numbers[:, 0]) * np.sqrt(np.expm1(np.minimum(spread[:, 0] ** 2, 50.0)))
        return skewed
    if variable.kind == "cyclic":
        angle: Array = variable.period / (2 * np.pi) * np.sqrt((spread**2).sum(axis=1))
        angle = np.minimum(angle, variable.period / np.sqrt(12))
        return angle
    single: Array = spread[:, 0]
    return single
