"""Knobs that are fixed where something else is measured: what was the default before it was chosen."""

from typing import Any

from manifill import IGHImputer
from manifill.kernels import Laplacian, SemiLinear
from manifill.solvers import Ridge

PLAIN = SemiLinear(Laplacian(), weight=0.3)


def plain(**options: Any) -> IGHImputer:
    """A Laplacian of the median distance with a linear part, ridge .1, from random draws; nothing chosen."""
    fixed = {"kernel": PLAIN, "solver": Ridge(), "start": "normal", "random_state": 0}
    return IGHImputer(**{**fixed, **options})
