"""Candidate screening: short runs of kernels and ridges on a sample with entries held out."""

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np

from manifill._arrays import Array, Indices, Mask, to_numpy
from manifill._fillers import Run
from manifill._fillers.sweep import Ensemble, Schedule, Start, Sweeper, SweepLimit, mean_start
from manifill._problem import Problem
from manifill._selection.portfolio import Pair
from manifill._threads import Workers, share
from manifill._validation import Evidence, HeldOut, hide, random_sets, root_mean_square, stack
from manifill.errors import ManifillError
from manifill.kernels import Kernel
from manifill.solvers import AnySolver

_log = logging.getLogger(__name__)

Task = TypeVar("Task")
Result = TypeVar("Result")

# Held-out entries that tell candidates apart: more sets are held out until there are so many …
_ENTRIES = 450
# … and where columns are many, some of them are enough that hold so many; at most so many columns.
_ENTRIES_OF_WIDE, _COLUMNS_OF_WIDE = 2000, 320
_SHARE, _MAX_SETS = 0.1, 3
# Each candidate runs two sweeps: the ranking after one differs from the final one, after two it is stable.
_SWEEPS = 2
# Columns that are taken for known are filled in so many sweeps: after fewer they are so rough that kernels of
# too large a ridge win. Olivetti, 70 % missing, RMSE of the fills chosen, over six masks: .0637 to .0639;
# with two sweeps and half as many columns .0637 to .0656.
_BASE_SWEEPS = 3
# Rows up to which whole runs side by side are faster than one after the other with all threads.
_SIDE_BY_SIDE_ROWS = 1000


@dataclass(frozen=True)
class Trial:
    """A candidate that was screened.

    Attributes
    ----------
    kernel, solver : what was tried.
    error : root mean square error on the held-out entries of the sample, in standard deviations of columns.
    weight : its weight in the ensemble; 0 where it was not taken.
    """

    kernel: Kernel
    solver: AnySolver
    error: float
    weight: float


