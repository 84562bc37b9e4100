"""`IGHImputer`: iterated geometric harmonics as a scikit-learn transformer."""

import math
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from manifill._arrays import Array, Mask, Table
from manifill._checks import as_generator, is_option, require_flag, require_number
from manifill._devices import find_device, from_tensor, memory_of, place
from manifill._estimators import inputs, options
from manifill._estimators.predictors import (
    other_methods,
    read_predictors,
    require_default_method,
    require_few_columns,
)
from manifill._estimators.running import run_to_end
from manifill._fillers import Fill, Run, Status
from manifill._fillers.metric import Importances
from manifill._fillers.sweep import Ensemble, GivenStart, Sweeper
from manifill._fitting import fit
from manifill._ordering import Groups
from manifill._problem import Problem
from manifill._result import Fitted
from manifill._selection import Candidates
from manifill._validation import Accuracy, Errors
from manifill.errors import EmptyColumnWarning, InvalidInput, UnfinishedWarning
from manifill.kernels import Kernel
from manifill.layouts import Layout, Learned, as_layout
from manifill.solvers import Ridge

# Fitted attributes whose names do not end in an underscore.
_PRIVATE_FITTED = ("_kept", "_labels", "_input_device")


class IGHImputer(TransformerMixin, BaseEstimator):
    """Fill missing values by iterated geometric harmonics.

    Each column is predicted by kernel regression (geometric harmonics) from all *other* columns, and its
    missing entries take the predicted values. One pass over all columns is a sweep. Sweeps are repeated until
    the imputed values stop changing. Columns are standardised internally; results are in the original units,
    and observed values are returned bit for bit.

    Parameters
    ----------
    kernel : {"auto", "gaussian", "laplacian", "semilinear", "self_tuning", "polynomial", "cosine"}, \
            kernel object or callable, default="auto"
        Similarity of two rows: a name, an object from `manifill.kernels`, or a function of two arrays of rows
        that returns the kernel matrix. "auto" averages several kernels, with weights fitted to known
        entries that are left out or held out (docs/guide/choosing.md).
    solver : {"auto", "ridge", "spectral", "landmarks", "local"} or solver object, default="auto"
        Regression method: a name or an object from `manifill.solvers`. "ridge" is kernel ridge regression;
        "spectral" keeps the leading eigenvectors of the kernel matrix, as in the paper, and is slower. Both
        use all pairs of rows. "landmarks" and "local" are for tables with many rows. "auto" chooses by kernel
        and table shape (`str(imputer.solver_)` gives the reason), and its ridge penalty on held-out entries.
    method : `manifill.Sweep` or None, default=None
        Options of the sweeps: schedule, start values, order and column weights.
    layout : layout object or None, default=None
        Geometry of the columns, from `manifill.layouts`: `Grid(64, 64)` for pixels, `Points(coordinates)` or
        `Distances(matrix)` for sensors, `Learned()` for correlations estimated from the data. With a layout,
        several methods that use the similarity of rows, of columns or both fill the table. The result is
        their average, with weights fitted on held-out entries (docs/guide/pictures.md). With a grid, columns
        without any observed value are imputed too.
    times : "even", array of shape (n,) or None, default=None
        Times of the rows: "even" for rows in time order at equal steps, or a number or date for each row, in
        any order, at any steps. If `times` is given and `layout` is not, the layout is `Learned()`.
    effort : {"fast", "balanced", "best"}, default="balanced"
        How much time to spend, if kernel, solver and method are not given (docs/guide/choosing.md). "fast"
        makes one sweep with two kernels; "balanced" up to six sweeps (five of long tables), with a tuned
        kernel in the last, and nearest rows and trees for long tables; "best" up to six, with more kernels.
    estimate : {"mean", "median"}, default="mean"
        What missing values are filled with: their expected value, which has the smallest squared error, or
        their median, which has the smallest absolute error. Categories are the same with both, and so are
        intervals and draws.
    max_sweeps : int or "auto", default="auto"
        Maximum number of sweeps. On noisy tables further sweeps overfit: the imputed values agree better with
        each other, not with the data. On clean tables with many missing entries more sweeps can help
        (docs/notes/defaults.md). "auto" is given by `effort`; otherwise the number is chosen on held-out
        entries, at most 10, and is 6 if both `kernel` and `solver` are given.
    tol : float, default=0.01
        Stop when a sweep changes the missing entries by no more than this (root mean square, in standard
        deviations of the columns).
    time_limit : float or None, default=None
        Maximum time in seconds. Up to half of it is used for model selection, or 65 % with `layout` or
        `times`. When it is up, the fill is that of the last complete sweep, or the column means if none was
        completed.
    bounds : "observed", pair, mapping, list or None, default="observed"
        Lowest and highest imputed value. "observed" is the observed range of each column, or of all columns
        together for a grid. A pair applies to all columns; a mapping such as `{"age": (0, 120)}` sets single
        columns, and the others keep their observed range; a list has one entry per column. None sets no
        bounds.
    groups : list of lists of columns, or None, default=None
        Columns, by name or position, that encode one variable, such as dummy columns. The columns of a group
        are not used to predict each other.
    predictors : mapping from columns to lists of columns, or None, default=None
        Columns, by name or position, that may be used to fill a column, such as `{"age": ["height"]}`.
        Columns that are not keys are filled from all others; with an empty list a column is filled with its
        mean. Values that were imputed in the listed columns are used too, and these may come from any column
        (docs/guide/predictors.md). Only with the default `kernel`, `solver` and `device`, without `layout`
        and `times`, and up to 100 columns.
    exclude : list of columns or None, default=None
        Columns that are not used to fill any other column, such as the target of a later prediction. They are
        filled themselves. Their values do not change the other fills in any way.
    device : None, "auto", "cuda" or other torch device, default=None
        Device to compute on. None is the device of `X`: the CPU with numpy, or that of a torch tensor. "auto"
        uses a GPU if there is one. With None and "auto", solvers without GPU support run on the CPU. A tensor
        as input gives a tensor as output.
    n_jobs : int or None, default=None
        Number of threads, as in joblib; -1 uses all cores. None is the value set by `joblib.parallel_config`,
        otherwise the number of BLAS threads.
    random_state : int, Generator, RandomState or None, default=None
        Seed. The same int gives the same result.
    add_indicator : bool, default=False
        Append a column of 0 and 1 for every column with missing values.
    keep_empty_features : bool, default=False
        Keep columns without any observed value, filled with 0, instead of dropping them.
    verbose : bool, default=False
        Write a line about every sweep to standard error.

    Attributes
    ----------
    completed_ : array or tensor, the completed training table; `fit_transform` returns it.
    accuracy_ : error of each column on held-out entries, next to the error of the column mean. It can be
        printed or passed to `pandas.DataFrame`. Columns for which the column mean is as good are imputed by
        the mean. If `kernel` and `solver` are both given, it is computed on first access.
    weights_ : dict, method → its weight in the fill.
    ensemble_ : the kernels and solvers in use, with their weights; `print(imputer.ensemble_)` shows them.
    kernel_, solver_ : those with the largest weight; `str(solver_)` gives the reason for the choice.
    schedule_ : `Schedule`, columns per block; the columns of a block share one kernel matrix.
    tuning_ : all candidates tried for the sweeps with their errors, and the error after each sweep. None if
        `kernel` and `solver` were given, or no sweeps were used.
    max_sweeps_, n_sweeps_ : int, the sweep limit in use, and the number of sweeps or other steps done.
    status_ : how the run ended; `str(status_)` explains it.
    trace_ : tuple of `SweepRecord`, for the start and every sweep: change, seconds, bandwidth, rank, ridge.
        It can be passed to `pandas.DataFrame`.
    importances_ : which column tells about which: learned weights, by column and predictor, or None.
    errors_ : expected error of every imputed value.
    result_ : `Fitted`, all results in one object.
    indicator_ : `MissingIndicator` or None.
    n_features_in_, feature_names_in_ : number and names of the input columns, as in scikit-learn.

    Notes
    -----
    `fit_transform` imputes all training rows jointly. `transform` imputes *new* rows from the training rows,
    each independently of the others in its batch. Therefore `fit(X).transform(X)`, which treats the training
    rows as new ones, is close but not equal to `fit_transform(X)`.

    If `fit` is interrupted (Ctrl-C) after a complete sweep, the estimator is fitted with that sweep, and
    `completed_` is its fill.

    `transform` takes no times for new rows. If `times` was given, new rows are imputed by a method that uses
    the similarity of rows only; with a grid, by one that uses the layout of the columns only.

    Examples
    --------
    >>> import numpy as np
    >>> from manifill import IGHImputer
    >>> t = np.linspace(0, 6, 80)
    >>> X = np.column_stack([np.sin(t), np.cos(t), np.sin(2 * t)])
    >>> X[::8, 2] = np.nan
    >>> filled = IGHImputer(kernel="gaussian", random_state=0).fit_transform(X)
    >>> bool(np.abs(filled[::8, 2] - np.sin(2 * t[::8])).mean() < 0.15)
    True
    """

    def __init__(
        self,
        kernel: Any = "auto",
        *,
        solver: Any = "auto",
        method: Any = None,
        layout: Any = None,
        times: Any = None,
        effort: Any = "balanced",
        estimate: Any = "mean",
        max_sweeps: Any = "auto",
        tol: float = 1e-2,
        time_limit: float | None = None,
        bounds: Any = "observed",
        groups: Any = None,
        predictors: Any = None,
        exclude: Any = None,
        device: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        add_indicator: bool = False,
        keep_empty_features: bool = False,
        verbose: bool = False,
    ) -> None:
        self.kernel = kernel
        self.solver = solver
        self.method = method
        self.layout = layout
        self.times = times
        self.effort = effort
        self.estimate = estimate
        self.max_sweeps = max_sweeps
        self.tol = tol
        self.time_limit = time_limit
        self.bounds = bounds
        self.groups = groups
        self.predictors = predictors
        self.exclude = exclude
        self.device = device
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.add_indicator = add_indicator
        self.keep_empty_features = keep_empty_features
        self.verbose = verbose

    def fit(self, X: Any, y: None = None) -> Self:
        """Fill `X` (n, d), NaN where missing, and store the model for `transform`."""
        run_to_end(self.iter_fit(X), self.verbose)
        return self

    def fit_transform(self, X: Any, y: None = None) -> Any:
        """Fill `X` (n, d), NaN where missing, and return the completed table."""
        return self.fit(X).completed_

    def iter_fit(self, X: Any) -> Iterator[Fill]:
        """Fit step by step: yield the fill at the start and after every step; the last one is the result.

        If the loop ends early, by `break` or Ctrl-C, the estimator is fitted with the last complete step.

        Examples
        --------
        >>> import numpy as np
        >>> X = np.column_stack([np.arange(9.0), np.arange(9.0) ** 2])
        >>> X[4, 1] = X[6, 0] = np.nan
        >>> imputer = IGHImputer("gaussian", solver="ridge", tol=0, random_state=0)
        >>> for state in imputer.iter_fit(X):
        ...     if state.sweep == 2:
        ...         break
        >>> imputer.status_.name, imputer.n_sweeps_
        ('INTERRUPTED', 2)
        """
        self._reset()
        began = time.monotonic()
        for flag in ("add_indicator", "keep_empty_features", "verbose"):
            require_flag(flag, getattr(self, flag))
        X, self._input_device = from_tensor(X)
        given = inputs.read_table(self, X, reset=True)
        self._labels = inputs.column_labels(self, X)
        if read_predictors(self.predictors, self.exclude, self._labels) is not None:
            require_default_method(other_methods(self, self._input_device))
            require_few_columns(given.shape[1])
        layout = self._layout(given)
        self._kept = _kept(given, layout)
        problem = self._problem(given, layout)
        candidates, run = self._candidates(problem, given, began)
        self._warn_empty_columns()
        self.indicator_ = _indicator(given) if self.add_indicator else None
        without_sweeps = layout is not None and layout.homogeneous and self._all_auto
        rng = as_generator(self.random_state)
        estimate = options.as_estimate(self.estimate)
        for step in fit(problem, None if without_sweeps else candidates, run, rng):
            fitted = replace(step, estimate=estimate)
            if fitted.fill.status is not Status.RUNNING:
                self._store(fitted)
            elif fitted.fill.sweep > 0:  # stored in case the caller stops here
                interrupted = replace(fitted.fill, status=Status.INTERRUPTED)
                self._store(replace(fitted, fill=interrupted))
            yield replace(fitted.fill, output=lambda filled: self._output(filled, problem.given))

    def transform(self, X: Any) -> Any:
        """Fill new rows (m, d) from the training rows, each row independently of the others."""
        check_is_fitted(self)
        X, input_device = from_tensor(X)
        given = inputs.read_table(self, X, reset=False)
        return place(self._assemble(given, self.result_.complete(given[:, self._kept])), input_device)

    @property
    def completed_(self) -> Any:
        """The completed training table."""
        check_is_fitted(self)
        return self._output(self.result_.X)

    @property
    def accuracy_(self) -> Accuracy:
        """Expected error of the imputed values of each column.

        Measured on known values that were held out. If values are missing because of their own size, errors
        are larger.
        """
        check_is_fitted(self)
        labels = [label for label, keep in zip(self._labels, self._kept, strict=True) if keep]
        return self.result_.accuracy.named(labels)

    @property
    def errors_(self) -> Errors:
        """Expected error of every imputed value, in standardised units.

        Measured on known values that were held out. If values are missing because of their own size, errors
        are larger.
        """
        check_is_fitted(self)
        return self.result_.errors

    @property
    def importances_(self) -> Importances | None:
        """Which column tells about which: share of each predictor in the learned weights of each column.

        `pandas.DataFrame(imputer.importances_)` has a row for each column that is filled. It is None if no
        weights were learned: with a kernel, solver, layout or times of your own, with more than 100
        columns, or more than ten in long tables.
        """
        check_is_fitted(self)
        labels = [label for label, keep in zip(self._labels, self._kept, strict=True) if keep]
        found = self.result_.importances
        return None if found is None else Importances.of(found, labels, labels)

    def intervals(self, level: float = 0.9, X: Any = None, *, bounds: Any = None) -> tuple[Any, Any]:
        """Prediction intervals of the missing values.

        Measured on known values that were held out. If values are missing because of their own size,
        intervals are too short.

        Parameters
        ----------
        level : float, default=0.9
            Probability that an interval contains the missing value.
        X : array (m, d) or None, default=None
            New rows, as in `transform`; None for the rows of the fit.
        bounds : as the parameter of the imputer, default=None
            Limits of the intervals. None uses the bounds of the imputer. "observed" is not the observed range
            here: it limits columns without negative values to 0 and above, and no other columns.

        Returns
        -------
        lower, upper : tables like `completed_`, or like `transform(X)`
            Ends of the intervals. Both equal the observed value where there is one.
        """
        check_is_fitted(self)
        limits = self._limits(bounds)
        if X is None:
            low, high = self.result_.intervals(level, limits)
            return self._output(low), self._output(high)
        X, device = from_tensor(X)
        given = inputs.read_table(self, X, reset=False)
        ends = self.result_.intervals(level, limits, self.result_.new_rows(given[:, self._kept]))
        low, high = (place(self._assemble(given, end), device) for end in ends)
        return low, high

    def draws(self, m: int = 5, *, bounds: Any = None, random_state: Any = None) -> list[Any]:
        """Completed tables whose imputed values are drawn at random from their predictive distribution.

        For multiple imputation: fit your model to each table, and combine the results with `manifill.pool`.

        Parameters
        ----------
        m : int, default=5
            Number of tables.
        bounds : as in `intervals`.
        random_state : int, Generator, RandomState or None, default=None
            Seed. The same int gives the same tables; None uses that of the imputer.

        Returns
        -------
        tables : list of m tables like `completed_`
        """
        return self._draw(m, self._limits(bounds), random_state)

    def _draw(self, m: int, limits: Array, random_state: Any, chosen: Groups = ()) -> list[Any]:
        check_is_fitted(self)
        rng = as_generator(self.random_state if random_state is None else random_state)
        return [self._output(drawn) for drawn in self.result_.draws(m, rng, limits, chosen)]

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Names of the output columns."""
        check_is_fitted(self)
        names = inputs.read_names(self, inputs.column_labels(self), input_features)
        out = names if self.keep_empty_features else names[self._kept]
        if self.indicator_ is None:
            return out
        return np.concatenate([out, self.indicator_.get_feature_names_out(names)])

    def _layout(self, given: Table) -> Layout | None:
        if self.layout is None:
            return None if self.times is None else Learned()
        layout = as_layout(self.layout)
        layout.shape(given.shape[1])
        return layout

    def _problem(self, given: Table, layout: Layout | None) -> Problem:
        kept = self._kept
        allowed = read_predictors(self.predictors, self.exclude, self._labels)
        bounds = inputs.read_bounds(self.bounds, self._labels, given)
        if is_option(self.bounds, "observed") and layout is not None and layout.homogeneous:
            bounds[0], bounds[1] = np.nanmin(given, initial=np.inf), np.nanmax(given, initial=-np.inf)
        return Problem.of(
            given[:, kept],
            groups=inputs.read_groups(self.groups, self._labels, kept),
            bounds=bounds[:, kept],
            weights=inputs.read_weights(options.as_sweep(self.method).column_weights, self._labels)[kept],
            layout=None if layout is None else layout.only(kept),
            moments=inputs.read_times(self.times, len(given)),
            allowed=None if allowed is None else allowed[np.ix_(kept, kept)],
        )

    def _candidates(self, problem: Problem, given: Table, began: float) -> tuple[Candidates, Run]:
        """The options to choose from for the sweeps, and device, threads and deadline."""
        kernel, shape = options.as_kernel(self.kernel), (len(given), problem.shape[1])
        device, solver = self._device_and_solver(kernel, shape)
        require_number("tol", self.tol, least=0)
        if self.time_limit is not None:
            require_number("time_limit", self.time_limit, above=0)
        run = Run(device, self.n_jobs, began + (math.inf if self.time_limit is None else self.time_limit))
        method = options.as_sweep(self.method)
        chosen = is_option(self.kernel, "auto") or is_option(self.solver, "auto")
        sweeper = Sweeper(
            Ensemble.of(kernel, solver),
            start=self._start(method.start, given),
            order=options.as_order(method.order),
            schedule=options.as_schedule(method.schedule, *shape),
            tol=self.tol,
            max_sweeps=options.as_max_sweeps(self.max_sweeps, chosen),
        )
        tune_ridge = is_option(self.solver, "auto") and hasattr(solver, "ridge")
        given_kernel = None if is_option(self.kernel, "auto") else kernel
        by_column = is_option(self.kernel, "auto") and is_option(self.solver, "auto") and device is None
        by_column = by_column and is_option(method.schedule, "auto") and is_option(method.start, "auto")
        preset = options.as_preset(self.effort, self.max_sweeps, shape[0])
        return Candidates(sweeper, given_kernel, solver, tune_ridge, preset if by_column else None), run

    @property
    def _all_auto(self) -> bool:
        return is_option(self.kernel, "auto") and is_option(self.solver, "auto") and self.method is None

    def _device_and_solver(self, kernel: Kernel, shape: tuple[int, int]) -> tuple[Any, Any]:
        """The requested device, or that of X, and a solver suited to it."""
        on_device = self._input_device is not None and self._input_device != "cpu"
        device = find_device(self._input_device if self.device is None and on_device else self.device)
        memory = 0.0 if device is None else memory_of(device)
        solver = options.as_solver(self.solver, kernel, shape, memory)
        optional = self.device is None or is_option(self.device, "auto")
        if optional and not (isinstance(solver, Ridge) and kernel.additive):
            return None, solver  # no device requested explicitly and this solver has no GPU path: use the CPU
        return device, solver

    def _start(self, option: Any, given: Table) -> Any:
        start, kept = options.as_start(option), self._kept
        if not isinstance(start, GivenStart):
            return start
        values = np.asarray(start.values)
        if values.shape != given.shape:
            raise InvalidInput(f"start must have the shape of X, {given.shape}; got {values.shape}.")
        unusable = np.isnan(given) & kept & ~np.isfinite(values)
        if unusable.any():
            row, column = np.argwhere(unusable)[0]
            raise InvalidInput(
                f"start must be finite wherever X is missing; column {self._labels[column]!r} is "
                f"{values[row, column]} in row {row}."
            )
        return GivenStart(values[:, kept])

    def _warn_empty_columns(self) -> None:
        if self._kept.all() or self.keep_empty_features:
            return
        empty = [label for label, keep in zip(self._labels, self._kept, strict=True) if not keep]
        warnings.warn(
            f"Columns need observed values to be imputed. Columns without any were dropped: {empty}. "
            "Set keep_empty_features=True to keep them, filled with 0.",
            EmptyColumnWarning,
            stacklevel=3,
        )

    def _limits(self, bounds: Any) -> Array:
        """(2, d), limits of intervals and draws; "observed" becomes (0, ∞) if no value is negative."""
        check_is_fitted(self)
        given = self.result_.problem.given
        bounds = self.bounds if bounds is None else bounds
        if not is_option(bounds, "observed"):
            return inputs.read_bounds(bounds, self._labels, self._expand(given))[:, self._kept]
        lowest = np.where(np.isnan(given), np.inf, given).min(axis=0)
        layout = self.result_.problem.layout
        if layout is not None and layout.homogeneous:
            lowest = np.full(len(lowest), lowest.min())
        return np.array([np.where(lowest >= 0, 0.0, -np.inf), np.full(len(lowest), np.inf)])

    def _reset(self) -> None:
        """Remove the attributes of an earlier fit, so that the estimator is not fitted if this fit fails."""
        for name in [name for name in vars(self) if name.endswith("_") or name in _PRIVATE_FITTED]:
            delattr(self, name)

    def _store(self, fitted: Fitted) -> None:
        fill = fitted.fill
        if fill.status in (Status.TIME_LIMIT, Status.DIVERGED) and fill.sweep == 0:
            warnings.warn(
                "Not even the first sweep gave a usable result; missing values are set to the column means: "
                f"{fill.status.value}.",
                UnfinishedWarning,
                stacklevel=3,
            )
        self.result_ = fitted
        self.n_sweeps_, self.status_, self.trace_ = fill.sweep, fill.status, fill.trace
        self.weights_, self.tuning_ = dict(fitted.weights), fitted.tuning
        self.ensemble_, self.schedule_, self.max_sweeps_ = fitted.ensemble, fitted.schedule, fitted.max_sweeps
        self.kernel_, self.solver_ = self.ensemble_.main.kernel, self.ensemble_.main.solver

    @classmethod
    def _from_fitted(cls, fitted: Fitted, tol: float) -> Self:
        """A fitted imputer from the contents of a saved file."""
        self = cls(tol=tol)
        d = fitted.problem.given.shape[1]
        self._kept, self._labels = np.ones(d, dtype=np.bool_), [f"x{i}" for i in range(d)]
        self._input_device, self.indicator_, self.n_features_in_ = None, None, d
        self._store(fitted)
        return self

    def _output(self, filled: Table, given: Table | None = None) -> Any:
        """Completed columns → a table like `completed_`."""
        given = self.result_.problem.given if given is None else given
        return place(self._assemble(self._expand(given), filled), self._input_device)

    def _expand(self, kept: Table) -> Table:
        """Kept columns → all columns of the input, NaN in the dropped ones."""
        full = np.full((len(kept), self.n_features_in_), np.nan, kept.dtype)
        full[:, self._kept] = kept
        return full

    def _assemble(self, given: Table, filled: Table) -> Table:
        """Add the empty columns, filled with 0, and the missing indicators, if requested."""
        if self.keep_empty_features and not self._kept.all():
            full = np.where(np.isnan(given), given.dtype.type(0), given)
            full[:, self._kept] = filled
            filled = full
        if self.indicator_ is None:
            return filled
        return np.hstack([filled, self.indicator_.transform(given).astype(given.dtype)])

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "result_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _kept(given: Table, layout: Layout | None) -> Mask:
    """(d,), True for columns to impute: all columns of a grid, else those with an observed value."""
    if layout is not None and layout.homogeneous:
        return np.ones(given.shape[1], dtype=np.bool_)
    return np.asarray(~np.isnan(given).all(axis=0))


def _indicator(given: Table) -> Any:
    from sklearn.impute import MissingIndicator  # slow import: 0.2 s

    return MissingIndicator(error_on_new=False).fit(given)
