"""Weights with which several fills come closest to what was hidden."""

import numpy as np
from scipy.optimize import nnls

from manifill.arrays import Array

# Hidden entries that what is believed beforehand counts for. Measured on sixteen tables: without it the
# weights follow the noise of a few hundred entries, with 100 they hardly listen (docs/choosing.md).
_BELIEF = 30.0
# By which share another fill must lower the squared error to be worth its time.
_WORTH = 1e-4


def stack(fills: Array, truth: Array, most: int, expected: Array | None = None) -> Array:
    """Weights (k,) ≥ 0, at most `most` of them positive, with weights · fills (k, h) nearest to truth (h,).

    Fills join one by one, each time the one that lowers the squared error most. Fills that are not finite
    take no part. The weights add up to 1 at most: to less where little can be learned, and not to more,
    which a few sweeps that are not there yet may call for, and many would not bear.

    Parameters
    ----------
    expected : (k,), weights that are expected before any entry is seen; the others are drawn to them, the
        less the more entries there are. Default: 1/most for all.

    Examples
    --------
    >>> import numpy as np
    >>> fills = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]).repeat(5000, axis=1)
    >>> stack(fills, fills[0] / 4 + fills[1] / 2, most=2).round(2)
    array([0.25, 0.5 , 0.  ])
    """
    usable = np.flatnonzero(np.isfinite(fills).all(axis=1))
    weights = np.zeros(len(fills))
    if not usable.size or not truth.size:
        return weights
    F = fills[usable]
    prior = np.full(len(F), 1 / most) if expected is None else expected[usable]
    pull = _BELIEF * float(np.mean(F**2))
    products = F @ F.T + (pull + 1e-10 * float(truth @ truth) + 1e-100) * np.eye(len(F))
    projections = F @ truth + pull * prior
    chosen: list[int] = []
    lowest = 0.0
    while len(chosen) < min(most, len(F)):
        others = [i for i in range(len(F)) if i not in chosen]
        tried = [_nonnegative(products, projections, [*chosen, i]) for i in others]
        best = int(np.argmin([loss for loss, _ in tried]))
        loss, solution = tried[best]
        if not loss < lowest - _WORTH * float(truth @ truth):
            break
        lowest = loss
        chosen.append(others[best])
        weights[usable[chosen]] = solution
    return weights


def _nonnegative(products: Array, projections: Array, chosen: list[int]) -> tuple[float, Array]:
    """Min over w ≥ 0, Σ w ≤ 1, of w·products·w − 2 w·projections, and where it is taken."""
    lower = np.linalg.cholesky(products[np.ix_(chosen, chosen)])
    target = np.linalg.solve(lower, projections[chosen])
    k, heavy = len(chosen), 1e3 * float(np.abs(lower).max())
    system = np.zeros((k + 1, k + 1))  # the last unknown is what is lacking in Σ w to 1
    system[:k, :k], system[k] = lower.T, heavy
    solution = nnls(system, np.append(target, heavy))[0][:k]
    return float(np.sum((lower.T @ solution - target) ** 2)) - float(target @ target), solution
