"""The iteration as a generator: start, then sweep until a stopping rule applies."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt

from manifill._arrays import Array, frozen, to_numpy
from manifill._devices import place
from manifill._fillers.base import Status, SweepRecord
from manifill._fillers.sweep.ensemble import Ensemble
from manifill._fillers.sweep.methods import method_of
from manifill._fillers.sweep.order import Order, Schedule, random_order
from manifill._fillers.sweep.outcome import Findings, SweepFill
from manifill._fillers.sweep.start import LinearStart, Start, mean_start, normal_start
from manifill._fillers.sweep.stopping import RelativeChange, StoppingRule, SweepLimit, TimeLimit
from manifill._problem import Problem
from manifill._threads import Workers
from manifill.errors import InvalidInput
from manifill.kernels import Kernel
from manifill.metrics import paper_error
from manifill.solvers import AnySolver


def sweeps(
    problem: Problem,
    *,
    kernel: Kernel | None = None,
    solver: AnySolver | None = None,
    ensemble: Ensemble | None = None,
    start: Start | None = None,
    order: Order | None = None,
    schedule: Schedule | None = None,
    stopping: Sequence[StoppingRule] | None = None,
    rng: np.random.Generator | int | None = None,
    truth: npt.ArrayLike | None = None,
    device: str | None = None,
    n_jobs: int | None = None,
) -> Iterator[SweepFill]:
    """Iterated geometric harmonics; yields an immutable `SweepFill` after every sweep.

    The first state is the start; the last one has the final status. Use `break` to stop early: every state is
    that after a full sweep.

    Parameters
    ----------
    problem : Problem, the table to fill.
    kernel, solver : the kernel between rows, and the solver that extends columns.
    ensemble : several kernels and solvers with weights, instead of `kernel` and `solver`.
    start : initial values of the missing entries; default `normal_start`. A `LinearStart` uses the entire
        table, so it counts as the first sweep, from the column means.
    order : order of the columns in each sweep; default `random_order`.
    schedule : which columns are left out together; default one group at a time.
    stopping : stopping rules; default `RelativeChange()` and `SweepLimit()`.
    rng : seed or generator. The same seed gives the same states.
    truth : (N, d), the complete table in the user's units; if given, the trace records the paper's error.
    device : None for numpy, or a torch device, as named by `find_device`.
    n_jobs : number of threads, as in `Workers`.

    Examples
    --------
    >>> import numpy as np
    >>> from manifill.kernels import Gaussian
    >>> from manifill.solvers import Ridge
    >>> t = np.linspace(0, 6, 60)
    >>> X = np.column_stack([np.sin(t), np.cos(t), np.sin(t + 1)])
    >>> X[::7, 1] = np.nan
    >>> for state in sweeps(Problem.of(X), kernel=Gaussian(), solver=Ridge(1e-3), rng=0):
    ...     pass
    >>> state.status.name
    'SETTLED'
    >>> bool(np.abs(state.X[::7, 1] - np.cos(t[::7])).max() < 0.01)
    True
    """
    if ensemble is None:
        if kernel is None or solver is None:
            raise InvalidInput("sweeps needs a kernel and a solver, or an ensemble.")
        ensemble = Ensemble.of(kernel, solver)
    workers = Workers(n_jobs)
    start_rng, schedule_rng, order_rng, method_rng = np.random.default_rng(rng).spawn(4)
    seed = int(method_rng.integers(2**32))
    order = order or random_order
    rules = (RelativeChange(), SweepLimit()) if stopping is None else tuple(stopping)
    start = start or normal_start
    linear = isinstance(start, LinearStart)
    Z = _first(mean_start if linear else start, problem, start_rng)
    blocks = (schedule or Schedule()).blocks(problem.groups, schedule_rng)
    to_visit = tuple(block for block in blocks if problem.incomplete[block].any())
    status = Status.RUNNING
    if problem.nothing_missing:
        all_rows = len(problem.rows) == len(problem.given)
        status = Status.NOTHING_MISSING if all_rows else Status.ONLY_EMPTY_ROWS
    first = SweepRecord(sweep=0, error=_error(truth, problem, Z))
    state = SweepFill(problem, place(Z, device), (first,), status, "sweep", blocks, seed)
    method = method_of(problem, blocks, ensemble, seed, device)
    while state.status is Status.RUNNING:
        yield state
        visit = order(to_visit, problem, order_rng)
        with workers:
            if linear and state.sweep == 0:
                state = _next(state, partial(_opened, start, problem, start_rng, device), rules, truth)
            else:
                state = _next(state, partial(method.sweep, state.Z, visit), rules, truth)
    yield replace(state, Z=frozen(to_numpy(state.Z)))


def _next(
    state: SweepFill,
    sweep: Callable[[float], tuple[Array, Findings] | None],
    rules: Sequence[StoppingRule],
    truth: npt.ArrayLike | None,
) -> SweepFill:
    """The state after one more sweep, or the same state with the status that ended the run."""
    problem, began = state.problem, time.monotonic()
    seconds = min((rule.seconds for rule in rules if isinstance(rule, TimeLimit)), default=math.inf)
    deadline = began + seconds - sum(record.seconds for record in state.trace)
    outcome = sweep(deadline)
    if outcome is None:
        return replace(state, status=Status.TIME_LIMIT)
    Z, findings = outcome
    if isinstance(Z, np.ndarray):
        Z = frozen(Z)
    if problem.has_diverged(Z):
        return replace(state, status=Status.DIVERGED)
    record = findings.record(
        sweep=state.sweep + 1,
        change=_change(problem, state.Z, Z),
        seconds=time.monotonic() - began,
        error=_error(truth, problem, Z),
    )
    trace = (*state.trace, record)
    verdicts = (rule(trace) for rule in rules)
    status = next((verdict for verdict in verdicts if verdict), Status.RUNNING)
    return replace(state, Z=Z, trace=trace, status=status)


def _opened(
    start: Start, problem: Problem, rng: np.random.Generator, device: str | None, deadline: float
) -> tuple[Array, Findings]:
    """A linear start as the outcome of a sweep."""
    return place(_first(start, problem, rng), device), Findings()


def _first(start: Start, problem: Problem, rng: np.random.Generator) -> Array:
    """The start, clipped to the bounds, with the observed values unchanged."""
    Z = np.asarray(start(problem, rng), dtype=np.float64)
    if Z.shape != problem.shape or not np.isfinite(Z).all():
        raise InvalidInput(
            f"start must give {problem.shape[0]} × {problem.shape[1]} finite values in standardised units; "
            f"got shape {Z.shape}, {np.isfinite(Z).sum()} of the values finite."
        )
    return frozen(np.where(problem.M, np.clip(Z, *problem.standard_bounds), problem.Z))


def _change(problem: Problem, before: Array, after: Array) -> float:
    """Root-mean-square change of the missing entries, in standardised units."""
    # Observed entries and constant columns do not change.
    squares = float(((after - before) ** 2).sum())
    return math.sqrt(squares / max(1, int(problem.to_learn.sum())))


def _error(truth: npt.ArrayLike | None, problem: Problem, Z: Array) -> float:
    return math.nan if truth is None else paper_error(truth, problem.restore(Z))
