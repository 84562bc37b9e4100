"""From a problem to its fill, step by step: the one way that every table is filled.

One filler, the sweep, is tuned, validated and run. Of several, known entries are held out first; then the
sweep is tuned on what is left, all fillers fill that, and the weights of their blend are those that come
closest to the held-out entries. So a blend is judged on entries that no filler was chosen on.
"""

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

import manifill._selection as selection
from manifill._arrays import Array, to_numpy
from manifill._fillers import Fill, Filler, Run, Status, SweepRecord
from manifill._fillers.sweep import GivenStart, Sweeper
from manifill._problem import Problem
from manifill._result import Fitted, Judged
from manifill._validation import Evidence, accuracy, hold_out_like_missing

# Shares of the time limit: for tuning a sweep alone; of a blend, for tuning the sweep, and of what is then
# left for the validation run of all fillers.
_TUNING_SHARE, _BLEND_TUNING_SHARE, _VALIDATION_SHARE = 0.5, 0.3, 0.5


def fit(
    problem: Problem, choices: selection.Candidates | None, run: Run, rng: np.random.Generator
) -> Iterator[Fitted]:
    """Fill a problem: yields what is known at the start and after every step; the last is the result.

    `choices` is what is to be chosen for the sweep; None where it takes no part.
    """
    tuning_rng, final_rng = rng.spawn(2)
    if choices is not None and problem.layout is None and problem.moments is None:
        return _sweep_only(problem, choices, run, tuning_rng, final_rng)
    return _blended(problem, choices, run, tuning_rng, final_rng)


def _sweep_only(
    problem: Problem,
    choices: selection.Candidates,
    run: Run,
    tuning_rng: np.random.Generator,
    rng: np.random.Generator,
) -> Iterator[Fitted]:
    tuning = (
        selection.tune(problem, choices, _part_of(run, _TUNING_SHARE), tuning_rng) if choices.any else None
    )
    sweeper = choices.sweeper if tuning is None else tuning.sweeper
    judged: Judged | partial[Judged] = partial(_on_demand, problem, sweeper, run, tuning_rng)
    if tuning is not None:
        judged = tuning.evidence, tuning.accuracy
    known = replace(
        unfilled(problem, [sweeper], run), weights={sweeper.name: 1.0}, tuning=tuning, judged=judged
    )
    for swept in sweeper.steps(problem, rng, run, None):
        fill = _usable(swept)
        yield replace(known, fill=fill, fills={sweeper.name: fill})


def _on_demand(problem: Problem, sweeper: Sweeper, run: Run, rng: np.random.Generator) -> Judged:
    """Where nothing was chosen: what a validation run says, made when it is asked for."""
    found = selection.validate(problem, sweeper, replace(run, deadline=math.inf), rng, shrink=False)
    return found.evidence, found.accuracy


def _part_of(run: Run, share: float) -> Run:
    """A run that may take a share of the time that is left."""
    now = time.monotonic()
    return replace(run, deadline=now + share * (run.deadline - now))


def _usable(fill: Fill) -> Fill:
    """The fill itself, or the column means where not even one sweep came to a good end."""
    ended = fill.status in (Status.TIME_LIMIT, Status.DIVERGED)
    return replace(fill, Z=fill.problem.Z) if ended and fill.sweep == 0 else fill


