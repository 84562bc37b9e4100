"""Candidate screening: short runs of pairs of kernel and ridge on a sample with entries held out."""

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
from manifill._validation import Evidence, HeldOut, hold_out, odds_of, random_sets, root_mean_square, stack
from manifill.errors import ManifillError
from manifill.kernels import Kernel
from manifill.solvers import AnySolver

_log = logging.getLogger(__name__)

Task = TypeVar("Task")
Result = TypeVar("Result")

# Held-out entries to compare candidates on; up to _MAX_SETS sets are held out to get this many. Set by hand,
# not tuned.
_ENTRIES = 450
# Entries are held out in only as many columns as give this many entries (in wide tables, in this many
# columns), if that is at most half of the columns. 2,000 was set by hand; for 320 see _BASE_SWEEPS.
_ENTRIES_OF_WIDE, _COLUMNS_OF_WIDE = 2000, 320
# Share of the observed entries in a held-out set, and the number of sets. Set by hand, not tuned.
_SHARE, _MAX_SETS = 0.1, 3
# Sweeps of each candidate. Relative RMSE of the stacked fills with one, two and three sweeps on the sixteen
# tables of docs/notes/choosing.md: .976, .964, .962.
_SWEEPS = 2
# Sweeps that fill the columns without held-out entries. After fewer their fill is so inaccurate that kernels
# with too large a ridge win. Olivetti, 70 % missing, RMSE of the chosen fills over six masks: .0637 to .0639
# with three sweeps and 320 columns, .0637 to .0656 with two sweeps and 160 columns.
_BASE_SWEEPS = 3
# Rows up to which parallel runs of one thread each are faster than consecutive runs with all threads.
_MAX_ROWS_PARALLEL = 1000


@dataclass(frozen=True)
class Trial:
    """Result of screening a candidate.

    Attributes
    ----------
    kernel, solver : the candidate.
    error : root mean square error on the held-out entries of the sample, in standard deviations of columns.
    weight : its weight in the ensemble; 0 if it is not part of it.
    """

    kernel: Kernel
    solver: AnySolver
    error: float
    weight: float


