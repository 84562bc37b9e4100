"""Iterated geometric harmonics: sweeps over the columns of a table until the fill converges."""

from manifill._fillers.sweep.ensemble import Component, Ensemble
from manifill._fillers.sweep.filler import Sweeper
from manifill._fillers.sweep.ledger import Ledger
from manifill._fillers.sweep.loop import sweeps
from manifill._fillers.sweep.newrows import Model
from manifill._fillers.sweep.order import Order, Schedule, fixed_order, missingness_order, random_order
from manifill._fillers.sweep.outcome import SweepFill
from manifill._fillers.sweep.start import GivenStart, LinearStart, Start, mean_start, normal_start
from manifill._fillers.sweep.stopping import Plateau, RelativeChange, StoppingRule, SweepLimit, TimeLimit

__all__ = [
    "Component",
    "Ensemble",
    "GivenStart",
    "Ledger",
    "LinearStart",
    "Model",
    "Order",
    "Plateau",
    "RelativeChange",
    "Schedule",
    "Start",
    "StoppingRule",
    "SweepFill",
    "SweepLimit",
    "Sweeper",
    "TimeLimit",
    "fixed_order",
    "mean_start",
    "missingness_order",
    "normal_start",
    "random_order",
    "sweeps",
]
