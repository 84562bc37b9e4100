"""An order of rows and columns that depends on their values alone.

Random choices are made in this order, so they do not depend on the order of rows and columns, the units and
the signs in which a table was given.
"""

import numpy as np

from manifill._arrays import Array, Indices, Mask

Groups = tuple[tuple[int, ...], ...]
"""Columns that are left out together, such as the dummy columns of one variable."""

# Decimal places of the numbers that rows and columns are sorted by: rounding errors of sums are smaller.
_SORTED_PLACES = 9
# Mean of z³ below which its sign is not used: it may be a rounding error.
_MIN_SKEWNESS = 1e-9


def row_order(Z: Array, M: Mask) -> Indices:
    """Indices that sort rows by a number that the order, units and signs of the columns do not affect.

    The number is Σ_j m_j · s_j · z_ij, with m_j the mean of |z|³ in column j, and s_j the sign of the mean of
    z³; where that is 0, |z_ij| is used, and -1 for missing entries. Rows with equal numbers keep their order.
    """
    number = np.zeros(len(Z))
    for j in range(Z.shape[1]):
        third, sign = _third_moments(Z[:, j], M[:, j])
        entries = np.abs(Z[:, j]) if sign == 0 else sign * Z[:, j]
        number += third * np.where(M[:, j], -1.0, entries)
    return np.argsort(np.round(number, _SORTED_PLACES), kind="stable")


def group_order(groups: Groups, Z: Array, M: Mask, own: int) -> Groups:
    """The groups, sorted by numbers that the order of the rows, units and signs do not affect.

    These are the number of missing entries, and the means of |z|³. Columns from `own` on are last, and
    constant columns, in which nothing is learned, just before them. Equal groups keep their order.
    """

    def key(group: tuple[int, ...]) -> tuple[float, ...]:
        third = sum(_third_moments(Z[:, j], M[:, j])[0] for j in group)
        constant = not any((Z[:, j] != 0).any() for j in group)
        missing = sum(int(M[:, j].sum()) for j in group)
        return group[0] >= own, constant, missing, round(third, _SORTED_PLACES)

    return tuple(sorted(groups, key=key))


def _third_moments(z: Array, missing: Mask) -> tuple[float, float]:
    """Mean of |z|³ of the known entries of a column, and the sign of the mean of z³ or 0."""
    count = max(int((~missing).sum()), 1)
    cubes = z**3
    mean = float(cubes.sum()) / count
    return float(np.abs(cubes).sum()) / count, 0.0 if abs(mean) < _MIN_SKEWNESS else float(np.sign(mean))
