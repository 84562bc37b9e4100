"""What a kernel may know of a pair of rows: statistics that are sums over the columns.

Because each statistic is a sum over columns, leaving columns out is a subtraction. That is what makes
the sweep cheap; see `manifill._fillers.sweep.ledger`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Literal

import numpy as np
from scipy.spatial.distance import cdist

from manifill._arrays import Array, Indices, exp_in_place, namespace, set_diagonal, zero_unless
from manifill._devices import tensor_absolute_distance
from manifill._threads import product, share_rows, symmetric_product


@dataclass(frozen=True)
class PairStatistic:
    """A number for every pair of rows that is a sum over the columns."""

    name: str
    kind: str = field(repr=False)
    """Its name among the compiled loops."""
    between: Callable[[Array, Array], Array] = field(repr=False)
    """(n, d) and (m, d) → (n, m)."""
    own: Callable[[Array], Array] = field(repr=False)
    """(n, d) → (n,): the statistic of each row with itself."""
    nonnegative: bool = True

    def add(self, total: Array, X: Array, Y: Array, sign: float) -> None:
        """Total (n, m) += sign · the statistic of these columns, in threads on a processor."""

        def add_rows(rows: slice) -> None:
            if X.shape[1] == 1 and len(Y) >= _MANY_ROWS:
                compiled = import_module("manifill._compiled")
                compiled.add_column(getattr(compiled, self.kind), X[rows, 0], Y[:, 0], sign, total[rows])
                return
            part = self.between(X[rows], Y)
            if sign < 0:
                total[rows] -= part
            else:
                total[rows] += part

        if isinstance(total, np.ndarray) and (X.shape[1] < _WIDE or self is ABSOLUTE_DISTANCE):
            share_rows(add_rows, len(X), len(Y))
        else:
            total += sign * self.between(X, Y)  # one product of matrices, shared out by itself


# Measured, 400 rows: from ten columns on the matrix product is faster than the
# pair-by-pair loop (4096 columns: 11 ms against 215 ms); below that the loop wins and cancels nothing.
_FEW_COLUMNS = 10
# Columns from which one product of whole matrices is faster than one for every slice of rows.
_WIDE = 64
# Rows from which loading compiled code pays: it is 4 to 17 times faster than cdist.
_MANY_ROWS = 160


def _squared_distance(X: Array, Y: Array) -> Array:
    if X.shape[1] <= _FEW_COLUMNS and isinstance(X, np.ndarray):
        return _by_pairs(X, Y, "sqeuclidean")
    # Around their mean, since ‖x‖² + ‖y‖² − 2⟨x, y⟩ loses distances among rows far from 0.
    mean = Y.mean(0)
    right = Y - mean
    left = right if X is Y else X - mean
    norms = _squared_norm(right)
    distance: Array = _inner_product(left, right)
    distance *= -2.0
    distance += (norms if X is Y else _squared_norm(left))[:, None]
    distance += norms[None, :]
    zero_unless(distance > 0, distance)
    return distance


def _absolute_distance(X: Array, Y: Array) -> Array:
    if not isinstance(X, np.ndarray):
        return tensor_absolute_distance(X, Y)
    return _by_pairs(X, Y, "cityblock")


def _by_pairs(X: Array, Y: Array, metric: Literal["sqeuclidean", "cityblock"]) -> Array:
    """The sum over columns, pair by pair: nothing cancels."""
    if len(Y) < _MANY_ROWS:
        distance: Array = cdist(X, Y, metric)
        return distance
    compiled = import_module("manifill._compiled")
    distance = np.empty((len(X), len(Y)))
    kind = compiled.SQUARED if metric == "sqeuclidean" else compiled.ABSOLUTE
    compiled.totals_between(kind, np.ascontiguousarray(X), np.ascontiguousarray(Y.T), distance)
    return distance


def _inner_product(X: Array, Y: Array) -> Array:
    wide = X.shape[1] >= _WIDE and isinstance(X, np.ndarray)
    inner: Array = symmetric_product(X, X.T) if wide and X is Y else product(X, Y.T)
    return inner


def _squared_norm(X: Array) -> Array:
    norm: Array = (X * X).sum(1)
    return norm


def exponential(total: Array, factor: float) -> Array:
    """E to the power of factor · total, for pairs (n, m)."""
    if isinstance(total, np.ndarray) and total.ndim == 2 and total.shape[1] >= _MANY_ROWS:
        K = np.empty(total.shape)
        import_module("manifill._compiled").exponentials(factor, total, K)
        return K
    return exp_in_place(total * factor)


def add_scaled(factor: float, total: Array, K: Array) -> None:
    """K += factor · total, for pairs (n, m)."""
    if isinstance(total, np.ndarray) and total.ndim == 2 and total.shape[1] >= _MANY_ROWS:
        import_module("manifill._compiled").add_scaled(factor, total, K)
    else:
        K += factor * total


def drop_small(total: Array, rounding: Array) -> None:
    """Set to zero, in place, what of pairs (n, m) is no larger than its row's rounding (n, 1)."""
    if isinstance(total, np.ndarray) and total.shape[1] >= _MANY_ROWS:
        import_module("manifill._compiled").drop_small(total, rounding)
    else:
        zero_unless(total > rounding, total)


