"""Ways to fill a table: a module or package each, all with the members of `Filler`."""

from manifill._fillers.base import Extension, Fill, Filler, Run, Status, SweepRecord

__all__ = ["Extension", "Fill", "Filler", "Run", "Status", "SweepRecord"]
