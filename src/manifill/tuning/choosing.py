"""The choice: candidates audition on a sample, the chosen ones rehearse on the whole table."""

import math
from dataclasses import dataclass, replace

import numpy as np

from manifill.arrays import Array, Indices, Table, to_numpy
from manifill.kernels import Kernel, Laplacian, SemiLinear
from manifill.progress import say
from manifill.solvers import AnySolver, Landmarks, Local, Ridge
from manifill.sweep import (
    GivenStart,
    LinearStart,
    MeanStart,
    Member,
    Problem,
    Recipe,
    RelativeChange,
    Start,
    StoppingRule,
    SweepLimit,
)
from manifill.tuning.accuracy import Accuracy, Evidence, accuracy, reliance
from manifill.tuning.audition import Stage, Trial
from manifill.tuning.hidden import Hidden, hidden_sets, hide, how_much, large, root_mean_square
from manifill.tuning.plan import Plan, side_by_side
from manifill.tuning.portfolio import CORE, candidates, neighbours, ridge_of, with_ridge

# The table that candidates audition on. What does best there does so on the whole: docs/choosing.md.
_ROWS = 1000
# Columns beyond which candidates fill some of them only.
_WIDE = 512
# Columns up to which a linear start is tried, and how many candidates try it.
_FEW_COLUMNS = 100
_TASTERS = 2
# Where a candidate nobody believed in does best, its neighbours are tried, and so on, this often at most.
_STEPS = 2
# A sweep more is worth its time if it lowers the error on hidden entries by this share.
_WORTH = 2e-3
# Hidden entries whose error is no matter of chance.
_CERTAIN = 1500
# Large tables go on from the rehearsal's fill, which is nearly that of the whole, for this many; for twice as
# many where sweeps are slow to settle.
_WARM_SWEEPS = 3
# How many are made where there is nothing to hide, and so nothing that tells.
_UNTOLD_SWEEPS = 6


@dataclass(frozen=True, eq=False)
class Choice:
    """What was chosen, and what is known of it.

    Attributes
    ----------
    recipe : kernels, solvers and weights to fill with.
    sweeps : how many sweeps are worth doing.
    accuracy : what to expect, column by column.
    trials : all candidates, the best first.
    errors : error on the hidden entries of the whole table after each sweep, in standard deviations.
    relaxation : how many times the change of a sweep is taken, from the second on.
    share, repeats : how much was hidden, and how often.
    start : where to start from; the fill of a rehearsal to go on from.
    evidence : what the rehearsal made of every entry hidden from it.
    """

    recipe: Recipe
    sweeps: int
    accuracy: Accuracy
    trials: tuple[Trial, ...] = ()
    errors: tuple[float, ...] = ()
    relaxation: float = 1.0
    share: float = 0.0
    repeats: int = 0
    start: Start | None = None
    evidence: Evidence | None = None


def choose(
    problem: Problem,
    plan: Plan,
    rng: np.random.Generator,
    *,
    kernel: Kernel | None,
    solver: AnySolver,
    tune_ridge: bool,
) -> Choice:
    """The best recipe for a problem, judged by entries that are hidden from it.

    Parameters
    ----------
    kernel : the user's own; None to choose.
    solver : of the kind to use; its ridge is chosen where `tune_ridge` says so.
    """
    *audition_rngs, rehearsal_rng = rng.spawn(3)
    go_on = plan.start is None
    audition = _audition(problem, plan, audition_rngs, kernel, solver, tune_ridge)
    plan, recipe = audition.plan, audition.recipe
    rehearsed = rehearse(problem, recipe, plan, rehearsal_rng, audition.evidence)
    if go_on and large(problem):
        slow = plan.relaxation > 1.0
        start, sweeps = rehearsed.start, min((1 + slow) * _WARM_SWEEPS, rehearsed.sweeps)
    else:
        start, sweeps = plan.start, rehearsed.sweeps
    return replace(rehearsed, trials=audition.trials, relaxation=plan.relaxation, start=start, sweeps=sweeps)


@dataclass(frozen=True, eq=False)
class _Audition:
    """What came of the audition: how to run, with what, all trials, and what was found on the way."""

    plan: Plan
    recipe: Recipe
    trials: tuple[Trial, ...] = ()
    evidence: Evidence | None = None


def _audition(
    problem: Problem,
    plan: Plan,
    rngs: list[np.random.Generator],
    kernel: Kernel | None,
    solver: AnySolver,
    tune_ridge: bool,
) -> _Audition:
    """Start, kernels, ridges, weights and relaxation, chosen on a sample."""
    sample_rng, stage_rng = rngs
    sample, sampled = _sample(problem, _ROWS, sample_rng)
    wide = problem.shape[1] > _WIDE
    trying = Ridge(ridge_of(solver)) if isinstance(solver, Landmarks) else solver
    pairs = candidates(kernel, trying, tune_ridge, wide)
    unchosen = Recipe.of(kernel or SemiLinear(Laplacian(), 0.3), solver)
    if len(pairs) < 2 or sample is None:
        return _Audition(plan, unchosen)
    believed = len(CORE) if kernel is None and not wide else len(pairs)
    stage = Stage(sample, plan, Recipe.of(*pairs[0]), wide, stage_rng)
    if plan.start is None and plan.max_sweeps > 1 and problem.shape[1] <= _FEW_COLUMNS:
        plan = replace(plan, start=stage.choose_start([MeanStart(), LinearStart()], pairs[:_TASTERS]))
    stage.audition([pair for pair in pairs if pair not in stage.pairs])
    for _ in range(0 if wide else _STEPS):
        best = stage.best
        if best in stage.pairs[:believed]:
            break
        nearby = neighbours(best, kernel is None, tune_ridge)
        stage.audition([pair for pair in nearby if pair not in stage.pairs])
        if stage.error_of(stage.best) > (1 - _WORTH) * stage.error_of(best):
            break
    weights = stage.weights(_most_members(problem, solver) if kernel is None else 1, believed)
    trials = stage.trials(weights)
    members = tuple(
        Member(trial.kernel, with_ridge(solver, ridge_of(trial.solver)), trial.weight)
        for trial in trials
        if trial.weight > 0
    )
    evidence = stage.evidence(weights)
    return _Audition(
        plan=replace(plan, relaxation=stage.relaxation(weights)),
        recipe=Recipe(members) if members else unchosen,
        trials=trials,
        evidence=evidence and replace(evidence, columns=sampled[evidence.columns]),
    )


