"""Local regression per column: kernel ridge regression of each column on the columns most similar to it.

Only a few columns of a wide table predict a given one, and in a kernel over all columns their influence is
small. So each column has its own kernel here, over the 25 columns most similar to it, weighted by similarity.
If rows have times, the predictors also include these columns and the column itself in the rows before and
after, and the column's lag feature. Missing predictors take their current imputed value.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from manifill._arrays import Array, Indices
from manifill._fillers.base import Fill, Run, filled_at_once
from manifill._fillers.field.windows import MAX_ROWS, parts
from manifill._fillers.lags import timeline_of
from manifill._problem import Problem
from manifill._threads import Workers
from manifill.kernels import Laplacian, MedianDistance, Pairs, SemiLinear
from manifill.layouts import Learned
from manifill.solvers import Columns, Ridge

# Chosen on traffic, air quality and weather, with entries missing at random and in runs. Half or twice each
# value costs little (docs/notes/time.md).
# Number of predictors of a column, and the smallest weight of one.
_PREDICTORS, _MIN_WEIGHT = 25, 0.4
# Offsets of the rows before and after, the weight of predictors there, and the weight of the lag feature.
_STEPS, _STEP_WEIGHT, _LAG_WEIGHT = (-2, -1, 1, 2), 0.7, 2.0
_KERNEL, _SOLVER = SemiLinear(Laplacian(MedianDistance(0.5, sample=150)), 1.0), Ridge(0.1)
# A third sweep raised the error on traffic by .5 % (docs/notes/time.md): predictors are then imputed from
# imputed values.
_SWEEPS = 2
# Multiplications in a sweep, about a minute of work. Larger tables are filled in parts of fewer rows, but of
# at least _MIN_ROWS. Set by hand, not tuned.
_MAX_WORK, _MIN_ROWS = 2e12, 300

Predictors = tuple[Indices, Array]
"""Columns most similar to a given one, and their weights."""


@dataclass(frozen=True)
class LocalRegression:
    """Regress each column on its most similar columns, starting from another fill."""

    after: str = "sweep"
    name = "local regression"
    extends = needs_moments = False

    def steps(
        self, problem: Problem, rng: np.random.Generator, run: Run, start: Fill | None
    ) -> Iterator[Fill]:
        assert start is not None
        began, (n, d) = time.monotonic(), problem.shape
        scale = problem.scaling.weight
        similarity = (problem.layout or Learned()).similarity(problem.deviations, problem.M)
        assert similarity is not None  # None only for a grid, which this filler is not used for
        predictors = [_predictors(j, np.abs(row)) for j, row in enumerate(similarity)]
        max_rows = int(np.clip(np.sqrt(_MAX_WORK / (n * d)), _MIN_ROWS, MAX_ROWS))
        found = np.zeros((n, d))
        for part in parts(n, max_rows, rng, in_order=problem.moments is not None):
            with Workers(run.n_jobs):
                filled = _filled(problem.take(part.rows), predictors, (start.Z / scale)[part.rows], rng, run)
            found[part.rows] += part.weighted(filled)
        yield filled_at_once(problem, found * scale, self.name, began, start.Z)

    def extension(self, fill: Fill, run: Run) -> None:
        return None


def _filled(
    problem: Problem, predictors: list[Predictors], Z: Array, rng: np.random.Generator, run: Run
) -> Array:
    """The table (n, d) after local regression of every column, starting from the fill `Z` (n, d).

    Both are in standard deviations of the columns.
    """
    Y, M, Z = problem.deviations, problem.M, Z.copy()
    lags = None if problem.moments is None else timeline_of(problem).features()
    steps = [step for step in _STEPS if abs(step) < len(Z)]
    for _ in range(_SWEEPS):
        for j in rng.permutation(np.flatnonzero(problem.incomplete)):
            if run.time_is_up:
                return Z
            near, weights = predictors[j]
            features = [Z[:, near] * weights]
            if lags is not None:
                around = Z[:, [j, *near]] * np.array([1.0, *weights])
                features += [_STEP_WEIGHT * around[_shifted(len(Z), step)] for step in steps]
                features += [_LAG_WEIGHT * lags[:, [j]]]
            pairs = Pairs.of(np.hstack(features), statistics=_KERNEL.statistics)
            K = _KERNEL.tuned(pairs).matrix(pairs)
            extended, _ = Columns(F=Y[:, [j]], M=M[:, [j]]).extension(K, _SOLVER)
            Z[M[:, j], j] = extended[M[:, j], 0]
    return Z


def _predictors(j: int, similarity: Array) -> Predictors:
    """Predictors of column j, given its absolute similarity (d,) to all columns."""
    order = np.argsort(-similarity, kind="stable")
    near = order[order != j][:_PREDICTORS]
    return near, _MIN_WEIGHT + (1 - _MIN_WEIGHT) * np.minimum(similarity[near], 1.0) ** 2


def _shifted(n: int, step: int) -> Indices:
    """The row `step` rows after each row; at the ends `step` rows before, so no row pairs with itself."""
    rows = np.arange(n)
    inside = (rows + step >= 0) & (rows + step < n)
    return np.asarray(np.where(inside, rows + step, np.clip(rows - step, 0, n - 1)))
