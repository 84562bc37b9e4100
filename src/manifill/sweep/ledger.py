"""The running totals of the pair statistics, so that leaving columns out is a subtraction."""

from collections.abc import Mapping

import numpy as np

from manifill.arrays import Array
from manifill.kernels import Pairs, PairStatistic
from manifill.sweep.order import Block


class Ledger:
    """Pair statistics of all columns, from which blocks of columns are taken out and put back.

    Parameters
    ----------
    statistics : what to keep totals of; for kernels that are not sums over columns there is none, and
        the rows themselves are handed out instead.
    left : (n, d) rows, whose columns change.
    right : (m, d) rows that stay as they are; None: the left rows themselves.
    """

    def __init__(
        self, statistics: tuple[PairStatistic, ...], left: Array, right: Array | None = None
    ) -> None:
        self.left = left.copy()
        self.right = self.left if right is None else right
        self.same = right is None
        whole = Pairs.of(self.left, right, statistics=statistics)
        self._totals: Mapping[PairStatistic, Array] = whole.totals
        self._left_own = whole.left_own
        self._right_own = whole.right_own
        self.statistics = statistics
        # What a subtraction leaves of something that vanishes is rounding, of either sign. It must not be
        # taken for distance, or where hardly a column is left it is all there is. Each row has its own
        # measure of it, so that a row far out does not blur the others.
        self._rounding = {
            s: 1e-13 * total.max(axis=1, keepdims=True, initial=0.0) for s, total in self._totals.items()
        }
        self._own_rounding = [
            {s: 1e-10 * own for s, own in side.items()} for side in (self._left_own, self._right_own)
        ]

    def take_out(self, block: Block) -> Pairs:
        """The pairs as they are without these columns. Valid until the columns are put back."""
        self._account(block, np.subtract)
        for s in self.statistics:
            if s.nonnegative:
                np.multiply(self._totals[s], self._totals[s] > self._rounding[s], out=self._totals[s])
        kept = [
            {s: np.where(own > rounding[s], own, 0.0) for s, own in side.items()}
            for side, rounding in zip((self._left_own, self._right_own), self._own_rounding, strict=True)
        ]
        return Pairs(
            totals=self._totals,
            left_own=kept[0],
            right_own=kept[1],
            n_columns=self.left.shape[1] - len(block),
            same=self.same,
            **({} if self.statistics else self._rows_without(block)),
        )

    def put_back(self, block: Block, values: Array) -> None:
        """Put the columns of `block` back, with the left rows' new values, (n, |block|)."""
        self.left[:, block] = values
        self._account(block, np.add)

    def _account(self, block: Block, operation: np.ufunc) -> None:
        left = self.left[:, block]
        right = left if self.same else self.right[:, block]
        for s in self.statistics:
            operation(self._totals[s], s.between(left, right), out=self._totals[s])
            operation(self._left_own[s][:, 0], s.own(left), out=self._left_own[s][:, 0])
            operation(self._right_own[s][0, :], s.own(right), out=self._right_own[s][0, :])

    def _rows_without(self, block: Block) -> dict[str, Array]:
        left = np.delete(self.left, block, axis=1)
        return {"left": left, "right": left if self.same else np.delete(self.right, block, axis=1)}
