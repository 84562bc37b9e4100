"""Solvers: compute the extension of a function from affinities and known values.

`Spectral`, the paper's solver, keeps the eigenvectors with λ ≥ δ·λ_max and weights each by 1/λ. `Ridge`, the
fast solver, keeps all and weights each by 1/(λ + r). Both factor a kernel matrix once for many functions, and
report the eigenvectors kept and dropped and the ridge added. `Landmarks` and `Local` are for long tables.
"""

from manifill.solvers.base import Factor, Report, Solver
from manifill.solvers.columns import Columns
from manifill.solvers.left_out import CentresFit, ExactFit, LeftOut
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
"""Any solver: one that factors the kernel matrix, or one for long tables."""

__all__ = [
    "AnySolver",
    "CentresFit",
    "Columns",
    "ConditionNumber",
    "Count",
    "Cutoff",
    "Energy",
    "ExactFit",
    "Factor",
    "Landmarks",
    "LeftOut",
    "Local",
    "NormalEquations",
    "Report",
    "Ridge",
    "RidgeFactor",
    "Solver",
    "Spectral",
    "SpectralFactor",
]
