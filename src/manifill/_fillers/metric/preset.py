"""The three efforts: which kernels are used in which sweep, and limits on time and memory."""

from collections.abc import Mapping
from dataclasses import dataclass

from manifill._fillers.sweep import Component
from manifill.kernels import Gaussian, Kernel, Laplacian, MedianDistance, SemiLinear
from manifill.solvers import Landmarks, Local, Ridge

# Rows sampled for the median distance, which they give to a few percent. Set by hand, not tuned.
_SAMPLE = 150


def _component(
    base: type[Laplacian] | type[Gaussian], multiple: float, linear: float, ridge: float
) -> Component:
    kernel: Kernel = SemiLinear(base(MedianDistance(multiple, sample=_SAMPLE)), linear)
    return Component(kernel, Ridge(ridge))


def _near(k: int, ridge: float) -> Component:
    return Component(Laplacian(MedianDistance(sample=_SAMPLE)), Local(k, ridge))


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
NEAR = (_near(25, 0.05),)

# Most values of all copies: 160 MB.
_MAX_COPIED = 20_000_000


@dataclass(frozen=True)
class Preset:
    """How much work a fill takes.

    Attributes
    ----------
    first : kernels and solvers of the first sweep.
    rest : those of the second; later sweeps use those of them that have weight.
    most : most sweeps.
    gain : share by which a sweep must lower the errors of the columns, in the geometric mean, for more than
        one other sweep to follow.
    folds : parts into which the columns are divided; the values of one part are left out at a time. Long
        tables have half as many.
    rows : most rows that regressions are fitted to.
    exact : most known rows that are all centres of a kernel.
    centres : number of centres if more rows are known.
    fitted : most known rows that coefficients of the centres are fitted to.
    """

    first: tuple[Component, ...]
    rest: tuple[Component, ...]
    most: int
    gain: float
    folds: int
    rows: int
    exact: int
    centres: int
    fitted: int

    def copies(self, n: int, d: int) -> tuple[int, int]:
        """Folds and rows of the copies of a table (n, d)."""
        folds = self.folds if n <= self.fitted else max(1, self.folds // 2)
        return folds, max(1, min(n, self.rows, _MAX_COPIED // (folds * d)))

    def solver(self, component: Component, known: int) -> Ridge | Landmarks:
        """The solver of a kernel for a column with so many known rows, with the reason."""
        ridge = component.solver.ridge if isinstance(component.solver, Ridge) else 0.0
        if known <= self.exact:
            return Ridge(ridge, why=f"{known:,} known rows are few enough for all pairs of rows")
        return Landmarks(self.centres, ridge=ridge, why=f"{known:,} known rows are fitted on centres")


FAST = Preset(TWO, (), most=1, gain=1.0, folds=4, rows=4000, exact=800, centres=400, fitted=4000)
BALANCED = Preset(
    TWO, (*FIVE, *NEAR), most=4, gain=0.1, folds=8, rows=20_000, exact=1500, centres=500, fitted=4000
)
BEST = Preset(
    (*FIVE, *NEAR),
    (*FIVE, *NEAR),
    most=6,
    gain=0.02,
    folds=12,
    rows=50_000,
    exact=2500,
    centres=1500,
    fitted=5000,
)
EFFORTS: Mapping[str, Preset] = {"fast": FAST, "balanced": BALANCED, "best": BEST}
"""Presets by the names of efforts."""
