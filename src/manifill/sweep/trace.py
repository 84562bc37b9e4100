"""What is remembered of every sweep, and how a run ended."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from manifill.arrays import Array, Table
from manifill.solvers import Report
from manifill.sweep.order import Block
from manifill.sweep.problem import Problem


class Status(Enum):
    """How the run stands; each member's value is its explanation."""

    RUNNING = "the sweeps go on"
    SETTLED = "the fill settled: the last sweep changed it by no more than tol"
    PLATEAU = "the changes stopped shrinking: further sweeps would only move the fill about"
    SWEEP_LIMIT = "all sweeps were done that were allowed, or that hidden entries found worth doing"
    TIME_LIMIT = (
        "the time was up; the fill is that of the last full sweep, or the column means if there was none"
    )
    DIVERGED = "the fill grew without bound and the last sweep before is kept; set bounds or another kernel"
    INTERRUPTED = "the run was interrupted; the fill is that of the last full sweep"
    NOTHING_MISSING = "nothing was missing; the data are unchanged"
    ONLY_EMPTY_ROWS = "only rows without any observed value were missing; they got the column means"

    def __str__(self) -> str:
        return f"{self.name.lower()}: {self.value}"


@dataclass(frozen=True)
class SweepRecord:
    """One sweep in numbers.

    Attributes
    ----------
    sweep : 0 is the start, before any sweep.
    change : root-mean-square change of the missing entries, in standard deviations of their columns.
    seconds : time this sweep took.
    bandwidth : median over the blocks; NaN for kernels without one.
    rank : eigenvectors kept, mean over the factorisations.
    dropped_energy : share of the kernel's energy the solver dropped, mean over the factorisations.
    negative_energy : the largest negative part met.
    ridge : what the solver added to the diagonal, mean over the factorisations.
    jitter : the largest part of it that nobody asked for.
    error : the paper's error in the user's units, where the truth was given; else NaN.
    """

    sweep: int
    change: float = float("nan")
    seconds: float = 0.0
    bandwidth: float = float("nan")
    rank: float = float("nan")
    dropped_energy: float = float("nan")
    negative_energy: float = float("nan")
    ridge: float = float("nan")
    jitter: float = float("nan")
    error: float = float("nan")


def describe(record: SweepRecord) -> str:
    """A sweep in a line, for people who wait."""
    return f"sweep {record.sweep}: change {record.change:.2g}, {record.seconds:.2g} s"


@dataclass
class Findings:
    """What the steps of one sweep report, gathered until the sweep is complete."""

    scales: list[float] = field(default_factory=list)
    reports: list[Report] = field(default_factory=list)

    def add(self, scale: float | None, reports: Sequence[Report]) -> None:
        """What one block found."""
        self.reports.extend(reports)
        if scale is not None:
            self.scales.append(scale)

    def record(self, sweep: int, change: float, seconds: float, error: float) -> SweepRecord:
        def each(name: str) -> Sequence[float]:
            return [float(getattr(report, name)) for report in self.reports] or [float("nan")]

        return SweepRecord(
            sweep=sweep,
            change=change,
            seconds=seconds,
            bandwidth=float(np.median([float(scale) for scale in self.scales]))
            if self.scales
            else float("nan"),
            rank=float(np.mean(each("kept"))),
            dropped_energy=float(np.mean(each("dropped_energy"))),
            negative_energy=float(np.max(each("negative_energy"))),
            ridge=float(np.mean(each("added"))),
            jitter=float(np.max(each("jitter"))),
            error=error,
        )


@dataclass(frozen=True, eq=False, repr=False)
class State:
    """The fill after a full sweep; immutable.

    Attributes
    ----------
    problem : what is being filled.
    Z : (n, d), the fill in standard units, of the rows that take part.
    blocks : the columns left out together.
    trace : one record per sweep, the start first.
    status : RUNNING, or how the run ended.
    seed : what the method draws with, such as landmarks.
    """

    problem: Problem
    Z: Array
    blocks: tuple[Block, ...]
    trace: tuple[SweepRecord, ...]
    status: Status = Status.RUNNING
    seed: int = 0

    def __repr__(self) -> str:
        return f"<State after sweep {self.sweep}, change {self.trace[-1].change:.2g}, {self.status.name}>"

    @property
    def sweep(self) -> int:
        return self.trace[-1].sweep

    @property
    def X(self) -> Table:
        """The completed table in the user's units."""
        return self.problem.restore(self.Z)
