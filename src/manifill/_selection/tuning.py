"""Tuning of the sweep: candidates are screened on a sample, and the best ones validated on the full table."""

import logging
import math
from dataclasses import dataclass, replace

import numpy as np

import manifill._validation as validation
from manifill._arrays import Array, Indices, Table, to_numpy
from manifill._fillers import Run, sweep
from manifill._fillers.metric import Preset
from manifill._problem import Problem
from manifill._selection.portfolio import CORE, candidates, neighbours, ridge_of, with_ridge
from manifill._selection.screening import Screening, Trial, parallel_map
from manifill.kernels import Kernel, Laplacian, SemiLinear
from manifill.solvers import AnySolver, Landmarks, Local, Ridge

_log = logging.getLogger(__name__)

# Rows of the sample that candidates are screened on. Set by hand; 2,000 rows of four columns chose a worse
# ensemble for JFK weather at 50 % missing (RMSE .377 against .358, docs/notes/choosing.md).
_SCREENED_ROWS = 1000
# Columns beyond which a table is wide: it has its own portfolio, screened on some of the columns, without
# local search. Set by hand, not tuned.
_WIDE = 512
# Columns up to which a linear start is tried, and number of candidates that try it. Set by hand, not tuned.
_MAX_COLUMNS_LINEAR, _CANDIDATES_LINEAR = 100, 2
# Rounds of local search around the best candidate if it is outside CORE. Set by hand, not tuned.
_SEARCH_ROUNDS = 2
# Another sweep, or round of local search, must lower the error on held-out entries by this share.
# Set by hand, not tuned.
_MIN_IMPROVEMENT = 2e-3
# Held-out entries from which one sweep without gain ends the run; with fewer, two do. Set by hand, not tuned.
_CERTAIN_ENTRIES = 1500
# Sweeps of a large table that starts from the fill of the validation run, which is close to the final one.
# Set by hand, not tuned.
_WARM_SWEEPS = 3
# Sweeps if no entry can be held out: on noisy tables the error grows after three to five sweeps, on others it
# still falls (docs/notes/defaults.md).
_SWEEPS_WITHOUT_EVIDENCE = 6


@dataclass(frozen=True, eq=False)
class Tuning:
    """The tuned sweep, and its results on held-out entries.

    Attributes
    ----------
    sweeper : kernels, solvers, weights, start and number of sweeps.
    evidence : entries held out in the validation run, and their imputed values.
    accuracy : expected accuracy of every column.
    trials : all candidates, the best first; empty if kernel and solver were given.
    errors : RMS error on the held-out entries of the full table after each sweep, in standard deviations.
    sets : number of sets of held-out entries.
    """

    sweeper: sweep.Sweeper
    evidence: validation.Evidence
    accuracy: validation.Accuracy
    trials: tuple[Trial, ...] = ()
    errors: tuple[float, ...] = ()
    sets: int = 0


@dataclass(frozen=True, eq=False)
class Candidates:
    """The choices that tuning of the sweep may make.

    Attributes
    ----------
    sweeper : all other settings; its `start` is chosen if it is None.
    kernel : the user's kernel; None to choose one.
    solver : a solver of the kind to use.
    tune_ridge : is the ridge penalty of the solver chosen?
    preset : of the regressions with learned metrics, which are used instead if the table allows it; None
        never to use them.
    """

    sweeper: sweep.Sweeper
    kernel: Kernel | None
    solver: AnySolver
    tune_ridge: bool
    preset: Preset | None = None

    @property
    def needs_tuning(self) -> bool:
        """Is the kernel or the ridge to be chosen?"""
        return self.kernel is None or self.tune_ridge


def tune(problem: Problem, choices: Candidates, run: Run, rng: np.random.Generator) -> Tuning:
    """Choose the best sweep for a problem, by its error on held-out entries."""
    sample_rng, screening_rng, validation_rng = rng.spawn(3)
    warm_start = choices.sweeper.start is None
    sweeper, trials, screened = _screened(problem, choices, run, sample_rng, screening_rng)
    tuned = validate(problem, sweeper, run, validation_rng, screened)
    sweeps, start = tuned.sweeper.max_sweeps, sweeper.start
    if warm_start and validation.is_large(problem) and tuned.errors:
        start = tuned.sweeper.start
        sweeps = min(_WARM_SWEEPS, sweeps)
    return replace(tuned, sweeper=replace(tuned.sweeper, start=start, max_sweeps=sweeps), trials=trials)


