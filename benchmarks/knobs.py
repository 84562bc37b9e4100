"""Knobs that are fixed where something else is measured: what was the default before it was chosen."""

from typing import Any

from manifill import IGHImputer, Sweep
from manifill.kernels import Laplacian, SemiLinear
from manifill.solvers import Ridge

PLAIN = SemiLinear(Laplacian(), weight=0.3)


def plain(schedule: str | int = "auto", **options: Any) -> IGHImputer:
    """A Laplacian of the median distance with a linear part, ridge .1, from random draws; nothing chosen."""
    method = Sweep(schedule=schedule, start="normal")
    fixed = {"kernel": PLAIN, "solver": Ridge(), "method": method, "random_state": 0}
    return IGHImputer(**{**fixed, **options})
