"""Kernels of the inner product of rows, alone or added to a radial kernel."""

from dataclasses import dataclass, field
from typing import ClassVar, Self, cast

from manifill._arrays import Array, namespace
from manifill._checks import complaint, require_number
from manifill.kernels.base import Kernel
from manifill.kernels.pairs import INNER_PRODUCT, Pairs, PairStatistic, add_scaled
from manifill.kernels.radial import Gaussian, Laplacian


def _mean_product(pairs: Pairs) -> Array:
    """⟨x, y⟩ / d, with d the number of columns, so that values do not grow with d."""
    return pairs[INNER_PRODUCT] / max(pairs.n_columns, 1)


@dataclass(frozen=True)
class SemiLinear(Kernel):
    """k(x, y) = base(x, y) + w · ⟨x, y⟩ / d, with d the number of columns.

    The linear part represents trends across the entire data set, which a local kernel does not.

    Parameters
    ----------
    base : a `Gaussian` or a `Laplacian`.
    weight : w ≥ 0.

    Examples
    --------
    >>> import numpy as np
    >>> SemiLinear(Gaussian(1.0), weight=0.5).gram(np.array([[0.0], [1.0]])).round(3)
    array([[1.   , 0.607],
           [0.607, 1.5  ]])
    """

    base: Gaussian | Laplacian = field(default_factory=Gaussian)
    weight: float = 0.3

    def __post_init__(self) -> None:
        if not isinstance(self.base, Gaussian | Laplacian):
            raise complaint("base of SemiLinear", "a Gaussian or a Laplacian kernel", self.base)
        require_number("weight of SemiLinear", self.weight, least=0)

    @property
    def statistics(self) -> tuple[PairStatistic, ...]:  # type: ignore[override]
        return (*self.base.statistics, INNER_PRODUCT)

    @property
    def scale(self) -> float | None:
        return self.base.scale

    def tuned(self, pairs: Pairs) -> Self:
        return cast(Self, SemiLinear(self.base.tuned(pairs), self.weight))

    def __call__(self, pairs: Pairs) -> Array:
        K = self.base(pairs)
        add_scaled(self.weight / max(pairs.n_columns, 1), pairs[INNER_PRODUCT], K)
        return K


@dataclass(frozen=True)
class Polynomial(Kernel):
    """k(x, y) = (⟨x, y⟩ / d + c)ᵖ, with d the number of columns.

    Parameters
    ----------
    degree : p, a whole number ≥ 1.
    offset : c ≥ 0; with 0 and degree 1 this is the linear kernel.

    Examples
    --------
    >>> import numpy as np
    >>> Polynomial(degree=2, offset=1.0).gram(np.array([[1.0], [2.0]]))
    array([[ 4.,  9.],
           [ 9., 25.]])
    """

    degree: int = 2
    offset: float = 1.0
    statistics = (INNER_PRODUCT,)

    def __post_init__(self) -> None:
        require_number("degree of Polynomial", self.degree, least=1, whole=True)
        require_number("offset of Polynomial", self.offset, least=0)  # not psd if negative

    def __call__(self, pairs: Pairs) -> Array:
        affinity: Array = (_mean_product(pairs) + self.offset) ** self.degree
        return affinity


@dataclass(frozen=True)
class Cosine(Kernel):
    """k(x, y) = ⟨x, y⟩ / (‖x‖₂ ‖y‖₂), and 0 if a row is zero.

    Examples
    --------
    >>> import numpy as np
    >>> Cosine().gram(np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]])).round(3)
    array([[1.   , 0.707, 0.   ],
           [0.707, 1.   , 0.   ],
           [0.   , 0.   , 0.   ]])
    """

    uses_own: ClassVar[bool] = True
    statistics = (INNER_PRODUCT,)

    def __call__(self, pairs: Pairs) -> Array:
        # The product of two roots: a product of squared norms of 1e-200 would underflow.
        norms = _root(pairs.left_own[INNER_PRODUCT]) * _root(pairs.right_own[INNER_PRODUCT])
        zero = norms <= 0
        affinity: Array = pairs[INNER_PRODUCT] / (norms + zero)
        affinity *= ~zero
        return affinity


def _root(squared: Array) -> Array:
    root: Array = namespace(squared).sqrt(squared * (squared > 0))
    return root