def _zero(X: Array) -> Array:
    zero: Array = (X[:, :1] * 0.0).sum(1)
    return zero


SQUARED_DISTANCE = PairStatistic("squared L2 distance", "SQUARED", _squared_distance, _zero)
ABSOLUTE_DISTANCE = PairStatistic("L1 distance", "ABSOLUTE", _absolute_distance, _zero)
INNER_PRODUCT = PairStatistic("inner product", "PRODUCT", _inner_product, _squared_norm, nonnegative=False)


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
        totals = {}
        for s in statistics:
            totals[s] = namespace(left).zeros_like(left[:, :1] @ other[:, :1].T)
            s.add(totals[s], left, other, +1)
            if same:
                set_diagonal(totals[s], s.own(left))
        return cls(
            totals=totals,
            left_own={s: s.own(left)[:, None] for s in statistics},
            right_own={s: s.own(other)[None, :] for s in statistics},
            n_columns=left.shape[1],
            same=same,
            left=left,
            right=other,
        )

    @classmethod
    def within(
        cls, rows: Array, members: Indices, statistics: tuple[PairStatistic, ...], own: bool
    ) -> "Pairs":
        """The pairs i ≥ j within each of b sets of rows, members (b, q), as arrays (b, q(q + 1)/2).

        With `own`, also each row with itself, which few kernels need.
        """
        q = members.shape[1]
        left, right = np.tril_indices(q) if own else (None, None)
        return cls._compiled(
            "totals_within",
            rows,
            (members,),
            q * (q + 1) // 2,
            statistics,
            members[:, left] if own else None,
            members[:, right] if own else None,
        )

    @classmethod
    def across(
        cls, rows: Array, queries: Indices, near: Indices, statistics: tuple[PairStatistic, ...], own: bool
    ) -> "Pairs":
        """The pairs of each row queries (b,) with each row near (b, c), as arrays (b, c)."""
        return cls._compiled(
            "totals_across",
            rows,
            (queries, near),
            near.shape[1],
            statistics,
            queries[:, None] if own else None,
            near if own else None,
        )

    @classmethod
    def _compiled(
        cls,
        loop: str,
        rows: Array,
        members: tuple[Indices, ...],
        width: int,
        statistics: tuple[PairStatistic, ...],
        left: Indices | None,
        right: Indices | None,
    ) -> "Pairs":
        compiled = import_module("manifill._compiled")
        totals = {s: np.empty((len(members[0]), width)) for s in statistics}
        for s, total in totals.items():
            getattr(compiled, loop)(getattr(compiled, s.kind), rows, *members, total)
        return cls(
            totals=totals,
            left_own={} if left is None else {s: _own_of(s, rows, left) for s in statistics},
            right_own={} if right is None else {s: _own_of(s, rows, right) for s in statistics},
            n_columns=rows.shape[1],
            same=False,
        )

    def __getitem__(self, statistic: PairStatistic) -> Array:
        return self.totals[statistic]

    def rows(self, rows: slice | Indices, same: bool = False) -> "Pairs":
        """Some of the left rows, with all right ones; `same` where these are the right ones themselves."""
        return Pairs(
            totals={s: total[rows] for s, total in self.totals.items()},
            left_own={s: own[rows] for s, own in self.left_own.items()},
            right_own=self.right_own,
            n_columns=self.n_columns,
            same=same,
        )

    def own(self) -> "Pairs":
        """Each left row paired with itself alone: arrays of shape (n, 1)."""
        return Pairs(
            totals=self.left_own,
            left_own=self.left_own,
            right_own=self.left_own,
            n_columns=self.n_columns,
            same=False,
        )


def _own_of(statistic: PairStatistic, rows: Array, members: Indices) -> Array:
    return statistic.own(rows[members.ravel()]).reshape(members.shape)
