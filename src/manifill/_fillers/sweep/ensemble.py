"""How a column is extended: by one kernel and solver, or by the weighted mean of several."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from manifill._arrays import Array, Indices
from manifill._harmonics import require_compatible
from manifill._threads import share
from manifill.errors import IncompatibleKernel
from manifill.kernels import Kernel, PairStatistic, Precomputed
from manifill.solvers import AnySolver

Result = TypeVar("Result")


@dataclass(frozen=True)
class Component:
    """One way of extending, and its weight among the others."""

    kernel: Kernel
    solver: AnySolver
    weight: float = 1.0

    def __str__(self) -> str:
        return f"{self.weight:.2f} × {self.kernel!r}, {self.solver!r}"


@dataclass(frozen=True, eq=False)
class Ensemble:
    """The extension of a column is Σ weight · extension by the component's kernel and solver.

    Attributes
    ----------
    components : at least one; their solvers are of one kind.
    shrinkage : (d,), the share of the extension of each column that is taken for its fill, the rest being
        the mean: 0 where nothing can be learned. None is 1 for all.
    """

    components: tuple[Component, ...]
    shrinkage: Array | None = None

    def __post_init__(self) -> None:
        for component in self.components:
            require_compatible(component.kernel, component.solver)
            if isinstance(component.kernel, Precomputed):
                raise IncompatibleKernel(
                    "A precomputed kernel has no columns to leave out, which filling a table needs; use "
                    "another kernel, or GeometricHarmonics to extend a function with it."
                )
        kinds = {(type(component.solver), component.kernel.additive) for component in self.components}
        if len(kinds) != 1:
            raise IncompatibleKernel(
                "Components of an ensemble must have solvers of one kind, and kernels that all are, or are "
                f"not, sums over columns; got {', '.join(map(str, self.components)) or 'no component'}."
            )

    @classmethod
    def of(cls, kernel: Kernel, solver: AnySolver) -> "Ensemble":
        """One kernel and one solver."""
        return cls((Component(kernel, solver),))

    def __str__(self) -> str:
        return "\n".join(map(str, self.components))

    @property
    def main(self) -> Component:
        """The component of most weight."""
        return max(self.components, key=lambda component: component.weight)

    @property
    def solver(self) -> AnySolver:
        """The kind of solver all components have, with the numbers of the first."""
        return self.components[0].solver

    @property
    def additive(self) -> bool:
        """Are the kernels sums over columns?"""
        return self.components[0].kernel.additive

    @property
    def statistics(self) -> tuple[PairStatistic, ...]:
        """All that the kernels want to know of a pair of rows."""
        return tuple(dict.fromkeys(s for component in self.components for s in component.kernel.statistics))

    def each(self, extend: Callable[[Component], Result], device: str | None = None) -> list[Result]:
        """The function of every component, side by side on a processor where there are several."""
        alone = len(self.components) == 1 or device is not None
        return (
            [extend(component) for component in self.components] if alone else share(extend, self.components)
        )

    @property
    def unshrunk(self) -> "Ensemble":
        """The same without shrinkage: weights that add up to 1, for all columns."""
        total = sum(component.weight for component in self.components)
        return Ensemble(tuple(replace(one, weight=one.weight / total) for one in self.components))

    def shrinkage_of(self, columns: Indices) -> Array:
        """(b,), the share of the extension of these columns that their fills take."""
        return np.ones(len(columns)) if self.shrinkage is None else self.shrinkage[columns]
