"""Iterated geometric harmonics: sweeps over the columns of a table until its fill settles."""

from manifill.sweep.ledger import Ledger
from manifill.sweep.loop import sweeps
from manifill.sweep.newrows import Model
from manifill.sweep.order import FixedOrder, MissingnessOrder, Order, RandomOrder, Schedule
from manifill.sweep.problem import Problem, Scaling
from manifill.sweep.recipe import Member, Recipe
from manifill.sweep.start import GivenStart, LinearStart, MeanStart, NormalStart, Start
from manifill.sweep.stopping import Plateau, RelativeChange, StoppingRule, SweepLimit, TimeLimit
from manifill.sweep.trace import State, Status, SweepRecord, describe

__all__ = [
    "FixedOrder",
    "GivenStart",
    "Ledger",
    "LinearStart",
    "MeanStart",
    "Member",
    "MissingnessOrder",
    "Model",
    "NormalStart",
    "Order",
    "Plateau",
    "Problem",
    "RandomOrder",
    "Recipe",
    "RelativeChange",
    "Scaling",
    "Schedule",
    "Start",
    "State",
    "Status",
    "StoppingRule",
    "SweepLimit",
    "SweepRecord",
    "TimeLimit",
    "describe",
    "sweeps",
]
