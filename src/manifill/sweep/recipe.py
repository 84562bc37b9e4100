"""How a column is extended: by one kernel and solver, or by the weighted mean of several."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from manifill.arrays import Array, Indices
from manifill.errors import IncompatibleKernel
from manifill.harmonics import require_compatible
from manifill.kernels import Kernel, PairStatistic, Precomputed
from manifill.solvers import AnySolver
from manifill.threads import share

Result = TypeVar("Result")


@dataclass(frozen=True)
class Member:
    """One way of extending, and its weight among the others."""

    kernel: Kernel
    solver: AnySolver
    weight: float = 1.0

    def __str__(self) -> str:
        return f"{self.weight:.2f} × {self.kernel!r}, {self.solver!r}"


@dataclass(frozen=True, eq=False)
class Recipe:
    """The extension of a column is Σ weight · extension by the member's kernel and solver.

    Attributes
    ----------
    members : at least one; their solvers are of one kind.
    reliance : (d,), the share of the extension of each column that is taken for its fill, the rest being
        the mean: 0 where nothing can be learned. None is 1 for all.
    """

    members: tuple[Member, ...]
    reliance: Array | None = None

    def __post_init__(self) -> None:
        for member in self.members:
            require_compatible(member.kernel, member.solver)
            if isinstance(member.kernel, Precomputed):
                raise IncompatibleKernel(
                    "A precomputed kernel has no columns to leave out, which filling a table needs; use "
                    "another kernel, or GeometricHarmonics to extend a function with it."
                )
        kinds = {(type(member.solver), member.kernel.additive) for member in self.members}
        if len(kinds) != 1:
            raise IncompatibleKernel(
                "Members of a recipe must have solvers of one kind, and kernels that all are, or all are "
                f"not, sums over columns; got {', '.join(map(str, self.members)) or 'no member'}."
            )

    @classmethod
    def of(cls, kernel: Kernel, solver: AnySolver) -> "Recipe":
        """One kernel and one solver."""
        return cls((Member(kernel, solver),))

    def __str__(self) -> str:
        return "\n".join(map(str, self.members))

    @property
    def main(self) -> Member:
        """The member of most weight."""
        return max(self.members, key=lambda member: member.weight)

    @property
    def solver(self) -> AnySolver:
        """The kind of solver all members have, with the numbers of the first."""
        return self.members[0].solver

    @property
    def additive(self) -> bool:
        """Are the kernels sums over columns?"""
        return self.members[0].kernel.additive

    @property
    def statistics(self) -> tuple[PairStatistic, ...]:
        """All that the kernels want to know of a pair of rows."""
        return tuple(dict.fromkeys(s for member in self.members for s in member.kernel.statistics))

    def each(self, extend: Callable[[Member], Result], device: str | None = None) -> list[Result]:
        """The function of every member, side by side on a processor where there are several."""
        alone = len(self.members) == 1 or device is not None
        return [extend(member) for member in self.members] if alone else share(extend, self.members)

    def relied_on(self, columns: Indices) -> Array:
        """(b,), the share of the extension of these columns that their fills take."""
        return np.ones(len(columns)) if self.reliance is None else self.reliance[columns]
