"""The three efforts: which kernels are used in which sweep, and limits on time and memory."""

from collections.abc import Mapping
from dataclasses import dataclass

from manifill._fillers.sweep import Component
from manifill.kernels import Gaussian, Kernel, Laplacian, MedianDistance, SemiLinear
from manifill.solvers import Landmarks, Ridge

# Rows sampled for the median distance, which they give to a few percent. Set by hand, not tuned.
_SAMPLE = 150


def _component(
    base: type[Laplacian] | type[Gaussian], multiple: float, linear: float, ridge: float
) -> Component:
    kernel: Kernel = SemiLinear(base(MedianDistance(multiple, sample=_SAMPLE)), linear)
    return Component(kernel, Ridge(ridge))


# Narrow and wide kernels, with weak and strong ridges. Chosen on the development tables (500 rows, masks 21
# and 22) from eighteen, by the weights that stacking gave them. The first of each list is a Laplacian:
# the weights of the predictors are learned from the gradient of its fit.
TWO = (_component(Laplacian, 1.0, 0.3, 0.05), _component(Gaussian, 2.0, 0.3, 0.03))
THREE = (
    _component(Laplacian, 0.5, 0.3, 0.03),
    _component(Laplacian, 4.0, 0.3, 0.05),
    _component(Gaussian, 2.0, 0.3, 0.02),
)
FIVE = (
    _component(Laplacian, 0.5, 0.3, 0.03),
    _component(Laplacian, 4.0, 0.3, 0.03),
    _component(Gaussian, 3.0, 0.3, 0.03),
    _component(Gaussian, 0.7, 0.3, 0.03),
    _component(Gaussian, 0.7, 1.0, 1.0),
)


@dataclass(frozen=True)
class Preset:
    """How much work a fill takes.

    Attributes
    ----------
    sweeps : the kernels and ridges of each sweep.
    blended : the last sweeps whose kernels are blended in the result.
    folds : parts into which the columns are divided; the values of one part are left out at a time.
    rows : most rows that regressions are fitted to.
    exact : most known rows that are all centres of a kernel.
    centres : number of centres if more rows are known.
    """

    sweeps: tuple[tuple[Component, ...], ...]
    blended: int
    folds: int
    rows: int
    exact: int
    centres: int

    def solver(self, component: Component, known: int) -> Ridge | Landmarks:
        """The solver of a component for a column with so many known rows, with the reason."""
        ridge = component.solver.ridge if isinstance(component.solver, Ridge) else 0.0
        if known <= self.exact:
            return Ridge(ridge, why=f"{known:,} known rows are few enough for all pairs of rows")
        return Landmarks(self.centres, ridge=ridge, why=f"{known:,} known rows are fitted on centres")


FAST = Preset((TWO,), blended=1, folds=4, rows=4000, exact=800, centres=400)
BALANCED = Preset((TWO, THREE, FIVE), blended=2, folds=8, rows=4000, exact=1500, centres=500)
BEST = Preset((FIVE,) * 4, blended=2, folds=12, rows=10_000, exact=2500, centres=1500)
EFFORTS: Mapping[str, Preset] = {"fast": FAST, "balanced": BALANCED, "best": BEST}
"""Presets by the names of efforts."""
