"""What every kernel is: an immutable value that turns pairs of rows into affinities."""

from abc import ABC, abstractmethod
from typing import ClassVar, Self

import numpy as np

from manifill._arrays import Array
from manifill._threads import share_rows
from manifill.kernels.pairs import Pairs, PairStatistic


class Kernel(ABC):
    """Affinity between rows, k(x, y).

    A kernel is used in two steps, neither of which changes it: `tuned` turns rules (a multiple of the
    median distance, say) into numbers on the rows that are known, and calling the tuned kernel gives
    the affinities of any pairs.
    """

    psd: ClassVar[bool | None] = True
    """Is every Gram matrix positive semi-definite? None: only its author can know."""

    uses_own: ClassVar[bool] = False
    """Does it look at the statistics of a row with itself?"""

    statistics: tuple[PairStatistic, ...] = ()
    """The pair statistics it is a function of; empty where it needs the rows themselves."""

    @property
    def additive(self) -> bool:
        """Is the kernel a function of sums over columns, so that leaving a column out is a subtraction?"""
        return bool(self.statistics)

    @property
    def scale(self) -> float | None:
        """The bandwidth in use, once tuned; None for kernels without one."""
        return None

    def tuned(self, pairs: Pairs) -> Self:
        """The same kernel with every rule replaced by the number it chooses on these rows."""
        return self

    @abstractmethod
    def __call__(self, pairs: Pairs) -> Array:
        """Affinities (n, m) of all pairs."""

    def matrix(self, pairs: Pairs) -> Array:
        """`self(pairs)`, in threads on a processor: every affinity is a function of its own pair alone."""
        total = pairs[self.statistics[0]] if self.additive else None
        if not isinstance(total, np.ndarray):
            return self(pairs)
        K = np.empty(total.shape)

        def write(rows: slice) -> None:
            K[rows] = self(pairs.rows(rows))

        share_rows(write, *total.shape)
        return K

    def diagonal(self, pairs: Pairs) -> Array:
        """k(x, x) for every left row, shape (n,)."""
        return self(pairs.own())[:, 0]

    def gram(self, X: Array, Y: Array | None = None) -> Array:
        """Affinities of the rows of `Y` (default `X`) with those of `X`, with rules tuned on `X`."""
        among = Pairs.of(X, statistics=self.statistics)
        kernel = self.tuned(among)
        return kernel(among if Y is None else Pairs.of(Y, X, statistics=self.statistics))
