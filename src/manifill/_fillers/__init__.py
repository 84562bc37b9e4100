"""Methods that fill a table. Each is a module or package with a class that follows the `Filler` protocol."""

from manifill._fillers.base import Extension, Fill, Filler, Run, Status, SweepRecord

__all__ = ["Extension", "Fill", "Filler", "Run", "Status", "SweepRecord"]
