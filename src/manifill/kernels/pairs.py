"""Pair statistics: sums over the columns, computed for all pairs of rows, that kernels are functions of.

Because each statistic is a sum over columns, a column is left out by subtracting its term. This makes a
sweep cheap; see `manifill._fillers.sweep.ledger`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from scipy.spatial.distance import cdist

from manifill._arrays import (
    Array,
    Indices,
    Mask,
    exp_in_place,
    set_diagonal,
    to_numpy,
    zero_unless,
)
from manifill._devices import tensor_absolute_distance
from manifill._threads import product, share_rows, symmetric_product


@dataclass(frozen=True)
class PairStatistic:
    """A function of two rows that is a sum over the columns."""

    name: str
    kind: str = field(repr=False)
    """Name of the constant in `manifill._compiled` that selects this statistic."""
    between: Callable[[Array, Array], Array] = field(repr=False)
    """(n, d) and (m, d) → (n, m)."""
    own: Callable[[Array], Array] = field(repr=False)
    """(n, d) → (n,): the statistic of each row with itself."""
    nonnegative: bool = True

    def of(self, X: Array, Y: Array) -> Array:
        """The statistic of all pairs, (n, m); numpy arrays in threads."""
        if not isinstance(X, np.ndarray) or not self._by_rows(X):
            return self.between(X, Y)
        total = np.empty((len(X), len(Y)))

        def write(rows: slice) -> None:
            total[rows] = self.between(X[rows], Y)

        share_rows(write, len(X), len(Y))
        return total

    def _by_rows(self, X: Array) -> bool:
        """Is it computed by slices of rows? Otherwise by one matrix product, which uses threads itself."""
        return X.shape[1] < _MIN_PRODUCT_COLUMNS or self is ABSOLUTE_DISTANCE

    def add(self, total: Array, X: Array, Y: Array, sign: float) -> None:
        """Add sign · the statistic of these columns to `total` (n, m), in place; numpy arrays in threads."""

        def add_rows(rows: slice) -> None:
            if X.shape[1] == 1 and len(Y) >= _MIN_COMPILED_ROWS:
                import manifill._compiled as compiled

                compiled.add_column(getattr(compiled, self.kind), X[rows, 0], Y[:, 0], sign, total[rows])
                return
            part = self.between(X[rows], Y)
            if sign < 0:
                total[rows] -= part
            else:
                total[rows] += part

        if isinstance(total, np.ndarray) and self._by_rows(X):
            share_rows(add_rows, len(X), len(Y))
        else:
            total += sign * self.between(X, Y)


# Largest number of columns for the loop over pairs, which has no cancellation. Measured on 400 rows: with
# more columns the matrix product is faster (4096 columns: 11 ms instead of 215 ms).
_MAX_LOOP_COLUMNS = 10
# Columns from which one product of the full matrices is used instead of one per slice of rows: it is faster.
# Set by hand, not tuned.
_MIN_PRODUCT_COLUMNS = 64
# Rows in which columns of zeros are looked for first: nearly all columns have another value there.
_FIRST_ROWS = 64
# Rows from which compiled code is loaded and used. Measured: it is 4 to 17 times as fast as cdist. The
# threshold is set by hand.
_MIN_COMPILED_ROWS = 160


def _squared_distance(X: Array, Y: Array) -> Array:
    if X.shape[1] <= _MAX_LOOP_COLUMNS and isinstance(X, np.ndarray):
        return _loop_over_pairs(X, Y, "sqeuclidean")
    # Centre the rows first: ‖x‖² + ‖y‖² − 2⟨x, y⟩ cancels if rows are far from 0 and close to each other.
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
    return _loop_over_pairs(X, Y, "cityblock")


def _loop_over_pairs(X: Array, Y: Array, metric: Literal["sqeuclidean", "cityblock"]) -> Array:
    """Sum over columns by a loop over pairs, which has no cancellation."""
    if len(Y) < _MIN_COMPILED_ROWS:
        distance: Array = cdist(X, Y, metric)
        return distance
    import manifill._compiled as compiled

    distance = np.empty((len(X), len(Y)))
    kind = compiled.SQUARED if metric == "sqeuclidean" else compiled.ABSOLUTE
    compiled.totals_between(kind, np.ascontiguousarray(X), np.ascontiguousarray(Y.T), distance)
    return distance


def _inner_product(X: Array, Y: Array) -> Array:
    wide = X.shape[1] >= _MIN_PRODUCT_COLUMNS and isinstance(X, np.ndarray)
    inner: Array = symmetric_product(X, X.T) if wide and X is Y else product(X, Y.T)
    return inner


def _squared_norm(X: Array) -> Array:
    norm: Array = (X * X).sum(1)
    return norm


def exponential(total: Array, factor: float) -> Array:
    """exp(factor · total), for totals of pairs (n, m)."""
    return exp_in_place(total * factor)


def add_scaled(factor: float, total: Array, K: Array) -> None:
    """Add factor · total to K in place, for totals of pairs (n, m)."""
    if isinstance(total, np.ndarray) and total.ndim == 2 and total.shape[1] >= _MIN_COMPILED_ROWS:
        import manifill._compiled as compiled

        compiled.add_scaled(factor, total, K)
    else:
        K += factor * total


def drop_small(total: Array, rounding: Array) -> None:
    """Set totals (n, m) that do not exceed the rounding error of their row (n, 1) to zero, in place."""
    if isinstance(total, np.ndarray) and total.shape[1] >= _MIN_COMPILED_ROWS:
        import manifill._compiled as compiled

        compiled.drop_small(total, rounding)
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
    """Statistics of all pairs of a left row and a right row: the argument of a kernel.

    Attributes
    ----------
    totals : statistic → array (n, m), its values for all pairs.
    left_own, right_own : statistic → its values for each row with itself, (n, 1) and (1, m).
    n_columns : number of columns that the sums run over, without those that are 0 in all right rows.
    same : whether left and right are the same rows.
    left, right : the rows themselves, for kernels that are not functions of sums over columns.
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
        """Pairs of the rows of `left` with the rows of `right` (default: `left`)."""
        same = right is None
        other = left if right is None else right
        totals = {}
        for s in statistics:
            totals[s] = s.of(left, other)
            if same:
                set_diagonal(totals[s], s.own(left))
        return cls(
            totals=totals,
            left_own={s: s.own(left)[:, None] for s in statistics},
            right_own={s: s.own(other)[None, :] for s in statistics},
            n_columns=int(varying(other).sum()),
            same=same,
            left=left,
            right=other,
        )

    @classmethod
    def within(cls, rows: Array, sets: Indices, statistics: tuple[PairStatistic, ...], own: bool) -> "Pairs":
        """Pairs i ≥ j within each of b sets of q rows, with indices `sets` (b, q), as arrays (b, q(q + 1)/2).

        With `own`, `left_own` and `right_own` are computed too; only kernels with `uses_own` need them.
        """
        q = sets.shape[1]
        left, right = np.tril_indices(q) if own else (None, None)
        return cls._compiled(
            "totals_within",
            rows,
            (sets,),
            q * (q + 1) // 2,
            statistics,
            sets[:, left] if own else None,
            sets[:, right] if own else None,
        )

    @classmethod
    def across(
        cls, rows: Array, queries: Indices, near: Indices, statistics: tuple[PairStatistic, ...], own: bool
    ) -> "Pairs":
        """Pairs of each row in `queries` (b,) with its own c rows in `near` (b, c), as arrays (b, c)."""
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
        indices: tuple[Indices, ...],
        width: int,
        statistics: tuple[PairStatistic, ...],
        left: Indices | None,
        right: Indices | None,
    ) -> "Pairs":
        import manifill._compiled as compiled

        totals = {s: np.empty((len(indices[0]), width)) for s in statistics}
        for s, total in totals.items():
            getattr(compiled, loop)(getattr(compiled, s.kind), rows, *indices, total)
        return cls(
            totals=totals,
            left_own={} if left is None else {s: _own_of(s, rows, left) for s in statistics},
            right_own={} if right is None else {s: _own_of(s, rows, right) for s in statistics},
            n_columns=int(varying(rows).sum()),
            same=False,
        )

    def __getitem__(self, statistic: PairStatistic) -> Array:
        return self.totals[statistic]

    def rows(self, rows: slice | Indices, same: bool = False) -> "Pairs":
        """Pairs of the selected left rows with all right rows; set `same` if these are the same rows."""
        return Pairs(
            totals={s: total[rows] for s, total in self.totals.items()},
            left_own={s: own[rows] for s, own in self.left_own.items()},
            right_own=self.right_own,
            n_columns=self.n_columns,
            same=same,
        )

    def own(self) -> "Pairs":
        """Pairs of each left row with itself only: arrays of shape (n, 1)."""
        return Pairs(
            totals=self.left_own,
            left_own=self.left_own,
            right_own=self.left_own,
            n_columns=self.n_columns,
            same=False,
        )


def varying(rows: Array) -> Mask:
    """(d,), False for columns that are 0 in all rows: constant columns in standardised units."""
    some = to_numpy((rows[:_FIRST_ROWS] != 0).any(0))
    return some if some.all() else to_numpy((rows != 0).any(0))


def _own_of(statistic: PairStatistic, rows: Array, indices: Indices) -> Array:
    return statistic.own(rows[indices.ravel()]).reshape(indices.shape)
