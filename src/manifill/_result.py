"""`Fitted`: the result of a fit, read by estimators, reports, saved models and the command line."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import cast

import numpy as np

from manifill._arrays import Array, Indices, Table, frozen, to_numpy
from manifill._checks import require_number
from manifill._draws import draws
from manifill._fillers import Extension, Fill, Filler, Run
from manifill._fillers.field import Field, FieldFill, FieldFiller
from manifill._fillers.field.stages import COLUMNS, KERNEL
from manifill._fillers.metric import MetricFill, MetricFiller
from manifill._fillers.sweep import Ensemble, Schedule, Sweeper
from manifill._ordering import Groups
from manifill._problem import Problem
from manifill._selection.tuning import Tuning
from manifill._validation import Accuracy, Errors, Evidence, Medians
from manifill._validation.holdout import root_mean_square
from manifill.errors import InvalidInput
from manifill.solvers import AnySolver

# If each value of a column is known _REPEATED times on average, intervals are extended to a known value that
# is no further away than the share _REACH of the width. Set by hand; on a column of ten distinct values, 90 %
# intervals contain 87 % without it.
_REPEATED, _REACH = 5, 0.05

Validated = tuple[Evidence, Accuracy]
"""Held-out entries with their imputed values, and the accuracy of every column."""


# New rows whose errors are estimated at a time: their distances to some hundred held-out entries are stored.
_ROWS_AT_A_TIME = 20_000


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a table, with their fill.

    Attributes
    ----------
    given : (m, d), the rows in the user's units; NaN where missing.
    Z : (m, d), their fill, in standardised units.
    expected : (m, d), expected errors of missing entries, in standard deviations of the columns; 0 if known.
    """

    given: Table
    Z: Array
    expected: Array


@dataclass(frozen=True, eq=False)
class BlendExtension:
    """Fills new rows by the weighted sum of several extensions."""

    problem: Problem
    parts: tuple[tuple[float, Extension], ...]

    def complete(self, given: Table, moments: Array | None = None) -> Table:
        """Rows (m, d) in the user's units, filled where they are NaN."""
        Z = np.zeros(given.shape)
        for weight, one in self.parts:
            Z += weight * self.problem.scaling.standardise(one.complete(given, moments).astype(np.float64))
        return self.problem.complete(given, Z)


