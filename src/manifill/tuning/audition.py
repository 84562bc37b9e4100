"""Candidates audition: what do they make of entries that are hidden from them?"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from manifill.arrays import Array, Indices, Mask, to_numpy
from manifill.errors import ManifillError
from manifill.kernels import Kernel
from manifill.progress import say
from manifill.solvers import AnySolver
from manifill.sweep import MeanStart, Problem, Recipe, Schedule, Start, SweepLimit
from manifill.tuning.accuracy import Evidence
from manifill.tuning.hidden import Hidden, hidden_sets, hide, root_mean_square
from manifill.tuning.plan import Plan, side_by_side
from manifill.tuning.portfolio import Pair
from manifill.tuning.stacking import stack

# Hidden entries that tell candidates apart: other entries are hidden until there are so many …
_ENOUGH = 450
# … and where columns are many, some of them are enough that hold so many; at most so many columns.
_PLENTY = 2000
_SHOWN = 320
_SHARE = 0.1
_MOST_REPEATS = 3
_TRIAL_SWEEPS = 2
# Columns that are taken for known are filled in so many sweeps: after fewer they are so rough that kernels of
# too large a ridge win. Olivetti, 70 % missing, RMSE of the fills chosen, over six masks: .0637 to .0639;
# with two sweeps and half as many columns shown .0637 to .0656.
_BASE_SWEEPS = 3
# How many times the change of a sweep is taken, where that lowers the error by the share it must.
_OVER, _WORTH = 1.5, 3e-3


@dataclass(frozen=True)
class Trial:
    """A candidate that auditioned.

    Attributes
    ----------
    kernel, solver : what was tried.
    error : root mean square error on the hidden entries of the sample, in standard deviations of columns.
    weight : its weight in the recipe; 0 where it was not taken.
    """

    kernel: Kernel
    solver: AnySolver
    error: float
    weight: float


class Stage:
    """Where candidates show what they make of hidden entries of a table.

    Each makes two sweeps, from the column means until another start does better: after one sweep the order
    of the candidates is still another, after more it hardly changes. Of many columns that is dear. Then
    entries of some of them are hidden only, and the others are filled by `base`, and taken for known.
    """

    def __init__(
        self, problem: Problem, plan: Plan, base: Recipe, wide: bool, rng: np.random.Generator
    ) -> None:
        hiding_rng, run_rng = rng.spawn(2)
        n, d = problem.shape
        own = d - problem.n_context
        repeats = math.ceil(_ENOUGH / max(_SHARE * float((~problem.M[:, :own]).sum()), 1.0))
        repeats = min(repeats, _MOST_REPEATS)
        self._plan = replace(plan, schedule=Schedule.auto(d, n), start=MeanStart(), device=None)
        self._seeds = run_rng.integers(2**32, size=repeats)
        self._rows = n
        sets = hidden_sets(problem.given, problem.groups, _SHARE, repeats, hiding_rng, problem.n_context)
        per_column = max(sum(entries.sum() for entries in sets) / own, 1.0)
        n_shown = _SHOWN if wide else math.ceil(_PLENTY / per_column)
        self._narrow = 2 * n_shown <= own
        if not self._narrow:
            self.hidden = [hide(problem, entries) for entries in sets]
        else:
            shown = hiding_rng.permutation(own)[:n_shown]
            self.hidden = [self._narrowed(problem, entries, shown, base) for entries in sets]
        self.truth = np.concatenate([one.truth for one in self.hidden])
        self._starts: list[Start] = [MeanStart()] * repeats
        self.pairs: list[Pair] = []
        self._fills: list[Array] = []

    def _narrowed(self, problem: Problem, entries: Mask, shown: Indices, base: Recipe) -> Hidden:
        """Entries of the columns `shown` hidden, the other columns known, as `base` fills them."""
        others = np.delete(np.arange(problem.shape[1]), shown)
        entries[:, others] = False
        say("filling, to try settings on some of the columns")
        rng = np.random.default_rng(self._seeds[0])
        *_, last = self._plan.run(hide(problem, entries).problem, base, rng, [SweepLimit(_BASE_SWEEPS)])
        known = np.full(problem.given.shape, np.nan)
        known[:, others] = last.X[:, others]
        return hide(problem, entries, known)

    def audition(self, pairs: list[Pair]) -> None:
        """Let these candidates fill the hidden entries."""
        if not pairs:
            return
        say(f"trying {len(pairs)} settings on {len(self.truth):,} hidden entries")
        self._fills += self._fills_of(pairs)
        self.pairs += pairs

    def choose_start(self, starts: Sequence[Start], pairs: list[Pair]) -> Start:
        """Let these candidates fill the hidden entries from each start, and go on with the best one."""
        say(f"trying {len(starts)} starts on {len(self.truth):,} hidden entries")
        found = []
        for start in starts:
            self._starts = [self._at_once(start, i) for i in range(len(self.hidden))]
            fills = self._fills_of(pairs)
            error = sum(root_mean_square(fill[-1] - self.truth) for fill in fills)
            found.append((error if math.isfinite(error) else math.inf, self._starts, fills, start))
        _, self._starts, fills, start = min(found, key=lambda one: one[0])
        self._fills += fills
        self.pairs += pairs
        return start

    def _at_once(self, start: Start, i: int) -> Start:
        """The same start, for one set of hidden entries, found once for all candidates."""
        Z = start(self.hidden[i].problem, np.random.default_rng(self._seeds[i]))
        return lambda problem, rng: Z

    def _fills_of(self, pairs: list[Pair]) -> list[Array]:
        """What each of these candidates makes of all hidden entries, (sweeps, h)."""
        tasks = [(pair, i) for pair in pairs for i in range(len(self.hidden))]
        fills = side_by_side(self._fill_by, tasks, self._plan, self._rows)
        each = range(0, len(fills), len(self.hidden))
        return [np.concatenate(fills[first : first + len(self.hidden)], axis=1) for first in each]

    @property
    def best(self) -> Pair:
        """The candidate of the smallest error so far."""
        return self.pairs[int(np.argmin(np.nan_to_num(self._errors, nan=np.inf)))]

    def error_of(self, pair: Pair) -> float:
        """A candidate's error on the hidden entries."""
        return self._errors[self.pairs.index(pair)]

    @property
    def _errors(self) -> list[float]:
        return [root_mean_square(fill[-1] - self.truth) for fill in self._fills]

    def weights(self, most: int, believed: int) -> Array:
        """Weights of the candidates so far, at most `most` of them positive; the first are believed in."""
        expected = (np.arange(len(self.pairs)) < believed) / most
        return stack(np.array(self._fills)[:, -1], self.truth, most, expected)

    def evidence(self, weights: Array) -> Evidence | None:
        """What these candidates together made of the hidden entries; None where some columns have none."""
        taken = np.flatnonzero(weights)
        if self._narrow or not taken.size:
            return None
        found = np.tensordot(weights[taken], np.array([self._fills[i][-1] for i in taken]), axes=1)
        return Evidence.of(self.hidden, found)

    def relaxation(self, weights: Array) -> float:
        """How many times the change of a sweep is best taken, judged by the last one of these candidates."""
        taken = np.flatnonzero(weights)
        if not taken.size:
            return 1.0
        *_, before, after = np.tensordot(weights[taken], np.array([self._fills[i] for i in taken]), axes=1)
        further = root_mean_square(before + _OVER * (after - before) - self.truth)
        return _OVER if further < (1 - _WORTH) * root_mean_square(after - self.truth) else 1.0

    def trials(self, weights: Array) -> tuple[Trial, ...]:
        """All candidates, those of most weight first and then by error."""
        trials = [
            Trial(*pair, error, weight)
            for pair, error, weight in zip(self.pairs, self._errors, weights.tolist(), strict=True)
        ]
        return tuple(sorted(trials, key=lambda trial: (-trial.weight, trial.error)))

    def _fill_by(self, task: tuple[Pair, int], plan: Plan) -> Array:
        """What a candidate makes of hidden entries, sweep by sweep (sweeps, h); NaN where it fails."""
        pair, i = task
        hidden = self.hidden[i]
        fills: list[Array] = []
        if not plan.time_is_up:
            rng = np.random.default_rng(self._seeds[i])
            plan = replace(plan, start=self._starts[i])
            try:
                for state in plan.run(hidden.problem, Recipe.of(*pair), rng, [SweepLimit(_TRIAL_SWEEPS)]):
                    if state.sweep > len(fills):
                        fills.append(hidden.found(to_numpy(state.Z)))
            except ManifillError:  # a kernel that is not positive semi-definite on these rows
                fills = []
        if len(fills) < _TRIAL_SWEEPS:
            return np.full((_TRIAL_SWEEPS, len(hidden.truth)), np.nan)
        return np.array(fills)
