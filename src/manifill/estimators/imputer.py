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

from manifill.arrays import Mask, Table
from manifill.checks import as_generator, complaint, require_flag, require_number
from manifill.devices import find_device, from_tensor, memory_of, place
from manifill.errors import EmptyColumnWarning, InvalidInput, UnfinishedWarning
from manifill.estimators.geometric import FieldModel, accuracy_of, fill_alike, fill_beside, geometry_of
from manifill.estimators.uncertain import Uncertain
from manifill.estimators.validation import (
    column_labels,
    read_bounds,
    read_groups,
    read_table,
    read_weights,
)
from manifill.estimators.words import (
    as_kernel,
    as_order,
    as_schedule,
    as_solver,
    as_start,
)
from manifill.geometry import Geometry
from manifill.kernels import Kernel
from manifill.progress import listening
from manifill.solvers import AnySolver, Ridge
from manifill.sweep import (
    GivenStart,
    Model,
    Plateau,
    Problem,
    Recipe,
    RelativeChange,
    State,
    Status,
    StoppingRule,
    SweepLimit,
    describe,
)
from manifill.tuning import Accuracy, Choice, Plan, choose

# Sweeps that new rows may take to settle, if the fitted ones did not start at the means either.
_FROM_MEANS = 20
# What a fit leaves behind besides the attributes that end in an underscore.
_PRIVATE = ("_model", "_kept", "_labels", "_plan", "_judging_rng", "_came_from", "_judgement")


