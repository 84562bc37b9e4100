"""Large ridge systems: factored in single precision, at half the cost, and refined to double.

A factor in single precision is off by some 1e-4 of a solution. Its error shrinks by that factor with every
round of solving for what is left, which costs a product with K in double precision; after two or three
rounds nothing is left but rounding. Where the ridge is too small for that, the caller factors in double.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from manifill._arrays import Mask
from manifill._threads import product, share
from manifill.solvers.inverse import inverse
from manifill.solvers.subsets import Subsets, complement_pays

_ROUNDS = 6
_SETTLED = 1e-9  # of the largest value
_LARGEST = 2**27  # numbers that the factors may hold: half a gigabyte
_EXPECTED = 0.05  # share of an error that a round leaves, at most, for the attempt to be made
_LEAST = 0.25  # and for it to be continued

Array = npt.NDArray[np.floating[Any]]
"""In either precision."""

Approximation = Callable[[Array], Array]
"""Values on the known rows (n, b) → coefficients, almost."""


def worth_while(n: int, ridge: float, known: Subsets, missing: Subsets) -> bool:
    """Is the ridge, in units of the mean diagonal, large enough, and do the factors fit into memory?"""
    size = min(int((sets.sizes.astype(np.int64) ** 2).sum()) for sets in (known, missing))
    return n * float(np.finfo(np.float32).eps) < _EXPECTED * ridge and size + 2 * n**2 < _LARGEST


def solve(K: Array, F: Array, M: Mask, known: Subsets, missing: Subsets, added: float) -> Array | None:
    """C, zero on M, with (K[A, A] + added·I) C[A] = F[A] for every column; None where rounds do not help."""
    by_complement = complement_pays(len(K), known, missing)
    approximate = _complement(K, M, missing, added) if by_complement else _direct(K, known, added)
    if approximate is None:
        return None
    C = approximate(F)
    target, last = _SETTLED * np.abs(F).max(initial=0.0), np.inf
    for _ in range(_ROUNDS):
        left = (F - product(K, C) - added * C) * ~M
        size = float(np.abs(left).max(initial=0.0))
        if size <= target or (size > _LEAST * last and last <= 1e3 * target):
            return C
        if not size < _LEAST * last:
            return None
        C += approximate(left)
        last = size
    return None


def _factors(K: Array, sets: Subsets, added: float) -> list[Array] | None:
    from manifill._compiled import factor_single

    factors = [np.empty((len(A), len(A)), dtype=np.float32) for A, _ in sets.sets]
    rows = [A for A, _ in sets.sets]
    failed = share(lambda s: factor_single(K, rows[s], added, factors[s]), range(len(factors)))
    return None if any(failed) else factors


def _solve(factors: list[Array], sets: Subsets, values: Array, solution: Array) -> None:
    """Into `solution` for the rows and columns of every set."""
    from manifill._compiled import solve_single

    def one(s: int) -> None:
        A, J = sets.sets[s]
        right = np.ascontiguousarray(values[np.ix_(A, J)].T, dtype=np.float32)
        solve_single(factors[s], right)
        solution[np.ix_(A, J)] = right.T

    share(one, range(len(factors)))


def _direct(K: Array, known: Subsets, added: float) -> Approximation | None:
    factors = _factors(K, known, added)
    if factors is None:
        return None

    def approximate(values: Array) -> Array:
        C = np.zeros(values.shape)
        _solve(factors, known, values, C)
        return C

    return approximate


def _complement(K: Array, M: Mask, missing: Subsets, added: float) -> Approximation | None:
    single = K.astype(np.float32)
    single.reshape(-1)[:: len(K) + 1] += added
    P = inverse(single)
    factors = None if P is None else _factors(P, missing, 0.0)
    if P is None or factors is None:
        return None

    def approximate(values: Array) -> Array:
        completed = values.astype(np.float32)
        _solve(factors, missing, -product(P, completed), completed)
        C: Array = product(P, completed).astype(np.float64) * ~M
        return C

    return approximate
