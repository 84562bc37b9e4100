"""Observed entries, hidden to see how well they are filled."""

import math
from dataclasses import dataclass

import numpy as np

from manifill.arrays import Array, Indices, Mask, Table
from manifill.sweep import Problem
from manifill.sweep.problem import Groups

# Hidden entries of a column that make its error known to about a tenth.
_ENOUGH = 60
# A unit is taken for no less of another: standard values are held to a million.
_LEAST_UNIT = 1e-6
# The logarithm of the most, or least, that a hidden entry counts.
_HEAVY = 3.0
# Entries of a table beyond which one set of hidden ones must do.
_MANY_ENTRIES = 25_000


@dataclass(frozen=True, eq=False)
class Hidden:
    """A problem with some observed entries hidden, and what they are.

    Attributes
    ----------
    problem : as if they were missing; means and spreads are of what is left.
    rows, columns : (h,), where they are in `problem.Z`.
    truth : (h,), their values; 0 is the mean of what is left, 1 a standard deviation of what was there.
    weight : (h,), what each counts, for them to be together like the missing ones.
    unit : (h,), a standard unit of `problem`, in those before: where nearly all values of a column are equal,
        little may be left when others are hidden, and an entry would count a thousandfold.
    """

    problem: Problem
    rows: Indices
    columns: Indices
    truth: Array
    weight: Array
    unit: Array

    def found(self, Z: Array) -> Array:
        """(h,), what a fill made of them."""
        return self.unit * Z[self.rows, self.columns]


def hide(problem: Problem, entries: Mask, known: Table | None = None) -> Hidden:
    """`problem` without the entries (N, d) that are True; where `known` (N, d) is a number it is observed."""
    given = np.where(entries, np.nan, problem.given)
    if known is not None:
        given = np.where(np.isnan(known), given, known)
    left = Problem.of(
        given,
        groups=problem.groups,
        bounds=problem.bounds,
        weights=problem.scaling.weight,
        n_context=problem.n_context,
    )
    rows, columns = np.nonzero(entries[left.rows] & (left.scaling.spread > 0))
    values = left.scaling.standardise(problem.given[left.rows].astype(np.float64))
    own = problem.shape[1] - problem.n_context
    groups = tuple(group for group in problem.groups if group[0] < own)
    weight = like_the_missing(np.isnan(problem.given[left.rows, :own]), groups)
    was, now = problem.scaling, left.scaling
    with np.errstate(
        over="ignore", invalid="ignore"
    ):  # of values near the end of all numbers; held to the bounds below
        unit = now.unit / np.where(was.spread > 0, was.spread, 1.0) * (now.magnitude / was.magnitude)
    unit = np.clip(unit, _LEAST_UNIT, 1 / _LEAST_UNIT)[columns]
    return Hidden(left, rows, columns, unit * values[rows, columns], weight[rows, columns], unit)


def like_the_missing(M: Mask, groups: Groups | None = None) -> Array:
    """(n, d), what each observed entry counts, for all of them to be like those missing (True in `M`).

    Rows that have lost many values are where values are missing, and often unlike the others. The odds that
    an entry is missing, given how many others of its row are, are its weight; where rows do not matter all
    weigh about the same. Columns of a group are one variable. Against the truth: docs/accuracy.md.
    """
    if groups is not None and len(groups) < M.shape[1]:
        variables = like_the_missing(M[:, [group[0] for group in groups]])
        return variables[:, _variable_of(groups)]
    others = (M.sum(axis=1)[:, None] - M).astype(np.float64)
    missing, observed = others[M], others[~M]
    if not missing.size or not observed.size:
        return np.ones(M.shape)
    within = float(missing.var() * missing.size + observed.var() * observed.size) / M.size
    if within == 0:
        return np.ones(M.shape)
    # Log-odds of two normal distributions with the same variance: a straight line.
    slope = (missing.mean() - observed.mean()) / within
    variance = 2 * (1 / missing.size + 1 / observed.size) / within  # each pair of entries is met twice
    if slope**2 <= 4 * variance:
        return np.ones(M.shape)
    slope *= 1 - 4 * variance / slope**2
    weight: Array = np.exp(np.clip(slope * (others - others.mean()), -_HEAVY, _HEAVY))
    return weight


def hidden_sets(
    given: Table, groups: Groups, share: float, count: int, rng: np.random.Generator, n_context: int = 0
) -> list[Mask]:
    """`count` sets of observed entries (N, d), each about `share` of every column, no entry in two of them.

    Groups of columns are hidden together. A row keeps a value, and a column that has fewer than four
    observed ones all of them; so do the last `n_context` columns.
    """
    observed = ~np.isnan(given)
    first = [group[0] for group in groups]
    # The rank of each observed entry among those of its column, in random order; a group has its first's.
    turn = np.where(observed[:, first], rng.random((len(given), len(first))), np.inf)
    rank = np.argsort(np.argsort(turn, axis=0), axis=0)
    n_observed = observed[:, first].sum(axis=0)
    size = np.round(min(share, 0.5 / count) * n_observed).astype(int)
    size = np.where((size == 0) & (n_observed >= 2 + 2 * count), 1, size)
    variable = _variable_of(groups)
    sets = []
    for i in range(count):
        entries = ((rank >= i * size) & (rank < (i + 1) * size))[:, variable] & observed
        entries[:, given.shape[1] - n_context :] = False
        entries[~(observed & ~entries).any(axis=1)] = False
        sets.append(entries)
    return sets


def _variable_of(groups: Groups) -> Indices:
    """(d,), which of the groups each column is in."""
    variable = np.empty(sum(map(len, groups)), dtype=np.intp)
    for i, group in enumerate(groups):
        variable[list(group)] = i
    return variable


def how_much(problem: Problem) -> tuple[float, int]:
    """The share of observed entries to hide, and how often to hide others.

    As little as tells: every entry that is hidden makes the table a little harder than it is.
    """
    own = problem.shape[1] - problem.n_context
    per_column = (~problem.M[:, :own]).sum() / max(own, 1)
    share = float(np.clip(_ENOUGH / max(per_column, 1.0), 0.02, 0.1))
    if large(problem):
        return share, 1
    return share, int(np.clip(round(_ENOUGH / max(share * per_column, 1.0) + 0.3), 1, 3))


def large(problem: Problem) -> bool:
    """Has the table so many entries that one set of hidden ones tells enough?"""
    n, d = problem.shape
    return n * (d - problem.n_context) > _MANY_ENTRIES


def root_mean_square(x: Array) -> float:
    """√ of the mean of squares; NaN of nothing."""
    return math.sqrt(float(np.mean(x**2))) if x.size else math.nan
