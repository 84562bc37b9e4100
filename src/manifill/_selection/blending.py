"""Blending: which fillers fill a problem, and their weights, found on held-out entries."""

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from manifill._arrays import Array, Indices, to_numpy
from manifill._fillers import Fill, Filler, Run
from manifill._fillers.field import FieldFiller, stages_for
from manifill._fillers.lags import Interpolation, LaggedSweeper
from manifill._fillers.local_regression import LocalRegression
from manifill._fillers.metric import MetricFill, MetricFiller
from manifill._fillers.sweep import Sweeper
from manifill._problem import Problem
from manifill._validation import Evidence, HeldOut, root_mean_square, stack
from manifill.solvers import Landmarks, Local

_log = logging.getLogger(__name__)

# Size of a validation run of several fillers: at most _MAX_ENTRIES entries and _MAX_ROWS rows, at least
# _MIN_ROWS rows. Its time grows with the cube of the rows. The limit of 1,500 rows halved the time on the
# sensor logs of docs/benchmarks/sensors.md. Set by hand, not tuned.
_MAX_ENTRIES, _MAX_ROWS, _MIN_ROWS = 200 * 4096, 1500, 50
# Columns up to which a sweep with lag features, which double the columns, is used. Set by hand. On air
# quality (12 columns, 30 % missing) the RMSE is .127 with it and .152 without. On traffic (207 columns)
# nearly all weight goes to the local regression.
_MAX_COLUMNS_LAGGED = 64
# Columns up to which metrics are learned: the linear start of their predictors takes d³ operations per row.
_MAX_COLUMNS_METRIC = 100
# Entries of a table up to which metrics are used: two minutes of work on two cores. Set by hand, not tuned.
_MAX_ENTRIES_METRIC = 2_000_000


@dataclass(frozen=True, eq=False)
class Blend:
    """Weights of several fills, found on held-out entries.

    Attributes
    ----------
    weights : name of the fill → its weight.
    evidence : held-out entries and their values in the blend.
    errors : name of the fill → its own root mean square error on them, in standard deviations.
    scale : root mean square of the columns' standard deviations, in the user's units.
    """

    weights: dict[str, float]
    evidence: Evidence
    errors: dict[str, float]
    scale: float

    @property
    def error(self) -> float:
        """Expected root mean square error, in the user's units; NaN if no entry could be held out."""
        return self._rms(self.evidence.errors)

    @property
    def simple_error(self) -> float:
        """The same for a fill by the mean."""
        return self._rms(self.evidence.truth)

    def _rms(self, errors: Array) -> float:
        return self.scale * root_mean_square(np.sqrt(self.evidence.weight) * errors)


def fillers_for(problem: Problem, sweeper: Sweeper | None) -> tuple[Filler, ...]:
    """The fillers that are suited to a problem, in the order in which they run. Add a new filler here.

    Fast fillers come first, since a time limit may stop the others. The last one is used alone if no entry
    can be held out.
    """
    in_time, layout = problem.moments is not None, problem.layout
    if layout is None and not in_time and sweeper is not None:
        return (sweeper,)
    heterogeneous = layout is None or not layout.homogeneous
    found: list[Filler] = [Interpolation()] if in_time and heterogeneous else []
    if sweeper is not None:
        found.append(sweeper)
        lagged = in_time and heterogeneous and problem.shape[1] <= _MAX_COLUMNS_LAGGED
        if lagged:
            found.append(LaggedSweeper(sweeper))
        if heterogeneous:
            found.append(LocalRegression(after=LaggedSweeper.name if lagged else sweeper.name))
    return (*found, FieldFiller(stages_for(problem)))


def others_for(problem: Problem, sweeper: Sweeper) -> tuple[Filler, ...]:
    """Fillers that may be blended with the sweep over a table without times and layout: of long tables."""
    n, d = problem.shape
    long = isinstance(sweeper.ensemble.solver, Landmarks | Local) and n * d <= _MAX_ENTRIES_METRIC
    return (MetricFiller(),) if long and 2 <= d <= _MAX_COLUMNS_METRIC else ()


