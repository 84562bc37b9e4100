"""Results of a sweep: the fill, solver reports, and coefficients for new rows."""

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
    """Bandwidths and solver reports of one sweep."""

    scales: list[float] = field(default_factory=list)
    reports: list[Report] = field(default_factory=list)

    def add(self, scale: float | None, reports: Sequence[Report]) -> None:
        """Add the bandwidth and the reports of one block."""
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
    """The extension of every block of columns, Σ K(·, centres) C over the components.

    Attributes
    ----------
    centres : (m, d), rows in standardised units.
    fits : for every block, a tuned kernel and coefficients C (m, |block|) for each component.
    """

    centres: Array
    fits: tuple[tuple[tuple[Kernel, Array], ...], ...]


@dataclass(frozen=True, eq=False, repr=False)
class SweepFill(Fill):
    """The fill after a full sweep.

    Attributes
    ----------
    blocks : blocks of columns left out together.
    seed : seed of the sweep method's random draws, such as landmarks.
    """

    blocks: tuple[Block, ...] = ()
    seed: int = 0