def _screened(
    problem: Problem,
    choices: Candidates,
    run: Run,
    sample_rng: np.random.Generator,
    screening_rng: np.random.Generator,
) -> tuple[sweep.Sweeper, tuple[Trial, ...], validation.Evidence | None]:
    """Choose start, kernels, ridges and weights on a sample of the rows."""
    sweeper, kernel, solver = choices.sweeper, choices.kernel, choices.solver
    sample, sampled = _sample(problem, _SCREENED_ROWS, sample_rng)
    wide = problem.shape[1] > _WIDE
    exact = Ridge(ridge_of(solver)) if isinstance(solver, Landmarks) else solver
    pairs = candidates(kernel, exact, choices.tune_ridge, wide)
    # The default kernel is the best fixed one in docs/notes/defaults.md.
    default = sweep.Ensemble.of(kernel or SemiLinear(Laplacian(), 0.3), solver)
    if len(pairs) < 2 or sample is None:
        return replace(sweeper, ensemble=default), (), None
    n_core = len(CORE) if kernel is None and not wide else len(pairs)
    base = replace(sweeper, ensemble=sweep.Ensemble.of(*pairs[0]))
    screening = Screening(sample, base, run, wide, screening_rng)
    if sweeper.start is None and sweeper.max_sweeps > 1 and problem.shape[1] <= _MAX_COLUMNS_LINEAR:
        start = screening.choose_start([sweep.mean_start, sweep.LinearStart()], pairs[:_CANDIDATES_LINEAR])
        sweeper = replace(sweeper, start=start)
    screening.screen([pair for pair in pairs if pair not in screening.pairs])
    if not wide:
        _search(screening, n_core, kernel is None, choices.tune_ridge)
    weights = screening.weights(_max_components(problem, solver) if kernel is None else 1)
    trials = screening.trials(weights)
    components = tuple(
        sweep.Component(trial.kernel, with_ridge(solver, ridge_of(trial.solver)), trial.weight)
        for trial in trials
        if trial.weight > 0
    )
    evidence = screening.evidence(weights)
    if evidence is not None:
        ones = np.ones(problem.shape[1])
        evidence = replace(evidence, columns=sampled[evidence.columns], shrinkage=ones)
    ensemble = sweep.Ensemble(components) if components else default
    return replace(sweeper, ensemble=ensemble), trials, evidence


def _search(screening: Screening, n_core: int, tune_kernel: bool, tune_ridge: bool) -> None:
    """Local search: try the neighbours of the best candidate while it is not among the first `n_core`."""
    for _ in range(_SEARCH_ROUNDS):
        best = screening.best
        if best in screening.pairs[:n_core]:
            break
        nearby = neighbours(best, tune_kernel, tune_ridge)
        screening.screen([pair for pair in nearby if pair not in screening.pairs])
        if screening.error_of(screening.best) > (1 - _MIN_IMPROVEMENT) * screening.error_of(best):
            break


def validate(
    problem: Problem,
    sweeper: sweep.Sweeper,
    run: Run,
    rng: np.random.Generator,
    screened: validation.Evidence | None = None,
    shrink: bool = True,
) -> Tuning:
    """Validation run on the full table: the number of sweeps, shrinkage and accuracy on held-out entries.

    Parameters
    ----------
    screened : held-out entries of candidate screening; their errors are added to those of the accuracy.
    shrink : if False, imputed values are not shrunk towards the column means.
    """
    sweeper = sweeper.cold
    share, count = validation.holdout_size(problem)
    holdout_rng, run_rng = rng.spawn(2)
    sets = validation.random_sets(problem, share, count, holdout_rng)
    odds, d = validation.odds_of(problem), problem.shape[1]
    held_out = [validation.hold_out(problem, entries, weight=odds) for entries in sets]
    if not any(len(one.truth) for one in held_out):
        nothing = validation.Evidence.of(held_out, np.zeros(0), np.ones(d), share)
        fewer = replace(sweeper, max_sweeps=min(_SWEEPS_WITHOUT_EVIDENCE, sweeper.max_sweeps))
        return Tuning(fewer, nothing, validation.accuracy(nothing, problem), sets=count)
    _log.info("validation run on %s held-out entries", f"{sum(len(one.truth) for one in held_out):,}")
    seeds = run_rng.integers(2**32, size=count)
    runs = parallel_map(
        lambda task, run: _validation_run(task[0], sweeper, run, task[1]),
        list(zip(held_out, seeds, strict=True)),
        run,
        problem.shape[0],
    )
    truth = np.concatenate([one.truth for one in held_out])
    longest = max(len(found) for found, _ in runs)
    after = [np.concatenate([found[min(s, len(found) - 1)] for found, _ in runs]) for s in range(longest)]
    errors = [validation.root_mean_square(found - truth) for found in after[1:]] or [math.nan]
    sweeps = _best_sweep_count(errors, sweeper.opening)
    found = after[min(sweeps, len(after) - 1)]
    columns = np.concatenate([one.columns for one in held_out])
    shrunk = validation.shrinkage(columns, found, truth, d) if shrink else np.ones(d)
    found = shrunk[columns] * found
    evidence = validation.Evidence.of(held_out, found, shrunk, share)
    if screened is not None:
        screened = replace(screened, found=shrunk[screened.columns] * screened.found, shrinkage=shrunk)
    return Tuning(
        sweeper=replace(
            sweeper,
            ensemble=replace(sweeper.ensemble, shrinkage=shrunk),
            max_sweeps=sweeps,
            start=sweep.GivenStart(runs[0][1]),
        ),
        evidence=evidence,
        accuracy=validation.accuracy(evidence, problem, odds, screened),
        errors=tuple(errors),
        sets=count,
    )


