"""The sweeps with learned metrics, as a filler.

A sweep regresses every group of columns on the others by several members: kernels, near rows, trees. It
visits the columns in a few stages. Groups of a stage start from the same values, so they run in parallel and
their order does not matter; the next stage starts from their result. The weights of the members are those
with the smallest error on known entries that are left out.
"""

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from manifill._arrays import Array, Indices, Mask, to_numpy
from manifill._fillers.base import Extension, Fill, Run, Status, SweepRecord
from manifill._fillers.metric.copies import Copies, fit_on_copy, limited, linear_copies
from manifill._fillers.metric.newrows import MetricExtension
from manifill._fillers.metric.outcome import MetricFill, MetricSweep, stages
from manifill._fillers.metric.parts import Kernels
from manifill._fillers.metric.preset import EFFORTS, Member, Preset, Trees, in_order, is_near
from manifill._fillers.metric.regression import Fitted, Regression, learned_weights
from manifill._fillers.metric.rows import Rows
from manifill._fillers.metric.shares import ROW_FOLDS, Sums, of_members, sums_of, weights_by_pool
from manifill._ordering import Groups
from manifill._problem import Problem
from manifill._threads import Workers, share

# Rows from which near rows are a component: in shorter tables most rows are near. Set by hand, not tuned.
_MIN_NEAR_ROWS = 200
# The smallest error of a column, in standard deviations, that sweeps are compared by.
_MIN_ERROR = 1e-6
# Members whose mean weight is smaller are not used in later sweeps.
_MIN_SHARE = 0.03
# Members whose weights are all smaller, in the groups that a sweep has visited so far, are not used for its
# other groups, from so many visited groups on. Set by hand: with 4 the error of airfoil (6 columns, best
# effort) was 8 % higher.
_MIN_LARGEST_SHARE, _MIN_VISITED = 0.1, 8


@dataclass(frozen=True, eq=False)
class _Visit:
    """Values of a group of g columns by C members.

    Attributes
    ----------
    fitted : the fits, without their parts if they have trees; None if the group gets its mean.
    missing : (C, m, g), of the rows in which the group is missing.
    left_out : (C, k, g), of the k fitted rows in which it is known, by fits without them.
    excess : (C, k, g), by how much the squares of `left_out` are too large, see `PartFit`.
    hidden : (C, B, t − k, g), of the copies of the other fitted rows; empty if they are not needed.
    own : (C, k, g), of the group's own copy of the rows in which it is known; empty if not needed.
    """

    fitted: Fitted | None
    missing: Array
    left_out: Array
    excess: Array
    hidden: Array
    own: Array


@dataclass(eq=False)
class _State:
    """What a sweep changes.

    Attributes
    ----------
    Z : (n, d), the fill.
    hidden : (B, t, d), the copies.
    seen : (B, t, d), the copies as they were when the groups of their fold were fitted.
    left_out : (t, d), values of known entries by fits without them.
    weights : (G, d), weights of predictors for the next sweep.
    """

    Z: Array
    hidden: Array
    seen: Array
    left_out: Array
    weights: Array


@dataclass(frozen=True, eq=False)
class _Task:
    """What the visits of a stage have in common.

    `used` are the positions of the members that are used in the stage; all in the first one.
    """

    copies: Copies
    members: tuple[Member, ...]
    used: Indices
    centres: int
    errors: Array
    last: bool

    def without(self, shares: Array) -> "_Task":
        """The task without members whose shares (G, C) in G visited groups are all small.

        The first member stays.
        """
        if len(shares) < _MIN_VISITED:
            return self
        large = shares[:, self.used].max(axis=0) >= _MIN_LARGEST_SHARE
        large[0] = True
        return replace(self, used=self.used[large])