class Screening:
    """Runs candidates on a sample with entries held out, and keeps their imputed values.

    This is expensive for many columns. Then entries of only some columns are held out, and the other columns
    are filled once by `base` and treated as known.

    Attributes
    ----------
    held_out : the sets of held-out entries.
    truth : (h,), their true values, all sets together.
    pairs : the candidates so far.
    """

    def __init__(
        self, problem: Problem, base: Sweeper, run: Run, wide: bool, rng: np.random.Generator
    ) -> None:
        holdout_rng, run_rng = rng.spawn(2)
        n, d = problem.shape
        own = d - problem.n_context
        learned = (~problem.M & (problem.scaling.std > 0))[:, :own]
        count = math.ceil(_ENTRIES / max(_SHARE * float(learned.sum()), 1.0))
        count = min(count, _MAX_SETS)
        self._sweeper = replace(base, schedule=Schedule.auto(d, n), start=mean_start)
        self._run = replace(run, device=None)
        self._seeds = run_rng.integers(2**32, size=count)
        self._rows = n
        sets = random_sets(problem, _SHARE, count, holdout_rng)
        per_column = max(sum(entries.sum() for entries in sets) / own, 1.0)
        n_scored = _COLUMNS_OF_WIDE if wide else math.ceil(_ENTRIES_OF_WIDE / per_column)
        self._some_columns = 2 * n_scored <= own
        if not self._some_columns:
            odds = odds_of(problem)
            self.held_out = [hold_out(problem, entries, weight=odds) for entries in sets]
        else:
            scored = holdout_rng.permutation(own)[:n_scored]
            self.held_out = [self._hold_out_in(problem, entries, scored) for entries in sets]
        self.truth = np.concatenate([one.truth for one in self.held_out])
        self._starts: list[Start] = [mean_start] * count
        self.pairs: list[Pair] = []
        self._fills: list[Array] = []

    def _hold_out_in(self, problem: Problem, entries: Mask, scored: Indices) -> HeldOut:
        """Hold out entries of the columns `scored`; the other columns are filled first, and then known."""
        others = np.delete(np.arange(problem.shape[1]), scored)
        entries[:, others] = False
        _log.info("filling the columns without held-out entries")
        rng = np.random.default_rng(self._seeds[0])
        without = hold_out(problem, entries).problem
        *_, last = self._sweeper.run(without, rng, self._run, [SweepLimit(_BASE_SWEEPS)])
        known = np.full(problem.given.shape, np.nan)
        known[:, others] = last.X[:, others]
        return hold_out(problem, entries, known)

    def screen(self, pairs: list[Pair]) -> None:
        """Run these candidates."""
        if not pairs:
            return
        _log.info("trying %d candidates on %s held-out entries", len(pairs), f"{len(self.truth):,}")
        self._fills += self._fills_of(pairs)
        self.pairs += pairs

    def choose_start(self, starts: Sequence[Start], pairs: list[Pair]) -> Start:
        """Run these candidates from each start; keep the best start for all others, and return it."""
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
        """The start of set i, computed once for all candidates."""
        Z = start(self.held_out[i].problem, np.random.default_rng(self._seeds[i]))
        return lambda _problem, _rng: Z

    def _fills_of(self, pairs: list[Pair]) -> list[Array]:
        """Imputed values (h,) of all held-out entries, for each candidate."""
        tasks = [(pair, i) for pair in pairs for i in range(len(self.held_out))]
        fills = parallel_map(self._fill_by, tasks, self._run, self._rows)
        each = range(0, len(fills), len(self.held_out))
        return [np.concatenate(fills[first : first + len(self.held_out)]) for first in each]

    @property
    def best(self) -> Pair:
        """The candidate with the smallest error so far."""
        return self.pairs[int(np.argmin(np.nan_to_num(self._errors, nan=np.inf)))]

    def error_of(self, pair: Pair) -> float:
        """The RMS error of a candidate on the held-out entries."""
        return self._errors[self.pairs.index(pair)]

    @property
    def _errors(self) -> list[float]:
        return [root_mean_square(fill - self.truth) for fill in self._fills]

    def weights(self, max_components: int) -> Array:
        """Weights of the candidates so far, at most `max_components` of them positive."""
        return stack(np.array(self._fills), self.truth, max_components)

    def evidence(self, weights: Array) -> Evidence | None:
        """Held-out entries and their values in the weighted sum; None if only some columns were used."""
        used = np.flatnonzero(weights)
        if self._some_columns or not used.size:
            return None
        found = np.tensordot(weights[used], np.array([self._fills[i] for i in used]), axes=1)
        return Evidence.of(self.held_out, found, np.ones(self.held_out[0].problem.shape[1]))

    def trials(self, weights: Array) -> tuple[Trial, ...]:
        """All candidates, by descending weight and then by error."""
        trials = [
            Trial(*pair, error, weight)
            for pair, error, weight in zip(self.pairs, self._errors, weights.tolist(), strict=True)
        ]
        return tuple(sorted(trials, key=lambda trial: (-trial.weight, trial.error)))

    def _fill_by(self, task: tuple[Pair, int], run: Run) -> Array:
        """Imputed values (h,) of a set of held-out entries; NaN if the candidate fails or the time is up."""
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


def parallel_map(
    function: Callable[[Task, Run], Result], tasks: list[Task], run: Run, n: int
) -> list[Result]:
    """Apply a function to every task: in parallel, one thread each, up to `_MAX_ROWS_PARALLEL` rows."""
    if n > _MAX_ROWS_PARALLEL or len(tasks) == 1 or run.device is not None:
        return [function(task, run) for task in tasks]
    with Workers(run.n_jobs):
        return share(partial(_call, function, replace(run, n_jobs=1)), tasks)


def _call(function: Callable[[Task, Run], Result], run: Run, task: Task) -> Result:
    return function(task, run)
