"""New rows, filled by the regressions of every sweep."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from manifill._arrays import Array, Mask, Table
from manifill._fillers.metric.copies import fit_on_copy, limited, linear_start
from manifill._fillers.metric.outcome import MetricFill, MetricSweep, stages
from manifill._fillers.metric.preset import Preset, Trees
from manifill._fillers.metric.regression import Regression
from manifill._fillers.metric.rows import Rows
from manifill._fillers.metric.trees import memory
from manifill._threads import Workers, share

# Most bytes of trees that are kept for the next new rows.
_MAX_KEPT = 500_000_000


@dataclass(frozen=True, eq=False)
class MetricExtension:
    """Fills new rows by the sweeps of a fill, each row on its own."""

    preset: Preset
    fill: MetricFill

    @cached_property
    def _regressions(self) -> list[Sequence[Regression | None]]:
        """The regressions of every sweep; those of a saved model, and trees, are computed here.

        Empty for a sweep whose trees are too large to be kept: they are computed whenever they are needed.
        """
        every = range(len(self.fill.groups))
        return [
            sweep.regressions or (self._fitted(sweep, every) if self._fits_in_memory(sweep) else ())
            for sweep in self.fill.sweeps
        ]

    def _fits_in_memory(self, sweep: MetricSweep) -> bool:
        used = [memory(one, len(sweep.copies.rows)) for one in sweep.members if isinstance(one, Trees)]
        return len(self.fill.groups) * sum(used) <= _MAX_KEPT

    def _fitted(self, sweep: MetricSweep, positions: Sequence[int]) -> list[Regression | None]:
        """The regressions of the groups at these positions."""
        problem = self.fill.problem

        def one(position: int) -> Regression | None:
            group, weights = self.fill.groups[position], sweep.weights[position]
            members = np.flatnonzero(sweep.shares[position])
            used = sweep.errors, [sweep.members[i] for i in members], self.preset, sweep.centres
            if not members.size:
                return None
            found = fit_on_copy(problem, sweep.copies, group, weights, *used)
            return None if found is None else replace(found.regression, members=members)

        with Workers():
            return share(one, positions)

    def complete(self, given: Table, moments: Array | None = None) -> Table:
        """Rows (m, d) in the user's units, filled where they are NaN."""
        problem, M = self.fill.problem, np.isnan(given)
        some = np.flatnonzero(M.any(axis=1) & ~problem.predictors.empty(M))
        Z = np.zeros(given.shape)
        if some.size and self.fill.sweeps:
            known = problem.scaling.standardise(np.where(M[some], problem.scaling.mean, given[some]))
            Z[some] = self._swept(np.where(M[some], 0.0, known), M[some])
        return problem.complete(given, Z)

    def _swept(self, known: Array, M: Mask) -> Array:
        """Imputed rows (m, d) in standardised units."""
        problem, fill = self.fill.problem, self.fill
        Z = np.where(M, limited(problem, linear_start(problem, known, M)), known)
        for sweep, regressions in zip(fill.sweeps, self._regressions, strict=True):
            for stage in stages(sweep.copies.fold, fill.groups, problem.predictors.helping):
                before = Z.copy()
                own = [regressions[one] for one in stage] if regressions else self._fitted(sweep, stage)
                for position, regression in zip(stage, own, strict=True):
                    columns = np.array(fill.groups[position])
                    rows = np.flatnonzero(M[:, columns[0]])
                    values = np.zeros((len(rows), len(columns)))
                    if regression is not None:
                        found = regression.at(Rows(before[rows], M[rows]))
                        own_shares = sweep.shares[position, regression.members]
                        values = np.tensordot(own_shares, found, 1)
                    Z[np.ix_(rows, columns)] = limited(problem, values, columns)
        return Z * np.where(M, fill.shrinkage * problem.predictors.informed(M), 1.0)