@dataclass(frozen=True, eq=False)
class MetricFiller:
    """Regress each group of columns on the others, in a metric of its own, in a few sweeps.

    Attributes
    ----------
    preset : members of the sweeps, and limits.
    odds : (n, d), weights of known entries, which make them resemble the missing ones; None for 1 each.
    tol : change of a sweep, in standard deviations, after which no other sweep follows.
    """

    preset: Preset = EFFORTS["balanced"].short
    odds: Array | None = field(default=None, repr=False)
    tol: float = 0.0
    name = "metric"
    after = None
    extends, needs_moments = True, False

    def steps(
        self, problem: Problem, rng: np.random.Generator, run: Run, start: Fill | None
    ) -> Iterator[MetricFill]:
        """Yield the fill at the start and after every sweep."""
        groups, d = targets(problem), problem.shape[1]
        fill = MetricFill(problem, problem.Z, name=self.name, groups=groups, shrinkage=np.ones(d))
        yield fill
        began = time.monotonic()
        with Workers(run.n_jobs):
            limits = self.preset.copies(len(problem.Z), max(1, int(problem.predictors.helping.sum())))
            copies = linear_copies(problem, groups, *limits, rng)
        allowed = np.array([_allowed(problem, group) for group in groups], dtype=float).reshape(-1, d)
        state = _State(
            copies.Z, copies.hidden, copies.hidden.copy(), np.zeros((len(copies.rows), d)), allowed
        )
        errors = [_mean_error(problem, copies, copies.errors(problem))]
        decided = bool(problem.predictors.deciding.any()) or not problem.to_learn.any()
        for number in range(1, self.preset.most + 1):
            settled = number > 1 and errors[-1] - errors[-2] > math.log1p(-self.preset.gain) and decided
            last = settled or number == self.preset.most
            members = in_order(
                (*self._members(fill), *(self._usable(self.preset.finish, fill) if last else ()))
            )
            centres = self.preset.finish_centres if last else self.preset.centres
            task = _Task(copies, members, np.arange(len(members)), centres, copies.errors(problem), last)
            with Workers(run.n_jobs):
                swept = self._sweep(problem, groups, state, task, run)
            if swept is None:
                yield replace(fill, status=Status.TIME_LIMIT)
                return
            fill = self._filled(fill, state, swept, began)
            copies = replace(copies, Z=state.Z, completed=state.Z[copies.rows], hidden=state.hidden)
            errors.append(_mean_error(problem, copies, _errors_of_columns(problem, copies, state.left_out)))
            if (fill.trace[-1].change <= self.tol and decided) or last:
                yield replace(fill, status=self._ending(fill, last))
                return
            yield fill
            began = time.monotonic()

    def _members(self, fill: MetricFill) -> tuple[Member, ...]:
        """The members of the next sweep. The first is always used: weights are learned from its fit."""
        deciding = [i for i, one in enumerate(fill.groups) if fill.problem.predictors.deciding[one[0]]]
        if fill.sweep < 2 or not deciding:
            return self._usable(self.preset.rest if fill.sweep else self.preset.first, fill)
        before = fill.sweeps[-1]
        shares = zip(before.members, before.shares[deciding].mean(axis=0), strict=True)
        return tuple(one for i, (one, share) in enumerate(shares) if i == 0 or share >= _MIN_SHARE)

    def _usable(self, members: Sequence[Member], fill: MetricFill) -> tuple[Member, ...]:
        """The members that a table of this length has."""
        enough = len(fill.problem.rows) >= _MIN_NEAR_ROWS
        return tuple(one for one in members if enough or not is_near(one))

    def _sweep(
        self, problem: Problem, groups: Groups, state: _State, task: _Task, run: Run
    ) -> MetricSweep | None:
        """Visit all groups once, and change the state; None if the time is up."""
        weights, copies = state.weights, task.copies
        visits: dict[int, _Visit] = {}
        shares = np.zeros((len(groups), len(task.members)))
        sums: dict[int, Sums] = {}
        pools = problem.predictors.pools(problem.M)
        for stage in stages(copies.fold, groups, problem.predictors.helping):
            copies = replace(copies, Z=state.Z, hidden=state.hidden)
            for b in {int(copies.fold[groups[position][0]]) for position in stage}:
                state.seen[b] = state.hidden[b]
            visit = partial(self._visit, problem, replace(task, copies=copies), run)
            found = share(visit, [(groups[position], weights[position]) for position in stage])
            if any(one is None for one in found):
                return None
            now = {position: one for position, one in zip(stage, found, strict=True) if one is not None}
            sums |= {one: self._sums(problem, copies, groups[one], now[one]) for one in stage}
            blends = weights_by_pool(sums, stage, groups, pools)
            for number, position in enumerate(stage):
                shares[position, task.used] = blends[0, number]
                self._put(problem, copies, groups[position], now[position], blends[:, number], state)
            visits |= now
            deciding = [one for one in visits if problem.predictors.deciding[groups[one][0]]]
            before, task = task.used, task.without(shares[deciding])
            stay = np.flatnonzero(np.isin(before, task.used))
            sums = {one: of_members(own, stay) for one, own in sums.items()}
        ordered = [visits[position] for position in range(len(groups))]
        if not task.last:
            state.weights = np.array(
                [
                    before
                    if one.fitted is None
                    else learned_weights(one.fitted.slopes, problem.groups, _allowed(problem, group))
                    for one, group, before in zip(ordered, groups, weights, strict=True)
                ]
            ).reshape(weights.shape)
        seen = replace(copies, hidden=state.seen.copy())
        strength = np.array(
            [
                before if one.fitted is None else one.fitted.strength
                for one, before in zip(ordered, weights, strict=True)
            ]
        ).reshape(weights.shape)
        regressions = tuple(None if one.fitted is None else one.fitted.regression for one in ordered)
        if _holds_trees(task.members):
            regressions = ()
        learned = seen, weights, strength, task.errors, shares, regressions
        return MetricSweep(task.members, task.centres, *learned)

    def _visit(
        self, problem: Problem, task: _Task, run: Run, target: tuple[Sequence[int], Array]
    ) -> _Visit | None:
        """Fit a group with these weights of its predictors; None if the time is up."""
        if run.time_is_up:
            return None
        group, weights = target
        copies, first = task.copies, group[0]
        own, (B, _, d) = int(copies.fold[first]), copies.hidden.shape
        M = problem.M[copies.rows]
        known, unknown = np.flatnonzero(~M[:, first]), np.flatnonzero(M[:, first])
        missing = np.flatnonzero(problem.M[:, first])
        members = tuple(task.members[one] for one in task.used)
        C, g, k = len(members), len(group), len(known)
        hidden, of_own = np.zeros((C, B, 0 if task.last else len(unknown), g)), np.zeros((C, k, g))
        slopes = not task.last
        used = task.errors, members, self.preset, task.centres
        fitted = fit_on_copy(problem, copies, group, weights, *used, slopes)
        if fitted is None:
            nothing = np.zeros((C, k, g))
            return _Visit(None, np.zeros((C, len(missing), g)), nothing, nothing, hidden, of_own)
        values = fitted.regression.at(Rows(copies.Z[missing], problem.M[missing]))
        if not task.last:
            imputed = M[None, unknown] | (copies.fold == np.arange(B)[:, None])[:, None]
            queries = Rows(copies.hidden[:, unknown].reshape(-1, d), imputed.reshape(-1, d))
            hidden = fitted.regression.at(queries).reshape(C, B, len(unknown), g)
            alone = bool((copies.fold == own).sum() == g)
            its_copy = Rows(copies.hidden[own, known], M[known] | (copies.fold == own))
            of_own = fitted.left_out if alone else fitted.without_own(its_copy)
        fitted = replace(fitted, regression=replace(fitted.regression, members=task.used))
        kept = fitted.without_parts() if _holds_trees(task.members) else fitted
        return _Visit(kept, values, fitted.left_out, fitted.excess, hidden, of_own)

    def _sums(self, problem: Problem, copies: Copies, group: Sequence[int], visit: _Visit) -> Sums:
        """Products of the left-out values of a group, for each fold of the rows."""
        known = np.flatnonzero(~problem.M[copies.rows, group[0]])
        rows = copies.rows[known]
        weight = np.ones(len(rows)) if self.odds is None else self.odds[rows, group[0]]
        truth = problem.Z[rows][:, list(group)]
        return sums_of(visit.left_out, visit.excess, truth, weight, known % ROW_FOLDS)

    def _put(
        self,
        problem: Problem,
        copies: Copies,
        group: Sequence[int],
        visit: _Visit,
        blends: Array,
        state: _State,
    ) -> None:
        """Write the blended values of a group into the state; `blends` (1 + F, C) as in `shares`."""
        columns, first = np.array(group), group[0]
        M = problem.M[copies.rows, first]
        known, unknown = np.flatnonzero(~M), np.flatnonzero(M)
        missing = np.flatnonzero(problem.M[:, first])
        state.Z = state.Z.copy()
        state.Z[np.ix_(missing, columns)] = limited(
            problem, np.tensordot(blends[0], visit.missing, 1), columns
        )
        of_fold = np.einsum("kc,ckg->kg", blends[1 + known % ROW_FOLDS], visit.left_out)
        state.left_out[np.ix_(known, columns)] = limited(problem, of_fold, columns)
        if visit.hidden.shape[2] == len(unknown):
            B, own = len(state.hidden), int(copies.fold[first])
            values = limited(problem, np.tensordot(blends[0], visit.hidden, 1), columns)
            state.hidden[np.ix_(np.arange(B), unknown, columns)] = values
            values = limited(problem, np.tensordot(blends[0], visit.own, 1), columns)
            state.hidden[np.ix_(np.array([own]), known, columns)] = values[None]

    def _filled(self, fill: MetricFill, state: _State, swept: MetricSweep, began: float) -> MetricFill:
        """The fill after a sweep."""
        problem, copies = fill.problem, swept.copies
        known = ~problem.M[copies.rows] & (copies.fold >= 0)
        deciding = problem.to_learn & problem.predictors.deciding
        change = (state.Z - to_numpy(fill.Z))[deciding if deciding.any() else problem.to_learn]
        record = SweepRecord(
            sweep=fill.sweep + 1,
            change=_root_mean_square(change),
            seconds=time.monotonic() - began,
            bandwidth=_bandwidth(swept.regressions),
        )
        return replace(
            fill,
            Z=state.Z,
            trace=(*fill.trace, record),
            sweeps=(*fill.sweeps, swept),
            left_out=state.left_out.copy(),
            errors=(*fill.errors, _root_mean_square((state.left_out - problem.Z[copies.rows])[known])),
        )

    def _ending(self, fill: MetricFill, last: bool) -> Status:
        problem = fill.problem
        if problem.nothing_missing:
            every_row = len(problem.rows) == len(problem.given)
            return Status.NOTHING_MISSING if every_row else Status.ONLY_EMPTY_ROWS
        return Status.SWEEP_LIMIT if last else Status.SETTLED

    def extension(self, fill: MetricFill, run: Run) -> Extension | None:
        """The model that fills new rows."""
        return MetricExtension(self.preset, fill)