def _best_sweep_count(errors: list[float], opening: int) -> int:
    """The smallest number of sweeps with an error within `_MIN_IMPROVEMENT` of the lowest."""
    limit = (1 + _MIN_IMPROVEMENT) * min(errors[opening:], default=math.nan)
    best = next((s for s, error in enumerate(errors) if s >= opening and error <= limit), opening)
    return best + 1


def _validation_run(
    held_out: validation.HeldOut, sweeper: sweep.Sweeper, run: Run, seed: int
) -> tuple[list[Array], Table]:
    """Imputed values of the held-out entries at the start and after each sweep, and the best fill.

    The run ends when sweeps no longer lower the error on the held-out entries.
    """
    found: list[Array] = []
    errors: list[float] = []
    rules: list[sweep.StoppingRule] = [
        sweep.RelativeChange(sweeper.tol),
        sweep.SweepLimit(sweeper.max_sweeps),
    ]
    for fill in sweeper.run(held_out.problem, np.random.default_rng(seed), run, rules):
        if len(found) <= fill.sweep:
            found.append(held_out.found(to_numpy(fill.Z)))
            errors.append(validation.root_mean_square(found[-1] - held_out.truth))
        if not errors[-1] > min(errors):
            best = fill
        if _levelled_off(errors[1 + sweeper.opening :], patient=len(held_out.truth) < _CERTAIN_ENTRIES):
            break
    return found, best.X


def _levelled_off(errors: list[float], patient: bool) -> bool:
    """Has the last sweep raised the error, or lowered it too little? If `patient`, the last two must have."""
    if len(errors) < 2:
        return False
    risen = errors[-1] > (1 + _MIN_IMPROVEMENT) * min(errors[:-1])
    last = 2 if patient else 1
    gained = len(errors) <= last or min(errors[-last:]) <= (1 - _MIN_IMPROVEMENT) * min(errors[:-last])
    return risen or not gained


def _max_components(problem: Problem, solver: AnySolver) -> int:
    """Largest number of kernels in the ensemble, by the size n²·d of a sweep. Set by hand, not tuned."""
    n, d = problem.shape
    if isinstance(solver, Landmarks | Local):
        return 1
    pairs = float(n) ** 2 * d
    return 4 if pairs <= 2.5e6 else 3 if pairs <= 5e7 else 2 if pairs <= 4e8 else 1


def _sample(problem: Problem, rows: int, rng: np.random.Generator) -> tuple[Problem | None, Indices]:
    """A sample of the rows, with the columns of at least four observed values; and the indices of these.

    The sample is None if it has fewer than two columns.
    """
    given = problem.given[problem.rows]
    if len(given) > rows:
        given = given[np.sort(rng.permutation(len(given))[:rows])]
    sufficient = (~np.isnan(given)).sum(axis=0) >= 4
    groups = [group for group in problem.groups if sufficient[list(group)].all()]
    columns = sorted(column for group in groups for column in group)
    if len(columns) < 2 or len(columns) <= problem.n_context:
        return None, np.array(columns, dtype=np.intp)
    place = {column: position for position, column in enumerate(columns)}
    sample = Problem.of(
        given[:, columns],
        groups=[[place[column] for column in group] for group in groups],
        bounds=problem.bounds[:, columns],
        weights=problem.scaling.weight[columns],
        n_context=problem.n_context,
    )
    return sample, np.array(columns, dtype=np.intp)
