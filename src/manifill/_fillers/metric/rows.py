"""Rows as regressions see them: values, of which some are imputed and uncertain.

Two rows are further apart than their imputed values say. If the error of an imputed value x is e on average,
the expected distance |x − y| to another value is about |x − y| + e / 2 while the two are close, and the
expected square is (x − y)² + e². So half of w e is added to L1 distances for every imputed predictor of a
row, and half of (w e)² to squared ones, with w its weight. Rows with many imputed predictors count less.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from manifill._arrays import Array, Indices, Mask
from manifill.kernels import Pairs
from manifill.kernels.pairs import ABSOLUTE_DISTANCE, SQUARED_DISTANCE

# Share of the expected error that is added. Mean error of the development tables (500 rows, masks 41 and 42),
# for kernels of the last sweep alone: without it .5328, with .5 and 1 .5302 and .5303.
SHARE = 0.5


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a table in standardised units.

    Attributes
    ----------
    Z : (m, d), their values.
    imputed : (m, d), True for values that are imputed.
    """

    Z: Array
    imputed: Mask

    def __len__(self) -> int:
        return len(self.Z)

    def __getitem__(self, which: slice | Indices) -> "Rows":
        return Rows(self.Z[which], self.imputed[which])

    @classmethod
    def joined(cls, parts: "list[Rows]") -> "Rows":
        """All rows of several parts."""
        return cls(np.concatenate([one.Z for one in parts]), np.concatenate([one.imputed for one in parts]))


@dataclass(frozen=True, eq=False)
class Weighted:
    """Predictors of rows, multiplied by their weights.

    Attributes
    ----------
    values : (m, q).
    imputed : (m, q), 1 for values that are imputed, 0 for others.
    spread : (q,), errors of imputed values, multiplied by the weights.
    absolute, squared : (m,), what imputed values add to L1 distances and to squared distances.
    """

    values: Array
    imputed: Array
    spread: Array
    absolute: Array
    squared: Array

    @classmethod
    def of(cls, rows: Rows, used: Indices, weights: Array, errors: Array) -> Self:
        """From the columns `used`, their `weights`, and the `errors` of their imputed values, (q,) each."""
        imputed = rows.imputed[:, used].astype(np.float64)
        return cls._of(np.ascontiguousarray(rows.Z[:, used] * weights), imputed, weights * errors)

    @classmethod
    def _of(cls, values: Array, imputed: Array, spread: Array) -> Self:
        return cls(values, imputed, spread, SHARE * (imputed @ spread), SHARE * (imputed @ spread**2))

    def times(self, factors: Array) -> "Weighted":
        """The same rows with weights multiplied by factors (q,)."""
        return self._of(self.values * factors, self.imputed, self.spread * factors)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, which: slice | Indices) -> "Weighted":
        absolute, squared = self.absolute[which], self.squared[which]
        return Weighted(self.values[which], self.imputed[which], self.spread, absolute, squared)


def lengthened(pairs: Pairs, left: Weighted, right: Weighted, same: Indices | None = None) -> Pairs:
    """The pairs, with expected instead of plain distances, in place.

    `same` (m,) are the left rows that are the right ones; the distance of a row to itself stays 0.
    """
    for statistic, name in ((ABSOLUTE_DISTANCE, "absolute"), (SQUARED_DISTANCE, "squared")):
        if statistic in pairs.totals:
            total = pairs[statistic]
            total += getattr(left, name)[:, None]
            total += getattr(right, name)[None, :]
            if same is not None:
                total[same, np.arange(len(right))] = 0.0
    return pairs
