"""manifill fills the holes in data, by iterated geometric harmonics.

    import manifill
    completed = manifill.impute(table_with_holes)

`IGHImputer` is the same as a scikit-learn transformer, `GeometricHarmonics` extends functions from known
rows to any rows, `DiffusionMap` finds coordinates on a manifold, and `kernels`, `solvers`, `sweep`, `tuning`,
`amputation`, `metrics`, `datasets` and `plots` hold the parts.
"""

from manifill import amputation, datasets, kernels, metrics, solvers, sweep, tuning
from manifill.estimators import DiffusionMap, GeometricHarmonics, IGHImputer, impute

__version__ = "0.1.0"

__all__ = [
    "DiffusionMap",
    "GeometricHarmonics",
    "IGHImputer",
    "__version__",
    "amputation",
    "datasets",
    "impute",
    "kernels",
    "metrics",
    "solvers",
    "sweep",
    "tuning",
]
