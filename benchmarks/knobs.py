"""Fixed settings, for benchmarks that do not measure model selection."""

from typing import Any

from manifill import IGHImputer, Sweep
from manifill.kernels import Laplacian, SemiLinear
from manifill.solvers import Ridge

# The best fixed candidate of the benchmark `defaults` on average (docs/notes/defaults.md).
PLAIN = SemiLinear(Laplacian(), weight=0.3)


def plain(schedule: str | int = "auto", **options: Any) -> IGHImputer:
    """An imputer without model selection: Laplacian with a linear part, ridge 0.1, start at random draws."""
    method = Sweep(schedule=schedule, start="normal")
    fixed = {"kernel": PLAIN, "solver": Ridge(), "method": method, "random_state": 0}
    return IGHImputer(**{**fixed, **options})
