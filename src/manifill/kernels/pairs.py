"""What a kernel may know of a pair of rows: statistics that are sums over the columns.

Because each statistic is a sum over columns, leaving columns out is a subtraction. That is what makes
the sweep cheap; see `manifill.sweep.ledger`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from scipy.spatial.distance import cdist

from manifill.arrays import Array


@dataclass(frozen=True)
class PairStatistic:
    """A number for every pair of rows that is a sum over the columns."""

    name: str
    between: Callable[[Array, Array], Array] = field(repr=False)
    """(n, d) and (m, d) → (n, m)."""
    own: Callable[[Array], Array] = field(repr=False)
    """(n, d) → (n,): the statistic of each row with itself."""
    nonnegative: bool = True


# Measured, 400 rows: from ten columns on the matrix product is faster than the
# pair-by-pair loop (4096 columns: 11 ms against 215 ms); below that the loop wins and cancels nothing.
_FEW_COLUMNS = 10


def _squared_distance(X: Array, Y: Array) -> Array:
    if X.shape[1] <= _FEW_COLUMNS:
        loop: Array = cdist(X, Y, "sqeuclidean")
        return loop
    # Around their mean, since ‖x‖² + ‖y‖² − 2⟨x, y⟩ loses distances among rows far from 0.
    mean = Y.mean(axis=0)
    left, right = X - mean, Y - mean
    distance: Array = (left @ right.T) * -2.0
    distance += _squared_norm(left)[:, None]
    distance += _squared_norm(right)[None, :]
    np.maximum(distance, 0.0, out=distance)
    if X is Y:
        np.fill_diagonal(distance, 0.0)
    return distance


def _absolute_distance(X: Array, Y: Array) -> Array:
    distance: Array = cdist(X, Y, "cityblock")
    return distance


def _inner_product(X: Array, Y: Array) -> Array:
    product: Array = X @ Y.T
    return product


def _squared_norm(X: Array) -> Array:
    norm: Array = np.einsum("ij,ij->i", X, X)
    return norm


def _zero(X: Array) -> Array:
    return np.zeros(len(X))


SQUARED_DISTANCE = PairStatistic("squared L2 distance", _squared_distance, _zero)
ABSOLUTE_DISTANCE = PairStatistic("L1 distance", _absolute_distance, _zero)
INNER_PRODUCT = PairStatistic("inner product", _inner_product, _squared_norm, nonnegative=False)


@dataclass(frozen=True, eq=False)
class Pairs:
    """All pairs of a left row with a right row, as a kernel sees them.

    Attributes
    ----------
    totals : for each statistic asked for, an array (n, m).
    left_own, right_own : for each statistic, its value of a row with itself, (n, 1) and (1, m).
    n_columns : how many columns the sums run over.
    same : whether left and right are the same rows.
    left, right : the rows themselves, for kernels that are not made of sums over columns.
    """

    totals: Mapping[PairStatistic, Array]
    left_own: Mapping[PairStatistic, Array]
    right_own: Mapping[PairStatistic, Array]
    n_columns: int
    same: bool
    left: Array | None = None
    right: Array | None = None

    @classmethod
    def of(cls, left: Array, right: Array | None = None, *, statistics: tuple[PairStatistic, ...]) -> "Pairs":
        """The pairs of rows of `left` with rows of `right` (default: with each other)."""
        same = right is None
        other = left if right is None else right
        return cls(
            totals={s: s.between(left, other) for s in statistics},
            left_own={s: s.own(left)[:, None] for s in statistics},
            right_own={s: s.own(other)[None, :] for s in statistics},
            n_columns=left.shape[1],
            same=same,
            left=left,
            right=other,
        )

    def __getitem__(self, statistic: PairStatistic) -> Array:
        return self.totals[statistic]

    def own(self) -> "Pairs":
        """Each left row paired with itself alone: arrays of shape (n, 1)."""
        return Pairs(
            totals=self.left_own,
            left_own=self.left_own,
            right_own=self.left_own,
            n_columns=self.n_columns,
            same=False,
        )
