"""Filling a field, in stages that learn more and more from its rows.

1. *columns*: every row for itself, with variances of the columns' harmonics that all rows share.
2. *time*: where rows have moments, on harmonics along time.
3. *similar rows*, twice: on the geometric harmonics of the rows, the eigenvectors of a Gaussian kernel
   between the rows as they are filled by then: the paper's kernel, with the columns' layout beside it.

In each the variances T are learned by expectation and maximisation: expect the missing entries, add one draw
of how far off they may be, and take the mean power of every cell of harmonics.
"""

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from manifill._arrays import Array, Table, to_numpy
from manifill._axes import Axis, cosines, eigenvectors, separate
from manifill._fillers.base import Fill, Run, SweepRecord
from manifill._fillers.field.field import Field
from manifill._fillers.field.windows import MAX_ROWS, Part, parts
from manifill._problem import Problem
from manifill._threads import Workers, symmetric_product
from manifill.kernels import Gaussian, MedianDistance
from manifill.layouts import Layout, Learned

_log = logging.getLogger(__name__)

# How exactly entries are expected while variances are learned, and at last; in standard deviations.
_ROUGHLY, _EXACTLY = 0.1, 0.03
# Pseudo-count of coefficients that the variances of the round before stand for.
_PSEUDO_COUNT = 2.0
# Variances are no less than this, of the field's: what single and double precision can tell from zero.
_MIN_VARIANCE = {np.dtype(np.float32): 1e-7, np.dtype(np.float64): 1e-10}
# A start for the variances of columns' harmonics: (κ² + roughness)^−2, the smoothness of thin plates.
_FLAT = 0.1**2
# Bandwidth of the Gaussian kernel between rows, in medians of their distances.
_BANDWIDTH = 0.5
KERNEL = Gaussian(MedianDistance(_BANDWIDTH))
# Entries up to which double precision costs next to nothing.
_SMALL = 2**18


@dataclass(frozen=True)
class Stage:
    """What rows have to do with each other.

    Attributes
    ----------
    name : of the fill.
    axis : the rows' harmonics, given the problem and the fill so far (n, ...).
    rounds : how often variances are learned.
    """

    name: str
    axis: Callable[[Problem, Any], Axis]
    rounds: int


def _separate_rows(problem: Problem, Z: Any) -> Axis:
    return separate(len(Z))


def _rows_in_time(problem: Problem, Z: Any) -> Axis:
    """Cosines at even steps; else eigenvectors of exp(−|t − t'| / τ), which are nearly that, τ ten steps."""
    times = problem.times
    steps = np.diff(times)
    if not len(steps) or np.allclose(steps, steps[0], rtol=1e-3, atol=0):
        return cosines(len(Z), per_octave=3)
    typical = float(np.median(steps[steps > 0])) if (steps > 0).any() else 1.0
    K = np.exp(-np.abs(times[:, None] - times) / (10 * typical))
    return eigenvectors(K + 1e-6 * np.eye(len(K)), per_octave=3)


def _similar_rows(problem: Problem, Z: Any) -> Axis:
    return eigenvectors(_affinities(Z), per_octave=3)


COLUMNS = Stage("columns", _separate_rows, 3)
TIME = Stage("time", _rows_in_time, 3)
SIMILAR_ROWS = Stage("similar rows", _similar_rows, 2)
SIMILAR_ROWS_AGAIN = Stage("similar rows, again", _similar_rows, 1)


def stages_for(problem: Problem) -> tuple[Stage, ...]:
    """Stages that make sense for these rows."""
    if len(problem.M) <= 2:
        return (COLUMNS,)
    in_time = () if problem.moments is None else (TIME,)
    return (COLUMNS, *in_time, SIMILAR_ROWS, SIMILAR_ROWS_AGAIN)