def _blended(
    problem: Problem,
    choices: selection.Candidates | None,
    run: Run,
    tuning_rng: np.random.Generator,
    rng: np.random.Generator,
) -> Iterator[Fitted]:
    holdout_rng, sweep_rng, validation_rng = tuning_rng.spawn(3)
    fillers = selection.fillers_for(problem, None if choices is None else choices.sweeper)
    known = unfilled(problem, fillers, run)
    if problem.nothing_missing:
        yield replace(known, fill=replace(known.fill, status=Status.NOTHING_MISSING))
        return
    yield known
    rows = selection.validation_rows(problem, holdout_rng)
    held_out = hold_out_like_missing(problem, rows, holdout_rng)
    tuning = None
    if choices is not None and choices.any and not held_out.problem.M.all(axis=0).any():
        tuning = _tuned(held_out.problem, choices, _part_of(run, _BLEND_TUNING_SHARE), sweep_rng)
        fillers = selection.fillers_for(problem, tuning.sweeper)
    blend = selection.weigh(held_out, rows, fillers, _part_of(run, _VALIDATION_SHARE), validation_rng)
    known = replace(
        known,
        weights=blend.weights,
        filler_errors=blend.errors,
        fillers=fillers,
        tuning=tuning,
        seed=int(rng.integers(2**32)),
        judged=_judged(problem, blend.evidence),
    )
    yield from run_all(known, selection.needed(fillers, blend.weights), run, rng)


def unfilled(problem: Problem, fillers: Sequence[Filler], run: Run) -> Fitted:
    """What is known of a problem before it is filled."""
    start, nothing = Fill(problem, problem.Z, name="start"), _judged(problem, Evidence.none(problem.shape[1]))
    return Fitted(problem, start, {}, {}, tuple(fillers), {}, None, run, 0, nothing)


def _judged(problem: Problem, evidence: Evidence) -> Judged:
    return evidence, accuracy(evidence, None, problem.scaling.deviation)


def _tuned(
    problem: Problem, choices: selection.Candidates, run: Run, rng: np.random.Generator
) -> selection.Tuning:
    """The sweep, tuned without time and layout, of which it knows nothing."""
    plain = replace(problem.take(~problem.M.all(axis=1)), layout=None, moments=None)  # in order of time
    tuning = selection.tune(plain, choices, run, rng)
    start = tuning.sweeper.start
    if isinstance(start, GivenStart) and not isinstance(choices.sweeper.start, GivenStart):
        values = problem.restore(problem.Z)  # the fill of the validation run, in the rows of the whole table
        values[problem.rows[~problem.M.all(axis=1)]] = start.values
        start = GivenStart(values)
    return replace(tuning, sweeper=replace(tuning.sweeper, start=start))


def run_all(known: Fitted, fillers: Sequence[Filler], run: Run, rng: np.random.Generator) -> Iterator[Fitted]:
    """Run the fillers one after the other; after each step, what is known so far."""
    fills: dict[str, Fill] = {}
    trace, late = known.fill.trace, False

    def so_far(status: Status, name: str) -> Fitted:
        blend = Fill(known.problem, _combined(known, fills), trace, status, name)
        return replace(known, fill=blend, fills=dict(fills))

    for filler in fillers:
        earlier = trace
        for fill in filler.steps(known.problem, rng, run, fills.get(filler.after or "")):
            fills[fill.name] = _usable(fill)
            if fill.sweep > 0:
                trace = earlier + _numbered(fill.trace[1:], earlier[-1].sweep)
                yield so_far(Status.RUNNING, fill.name)
            late = run.time_is_up
            if late:
                break
        if late:
            break
    tried = known.filler_errors
    late = late or (bool(tried) and any(one.name not in tried for one in known.fillers))
    yield so_far(Status.TIME_LIMIT if late else Status.BLENDED, "blend")


def _numbered(records: tuple[SweepRecord, ...], before: int) -> tuple[SweepRecord, ...]:
    return tuple(replace(record, sweep=before + i + 1) for i, record in enumerate(records))


def _combined(known: Fitted, fills: dict[str, Fill]) -> Array:
    """The weighted sum of the fills; while some are missing, the weights of the others stand for theirs."""
    problem = known.problem
    weights = {name: known.weights.get(name, 0.0) for name in fills}
    total, done = sum(known.weights.values()), sum(weights.values())
    Z: Array = to_numpy(list(fills.values())[-1].Z)
    if done:
        shares = {name: weight * total / done for name, weight in weights.items() if weight}
        Z = np.sum([share * to_numpy(fills[name].Z) for name, share in shares.items()], axis=0)
    return np.where(problem.M, np.clip(Z, *problem.standard_bounds), problem.Z)
