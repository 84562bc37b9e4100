"""Stacking: non-negative weights of several fills, found by least squares on held-out entries."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls

from manifill._arrays import Array

# Pseudo-count of the prior weights, in held-out entries. Chosen in a prototype on the sixteen tables of
# docs/notes/choosing.md, where the prior was on the core candidates: relative RMSE of three stacked fills
# .962 with it, .967 without; with 100 entries the data hardly changed the weights.
_PRIOR_ENTRIES = 30.0
# The same for the weights of a group of columns, towards those of all groups. Mean error of the development
# tables (500 rows, mask 21) with 30, 100 and 300 entries: .5450, .5449, .5454; with one set of weights .5470.
_PRIOR_ENTRIES_OF_GROUP = 100.0
# A fill is added if it lowers the squared error by this share of Σ truth². Set by hand, not tuned.
_MIN_IMPROVEMENT = 1e-4
# A blend is used only if its cross-validated squared error is below this share of the best single fill's.
# Set by hand, not tuned.
_MAX_ERROR_RATIO = 0.995


def stack(
    fills: Array,
    truth: Array,
    max_fills: int,
    entry_weights: Array | None = None,
    folds: npt.NDArray[Any] | None = None,
) -> Array:
    """Weights w (k,) ≥ 0, at most `max_fills` of them positive, with w · fills (k, h) nearest to truth (h,).

    Fills are added one by one (forward selection), each time the one that lowers the squared error most.
    Fills that are not finite get weight 0. A ridge penalty shrinks the weights towards 1/max_fills; its
    influence falls as the number of entries grows. Σ w ≤ 1: a smaller sum is useful if little can be learned.
    A larger sum can fit a few sweeps that have not converged, but does harm over many sweeps.

    Parameters
    ----------
    entry_weights : (h,), weights of the entries; default 1.
    folds : (h,), 0 or 1. With folds, several fills are used only if they beat the best single fill in
        two-fold cross-validation; otherwise the best single fill has weight 1.

    Examples
    --------
    >>> import numpy as np
    >>> fills = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]).repeat(5000, axis=1)
    >>> stack(fills, fills[0] / 4 + fills[1] / 2, max_fills=2).round(2)
    array([0.25, 0.5 , 0.  ])
    """
    if entry_weights is not None:
        fills, truth = fills * np.sqrt(entry_weights), truth * np.sqrt(entry_weights)
    everywhere = np.ones(len(truth), dtype=np.bool_)

    def several(part: npt.NDArray[np.bool_]) -> Array:
        return _forward_selection(fills[:, part], truth[part], max_fills)

    def single(part: npt.NDArray[np.bool_]) -> Array:
        squares = ((fills[:, part] - truth[part]) ** 2).sum(axis=1)
        return np.asarray(np.eye(len(fills))[int(np.argmin(np.nan_to_num(squares, nan=np.inf)))])

    def cross_validated(find: Callable[[npt.NDArray[np.bool_]], Array]) -> float:
        halves = [np.asarray(folds == fold) for fold in (0, 1)]
        return sum(
            float(((np.nan_to_num(find(train)) @ np.nan_to_num(fills[:, test]) - truth[test]) ** 2).sum())
            for train, test in (halves, halves[::-1])
        )

    if folds is None:
        return several(everywhere)
    if len(np.unique(folds)) < 2 or cross_validated(several) > _MAX_ERROR_RATIO * cross_validated(single):
        return single(everywhere)
    return several(everywhere)


def _forward_selection(fills: Array, truth: Array, max_fills: int) -> Array:
    usable = np.flatnonzero(np.isfinite(fills).all(axis=1))
    weights = np.zeros(len(fills))
    if not usable.size or not truth.size:
        return weights
    F = fills[usable]
    penalty = _PRIOR_ENTRIES * float(np.mean(F**2))
    products = F @ F.T + (penalty + 1e-10 * float(truth @ truth) + 1e-100) * np.eye(len(F))
    projections = F @ truth + penalty / max_fills
    chosen: list[int] = []
    lowest = 0.0
    while len(chosen) < min(max_fills, len(F)):
        others = [i for i in range(len(F)) if i not in chosen]
        tried = [_minimum(products, projections, [*chosen, i]) for i in others]
        best = int(np.argmin([loss for loss, _ in tried]))
        loss, solution = tried[best]
        if not loss < lowest - _MIN_IMPROVEMENT * float(truth @ truth):
            break
        lowest = loss
        chosen.append(others[best])
        weights[usable[chosen]] = solution
    return weights


def _minimum(products: Array, projections: Array, chosen: list[int]) -> tuple[float, Array]:
    """Minimum of w·products·w − 2 w·projections over w ≥ 0 with Σ w ≤ 1, and the minimiser w."""
    lower = np.linalg.cholesky(products[np.ix_(chosen, chosen)])
    target = np.linalg.solve(lower, projections[chosen])
    k, heavy = len(chosen), 1e3 * float(np.abs(lower).max())
    system = np.zeros((k + 1, k + 1))  # the last unknown is the slack 1 − Σ w ≥ 0, in a row of large weight
    system[:k, :k], system[k] = lower.T, heavy
    solution = nnls(system, np.append(target, heavy))[0][:k]
    return float(np.sum((lower.T @ solution - target) ** 2)) - float(target @ target), solution


def stack_by_group(products: Array, projections: Array, entries: Array, last: int | None = None) -> Array:
    """Weights (G, k) ≥ 0, Σ w ≤ 1, of k fills, for each of G groups of columns, or the `last` of them.

    First the weights of all groups together are found, then those of each group, shrunk towards the former.

    Parameters
    ----------
    products : (G, k, k), Σ w f fᵀ over the known entries of a group, with f (k,) the fills of an entry and w
        its weight.
    projections : (G, k), Σ w f t, with t the true values.
    entries : (G,), Σ w.

    Examples
    --------
    >>> import numpy as np
    >>> products = 1e6 * np.eye(2)[None]
    >>> stack_by_group(products, products @ [0.25, 0.5], np.array([1e6])).round(2)
    array([[0.25, 0.5 ]])
    """
    k, total = products.shape[1], float(entries.sum())
    some = slice(None) if last is None else slice(len(entries) - last, None)
    if not total > 0:
        return np.full(projections[some].shape, 1 / k)

    def found(own: Array, towards: Array, count: float, prior: Array, prior_entries: float) -> Array:
        mean_square = float(np.trace(own)) / (k * max(count, 1e-12))
        if not mean_square > 0:
            return prior
        penalty = prior_entries * mean_square
        ridge = penalty + 1e-10 * float(np.trace(own))
        return _minimum(own + ridge * np.eye(k), towards + penalty * prior, list(range(k)))[1]

    equal = np.full(k, 1 / k)
    overall = found(products.sum(axis=0), projections.sum(axis=0), total, equal, _PRIOR_ENTRIES)
    groups = zip(products[some], projections[some], entries[some].tolist(), strict=True)
    return np.array([found(*own, overall, _PRIOR_ENTRIES_OF_GROUP) for own in groups])
