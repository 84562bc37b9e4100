"""New rows, filled by the regressions of every sweep."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from manifill._arrays import Array, Mask, Table
from manifill._fillers.metric.copies import fit_on_copy, limited, linear_start
from manifill._fillers.metric.outcome import MetricFill, MetricSweep, stages
from manifill._fillers.metric.preset import Preset
from manifill._fillers.metric.regression import Regression
from manifill._fillers.metric.rows import Rows
from manifill._threads import Workers, share


@dataclass(frozen=True, eq=False)
class MetricExtension:
    """Fills new rows by the sweeps of a fill, each row on its own."""

    preset: Preset
    fill: MetricFill

    @cached_property
    def _regressions(self) -> list[tuple[Regression | None, ...]]:
        """The regressions of every sweep; those of a saved model are computed here."""
        return [sweep.regressions or self._fitted(sweep) for sweep in self.fill.sweeps]

    def _fitted(self, sweep: MetricSweep) -> tuple[Regression | None, ...]:
        problem = self.fill.problem

        def one(task: tuple[Sequence[int], Array]) -> Regression | None:
            group, weights = task
            used = sweep.errors, sweep.members, self.preset, sweep.centres
            found = fit_on_copy(problem, sweep.copies, group, weights, *used)
            return None if found is None else found.regression

        with Workers():
            return tuple(share(one, list(zip(self.fill.groups, sweep.weights, strict=True))))

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
                for position in stage:
                    columns, regression = np.array(fill.groups[position]), regressions[position]
                    rows = np.flatnonzero(M[:, columns[0]])
                    values = np.zeros((len(rows), len(columns)))
                    if regression is not None:
                        found = regression.at(Rows(before[rows], M[rows]))
                        values = limited(problem, np.tensordot(sweep.shares[position], found, 1), columns)
                    Z[np.ix_(rows, columns)] = values
        return Z * np.where(M, fill.shrinkage * problem.predictors.informed(M), 1.0)
