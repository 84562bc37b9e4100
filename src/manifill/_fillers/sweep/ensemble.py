"""Ensembles: a column is extended by one kernel and solver, or by the weighted sum of several."""

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
    """One kernel and solver, with its weight in the ensemble."""

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
    components : at least one; their solvers are of one type.
    shrinkage : (d,), factor from 0 to 1 by which the extension of each column is shrunk towards the column
        mean: 0 for a column that cannot be predicted. None for 1 everywhere.
    """

    components: tuple[Component, ...]
    shrinkage: Array | None = None

    def __post_init__(self) -> None:
        for component in self.components:
            require_compatible(component.kernel, component.solver)
            if isinstance(component.kernel, Precomputed):
                raise IncompatibleKernel(
                    "A precomputed kernel has no columns to leave out, so it cannot fill a table. Use "
                    "another kernel, or extend a function with GeometricHarmonics."
                )
        kinds = {(type(component.solver), component.kernel.additive) for component in self.components}
        if len(kinds) != 1:
            raise IncompatibleKernel(
                "Components of an ensemble must have solvers of one kind, and all or none of their kernels "
                f"must be sums over columns; got {', '.join(map(str, self.components)) or 'no component'}."
            )

    @classmethod
    def of(cls, kernel: Kernel, solver: AnySolver) -> "Ensemble":
        """An ensemble of one kernel and one solver."""
        return cls((Component(kernel, solver),))

    def __str__(self) -> str:
        return "\n".join(map(str, self.components))

    @property
    def main(self) -> Component:
        """The component with the largest weight."""
        return max(self.components, key=lambda component: component.weight)

    @property
    def solver(self) -> AnySolver:
        """The solver of the first component; all components have solvers of this type."""
        return self.components[0].solver

    @property
    def additive(self) -> bool:
        """True if the kernels are functions of sums over columns."""
        return self.components[0].kernel.additive

    @property
    def statistics(self) -> tuple[PairStatistic, ...]:
        """The pair statistics that the kernels need, without duplicates."""
        return tuple(dict.fromkeys(s for component in self.components for s in component.kernel.statistics))

    def each(self, extend: Callable[[Component], Result], device: str | None = None) -> list[Result]:
        """`extend` applied to every component; in parallel threads unless on a device."""
        serial = len(self.components) == 1 or device is not None
        return (
            [extend(component) for component in self.components] if serial else share(extend, self.components)
        )

    @property
    def unshrunk(self) -> "Ensemble":
        """The same without shrinkage, with weights scaled to sum to 1."""
        total = sum(component.weight for component in self.components)
        return Ensemble(tuple(replace(one, weight=one.weight / total) for one in self.components))

    def shrinkage_of(self, columns: Indices) -> Array:
        """(b,), the shrinkage factors of these columns."""
        return np.ones(len(columns)) if self.shrinkage is None else self.shrinkage[columns]
