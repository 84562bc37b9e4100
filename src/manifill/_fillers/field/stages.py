"""Fill a field in stages, which differ in the harmonics of the rows.

1. *columns*: rows are independent, with variances of the columns' harmonics that all rows share.
2. *time*, if rows have times: harmonics along time.
3. *similar rows*, twice: the geometric harmonics of the rows, which are the eigenvectors of a Gaussian kernel
   between the rows as filled so far. This is the paper's kernel, combined with the layout of the columns.

Each stage learns the variances T by stochastic expectation–maximisation: compute the conditional mean of the
missing entries, add one draw about it, and take the mean squared coefficient in every cell of harmonics.
"""

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from manifill._arrays import Array, Table, Tensor, to_numpy
from manifill._axes import Axis, cosines, eigenvectors, separate
from manifill._fillers.base import Fill, Run, SweepRecord
from manifill._fillers.field.field import Field
from manifill._fillers.field.windows import MAX_ROWS, Part, parts
from manifill._problem import Problem
from manifill._threads import Workers, symmetric_product
from manifill.kernels import Gaussian, MedianDistance
from manifill.layouts import Layout, Learned

_log = logging.getLogger(__name__)

# Tolerance of the conditional mean while variances are learned, and of the final one, in conditional standard
# deviations. Set by hand, not tuned.
_LEARNING_TOL, _FINAL_TOL = 0.1, 0.03
# Number of coefficients that the previous round's variance of a cell counts as. Set by hand, not tuned.
_PSEUDO_COUNT = 2.0
# Lower bound on variances, relative to that of the field. Smaller ones are lost in the rounding of the dtype.
_MIN_VARIANCE = {np.dtype(np.float32): 1e-7, np.dtype(np.float64): 1e-10}
# κ² in the initial variances of the columns' harmonics, (κ² + roughness)^−2, the spectrum of a thin plate
# spline. Set by hand, not tuned.
_KAPPA_SQUARED = 0.1**2
# Bandwidth of the Gaussian kernel between rows, in medians of their distances. In a prototype, .35 to .5 was
# best on Olivetti faces.
_BANDWIDTH = 0.5
KERNEL = Gaussian(MedianDistance(_BANDWIDTH))
# Tables of up to this many entries are filled in double precision.
_MAX_DOUBLE_ENTRIES = 2**18


@dataclass(frozen=True)
class Stage:
    """One stage of the filling.

    Attributes
    ----------
    name : name of its fill.
    axis : function from the problem and the fill so far (n, ...) to the harmonics of the rows.
    rounds : number of rounds in which the variances are learned.
    """

    name: str
    axis: Callable[[Problem, Any], Axis]
    rounds: int


def _separate_rows(problem: Problem, Z: Tensor) -> Axis:
    return separate(len(Z))


def _rows_in_time(problem: Problem, Z: Tensor) -> Axis:
    """Cosines if times are evenly spaced; else eigenvectors of exp(−|t − t'| / τ), τ = 10 median steps."""
    times = problem.times
    steps = np.diff(times)
    if not len(steps) or np.allclose(steps, steps[0], rtol=1e-3, atol=0):
        return cosines(len(Z), per_octave=3)
    typical = float(np.median(steps[steps > 0])) if (steps > 0).any() else 1.0
    K = np.exp(-np.abs(times[:, None] - times) / (10 * typical))
    return eigenvectors(K + 1e-6 * np.eye(len(K)), per_octave=3)


def _similar_rows(problem: Problem, Z: Tensor) -> Axis:
    return eigenvectors(_affinities(Z), per_octave=3)


COLUMNS = Stage("columns", _separate_rows, 3)
TIME = Stage("time", _rows_in_time, 3)
SIMILAR_ROWS = Stage("similar rows", _similar_rows, 2)
SIMILAR_ROWS_AGAIN = Stage("similar rows, again", _similar_rows, 1)


def stages_for(problem: Problem) -> tuple[Stage, ...]:
    """The stages that apply to these rows."""
    if len(problem.M) <= 2:
        return (COLUMNS,)
    in_time = () if problem.moments is None else (TIME,)
    return (COLUMNS, *in_time, SIMILAR_ROWS, SIMILAR_ROWS_AGAIN)


@dataclass(frozen=True, eq=False, repr=False)
class FieldFill(Fill):
    """The fill of a stage.

    Attributes
    ----------
    field, variances : the field and T that gave it; None if the rows were filled in several parts.
    parts : the parts of rows that were each filled together.
    """

    field: Field | None = None
    variances: Any = None
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True)
class FieldFiller:
    """Fills a table as a Gaussian field on rows and columns; yields the fill of every stage.

    Attributes
    ----------
    stages : stages to run, in this order.
    """

    stages: tuple[Stage, ...]
    after = None
    extends, needs_moments = True, False

    @property
    def name(self) -> str:
        return self.stages[-1].name

    def only(self, names: set[str]) -> "FieldFiller | None":
        """A filler with the stages up to the last one named; None if no stage has one of these names."""
        last = max((i for i, stage in enumerate(self.stages) if stage.name in names), default=-1)
        return FieldFiller(self.stages[: last + 1]) if last >= 0 else None

    def steps(
        self, problem: Problem, rng: np.random.Generator, run: Run, start: Fill | None
    ) -> Iterator[FieldFill]:
        pieces = tuple(parts(len(problem.M), MAX_ROWS, rng, in_order=problem.moments is not None))
        if len(pieces) == 1:
            for fill in fill_stages(problem, self.stages, rng, run):
                yield replace(fill, parts=pieces)
            return
        found = np.zeros((len(self.stages), *problem.shape))
        for part in pieces:
            for i, fill in enumerate(fill_stages(problem.take(part.rows), self.stages, rng, run)):
                found[i, part.rows] += part.weighted(fill.Z)
        for stage, Z in zip(self.stages, found, strict=True):
            yield FieldFill(problem, np.where(problem.M, Z, problem.Z), name=stage.name, parts=pieces)

    def residuals(self, fill: FieldFill, rng: np.random.Generator, run: Run) -> Array:
        """One draw (n, d) of the errors of the fill, correlated between similar rows and columns."""
        drawn, squares = np.zeros(fill.problem.shape), np.zeros(len(fill.Z))
        up_to = self.only({fill.name}) or self
        for part in fill.parts:
            one = fill
            if one.field is None:
                *_, one = fill_stages(fill.problem.take(part.rows), up_to.stages, rng, run)
            assert one.field is not None
            with Workers(run.n_jobs):
                draw = to_numpy(one.field.deviation(one.variances, rng, 0.1)).reshape(len(part.rows), -1)
            drawn[part.rows] += part.weighted(draw)
            squares[part.rows] += part.share**2
        # Where parts overlap, the weighted mean of independent draws has Σ share² of the variance of one.
        return np.asarray(drawn / np.sqrt(squares)[:, None] * fill.problem.scaling.weight)

    def extension(self, fill: Fill, run: Run) -> "FieldExtension | None":
        layout = fill.problem.layout
        return FieldExtension(fill, run) if layout is not None and layout.homogeneous else None