@dataclass(frozen=True, eq=False, repr=False)
class FieldFill(Fill):
    """A fill after a stage, with the field and variances that gave it; None where rows are in many parts.

    Attributes
    ----------
    parts : the rows that were filled together.
    """

    field: Field | None = None
    variances: Any = None
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True)
class FieldFiller:
    """Both geometries at once: fills of every stage.

    Attributes
    ----------
    stages : to run, one after the other.
    """

    stages: tuple[Stage, ...]
    after = None
    extends, needs_moments = True, False

    @property
    def name(self) -> str:
        return self.stages[-1].name

    def only(self, names: set[str]) -> "FieldFiller | None":
        """The stages up to the last of these names; None where there is none."""
        last = max((i for i, stage in enumerate(self.stages) if stage.name in names), default=-1)
        return FieldFiller(self.stages[: last + 1]) if last >= 0 else None

    def steps(
        self, problem: Problem, rng: np.random.Generator, run: Run, start: Fill | None
    ) -> Iterator[FieldFill]:
        whole = tuple(parts(len(problem.M), MAX_ROWS, rng, in_order=problem.moments is not None))
        if len(whole) == 1:
            for fill in fill_stages(problem, self.stages, rng, run):
                yield replace(fill, parts=whole)
            return
        found = np.zeros((len(self.stages), *problem.shape))
        for part in whole:
            for i, fill in enumerate(fill_stages(problem.take(part.rows), self.stages, rng, run)):
                found[i, part.rows] += part.spread(fill.Z)
        for stage, Z in zip(self.stages, found, strict=True):
            yield FieldFill(problem, np.where(problem.M, Z, problem.Z), name=stage.name, parts=whole)

    def residuals(self, fill: FieldFill, rng: np.random.Generator, run: Run) -> Array:
        """(n, d), one draw of how far the fill may be off, entries of similar rows and columns together."""
        off, together = np.zeros(fill.problem.shape), np.zeros(len(fill.Z))
        up_to = self.only({fill.name}) or self
        for part in fill.parts:
            one = fill
            if one.field is None:
                *_, one = fill_stages(fill.problem.take(part.rows), up_to.stages, rng, run)
            assert one.field is not None
            with Workers(run.n_jobs):
                drawn = to_numpy(one.field.deviation(one.variances, rng, 0.1)).reshape(len(part.rows), -1)
            off[part.rows] += part.spread(drawn)
            together[part.rows] += part.share**2
        # Where parts overlap two draws are averaged, which vary less than one.
        return np.asarray(off / np.sqrt(together)[:, None] * fill.problem.scaling.weight)

    def extension(self, fill: Fill, run: Run) -> "FieldExtension | None":
        layout = fill.problem.layout
        return FieldExtension(fill, run) if layout is not None and layout.homogeneous else None


def fill_stages(
    problem: Problem, plan: tuple[Stage, ...], rng: np.random.Generator, run: Run
) -> Iterator[FieldFill]:
    """Fill stage by stage, each starting from the fill of the one before."""
    fill = FieldFill(problem, problem.Z, name="start")
    for stage in plan:
        began = time.monotonic()
        with Workers(run.n_jobs):
            found = _filled(problem, stage, fill, rng, run)
        moved = (found.Z - fill.Z)[problem.M]
        change = float(np.sqrt(np.mean(moved**2))) if moved.size else 0.0
        record = SweepRecord(sweep=fill.sweep + 1, change=change, seconds=time.monotonic() - began)
        fill = replace(found, trace=(*fill.trace, record))
        yield fill


def _filled(
    problem: Problem, stage: Stage, before: FieldFill, rng: np.random.Generator, run: Run
) -> FieldFill:
    layout = _layout(problem)
    n, d = problem.shape
    dtype = np.dtype(np.float64 if n * d <= _SMALL else np.float32)
    shape, least = (n, *layout.shape(d)), _MIN_VARIANCE[dtype]
    flat = before.Z / problem.scaling.weight
    values = flat.reshape(shape).astype(dtype)
    axes = (stage.axis(problem, values), *layout.axes(flat, problem.M))
    field = Field(axes, problem.M.reshape(shape), dtype, run.device)
    Y, missing = field.placed(problem.deviations.reshape(shape)), field.missing
    T, x = field.placed(_first_variances(axes)), None
    if before.variances is not None:
        Z = field.placed(values)
        learned = before.variances.mean(0)[None]
        x, shares = missing * Z, field.variances(field.harmonics(Z) ** 2, learned, _PSEUDO_COUNT, least)
        # A fill is smoother than what it fills. So of it only the shares of the rows' harmonics are taken.
        T = shares / shares.mean(0)[None] * learned
    for number in range(stage.rounds):
        if run.time_is_up:
            break
        _log.info("%s: round %d of %d", stage.name, number + 1, stage.rounds)
        x = field.mean(Y, T, _ROUGHLY, x)
        drawn = field.harmonics(Y + x + field.deviation(T, rng, 2 * _ROUGHLY))
        T = field.variances(drawn**2, T, _PSEUDO_COUNT, least)
    _log.info("%s: the fill itself", stage.name)
    x = field.mean(Y, T, _EXACTLY, x)
    filled = to_numpy(Y + x).reshape(n, d).astype(np.float64)
    if stage == COLUMNS:
        filled = _with_empty_rows(filled, problem)
    Z = np.where(problem.M, filled * problem.scaling.weight, problem.Z)
    return FieldFill(problem, Z, name=stage.name, field=field, variances=T)


