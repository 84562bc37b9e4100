"""Kernels that are functions of the distance between rows."""

from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from manifill._arrays import Array, exp_in_place, namespace, to_numpy
from manifill._checks import require_number
from manifill.errors import InvalidInput
from manifill.kernels.bandwidth import (
    Bandwidth,
    Fixed,
    MedianDistance,
    Rows,
    as_bandwidth,
    neighbor_distance,
    sampled_rows,
)
from manifill.kernels.base import Kernel
from manifill.kernels.pairs import ABSOLUTE_DISTANCE, SQUARED_DISTANCE, Pairs, exponential


class _Radial(Kernel):
    """k(x, y) = profile(distance / bandwidth). Subclasses are dataclasses with a field `bandwidth`."""

    bandwidth: Bandwidth | float

    def __post_init__(self) -> None:
        object.__setattr__(self, "bandwidth", as_bandwidth(self.bandwidth))

    @property
    def scale(self) -> float | None:
        return self.bandwidth.value if isinstance(self.bandwidth, Fixed) else None

    def tuned(self, pairs: Pairs) -> Self:
        if isinstance(self.bandwidth, Fixed):
            return self
        rule = as_bandwidth(self.bandwidth)
        rows = sampled_rows(rule, len(pairs[self.statistics[0]]))
        distance = self._distance(pairs, rows)
        if not isinstance(rule, MedianDistance):
            distance = to_numpy(distance)
        return replace(self, bandwidth=Fixed(rule(distance, self.profile)))  # type: ignore[type-var]

    def _scale(self) -> float:
        if not isinstance(self.bandwidth, Fixed):
            raise InvalidInput(
                f"{self!r} has no bandwidth yet; call kernel.tuned(pairs) first, or kernel.gram(X)."
            )
        return self.bandwidth.value

    def _distance(self, pairs: Pairs, rows: Rows) -> Array:
        raise NotImplementedError

    @staticmethod
    def profile(u: Array) -> Array:
        raise NotImplementedError


@dataclass(frozen=True)
class Gaussian(_Radial):
    """k(x, y) = exp(−½ ‖x − y‖₂² / σ²), the paper's kernel.

    The paper's constant 1/(σ√2π) is omitted because it cancels in every extension.

    Parameters
    ----------
    bandwidth : σ, a number or a rule.

    Examples
    --------
    >>> import numpy as np
    >>> Gaussian(bandwidth=1.0).gram(np.array([[0.0], [1.0]])).round(3)
    array([[1.   , 0.607],
           [0.607, 1.   ]])
    """

    bandwidth: Bandwidth | float = field(default_factory=MedianDistance)
    statistics = (SQUARED_DISTANCE,)

    def __call__(self, pairs: Pairs) -> Array:
        return exponential(pairs[SQUARED_DISTANCE], -0.5 / self._scale() ** 2)

    def _distance(self, pairs: Pairs, rows: Rows) -> Array:
        squared = pairs[SQUARED_DISTANCE][rows]
        distance: Array = namespace(squared).sqrt(squared)
        return distance

    @staticmethod
    def profile(u: Array) -> Array:
        """exp(−½u²)."""
        affinity: Array = np.exp(-0.5 * u**2)
        return affinity


@dataclass(frozen=True)
class Laplacian(_Radial):
    """k(x, y) = exp(−‖x − y‖₁ / σ).

    Less smooth than the Gaussian, and more accurate on most tables (docs/notes/defaults.md).

    Parameters
    ----------
    bandwidth : σ, a number or a rule.

    Examples
    --------
    >>> import numpy as np
    >>> Laplacian(bandwidth=2.0).gram(np.array([[0.0, 0.0], [1.0, 1.0]])).round(3)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    """

    bandwidth: Bandwidth | float = field(default_factory=MedianDistance)
    statistics = (ABSOLUTE_DISTANCE,)

    def __call__(self, pairs: Pairs) -> Array:
        return exponential(pairs[ABSOLUTE_DISTANCE], -1.0 / self._scale())

    def _distance(self, pairs: Pairs, rows: Rows) -> Array:
        return pairs[ABSOLUTE_DISTANCE][rows]

    @staticmethod
    def profile(u: Array) -> Array:
        """exp(−u)."""
        affinity: Array = np.exp(-u)
        return affinity


@dataclass(frozen=True)
class SelfTuning(Kernel):
    """k(x, y) = exp(−‖x − y‖₂² / (σₓ σᵧ)), with σₓ the distance of x to its k-th nearest distinct known row.

    Every row has its own bandwidth (Zelnik-Manor and Perona 2004). The kernel is *not* positive
    semi-definite, so the ridge solver rejects it and the spectral solver drops its negative eigenvalues.

    Parameters
    ----------
    k : index of the neighbour, counted from 1; rows that coincide with x are not counted.

    Examples
    --------
    >>> import numpy as np
    >>> SelfTuning(k=1).gram(np.array([[0.0], [1.0], [3.0]])).round(3)
    array([[1.   , 0.368, 0.011],
           [0.368, 1.   , 0.135],
           [0.011, 0.135, 1.   ]])
    """

    k: int = 7
    scales: Array | None = field(default=None, repr=False, compare=False)
    """(n,), σ of the known rows; set by `tuned`."""

    psd: ClassVar[bool | None] = False
    statistics = (SQUARED_DISTANCE,)

    def __post_init__(self) -> None:
        require_number("k of SelfTuning", self.k, least=1, whole=True)

    @property
    def scale(self) -> float | None:
        return None if self.scales is None else float(np.median(self.scales))

    def tuned(self, pairs: Pairs) -> Self:
        return replace(self, scales=self._scales(pairs))

    def __call__(self, pairs: Pairs) -> Array:
        if self.scales is None:
            raise InvalidInput(
                f"{self!r} has no bandwidths yet; call kernel.tuned(pairs) first, or kernel.gram(X)."
            )
        left = self.scales if pairs.same else self._scales(pairs)
        K = pairs[SQUARED_DISTANCE] / (-left[:, None] * self.scales[None, :])
        return exp_in_place(K)

    def matrix(self, pairs: Pairs) -> Array:
        return self(pairs)  # σ of a row depends on all its pairs, so rows are not split between threads

    def diagonal(self, pairs: Pairs) -> Array:
        return np.ones(len(pairs[SQUARED_DISTANCE]))

    def _scales(self, pairs: Pairs) -> Array:
        return neighbor_distance(np.sqrt(pairs[SQUARED_DISTANCE]), self.k)
