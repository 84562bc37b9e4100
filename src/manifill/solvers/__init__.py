"""From affinities and known values to an extension: the paper's spectral way and the fast ridge way.

`Spectral` keeps the eigenvectors with λ ≥ δ·λ_max and weighs each by 1/λ; `Ridge` keeps all and weighs
each by 1/(λ + r). Both factor once, serve many functions, and report what they kept, dropped or added.
"""

from manifill.solvers.base import Factor, Report, Solver
from manifill.solvers.ridge import Ridge, RidgeFactor
from manifill.solvers.spectral import (
    ConditionNumber,
    Count,
    Cutoff,
    Energy,
    Spectral,
    SpectralFactor,
)

__all__ = [
    "ConditionNumber",
    "Count",
    "Cutoff",
    "Energy",
    "Factor",
    "Report",
    "Ridge",
    "RidgeFactor",
    "Solver",
    "Spectral",
    "SpectralFactor",
]
