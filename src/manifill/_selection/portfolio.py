"""Which kernels and ridges are tried."""

from collections.abc import Iterable
from dataclasses import replace

from manifill.kernels import Gaussian, Kernel, Laplacian, MedianDistance, SemiLinear
from manifill.solvers import AnySolver, Landmarks, Local, Ridge

Setting = tuple[Kernel, float]
"""A kernel and a ridge."""
Pair = tuple[Kernel, AnySolver]

# A ridge of its own for kernels that are given: from "trust every value" to "hardly any".
RIDGES = (1e-4, 1e-3, 1e-2, 0.1, 1.0)

# Rows among which the median distance is found: enough for a bandwidth known to a few percent.
_SAMPLE = 150


def _setting(base: type[Laplacian] | type[Gaussian], multiple: float, weight: float, ridge: float) -> Setting:
    radial = base(MedianDistance(multiple, sample=_SAMPLE))
    return (SemiLinear(radial, weight) if weight else radial), ridge


# Kernel, bandwidth in medians, share of the linear part, ridge. These together do well on most tables: where
# the best candidate is one of them, its neighbours are not tried (docs/choosing.md) …
CORE: tuple[Setting, ...] = (
    _setting(Laplacian, 0.5, 0.3, 0.03),
    _setting(Laplacian, 0.25, 0.3, 0.1),
    _setting(Laplacian, 2.0, 1.0, 1.0),
    _setting(Laplacian, 4.0, 0.3, 0.1),
    _setting(Gaussian, 0.7, 1.0, 1.0),
    _setting(Gaussian, 1.4, 0.3, 0.01),
)
# … and these are taken where held-out entries say so: pictures and smooth manifolds want wide Gaussians.
OTHERS: tuple[Setting, ...] = (
    _setting(Laplacian, 0.5, 0.0, 1.0),
    _setting(Laplacian, 4.0, 0.3, 0.01),
    _setting(Gaussian, 0.35, 0.3, 0.1),
    _setting(Gaussian, 1.0, 0.0, 0.01),
    _setting(Gaussian, 2.0, 0.0, 0.01),
    _setting(Gaussian, 4.0, 0.0, 1e-3),
)
PORTFOLIO = CORE + OTHERS
# Of many columns L1 distances are dear, and rough kernels with large ridges never won: these are tried.
WIDE: tuple[Setting, ...] = (
    _setting(Gaussian, 2.0, 0.0, 0.01),
    _setting(Laplacian, 8.0, 0.3, 1e-3),
    _setting(Gaussian, 1.0, 0.0, 0.01),
    _setting(Gaussian, 1.4, 0.0, 3e-3),
    _setting(Gaussian, 4.0, 0.0, 1e-3),
    _setting(Gaussian, 16.0, 0.0, 2e-4),
)


def candidates(kernel: Kernel | None, solver: AnySolver, tune_ridge: bool, wide: bool = False) -> list[Pair]:
    """Pairs to try: with a kernel of the user's only the ridge varies, with a solver of theirs the kernel."""
    if kernel is None:
        settings: Iterable[Setting] = WIDE if wide else PORTFOLIO
    else:
        settings = [(kernel, ridge) for ridge in RIDGES]
    pairs = ((one, with_ridge(solver, ridge) if tune_ridge else solver) for one, ridge in settings)
    return list(dict.fromkeys(pairs))


def neighbours(pair: Pair, tune_kernel: bool, tune_ridge: bool) -> list[Pair]:
    """The same pair with half and twice the bandwidth, and with a third of the ridge and three times it."""
    kernel, solver = pair
    nearby: list[Pair] = []
    if tune_kernel:
        nearby += [(scaled(kernel, factor), solver) for factor in (0.5, 2.0)]
    if tune_ridge:
        nearby += [(kernel, with_ridge(solver, factor * ridge_of(solver))) for factor in (1 / 3, 3.0)]
    return nearby


def with_ridge(solver: AnySolver, ridge: float) -> AnySolver:
    """The same solver with another ridge; as it is where it has none."""
    return replace(solver, ridge=ridge) if isinstance(solver, Ridge | Landmarks | Local) else solver


def ridge_of(solver: AnySolver) -> float:
    """Its ridge; 0 where it has none."""
    return solver.ridge if isinstance(solver, Ridge | Landmarks | Local) else 0.0


def scaled(kernel: Kernel, factor: float) -> Kernel:
    """The same kernel with the multiple of its median distance changed by a factor."""
    if isinstance(kernel, SemiLinear):
        return SemiLinear(scaled(kernel.base, factor), kernel.weight)  # type: ignore[arg-type]
    if isinstance(kernel, Gaussian | Laplacian) and isinstance(kernel.bandwidth, MedianDistance):
        rule = kernel.bandwidth
        return replace(kernel, bandwidth=replace(rule, multiple=factor * rule.multiple))
    return kernel
