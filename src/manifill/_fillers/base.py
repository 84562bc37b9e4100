"""The `Filler` protocol, and the `Fill` objects that a filler yields. Its last fill is its result."""

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
    """State of a run; the value of each member explains it."""

    RUNNING = "still running"
    SETTLED = "the fill settled: the last sweep changed it by no more than tol"
    PLATEAU = "the change per sweep stopped shrinking, so further sweeps would not converge"
    SWEEP_LIMIT = "stopped at the sweep limit (given, or chosen on held-out entries)"
    TIME_LIMIT = (
        "the time limit was reached; the fill is that of the last full step, or else the column means"
    )
    DIVERGED = "the fill diverged, so the sweep before is kept; set bounds or use another kernel"
    INTERRUPTED = "the run was interrupted; the fill is that of the last full sweep"
    BLENDED = "the fills of several methods were combined, with weights found on held-out entries"
    NOTHING_MISSING = "nothing was missing; the data are unchanged"
    ONLY_EMPTY_ROWS = "only rows without any observed value had missing entries; they got the column means"

    def __str__(self) -> str:
        return f"{self.name.lower()}: {self.value}"


@dataclass(frozen=True)
class SweepRecord:
    """Statistics of one sweep.

    Attributes
    ----------
    sweep : number of the sweep; 0 is the start, before the first sweep.
    change : root-mean-square change of the missing entries, in standard deviations of their columns.
    seconds : duration of this sweep.
    bandwidth : median bandwidth over the blocks; NaN for kernels without one.
    rank : number of eigenvectors kept, mean over the factorisations.
    dropped_energy : share of Σ|λ| that the solver dropped, mean over the factorisations.
    negative_energy : share of Σ|λ| in negative eigenvalues, maximum over the factorisations.
    ridge : value that the solver added to the diagonal, mean over the factorisations.
    jitter : part of `ridge` added only to make Cholesky succeed, maximum over the factorisations.
    error : the paper's error in the user's units, if the truth was given; else NaN.
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
    """A completed table; immutable. Fillers and `iter_fit` yield it.

    Attributes
    ----------
    problem : Problem, the table with its missing entries.
    Z : (n, d), the fill in standardised units, for the rows `problem.rows`.
    trace : one record per sweep, the start first.
    status : RUNNING, or how the run ended.
    name : name of the filler.
    output : function from the completed table to what an estimator returns, such as a data frame; None
        returns the table itself.
    """

    problem: Problem
    Z: Array
    trace: tuple[SweepRecord, ...] = (SweepRecord(sweep=0),)
    status: Status = Status.RUNNING
    name: str = ""
    output: Callable[[Table], Any] | None = field(default=None, kw_only=True)

    def __str__(self) -> str:
        """One line for progress output."""
        record = self.trace[-1]
        if not record.sweep:
            return self.name or "start"
        return f"step {record.sweep}, {self.name}: change {record.change:.2g}, {record.seconds:.2g} s"

    @property
    def sweep(self) -> int:
        """Number of sweeps done."""
        return self.trace[-1].sweep

    @property
    def X(self) -> Any:
        """The completed table in the user's units; from `iter_fit`, of the same type as `completed_`."""
        completed = self.problem.restore(self.Z)
        return completed if self.output is None else self.output(completed)


def filled_at_once(problem: Problem, Z: Array, name: str, began: float, start: Array | None = None) -> Fill:
    """The `Fill` of a filler that makes one step.

    Known entries of `Z` (n, d) are replaced by those of the problem. The recorded change is relative to
    `start` (n, d), by default the column means. `began` is the start of the step on the monotonic clock.
    """
    Z = np.where(problem.M, Z, problem.Z)
    moved = (Z - (problem.Z if start is None else start))[problem.M]
    change = float(np.sqrt(np.mean(moved**2))) if moved.size else 0.0
    record = SweepRecord(sweep=1, change=change, seconds=time.monotonic() - began)
    return Fill(problem, Z, (SweepRecord(sweep=0), record), name=name)


@dataclass(frozen=True)
class Run:
    """The device, the number of threads and the deadline of a run."""

    device: str | None = None
    """None for numpy, or the name of a torch device."""
    n_jobs: int | None = None
    """Number of threads, as in `Workers`."""
    deadline: float = math.inf
    """Latest end, on the monotonic clock."""

    @property
    def time_is_up(self) -> bool:
        return time.monotonic() >= self.deadline


class Extension(Protocol):
    """Fills new rows from a completed table, each row independently of the others."""

    def complete(self, given: Table, moments: Array | None = None) -> Table:
        """Rows (m, d) in the user's units, filled where they are NaN.

        `moments` (m,) are the times of the rows; NaN where the time is unknown.
        """
        ...


class Filler(Protocol):
    """A method that fills a table. A new method is a class with these attributes and methods.

    Attributes
    ----------
    name : name of the filler, or of its last fill if it yields fills of several names.
    after : name of the fill that it starts from; None if it starts from the problem alone.
    extends : True if it can fill new rows.
    needs_moments : True if it needs the times of new rows to fill them.
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
        """Yield successively better fills. The last fill of each name is a candidate for the blend.

        The caller may stop between two steps, for example at the time limit.
        """
        ...

    def extension(self, fill: Any, run: Run) -> Extension | None:
        """The extension of one of this filler's fills to new rows; None if there is none."""
        ...
