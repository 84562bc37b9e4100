"""The scikit-learn façade: validate, call, store."""

from manifill.estimators.door import impute
from manifill.estimators.imputer import IGHImputer
from manifill.estimators.regressor import GeometricHarmonics

__all__ = ["GeometricHarmonics", "IGHImputer", "impute"]
