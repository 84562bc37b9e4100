"""Validation: observed entries are held out, filled, and compared with their true values."""

from manifill._stacking import stack
from manifill._validation.errors import Errors
from manifill._validation.evidence import (
    Accuracy,
    ColumnAccuracy,
    Evidence,
    accuracy,
    has_others,
    shrinkage,
)
from manifill._validation.holdout import (
    HeldOut,
    hold_out,
    hold_out_like_missing,
    holdout_size,
    is_large,
    odds_of,
    random_sets,
    root_mean_square,
)
from manifill._validation.medians import Medians

__all__ = [
    "Accuracy",
    "ColumnAccuracy",
    "Errors",
    "Evidence",
    "HeldOut",
    "Medians",
    "accuracy",
    "has_others",
    "hold_out",
    "hold_out_like_missing",
    "holdout_size",
    "is_large",
    "odds_of",
    "random_sets",
    "root_mean_square",
    "shrinkage",
    "stack",
]
