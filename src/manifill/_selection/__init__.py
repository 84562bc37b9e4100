"""Selection: candidate kernels and fillers, how they are tried, and their weights."""

from manifill._selection.blending import Blend, fillers_for, needed, validation_rows, weigh
from manifill._selection.tuning import Candidates, Tuning, tune, validate

__all__ = [
    "Blend",
    "Candidates",
    "Tuning",
    "fillers_for",
    "needed",
    "tune",
    "validate",
    "validation_rows",
    "weigh",
]
