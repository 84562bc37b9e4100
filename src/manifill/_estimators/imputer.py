"""`IGHImputer`: iterated geometric harmonics as a scikit-learn transformer."""

import math
import sys
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
from manifill._fillers import Fill, Run, Status
from manifill._fillers.sweep import Ensemble, GivenStart, Sweeper
from manifill._fitting import fit
from manifill._messages import listening
from manifill._problem import Groups, Problem
from manifill._result import Fitted
from manifill._selection import Candidates
from manifill._validation import Accuracy, Errors
from manifill.errors import EmptyColumnWarning, InvalidInput, UnfinishedWarning
from manifill.kernels import Kernel
from manifill.layouts import Layout, Learned, as_layout
from manifill.solvers import Ridge

# What a fit leaves behind besides the attributes that end in an underscore.
_PRIVATE = ("_kept", "_labels", "_came_from")


class IGHImputer(TransformerMixin, BaseEstimator):
    """Fill missing values by iterated geometric harmonics.

    Each column is a function on the rows, known on some of them. A kernel between the rows, made from
    all *other* columns, extends it to the rows where it is missing; the columns are swept again and
    again until the fill settles. Columns are standardised inside; results are in their own units, and
    observed values come back bit for bit.

    Parameters
    ----------
    kernel : {"auto", "gaussian", "laplacian", "semilinear", "self_tuning", "polynomial", "cosine"}, \
            kernel or function, default="auto"
        How similar two rows are: a word, an object from `manifill.kernels` or a function of two arrays of
        rows. "auto" tries some and takes the weighted mean of those that do best on held-out entries:
        see docs/choosing.md.
    solver : {"auto", "ridge", "spectral", "landmarks", "local"} or solver, default="auto"
        How a column is extended: a word or an object from `manifill.solvers`. "spectral" is the paper's,
        "ridge" the faster; both look at all pairs of rows. "landmarks" and "local" are for long tables.
        "auto" chooses by kernel and shape, and `str(imputer.solver_)` says why; its ridge is chosen on
        held-out entries.
    method : None or `manifill.Sweep`, default=None
        Options of the sweep: schedule, start, order and column weights.
    layout : None or a layout of `manifill.layouts`, default=None
        How columns lie to each other: `Grid(64, 64)` for pixels, `Points(coordinates)` or `Distances(matrix)`
        for sensors, `Learned()` for what the data say. The geometries of rows and of columns are then used at
        once: several methods fill the table, and held-out entries say what each counts (docs/pictures.md).
        In a grid all columns are kept, also those without a known value.
    times : None, "even" or array of n moments, default=None
        When each row was measured: "even" for rows in order of time at even steps, or a number or date for
        each row, in any order, at any steps. Without `layout` it is then `Learned()`.
    max_sweeps : int or "auto", default="auto"
        Most sweeps. On noisy tables more make the fill agree with itself rather than with the data; on clean
        data with much missing more can help (docs/measurements.md). "auto" is as many as bring held-out
        entries nearer to the truth, at most 10; where kernel and solver are given, 6.
    tol : float, default=0.01
        The fill has settled when a sweep changes it by no more than this, in standard deviations of the
        columns (root mean square over all missing entries).
    time_limit : float or None, default=None
        Most seconds. Up to half of them go into choosing. The fill is that of the last full sweep, or the
        column means where not one was finished.
    bounds : None, "observed", pair, mapping or list, default="observed"
        Lowest and highest value of fills, per column: `{"age": (0, 120)}`; the columns not named keep to
        the range observed, which is one for all columns of a grid. A pair holds for all columns, None sets
        no bounds.
    groups : list of lists of columns, or None, default=None
        Columns, by name or number, that belong to one variable and are left out together, such as its
        dummies.
    device : None, "auto", "cuda" or another device of torch's, default=None
        Where the arithmetic runs. None is where X is: numpy on the processor, or the card of a torch tensor.
        "auto" takes a card where there is one. Tensors in, tensors out.
    n_jobs : int or None, default=None
        Threads, as in joblib; -1 is all cores. None is what `joblib.parallel_config` says, and otherwise as
        many as BLAS may use.
    random_state : int, Generator, RandomState or None, default=None
        The same number gives the same fill.
    add_indicator : bool, default=False
        Append a column of 0 and 1 for every column with missing values.
    keep_empty_features : bool, default=False
        Keep columns without any observed value, filled with 0, instead of dropping them.
    verbose : bool, default=False
        Write a line about every sweep to the standard error stream.

    Attributes
    ----------
    completed_ : the training table, completed; what `fit_transform` returns.
    accuracy_ : for every column the error on held-out entries, next to that of the column mean.
        `print(imputer.accuracy_)` is a table, `pandas.DataFrame(imputer.accuracy_)` too. Where the mean is
        not beaten it is what missing values get. Where kernel and solver are given, found when asked for.
    weights_ : method → its weight in the fill.
    ensemble_ : kernels and solvers between rows, with weights; `print(imputer.ensemble_)` shows them.
    kernel_, solver_ : those of most weight; `str(solver_)` also says why it was chosen.
    schedule_ : which columns are left out together.
    tuning_ : how the sweep was tuned: all trials with their errors, the error after each sweep. None where
        kernel and solver were given, or no sweep took part.
    max_sweeps_, n_sweeps_ : the limit of sweeps in use, and the sweeps or other steps done.
    status_ : how the run ended; `str(status_)` explains it.
    trace_ : a `SweepRecord` for the start and for every sweep: change, seconds, bandwidth, rank, ridge;
        `pandas.DataFrame(imputer.trace_)` is a table of them.
    errors_ : errors to expect of every filled value.
    result_ : all of it in one object, `Fitted`.
    indicator_ : the `MissingIndicator`, or None.
    n_features_in_, feature_names_in_ : as always in scikit-learn.

    Notes
    -----
    `fit_transform` returns the fill of the training rows, found together. `transform` fills *new* rows from
    the fitted ones, each on its own: what else is in the batch does not matter. So `fit(X).transform(X)`,
    which treats the same rows as new ones, is close to `fit_transform(X)` and not the same.

    If `fit` is interrupted (Ctrl-C) after a full sweep, the estimator is left fitted with that sweep, and
    `completed_` is its fill.

    New rows have no moments in `transform`: with `times` they are filled from rows alone, and in a grid from
    the columns' layout alone.

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
        max_sweeps: Any = "auto",
        tol: float = 1e-2,
        time_limit: float | None = None,
        bounds: Any = "observed",
        groups: Any = None,
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
        self.max_sweeps = max_sweeps
        self.tol = tol
        self.time_limit = time_limit
        self.bounds = bounds
        self.groups = groups
        self.device = device
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.add_indicator = add_indicator
        self.keep_empty_features = keep_empty_features
        self.verbose = verbose

    def fit(self, X: Any, y: None = None) -> Self:
        """Fill `X` (n, d), NaN where missing, and remember it to fill new rows from."""
        run_to_end(self.iter_fit(X), self.verbose)
        return self

    def fit_transform(self, X: Any, y: None = None) -> Any:
        """Fill `X` (n, d), NaN where missing, and return the completed table."""
        return self.fit(X).completed_

    def iter_fit(self, X: Any) -> Iterator[Fill]:
        """`fit`, watched: yields the fill at the start and after every step; the last one is the result.

        Leaving the loop early, by `break` or Ctrl-C, leaves the estimator fitted with the last full step.

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
        self._forget()
        began = time.monotonic()
        for flag in ("add_indicator", "keep_empty_features", "verbose"):
            require_flag(flag, getattr(self, flag))
        X, self._came_from = from_tensor(X)
        given = inputs.read_table(self, X, reset=True)
        self._labels = inputs.column_labels(self, X)
        layout = self._layout(given)
        self._kept = _kept(given, layout)
        problem = self._problem(given, layout)
        choices, run = self._choices(problem, given, began)
        self._warn_of_empty_columns()
        self.indicator_ = _indicator(given) if self.add_indicator else None
        plain = layout is not None and layout.homogeneous and self._nothing_given
        rng = as_generator(self.random_state)
        for fitted in fit(problem, None if plain else choices, run, rng):
            if fitted.fill.status is not Status.RUNNING:
                self._store(fitted)
            elif fitted.fill.sweep > 0:  # unless another step follows
                interrupted = replace(fitted.fill, status=Status.INTERRUPTED)
                self._store(replace(fitted, fill=interrupted))
            yield replace(fitted.fill, output=lambda filled: self._output(filled, problem.given))

    def transform(self, X: Any) -> Any:
        """Fill new rows (m, d) from the fitted ones, each on its own."""
        check_is_fitted(self)
        X, came_from = from_tensor(X)
        given = inputs.read_table(self, X, reset=False)
        return place(self._assemble(given, self.result_.complete(given[:, self._kept])), came_from)

    @property
    def completed_(self) -> Any:
        """The training table, completed."""
        check_is_fitted(self)
        return self._output(self.result_.X)

    @property
    def accuracy_(self) -> Accuracy:
        """What to expect of the fills, column by column, measured on held-out entries."""
        check_is_fitted(self)
        labels = [label for label, keep in zip(self._labels, self._kept, strict=True) if keep]
        return self.result_.accuracy.named(labels)

    @property
    def errors_(self) -> Errors:
        """Errors to expect of every filled value, in standard units."""
        check_is_fitted(self)
        return self.result_.errors

    def intervals(self, level: float = 0.9, *, bounds: Any = None) -> tuple[Any, Any]:
        """Lower and upper end of an interval that holds each missing value with this probability.

        Both are tables like `completed_`; where a value is observed both are that value. They are calibrated
        on held-out entries.

        Parameters
        ----------
        level : the probability.
        bounds : as of the imputer. Default: its own; but "observed" holds fills only, not what they might be.
        """
        check_is_fitted(self)
        low, high = self.result_.intervals(level, self._limits(bounds))
        return self._output(low), self._output(high)

    def draws(self, m: int = 5, *, bounds: Any = None, random_state: Any = None) -> list[Any]:
        """M completed tables, whose fills are drawn from what the missing values may be.

        For multiple imputation: estimate from each, and let `manifill.pool` pool the results.

        Parameters
        ----------
        m : how many.
        bounds : as in `intervals`.
        random_state : the same number gives the same tables; None for that of the imputer.
        """
        return self._drawn(m, self._limits(bounds), random_state)

    def _drawn(self, m: int, limits: Array, random_state: Any, chosen: Groups = ()) -> list[Any]:
        check_is_fitted(self)
        rng = as_generator(self.random_state if random_state is None else random_state)
        return [self._output(drawn) for drawn in self.result_.draws(m, rng, limits, chosen)]

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Names of the columns that come out."""
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
        )

    def _choices(self, problem: Problem, given: Table, began: float) -> tuple[Candidates, Run]:
        """What is to be chosen for the sweep, and where it runs."""
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
        free_ridge = is_option(self.solver, "auto") and hasattr(solver, "ridge")
        return Candidates(
            sweeper, None if is_option(self.kernel, "auto") else kernel, solver, free_ridge
        ), run

    @property
    def _nothing_given(self) -> bool:
        return is_option(self.kernel, "auto") and is_option(self.solver, "auto") and self.method is None

    def _device_and_solver(self, kernel: Kernel, shape: tuple[int, int]) -> tuple[Any, Any]:
        """The device asked for, or where X is; and the solver that goes with it."""
        on_card = self._came_from is not None and self._came_from != "cpu"
        device = find_device(self._came_from if self.device is None and on_card else self.device)
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

    def _warn_of_empty_columns(self) -> None:
        if self._kept.all() or self.keep_empty_features:
            return
        empty = [label for label, keep in zip(self._labels, self._kept, strict=True) if not keep]
        warnings.warn(
            "A column can be filled only from observed values; dropped, since they have none: "
            f"{empty}. With keep_empty_features=True they are kept, filled with 0.",
            EmptyColumnWarning,
            stacklevel=3,
        )

    def _limits(self, bounds: Any) -> Array:
        """(2, d), the bounds given; of the range observed only that what was never negative stays so."""
        check_is_fitted(self)
        given = self.result_.problem.given
        bounds = self.bounds if bounds is None else bounds
        if not is_option(bounds, "observed"):
            return inputs.read_bounds(bounds, self._labels, self._in_place(given))[:, self._kept]
        lowest = np.where(np.isnan(given), np.inf, given).min(axis=0)
        layout = self.result_.problem.layout
        if layout is not None and layout.homogeneous:
            lowest = np.full(len(lowest), lowest.min())
        return np.array([np.where(lowest >= 0, 0.0, -np.inf), np.full(len(lowest), np.inf)])

    def _forget(self) -> None:
        """Drop an earlier fit, so that a fit which fails is not mistaken for it."""
        for name in [name for name in vars(self) if name.endswith("_") or name in _PRIVATE]:
            delattr(self, name)

    def _store(self, fitted: Fitted) -> None:
        fill = fitted.fill
        if fill.status in (Status.TIME_LIMIT, Status.DIVERGED) and fill.sweep == 0:
            warnings.warn(
                "Not even the first sweep could be used, and the missing values got their column means: "
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
    def _loaded(cls, fitted: Fitted, tol: float) -> Self:
        """A fitted imputer from what a file holds of it."""
        self = cls(tol=tol)
        d = fitted.problem.given.shape[1]
        self._kept, self._labels = np.ones(d, dtype=np.bool_), [f"x{i}" for i in range(d)]
        self._came_from, self.indicator_, self.n_features_in_ = None, None, d
        self._store(fitted)
        return self

    def _output(self, filled: Table, given: Table | None = None) -> Any:
        """A table like `completed_` of filled columns."""
        given = self.result_.problem.given if given is None else given
        return place(self._assemble(self._in_place(given), filled), self._came_from)

    def _in_place(self, kept: Table) -> Table:
        """The columns kept, in their places among all."""
        whole = np.full((len(kept), self.n_features_in_), np.nan, kept.dtype)
        whole[:, self._kept] = kept
        return whole

    def _assemble(self, given: Table, filled: Table) -> Table:
        """The filled columns in their places, empty ones dropped or kept, indicators appended."""
        if self.keep_empty_features and not self._kept.all():
            whole = np.where(np.isnan(given), given.dtype.type(0), given)
            whole[:, self._kept] = filled
            filled = whole
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


def run_to_end(fills: Iterator[Fill], verbose: bool) -> None:
    """Run a stream of fills; with `verbose`, a line about every step and message to standard error."""
    if not verbose:
        for _ in fills:
            pass
        return
    with listening(_write):
        for fill in fills:
            if fill.sweep > 0:
                _write(str(fill))


def _write(line: str) -> None:
    print(line, file=sys.stderr)


def _kept(given: Table, layout: Layout | None) -> Mask:
    """(d,), the columns that take part: of a grid all, else those with an observed value."""
    if layout is not None and layout.homogeneous:
        return np.ones(given.shape[1], dtype=np.bool_)
    return np.asarray(~np.isnan(given).all(axis=0))


def _indicator(given: Table) -> Any:
    from sklearn.impute import MissingIndicator  # takes a fifth of a second that few need

    return MissingIndicator(error_on_new=False).fit(given)
