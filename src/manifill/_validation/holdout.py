"""Hold out known entries, to see how well they are filled: the only place that hides entries.

Entries are held out at random where rows have no order and columns no layout. Else how well an entry can be
filled depends on how far it is from known ones: there they are held out *like the missing ones*. Some rows
are damaged once more, with the damage of another row moved elsewhere, and on the other rows single entries
are held out; every held-out entry counts as much as there are missing ones at its distance.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.ndimage import distance_transform_edt

from manifill._arrays import Array, Indices, Mask, Table
from manifill._problem import Groups, Problem

# Held-out entries of a column that make its error known to about a tenth (relative error 1/√(2·60) = .09).
_ENTRIES_PER_COLUMN = 60
# Lower bound on the ratio of a column's scale after and before hiding; matches the ±1e6 clip of `Scaling`.
_MIN_SCALE_RATIO = 1e-6
# Bound on the logarithm of the weight of a held-out entry.
_MAX_LOG_WEIGHT = 3.0
# Entries of a table beyond which one held-out set is enough.
_MANY_ENTRIES = 25_000
# Share of the known entries held out as single ones, and by damage moved from elsewhere: where more than
# _MUCH_MISSING is missing already, little may be hidden, or what is left would be another problem.
_POINTS, _MOVED, _MOVED_OF_LITTLE, _MUCH_MISSING = 0.06, 0.25, 0.08, 0.2
_MAX_COPIES = 32
# The largest weight of one held-out entry, and how many entries every column keeps.
_MAX_WEIGHT, _MIN_LEFT = 20.0, 4
# Edges between distances to the nearest known entry that are told apart: in the row, and along the rows.
_IN_ROW = np.array([0.5, 1.2, 1.6, 2.5, 3.5, 5.5, 8.5, 12.5, 20.5])
_ALONG_ROWS = np.array([0.5, 1.5, 2.5, 4.5, 8.5, 16.5])


@dataclass(frozen=True, eq=False)
class HeldOut:
    """A problem with some known entries hidden, and what they are.

    Attributes
    ----------
    problem : as if they were missing; means and standard deviations are of what is left.
    rows, columns : (h,), where they are in `problem.Z`.
    truth : (h,), their values; 0 is the mean of what is left, 1 a standard deviation of what was there.
    weight : (h,), what each counts, for them to be together like the missing ones.
    place : (h,), the kind of place of each: how far known entries are.
    scale : (h,), a standard unit of `problem`, in those before: where nearly all values of a column are equal,
        little may be left when others are hidden, and an entry would count a thousandfold.
    """

    problem: Problem
    rows: Indices
    columns: Indices
    truth: Array
    weight: Array
    place: Indices
    scale: Array

    def found(self, Z: Array) -> Array:
        """(h,), what a fill made of them."""
        return self.scale * np.asarray(Z[self.rows, self.columns], dtype=np.float64)

    def within(self, which: Indices) -> "HeldOut":
        """The same among some rows only, which are in order and hold all that is held out."""
        return replace(self, problem=self.problem.take(which), rows=np.searchsorted(which, self.rows))


def hide(
    problem: Problem,
    entries: Mask,
    known: Table | None = None,
    weight: Array | None = None,
    place: npt.NDArray[Any] | None = None,
) -> HeldOut:
    """`problem` without the entries (N, d) that are True; where `known` (N, d) is a number it is observed.

    `weight` and `place` (n, d) are those of the entries; by default the odds of being missing, and 0.
    """
    given = np.where(entries, np.nan, problem.given)
    if known is not None:
        given = np.where(np.isnan(known), given, known)
    left = problem.like(given)
    rows, columns = np.nonzero(entries[left.rows] & (left.scaling.std > 0))
    values = left.scaling.standardise(problem.given[left.rows].astype(np.float64))
    if weight is None:
        own = problem.shape[1] - problem.n_context
        groups = tuple(group for group in problem.groups if group[0] < own)
        weight = like_the_missing(np.isnan(problem.given[left.rows, :own]), groups)
    before, now = problem.scaling, left.scaling
    with np.errstate(over="ignore", invalid="ignore"):  # near the largest float; bounded below
        scale = now.scale / np.where(before.std > 0, before.std, 1.0) * (now.magnitude / before.magnitude)
    scale = np.clip(scale, _MIN_SCALE_RATIO, 1 / _MIN_SCALE_RATIO)[columns]
    places = np.zeros(len(rows), dtype=np.intp) if place is None else place[rows, columns]
    return HeldOut(left, rows, columns, scale * values[rows, columns], weight[rows, columns], places, scale)


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
    weight: Array = np.exp(np.clip(slope * (others - others.mean()), -_MAX_LOG_WEIGHT, _MAX_LOG_WEIGHT))
    return weight


def random_sets(
    given: Table, groups: Groups, share: float, count: int, rng: np.random.Generator, n_context: int = 0
) -> list[Mask]:
    """`count` sets of observed entries (N, d), each about `share` of every column, no entry in two of them.

    Groups of columns are held out together. A row keeps a value, and a column that has fewer than four
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
    """The share of observed entries to hold out at random, and how many sets of them.

    As little as tells: every entry that is hidden makes the table a little harder than it is.
    """
    own = problem.shape[1] - problem.n_context
    per_column = (~problem.M[:, :own]).sum() / max(own, 1)
    share = float(np.clip(_ENTRIES_PER_COLUMN / max(per_column, 1.0), 0.02, 0.1))
    if large(problem):
        return share, 1
    return share, int(np.clip(round(_ENTRIES_PER_COLUMN / max(share * per_column, 1.0) + 0.3), 1, 3))