def fill_stages(
    problem: Problem, plan: tuple[Stage, ...], rng: np.random.Generator, run: Run
) -> Iterator[FieldFill]:
    """Fill stage by stage, each starting from the fill of the previous one."""
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
    dtype = np.dtype(np.float64 if n * d <= _MAX_DOUBLE_ENTRIES else np.float32)
    shape, floor = (n, *layout.shape(d)), _MIN_VARIANCE[dtype]
    flat = before.Z / problem.scaling.weight
    values = flat.reshape(shape).astype(dtype)
    axes = (stage.axis(problem, values), *layout.axes(flat, problem.M))
    field = Field(axes, problem.M.reshape(shape), dtype, run.device)
    Y, missing = field.placed(problem.deviations.reshape(shape)), field.missing
    T, x = field.placed(_first_variances(axes)), None
    if before.variances is not None:
        Z = field.placed(values)
        learned = before.variances.mean(0)[None]
        x, shares = missing * Z, field.variances(field.harmonics(Z) ** 2, learned, _PSEUDO_COUNT, floor)
        # A fill is smoother than the data, so the variances of the columns' harmonics stay as learned. Only
        # their division among the rows' harmonics is estimated from the fill.
        T = shares / shares.mean(0)[None] * learned
    for number in range(stage.rounds):
        if run.time_is_up:
            break
        _log.info("%s: round %d of %d", stage.name, number + 1, stage.rounds)
        x = field.mean(Y, T, _LEARNING_TOL, x)
        drawn = field.harmonics(Y + x + field.deviation(T, rng, 2 * _LEARNING_TOL))
        T = field.variances(drawn**2, T, _PSEUDO_COUNT, floor)
    _log.info("%s: final fill", stage.name)
    x = field.mean(Y, T, _FINAL_TOL, x)
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
        if i:  # not the rows: their variances are learned from the previous fill
            roughness = roughness + axis.roughness.reshape([-1 if j == i else 1 for j in range(len(axes))])
    T = (_KAPPA_SQUARED + roughness) ** -2.0
    return np.asarray(T / T.mean() + 1e-3)


def _affinities(Z: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """`KERNEL` between rows, centred, plus a constant, so that the mean of all rows is a harmonic."""
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
    """Fill rows without any known value: by interpolation in time, or by the mean of the other rows."""
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
    """Fills new rows of homogeneous columns, from the columns' layout and the mean of the fitted rows."""

    fill: Fill
    run: Run

    def complete(self, given: Table, moments: Array | None = None) -> Table:
        """Fill rows (m, d) where they are NaN; rows with nothing observed get the mean of the fitted rows."""
        mean, learned = self._learned
        completed = np.array(given)
        with Workers(self.run.n_jobs):
            for i in np.flatnonzero(np.isnan(given).any(axis=1)):
                row = given[i] - mean
                filled = np.zeros(given.shape[1]) if np.isnan(row).all() else self._filled_row(row, learned)
                completed[i] = np.clip(filled + mean, *self.fill.problem.bounds)
        return np.where(np.isnan(given), completed, given)

    @cached_property
    def _learned(self) -> tuple[Array, FieldFill]:
        """The mean of the fitted rows, and the *columns* stage fitted to their deviations from it."""
        fitted = self.fill.problem
        mean = self.fill.X.astype(np.float64).mean(axis=0)
        problem = fitted.like(fitted.given - mean, bounds=None)
        return mean, next(fill_stages(problem, (COLUMNS,), np.random.default_rng(0), self.run))

    def _filled_row(self, row: Array, learned: FieldFill) -> Array:
        """One row (d,), less the mean, with the conditional mean where it is missing."""
        assert learned.field is not None
        scaling, shape = learned.problem.scaling, learned.field.missing.shape[1:]
        M = np.isnan(row).reshape(1, *shape)
        field = Field((separate(1), *learned.field.axes[1:]), M, learned.field.dtype, self.run.device)
        standard = scaling.standardise(np.where(np.isnan(row), 0.0, row)).reshape(M.shape)
        Y = field.placed(np.where(M, 0.0, standard))
        filled = to_numpy(Y + field.mean(Y, learned.variances, _FINAL_TOL))
        return np.asarray(scaling.restore(filled.reshape(-1).astype(np.float64)))
