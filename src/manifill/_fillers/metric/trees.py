"""Regression of a group of columns by extremely randomised trees.

Trees select predictors and split where values jump, so their errors differ from those of kernels. The rows
are divided into folds, with a forest for the rows outside each fold. A row that was fitted gets its value
from the forest that does not know it; other rows get the mean of all forests.

Unlike kernels, trees learn from the completed rows, in which values were imputed with the help of the target,
but they are judged on copies of the rows in which they were not. (Protein, 5,000 rows: one more fit by trees
learned from the copies has an error of .446, learned from the completed rows .442.)
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from manifill._arrays import Array
from manifill._fillers.metric.preset import Trees
from manifill._fillers.metric.rows import Weighted

# Folds of the rows. Set by hand, not tuned.
_FOLDS = 5
# Bytes of a node of a tree.
_NODE_BYTES = 80
# Precision of predictors and targets, in standard deviations.
_STEP = 2.0**-16


@dataclass(frozen=True, eq=False)
class Forests:
    """Forests for the rows outside each fold, of g functions; row i is in fold i mod their number."""

    forests: tuple[Any, ...]
    n_functions: int

    @classmethod
    def of(cls, rows: Weighted, f: Array, trees: Trees) -> Self:
        """Fit f (m, g)."""
        from sklearn.ensemble import ExtraTreesRegressor  # takes half a second to import

        n_folds = min(_FOLDS, len(rows))
        X, targets = _inputs(rows.values), _rounded(f if f.shape[1] > 1 else f[:, 0])
        forests = []
        for number in range(n_folds):
            forest = ExtraTreesRegressor(
                trees.number, min_samples_leaf=trees.leaf, max_features=trees.share, random_state=number
            )
            some = np.arange(len(X)) % n_folds != number
            forests.append(forest.fit(X[some], targets[some]))
        return cls(tuple(forests), f.shape[1])

    def at(self, rows: Weighted) -> Array:
        """(1, n, g), values at n rows."""
        values: Array = np.mean([self._values(one, rows.values) for one in self.forests], axis=0)
        return values[None]

    def without_own(self, rows: Weighted) -> Array:
        """(1, m, g), values at m rows by the forests that do not know row 1, …, m."""
        values = np.empty((1, len(rows), self.n_functions))
        for number, forest in enumerate(self.forests):
            own = slice(number, None, len(self.forests))
            values[0, own] = self._values(forest, rows.values[own])
        return values

    def _values(self, forest: Any, X: Array) -> Array:
        if not len(X):
            return np.zeros((0, self.n_functions))
        return np.asarray(forest.predict(_inputs(X))).reshape(len(X), -1)


def memory(trees: Trees, m: int) -> float:
    """Bytes of the forests for m rows, at most."""
    return _FOLDS * trees.number * 2 * (m / trees.leaf) * _NODE_BYTES


def _inputs(X: Array) -> Any:
    return _rounded(X).astype(np.float32)


def _rounded(values: Array) -> Array:
    """Multiples of `_STEP`, so that rounding errors do not decide a split.

    Two predictors often divide the few rows of a node alike. Sums of such multiples are exact, so both splits
    are then equally good to the last digit, and the first one is taken.
    """
    return np.round(values / _STEP) * _STEP
