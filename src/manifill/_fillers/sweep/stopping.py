"""Stopping rules, applied to the trace after each full sweep. The first to return a status ends the run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from manifill._checks import require_number
from manifill._fillers.base import Status, SweepRecord

StoppingRule = Callable[[Sequence[SweepRecord]], Status | None]
"""Function from the trace to the final status, or None to continue."""


@dataclass(frozen=True)
class RelativeChange:
    """Stop when a sweep changes the missing entries by at most `tol`.

    The change is the root mean square over all missing entries, in standard deviations of the columns. The
    default follows from docs/notes/defaults.md.
    """

    tol: float = 1e-2

    def __post_init__(self) -> None:
        require_number("tol", self.tol, least=0)

    def __call__(self, trace: Sequence[SweepRecord]) -> Status | None:
        return Status.SETTLED if trace[-1].change <= self.tol else None


@dataclass(frozen=True)
class Plateau:
    """Stop when `patience` sweeps have not lowered the smallest change by a share of at least `share`.

    The defaults are set by hand, not tuned.
    """

    patience: int = 3
    share: float = 0.02

    def __post_init__(self) -> None:
        require_number("patience of Plateau", self.patience, least=1, whole=True)
        require_number("share of Plateau", self.share, least=0, below=1)

    def __call__(self, trace: Sequence[SweepRecord]) -> Status | None:
        changes = [record.change for record in trace[1:]]
        earlier, recent = changes[: -self.patience], changes[-self.patience :]
        if not earlier or min(recent) < (1 - self.share) * min(earlier):
            return None
        return Status.PLATEAU


@dataclass(frozen=True)
class SweepLimit:
    """Stop after `sweeps` sweeps. The default follows from docs/notes/defaults.md."""

    sweeps: int = 6

    def __post_init__(self) -> None:
        require_number("sweeps of SweepLimit", self.sweeps, least=1, whole=True)

    def __call__(self, trace: Sequence[SweepRecord]) -> Status | None:
        return Status.SWEEP_LIMIT if trace[-1].sweep >= self.sweeps else None


@dataclass(frozen=True)
class TimeLimit:
    """Stop after `seconds` of sweeping; a sweep that is running then is discarded."""

    seconds: float

    def __post_init__(self) -> None:
        require_number("seconds of TimeLimit", self.seconds, above=0)

    def __call__(self, trace: Sequence[SweepRecord]) -> Status | None:
        spent = sum(record.seconds for record in trace)
        return Status.TIME_LIMIT if spent >= self.seconds else None