def large(problem: Problem) -> bool:
    """Has the table so many entries that one held-out set tells enough?"""
    n, d = problem.shape
    return n * (d - problem.n_context) > _MANY_ENTRIES


def hold_out_like_missing(problem: Problem, rows: Indices, rng: np.random.Generator) -> HeldOut:
    """Hold out known entries of these rows (m,), in the way in which others are missing."""
    M, shape = problem.M[rows], _row_shape(problem)
    H = _damaged_again(M, shape, problem.moments is not None, rng)
    if len(shape) == 1:  # channels of a pixel go together already; so do columns of a group
        for group in problem.groups:
            H[:, list(group)] = H[:, [group[0]]]
    H &= ~M
    if problem.layout is None or not problem.layout.homogeneous:
        few = (~M & ~H).sum(axis=0) < _MIN_LEFT
        for group in problem.groups:
            if few[list(group)].any():
                H[:, list(group)] = False
    H &= not (M | H).all()  # something must be left to fill from
    missing, held = places(problem, M, M)[M], places(problem, M | H, H)[H]
    size = int(max(missing.max(initial=0), held.max(initial=0))) + 1
    wanted = np.bincount(missing, minlength=size) / max(1, len(missing))
    there = np.bincount(held, minlength=size) / max(1, len(held))
    counts = np.minimum((wanted / np.maximum(there, 1e-12))[held], _MAX_WEIGHT)
    counts = counts / counts.mean() if counts.any() else np.ones(len(held))
    whole = np.zeros(problem.shape, dtype=np.bool_)
    weight, place = np.ones(problem.shape), np.zeros(problem.shape, dtype=np.intp)
    whole[rows] = H
    weight[whole], place[whole] = counts, held
    entries = np.zeros(problem.given.shape, dtype=np.bool_)
    entries[problem.rows] = whole
    return hide(problem, entries, weight=weight, place=place)


def _damaged_again(M: Mask, shape: tuple[int, ...], in_order: bool, rng: np.random.Generator) -> Mask:
    """(n, d), entries to hold out, known or not: single ones, and missing ones moved elsewhere."""
    n = len(M)
    field = M.reshape(n, *shape)
    known = ~field
    grid = len(shape) == 3
    together = grid and bool((field[..., :1] == field).all())  # channels are damaged together
    points = rng.random((*field.shape[:-1], 1) if together else field.shape) < _POINTS
    most = (_MOVED if M.mean() < _MUCH_MISSING else _MOVED_OF_LITTLE) * known.sum()
    # Without distances there is no telling whether moved damage is like what there is: single entries only.
    moved = _moved(field, rng) & known & (grid or in_order)
    for _ in range(_MAX_COPIES):  # little damage is few examples: more of it, where there is space
        if not 0 < moved.sum() < most / 2:
            break
        moved |= _moved(field, rng) & known
    per_row = moved.reshape(n, -1).sum(axis=1)
    # Rows in order of time are damaged again in one stretch, or gaps over several rows would be cut.
    order = np.roll(np.arange(n), int(rng.integers(n))) if in_order else rng.permutation(n)
    again = np.zeros(n, dtype=np.bool_)
    again[order[: int(np.searchsorted(np.cumsum(per_row[order]), most)) + 1]] = True
    again &= per_row > 0
    again = again.reshape(-1, *[1] * len(shape))
    single = points & known & (~again if not again.all() else True)
    return np.asarray((moved & again) | single).reshape(n, -1)


def _moved(field: Mask, rng: np.random.Generator) -> Mask:
    """The damage of other rows, moved elsewhere."""
    n = len(field)
    shifts = [int(rng.integers(1, n)) if n > 1 else 0]
    if field.ndim == 4:
        shifts += [int(rng.integers(0, size)) for size in field.shape[1:3]]
    return np.roll(field, shifts, tuple(range(len(shifts))))


def places(problem: Problem, M: Mask, where: Mask) -> npt.NDArray[Any]:
    """(n, d), the kind of place of each missing entry: how far known ones are, in its row and along rows."""
    kinds = np.zeros(M.shape, dtype=np.intp)
    shape = _row_shape(problem)
    if len(shape) == 3:  # a grid
        fields, found = M.reshape(len(M), *shape), kinds.reshape(len(M), *shape)
        for i in np.flatnonzero(where.any(axis=1)):
            damage = fields[i].all(axis=-1)
            distance = np.full(damage.shape, np.inf) if damage.all() else distance_transform_edt(damage)
            found[i] = np.digitize(distance, _IN_ROW)[..., None]
    if problem.moments is not None:
        kinds = kinds * (len(_ALONG_ROWS) + 1) + np.digitize(_steps_along_rows(M), _ALONG_ROWS)
    return kinds


def _steps_along_rows(M: Mask) -> npt.NDArray[Any]:
    """How many rows each entry is away from the nearest that is known in its column."""
    row = np.arange(len(M))[:, None]
    last = np.maximum.accumulate(np.where(M, -np.inf, row), axis=0)
    following = np.minimum.accumulate(np.where(M, np.inf, row)[::-1], axis=0)[::-1]
    return np.minimum(row - last, following - row)


def _row_shape(problem: Problem) -> tuple[int, ...]:
    d = problem.shape[1]
    return (d,) if problem.layout is None else problem.layout.shape(d)


def root_mean_square(x: Array) -> float:
    """√ of the mean of squares; NaN of nothing."""
    return math.sqrt(float(np.mean(x**2))) if x.size else math.nan
