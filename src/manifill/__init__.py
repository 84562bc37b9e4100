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

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import a public name when it is first used: the command line can then be interrupted at once."""
        if name not in __all__:
            raise AttributeError(f"module 'manifill' has no attribute {name!r}")
        estimators = (
            "DiffusionMap",
            "GeometricHarmonics",
            "IGHImputer",
            "Sweep",
            "TableImputer",
            "compare",
            "impute",
        )
        places = {"pool": "_pooling", **dict.fromkeys(estimators, "_estimators")}
        module = import_module(f"manifill.{places.get(name, name)}")
        found = globals()[name] = getattr(module, name) if name in places else module
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
