"""Weights with which several fills come closest to held-out entries."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls

from manifill._arrays import Array

# Pseudo-count of held-out entries that the prior weights stand for. Measured on sixteen tables: without it
# the weights follow the noise of a few hundred entries, with 100 they hardly listen (docs/choosing.md).
_PRIOR_ENTRIES = 30.0
# By which share another fill must lower the squared error to be worth its time.
_MIN_IMPROVEMENT = 1e-4
# A blend is used only if its cross-validated squared error is below this share of the best single fill's.
_MAX_ERROR_RATIO = 0.995


def stack(
    fills: Array,
    truth: Array,
    most: int,
    counts: Array | None = None,
    folds: npt.NDArray[Any] | None = None,
) -> Array:
    """Weights (k,) ≥ 0, at most `most` of them positive, with weights · fills (k, h) nearest to truth (h,).

    Fills join one by one, each time the one that lowers the squared error most. Fills that are not finite
    take no part. Weights are drawn to the prior 1/most, the less the more entries there are. They add up to
    1 at most: to less where little can be learned, and not to more, which a few sweeps that are not there yet
    may call for, and many would not bear.

    Parameters
    ----------
    counts : (h,), what each entry counts; default 1.
    folds : (h,), 0 or 1: several fills are taken only if they do better on one fold with the weights found on
        the other, else the best single one.

    Examples
    --------
    >>> import numpy as np
    >>> fills = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]).repeat(5000, axis=1)
    >>> stack(fills, fills[0] / 4 + fills[1] / 2, most=2).round(2)
    array([0.25, 0.5 , 0.  ])
    """
    if counts is not None:
        fills, truth = fills * np.sqrt(counts), truth * np.sqrt(counts)
    everywhere = np.ones(len(truth), dtype=np.bool_)

    def several(some: npt.NDArray[np.bool_]) -> Array:
        return _stacked(fills[:, some], truth[some], most)

    def single(some: npt.NDArray[np.bool_]) -> Array:
        squares = ((fills[:, some] - truth[some]) ** 2).sum(axis=1)
        return np.asarray(np.eye(len(fills))[int(np.argmin(np.nan_to_num(squares, nan=np.inf)))])

    def crossed(find: Callable[[npt.NDArray[np.bool_]], Array]) -> float:
        halves = [np.asarray(folds == fold) for fold in (0, 1)]
        return sum(
            float(((np.nan_to_num(find(here)) @ np.nan_to_num(fills[:, there]) - truth[there]) ** 2).sum())
            for here, there in (halves, halves[::-1])
        )

    if folds is None:
        return several(everywhere)
    if len(np.unique(folds)) < 2 or crossed(several) > _MAX_ERROR_RATIO * crossed(single):
        return single(everywhere)
    return several(everywhere)


def _stacked(fills: Array, truth: Array, most: int) -> Array:
    usable = np.flatnonzero(np.isfinite(fills).all(axis=1))
    weights = np.zeros(len(fills))
    if not usable.size or not truth.size:
        return weights
    F = fills[usable]
    pull = _PRIOR_ENTRIES * float(np.mean(F**2))
    products = F @ F.T + (pull + 1e-10 * float(truth @ truth) + 1e-100) * np.eye(len(F))
    projections = F @ truth + pull / most
    chosen: list[int] = []
    lowest = 0.0
    while len(chosen) < min(most, len(F)):
        others = [i for i in range(len(F)) if i not in chosen]
        tried = [_nonnegative(products, projections, [*chosen, i]) for i in others]
        best = int(np.argmin([loss for loss, _ in tried]))
        loss, solution = tried[best]
        if not loss < lowest - _MIN_IMPROVEMENT * float(truth @ truth):
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
