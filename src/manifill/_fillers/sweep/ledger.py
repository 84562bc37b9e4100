"""Running totals of the pair statistics, so that leaving columns out is a subtraction."""

from collections.abc import Mapping

import numpy as np

from manifill._arrays import Array, namespace
from manifill._fillers.sweep.order import Block
from manifill._threads import share_rows
from manifill.kernels import Pairs, PairStatistic
from manifill.kernels.pairs import drop_small, varying


class Ledger:
    """Pair statistics of all columns, from which blocks of columns are taken out and put back.

    Parameters
    ----------
    statistics : pair statistics to keep totals of. Kernels that are not sums over columns have none; they
        get the rows themselves instead.
    left : (n, d), rows whose columns change.
    right : (m, d), rows to pair them with; None for the left rows themselves.
    """

    def __init__(
        self, statistics: tuple[PairStatistic, ...], left: Array, right: Array | None = None
    ) -> None:
        self.left = namespace(left).asarray(left, copy=True)
        self.right = self.left if right is None else right
        self.same = right is None
        pairs = Pairs.of(self.left, right, statistics=statistics)
        self._totals: Mapping[PairStatistic, Array] = pairs.totals
        self._left_own = pairs.left_own
        self._right_own = pairs.right_own
        self.statistics = statistics
        self._varying = varying(self.right)
        # Where a total should become zero, the subtraction leaves a rounding error of either sign. It must
        # not be taken for a distance: with few columns left it would dominate. Each row has its own
        # threshold, so that an outlying row does not affect the others.
        self._rounding = {
            s: 1e-13 * namespace(left).max(total, axis=1, keepdims=True) for s, total in self._totals.items()
        }
        self._own_rounding = [
            {s: 1e-10 * own for s, own in side.items()} for side in (self._left_own, self._right_own)
        ]

    def take_out(self, block: Block) -> Pairs:
        """The pairs without these columns. Valid until the columns are put back."""
        self._account(block, -1)
        for s in self.statistics:
            if s.nonnegative:
                _drop_small(self._totals[s], self._rounding[s])
        kept = [
            {s: own if s.nonnegative else own * (own > rounding[s]) for s, own in side.items()}
            for side, rounding in zip((self._left_own, self._right_own), self._own_rounding, strict=True)
        ]
        return Pairs(
            totals=self._totals,
            left_own=kept[0],
            right_own=kept[1],
            n_columns=int(self._varying.sum() - self._varying[block].sum()),
            same=self.same,
            **({} if self.statistics else self._rows_without(block)),
        )

    def put_back(self, block: Block, values: Array, right_values: Array | None = None) -> None:
        """Put the columns of `block` back, with new values of the left and, if given, the right rows."""
        self.left[:, block] = values
        if right_values is not None:
            self.right[:, block] = right_values
        self._account(block, +1)

    def _account(self, block: Block, sign: float) -> None:
        left = self.left[:, block]
        right = left if self.same else self.right[:, block]
        for s in self.statistics:
            s.add(self._totals[s], left, right, sign)
            if s.nonnegative:  # a distance, which is zero between a row and itself
                continue
            self._left_own[s][:, 0] += sign * s.own(left)
            self._right_own[s][0, :] += sign * s.own(right)

    def _rows_without(self, block: Block) -> dict[str, Array]:
        left = np.delete(self.left, block, axis=1)
        return {"left": left, "right": left if self.same else np.delete(self.right, block, axis=1)}


def _drop_small(total: Array, rounding: Array) -> None:
    """Set to zero, in place, totals up to the rounding threshold of their row."""

    def drop(rows: slice) -> None:
        drop_small(total[rows], rounding[rows])

    if isinstance(total, np.ndarray):
        share_rows(drop, *total.shape)
    else:
        drop(slice(0, len(total)))
