"""Choosing by hidden entries: what is known is hidden, filled, and compared.

Some observed entries are hidden; candidates fill them together with what is missing; those that come
closest are taken, with weights, and their error on the hidden entries is what a user may expect.
"""

from manifill.tuning.accuracy import Accuracy, ColumnAccuracy
from manifill.tuning.audition import Trial
from manifill.tuning.choosing import Choice, choose, rehearse
from manifill.tuning.hidden import Hidden, hidden_sets, hide
from manifill.tuning.plan import Plan
from manifill.tuning.portfolio import PORTFOLIO, candidates
from manifill.tuning.stacking import stack

__all__ = [
    "PORTFOLIO",
    "Accuracy",
    "Choice",
    "ColumnAccuracy",
    "Hidden",
    "Plan",
    "Trial",
    "candidates",
    "choose",
    "hidden_sets",
    "hide",
    "rehearse",
    "stack",
]