def _layout(problem: Problem) -> Layout:
    return Learned() if problem.layout is None else problem.layout


def _first_variances(axes: tuple[Axis, ...]) -> npt.NDArray[Any]:
    roughness = np.zeros((1,) * len(axes))
    for i, axis in enumerate(axes):
        if i:  # rows do not count: their variances are those of a fill
            roughness = roughness + axis.roughness.reshape([-1 if j == i else 1 for j in range(len(axes))])
    T = (_FLAT + roughness) ** -2.0
    return np.asarray(T / T.mean() + 1e-3)


def _affinities(Z: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """`KERNEL` between rows, centred, with a constant part: the mean of all rows is a harmonic."""
    flat = Z.reshape(len(Z), -1)
    products = symmetric_product(flat, np.ascontiguousarray(flat.T)).astype(np.float64)
    squares = np.diag(products)
    D = np.clip(squares[:, None] + squares - 2 * products, 0, None)
    typical = np.median(D[D > 0]) if (D > 0).any() else 1.0
    K = np.exp(-D / (2 * _BANDWIDTH**2 * typical))
    K -= K.mean(axis=0)
    K -= K.mean(axis=1)[:, None]
    return np.asarray(K / max(np.trace(K) / len(K), 1e-12) + 1)


def _with_empty_rows(Z: Array, problem: Problem) -> Array:
    """Rows without any known value: between those before and after them in time, or the mean of all rows."""
    empty = problem.M.all(axis=1)
    if not empty.any() or empty.all():
        return Z
    Z = Z.copy()
    if problem.moments is None:
        Z[empty] = Z[~empty].mean(axis=0)
        return Z
    times = problem.times
    for column in Z.T:
        column[empty] = np.interp(times[empty], times[~empty], column[~empty])
    return Z


@dataclass(frozen=True, eq=False)
class FieldExtension:
    """What fills new rows of homogeneous columns: the columns' layout, and the mean of the fitted rows."""

    fill: Fill
    run: Run

    def complete(self, given: Table, moments: Array | None = None) -> Table:
        """Fill rows (m, d) where they are NaN; with nothing observed, by the mean of the fitted rows."""
        mean, learned = self._learned
        whole = np.array(given)
        with Workers(self.run.n_jobs):
            for i in np.flatnonzero(np.isnan(given).any(axis=1)):
                row = given[i] - mean
                filled = np.zeros(given.shape[1]) if np.isnan(row).all() else self._expected(row, learned)
                whole[i] = np.clip(filled + mean, *self.fill.problem.bounds)
        return np.where(np.isnan(given), whole, given)

    @cached_property
    def _learned(self) -> tuple[Array, FieldFill]:
        """The mean of the fitted rows, and what is learned of their columns around it."""
        fitted = self.fill.problem
        mean = self.fill.X.astype(np.float64).mean(axis=0)
        problem = fitted.like(fitted.given - mean, bounds=None)
        return mean, next(fill_stages(problem, (COLUMNS,), np.random.default_rng(0), self.run))

    def _expected(self, row: Array, learned: FieldFill) -> Array:
        """One row (d,) less the mean, with expected values where it is missing."""
        assert learned.field is not None
        scaling, shape = learned.problem.scaling, learned.field.missing.shape[1:]
        M = np.isnan(row).reshape(1, *shape)
        field = Field((separate(1), *learned.field.axes[1:]), M, learned.field.dtype, self.run.device)
        standard = scaling.standardise(np.where(np.isnan(row), 0.0, row)).reshape(M.shape)
        Y = field.placed(np.where(M, 0.0, standard))
        filled = to_numpy(Y + field.mean(Y, learned.variances, _EXACTLY))
        return np.asarray(scaling.restore(filled.reshape(-1).astype(np.float64)))
