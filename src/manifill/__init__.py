"""manifill fills the holes in data, by iterated geometric harmonics.

    import manifill
    completed = manifill.impute(table_with_holes)

`TableImputer` is the same as a scikit-learn transformer, for frames of any columns, `IGHImputer` for arrays
of numbers; both have intervals and draws, and `pool` pools what is estimated from draws. `GeometricHarmonics`
extends functions from known rows to any rows, `DiffusionMap` finds coordinates on a manifold,
`images.restore` and `video.restore` mend pictures, and `kernels`, `solvers`, `sweep`, `tuning`, `geometry`,
`tables`, `amputation`, `metrics`, `datasets` and `plots` hold the parts.
"""

from manifill import (
    amputation,
    datasets,
    geometry,
    images,
    kernels,
    metrics,
    solvers,
    sweep,
    tables,
    tuning,
    video,
)
from manifill.estimators import (
    DiffusionMap,
    GeometricHarmonics,
    IGHImputer,
    TableImputer,
    compare,
    impute,
)
from manifill.pooling import pool

__version__ = "0.1.0"

__all__ = [
    "DiffusionMap",
    "GeometricHarmonics",
    "IGHImputer",
    "TableImputer",
    "__version__",
    "amputation",
    "compare",
    "datasets",
    "geometry",
    "images",
    "impute",
    "kernels",
    "metrics",
    "pool",
    "solvers",
    "sweep",
    "tables",
    "tuning",
    "video",
]
