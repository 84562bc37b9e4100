"""Iterated geometric harmonics: sweeps over the columns of a table until its fill settles."""

from manifill._fillers.sweep.ensemble import Component, Ensemble
from manifill._fillers.sweep.filler import Sweeper
from manifill._fillers.sweep.ledger import Ledger
from manifill._fillers.sweep.loop import sweeps
from manifill._fillers.sweep.newrows import Model
from manifill._fillers.sweep.order import FixedOrder, MissingnessOrder, Order, RandomOrder, Schedule
from manifill._fillers.sweep.outcome import SweepFill
from manifill._fillers.sweep.start import GivenStart, LinearStart, MeanStart, NormalStart, Start
from manifill._fillers.sweep.stopping import Plateau, RelativeChange, StoppingRule, SweepLimit, TimeLimit

__all__ = [
    "Component",
    "Ensemble",
    "FixedOrder",
    "GivenStart",
    "Ledger",
    "LinearStart",
    "MeanStart",
    "MissingnessOrder",
    "Model",
    "NormalStart",
    "Order",
    "Plateau",
    "RandomOrder",
    "RelativeChange",
    "Schedule",
    "Start",
    "StoppingRule",
    "SweepFill",
    "SweepLimit",
    "Sweeper",
    "TimeLimit",
    "sweeps",
]