def rehearse(
    problem: Problem,
    recipe: Recipe,
    plan: Plan,
    rng: np.random.Generator,
    auditioned: Evidence | None = None,
) -> Choice:
    """How well a recipe does on the whole table, and in how many sweeps; its reliance is found on the way.

    `auditioned` is what is known of it already.
    """
    if isinstance(plan.start, GivenStart):  # it may hold the very values that are hidden
        plan = replace(plan, start=MeanStart())
    portion, repeats = how_much(problem)
    hiding_rng, run_rng = rng.spawn(2)
    sets = hidden_sets(problem.given, problem.groups, portion, repeats, hiding_rng, problem.n_context)
    hidden = [hide(problem, entries) for entries in sets]
    if not any(len(one.truth) for one in hidden):
        nothing = Evidence.of(hidden, np.zeros(0))
        unknown = accuracy(nothing, None, problem.scaling.spread, np.ones(problem.shape[1]))
        sweeps = min(_UNTOLD_SWEEPS, plan.max_sweeps)
        return Choice(recipe, sweeps, unknown, share=portion, repeats=repeats, evidence=nothing)
    say(f"rehearsing on {sum(len(one.truth) for one in hidden):,} hidden entries")
    seeds = run_rng.integers(2**32, size=repeats)
    runs = side_by_side(
        lambda task, plan: _watched(task[0], recipe, plan, task[1]),
        list(zip(hidden, seeds, strict=True)),
        plan,
        problem.shape[0],
    )
    truth = np.concatenate([one.truth for one in hidden])
    after = [
        np.concatenate([run.found[min(s, len(run.found) - 1)] for run in runs]) for s in range(_longest(runs))
    ]
    errors = [root_mean_square(found - truth) for found in after[1:]] or [math.nan]
    enough = (1 + _WORTH) * min(errors[plan.opening :], default=math.nan)
    best = next((s for s, error in enumerate(errors) if s >= plan.opening and error <= enough), plan.opening)
    found = after[min(best + 1, len(after) - 1)]
    rehearsed = Evidence.of(hidden, found)
    relied_on = reliance(rehearsed.columns, found, truth, problem.shape[1])
    scaling = problem.scaling
    return Choice(
        recipe=replace(recipe, reliance=relied_on),
        sweeps=best + 1,
        accuracy=accuracy(
            rehearsed,
            auditioned,
            scaling.spread * scaling.magnitude,
            relied_on,
            portion,
        ),
        errors=tuple(errors),
        share=portion,
        repeats=repeats,
        start=GivenStart(runs[0].fill),
        evidence=rehearsed,
    )


@dataclass(frozen=True, eq=False)
class _Run:
    """A rehearsal: what it made of hidden entries at the start and after each sweep, and its best fill."""

    found: list[Array]
    fill: Table


def _watched(hidden: Hidden, recipe: Recipe, plan: Plan, seed: int) -> _Run:
    """A run that ends when sweeps no longer bring its fill nearer to what is hidden."""
    found: list[Array] = []
    errors: list[float] = []
    rules: list[StoppingRule] = [RelativeChange(plan.tol), SweepLimit(plan.max_sweeps)]
    for state in plan.run(hidden.problem, recipe, np.random.default_rng(seed), rules):
        if len(found) <= state.sweep:
            found.append(hidden.found(to_numpy(state.Z)))
            errors.append(root_mean_square(found[-1] - hidden.truth))
        if not errors[-1] > min(errors):
            best = state
        if _levelled_off(errors[1 + plan.opening :], patient=len(hidden.truth) < _CERTAIN):
            break
    return _Run(found, best.X)


def _levelled_off(errors: list[float], patient: bool) -> bool:
    """Has the last sweep made it worse, or was it, and for the patient the one before it, worth little?"""
    if len(errors) < 2:
        return False
    risen = errors[-1] > (1 + _WORTH) * min(errors[:-1])
    last = 2 if patient else 1
    return risen or (len(errors) > last and min(errors[-last:]) > (1 - _WORTH) * min(errors[:-last]))


def _most_members(problem: Problem, solver: AnySolver) -> int:
    """How many kernels may take part: every one costs a run."""
    n, d = problem.shape
    if isinstance(solver, Landmarks | Local):
        return 1
    pairs = float(n) ** 2 * d
    return 4 if pairs <= 2.5e6 else 3 if pairs <= 5e7 else 2 if pairs <= 4e8 else 1


def _sample(problem: Problem, rows: int, rng: np.random.Generator) -> tuple[Problem | None, Indices]:
    """Some of the rows, and the columns with enough of them observed; None where there are not two.

    Also which columns of the problem these are.
    """
    given = problem.given[problem.rows]
    if len(given) > rows:
        given = given[np.sort(rng.permutation(len(given))[:rows])]
    enough = (~np.isnan(given)).sum(axis=0) >= 4
    groups = [group for group in problem.groups if enough[list(group)].all()]
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


def _longest(runs: list[_Run]) -> int:
    return max(len(run.found) for run in runs)
