"""Selection: candidate kernels and fillers, how they are tried, and their weights."""

from manifill._selection.blending import Blend, fillers_for, needed, validation_rows, weigh
from manifill._selection.by_column import MAX_COLUMNS, fits_by_column, left_out_evidence
from manifill._selection.tuning import Candidates, Tuning, tune, validate

__all__ = [
    "MAX_COLUMNS",
    "Blend",
    "Candidates",
    "Tuning",
    "fillers_for",
    "fits_by_column",
    "left_out_evidence",
    "needed",
    "tune",
    "validate",
    "validation_rows",
    "weigh",
]
