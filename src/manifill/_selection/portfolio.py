"""Candidate pairs of kernel and ridge penalty."""

from collections.abc import Iterable
from dataclasses import replace

from manifill.kernels import Gaussian, Kernel, Laplacian, MedianDistance, SemiLinear
from manifill.solvers import AnySolver, Landmarks, Local, Ridge

Setting = tuple[Kernel, float]
"""A kernel and a ridge penalty."""
Pair = tuple[Kernel, AnySolver]

# Ridge penalties to try with a kernel that the user gives: from interpolation to strong smoothing.
# Set by hand, not tuned.
RIDGES = (1e-4, 1e-3, 1e-2, 0.1, 1.0)

# Rows sampled for the median distance, which they give to a few percent. Set by hand, not tuned.
_SAMPLE = 150


def _setting(base: type[Laplacian] | type[Gaussian], multiple: float, weight: float, ridge: float) -> Setting:
    radial = base(MedianDistance(multiple, sample=_SAMPLE))
    return (SemiLinear(radial, weight) if weight else radial), ridge


# Kernel, bandwidth in median distances, weight of the linear kernel, ridge. The portfolio was assembled on
# the sixteen tables of docs/benchmarks/accuracy.md, with other masks. The core candidates together do well on
# most tables: if the best candidate is one of these, its neighbours are not tried (docs/notes/choosing.md).
CORE: tuple[Setting, ...] = (
    _setting(Laplacian, 0.5, 0.3, 0.03),
    _setting(Laplacian, 0.25, 0.3, 0.1),
    _setting(Laplacian, 2.0, 1.0, 1.0),
    _setting(Laplacian, 4.0, 0.3, 0.1),
    _setting(Gaussian, 0.7, 1.0, 1.0),
    _setting(Gaussian, 1.4, 0.3, 0.01),
)
# Candidates for other data: images and smooth manifolds need wide Gaussian kernels.
OTHERS: tuple[Setting, ...] = (
    _setting(Laplacian, 0.5, 0.0, 1.0),
    _setting(Laplacian, 4.0, 0.3, 0.01),
    _setting(Gaussian, 0.35, 0.3, 0.1),
    _setting(Gaussian, 1.0, 0.0, 0.01),
    _setting(Gaussian, 2.0, 0.0, 0.01),
    _setting(Gaussian, 4.0, 0.0, 1e-3),
)
PORTFOLIO = CORE + OTHERS
# Candidates for wide tables: L1 distances are expensive there, and narrow kernels with large ridges were
# never the best in development. Set by hand.
WIDE: tuple[Setting, ...] = (
    _setting(Gaussian, 2.0, 0.0, 0.01),
    _setting(Laplacian, 8.0, 0.3, 1e-3),
    _setting(Gaussian, 1.0, 0.0, 0.01),
    _setting(Gaussian, 1.4, 0.0, 3e-3),
    _setting(Gaussian, 4.0, 0.0, 1e-3),
    _setting(Gaussian, 16.0, 0.0, 2e-4),
)


def candidates(kernel: Kernel | None, solver: AnySolver, tune_ridge: bool, wide: bool = False) -> list[Pair]:
    """Pairs to try. Only the ridge varies if the user gave a kernel, only the kernel without `tune_ridge`."""
    if kernel is None:
        settings: Iterable[Setting] = WIDE if wide else PORTFOLIO
    else:
        settings = [(kernel, ridge) for ridge in RIDGES]
    pairs = ((one, with_ridge(solver, ridge) if tune_ridge else solver) for one, ridge in settings)
    return list(dict.fromkeys(pairs))


def neighbours(pair: Pair, tune_kernel: bool, tune_ridge: bool) -> list[Pair]:
    """The pair with half and twice the bandwidth, and with a third and three times the ridge."""
    kernel, solver = pair
    nearby: list[Pair] = []
    if tune_kernel:
        nearby += [(scaled(kernel, factor), solver) for factor in (0.5, 2.0)]
    if tune_ridge:
        nearby += [(kernel, with_ridge(solver, factor * ridge_of(solver))) for factor in (1 / 3, 3.0)]
    return nearby


def with_ridge(solver: AnySolver, ridge: float) -> AnySolver:
    """The solver with another ridge; unchanged if it has none."""
    return replace(solver, ridge=ridge) if isinstance(solver, Ridge | Landmarks | Local) else solver


def ridge_of(solver: AnySolver) -> float:
    """The ridge of a solver; 0 if it has none."""
    return solver.ridge if isinstance(solver, Ridge | Landmarks | Local) else 0.0


def scaled(kernel: Kernel, factor: float) -> Kernel:
    """The kernel with its bandwidth multiplied by a factor; unchanged if that is no median distance."""
    if isinstance(kernel, SemiLinear):
        return SemiLinear(scaled(kernel.base, factor), kernel.weight)  # type: ignore[arg-type]
    if isinstance(kernel, Gaussian | Laplacian) and isinstance(kernel.bandwidth, MedianDistance):
        rule = kernel.bandwidth
        return replace(kernel, bandwidth=replace(rule, multiple=factor * rule.multiple))
    return kernel
