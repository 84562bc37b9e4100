"""When to stop. A rule reads the trace of full sweeps; the first that answers ends the run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from manifill._checks import require_number
from manifill._fillers.base import Status, SweepRecord

StoppingRule = Callable[[Sequence[SweepRecord]], Status | None]
"""trace → a status to stop with, or None to go on."""


@dataclass(frozen=True)
class RelativeChange:
    """Settled: a sweep moved the missing entries by at most `tol`, relative to the spread of their columns.

    The measure is the root mean square over all missing entries, in standard deviations.
    """

    tol: float = 1e-2

    def __post_init__(self) -> None:
        require_number("tol", self.tol, least=0)

    def __call__(self, trace: Sequence[SweepRecord]) -> Status | None:
        return Status.SETTLED if trace[-1].change <= self.tol else None


@dataclass(frozen=True)
class Plateau:
    """The change has not shrunk by at least `share` of its best for `patience` sweeps."""

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
    """At most `sweeps` sweeps."""

    sweeps: int = 6

    def __post_init__(self) -> None:
        require_number("sweeps of SweepLimit", self.sweeps, least=1, whole=True)

    def __call__(self, trace: Sequence[SweepRecord]) -> Status | None:
        return Status.SWEEP_LIMIT if trace[-1].sweep >= self.sweeps else None


@dataclass(frozen=True)
class TimeLimit:
    """At most `seconds` of sweeping; a sweep under way when they are over is given up."""

    seconds: float

    def __post_init__(self) -> None:
        require_number("seconds of TimeLimit", self.seconds, above=0)

    def __call__(self, trace: Sequence[SweepRecord]) -> Status | None:
        spent = sum(record.seconds for record in trace)
        return Status.TIME_LIMIT if spent >= self.seconds else None