@dataclass(frozen=True, eq=False)
class Fitted:
    """A completed table, with intervals, draws, accuracy, and a model for new rows.

    Attributes
    ----------
    problem : the problem that was filled.
    fill : the fill; a blend if there are several fillers.
    weights : name of the filler → its weight in the blend.
    filler_errors : name of the filler → its own RMS error on held-out entries, in standard deviations.
    fillers : all fillers that are suited to the problem.
    fills : name → fill, of the fillers that were run.
    tuning : result of tuning the sweep; None if kernel and solver were given, or there is no sweep.
    run : device and threads.
    seed : random seed of fills that are computed on first use.
    validated : held-out entries and the accuracy of every column; or a function that computes both on first
        use.
    estimate : "mean" or "median", what missing values are filled with.
    """

    problem: Problem
    fill: Fill
    weights: Mapping[str, float]
    filler_errors: Mapping[str, float]
    fillers: tuple[Filler, ...]
    fills: Mapping[str, Fill]
    tuning: Tuning | None
    run: Run
    seed: int
    validated: Validated | Callable[[], Validated] = field(repr=False)
    estimate: str = "mean"

    @property
    def X(self) -> Table:
        """The completed table in the user's units."""
        if self.estimate == "mean":
            return self.problem.restore(self.fill.Z)
        return self.problem.restore(self._medians.of(to_numpy(self.fill.Z), self.problem.M))

    @cached_property
    def _medians(self) -> Medians:
        return Medians(self.problem, self.evidence)

    @property
    def sweeper(self) -> Sweeper | None:
        """The sweep; None if it is not among the fillers."""
        return next((one for one in self.fillers if isinstance(one, Sweeper)), None)

    @property
    def ensemble(self) -> Ensemble:
        """Kernels between rows and solvers, with weights."""
        if self.sweeper is not None:
            return self.sweeper.ensemble
        fill = self.fills.get(MetricFiller.name)
        if isinstance(fill, MetricFill) and isinstance(self.fillers[0], MetricFiller):
            return fill.ensemble(self.fillers[0].preset)
        return Ensemble.of(KERNEL, cast(AnySolver, Field.solver))

    @property
    def schedule(self) -> Schedule:
        """The blocks of columns that are left out together."""
        if self.sweeper is not None:
            return self.sweeper.schedule
        by_column = isinstance(self.fillers[0], MetricFiller)
        return Schedule() if by_column else Schedule(self.problem.shape[1])

    @property
    def max_sweeps(self) -> int:
        """The limit on the number of sweeps."""
        return self.fill.sweep if self.sweeper is None else self.sweeper.max_sweeps

    @property
    def importances(self) -> Array | None:
        """(d, d), learned weight of each column (second axis) in the fill of each column, or None."""
        learned = isinstance(self.fill, MetricFill) and bool(self.fill.sweeps)
        return cast(MetricFill, self.fill).importances if learned else None

    @property
    def errors_by_sweep(self) -> tuple[float, ...]:
        """RMS error of held-out entries after each sweep, in standard deviations; empty if not measured."""
        if self.tuning is not None:
            return self.tuning.errors
        return self.fill.errors if isinstance(self.fill, MetricFill) else ()

    @cached_property
    def _validated(self) -> Validated:
        return self.validated() if callable(self.validated) else self.validated

    @property
    def evidence(self) -> Evidence:
        """Held-out entries and their imputed values; computed on first use if nothing was tuned."""
        return self._validated[0]

    @property
    def accuracy(self) -> Accuracy:
        """Expected accuracy of every column."""
        of_means = self.accuracy_of_means
        return of_means if self.estimate == "mean" else self._medians.accuracy(of_means)

    @property
    def accuracy_of_means(self) -> Accuracy:
        """The same for fills with the mean."""
        return self._validated[1]

    @cached_property
    def errors(self) -> Errors:
        """Expected errors of the imputed values."""
        return Errors(self.problem, to_numpy(self.fill.Z), self.evidence)

    @cached_property
    def fitted_rows(self) -> Rows:
        """The rows of the table, with their fill and its expected errors."""
        given = self.problem.given
        Z, expected = np.zeros(given.shape), np.ones(given.shape)
        Z[self.problem.rows], expected[self.problem.rows] = self.errors.Z, self.errors.expected
        expected[~np.isnan(given)] = 0.0
        return Rows(given, Z, expected)

    def new_rows(self, given: Table, moments: Array | None = None) -> Rows:
        """New rows (m, d), as in `complete`, with their fill and its expected errors.

        If another method than the one of the fit fills new rows, errors are scaled by its error on held-out
        entries.
        """
        M = np.isnan(given)
        Z = self.problem.scaling.standardise(self._means(given, moments).astype(np.float64))
        expected = np.zeros(M.shape)
        for first in range(0, len(M), _ROWS_AT_A_TIME):
            part = slice(first, first + _ROWS_AT_A_TIME)
            times = None if moments is None else moments[part]
            expected[part] = self.errors.of_new_rows(M[part], Z[part], times)
        expected *= self._extension_for(moments)[1]
        if self._empty_rows_take_no_part:
            expected[self.problem.predictors.empty(M)] = 1.0
            expected[~M] = 0.0
        return Rows(given, Z, expected)

    def intervals(self, level: float, limits: Array, rows: Rows | None = None) -> tuple[Table, Table]:
        """Lower and upper ends of intervals with coverage `level`, clipped to limits (2, d).

        `rows` are those of the fit, or new ones.
        """
        require_number("level", level, above=0, below=1)
        rows = self.fitted_rows if rows is None else rows
        problem = replace(self.problem, bounds=frozen(limits))
        half = np.zeros(rows.expected.shape)
        some = rows.expected > 0
        np.multiply(rows.expected, self.errors.quantiles(level), out=half, where=some)
        half *= problem.scaling.weight
        low, high = (problem.complete(rows.given, rows.Z + sign * half) for sign in (-1, 1))
        empty = problem.predictors.empty(np.isnan(rows.given))
        if empty.any() and self._empty_rows_take_no_part:  # quantiles of the observed values
            tail, given = (1 - level) / 2, self.problem.given
            own = rows.given[empty]
            lowest = np.clip(np.nanquantile(given, tail, axis=0, method="lower"), *limits)
            highest = np.clip(np.nanquantile(given, 1 - tail, axis=0, method="higher"), *limits)
            low[empty], high[empty] = (np.where(np.isnan(own), end, own) for end in (lowest, highest))
        self._include_values(rows.given, low, high)
        return low, high

    def _include_values(self, given: Table, low: Table, high: Table) -> None:
        """Extend intervals, in place, to values that known entries of a column have repeatedly.

        A column that is nearly constant is filled with values near, but not at, its most frequent value, and
        its few other values are rarely among the held-out entries: its intervals would be short and miss it.
        In a column of few distinct values an interval may end shortly before one of them.
        """
        layout = self.problem.layout
        if layout is not None and layout.homogeneous:
            return
        for j, column in enumerate(self.problem.given.T):
            missing, known = np.isnan(given[:, j]), column[~np.isnan(column)]
            if not missing.any() or not known.size:
                continue
            values, counts = np.unique(known, return_counts=True)
            if 2 * counts.max() >= counts.sum():
                mode = values[counts.argmax()]
                low[missing, j] = np.minimum(low[missing, j], mode)
                high[missing, j] = np.maximum(high[missing, j], mode)
            if _REPEATED * len(values) <= counts.sum():
                reach = _REACH * (high[missing, j] - low[missing, j])
                first = values[np.searchsorted(values, low[missing, j] - reach).clip(max=len(values) - 1)]
                last = values[(np.searchsorted(values, high[missing, j] + reach, "right") - 1).clip(min=0)]
                low[missing, j] = np.minimum(low[missing, j], first)
                high[missing, j] = np.maximum(high[missing, j], last)

    def draws(self, m: int, rng: np.random.Generator, limits: Array, one_hot: Groups = ()) -> Iterator[Table]:
        """Multiple imputation: m completed tables, with missing values drawn from their distribution."""
        require_number("m", m, least=1, whole=True)
        alone = self.sweeper if len(self.fillers) == 1 else None
        drawn = draws(
            self.errors,
            m,
            rng,
            bounds=self.problem.scaling.standardise(limits),
            one_hot=one_hot,
            ensemble=None if alone is None else alone.ensemble,
            field=self._field,
            run=self.run,
        )
        tables = (self._table(Z, limits) for Z in drawn)
        return tables if not self._empty_rows.size else self._with_donors(tables, rng, limits)

    @property
    def _empty_rows_take_no_part(self) -> bool:
        """Whether rows without an observed value are filled with the column means."""
        return self.problem.layout is None and self.problem.moments is None

    @cached_property
    def _empty_rows(self) -> Indices:
        """Rows without an observed value that did not take part in the fill."""
        return np.setdiff1d(np.arange(len(self.problem.given)), self.problem.rows)

    def _with_donors(
        self, tables: Iterator[Table], rng: np.random.Generator, limits: Array
    ) -> Iterator[Table]:
        """Give every empty row the values of another row of the same draw, chosen at random.

        So these rows have the joint distribution of all columns.
        """
        for table in tables:
            donors = table[rng.choice(self.problem.rows, len(self._empty_rows))]
            given = self.problem.given[self._empty_rows]
            table[self._empty_rows] = np.where(np.isnan(given), np.clip(donors, *limits), given)
            yield table

    @property
    def _field(self) -> tuple[FieldFiller, FieldFill] | None:
        """The field filler and the last of its fills; None if it was not run."""
        last = None
        for fill in self.fills.values():
            last = fill if isinstance(fill, FieldFill) else last
        filler = next((one for one in self.fillers if isinstance(one, FieldFiller)), None)
        return None if last is None or filler is None else (filler, last)

    def complete(self, given: Table, moments: Array | None = None) -> Table:
        """Fill new rows (m, d) in the user's units, each on its own; `moments` (m,) are their times."""
        filled = self._means(given, moments)
        if self.estimate == "mean":
            return filled
        Z = self.problem.scaling.standardise(filled.astype(np.float64))
        return self.problem.complete(given, self._medians.of(Z, np.isnan(given)))

    def _means(self, given: Table, moments: Array | None) -> Table:
        return self._extension_for(moments)[0].complete(given, moments)

    def _extension_for(self, moments: Array | None) -> tuple[Extension, float]:
        """Model for new rows, and its error relative to that of the fit."""
        extension = self._extension if moments is None else self._extension_in_time
        if extension is None:
            raise InvalidInput(
                "None of the methods that filled this table can fill new rows. Fit on all rows together."
            )
        return extension

    @cached_property
    def _extension(self) -> tuple[Extension, float] | None:
        return self._best_extension([one for one in self.fillers if not one.needs_moments])

    @cached_property
    def _extension_in_time(self) -> tuple[Extension, float] | None:
        return self._best_extension(self.fillers)

    def _best_extension(self, fillers: Sequence[Filler]) -> tuple[Extension, float] | None:
        """Model for new rows: the blend of the fit, or that of the filler with the smallest held-out error.

        The blend is used if each of its fillers has a model.
        """
        able = [one for one in fillers if one.extends]
        used = [one for one in self.fillers if self.weights.get(one.name, 0.0) > 0]
        if len(able) == len(self.fillers) > 1 and self.problem.moments is None:
            parts = [(self.weights[one.name], one.extension(self.fill_of(one), self.run)) for one in used]
            return BlendExtension(self.problem, tuple((w, one) for w, one in parts if one is not None)), 1.0
        for filler in sorted(able, key=lambda one: self.filler_errors.get(one.name, math.inf)):
            field = isinstance(filler, FieldFiller)
            extension = filler.extension(self.fill if field else self.fill_of(filler), self.run)
            if extension is not None:
                error = self.filler_errors.get(COLUMNS.name if field else filler.name, 0.0)
                own = root_mean_square(np.sqrt(self.evidence.weight) * self.evidence.errors)
                return extension, max(1.0, error / own) if own > 0 else 1.0
        return None

    def fill_of(self, filler: Filler) -> Fill:
        """The fill of a filler; computed here if the filler had no weight and was not run."""
        if filler.name in self.fills:
            return self.fills[filler.name]
        before = next((one for one in self.fillers if one.name == filler.after), None)
        start = None if before is None else self.fill_of(before)
        rng, run = np.random.default_rng(self.seed), replace(self.run, deadline=math.inf)
        *_, fill = filler.steps(self.problem, rng, run, start)
        return fill

    def _table(self, Z: Array, limits: Array) -> Table:
        """The completed table in the user's units, with missing values from Z, clipped to limits."""
        problem = replace(self.problem, bounds=frozen(limits))
        return problem.restore(Z)
