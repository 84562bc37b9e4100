"""Log-log plots of growth, with the exponent of each power law in the legend."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from manifill.plots import STYLES, look

Series = Sequence[tuple[float, float]]


def slope(points: Series) -> float:
    """Exponent p of y ∝ xᵖ, by least squares of logarithms; NaN for fewer than two points."""
    if len(points) < 2:
        return float("nan")
    x, y = np.log(np.array(points)).T
    return float(np.polyfit(x, y, 1)[0])


def growth(title: str, x: str, panels: Mapping[str, Mapping[str, Series]]) -> Figure:
    """One panel per quantity y, with one line per method."""
    with look():
        figure = Figure(figsize=(5.2 * len(panels), 4.8), layout="constrained")
        figure.suptitle(title)
        row = figure.subplots(1, len(panels), squeeze=False)[0]
        for axes, (y, lines) in zip(row, panels.items(), strict=True):
            _lines(axes, lines)
            axes.set(xscale="log", yscale="log", xlabel=x, ylabel=y)
            for axis in (axes.xaxis, axes.yaxis):
                axis.set_major_formatter(lambda value, _: f"{value:,.12g}")
                axis.set_minor_formatter(NullFormatter())
            axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)  # below the axes
    return figure


def _lines(axes: Axes, lines: Mapping[str, Series]) -> None:
    for (name, points), (color, marker, line) in zip(lines.items(), STYLES, strict=False):
        if not points:
            continue
        exponent = f", slope {slope(points):.2f}" if len(points) > 1 else ""
        axes.plot(*zip(*points, strict=True), color=color, marker=marker, ls=line, label=name + exponent)
