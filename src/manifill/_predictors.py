"""Which columns may help to fill which, and what follows from it.

A column that helps to fill no other must not change the other fills in any way. So whatever is decided for
several columns together, such as the order of the rows or the number of sweeps, is decided by columns on
which all of them may depend.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from manifill._arrays import Indices, Mask, frozen
from manifill._ordering import Groups
from manifill.errors import InvalidInput


@dataclass(frozen=True, eq=False)
class Predictors:
    """Which of d columns may help to fill which.

    Attributes
    ----------
    d : number of columns.
    groups : columns that are left out together; the columns of a group have the same predictors.
    allowed : (d, d), True where a column (first axis) may be filled with the help of another one, and for
        columns of one group; None if all columns may help to fill all others.
    """

    d: int
    groups: Groups
    allowed: Mask | None = None

    @classmethod
    def of(cls, allowed: npt.ArrayLike | None, groups: Groups, d: int) -> "Predictors":
        """Check `allowed`, in which entries of columns of one group have no meaning."""
        if allowed is None:
            return cls(d, groups)
        mask = np.array(allowed, dtype=np.bool_)
        if mask.shape != (d, d):
            raise InvalidInput(f"allowed must have the shape {(d, d)}; got {mask.shape}.")
        for group in map(list, groups):
            mask[np.ix_(group, group)] = True
        for group in map(list, groups):
            if (mask[group] != mask[group[0]]).any() or (mask[:, group] != mask[:, group[:1]]).any():
                raise InvalidInput(
                    "Columns of a group must have the same predictors and help to fill the same columns; "
                    f"those of the group {group} differ. Name all of them in predictors and exclude."
                )
        return cls(d, groups, None if mask.all() else frozen(mask))

    @property
    def restricted(self) -> bool:
        """May some column not help to fill another one?"""
        return self.allowed is not None

    def of_group(self, group: Sequence[int]) -> Mask:
        """(d,), True for the columns that may help to fill a group."""
        found = np.ones(self.d, dtype=np.bool_) if self.allowed is None else self.allowed[group[0]].copy()
        found[list(next(one for one in self.groups if group[0] in one))] = False
        return found

    @cached_property
    def helping(self) -> Mask:
        """(d,), True for the columns that may help to fill another group."""
        if self.allowed is None:
            return np.ones(self.d, dtype=np.bool_)
        others = self.allowed.copy()
        for group in map(list, self.groups):
            others[np.ix_(group, group)] = False
        return np.asarray(others.any(axis=0))

    @cached_property
    def deciding(self) -> Mask:
        """(d,), True for the columns that decide what is common to all columns; all False if none may.

        These are the helping ones, if each of them may help to fill all others.
        """
        if self.allowed is None:
            return self.helping
        among = self.allowed[:, self.helping].all()
        return self.helping if among else np.zeros(self.d, dtype=np.bool_)

    def empty(self, M: Mask) -> Mask:
        """(m,), True for rows that are filled with the column means; M (m, d) is True where missing.

        In these rows no deciding column is known. If no columns decide for all, there are no such rows.
        """
        if not self.deciding.any():
            return np.zeros(len(M), dtype=np.bool_)
        return np.asarray((M if self.deciding.all() else M[:, self.deciding]).all(axis=1))

    def informed(self, M: Mask) -> Mask:
        """(m, d), False for entries of rows in which nothing is known that their fill could come from.

        `M` (m, d) is True where missing; without the rows that are `empty`.
        """
        if self.allowed is None or self.deciding.any():
            return np.ones(M.shape, dtype=np.bool_)
        reached = _reached(self.allowed, np.ones(self.d, dtype=np.bool_))
        return np.asarray((~M).astype(float) @ reached.astype(float).T > 0)

    def sets(self) -> list[tuple[Indices, Indices]]:
        """Columns with the same predictors, and these columns with their predictors, for all columns."""
        every = np.arange(self.d)
        if self.allowed is None:
            return [(every, every)]
        rows, number = np.unique(self.allowed, axis=0, return_inverse=True)
        number = number.reshape(-1)
        return [(np.flatnonzero(number == i), np.flatnonzero(row)) for i, row in enumerate(rows)]

    def pools(self, M: Mask) -> Mask:
        """(d, d), True where findings about a column (second axis) may be used for another one (first).

        That is so if they depend only on values on which the fill of the other one depends anyway.

        Parameters
        ----------
        M : (n, d), True where missing. Imputed values of a column depend on its own predictors.
        """
        if self.allowed is None:
            return np.ones((self.d, self.d), dtype=np.bool_)
        reached = _reached(self.allowed, np.asarray(M.any(axis=0)))
        outside = (~reached).astype(float) @ reached.astype(float).T
        return np.asarray(outside == 0)


def _reached(allowed: Mask, through: Mask) -> Mask:
    """(d, d), `allowed`, and what is allowed for allowed columns that are in `through` (d,), and so on."""
    reached, before = allowed.copy(), 0
    while reached.sum() > before:
        before = int(reached.sum())
        reached |= (reached & through).astype(float) @ reached.astype(float) > 0
    return reached
