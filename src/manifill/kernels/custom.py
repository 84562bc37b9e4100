"""Kernels given by the user: a function of two sets of rows, or a matrix."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from manifill._arrays import Array
from manifill._checks import complaint
from manifill.errors import IncompatibleKernel, InvalidInput
from manifill.kernels.base import Kernel
from manifill.kernels.pairs import Pairs


@dataclass(frozen=True)
class Custom(Kernel):
    """k(x, y) computed by `function`.

    Parameters
    ----------
    function : callable with two arrays of rows, (n, d) and (m, d), that returns affinities (n, m). To be
        pickled it must be importable (a `def` in a module, not a lambda).
    psd : whether every Gram matrix is positive semi-definite; None if unknown.

    The values are not sums over columns, so the function is called again for every column left out.

    Examples
    --------
    >>> import numpy as np
    >>> def overlap(X, Y):
    ...     return np.minimum(X[:, None], Y[None]).sum(axis=2)
    >>> Custom(overlap, psd=True).gram(np.array([[1.0, 2.0], [2.0, 1.0]]))
    array([[3., 2.],
           [2., 3.]])
    """

    function: Callable[[Array, Array], Any]
    psd: bool | None = None  # type: ignore[misc]

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise complaint("function of Custom", "callable with two arrays of rows", self.function)

    def __call__(self, pairs: Pairs) -> Array:
        left, right = _rows(self, pairs)
        K = np.asarray(self.function(left, right), dtype=np.float64)
        expected = (len(left), len(right))
        name = getattr(self.function, "__name__", repr(self.function))
        if K.shape != expected:
            raise InvalidInput(
                f"The kernel function {name} must return an array of shape {expected} for "
                f"{expected[0]} and {expected[1]} rows; it returned shape {K.shape}."
            )
        if not np.isfinite(K).all():
            raise InvalidInput(
                f"The kernel function {name} must return finite affinities; it returned "
                f"{(~np.isfinite(K)).sum()} NaN or infinite values."
            )
        if pairs.same and not np.allclose(K, K.T, rtol=1e-8, atol=1e-12 * np.abs(K).max(initial=0.0)):
            raise InvalidInput(
                f"The kernel function {name} must be symmetric: k(x, y) = k(y, x); it is not. "
                "Return (K + K.T) / 2, for example."
            )
        return K

    def diagonal(self, pairs: Pairs) -> Array:
        left, _ = _rows(self, pairs)
        one = [self(Pairs.of(row[None, :], statistics=())) for row in left]
        return np.concatenate(one).ravel()


@dataclass(frozen=True)
class Precomputed(Kernel):
    """Affinities given in place of rows: (n, n) among known rows, (m, n) from new rows to known rows.

    Columns cannot be left out of a matrix: use this kernel with `GeometricHarmonics`, not with an imputer.
    """

    psd: ClassVar[bool | None] = None

    def __call__(self, pairs: Pairs) -> Array:
        return _rows(self, pairs)[0]

    def diagonal(self, pairs: Pairs) -> Array:
        raise IncompatibleKernel(
            "A standard deviation needs k(x, x) of new rows, which a precomputed kernel does not have. "
            "Use return_std=False or give the kernel as a function."
        )


def _rows(kernel: Kernel, pairs: Pairs) -> tuple[Array, Array]:
    if pairs.left is None or pairs.right is None:
        raise InvalidInput(f"{kernel!r} needs the rows themselves; construct the pairs with Pairs.of.")
    return pairs.left, pairs.right
