"""The scikit-learn façade: validate, call, store."""

from manifill.estimators.comparing import compare
from manifill.estimators.diffusion_map import DiffusionMap
from manifill.estimators.door import impute
from manifill.estimators.imputer import IGHImputer
from manifill.estimators.regressor import GeometricHarmonics
from manifill.estimators.table import TableImputer

__all__ = ["DiffusionMap", "GeometricHarmonics", "IGHImputer", "TableImputer", "compare", "impute"]
