"""manifill imputes missing values by iterated geometric harmonics.

    import manifill
    completed = manifill.impute(table)

`TableImputer` does the same as a scikit-learn transformer, for tables with columns of any type; `IGHImputer`
is for numeric arrays. Both provide intervals and multiple imputations (`draws`). `pool` combines estimates
from multiple imputations by Rubin's rules. `GeometricHarmonics` extends functions from known rows to any
rows, `DiffusionMap` computes coordinates on a manifold, `images.restore` and `video.restore` restore damaged
images and videos. `kernels`, `solvers`, `layouts` and `tables` contain their options, `amputation`, `metrics`
and `datasets` help to evaluate them, and `plots` and `report` show results.
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
