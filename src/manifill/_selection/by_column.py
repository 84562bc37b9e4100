"""Regressions with learned metrics: for which tables, and what entries that are left out say of them."""

import numpy as np

from manifill._arrays import Array
from manifill._fillers.metric import MetricFill
from manifill._problem import Problem
from manifill._validation import Evidence, shrinkage
from manifill.kernels.bandwidth import evenly_spaced

# Errors of missing entries, relative to those of entries that are left out: weights of predictors were
# learned with the help of the latter. 17 development tables, 500 rows, masks 21 and 22: errors of .5324 and
# .5240 standard deviations, of which half is chance (those of the linear start are .6031 and .5990).
_OPTIMISM = 1.01
# Standard errors that the gain over the column means must exceed. In 20 fits of four tables with nothing to
# learn (three of noise, kin8nm) the largest gain was 2.0; others gain far more, since all entries count.
_STANDARD_ERRORS = 3.0
# Most rows whose entries are evidence, and limit on rows · d⁴: the time to estimate the errors of entries.
_MAX_ROWS, _MAX_WORK = 4000, 2e10

MAX_COLUMNS = 100
"""Columns up to which metrics are learned: the linear start takes d³ operations per row."""


def fits_by_column(problem: Problem) -> bool:
    """Is a table filled by regressions with learned metrics? Not if it has row times or a layout."""
    plain = problem.layout is None and problem.moments is None and not problem.n_context
    return plain and 2 <= problem.shape[1] <= MAX_COLUMNS


def left_out_evidence(fill: MetricFill, odds: Array) -> Evidence:
    """Known entries and their values by fits without them, after shrinkage; of some rows if there are many.

    The shrinkage is found on all rows.
    """
    problem, rows, d = fill.problem, fill.rows, fill.problem.shape[1]
    fitted = np.zeros(d, dtype=np.bool_)
    fitted[[column for group in fill.groups for column in group]] = True
    every = Evidence.left_out(problem, rows, fill.left_out, odds, np.ones(d), fitted)
    factors = _shrinkage_by_pool(problem, every)
    most = max(200, min(_MAX_ROWS, int(_MAX_WORK / d**4)))
    some = np.arange(len(rows))[evenly_spaced(len(rows), most)]
    known = problem.Z[rows[some]]
    values = known + _OPTIMISM * (fill.left_out[some] * factors - known)
    values = np.where(factors > 0, values, 0.0)  # other columns are filled with their mean
    return Evidence.left_out(problem, rows[some], values, odds, factors, fitted)


def _shrinkage_by_pool(problem: Problem, evidence: Evidence) -> Array:
    """(d,), the shrinkage of each column, found from the entries of the columns in its pool.

    Pools of few columns have few entries, of which one large value can be most of the standard error. So the
    usual limit applies to them.
    """
    limits = (_STANDARD_ERRORS,) if problem.predictors.deciding.any() else ()
    factors, pools = np.ones(problem.shape[1]), problem.predictors.pools(problem.M)
    for pool in np.unique(pools, axis=0):
        columns, own = np.flatnonzero(pool), np.flatnonzero((pools == pool).all(axis=1))
        entries = np.flatnonzero(pool[evidence.columns])
        found, truth = evidence.found[entries], evidence.truth[entries]
        position = np.searchsorted(columns, evidence.columns[entries])
        of_pool = shrinkage(position, found, truth, len(columns), *limits)
        factors[own] = of_pool[np.searchsorted(columns, own)]
    return factors
