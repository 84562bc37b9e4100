"""Judging fills on entries that are known and were held out."""

from manifill._validation.errors import Errors
from manifill._validation.evidence import Accuracy, ColumnAccuracy, Evidence, accuracy, shrinkage
from manifill._validation.holdout import (
    HeldOut,
    hide,
    hold_out_like_missing,
    how_much,
    large,
    random_sets,
    root_mean_square,
)
from manifill._validation.stacking import stack

__all__ = [
    "Accuracy",
    "ColumnAccuracy",
    "Errors",
    "Evidence",
    "HeldOut",
    "accuracy",
    "hide",
    "hold_out_like_missing",
    "how_much",
    "large",
    "random_sets",
    "root_mean_square",
    "shrinkage",
    "stack",
]
