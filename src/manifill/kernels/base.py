"""Base class of the kernels: immutable objects that map pairs of rows to affinities."""

from abc import ABC, abstractmethod
from typing import ClassVar, Self

import numpy as np

from manifill._arrays import Array
from manifill._threads import share_rows
from manifill.kernels.pairs import Pairs, PairStatistic


class Kernel(ABC):
    """Affinity k(x, y) between rows.

    A kernel is used in two steps, and neither modifies it. `tuned` returns a copy in which each rule (such as
    a multiple of the median distance) is replaced by its value on the known rows. Calling the tuned kernel
    returns the affinities of any pairs.
    """

    psd: ClassVar[bool | None] = True
    """Whether every Gram matrix is positive semi-definite; None if unknown."""

    uses_own: ClassVar[bool] = False
    """Whether the kernel uses the statistics of a row with itself."""

    statistics: tuple[PairStatistic, ...] = ()
    """Pair statistics that the kernel is a function of; empty if it needs the rows themselves."""

    @property
    def additive(self) -> bool:
        """Whether the kernel is a function of sums over columns: a column is left out by subtraction."""
        return bool(self.statistics)

    @property
    def scale(self) -> float | None:
        """Bandwidth of a tuned kernel; None before tuning and for kernels without a bandwidth."""
        return None

    def tuned(self, pairs: Pairs) -> Self:
        """Copy of the kernel with every rule replaced by its value on these pairs."""
        return self

    @abstractmethod
    def __call__(self, pairs: Pairs) -> Array:
        """Affinities (n, m) of all pairs."""

    def matrix(self, pairs: Pairs) -> Array:
        """`self(pairs)`, computed in threads if the arrays are numpy arrays and the kernel is additive."""
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
        """Affinities of the rows of `Y` (default `X`) to the rows of `X`, with the kernel tuned on `X`."""
        among = Pairs.of(X, statistics=self.statistics)
        kernel = self.tuned(among)
        return kernel(among if Y is None else Pairs.of(Y, X, statistics=self.statistics))
