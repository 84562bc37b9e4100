"""Estimators and functions with the scikit-learn interface."""

from manifill._estimators.comparing import compare
from manifill._estimators.diffusion_map import DiffusionMap
from manifill._estimators.imputer import IGHImputer
from manifill._estimators.options import Sweep
from manifill._estimators.regressor import GeometricHarmonics
from manifill._estimators.table import TableImputer, impute

__all__ = ["DiffusionMap", "GeometricHarmonics", "IGHImputer", "Sweep", "TableImputer", "compare", "impute"]
