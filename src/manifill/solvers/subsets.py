"""Sets of rows, each with the columns that are known (or missing) on exactly these rows."""

from collections import defaultdict
from functools import cached_property
from itertools import pairwise
from typing import Protocol

import numpy as np

from manifill._arrays import Array, Indices, Mask
from manifill._threads import n_workers, share
from manifill.errors import NotPositiveDefinite


class Subsets:
    """Sets of rows A with columns J: columns with the same rows form a set and share one factorisation.

    Parameters
    ----------
    members : (n, b), True where the row belongs to the set of the column.
    """

    def __init__(self, members: Mask) -> None:
        columns: dict[bytes, list[int]] = defaultdict(list)
        for j, key in enumerate(np.packbits(members, axis=0).T.copy()):
            columns[key.tobytes()].append(j)
        self.members = members
        self.columns = [np.array(J) for J in columns.values()]
        self.sizes = members.sum(axis=0)[[J[0] for J in self.columns]]
        self.work = float((self.sizes.astype(np.float64) ** 3).sum() / 3)
        """Floating-point operations of the Cholesky factorisations of all sets."""

    @cached_property
    def sets(self) -> list[tuple[Indices, Indices]]:
        """(A, J) of every set."""
        return [(np.flatnonzero(self.members[:, J[0]]), J) for J in self.columns]

    @cached_property
    def _layout(self) -> tuple[Indices, Indices, Indices, Indices]:
        rows, columns = zip(*self.sets, strict=True)
        first_row = np.cumsum([0, *map(len, rows)])
        first_column = np.cumsum([0, *map(len, columns)])
        return np.concatenate(rows), first_row, np.concatenate(columns), first_column

    def solve(self, K: Array, F: Array, added: list[float]) -> tuple[Array, float]:
        """X with (K[A, A] + r·I) X[A, J] = F[A, J] for every set, zero elsewhere; and the largest r.

        r is, for each set, the first value in `added` with which its matrix is positive definite.
        """
        from manifill._compiled import solve_subsets

        X = np.zeros(F.shape)
        used = np.empty(len(self.columns), dtype=np.intp)
        shifts = np.array(added)

        def run(bounds: tuple[int, int]) -> None:
            solve_subsets(K, *self._layout, F, shifts, *bounds, X, used)

        n = len(self.columns)
        pieces = min(n, 4 * n_workers())
        cuts = np.linspace(0, n, pieces + 1).astype(int).tolist()
        share(run, pairwise(cuts))
        if (used < 0).any():
            A = self.sets[int(np.argmin(used))][0]
            raise NotPositiveDefinite(
                f"Cholesky needs a positive definite matrix; the affinities of {len(A)} known rows with "
                f"{added[-1]:.3g} added to the diagonal are not. Use the spectral solver or a larger ridge."
            )
        return X, float(shifts[used].max(initial=0.0))


class Work(Protocol):
    """An object with an operation count."""

    @property
    def work(self) -> float: ...


def complement_pays(n: int, known: Work, missing: Work) -> bool:
    """Whether one inverse of size n, counted as 1.33 n³, and the systems of the missing rows cost less."""
    return known.work > 1.33 * n**3 + missing.work