def add_others(
    held_out: Sequence[HeldOut],
    swept: Array,
    shrinkage: Array,
    others: Sequence[Filler],
    run: Run,
    rng: np.random.Generator,
) -> tuple[dict[str, float], Array, list[Filler]]:
    """Weights of the sweep and of other fillers, the blended values (h,), and the fillers as fitted.

    Parameters
    ----------
    held_out : sets of held-out entries.
    swept : (h,), values of the sweep for them.
    shrinkage : (d,), of the sweep; columns with 0 get their mean.
    others : the other fillers. What they learn on the first set is used for the others and for the table.
    """
    if not others or run.time_is_up:
        return {Sweeper.name: 1.0}, swept, []
    found, used, left_out = [swept], [], shrinkage == 0
    for filler in others:
        one: Filler = replace(filler, left_out=left_out) if isinstance(filler, MetricFiller) else filler
        values = []
        for held in held_out:
            *_, fill = one.steps(held.problem, rng, replace(run, deadline=math.inf), None)
            values.append(held.found(to_numpy(fill.Z)))
            if isinstance(one, MetricFiller) and isinstance(fill, MetricFill):
                one = replace(one, metrics=fill.metrics)
        found.append(np.concatenate(values))
        used.append(one)
        if run.time_is_up:
            break
    truth, rows, weight = (
        np.concatenate([getattr(held, name) for held in held_out]) for name in ("truth", "rows", "weight")
    )
    shares = stack(np.stack(found), truth, len(found), entry_weights=weight, folds=rows % 2)
    if not shares.any():
        shares[0] = 1.0
    names = [Sweeper.name, *(one.name for one in used)]
    for name, share, own in zip(names, shares, found, strict=True):
        _log.info("%s: error %.3g, weight %.2f", name, root_mean_square(own - truth), share)
    return dict(zip(names, shares.tolist(), strict=True)), shares @ np.stack(found), used


def validation_rows(problem: Problem, rng: np.random.Generator) -> Indices:
    """Rows in which entries are held out: all, or a random part; one stretch if rows have times."""
    n, d = problem.shape
    most = min(_MAX_ROWS, max(_MIN_ROWS, _MAX_ENTRIES // d))
    if n <= most:
        return np.arange(n)
    if problem.moments is not None:
        return np.arange(most) + int(rng.integers(0, n - most + 1))
    return np.sort(rng.permutation(n)[:most])


def weigh(
    held_out: HeldOut, rows: Indices, fillers: Sequence[Filler], run: Run, rng: np.random.Generator
) -> Blend:
    """Run every filler on a problem with entries held out in `rows`, and find the weights of the fills."""
    problem = held_out.problem
    if not len(held_out.truth) or problem.M.all():
        return Blend({fillers[-1].name: 1.0}, Evidence.none(problem.shape[1]), {}, math.nan)
    _log.info("validation run on %s held-out entries", f"{len(held_out.truth):,}")
    part = held_out if len(rows) == problem.shape[0] else held_out.within(rows)
    fills: dict[str, Fill] = {}
    for filler in fillers:
        if run.time_is_up and fills:
            break
        one = filler.cold if isinstance(filler, Sweeper) else filler
        for fill in one.steps(part.problem, rng, run, fills.get(one.after or "")):
            fills[fill.name] = fill
            if run.time_is_up:
                break
    bounds = part.problem.standard_bounds
    found = np.stack([part.found(np.clip(to_numpy(fill.Z), *bounds)) for fill in fills.values()])
    weights = stack(found, part.truth, len(found), entry_weights=part.weight, folds=part.rows % 2)
    root_weight, d = np.sqrt(part.weight), problem.shape[1]
    errors = [root_mean_square(root_weight * (one - part.truth)) for one in found]
    for name, weight, error in zip(fills, weights, errors, strict=True):
        _log.info("%s: error %.3g, weight %.2f", name, error, weight)
    deviation = problem.scaling.deviation
    largest = float(deviation.max()) or 1.0  # divided out, since squares of very large numbers overflow
    return Blend(
        dict(zip(fills, weights.tolist(), strict=True)),
        Evidence.of([held_out], weights @ found, np.ones(d)),
        dict(zip(fills, errors, strict=True)),
        largest * root_mean_square(deviation / largest),
    )


def needed(fillers: Sequence[Filler], weights: dict[str, float]) -> list[Filler]:
    """The fillers with positive weight, and those that they start from."""
    wanted = {name for name, weight in weights.items() if weight > 0}
    found: list[Filler] = []
    for filler in reversed(fillers):
        one: Filler | None = filler
        if isinstance(filler, FieldFiller):
            first = {filler.stages[0].name} if len(fillers) == 1 else set()
            one = filler.only(wanted | first)
        elif filler.name not in wanted:
            one = None
        if one is not None:
            found.append(one)
            wanted |= {one.after} if one.after else set()
    return found[::-1]
