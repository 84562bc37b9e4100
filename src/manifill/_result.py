"""`Fitted`: what a fit leaves behind. Estimators, reports, saved models and the command line read it."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import cast

import numpy as np

from manifill._arrays import Array, Table, frozen, to_numpy
from manifill._checks import require_number
from manifill._draws import draws
from manifill._fillers import Extension, Fill, Filler, Run
from manifill._fillers.field import Field, FieldFill, FieldFiller
from manifill._fillers.field.stages import KERNEL
from manifill._fillers.sweep import Ensemble, Schedule, Sweeper
from manifill._problem import Groups, Problem
from manifill._selection.tuning import Tuning
from manifill._validation import Accuracy, Errors, Evidence
from manifill.errors import InvalidInput
from manifill.solvers import AnySolver

Judged = tuple[Evidence, Accuracy]


@dataclass(frozen=True, eq=False)
class Fitted:
    """A completed table, how sure each value is, and what fills new rows.

    Attributes
    ----------
    problem : what was filled.
    fill : the fill; a blend where several fillers took part.
    weights : filler's name → its weight in the blend.
    filler_errors : filler's name → its own error on held-out entries, in standard deviations.
    fillers : all that could take part.
    fills : what those gave that were run, by name.
    tuning : how the sweep was tuned; None where kernel and solver were given, or no sweep took part.
    run : device and threads.
    seed : for what is found when first asked for.
    judged : what held-out entries say, and the accuracy of every column; or what finds both when they are
        first asked for.
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
    judged: Judged | Callable[[], Judged] = field(repr=False)

    @property
    def X(self) -> Table:
        """The completed table in the user's units."""
        return self.problem.restore(self.fill.Z)

    @property
    def sweeper(self) -> Sweeper | None:
        """The sweep, where it took part."""
        return next((one for one in self.fillers if isinstance(one, Sweeper)), None)

    @property
    def ensemble(self) -> Ensemble:
        """Kernels and solvers between rows, with weights."""
        if self.sweeper is not None:
            return self.sweeper.ensemble
        return Ensemble.of(KERNEL, cast(AnySolver, Field.solver))

    @property
    def schedule(self) -> Schedule:
        """Which columns are left out together."""
        return Schedule(self.problem.shape[1]) if self.sweeper is None else self.sweeper.schedule

    @property
    def max_sweeps(self) -> int:
        """The limit of sweeps in use."""
        return self.fill.sweep if self.sweeper is None else self.sweeper.max_sweeps

    @cached_property
    def _judged(self) -> Judged:
        return self.judged() if callable(self.judged) else self.judged

    @property
    def evidence(self) -> Evidence:
        """What held-out entries say; where nothing was chosen with them, found when first asked for."""
        return self._judged[0]

    @property
    def accuracy(self) -> Accuracy:
        """What to expect of the fills, column by column."""
        return self._judged[1]

    @cached_property
    def errors(self) -> Errors:
        """Errors to expect of every filled value, in standard units."""
        return Errors(self.problem, to_numpy(self.fill.Z), self.evidence)

    def intervals(self, level: float, limits: Array) -> tuple[Table, Table]:
        """Lower and upper ends that hold each missing value with this probability, within limits (2, d)."""
        require_number("level", level, above=0, below=1)
        half = self.errors.half_widths(level) * self.problem.scaling.weight
        return self._table(self.errors.Z - half, limits), self._table(self.errors.Z + half, limits)

    def draws(self, m: int, rng: np.random.Generator, limits: Array, chosen: Groups = ()) -> Iterator[Table]:
        """Completed tables whose fills are drawn from what the missing values may be."""
        require_number("m", m, least=1, whole=True)
        alone = self.sweeper if len(self.fillers) == 1 else None
        drawn = draws(
            self.errors,
            m,
            rng,
            bounds=self.problem.scaling.standardise(limits),
            chosen=chosen,
            ensemble=None if alone is None else alone.ensemble,
            field=self._field,
            run=self.run,
        )
        return (self._table(Z, limits) for Z in drawn)

    @property
    def _field(self) -> tuple[FieldFiller, FieldFill] | None:
        """The field's filler and the last of its fills, where it took part."""
        last = None
        for fill in self.fills.values():
            last = fill if isinstance(fill, FieldFill) else last
        filler = next((one for one in self.fillers if isinstance(one, FieldFiller)), None)
        return None if last is None or filler is None else (filler, last)

    def complete(self, given: Table, moments: Array | None = None) -> Table:
        """Fill new rows (m, d) in the user's units, each on its own; `moments` is when they were measured."""
        extension = self._extension if moments is None else self._extension_in_time
        if extension is None:
            raise InvalidInput("None of the methods that filled this table can fill new rows.")
        return extension.complete(given, moments)

    @cached_property
    def _extension(self) -> Extension | None:
        return self._best_extension([one for one in self.fillers if not one.needs_moments])

    @cached_property
    def _extension_in_time(self) -> Extension | None:
        return self._best_extension(self.fillers)

    def _best_extension(self, fillers: Sequence[Filler]) -> Extension | None:
        """Of the fillers that can fill new rows, the one with the smallest error on held-out entries."""
        able = [one for one in fillers if one.extends]
        for filler in sorted(able, key=lambda one: self.filler_errors.get(one.name, math.inf)):
            fill = self.fill if isinstance(filler, FieldFiller) else self.fill_of(filler)
            extension = filler.extension(fill, self.run)
            if extension is not None:
                return extension
        return None

    def fill_of(self, filler: Filler) -> Fill:
        """The fill of a filler; one that did not count is run when its fill is asked for."""
        if filler.name in self.fills:
            return self.fills[filler.name]
        before = next((one for one in self.fillers if one.name == filler.after), None)
        start = None if before is None else self.fill_of(before)
        rng, run = np.random.default_rng(self.seed), replace(self.run, deadline=math.inf)
        *_, fill = filler.steps(self.problem, rng, run, start)
        return fill

    def _table(self, Z: Array, limits: Array) -> Table:
        """The completed table in the user's units, with Z where values are missing, held to limits."""
        problem = replace(self.problem, bounds=frozen(limits))
        return problem.restore(Z)
