"""From affinities and known values to an extension: the paper's spectral way and the fast ridge way.

`Spectral` keeps the eigenvectors with λ ≥ δ·λ_max and weighs each by 1/λ; `Ridge` keeps all and weighs
each by 1/(λ + r). Both factor once, serve many functions, and report what they kept, dropped or added.
"""

from manifill.solvers.base import Factor, Report, Solver
from manifill.solvers.columns import Columns
from manifill.solvers.long import Landmarks, Local, NormalEquations
from manifill.solvers.ridge import Ridge, RidgeFactor
from manifill.solvers.spectral import (
    ConditionNumber,
    Count,
    Cutoff,
    Energy,
    Spectral,
    SpectralFactor,
)

AnySolver = Solver | Landmarks | Local
"""Those that factor a kernel matrix, and those for long tables."""

__all__ = [
    "AnySolver",
    "Columns",
    "ConditionNumber",
    "Count",
    "Cutoff",
    "Energy",
    "Factor",
    "Landmarks",
    "Local",
    "NormalEquations",
    "Report",
    "Ridge",
    "RidgeFactor",
    "Solver",
    "Spectral",
    "SpectralFactor",
]
