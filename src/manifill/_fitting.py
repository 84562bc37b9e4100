"""Fills a problem step by step. Every table is filled by `fit`.

A table without row times and layout is filled by one filler: by regressions with learned metrics, whose
errors come from known entries that are left out, or by a sweep, which is tuned, validated and run. Other
tables are filled by a blend of fillers. First some known entries are held out. Then the sweep is tuned on the
other entries, all fillers fill the held-out ones, and stacking finds the weights. So the blend is validated
on entries that were not used to choose any filler.
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
from manifill._fillers.metric import MetricFiller, Preset
from manifill._fillers.sweep import GivenStart, Sweeper
from manifill._problem import Problem
from manifill._result import Fitted, Validated
from manifill._validation import Evidence, accuracy, has_others, hold_out_like_missing, odds_of
from manifill.errors import InvalidInput

# Shares of the remaining time: for tuning a sweep that fills the table alone; for tuning the sweep of a
# blend; and then for the validation run of all fillers. Set by hand, not tuned.
_TUNING_SHARE, _BLEND_TUNING_SHARE, _VALIDATION_SHARE = 0.5, 0.3, 0.5


def fit(
    problem: Problem, choices: selection.Candidates | None, run: Run, rng: np.random.Generator
) -> Iterator[Fitted]:
    """Fill a problem. Yields the state at the start and after every step; the last one is the result.

    `choices` are the choices for the sweep; None to fill without it.
    """
    tuning_rng, final_rng = rng.spawn(2)
    if choices is not None and choices.preset is not None and selection.fits_by_column(problem):
        return _by_column(problem, choices.preset, choices.sweeper.tol, run, final_rng)
    if problem.predictors.restricted:
        raise InvalidInput("Only regressions with learned metrics can keep columns from helping others.")
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
        selection.tune(problem, choices, _with_time_share(run, _TUNING_SHARE), tuning_rng)
        if choices.needs_tuning
        else None
    )
    sweeper = choices.sweeper if tuning is None else tuning.sweeper
    validated: Validated | partial[Validated] = partial(_validate_later, problem, sweeper, run, tuning_rng)
    if tuning is not None:
        validated = tuning.evidence, tuning.accuracy
    base = replace(
        unfilled(problem, [sweeper], run), weights={sweeper.name: 1.0}, tuning=tuning, validated=validated
    )
    for swept in sweeper.steps(problem, rng, run, None):
        fill = _usable(swept)
        yield replace(base, fill=fill, fills={sweeper.name: fill})


def _by_column(
    problem: Problem, preset: Preset, tol: float, run: Run, rng: np.random.Generator
) -> Iterator[Fitted]:
    """Fill by regressions with learned metrics; known entries that are left out in turn are the evidence."""
    odds = odds_of(problem) * has_others(problem)
    filler = MetricFiller(preset, odds, tol)
    base = replace(unfilled(problem, [filler], run), weights={filler.name: 1.0})
    for swept in filler.steps(problem, rng, run, None):
        if not swept.sweeps:
            yield replace(base, fill=_usable(swept))
            continue
        evidence = selection.left_out_evidence(swept, odds)
        fill = swept.shrunk(evidence.shrinkage)
        judged = evidence, accuracy(evidence, problem, odds)
        yield replace(base, fill=fill, fills={filler.name: fill}, validated=judged)


def _validate_later(problem: Problem, sweeper: Sweeper, run: Run, rng: np.random.Generator) -> Validated:
    """Validation run of a sweep that was not tuned, made when its accuracy is first requested."""
    found = selection.validate(problem, sweeper, replace(run, deadline=math.inf), rng, shrink=False)
    return found.evidence, found.accuracy


def _with_time_share(run: Run, share: float) -> Run:
    """The run with a deadline after this share of the remaining time."""
    now = time.monotonic()
    return replace(run, deadline=now + share * (run.deadline - now))


def _usable(fill: Fill) -> Fill:
    """The fill, or the column means if the run ended before its first sweep was complete."""
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
    base = unfilled(problem, fillers, run)
    if problem.nothing_missing:
        yield replace(base, fill=replace(base.fill, status=Status.NOTHING_MISSING))
        return
    yield base
    rows = selection.validation_rows(problem, holdout_rng)
    held_out = hold_out_like_missing(problem, rows, holdout_rng)
    tuning = None
    if choices is not None and choices.needs_tuning and not held_out.problem.M.all(axis=0).any():
        tuning = _tuned(held_out.problem, choices, _with_time_share(run, _BLEND_TUNING_SHARE), sweep_rng)
        fillers = selection.fillers_for(problem, tuning.sweeper)
    blend = selection.weigh(held_out, rows, fillers, _with_time_share(run, _VALIDATION_SHARE), validation_rng)
    base = replace(
        base,
        weights=blend.weights,
        filler_errors=blend.errors,
        fillers=fillers,
        tuning=tuning,
        seed=int(rng.integers(2**32)),
        validated=_validated(problem, blend.evidence),
    )
    yield from run_all(base, selection.needed(fillers, blend.weights), run, rng)


def unfilled(problem: Problem, fillers: Sequence[Filler], run: Run) -> Fitted:
    """The state before the first step: the column means, without weights and held-out entries."""
    start, nothing = (
        Fill(problem, problem.Z, name="start"),
        _validated(problem, Evidence.none(problem.shape[1])),
    )
    return Fitted(problem, start, {}, {}, tuple(fillers), {}, None, run, 0, nothing)


def _validated(problem: Problem, evidence: Evidence) -> Validated:
    return evidence, accuracy(evidence, problem)


def _tuned(
    problem: Problem, choices: selection.Candidates, run: Run, rng: np.random.Generator
) -> selection.Tuning:
    """Tune the sweep, which uses neither row times nor layout."""
    plain = replace(problem.take(~problem.M.all(axis=1)), layout=None, moments=None)
    tuning = selection.tune(plain, choices, run, rng)
    start = tuning.sweeper.start
    if isinstance(start, GivenStart) and not isinstance(choices.sweeper.start, GivenStart):
        values = problem.restore(problem.Z)  # the fill of the validation run, for all rows of the table
        values[problem.rows[~problem.M.all(axis=1)]] = start.values
        start = GivenStart(values)
    return replace(tuning, sweeper=replace(tuning.sweeper, start=start))


def run_all(base: Fitted, fillers: Sequence[Filler], run: Run, rng: np.random.Generator) -> Iterator[Fitted]:
    """Run the fillers one after the other; yields the blend of the fills so far after each step."""
    fills: dict[str, Fill] = {}
    trace, late = base.fill.trace, False

    def so_far(status: Status, name: str) -> Fitted:
        blend = Fill(base.problem, _blend_of(base, fills), trace, status, name)
        return replace(base, fill=blend, fills=dict(fills))

    for filler in fillers:
        earlier = trace
        for fill in filler.steps(base.problem, rng, run, fills.get(filler.after or "")):
            fills[fill.name] = _usable(fill)
            if fill.sweep > 0:
                trace = earlier + _renumbered(fill.trace[1:], earlier[-1].sweep)
                yield so_far(Status.RUNNING, fill.name)
            late = run.time_is_up
            if late:
                break
        if late:
            break
    tried = base.filler_errors
    late = late or (bool(tried) and any(one.name not in tried for one in base.fillers))
    yield so_far(Status.TIME_LIMIT if late else Status.BLENDED, "blend")


def _renumbered(records: tuple[SweepRecord, ...], before: int) -> tuple[SweepRecord, ...]:
    """The records with sweeps numbered from `before` + 1."""
    return tuple(replace(record, sweep=before + i + 1) for i, record in enumerate(records))


def _blend_of(base: Fitted, fills: dict[str, Fill]) -> Array:
    """The weighted sum of the fills; if some are not there yet, the other weights are scaled up.

    Without any fill, because none has weight, it is the column means.
    """
    problem = base.problem
    weights = {name: base.weights.get(name, 0.0) for name in fills}
    total, done = sum(base.weights.values()), sum(weights.values())
    Z: Array = to_numpy(list(fills.values())[-1].Z) if fills else problem.Z
    if done:
        shares = {name: weight * total / done for name, weight in weights.items() if weight}
        Z = np.sum([share * to_numpy(fills[name].Z) for name, share in shares.items()], axis=0)
    return np.where(problem.M, np.clip(Z, *problem.standard_bounds), problem.Z)
