"""The sweeps with learned metrics, as a filler.

A sweep regresses every group of columns on the others by several kernels, all groups from the same values
(Jacobi's way), so groups run in parallel and their order does not matter. The weights of the kernels are
those with the smallest error on known entries that are left out.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np

from manifill._arrays import Array, Indices, Mask, Table, to_numpy
from manifill._fillers.base import Extension, Fill, Run, Status, SweepRecord
from manifill._fillers.metric.copies import Copies, limited, linear_copies, linear_start
from manifill._fillers.metric.preset import BALANCED, Preset
from manifill._fillers.metric.regression import Fitted, Regression, fit, learned_weights
from manifill._fillers.sweep import Component, Ensemble
from manifill._ordering import Groups
from manifill._problem import Problem
from manifill._stacking import stack_by_group
from manifill._threads import Workers, share

# Known rows that a column needs to be fitted; other columns get their mean. Set by hand, not tuned.
_MIN_ROWS = 3
# Folds of the rows. With weights of kernels found on all rows, left-out entries look better than they are: on
# 500 rows of noise by 1.3 % of the error. Set by hand, not tuned.
_ROW_FOLDS = 5


@dataclass(frozen=True, eq=False)
class MetricSweep:
    """What one sweep learned.

    Attributes
    ----------
    copies : the rows that its regressions were fitted to.
    weights : (G, d), weights of the predictors of each group.
    shares : (G, C), weights of the kernels in the blend: of earlier sweeps, then of this one.
    regressions : for each group; None for a group that gets its mean. Empty if they are to be computed.
    """

    copies: Copies
    weights: Array
    shares: Array
    regressions: tuple[Regression | None, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class MetricFill(Fill):
    """The fill.

    Attributes
    ----------
    groups : groups of columns that are fitted.
    sweeps : the sweeps so far.
    left_out : (t, d), values of the known entries in `rows` by fits without them, in standardised units.
    errors : root mean square error of `left_out` after each sweep, in standardised units.
    shrinkage : (d,), factors on the distance from the column means.
    """

    groups: Groups = ()
    sweeps: tuple[MetricSweep, ...] = ()
    left_out: Array = field(default_factory=lambda: np.zeros((0, 0)))
    errors: tuple[float, ...] = ()
    shrinkage: Array = field(default_factory=lambda: np.zeros(0))

    @property
    def rows(self) -> Indices:
        """(t,), rows that the regressions were fitted to."""
        return self.sweeps[-1].copies.rows if self.sweeps else np.zeros(0, dtype=np.intp)

    def shrunk(self, shrinkage: Array) -> "MetricFill":
        """The same with imputed values shrunk towards the column means, by factors (d,)."""
        Z = np.where(self.problem.M, to_numpy(self.Z) * shrinkage, self.problem.Z)
        return replace(self, Z=Z, left_out=self.left_out * shrinkage, shrinkage=shrinkage)

    @property
    def importances(self) -> Array:
        """(d, d), weight of each column in the metric of each column; 0 for columns filled by their mean."""
        found = np.zeros((self.problem.shape[1],) * 2)
        for group, weights in zip(self.groups, self.sweeps[-1].weights, strict=True):
            found[list(group)] = weights * bool(self.shrinkage[list(group)].any())
        return found

    def ensemble(self, preset: Preset) -> Ensemble:
        """The kernels of the last sweep, with their mean weights over the groups."""
        components = preset.sweeps[max(len(self.sweeps), 1) - 1]
        shares = self.sweeps[-1].shares[:, -len(components) :] if self.sweeps else np.zeros((0, 0))
        weights = shares.mean(axis=0) if shares.size else np.ones(len(components))
        weights = weights / weights.sum() if weights.sum() > 0 else np.full(len(weights), 1 / len(weights))
        most = int((~self.problem.M[self.rows]).sum(axis=0).max(initial=0))
        used = [
            replace(one, solver=preset.solver(one, most), weight=float(w))
            for one, w in zip(components, weights, strict=True)
            if w > 0
        ]
        return Ensemble(tuple(used), self.shrinkage if self.shrinkage.size else None)


@dataclass(frozen=True, eq=False)
class _Visit:
    """Values of a group of g columns by C kernels.

    Attributes
    ----------
    fitted : the fits; None if the group gets its mean.
    missing : (C, m, g), of the rows in which the group is missing.
    left_out : (C, t, g), of the fitted rows, by fits without them; 0 where the group is missing.
    hidden : (C, B, t, g), of the copies, where they are to be imputed; else 0.
    """

    fitted: Fitted | None
    missing: Array
    left_out: Array
    hidden: Array


@dataclass(frozen=True, eq=False)
class MetricFiller:
    """Regress each group of columns on the others, in a metric of its own, in a few sweeps.

    Attributes
    ----------
    preset : kernels of the sweeps, and limits.
    odds : (n, d), weights of known entries, which make them resemble the missing ones; None for 1 each.
    tol : change of a sweep, in standard deviations, after which no other sweep follows.
    """

    preset: Preset = BALANCED
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
        state = MetricFill(problem, problem.Z, name=self.name, groups=groups, shrinkage=np.ones(d))
        yield state
        began = time.monotonic()
        with Workers(run.n_jobs):
            copies = linear_copies(problem, groups, self.preset.folds, self.preset.rows, rng)
        weights = np.array([_allowed(problem, group) for group in groups], dtype=float).reshape(-1, d)
        recent: list[list[_Visit]] = []
        for number, components in enumerate(self.preset.sweeps, 1):
            last = number == len(self.preset.sweeps)
            task = partial(self._visit, problem, copies, components, run, last)
            with Workers(run.n_jobs):
                found = share(task, list(zip(groups, weights, strict=True)))
            visits = [one for one in found if one is not None]
            if len(visits) < len(groups):
                yield replace(state, status=Status.TIME_LIMIT)
                return
            recent = [*recent, visits][-self.preset.blended :]
            state, copies = self._blended(state, copies, weights, recent, began)
            if state.trace[-1].change <= self.tol or last:
                yield replace(state, status=self._ending(state, last))
                return
            yield state
            began = time.monotonic()
            weights = np.array(
                [
                    learned_weights(one.fitted.slopes, problem.groups, _allowed(problem, group))
                    if one.fitted is not None
                    else before
                    for one, group, before in zip(visits, groups, weights, strict=True)
                ]
            ).reshape(-1, d)

    def _ending(self, state: MetricFill, last: bool) -> Status:
        problem = state.problem
        if problem.nothing_missing:
            every_row = len(problem.rows) == len(problem.given)
            return Status.NOTHING_MISSING if every_row else Status.ONLY_EMPTY_ROWS
        return Status.SWEEP_LIMIT if last else Status.SETTLED

    def _visit(
        self,
        problem: Problem,
        copies: Copies,
        components: Sequence[Component],
        run: Run,
        last: bool,
        task: tuple[Sequence[int], Array],
    ) -> _Visit | None:
        """Fit a group with these weights of its predictors; None if the time is up."""
        if run.time_is_up:
            return None
        group, weights = task
        columns, own = list(group), int(copies.fold[group[0]])
        M = problem.M[copies.rows, columns[0]]
        known, unknown = np.flatnonzero(~M), np.flatnonzero(M)
        missing = np.flatnonzero(problem.M[:, columns[0]])
        C, g, (B, t, d) = len(components), len(columns), copies.hidden.shape
        left_out = np.zeros((C, t, g))
        hidden = np.zeros((C, 0 if last else B, t, g))
        if len(known) < _MIN_ROWS or not weights.any():
            return _Visit(None, np.zeros((C, len(missing), g)), left_out, hidden)
        f = problem.Z[copies.rows[known]][:, columns]
        fitted = self.fit(problem, copies, group, weights, components, slopes=not last)
        left_out[:, known] = f - np.stack([one.errors for one in fitted.fits])
        values = fitted.regression.at(copies.Z[missing])
        if not last:
            queries = copies.hidden[:, unknown].reshape(-1, d)
            hidden[:, :, unknown] = fitted.regression.at(queries).reshape(C, B, len(unknown), g)
            alone = bool((copies.fold == own).sum() == g)
            hidden[:, own, known] = (
                left_out[:, known] if alone else fitted.without_own(copies.hidden[own, known])
            )
        return _Visit(fitted, values, left_out, hidden)

    def fit(
        self,
        problem: Problem,
        copies: Copies,
        group: Sequence[int],
        weights: Array,
        components: Sequence[Component],
        slopes: bool = False,
    ) -> Fitted:
        """The regression of a group on its copy, in the rows in which it is known."""
        known = np.flatnonzero(~problem.M[copies.rows, group[0]])
        predictors = copies.predictors(problem, int(copies.fold[group[0]]))[known]
        f = problem.Z[copies.rows[known]][:, list(group)]
        return fit(predictors, f, weights, components, self.preset.exact, self.preset.centres, slopes)

    def _blended(
        self, state: MetricFill, copies: Copies, weights: Array, recent: list[list[_Visit]], began: float
    ) -> tuple[MetricFill, Copies]:
        """The fill after a sweep, from the visits of this and recent sweeps, and the copies for the next."""
        problem, groups = state.problem, state.groups
        joined = [_joined(visits) for visits in zip(*recent, strict=True)]
        shares, *without_fold = self._shares(problem, copies, groups, joined)
        fold = _row_fold(len(copies.rows))
        Z, left_out = problem.Z.copy(), np.zeros((len(copies.rows), problem.shape[1]))
        hidden = copies.hidden.copy()
        for position, (group, visit, share_of) in enumerate(zip(groups, joined, shares, strict=True)):
            columns = list(group)
            missing = np.flatnonzero(problem.M[:, columns[0]])
            Z[np.ix_(missing, np.array(columns))] = np.tensordot(share_of, visit.missing, 1)
            for number, others in enumerate(without_fold):
                own = np.flatnonzero(fold == number)
                left_out[np.ix_(own, np.array(columns))] = np.tensordot(
                    others[position], visit.left_out[:, own], 1
                )
            if visit.hidden.shape[1]:
                imputed = np.broadcast_to(problem.M[copies.rows, columns[0]], hidden.shape[:2]).copy()
                imputed[copies.fold[columns[0]]] = True
                values = np.tensordot(share_of, visit.hidden, 1)
                for k, column in enumerate(columns):
                    hidden[imputed, column] = values[imputed, k]
        Z, left_out, hidden = (limited(problem, one) for one in (Z, left_out, hidden))
        Z = np.where(problem.M, Z, problem.Z)
        known = ~problem.M[copies.rows] & (copies.fold >= 0)
        wrong = (left_out - problem.Z[copies.rows])[known]
        change = (Z - to_numpy(state.Z))[problem.to_learn]
        record = SweepRecord(
            sweep=state.sweep + 1,
            change=_root_mean_square(change),
            seconds=time.monotonic() - began,
            bandwidth=_bandwidth([one.fitted for one in recent[-1]]),
        )
        regressions = tuple(None if one.fitted is None else one.fitted.regression for one in recent[-1])
        swept = MetricSweep(copies, weights, shares, regressions)
        after = replace(
            state,
            Z=Z,
            trace=(*state.trace, record),
            sweeps=(*state.sweeps, swept),
            left_out=left_out,
            errors=(*state.errors, _root_mean_square(wrong)),
        )
        return after, copies.with_values(Z, hidden)

    def _shares(self, problem: Problem, copies: Copies, groups: Groups, visits: list[_Visit]) -> Array:
        """(1 + F, G, C), weights of the kernels: those with the smallest error on entries that are left out.

        The first are found on all rows, the others on the rows outside each of F folds.
        """
        fold = _row_fold(len(copies.rows))
        sums = []
        for group, visit in zip(groups, visits, strict=True):
            known = np.flatnonzero(~problem.M[copies.rows, group[0]])
            rows = copies.rows[known]
            truth, found = problem.Z[rows][:, list(group)], visit.left_out[:, known]
            weight = np.ones(len(rows)) if self.odds is None else self.odds[rows, group[0]]
            of_fold = []
            for own in (fold[known] == number for number in range(_ROW_FOLDS)):
                weighted = found[:, own] * weight[own, None]
                products = np.einsum("ckg,ekg->ce", weighted, found[:, own])
                of_fold.append((products, np.einsum("ckg,kg->c", weighted, truth[own]), weight[own].sum()))
            sums.append([np.array(one) for one in zip(*of_fold, strict=True)])
        if not sums:
            return np.zeros((1 + _ROW_FOLDS, 0, 1))
        products, projections, entries = (np.stack(one, axis=1) for one in zip(*sums, strict=True))
        of_all = [one.sum(axis=0) for one in (products, projections, entries)]
        without = (
            [every - one[number] for every, one in zip(of_all, (products, projections, entries), strict=True)]
            for number in range(_ROW_FOLDS)
        )
        return np.stack([stack_by_group(*of_all), *(stack_by_group(*one) for one in without)])

    def extension(self, fill: MetricFill, run: Run) -> Extension | None:
        """The model that fills new rows."""
        return _MetricExtension(self, fill)


def _row_fold(n: int) -> Indices:
    """(n,), the fold of each row: weights of kernels for its left-out entries are found in other folds."""
    return np.arange(n) % _ROW_FOLDS


def _joined(visits: Sequence[_Visit]) -> _Visit:
    """The visits of one group in several sweeps, with their kernels one after the other."""
    last = min(one.hidden.shape[1] for one in visits)
    return _Visit(
        visits[-1].fitted,
        np.concatenate([one.missing for one in visits]),
        np.concatenate([one.left_out for one in visits]),
        np.concatenate([one.hidden[:, :last] for one in visits]),
    )


def _root_mean_square(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2))) if values.size else 0.0


def _bandwidth(fits: Sequence[Fitted | None]) -> float:
    scales = [one.regression.kernels[0].scale for one in fits if one is not None]
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
    return allowed


@dataclass(frozen=True, eq=False)
class _MetricExtension:
    """Fills new rows by the sweeps of a fill, each row on its own."""

    filler: MetricFiller
    fill: MetricFill

    @cached_property
    def _regressions(self) -> list[tuple[Regression | None, ...]]:
        """The regressions of every sweep; those of a saved model are computed here."""
        found = []
        for sweep, components in zip(self.fill.sweeps, self.filler.preset.sweeps, strict=False):
            found.append(sweep.regressions or self._fitted(sweep, components))
        return found

    def _fitted(self, sweep: MetricSweep, components: Sequence[Component]) -> tuple[Regression | None, ...]:
        problem = self.fill.problem

        def one(task: tuple[Sequence[int], Array]) -> Regression | None:
            group, weights = task
            known = (~problem.M[sweep.copies.rows, group[0]]).sum()
            if known < _MIN_ROWS or not weights.any():
                return None
            return self.filler.fit(problem, sweep.copies, group, weights, components).regression

        with Workers():
            return tuple(share(one, list(zip(self.fill.groups, sweep.weights, strict=True))))

    def complete(self, given: Table, moments: Array | None = None) -> Table:
        """Rows (m, d) in the user's units, filled where they are NaN."""
        problem, M = self.fill.problem, np.isnan(given)
        some = np.flatnonzero(M.any(axis=1) & ~M.all(axis=1))
        Z = np.zeros(given.shape)
        if some.size and self.fill.sweeps:
            known = problem.scaling.standardise(np.where(M[some], problem.scaling.mean, given[some]))
            Z[some] = self._swept(np.where(M[some], 0.0, known), M[some])
        return problem.complete(given, Z)

    def _swept(self, known: Array, M: Mask) -> Array:
        """Imputed rows (m, d) in standardised units."""
        problem, fill = self.fill.problem, self.fill
        Z = np.where(M, limited(problem, linear_start(problem, known, M)), known)
        preset = self.filler.preset
        recent: list[list[Array]] = []
        for number, (sweep, regressions) in enumerate(zip(fill.sweeps, self._regressions, strict=True)):
            after, values = known.copy(), []
            for group, one in zip(fill.groups, regressions, strict=True):
                rows = np.flatnonzero(M[:, group[0]])
                nothing = np.zeros((len(preset.sweeps[number]), len(rows), len(group)))
                values.append(nothing if one is None else one.at(Z[rows]))
            recent = [*recent, values][-preset.blended :]
            for group, shares, *found in zip(fill.groups, sweep.shares, *recent, strict=True):
                rows = np.flatnonzero(M[:, group[0]])
                blend = np.tensordot(shares, np.concatenate(found), 1)
                after[np.ix_(rows, np.array(group))] = blend
            Z = np.where(M, limited(problem, after), known)
        return Z * np.where(M, fill.shrinkage, 1.0)
