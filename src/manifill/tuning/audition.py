"""Candidates audition: what do they make of entries that are hidden from them?"""

import math
from dataclasses import dataclass, replace

import numpy as np

from manifill.arrays import Array, Indices, Mask, to_numpy
from manifill.errors import ManifillError
from manifill.kernels import Kernel
from manifill.progress import say
from manifill.solvers import AnySolver
from manifill.sweep import MeanStart, Problem, Recipe, Schedule, SweepLimit
from manifill.tuning.hidden import Hidden, hidden_sets, hide, how_much, root_mean_square
from manifill.tuning.plan import Plan, side_by_side
from manifill.tuning.portfolio import Pair
from manifill.tuning.stacking import stack

# Hidden entries that tell candidates apart, and the most columns that candidates fill for it.
_TELLING = 800
_SHOWN = 256
# Rows up to which many columns can be filled; of twice as many a quarter, and of none less than four.
_FEW_ROWS, _LEAST_SHOWN = 700, 4
_SHARE = 0.1
_TRIAL_SWEEPS = 2


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

    Each makes two sweeps from the column means: after one the order of the candidates is still another,
    after more it hardly changes. Of many columns that is dear. Then entries of some of them are hidden only,
    and the others are filled once, by `base`, and taken for known.
    """

    def __init__(
        self, problem: Problem, plan: Plan, base: Recipe, wide: bool, rng: np.random.Generator
    ) -> None:
        hiding_rng, run_rng = rng.spawn(2)
        n, d = problem.shape
        _, repeats = how_much(problem)
        self._plan = replace(plan, schedule=Schedule.auto(d, n), start=MeanStart(), device=None)
        self._seeds = run_rng.integers(2**32, size=repeats)
        self._rows = n
        sets = hidden_sets(problem.given, problem.groups, _SHARE, repeats, hiding_rng)
        per_column = max(sum(entries.sum() for entries in sets) / d, 1.0)
        n_shown = _SHOWN if wide else math.ceil(_TELLING / per_column)
        if n > _FEW_ROWS:
            n_shown = min(n_shown, max(_LEAST_SHOWN, int(24 * (_FEW_ROWS / n) ** 2)))
        if 2 * n_shown > d:
            self.hidden = [hide(problem, entries) for entries in sets]
        else:
            shown = hiding_rng.permutation(d)[:n_shown]
            self.hidden = [self._narrowed(problem, entries, shown, base) for entries in sets]
        self.truth = np.concatenate([one.truth for one in self.hidden])
        self.pairs: list[Pair] = []
        self._found: list[Array] = []

    def _narrowed(self, problem: Problem, entries: Mask, shown: Indices, base: Recipe) -> Hidden:
        """Entries of the columns `shown` hidden, the other columns known, as `base` fills them."""
        others = np.delete(np.arange(problem.shape[1]), shown)
        entries[:, others] = False
        say("filling once, to try settings on some of the columns")
        rng = np.random.default_rng(self._seeds[0])
        *_, last = self._plan.run(hide(problem, entries).problem, base, rng, [SweepLimit(2)])
        known = np.full(problem.given.shape, np.nan)
        known[:, others] = last.X[:, others]
        return hide(problem, entries, known)

    def audition(self, pairs: list[Pair]) -> None:
        """Let these candidates fill the hidden entries."""
        if not pairs:
            return
        say(f"trying {len(pairs)} settings on {len(self.truth):,} hidden entries")
        tasks = [(pair, i) for pair in pairs for i in range(len(self.hidden))]
        found = side_by_side(self._found_by, tasks, self._plan, self._rows)
        for first in range(0, len(found), len(self.hidden)):
            self._found.append(np.concatenate(found[first : first + len(self.hidden)]))
        self.pairs += pairs

    @property
    def best(self) -> Pair:
        """The candidate of the smallest error so far."""
        errors = [root_mean_square(found - self.truth) for found in self._found]
        return self.pairs[int(np.argmin(np.nan_to_num(errors, nan=np.inf)))]

    def weights(self, most: int, believed: int) -> Array:
        """Weights of the candidates so far, at most `most` of them positive; the first are believed in."""
        expected = (np.arange(len(self.pairs)) < believed) / most
        return stack(np.array(self._found), self.truth, most, expected)

    def trials(self, weights: Array) -> tuple[Trial, ...]:
        """All candidates, those of most weight first and then by error."""
        errors = [root_mean_square(found - self.truth) for found in self._found]
        trials = [
            Trial(*pair, error, weight)
            for pair, error, weight in zip(self.pairs, errors, weights.tolist(), strict=True)
        ]
        return tuple(sorted(trials, key=lambda trial: (-trial.weight, trial.error)))

    def _found_by(self, task: tuple[Pair, int], plan: Plan) -> Array:
        """What a candidate makes of hidden entries; NaN where nothing comes of it."""
        pair, i = task
        hidden = self.hidden[i]
        if not plan.time_is_up:
            rng = np.random.default_rng(self._seeds[i])
            try:
                *_, last = plan.run(hidden.problem, Recipe.of(*pair), rng, [SweepLimit(_TRIAL_SWEEPS)])
            except ManifillError:  # a kernel that is not positive semi-definite on these rows
                last = None
            if last is not None and last.sweep == _TRIAL_SWEEPS:
                return hidden.found(to_numpy(last.Z))
        return np.full(len(hidden.truth), np.nan)
