"""The part of `IGHImputer` that knows how columns lie to each other."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import Any

import numpy as np

from manifill.arrays import Array, Mask, Table, to_numpy
from manifill.checks import as_generator
from manifill.errors import InvalidInput
from manifill.estimators.in_time import WIDEST, what_they_count
from manifill.geometry import (
    Field,
    FieldProblem,
    Filled,
    Geometry,
    Learned,
    Line,
    Restored,
    Stage,
    restore_field,
    stages,
)
from manifill.geometry.axes import separate
from manifill.geometry.columns import Likeness, as_geometry
from manifill.geometry.restoring import Beside
from manifill.geometry.surroundings import from_surroundings, timeline_of
from manifill.sweep import GivenStart, Problem, Recipe, State, Status, SweepLimit, SweepRecord
from manifill.threads import Workers
from manifill.tuning import Accuracy, Plan
from manifill.tuning.accuracy import ColumnAccuracy

# How exactly new rows are expected, in standard deviations of what they may be.
_EXACTLY = 0.03


def geometry_of(columns: Any, rows: Any) -> Geometry | None:
    """The geometry asked for, checked; None where none was. Of rows in order the columns' is learned."""
    if rows is not None and not isinstance(rows, Line):
        raise InvalidInput(f"rows must be None or Line(), for rows in order of time; got {rows!r}.")
    if columns is None:
        return None if rows is None else Learned()
    return as_geometry("columns", columns)


@dataclass(frozen=True, eq=False)
class FieldState:
    """A table whose columns are all alike, such as pixels: before, and after the stages that fill it."""

    problem: FieldProblem
    restored: Restored | None = None
    trace: tuple[SweepRecord, ...] = (SweepRecord(sweep=0),)
    status: Status = Status.RUNNING

    @property
    def sweep(self) -> int:
        return self.trace[-1].sweep

    @property
    def X(self) -> Table:
        return self.problem.complete(self.problem.Y) if self.restored is None else self.restored.X


@dataclass(frozen=True, eq=False)
class FieldModel:
    """What fills rows that come later: each on its own, from the columns' geometry and the rows' mean."""

    state: FieldState
    device: str | None
    n_jobs: int | None

    def complete(self, given: Table) -> Table:
        """Fill rows (m, d) where they are NaN; with nothing observed, by the mean of the fitted rows."""
        mean, learned = self._learned
        whole = np.array(given)
        with Workers(self.n_jobs):
            for i in np.flatnonzero(np.isnan(given).any(axis=1)):
                row = given[i] - mean
                Y = np.zeros(given.shape[1]) if np.isnan(row).all() else self._expected(row[None], learned)
                whole[i] = np.clip(Y + mean, *self.state.problem.bounds)
        return np.where(np.isnan(given), whole, given)

    @cached_property
    def _learned(self) -> tuple[Array, Filled]:
        """The mean of the fitted rows, and what is learned of their columns around it."""
        fitted = self.state.problem
        mean = self.state.X.astype(np.float64).mean(axis=0)
        problem = FieldProblem.of(fitted.given - mean, fitted.columns)
        with Workers(self.n_jobs):
            return mean, next(stages(problem, (Stage("columns"),), np.random.default_rng(0), self.device))

    def _expected(self, row: Array, learned: Filled) -> Array:
        """One row (1, d) less the mean, with what is missing where it is expected."""
        problem = learned.problem
        M = np.isnan(row).reshape(1, *problem.M.shape[1:])
        field = Field((separate(1), *learned.field.axes[1:]), M, problem.Y.dtype, self.device)
        Y = field.placed(np.where(M, 0.0, problem.standard(np.where(np.isnan(row), 0.0, row))))
        filled = to_numpy(Y + field.mean(Y, learned.variances, _EXACTLY))
        return np.asarray((filled * problem.scale + problem.center).reshape(-1))


