"""Blending: which fillers fill a problem, and their weights, found on held-out entries."""

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from manifill._arrays import Array, Indices, to_numpy
from manifill._fillers import Fill, Filler, Run
from manifill._fillers.field import FieldFiller, stages_for
from manifill._fillers.lags import Interpolation, LaggedSweeper
from manifill._fillers.local_regression import LocalRegression
from manifill._fillers.sweep import Sweeper
from manifill._problem import Problem
from manifill._validation import Evidence, HeldOut, root_mean_square, stack

_log = logging.getLogger(__name__)

# Size of a validation run of several fillers: at most _MAX_ENTRIES entries and _MAX_ROWS rows, at least
# _MIN_ROWS rows. Its time grows with the cube of the rows. The limit of 1,500 rows halved the time on the
# sensor logs of docs/benchmarks/sensors.md. Set by hand, not tuned.
_MAX_ENTRIES, _MAX_ROWS, _MIN_ROWS = 200 * 4096, 1500, 50
# Columns up to which a sweep with lag features, which double the columns, is used. Set by hand. On air
# quality (12 columns, 30 % missing) the RMSE is .127 with it and .152 without. On traffic (207 columns)
# nearly all weight goes to the local regression.
_MAX_COLUMNS_LAGGED = 64


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