class IGHImputer(Uncertain, TransformerMixin, BaseEstimator):
    """Fill missing values by iterated geometric harmonics.

    Each column is a function on the rows, known on some of them. A kernel between the rows, made from
    all *other* columns, extends it to the rows where it is missing; the columns are swept again and
    again until the fill settles. Columns are standardised inside; results are in their own units, and
    observed values come back bit for bit.

    Parameters
    ----------
    kernel : {"auto", "gaussian", "laplacian", "semilinear", "self_tuning", "polynomial", "cosine"}, \
            kernel or function, default="auto"
        How alike two rows are: a word, an object from `manifill.kernels` or a function of two arrays of
        rows. "auto" tries some and takes the weighted mean of those that do best on entries hidden from
        them: see docs/choosing.md.
    solver : {"auto", "ridge", "spectral", "landmarks", "local"} or solver, default="auto"
        How a column is extended: a word or an object from `manifill.solvers`. "spectral" is the paper's,
        "ridge" the faster; both look at all pairs of rows. "landmarks" and "local" are for long tables.
        "auto" chooses by kernel and shape, and `str(imputer.solver_)` says why; its ridge is chosen on hidden
        entries.
    schedule : {"auto", "column", "block"} or int, default="auto"
        How many columns are left out together: one, as in the paper, or a block that shares one kernel
        matrix. "auto" takes blocks on wide data, where that does not change the error.
    start : {"auto", "mean", "linear", "normal"} or array of the shape of X, default="auto"
        First values of the missing entries: the column mean, a linear guess, or draws around the mean as in
        the paper. "auto" takes the mean or the linear guess, as hidden entries say; the mean where the table
        has over 100 columns, or nothing else is chosen (docs/choosing.md).
    order : {"random", "fixed", "missingness"}, default="random"
        In which order each sweep visits the columns.
    max_sweeps : int or "auto", default="auto"
        Most sweeps. On noisy tables more make the fill agree with itself rather than with the data; on clean
        data with many holes more can help (docs/measurements.md). "auto" is as many as bring hidden entries
        nearer to the truth, at most 10; where kernel and solver are given, 6.
    tol : float, default=0.01
        The fill has settled when a sweep changes it by no more than this, in standard deviations of the
        columns (root mean square over all missing entries).
    time_limit : float or None, default=None
        Most seconds. Up to half of them go into choosing. The fill is that of the last full sweep, or the
        column means where not one was finished.
    bounds : None, "observed", pair, mapping or list, default="observed"
        Lowest and highest value of fills, per column: `{"age": (0, 120)}`; the columns not named keep to
        the range observed, which is one for all where `columns` says that they are alike. A pair holds for
        all columns, None sets no bounds.
    groups : list of lists of columns, or None, default=None
        Columns, by name or number, that belong to one variable and are left out together, such as its
        dummies.
    columns : None or a geometry of `manifill.geometry`, default=None
        How columns lie to each other: `Grid(64, 64)` for pixels, `Points(coordinates)` or `Distances(matrix)`
        for sensors, `Learned()` for what the data say. Both geometries, of rows and of columns, are then used
        at once, each as much as hidden entries say (docs/pictures.md). New rows in `transform` are filled
        from the columns' geometry alone where all columns are alike, as in a grid, else from rows alone.
        Columns that are alike are all kept, and no kernel, solver or schedule is chosen: there is no
        `recipe_`, `tuning_`, `kernel_`, `solver_` or `schedule_`, and `time_limit` is refused.
    rows : None or `manifill.geometry.Line()`, default=None
        With `Line()` rows are in order of time, at even steps. Without `columns` theirs is then `Learned()`.
        `TableImputer(time=…)` takes rows in any order, at uneven steps.
    column_weights : mapping or list, or None, default=None
        What columns count when rows are compared: `{"age": 2}`; those not named count 1. Above 0.
    n_context : int, default=0
        How many of the last columns, all complete, only help to compare rows: they are not hidden when
        settings are chosen, and `accuracy_` knows nothing of them.
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
    accuracy_ : for every column the error on entries that were hidden, next to that of the column mean.
        `print(imputer.accuracy_)` is a table, `pandas.DataFrame(imputer.accuracy_)` too. Where the mean is
        not beaten it is what missing values get. Where kernel and solver are given, found when asked for.
    recipe_ : the kernels, solvers and weights used; `print(imputer.recipe_)` shows them.
    tuning_ : how they were chosen: all trials with their errors, the error after each sweep, how much was
        hidden. None where kernel and solver were given.
    max_sweeps_ : the limit of sweeps in use.
    n_sweeps_ : sweeps done.
    status_ : how the run ended; `str(status_)` explains it.
    trace_ : a `SweepRecord` for the start and for every sweep: change, seconds, bandwidth, rank, ridge;
        `pandas.DataFrame(imputer.trace_)` is a table of them.
    kernel_, solver_ : those of most weight in the recipe; `str(solver_)` also says why it was chosen.
    schedule_ : which columns are left out together.
    restored_ : what both geometries gave, where `columns` is given: `restored_.rehearsal` has the weights and
        errors of each way to fill. Else None.
    completed_ : the training table as the last full sweep completed it; what `fit_transform` returns.
    indicator_ : the `MissingIndicator`, or None.
    n_features_in_, feature_names_in_ : as always in scikit-learn.

    Notes
    -----
    `fit_transform` returns the fill of the training rows, found together. `transform` fills *new* rows from
    the fitted ones, each on its own: what else is in the batch does not matter. So `fit(X).transform(X)`,
    which treats the same rows as new ones, is close to `fit_transform(X)` and not the same.

    If `fit` is interrupted (Ctrl-C) after a full sweep, the estimator is left fitted with that sweep, and
    `completed_` is its fill.

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
        schedule: Any = "auto",
        start: Any = "auto",
        order: Any = "random",
        max_sweeps: Any = "auto",
        tol: float = 1e-2,
        time_limit: float | None = None,
        bounds: Any = "observed",
        groups: Any = None,
        columns: Any = None,
        rows: Any = None,
        column_weights: Any = None,
        n_context: int = 0,
        device: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        add_indicator: bool = False,
        keep_empty_features: bool = False,
        verbose: bool = False,
    ) -> None:
        self.kernel = kernel
        self.solver = solver
        self.schedule = schedule
        self.start = start
        self.order = order
        self.max_sweeps = max_sweeps
        self.tol = tol
        self.time_limit = time_limit
        self.bounds = bounds
        self.groups = groups
        self.columns = columns
        self.rows = rows
        self.column_weights = column_weights
        self.n_context = n_context
        self.device = device
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.add_indicator = add_indicator
        self.keep_empty_features = keep_empty_features
        self.verbose = verbose

    def fit(self, X: Any, y: None = None) -> Self:
        """Fill `X` (n, d), NaN where missing, and remember it to fill new rows from."""
        if not self.verbose:
            for _ in self.iter_fit(X):
                pass
            return self
        with listening(_write):
            for state in self.iter_fit(X):
                if state.sweep > 0:
                    _write(describe(state.trace[-1]))
        return self

    def fit_transform(self, X: Any, y: None = None) -> Any:
        """Fill `X` (n, d), NaN where missing, and return the completed table."""
        return self.fit(X).completed_

    def iter_fit(self, X: Any) -> Iterator[State]:
        """`fit`, watched: yields the `State` of the start and of every sweep.

        Leaving the loop early, by `break` or Ctrl-C, leaves the estimator fitted with the last full sweep.

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
        self.restored_ = None
        geometry = geometry_of(self.columns, self.rows)
        if geometry is not None and self.n_context:
            raise InvalidInput("n_context is for rows alone; with columns=… or rows=… leave it away.")
        if geometry is not None and geometry.alike:
            yield from self._run_alike(X, geometry)
            return
        if geometry is not None and np.ndim(X) == 2:
            geometry.shape(np.shape(X)[1])  # refused before the sweeps, not after them
        for state in self._run(X):
            usable = self._usable(state)
            if usable.status is not Status.RUNNING:
                self._store(usable)
            elif usable.sweep > 0:
                self._store(replace(usable, status=Status.INTERRUPTED))  # unless another sweep follows
            yield usable
        late = usable.status is Status.TIME_LIMIT
        if geometry is not None and not late and np.isnan(state.problem.given).any():
            geometry = geometry.some(self._kept)
            seed = self.random_state
            self.restored_ = fill_beside(usable, geometry, self.rows, self.recipe_, self._plan, seed)

    def _run_alike(self, X: Any, geometry: Geometry) -> Iterator[Any]:
        """Columns that are all alike, such as pixels: filled by `manifill.geometry` as a whole."""
        for flag in ("add_indicator", "keep_empty_features", "verbose"):
            require_flag(flag, getattr(self, flag))
        self._tolerance()
        if math.isfinite(self._seconds()):
            raise InvalidInput(
                "time_limit is for columns that differ; the stages that fill columns that are alike, such as "
                "pixels, come to an end by themselves. Leave it away."
            )
        X, came_from = from_tensor(X)
        given = read_table(self, X, reset=True)
        self._labels, self._came_from = column_labels(self, X), came_from
        self._kept = np.ones(given.shape[1], dtype=np.bool_)
        device = find_device(came_from if self.device is None and came_from != "cpu" else self.device)
        plan = Plan(device=device, n_jobs=self.n_jobs)
        bounds = read_bounds(self.bounds, self._labels, given)
        if isinstance(self.bounds, str):  # columns that are alike have one range
            bounds[0], bounds[1] = np.nanmin(given, initial=np.inf), np.nanmax(given, initial=-np.inf)
        self.indicator_ = _indicator(given) if self.add_indicator else None
        for state in fill_alike(given, geometry, self.rows, bounds, plan, self.random_state):
            if state.status is not Status.RUNNING:
                self._model = FieldModel(state, device, self.n_jobs)
                self.restored_, self.trace_, self.status_ = state.restored, state.trace, state.status
                self.n_sweeps_ = self.max_sweeps_ = state.sweep
            yield state

    def transform(self, X: Any) -> Any:
        """Fill new rows (m, d) from the fitted ones, each on its own."""
        check_is_fitted(self)
        X, came_from = from_tensor(X)
        given = read_table(self, X, reset=False)
        return place(self._assemble(given, self._model.complete(given[:, self._kept])), came_from)

    @property
    def completed_(self) -> Any:
        """The training table as the last full sweep completed it."""
        check_is_fitted(self)
        state = self._model.state
        filled = state.X if self.restored_ is None else self.restored_.X
        return place(self._assemble(self._in_place(state.problem.given), filled), self._came_from)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Names of the columns that come out."""
        check_is_fitted(self)
        known = getattr(self, "feature_names_in_", None)
        names = np.asarray(column_labels(self) if input_features is None else input_features, dtype=object)
        if len(names) != self.n_features_in_:
            raise InvalidInput(
                f"input_features should have length equal to the number of columns fitted, "
                f"{self.n_features_in_}; got {len(names)}."
            )
        if known is not None and not np.array_equal(names, known):
            raise InvalidInput("input_features is not equal to feature_names_in_, the names fitted.")
        out = names if self.keep_empty_features else names[self._kept]
        if self.indicator_ is None:
            return out
        return np.concatenate([out, self.indicator_.get_feature_names_out(names)])

    def _run(self, X: Any) -> Iterator[State]:
        """Validate everything, choose what is to be chosen, and set the run up."""
        began = time.monotonic()
        X, came_from = from_tensor(X)
        for flag in ("add_indicator", "keep_empty_features", "verbose"):
            require_flag(flag, getattr(self, flag))
        given = read_table(self, X, reset=True)
        labels = column_labels(self, X)
        kept: Mask = np.asarray(~np.isnan(given).all(axis=0))
        require_number("n_context", self.n_context, least=0, whole=True)
        if not kept[len(kept) - min(self.n_context, len(kept)) :].all():
            raise InvalidInput("The last n_context columns must be complete; one of them has no value.")
        kernel = as_kernel(self.kernel)
        device, solver = self._device_and_solver(came_from, kernel, (len(given), int(kept.sum())))
        problem = Problem.of(
            given[:, kept],
            groups=read_groups(self.groups, labels, kept),
            bounds=read_bounds(self.bounds, labels, given)[:, kept],
            weights=read_weights(self.column_weights, labels)[kept],
            n_context=self.n_context,
        )
        plan = Plan(
            start=self._start(given, kept, labels),
            order=as_order(self.order),
            schedule=as_schedule(self.schedule, len(given), int(kept.sum())),
            tol=self._tolerance(),
            max_sweeps=self._most_sweeps(),
            device=device,
            n_jobs=self.n_jobs,
            deadline=began + self._seconds(),
        )
        if not (kept.all() or self.keep_empty_features):
            empty = [label for label, keep in zip(labels, kept, strict=True) if not keep]
            warnings.warn(
                "A column can be filled only from observed values; dropped, since they have none: "
                f"{empty}. With keep_empty_features=True they are kept, filled with 0.",
                EmptyColumnWarning,
                stacklevel=2,
            )
        judging_rng, final_rng = as_generator(self.random_state).spawn(2)
        choice = self._chosen(problem, plan, kernel, solver, judging_rng)
        plan = replace(
            plan,
            start=choice.start or plan.start,
            relaxation=choice.relaxation,
            max_sweeps=choice.sweeps,
        )
        self._kept, self._labels, self._came_from = kept, labels, came_from
        self._plan, self._judging_rng = plan, judging_rng
        self.recipe_, self.schedule_ = choice.recipe, plan.schedule
        self.kernel_, self.solver_ = choice.recipe.main.kernel, choice.recipe.main.solver
        self.tuning_ = choice if choice.trials or choice.errors else None
        self.max_sweeps_ = plan.max_sweeps
        self.indicator_ = _indicator(given) if self.add_indicator else None
        rules: list[StoppingRule] = [RelativeChange(plan.tol), SweepLimit(plan.max_sweeps)]
        if plan.tol > 0:  # with 0 all sweeps are asked for
            rules.insert(1, Plateau())
        return iter(plan.run(problem, choice.recipe, final_rng, rules))

    def _chosen(
        self, problem: Problem, plan: Plan, kernel: Kernel, solver: AnySolver, rng: np.random.Generator
    ) -> Choice:
        """What hidden entries choose; where kernel and solver are given, these."""
        choose_kernel = isinstance(self.kernel, str) and self.kernel == "auto"
        choose_ridge = isinstance(self.solver, str) and self.solver == "auto" and hasattr(solver, "ridge")
        if not (choose_kernel or choose_ridge):
            return Choice(Recipe.of(kernel, solver), plan.max_sweeps, Accuracy())
        half_time = time.monotonic() + (plan.deadline - time.monotonic()) / 2
        return choose(
            problem,
            replace(plan, deadline=half_time),
            rng,
            kernel=None if choose_kernel else kernel,
            solver=solver,
            tune_ridge=choose_ridge,
        )

    @property
    def accuracy_(self) -> Accuracy:
        """What to expect of the fills, column by column, measured on hidden entries."""
        check_is_fitted(self)
        labels = [label for label, keep in zip(self._labels, self._kept, strict=True) if keep]
        if self.restored_ is not None:
            return accuracy_of(self.restored_, labels)
        return self._judged().accuracy.named(labels)

    def _device_and_solver(
        self, came_from: str | None, kernel: Any, shape: tuple[int, int]
    ) -> tuple[Any, Any]:
        """The device asked for, or where X is; and the solver that goes with it."""
        on_card = came_from is not None and came_from != "cpu"
        device = find_device(came_from if self.device is None and on_card else self.device)
        room = 0.0 if device is None else memory_of(device)
        solver = as_solver(self.solver, kernel, shape, room)
        if self.device in (None, "auto") and not (isinstance(solver, Ridge) and kernel.additive):
            return None, solver  # nobody insists on the card, and it could not do this
        return device, solver

    def _most_sweeps(self) -> int:
        given = not (isinstance(self.max_sweeps, str) and self.max_sweeps == "auto")
        if given:
            if isinstance(self.max_sweeps, str):
                raise complaint("max_sweeps", "'auto' or a whole number ≥ 1", self.max_sweeps)
            require_number("max_sweeps", self.max_sweeps, least=1, whole=True)
            return int(self.max_sweeps)
        chosen = "auto" in (word for word in (self.kernel, self.solver) if isinstance(word, str))
        return 10 if chosen else 6

    def _tolerance(self) -> float:
        require_number("tol", self.tol, least=0)
        return self.tol

    def _seconds(self) -> float:
        if self.time_limit is None:
            return math.inf
        require_number("time_limit", self.time_limit, above=0)
        return self.time_limit

    def _start(self, given: Table, kept: Mask, labels: list[Any]) -> Any:
        start = as_start(self.start)
        if not isinstance(start, GivenStart):
            return start
        values = np.asarray(start.values)
        if values.shape != given.shape:
            raise InvalidInput(f"start must have the shape of X, {given.shape}; got {values.shape}.")
        unusable = np.isnan(given) & kept & ~np.isfinite(values)
        if unusable.any():
            row, column = np.argwhere(unusable)[0]
            raise InvalidInput(
                f"start must be finite wherever X is missing; column {labels[column]!r} is "
                f"{values[row, column]} in row {row}."
            )
        return GivenStart(values[:, kept])

    def _usable(self, state: State) -> State:
        """The state itself, or the column means where not even one sweep came to a good end."""
        if state.status not in (Status.TIME_LIMIT, Status.DIVERGED) or state.sweep > 0:
            return state
        warnings.warn(
            f"Not even the first sweep could be used, and the missing values got their column means: "
            f"{state.status.value}.",
            UnfinishedWarning,
            stacklevel=2,
        )
        return replace(state, Z=state.problem.Z)

    def _forget(self) -> None:
        """Drop an earlier fit, so that a fit which fails is not mistaken for it."""
        for name in [name for name in vars(self) if name.endswith("_") or name in _PRIVATE]:
            delattr(self, name)

    @classmethod
    def _restored(cls, state: State, choice: Choice, recipe: Recipe, max_sweeps: int, tol: float) -> Self:
        """A fitted imputer from what a file holds of it."""
        self = cls(tol=tol)
        d = state.problem.given.shape[1]
        self._plan = Plan(tol=tol, max_sweeps=max_sweeps)
        self._kept, self._labels = np.ones(d, dtype=np.bool_), [f"x{i}" for i in range(d)]
        self._came_from, self.indicator_, self.n_features_in_ = None, None, d
        self.restored_ = None
        self.recipe_, self.max_sweeps_, self.tuning_ = recipe, max_sweeps, choice
        self.kernel_, self.solver_ = recipe.main.kernel, recipe.main.solver
        self._store(state)
        return self

    def _store(self, state: State) -> None:
        plan = self._plan
        # New rows start at the means. Where the fitted ones went on from a fill, that takes longer.
        sweeps = _FROM_MEANS if isinstance(plan.start, GivenStart) else plan.max_sweeps
        self._model = Model(state, self.recipe_, plan.tol, sweeps, plan.device, plan.n_jobs)
        self._judgement = None
        self.n_sweeps_ = state.sweep
        self.status_ = state.status
        self.trace_ = state.trace

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
        return hasattr(self, "_model")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _write(line: str) -> None:
    print(line, file=sys.stderr)


def _indicator(given: Table) -> Any:
    from sklearn.impute import MissingIndicator  # takes a fifth of a second that few need

    return MissingIndicator(error_on_new=False).fit(given)
