"""manifill fills missing values in data, by iterated geometric harmonics.

    import manifill
    completed = manifill.impute(table)

`TableImputer` is the same as a scikit-learn transformer, for tables of any columns, `IGHImputer` for arrays
of numbers; both have intervals and draws, and `pool` pools what is estimated from draws. `GeometricHarmonics`
extends functions from known rows to any rows, `DiffusionMap` finds coordinates on a manifold,
`images.restore` and `video.restore` mend pictures. `kernels`, `solvers`, `layouts`, `tables`, `amputation`,
`metrics` and `datasets` hold what these take as options; `plots` and `report` show results.
"""

from manifill import amputation, datasets, images, kernels, layouts, metrics, solvers, tables, video
from manifill._estimators import (
    DiffusionMap,
    GeometricHarmonics,
    IGHImputer,
    Sweep,
    TableImputer,
    compare,
    impute,
)
from manifill._pooling import pool

__version__ = "0.1.0"

__all__ = [
    "DiffusionMap",
    "GeometricHarmonics",
    "IGHImputer",
    "Sweep",
    "TableImputer",
    "__version__",
    "amputation",
    "compare",
    "datasets",
    "images",
    "impute",
    "kernels",
    "layouts",
    "metrics",
    "pool",
    "solvers",
    "tables",
    "video",
]
