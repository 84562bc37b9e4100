"""Log-log plots of growth, with the exponent of each power law in the legend."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter
from matplotlib.transforms import Bbox

from benchmarks.ours import OURS
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


Panel = tuple[Mapping[str, tuple[float, float]], str]
"""Points (x, y) by name, and a note for the bottom of the panel."""
# Places of a label around its point: direction, and multiples of the gap. The first that is free is taken.
_PLACES = tuple(
    (x, y, gap)
    for gap in (1, 2.5, 4.5)
    for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))
)


def tradeoff(panels: Mapping[str, Panel], x: str) -> Figure:
    """Error against time, one panel per size, with the name of each method beside its point.

    Those of manifill are coloured and connected.
    """
    with look():
        figure = Figure(figsize=(5 * len(panels), 4.6), layout="constrained")
        row = figure.subplots(1, len(panels), squeeze=False)[0]
        for axes, (title, (points, note)) in zip(row, panels.items(), strict=True):
            mine = [point for name, point in points.items() if name.startswith(OURS)]
            axes.plot(*zip(*mine, strict=True), "-", color=STYLES[0][0], lw=1.5)
            for name, point in points.items():
                color = STYLES[0][0] if name.startswith(OURS) else "0.35"
                axes.plot(*point, "o", color=color, ms=8 if name.startswith(OURS) else 6)
            axes.set(xscale="log", title=title, xlabel=x)
            axes.margins(x=0.22, y=0.14)
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.12g}")
            axes.xaxis.set_minor_formatter(NullFormatter())
            axes.text(
                0.99, 0.01, note, transform=axes.transAxes, ha="right", va="bottom", fontsize=8, color="0.35"
            )
        row[0].set_ylabel("RMSE, standardised")
        figure.draw_without_rendering()  # fixes the places of the axes
        figure.set_layout_engine("none")
        for axes, (points, _) in zip(row, panels.values(), strict=True):
            _label(axes, points)
    return figure


def _label(axes: Axes, points: Mapping[str, tuple[float, float]]) -> None:
    """Write each name beside its point, where it covers no other name, point or edge."""
    pixels = axes.transData.transform(list(points.values()))
    taken = [Bbox.from_extents(*(place - 5), *(place + 5)) for place in pixels]
    for name, point in points.items():
        mine = name.startswith(OURS)
        for across, up, gap in _PLACES:
            text = axes.annotate(
                name,
                point,
                (7 * across * gap, 7 * up * gap),
                textcoords="offset points",
                ha=("center", "left", "right")[across],
                va=("center", "bottom", "top")[up],
                fontsize=9,
                weight="bold" if mine else "normal",
                color=STYLES[0][0] if mine else "0.15",
                arrowprops={"arrowstyle": "-", "color": "0.6", "lw": 0.6} if gap > 1 else None,
            )
            box = text.get_window_extent()
            inside = axes.bbox.x0 <= box.x0 and box.x1 <= axes.figure.bbox.x1 and axes.bbox.y0 <= box.y0
            if inside and not any(box.overlaps(other) for other in taken):
                break
            if (across, up, gap) != _PLACES[-1]:
                text.remove()
        taken.append(box)
