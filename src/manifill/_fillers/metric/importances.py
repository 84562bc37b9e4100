"""Which column tells about which."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from manifill._arrays import Array
from manifill._messages import text_table

# Predictors of a column that are printed.
_SHOWN = 4


class Importances(dict[Any, dict[Any, float]]):
    """Predictor → target → share of the predictor among the learned weights of the target.

    The shares of a target sum to 1; they are 0 for a target that is filled with its mean.
    `pandas.DataFrame(importances)` is a table with a row for each target and a column for each predictor.
    """

    @classmethod
    def of(cls, weights: Array, targets: Sequence[Any], predictors: Sequence[Any]) -> "Importances":
        """From weights (targets, predictors) ≥ 0."""
        shares = weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)
        return cls(
            (name, dict(zip(targets, column.tolist(), strict=True)))
            for name, column in zip(predictors, shares.T, strict=True)
        )

    @property
    def targets(self) -> list[Any]:
        """Names of the targets."""
        return list(next(iter(self.values()), {}))

    def table(self) -> Array:
        """(targets, predictors), the shares."""
        return np.array([[column[target] for column in self.values()] for target in self.targets])

    def __str__(self) -> str:
        rows = []
        for target in self.targets:
            shares = sorted(((one[target], str(name)) for name, one in self.items()), reverse=True)
            listed = ", ".join(f"{name} {share:.0%}" for share, name in shares[:_SHOWN] if share > 0)
            rows.append((target, listed or "nothing: filled with its mean"))
        return text_table(("column", "filled from"), rows, left=(0, 1))
