"""Regression of a group of columns by extremely randomised trees.

Trees select predictors and split where values jump, so their errors differ from those of kernels. The rows
are divided into folds, with some trees for the rows outside each fold. A row that was fitted gets its value
from the trees that do not know it; other rows get the mean of all trees. Few trees vary more than many, so
the squares of the former are too large by v/t − v/T, with v the variance among trees, t of T in number.

Unlike kernels, trees learn from the completed rows, in which values were imputed with the help of the target,
but they are judged on copies of the rows in which they were not. (Protein, 5,000 rows: one more fit by trees
learned from the copies has an error of .446, learned from the completed rows .442.)
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from manifill._arrays import Array
from manifill._fillers.metric.parts import PartFit
from manifill._fillers.metric.preset import Trees
from manifill._fillers.metric.rows import Weighted

# Folds of the rows: a tree knows 90 % of them. Five gave the same error (docs/notes/choosing.md).
_FOLDS = 10
# Bytes of a node of a tree.
_NODE_BYTES = 80
# Precision of predictors and targets, in standard deviations.
_STEP = 2.0**-16


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees for the rows outside each fold, of g functions; row i is in fold i mod their number."""

    folds: tuple[tuple[Any, ...], ...]
    n_functions: int

    @classmethod
    def of(cls, rows: Weighted, f: Array, trees: Trees) -> Self:
        """Fit f (m, g)."""
        from sklearn.tree import ExtraTreeRegressor  # takes half a second to import

        n_folds = min(_FOLDS, len(rows))
        X, targets, folds = _inputs(rows.values), _rounded(f), []
        for fold in range(n_folds):
            some = np.arange(len(X)) % n_folds != fold
            seeds = range(trees.number * fold, trees.number * (fold + 1))
            found = [
                ExtraTreeRegressor(min_samples_leaf=trees.leaf, max_features=trees.share, random_state=seed)
                for seed in seeds
            ]
            known = X[some], targets[some]
            folds.append(tuple(one.fit(*known, check_input=False) for one in found))
        return cls(tuple(folds), f.shape[1])

    def at(self, rows: Weighted) -> Array:
        """(1, n, g), values at n rows."""
        X = _inputs(rows.values)
        values: Array = np.mean([self._values(one, X).mean(axis=0) for one in self.folds], axis=0)
        return values[None]

    def without_own(self, rows: Weighted) -> Array:
        """(1, m, g), values at m rows by the trees that do not know row 1, …, m."""
        return self._without_own(rows)[0]

    def fitted(self, rows: Weighted) -> PartFit:
        """The forest, with its values at the m rows that it was fitted to."""
        values, variance = self._without_own(rows)
        number = len(self.folds[0])
        excess = variance * (1 - 1 / len(self.folds)) / number
        return PartFit(self, values, self.without_own, excess)

    def _without_own(self, rows: Weighted) -> tuple[Array, Array]:
        """(1, m, g) each: the values, and the variance among the trees."""
        X = _inputs(rows.values)
        mean, variance = np.empty((1, len(X), self.n_functions)), np.zeros((1, len(X), self.n_functions))
        for fold, trees in enumerate(self.folds):
            own = slice(fold, None, len(self.folds))
            values = self._values(trees, X[own])
            mean[0, own] = values.mean(axis=0)
            if len(trees) > 1:
                variance[0, own] = values.var(axis=0, ddof=1)
        return mean, variance

    def _values(self, trees: tuple[Any, ...], X: Any) -> Array:
        """(t, m, g), values of t trees."""
        if not len(X):
            return np.zeros((len(trees), 0, self.n_functions))
        return np.stack([one.predict(X, check_input=False).reshape(len(X), -1) for one in trees])


def memory(trees: Trees, m: int) -> float:
    """Bytes of the trees for m rows, at most."""
    return _FOLDS * trees.number * 2 * (m / trees.leaf) * _NODE_BYTES


def _inputs(X: Array) -> Any:
    return np.ascontiguousarray(_rounded(X), dtype=np.float32)


def _rounded(values: Array) -> Array:
    """Multiples of `_STEP`, so that rounding errors do not decide a split.

    Two predictors often divide the few rows of a node alike. Sums of such multiples are exact, so both splits
    are then equally good to the last digit, and the first one is taken.
    """
    return np.round(values / _STEP) * _STEP
