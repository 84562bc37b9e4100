"""Hold out known entries, to measure how well they are filled. Entries are held out only in this module.

If rows have no times and columns no layout, entries are held out at random, and weighted by `odds_of` so that
they resemble the missing ones. Otherwise the error of an entry
depends on its distance to known ones, so entries are held out *like the missing ones*. In some rows the
damage (mask of missing entries) of another row is applied at another position. In the other rows single
entries are held out. Weights give held-out entries the same distribution of distances as the missing ones.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.ndimage import distance_transform_edt

from manifill._arrays import Array, Indices, Mask, Table
from manifill._parts import parts_of
from manifill._problem import Problem
from manifill._validation.missingness import missingness_odds, variable_of

# Held-out entries of a column that give its RMS error to about a tenth (relative error 1/√(2·60) = .09).
_ENTRIES_PER_COLUMN = 60
# Lower bound on a column's scale after holding out / before; matches the ±1e6 clip of `Scaling`.
_MIN_SCALE_RATIO = 1e-6
# Entries of a table beyond which one held-out set is used. Set by hand, not tuned.
_MANY_ENTRIES = 25_000
# Shares of the known entries to hold out: single entries; and, at most, entries under damage moved from other
# rows, if less than the share _HIGH_RATE of the table is missing, and if more is. Holding out much of a table
# that already lacks much would change the problem. Set by hand, not tuned.
_SINGLE_SHARE, _MOVED_SHARE, _MOVED_SHARE_HIGH_RATE, _HIGH_RATE = 0.06, 0.25, 0.08, 0.2
# How often damage is moved once more if it covers less than half of its share. Set by hand, not tuned.
_MAX_COPIES = 32
# Largest weight of a held-out entry, and known entries that every column keeps. Set by hand, not tuned.
_MAX_WEIGHT, _MIN_LEFT = 20.0, 4
# Edges of the bins of distance to the nearest known entry: in pixels within the row, and in rows within the
# column. Set by hand, not tuned.
_IN_ROW = np.array([0.5, 1.2, 1.6, 2.5, 3.5, 5.5, 8.5, 12.5, 20.5])
_ALONG_ROWS = np.array([0.5, 1.5, 2.5, 4.5, 8.5, 16.5])


@dataclass(frozen=True, eq=False)
class HeldOut:
    """A problem with some known entries held out, and their true values.

    Attributes
    ----------
    problem : the problem with these entries missing; means and standard deviations are of the other entries.
    rows, columns : (h,), positions of the held-out entries in `problem.Z`.
    truth : (h,), their values. The mean of the other entries is 0; values are in standard deviations
        of the column before holding out.
    weight : (h,), weights that make the held-out entries representative of the missing ones.
    place : (h,), distance bins, as in `distance_bins`.
    scale : (h,), scale of `problem`, in standard deviations before holding out. In a column of nearly equal
        values the standard deviation may shrink a thousandfold when some are held out; errors divided by it
        would dominate all others.
    """

    problem: Problem
    rows: Indices
    columns: Indices
    truth: Array
    weight: Array
    place: Indices
    scale: Array

    def found(self, Z: Array) -> Array:
        """(h,), values of the held-out entries in a fill Z (n, d) of `problem`, in the units of `truth`."""
        return self.scale * np.asarray(Z[self.rows, self.columns], dtype=np.float64)

    def within(self, which: Indices) -> "HeldOut":
        """The same for some rows only; these are sorted, and contain all held-out entries."""
        return replace(self, problem=self.problem.take(which), rows=np.searchsorted(which, self.rows))


def hold_out(
    problem: Problem,
    entries: Mask,
    known: Table | None = None,
    weight: Array | None = None,
    place: npt.NDArray[Any] | None = None,
) -> HeldOut:
    """Hold out the entries (N, d) that are True.

    Parameters
    ----------
    problem : the problem to take entries from.
    entries : (N, d), True for entries to hold out.
    known : (N, d), values that replace those of the table; NaN to keep the value of the table.
    weight : (n, d), weights of the entries; default 1.
    place : (n, d), distance bins of the entries; default 0.
    """
    given = np.where(entries, np.nan, problem.given)
    if known is not None:
        given = np.where(np.isnan(known), given, known)
    left = problem.like(given)
    rows, columns = np.nonzero(entries[left.rows] & (left.scaling.std > 0))
    values = left.scaling.standardise(problem.given[left.rows].astype(np.float64))
    weight = np.ones(problem.shape) if weight is None else weight
    before, now = problem.scaling, left.scaling
    with np.errstate(over="ignore", invalid="ignore"):  # near the largest float; bounded below
        scale = now.scale / np.where(before.std > 0, before.std, 1.0) * (now.magnitude / before.magnitude)
    scale = np.clip(scale, _MIN_SCALE_RATIO, 1 / _MIN_SCALE_RATIO)[columns]
    bins = np.zeros(len(rows), dtype=np.intp) if place is None else place[rows, columns]
    return HeldOut(left, rows, columns, scale * values[rows, columns], weight[rows, columns], bins, scale)


def odds_of(problem: Problem) -> Array:
    """(n, d), odds that an entry is missing given the rest of its row: weights of held-out entries."""
    own = problem.shape[1] - problem.n_context
    odds = np.ones(problem.shape)
    for part in parts_of(problem):
        groups = tuple(group for group in part.problem.groups if group[0] < own)
        found = missingness_odds(part.problem.Z, part.problem.M, groups)
        odds[:, part.targets] = found[:, part.own]
    return odds


def random_sets(problem: Problem, share: float, count: int, rng: np.random.Generator) -> list[Mask]:
    """`count` disjoint random sets of observed entries (N, d), each with about `share` of every column.

    Columns of a group are held out together. Every row keeps at least one value. Context columns keep all of
    theirs, and so do columns with fewer than 2 + 2·count values of which `share` rounds to 0.
    """
    given, groups = problem.given, problem.groups
    observed, informative = ~np.isnan(given), problem.scaling.std > 0
    first = [group[0] for group in groups]
    # Random rank of each observed entry within its column; a group has the ranks of its first column. The
    # numbers are drawn in the order of `problem`, group by group.
    keys = np.full((len(given), len(first)), np.inf)
    keys[problem.rows] = rng.random((len(first), len(problem.rows))).T
    keys[~observed[:, first]] = np.inf
    rank = np.argsort(np.argsort(keys, axis=0), axis=0)
    n_observed = observed[:, first].sum(axis=0)
    size = np.round(min(share, 0.5 / count) * n_observed).astype(int)
    size = np.where((size == 0) & (n_observed >= 2 + 2 * count), 1, size)
    variable = variable_of(groups)
    sets = []
    for i in range(count):
        entries = ((rank >= i * size) & (rank < (i + 1) * size))[:, variable] & observed
        entries[:, given.shape[1] - problem.n_context :] = False
        entries[~(observed & ~entries)[:, informative].any(axis=1)] = False
        sets.append(entries)
    return sets


def holdout_size(problem: Problem) -> tuple[float, int]:
    """The share of observed entries to hold out at random in a set, and the number of sets.

    No more than needed: every entry that is held out makes the table harder to fill than it is.
    """
    own = problem.scaling.std[: problem.shape[1] - problem.n_context] > 0
    per_column = (~problem.M[:, : len(own)][:, own]).sum() / max(own.sum(), 1)
    # At most three sets of 2 to 10 % of the entries. Set by hand, not tuned.
    share = float(np.clip(_ENTRIES_PER_COLUMN / max(per_column, 1.0), 0.02, 0.1))
    if is_large(problem):
        return share, 1
    return share, int(np.clip(round(_ENTRIES_PER_COLUMN / max(share * per_column, 1.0) + 0.3), 1, 3))


def is_large(problem: Problem) -> bool:
    """Does the table have so many entries that one held-out set is enough?"""
    n, d = problem.shape
    return n * (d - problem.n_context) > _MANY_ENTRIES


def hold_out_like_missing(problem: Problem, rows: Indices, rng: np.random.Generator) -> HeldOut:
    """Hold out known entries of these rows (m,) in the pattern of the missing ones."""
    M, shape = problem.M[rows], _row_shape(problem)
    H = _repeated_damage(M, shape, problem.moments is not None, rng)
    if len(shape) == 1:  # columns of a group are held out together; channels of a pixel already are
        for group in problem.groups:
            H[:, list(group)] = H[:, [group[0]]]
    H &= ~M
    if problem.layout is None or not problem.layout.homogeneous:
        too_few = (~M & ~H).sum(axis=0) < _MIN_LEFT
        for group in problem.groups:
            if too_few[list(group)].any():
                H[:, list(group)] = False
    H &= not (M | H).all()  # at least one entry must stay known
    missing, held = distance_bins(problem, M, M)[M], distance_bins(problem, M | H, H)[H]
    size = int(max(missing.max(initial=0), held.max(initial=0))) + 1
    target = np.bincount(missing, minlength=size) / max(1, len(missing))
    actual = np.bincount(held, minlength=size) / max(1, len(held))
    weights = np.minimum((target / np.maximum(actual, 1e-12))[held], _MAX_WEIGHT)
    weights = weights / weights.mean() if weights.any() else np.ones(len(held))
    mask = np.zeros(problem.shape, dtype=np.bool_)
    weight, place = np.ones(problem.shape), np.zeros(problem.shape, dtype=np.intp)
    mask[rows] = H
    weight[mask], place[mask] = weights, held
    entries = np.zeros(problem.given.shape, dtype=np.bool_)
    entries[problem.rows] = mask
    return hold_out(problem, entries, weight=weight, place=place)


def _repeated_damage(M: Mask, shape: tuple[int, ...], ordered: bool, rng: np.random.Generator) -> Mask:
    """(n, d), candidates for holding out: single entries, and the missing entries of other rows, moved."""
    n = len(M)
    field = M.reshape(n, *shape)
    known = ~field
    grid = len(shape) == 3
    shared = grid and bool((field[..., :1] == field).all())  # all channels of a pixel are missing together
    single = rng.random((*field.shape[:-1], 1) if shared else field.shape) < _SINGLE_SHARE
    limit = (_MOVED_SHARE if M.mean() < _HIGH_RATE else _MOVED_SHARE_HIGH_RATE) * known.sum()
    # Without a grid or row times there are no distances to compare moved damage by: single entries only.
    moved = _moved(field, rng) & known & (grid or ordered)
    for _ in range(_MAX_COPIES):  # little damage gives few examples: move it several times
        if not 0 < moved.sum() < limit / 2:
            break
        moved |= _moved(field, rng) & known
    per_row = moved.reshape(n, -1).sum(axis=1)
    # Rows with times are taken in one stretch, so that gaps over several rows are not cut.
    order = np.roll(np.arange(n), int(rng.integers(n))) if ordered else rng.permutation(n)
    damaged = np.zeros(n, dtype=np.bool_)
    damaged[order[: int(np.searchsorted(np.cumsum(per_row[order]), limit)) + 1]] = True
    damaged &= per_row > 0
    damaged = damaged.reshape(-1, *[1] * len(shape))
    elsewhere = single & known & (~damaged if not damaged.all() else True)
    return np.asarray((moved & damaged) | elsewhere).reshape(n, -1)


def _moved(field: Mask, rng: np.random.Generator) -> Mask:
    """The mask, shifted cyclically along the rows, and along height and width of a grid."""
    n = len(field)
    shifts = [int(rng.integers(1, n)) if n > 1 else 0]
    if field.ndim == 4:
        shifts += [int(rng.integers(0, size)) for size in field.shape[1:3]]
    return np.roll(field, shifts, tuple(range(len(shifts))))


def distance_bins(problem: Problem, M: Mask, where: Mask) -> npt.NDArray[Any]:
    """(n, d), bin of each missing entry by its distance to known ones: within its row, and along the rows.

    Distances within rows are computed only for rows with an entry that is True in `where`.
    """
    bins = np.zeros(M.shape, dtype=np.intp)
    shape = _row_shape(problem)
    if len(shape) == 3:  # a grid
        fields, found = M.reshape(len(M), *shape), bins.reshape(len(M), *shape)
        for i in np.flatnonzero(where.any(axis=1)):
            damage = fields[i].all(axis=-1)
            distance = np.full(damage.shape, np.inf) if damage.all() else distance_transform_edt(damage)
            found[i] = np.digitize(distance, _IN_ROW)[..., None]
    if problem.moments is not None:
        bins = bins * (len(_ALONG_ROWS) + 1) + np.digitize(_rows_to_known(M), _ALONG_ROWS)
    return bins


def distance_bins_of_new_rows(problem: Problem, M: Mask, moments: Array | None) -> npt.NDArray[Any]:
    """(m, d), the same for missing entries M of new rows; in time they are compared with the fitted rows.

    `moments` (m,) are their times, NaN where unknown; None if all are unknown.
    """
    bins = distance_bins(replace(problem, moments=None), M, M)
    if problem.moments is None:
        return bins
    row = np.arange(len(problem.M))[:, None]
    before = np.maximum.accumulate(np.where(problem.M, -np.inf, row), axis=0)
    after = np.minimum.accumulate(np.where(problem.M, np.inf, row)[::-1], axis=0)[::-1]
    none = np.full((1, M.shape[1]), np.inf)
    distance = np.full(M.shape, np.inf)
    if moments is not None:
        timed = ~np.isnan(moments)
        place = np.searchsorted(problem.times, moments[timed])  # the index a new row would have
        since = place[:, None] - np.concatenate([-none, before])[place]
        until = np.concatenate([after, none])[place] + 1 - place[:, None]
        distance[timed] = np.minimum(since, until)
    return np.asarray(bins * (len(_ALONG_ROWS) + 1) + np.digitize(distance, _ALONG_ROWS))


def _rows_to_known(M: Mask) -> npt.NDArray[Any]:
    """(n, d), distance in rows from each entry to the nearest known one of its column."""
    row = np.arange(len(M))[:, None]
    last = np.maximum.accumulate(np.where(M, -np.inf, row), axis=0)
    following = np.minimum.accumulate(np.where(M, np.inf, row)[::-1], axis=0)[::-1]
    return np.minimum(row - last, following - row)


def _row_shape(problem: Problem) -> tuple[int, ...]:
    d = problem.shape[1]
    return (d,) if problem.layout is None else problem.layout.shape(d)


def root_mean_square(x: Array) -> float:
    """√ of the mean of squares; NaN for an empty array."""
    return math.sqrt(float(np.mean(x**2))) if x.size else math.nan
