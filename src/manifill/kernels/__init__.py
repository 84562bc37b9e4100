"""Affinities between rows.

| kernel | k(x, y) | positive semi-definite | statistics, each a sum over columns |
|---|---|---|---|
| `Gaussian` | exp(−½‖x − y‖₂²/σ²) | yes | squared L2 distance |
| `Laplacian` | exp(−‖x − y‖₁/σ) | yes | L1 distance |
| `SemiLinear` | `Gaussian` or `Laplacian` + w⟨x, y⟩/d | yes | distance and inner product |
| `SelfTuning` | exp(−‖x − y‖₂²/(σₓσᵧ)) | no | squared L2 distance |
| `Polynomial` | (⟨x, y⟩/d + c)ᵖ | yes | inner product |
| `Cosine` | ⟨x, y⟩/(‖x‖‖y‖) | yes | inner product |
| `Custom` | a function | given as `psd` | none |
| `Precomputed` | a matrix | unknown | none |
"""

from manifill.kernels.bandwidth import (
    Bandwidth,
    Fixed,
    LogSumSlope,
    MedianDistance,
    NeighborDistance,
)
from manifill.kernels.base import Kernel
from manifill.kernels.custom import Custom, Precomputed
from manifill.kernels.linear import Cosine, Polynomial, SemiLinear
from manifill.kernels.pairs import (
    ABSOLUTE_DISTANCE,
    INNER_PRODUCT,
    SQUARED_DISTANCE,
    Pairs,
    PairStatistic,
)
from manifill.kernels.radial import Gaussian, Laplacian, SelfTuning

__all__ = [
    "ABSOLUTE_DISTANCE",
    "INNER_PRODUCT",
    "SQUARED_DISTANCE",
    "Bandwidth",
    "Cosine",
    "Custom",
    "Fixed",
    "Gaussian",
    "Kernel",
    "Laplacian",
    "LogSumSlope",
    "MedianDistance",
    "NeighborDistance",
    "PairStatistic",
    "Pairs",
    "Polynomial",
    "Precomputed",
    "SelfTuning",
    "SemiLinear",
]