class Screening:
    """What candidates make of held-out entries of a sample.

    On wide tables that is expensive: then entries of some columns only are held out, and the other columns
    are filled by `base`, and taken for known.
    """

    def __init__(
        self, problem: Problem, base: Sweeper, run: Run, wide: bool, rng: np.random.Generator
    ) -> None:
        holdout_rng, run_rng = rng.spawn(2)
        n, d = problem.shape
        own = d - problem.n_context
        count = math.ceil(_ENTRIES / max(_SHARE * float((~problem.M[:, :own]).sum()), 1.0))
        count = min(count, _MAX_SETS)
        self._sweeper = replace(base, schedule=Schedule.auto(d, n), start=mean_start)
        self._run = replace(run, device=None)
        self._seeds = run_rng.integers(2**32, size=count)
        self._rows = n
        sets = random_sets(problem.given, problem.groups, _SHARE, count, holdout_rng, problem.n_context)
        per_column = max(sum(entries.sum() for entries in sets) / own, 1.0)
        n_shown = _COLUMNS_OF_WIDE if wide else math.ceil(_ENTRIES_OF_WIDE / per_column)
        self._narrow = 2 * n_shown <= own
        if not self._narrow:
            self.held_out = [hide(problem, entries) for entries in sets]
        else:
            shown = holdout_rng.permutation(own)[:n_shown]
            self.held_out = [self._narrowed(problem, entries, shown) for entries in sets]
        self.truth = np.concatenate([one.truth for one in self.held_out])
        self._starts: list[Start] = [mean_start] * count
        self.pairs: list[Pair] = []
        self._fills: list[Array] = []

    def _narrowed(self, problem: Problem, entries: Mask, shown: Indices) -> HeldOut:
        """Entries of the columns `shown` held out, the other columns known, as the base fills them."""
        others = np.delete(np.arange(problem.shape[1]), shown)
        entries[:, others] = False
        _log.info("filling, to try settings on some of the columns")
        rng = np.random.default_rng(self._seeds[0])
        damaged = hide(problem, entries).problem
        *_, last = self._sweeper.run(damaged, rng, self._run, [SweepLimit(_BASE_SWEEPS)])
        known = np.full(problem.given.shape, np.nan)
        known[:, others] = last.X[:, others]
        return hide(problem, entries, known)

    def screen(self, pairs: list[Pair]) -> None:
        """Let these candidates fill the held-out entries."""
        if not pairs:
            return
        _log.info("trying %d settings on %s held-out entries", len(pairs), f"{len(self.truth):,}")
        self._fills += self._fills_of(pairs)
        self.pairs += pairs

    def choose_start(self, starts: Sequence[Start], pairs: list[Pair]) -> Start:
        """Let these candidates fill the held-out entries from each start, and go on with the best one."""
        _log.info("trying %d starts on %s held-out entries", len(starts), f"{len(self.truth):,}")
        found = []
        for start in starts:
            self._starts = [self._computed_once(start, i) for i in range(len(self.held_out))]
            fills = self._fills_of(pairs)
            error = sum(root_mean_square(fill - self.truth) for fill in fills)
            found.append((error if math.isfinite(error) else math.inf, self._starts, fills, start))
        _, self._starts, fills, start = min(found, key=lambda one: one[0])
        self._fills += fills
        self.pairs += pairs
        return start

    def _computed_once(self, start: Start, i: int) -> Start:
        """The same start, for one set of held-out entries, found once for all candidates."""
        Z = start(self.held_out[i].problem, np.random.default_rng(self._seeds[i]))
        return lambda problem, rng: Z

    def _fills_of(self, pairs: list[Pair]) -> list[Array]:
        """What each of these candidates makes of all held-out entries, (h,)."""
        tasks = [(pair, i) for pair in pairs for i in range(len(self.held_out))]
        fills = side_by_side(self._fill_by, tasks, self._run, self._rows)
        each = range(0, len(fills), len(self.held_out))
        return [np.concatenate(fills[first : first + len(self.held_out)]) for first in each]

    @property
    def best(self) -> Pair:
        """The candidate of the smallest error so far."""
        return self.pairs[int(np.argmin(np.nan_to_num(self._errors, nan=np.inf)))]

    def error_of(self, pair: Pair) -> float:
        """A candidate's error on the held-out entries."""
        return self._errors[self.pairs.index(pair)]

    @property
    def _errors(self) -> list[float]:
        return [root_mean_square(fill - self.truth) for fill in self._fills]

    def weights(self, most: int) -> Array:
        """Weights of the candidates so far, at most `most` of them positive."""
        return stack(np.array(self._fills), self.truth, most)

    def evidence(self, weights: Array) -> Evidence | None:
        """What these candidates together made of the held-out entries; None where some columns have none."""
        taken = np.flatnonzero(weights)
        if self._narrow or not taken.size:
            return None
        found = np.tensordot(weights[taken], np.array([self._fills[i] for i in taken]), axes=1)
        return Evidence.of(self.held_out, found, np.ones(self.held_out[0].problem.shape[1]))

    def trials(self, weights: Array) -> tuple[Trial, ...]:
        """All candidates, those of most weight first and then by error."""
        trials = [
            Trial(*pair, error, weight)
            for pair, error, weight in zip(self.pairs, self._errors, weights.tolist(), strict=True)
        ]
        return tuple(sorted(trials, key=lambda trial: (-trial.weight, trial.error)))

    def _fill_by(self, task: tuple[Pair, int], run: Run) -> Array:
        """What a candidate makes of held-out entries (h,); NaN where it fails or the time is up."""
        pair, i = task
        held_out = self.held_out[i]
        failed = np.full(len(held_out.truth), np.nan)
        if run.time_is_up:
            return failed
        rng = np.random.default_rng(self._seeds[i])
        sweeper = replace(self._sweeper, ensemble=Ensemble.of(*pair), start=self._starts[i])
        try:
            *_, last = sweeper.run(held_out.problem, rng, run, [SweepLimit(_SWEEPS)])
        except ManifillError:  # a kernel that is not positive semi-definite on these rows
            return failed
        return held_out.found(to_numpy(last.Z)) if last.sweep == _SWEEPS else failed


def side_by_side(
    function: Callable[[Task, Run], Result], tasks: list[Task], run: Run, n: int
) -> list[Result]:
    """The function of every task, in threads of one job each where rows are few; else one by one."""
    if n > _SIDE_BY_SIDE_ROWS or len(tasks) == 1 or run.device is not None:
        return [function(task, run) for task in tasks]
    with Workers(run.n_jobs):
        return share(partial(_swapped, function, replace(run, n_jobs=1)), tasks)


def _swapped(function: Callable[[Task, Run], Result], run: Run, task: Task) -> Result:
    return function(task, run)
