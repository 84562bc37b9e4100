"""Which fillers take part in a blend, and what each counts, judged on held-out entries."""

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

# Entries and rows that a validation run of several fillers looks at at most (with more, weights do not become
# better, and its time grows with the cube of the rows), and the fewest rows.
_MAX_ENTRIES, _MAX_ROWS, _MIN_ROWS = 200 * 4096, 1500, 50
# In wider tables lag features add little to the local regression, and cost as much as all columns again.
_MAX_COLUMNS_LAGGED = 64


@dataclass(frozen=True, eq=False)
class Blend:
    """Weights of several fills, found on held-out entries.

    Attributes
    ----------
    weights : fill's name → its weight.
    evidence : what held-out entries say of the weighted sum.
    errors : fill's name → its own root mean square error on them, in standard deviations.
    scale : standard deviation of the columns in the user's units, root mean square over columns.
    """

    weights: dict[str, float]
    evidence: Evidence
    errors: dict[str, float]
    scale: float

    @property
    def error(self) -> float:
        """Root mean square error to expect, in the user's units; NaN where nothing could be held out."""
        return self._size(self.evidence.errors)

    @property
    def simple_error(self) -> float:
        """The same of a fill by the mean."""
        return self._size(self.evidence.truth)

    def _size(self, off: Array) -> float:
        return self.scale * root_mean_square(np.sqrt(self.evidence.weight) * off)


def fillers_for(problem: Problem, sweeper: Sweeper | None) -> tuple[Filler, ...]:
    """The fillers that make sense for a problem, in the order in which they run. A new one is added here.

    Quick ones come first: they are all there is where the time is up. The last one counts alone where
    nothing can be held out.
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
    """Rows in which entries are held out: all, or as many as tell enough; of rows in time one stretch."""
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
    """Fill a problem, with entries held out among `rows`, by every filler, and find weights of the fills."""
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
    weights = stack(found, part.truth, len(found), counts=part.weight, folds=part.rows % 2)
    counts, d = np.sqrt(part.weight), problem.shape[1]
    errors = [root_mean_square(counts * (one - part.truth)) for one in found]
    for name, weight, error in zip(fills, weights, errors, strict=True):
        _log.info("%s: error %.3g, weight %.2f", name, error, weight)
    deviation = problem.scaling.deviation
    largest = float(deviation.max()) or 1.0  # squares of very large numbers would overflow
    return Blend(
        dict(zip(fills, weights.tolist(), strict=True)),
        Evidence.of([held_out], weights @ found, np.ones(d)),
        dict(zip(fills, errors, strict=True)),
        largest * root_mean_square(deviation / largest),
    )


def needed(fillers: Sequence[Filler], weights: dict[str, float]) -> list[Filler]:
    """The fillers that count, and those they start from."""
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
