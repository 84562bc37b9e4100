"""Known entries, hidden in the way in which others are missing.

How well a hole can be filled depends on how far its entries are from known ones. So some rows are damaged
once more, with the damage of another row moved elsewhere, and on the other rows single entries are hidden;
and every hidden entry counts as much as there are missing ones at its distance.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.ndimage import distance_transform_edt

from manifill.arrays import Array, Indices, Mask
from manifill.geometry.problem import FieldProblem

# Share of the known entries hidden as single ones, and by damage moved from elsewhere: where most is missing
# already, little may be hidden, or what is left would be another problem.
_POINTS, _MOVED, _MOVED_OF_LITTLE, _MUCH = 0.06, 0.25, 0.08, 0.2
_MOST_COPIES = 32
# The most that one hidden entry counts for.
_HEAVIEST = 20.0
# Distances to the nearest known entry that are told apart: in the row, and along the rows.
_NEAR = np.array([0.5, 1.2, 1.6, 2.5, 3.5, 5.5, 8.5, 12.5, 20.5])
_LONG = np.array([0.5, 1.5, 2.5, 4.5, 8.5, 16.5])


@dataclass(frozen=True, eq=False)
class HiddenEntries:
    """Where known entries are hidden, H (n, ...); what each counts (h,); and the kind of its place (h,)."""

    H: Mask
    weight: Array
    kind: Indices


def hide(problem: FieldProblem, rng: np.random.Generator) -> HiddenEntries:
    """Hide known entries of a problem; the same seed hides the same."""
    M, n = problem.M, len(problem.M)
    known = ~M
    shared = M.ndim == 4 and bool((M[..., :1] == M).all())  # channels are damaged together
    points = rng.random((*M.shape[:-1], 1) if shared else M.shape) < _POINTS
    most = (_MOVED if M.mean() < _MUCH else _MOVED_OF_LITTLE) * known.sum()
    # Without distances there is no telling whether moved damage is like what there is: single entries only.
    telling = M.ndim == 4 or problem.rows is not None
    moved = _moved(M, rng) & known & telling
    for _ in range(_MOST_COPIES):  # few holes are few examples: more of them, where there is room
        if not 0 < moved.sum() < most / 2:
            break
        moved |= _moved(M, rng) & known
    per_row = moved.reshape(n, -1).sum(axis=1)
    # Rows in order of time are damaged again in one stretch, or gaps that go over several would be cut.
    order = rng.permutation(n) if problem.rows is None else np.roll(np.arange(n), int(rng.integers(n)))
    again = np.zeros(n, dtype=np.bool_)
    again[order[: int(np.searchsorted(np.cumsum(per_row[order]), most)) + 1]] = True
    again &= per_row > 0
    again = again.reshape(-1, *[1] * (M.ndim - 1))
    single = points & known & (~again if not again.all() else True)
    H = np.asarray((moved & again) | single)
    missing, hidden = places(M, M, problem)[M], places(M | H, H, problem)[H]
    size = int(max(missing.max(initial=0), hidden.max(initial=0))) + 1
    wanted = np.bincount(missing, minlength=size) / max(1, len(missing))
    there = np.bincount(hidden, minlength=size) / max(1, len(hidden))
    weight = np.minimum((wanted / np.maximum(there, 1e-12))[hidden], _HEAVIEST)
    return HiddenEntries(H, weight / weight.mean() if weight.any() else np.ones(len(hidden)), hidden)


def _moved(M: Mask, rng: np.random.Generator) -> Mask:
    """The damage of other rows, moved elsewhere."""
    n = len(M)
    shifts = [int(rng.integers(1, n)) if n > 1 else 0]
    if M.ndim == 4:
        shifts += [int(rng.integers(0, size)) for size in M.shape[1:3]]
    return np.roll(M, shifts, tuple(range(len(shifts))))


def places(M: Mask, where: Mask, problem: FieldProblem) -> npt.NDArray[Any]:
    """(n, ...), the kind of place of each missing entry: how far known ones are, in its row and along."""
    kinds = np.zeros(M.shape, dtype=np.intp)
    if M.ndim == 4:  # a grid
        for i in np.flatnonzero(where.any(axis=(1, 2, 3))):
            hole = M[i].all(axis=-1)
            distance = np.full(hole.shape, np.inf) if hole.all() else distance_transform_edt(hole)
            kinds[i] = np.digitize(distance, _NEAR)[..., None]
    if problem.rows is not None:
        kinds = kinds * (len(_LONG) + 1) + np.digitize(_steps_along_rows(M), _LONG)
    return kinds


def _steps_along_rows(M: Mask) -> npt.NDArray[Any]:
    """How many rows each entry is away from the nearest that is known in its column."""
    n = len(M)
    row = np.arange(n).reshape(-1, *[1] * (M.ndim - 1))
    last = np.maximum.accumulate(np.where(M, -np.inf, row), axis=0)
    following = np.minimum.accumulate(np.where(M, np.inf, row)[::-1], axis=0)[::-1]
    return np.minimum(row - last, following - row)