def fill_alike(
    given: Table, columns: Geometry, rows: Line | None, bounds: Array, plan: Plan, random_state: Any
) -> Iterator[FieldState]:
    """Columns that are all alike: the stages of `manifill.geometry`, and nothing beside them."""
    problem = FieldProblem.of(given, columns, rows, bounds)
    state = FieldState(problem)
    if not problem.M.any():
        whole = Restored(problem, problem.Y, (), None)
        yield replace(state, restored=whole, status=Status.NOTHING_MISSING)
        return
    yield state
    restored = restore_field(problem, as_generator(random_state), device=plan.device, n_jobs=plan.n_jobs)
    moved = (restored.Z - problem.Y)[problem.M].astype(np.float64)
    record = SweepRecord(sweep=len(restored.plan), change=float(np.sqrt(np.mean(moved**2))))
    yield FieldState(problem, restored, (*state.trace, record), Status.SETTLED)


def fill_beside(
    state: State, columns: Geometry, rows: Line | None, recipe: Recipe, plan: Plan, random_state: Any
) -> Restored:
    """Columns of several kinds: rows only, and both geometries, with the weights that hidden entries say."""
    problem = state.problem
    # All rows, also those of which nothing is known: others before and after them may be.
    whole = FieldProblem.of(problem.given, columns, rows, problem.bounds)
    found = whole.standard(state.X)
    # A start that is given is one of the whole table, without companions.
    start = None if isinstance(plan.start, GivenStart) else plan.start
    patient = replace(plan, deadline=math.inf, start=start)

    def swept(part: FieldProblem, companions: Array) -> Any:
        table = np.hstack([part.given, companions])
        empty: Mask = np.asarray(np.isnan(table).all(axis=0))
        table[0, empty] = problem.scaling.restore(np.zeros_like(found[:1]))[0, empty[: len(found[0])]]
        more, weights = companions.shape[1], problem.scaling.weight
        some = Problem.of(
            table,
            groups=problem.groups,
            bounds=np.hstack([problem.bounds, np.full((2, more), [[-np.inf], [np.inf]])]),
            weights=np.append(weights, what_they_count(companions, weights)),
            n_context=more,
        )
        *_, last = patient.run(some, recipe, as_generator(random_state), [SweepLimit(plan.max_sweeps)])
        return part.standard(last.X[:, : len(found[0])])

    @cache
    def rows_only(part: FieldProblem) -> Any:
        return found if part is whole else swept(part, np.empty((len(part.given), 0)))

    @cache
    def in_time(part: FieldProblem) -> Any:
        return swept(part, timeline_of(part).companions())

    beside: list[Beside] = [rows_only]
    # In a wide table companions add little to the surroundings, and cost as much as all rows again.
    if rows is not None and len(found[0]) <= WIDEST:
        beside += [in_time]
    start_of_surroundings = beside[-1]

    def around(geometry: Likeness, part: FieldProblem) -> Any:
        likeness = geometry.likeness(part.Y.astype(np.float64), part.M)
        return from_surroundings(part, likeness, start_of_surroundings(part), as_generator(random_state))

    if isinstance(columns, Likeness):
        beside += [partial(around, columns)]
    if rows is not None:
        beside += [lambda part: timeline_of(part).expected()]
    return restore_field(
        whole, as_generator(random_state), device=plan.device, n_jobs=plan.n_jobs, beside=beside
    )


def accuracy_of(restored: Restored, labels: list[Any]) -> Accuracy:
    """What hidden entries say, column by column."""
    rehearsal = restored.rehearsal
    if rehearsal is None:
        return Accuracy(ColumnAccuracy(label, math.nan, math.nan, 0, 1.0) for label in labels)
    d, columns = len(labels), rehearsal.columns
    number = np.bincount(columns, minlength=d)
    units = np.broadcast_to(restored.problem.scale, (1, *restored.problem.M.shape[1:])).reshape(-1)

    def size(off: Array) -> Array:
        squares = np.bincount(columns, rehearsal.counts * off**2, minlength=d)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(units * np.sqrt(squares / np.bincount(columns, rehearsal.counts, minlength=d)))

    errors, simple = size(rehearsal.misses), size(rehearsal.truths)
    return Accuracy(
        ColumnAccuracy(label, float(errors[j]), float(simple[j]), int(number[j]), 1.0)
        for j, label in enumerate(labels)
    )