def _holds_trees(members: Sequence[Member]) -> bool:
    """Are there trees among the members? They take too much memory to be kept."""
    return any(isinstance(one, Trees) for one in members)


def _errors_of_columns(problem: Problem, copies: Copies, left_out: Array) -> Array:
    """(d,), root mean square error of known entries that are left out."""
    known = ~problem.M[copies.rows]
    squares = np.sum((left_out - problem.Z[copies.rows]) ** 2, axis=0, where=known)
    errors: Array = np.sqrt(squares / np.maximum(known.sum(axis=0), 1))
    return errors


def _mean_error(problem: Problem, copies: Copies, errors: Array) -> float:
    """Mean logarithm of the errors (d,) of columns that are fitted and decide, so that all count alike."""
    counted = (copies.fold >= 0) & problem.predictors.deciding
    relative = errors[counted] / problem.scaling.weight[counted]
    return float(np.log(np.maximum(relative, _MIN_ERROR)).mean()) if relative.size else 0.0


def _root_mean_square(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2))) if values.size else 0.0


def _bandwidth(regressions: Sequence[Regression | None]) -> float:
    first = [one.parts[0] for one in regressions if one is not None]
    scales = [one.kernels[0].scale for one in first if isinstance(one, Kernels)]
    return float(np.median([one or np.nan for one in scales])) if scales else float("nan")


def targets(problem: Problem) -> Groups:
    """The columns of each group that vary, without context columns: what is fitted."""
    own = problem.shape[1] - problem.n_context
    varying = (problem.scaling.std > 0) & (np.arange(problem.shape[1]) < own)
    groups = (tuple(column for column in group if varying[column]) for group in problem.groups)
    return tuple(group for group in groups if group)


def _allowed(problem: Problem, group: Sequence[int]) -> Mask:
    """(d,), True for the columns that are predictors of a group."""
    of_group = next(one for one in problem.groups if group[0] in one)
    allowed: Mask = problem.scaling.std > 0
    allowed[list(of_group)] = False
    return allowed & problem.predictors.of_group(group)
