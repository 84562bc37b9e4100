"""The three efforts: which kernels are used in which sweep, and limits on time and memory."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from manifill._fillers.sweep import Component
from manifill.kernels import Gaussian, Kernel, Laplacian, MedianDistance, SemiLinear
from manifill.solvers import Landmarks, Local, Ridge


@dataclass(frozen=True)
class Tuned:
    """A kernel whose bandwidth, linear part, ridge and weights of predictors are tuned; see `metric.tuned`.

    Attributes
    ----------
    gaussian : a Gaussian instead of a Laplacian.
    linear, ridge : the values that tuning starts from, as in `SemiLinear` and `Ridge`.
    iterations : steps of L-BFGS.
    """

    gaussian: bool = False
    linear: float = 0.3
    ridge: float = 0.05
    iterations: int = 5


@dataclass(frozen=True)
class Trees:
    """Extremely randomised trees; see `metric.trees`.

    Attributes
    ----------
    number : trees for each fold of the rows.
    leaf : fewest rows of a leaf.
    share : share of the predictors that is tried at each split.
    """

    number: int
    leaf: int = 2
    share: float = 1.0


Member = Component | Tuned | Trees
"""What predicts a column from the others."""

# Rows sampled for the median distance, which they give to a few percent. Set by hand, not tuned.
_SAMPLE = 150


def _component(
    base: type[Laplacian] | type[Gaussian], multiple: float, linear: float, ridge: float
) -> Component:
    kernel: Kernel = SemiLinear(base(MedianDistance(multiple, sample=_SAMPLE)), linear)
    return Component(kernel, Ridge(ridge))


def _near(k: int, ridge: float) -> Component:
    return Component(Laplacian(MedianDistance(sample=_SAMPLE)), Local(k, ridge))


def is_near(one: Member) -> bool:
    """Does a member use the nearest rows only?"""
    return isinstance(one, Component) and isinstance(one.solver, Local)


def is_kernel(one: Member) -> bool:
    """Is a member a kernel on all rows or centres?"""
    return isinstance(one, Component) and not is_near(one)


def in_order(members: Iterable[Member]) -> tuple[Member, ...]:
    """The members in the order in which they are fitted: kernels, near rows, tuned kernels, trees."""
    kinds = (is_kernel, is_near, lambda one: isinstance(one, Tuned), lambda one: isinstance(one, Trees))
    listed = list(members)
    return tuple(one for kind in kinds for one in listed if kind(one))


# Narrow and wide kernels, with weak and strong ridges. Chosen on the development tables (500 rows, masks 21
# and 22) from eighteen, by the weights that stacking gave them. The first of each list is a Laplacian:
# the weights of the predictors are learned from the gradient of its fit.
TWO = (_component(Laplacian, 1.0, 0.3, 0.05), _component(Gaussian, 2.0, 0.3, 0.03))
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
    first : members of the first sweep.
    rest : those of the second; later sweeps use those of them that have weight.
    finish : more members, of the last sweep only.
    most : most sweeps.
    gain : share by which a sweep must lower the errors of the columns, in the geometric mean, for more than
        one other sweep to follow.
    folds : parts into which the columns are divided; the values of one part are left out at a time.
    rows : most rows that regressions are fitted to.
    exact : most known rows that are all centres of a kernel.
    centres : number of centres if more rows are known.
    finish_centres : the same in the last sweep.
    fitted : most known rows that coefficients of the centres are fitted to.
    """

    first: tuple[Member, ...]
    rest: tuple[Member, ...]
    finish: tuple[Member, ...]
    most: int
    gain: float
    folds: int
    rows: int
    exact: int
    centres: int
    finish_centres: int
    fitted: int

    def copies(self, n: int, d: int) -> tuple[int, int]:
        """Folds and rows of the copies of a table of n rows, of which d columns help to fill others."""
        return self.folds, max(1, min(n, self.rows, _MAX_COPIED // (self.folds * d)))

    def solver(self, component: Component, known: int) -> Ridge | Landmarks:
        """The solver of a kernel for a column with so many known rows, with the reason."""
        ridge = component.solver.ridge if isinstance(component.solver, Ridge) else 0.0
        if known <= self.exact:
            return Ridge(ridge, why=f"{known:,} known rows are few enough for all pairs of rows")
        return Landmarks(self.finish_centres, ridge=ridge, why=f"{known:,} known rows are fitted on centres")


@dataclass(frozen=True)
class Effort:
    """The presets of an effort: for short and for long tables."""

    short: Preset
    long: Preset

    def preset(self, n_rows: int) -> Preset:
        """That of a table with so many rows."""
        return self.short if n_rows <= LONG else self.long


LONG = 1500
"""Rows up to which a table is short. Set by hand: up to here all pairs of rows are cheap."""

_FAST = Preset(
    first=TWO,
    rest=(),
    finish=(),
    most=1,
    gain=1.0,
    folds=4,
    rows=4000,
    exact=800,
    centres=400,
    finish_centres=400,
    fitted=4000,
)
_BALANCED = Preset(
    first=TWO[:1],
    rest=TWO[:1],
    finish=(TWO[1], Tuned(iterations=3)),
    most=6,
    gain=0.1,
    folds=8,
    rows=20_000,
    exact=1500,
    centres=300,
    finish_centres=800,
    fitted=4000,
)
_BEST = Preset(
    first=FIVE,
    rest=(*FIVE, Tuned()),
    finish=(*NEAR, Tuned(gaussian=True), Trees(10)),
    most=6,
    gain=0.02,
    folds=12,
    rows=20_000,
    exact=1500,
    centres=400,
    finish_centres=1200,
    fitted=5000,
)
EFFORTS: Mapping[str, Effort] = {
    "fast": Effort(_FAST, replace(_FAST, folds=2)),
    "balanced": Effort(
        _BALANCED,
        replace(
            _BALANCED,
            rest=(TWO[0], *NEAR, Tuned()),
            finish=(TWO[1], Tuned(gaussian=True), Trees(10)),
            fitted=20_000,
            most=5,
            gain=0.05,
            folds=10,
        ),
    ),
    "best": Effort(
        _BEST,
        replace(
            _BEST,
            first=(*TWO, *NEAR),
            rest=(*TWO, *NEAR, Tuned(), Trees(5)),
            finish=(Tuned(gaussian=True), Trees(20)),
            gain=0.03,
            folds=10,
        ),
    ),
}
"""Presets by the names of efforts."""
