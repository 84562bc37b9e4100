"""The sweeps as a filler, with everything chosen that can be chosen."""

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from manifill._arrays import to_numpy
from manifill._fillers.base import Fill, Run
from manifill._fillers.sweep.ensemble import Ensemble
from manifill._fillers.sweep.loop import sweeps
from manifill._fillers.sweep.newrows import Model
from manifill._fillers.sweep.order import Order, Schedule, random_order
from manifill._fillers.sweep.outcome import SweepFill
from manifill._fillers.sweep.start import GivenStart, LinearStart, Start, mean_start
from manifill._fillers.sweep.stopping import Plateau, RelativeChange, StoppingRule, SweepLimit, TimeLimit
from manifill._problem import Problem

# Sweeps that new rows may take to settle, if the fitted ones did not start at the means either.
_SWEEPS_FROM_MEANS = 20


@dataclass(frozen=True, eq=False)
class Sweeper:
    """Iterated geometric harmonics with given kernels and solvers.

    Attributes
    ----------
    ensemble : kernels and solvers, with weights and shrinkage.
    start : first values; None for the column means, or for what is chosen.
    order, schedule : as in `sweeps`.
    tol, max_sweeps : when to stop.
    """

    ensemble: Ensemble
    start: Start | None = None
    order: Order = random_order
    schedule: Schedule = field(default_factory=Schedule)
    tol: float = 1e-2
    max_sweeps: int = 10
    name = "sweep"
    after = None
    extends, needs_moments = True, False

    def run(
        self, problem: Problem, rng: np.random.Generator, run: Run, stopping: Sequence[StoppingRule]
    ) -> Iterator[SweepFill]:
        """The sweeps, ended by these rules or by the deadline."""
        rules = list(stopping)
        if math.isfinite(run.deadline):
            rules.append(TimeLimit(max(run.deadline - time.monotonic(), 1e-9)))
        return sweeps(
            problem,
            ensemble=self.ensemble,
            start=self.start or mean_start,
            order=self.order,
            schedule=self.schedule,
            stopping=rules,
            rng=rng,
            device=run.device,
            n_jobs=run.n_jobs,
        )

    def steps(
        self, problem: Problem, rng: np.random.Generator, run: Run, start: Fill | None
    ) -> Iterator[SweepFill]:
        """Every sweep; rows of which nothing is known take no part and keep the means."""
        rules: list[StoppingRule] = [RelativeChange(self.tol), SweepLimit(self.max_sweeps)]
        if self.tol > 0:  # with 0 all sweeps are asked for
            rules.insert(1, Plateau())
        inner = problem.without_empty_rows
        if inner is problem:
            yield from self.run(problem, rng, run, rules)
            return
        some = ~problem.M.all(axis=1)
        one = self
        if isinstance(self.start, GivenStart):
            one = replace(self, start=GivenStart(np.asarray(self.start.values)[problem.rows[some]]))
        for fill in one.run(inner, rng, run, rules):
            Z = np.zeros(problem.shape)
            Z[some] = to_numpy(fill.Z)
            yield replace(fill, problem=problem, Z=Z)

    def extension(self, fill: SweepFill, run: Run) -> Model:
        """New rows, swept from the means with the coefficients of the fitted ones."""
        inner = fill.problem.without_empty_rows
        if inner is not fill.problem:
            fill = replace(fill, problem=inner, Z=fill.Z[~fill.problem.M.all(axis=1)])
        return Model(fill, self.ensemble, self.tol, self.extension_sweeps, run.device, run.n_jobs)

    @property
    def extension_sweeps(self) -> int:
        """Sweeps over new rows: they start at the means, which takes longer than to go on from a fill."""
        return _SWEEPS_FROM_MEANS if isinstance(self.start, GivenStart) else self.max_sweeps

    @property
    def cold(self) -> "Sweeper":
        """The same without a fill to start from, which may hold the very values that are held out."""
        return replace(self, start=mean_start) if isinstance(self.start, GivenStart) else self

    @property
    def opening(self) -> int:
        """Sweeps that look at the whole table at once, before the columns are visited."""
        return 1 if isinstance(self.start, LinearStart) else 0
