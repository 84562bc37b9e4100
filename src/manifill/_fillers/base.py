"""What a filler is, and what it gives: fills, one after the other, the last of which is its answer."""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

import numpy as np

from manifill._arrays import Array, Table
from manifill._problem import Problem


class Status(Enum):
    """How the run stands; each member's value is its explanation."""

    RUNNING = "the run goes on"
    SETTLED = "the fill settled: the last sweep changed it by no more than tol"
    PLATEAU = "the changes stopped shrinking: further sweeps would only move the fill about"
    SWEEP_LIMIT = "stopped at the sweep limit (given, or chosen on held-out entries)"
    TIME_LIMIT = (
        "the time was up; the fill is that of the last full step, or the column means if there was none"
    )
    DIVERGED = "the fill grew without bound and the last sweep before is kept; set bounds or another kernel"
    INTERRUPTED = "the run was interrupted; the fill is that of the last full sweep"
    BLENDED = "the fills of several methods were combined, by weights found on held-out entries"
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


@dataclass(frozen=True, eq=False, repr=False)
class Fill:
    """A completed table; immutable. What `iter_fit` yields, and what fillers give.

    Attributes
    ----------
    problem : what is filled.
    Z : (n, d), the fill in standard units, of the rows that take part.
    trace : one record per sweep, the start first.
    status : RUNNING, or how the run ended.
    name : of the filler.
    output : what makes of the completed table what an estimator returns, such as a frame; None for itself.
    """

    problem: Problem
    Z: Array
    trace: tuple[SweepRecord, ...] = (SweepRecord(sweep=0),)
    status: Status = Status.RUNNING
    name: str = ""
    output: Callable[[Table], Any] | None = field(default=None, kw_only=True)

    def __str__(self) -> str:
        """A line for people who wait."""
        record = self.trace[-1]
        if not record.sweep:
            return self.name or "start"
        return f"step {record.sweep}, {self.name}: change {record.change:.2g}, {record.seconds:.2g} s"

    @property
    def sweep(self) -> int:
        """How many sweeps were made."""
        return self.trace[-1].sweep

    @property
    def X(self) -> Any:
        """The completed table in the user's units; in `iter_fit` just as `completed_` is."""
        completed = self.problem.restore(self.Z)
        return completed if self.output is None else self.output(completed)


def filled_at_once(problem: Problem, Z: Array, name: str, began: float, start: Array | None = None) -> Fill:
    """The fill of a filler that makes one step, which began at this moment of the monotonic clock."""
    Z = np.where(problem.M, Z, problem.Z)
    moved = (Z - (problem.Z if start is None else start))[problem.M]
    change = float(np.sqrt(np.mean(moved**2))) if moved.size else 0.0
    record = SweepRecord(sweep=1, change=change, seconds=time.monotonic() - began)
    return Fill(problem, Z, (SweepRecord(sweep=0), record), name=name)


@dataclass(frozen=True)
class Run:
    """Where and how long work may be done."""

    device: str | None = None
    """None for numpy, or a device of torch's."""
    n_jobs: int | None = None
    """Threads, as in `Workers`."""
    deadline: float = math.inf
    """When to come to an end, on the monotonic clock."""

    @property
    def time_is_up(self) -> bool:
        return time.monotonic() >= self.deadline


class Extension(Protocol):
    """Fills rows that were not there when the table was filled, each on its own."""

    def complete(self, given: Table, moments: Array | None = None) -> Table:
        """Rows (m, d) in the user's units, filled where they are NaN; and when they were measured."""
        ...


class Filler(Protocol):
    """One way to fill a table. A new method is a class with these members.

    Attributes
    ----------
    name : of the filler, or of its last fill where it gives several.
    after : the name of the fill that it starts from; None where it starts from the problem.
    extends, needs_moments : can it fill new rows, and only those of which the moment is known?
    """

    @property
    def name(self) -> str: ...

    @property
    def after(self) -> str | None: ...

    @property
    def extends(self) -> bool: ...

    @property
    def needs_moments(self) -> bool: ...

    def steps(
        self, problem: Problem, rng: np.random.Generator, run: Run, start: Fill | None
    ) -> Iterator[Fill]:
        """Yield better and better fills. The last of each name is a candidate for the blend.

        Between two steps the run may be ended, by the user or the time limit.
        """
        ...

    def extension(self, fill: Any, run: Run) -> Extension | None:
        """What fills new rows from a fill that this filler made; None where it cannot."""
        ...
