"""Line plots: errors against sweeps, and series over any axis."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from manifill.plots.style import STYLES


def convergence(
    axes: Axes, runs: Mapping[str, npt.ArrayLike], *, log: bool = True, band: bool = True
) -> Axes:
    """Error against sweep: for each name the mean over the runs, and a band from minimum to maximum.

    Parameters
    ----------
    runs : name → errors (runs, sweeps + 1), or (sweeps + 1,) for a single run; the first is the start's.
    log : use a logarithmic axis.
    band : draw the band.
    """
    for (name, errors), style in zip(runs.items(), _styles(len(runs)), strict=True):
        table = np.atleast_2d(np.asarray(errors, dtype=np.float64))
        sweep = np.arange(table.shape[1])
        color, marker, line = style
        axes.plot(sweep, table.mean(axis=0), color=color, marker=marker, ls=line, ms=4, label=name)
        if band and len(table) > 1:
            axes.fill_between(sweep, table.min(axis=0), table.max(axis=0), color=color, alpha=0.15, lw=0)
    log = log and any(np.max(np.asarray(line.get_ydata())) > 0 for line in axes.lines)
    axes.set(xlabel="sweep", ylabel="error", yscale="log" if log else "linear")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if log:
        _plain_ticks(axes)
    if len(runs) > 1:
        axes.legend()
    return axes


def series(axes: Axes, x: npt.ArrayLike, lines: Mapping[str, npt.ArrayLike], **labels: Any) -> Axes:
    """A line with markers for each name, y (n,) over x (n,); `labels` are passed to `axes.set`."""
    for (name, y), (color, marker, line) in zip(lines.items(), _styles(len(lines)), strict=True):
        axes.plot(np.asarray(x), np.asarray(y), color=color, marker=marker, ls=line, ms=5, label=name)
    axes.set(**labels)
    if axes.get_yscale() == "log":
        _plain_ticks(axes)
    if len(lines) > 1:
        axes.legend()
    return axes


def _plain_ticks(axes: Axes) -> None:
    """Ticks at 1, 2 and 5 × every power of ten, with plain numbers as labels."""
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())


def _styles(count: int) -> Sequence[tuple[str, str, Any]]:
    return [STYLES[i % len(STYLES)] for i in range(count)]
