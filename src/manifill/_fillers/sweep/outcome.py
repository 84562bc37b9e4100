"""What a sweep gives: a fill, what its steps report, and what they leave behind for new rows."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from manifill._arrays import Array
from manifill._fillers.base import Fill, SweepRecord
from manifill._fillers.sweep.order import Block
from manifill.kernels import Kernel
from manifill.solvers import Report


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


@dataclass(frozen=True, eq=False)
class Coefficients:
    """Extensions of every block of columns, as sums of affinities to some rows.

    Attributes
    ----------
    centres : (m, d), these rows, in standard units.
    fits : for every block tuned kernels and coefficients (m, |block|); its columns are the sum over them.
    """

    centres: Array
    fits: tuple[tuple[tuple[Kernel, Array], ...], ...]


@dataclass(frozen=True, eq=False, repr=False)
class SweepFill(Fill):
    """The fill after a full sweep.

    Attributes
    ----------
    blocks : the columns left out together.
    seed : what the method draws with, such as landmarks.
    """

    blocks: tuple[Block, ...] = ()
    seed: int = 0
