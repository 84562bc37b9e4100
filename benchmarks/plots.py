"""Plots of growth, with the exponent of each power law in the legend, and of error against time."""

from collections.abc import Mapping, Sequence
from itertools import pairwise, product
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
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
"""Points (x, y) by name, and a note, written below the title of the panel."""
_SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))
# Distances of a label from its point, in points; the farther ones get a line to the point.
_GAPS = (7, 18, 32, 48)


def tradeoff(panels: Mapping[str, Panel], x: str) -> Figure:
    """Error against time, one panel per size, with the name of each method beside its point.

    Those of manifill are coloured and connected.
    """
    with look():
        figure = Figure(figsize=(5 * len(panels), 4.8), layout="constrained")
        row = figure.subplots(1, len(panels), squeeze=False)[0]
        for axes, (title, (points, note)) in zip(row, panels.items(), strict=True):
            for name, point in points.items():
                axes.plot(*point, "o", color=_color(name), ms=8 if name.startswith(OURS) else 6, zorder=3)
            if mine := _mine(points):
                axes.plot(*zip(*mine, strict=True), "-", color=_color(OURS), lw=1.5)
            axes.set(xscale="log", xlabel=x)
            axes.set_title(f"{title}\n{note}", fontsize=10)
            axes.margins(x=0.25, y=0.14)
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.12g}")
            axes.xaxis.set_minor_formatter(NullFormatter())
        row[0].set_ylabel("RMSE, standardised")
        figure.draw_without_rendering()  # fixes the places of the axes
        figure.set_layout_engine("none")
        for axes, (points, _) in zip(row, panels.values(), strict=True):
            _label(axes, points)
    return figure


def _mine(points: Mapping[str, tuple[float, float]]) -> list[tuple[float, float]]:
    return [point for name, point in points.items() if name.startswith(OURS)]


def _color(name: str) -> str:
    return STYLES[0][0] if name.startswith(OURS) else "0.3"


def _label(axes: Axes, points: Mapping[str, tuple[float, float]]) -> None:
    """Write each name beside its point, at the nearest place where it covers nothing."""
    if not points:
        return
    ends = axes.transData.transform(_mine(points) or list(points.values())[:1])
    line = [a + t * (b - a) for a, b in pairwise(ends) for t in np.linspace(0, 1, 50)]
    dots = axes.transData.transform(list(points.values()))
    taken = [Bbox.from_extents(*(place - 4), *(place + 4)) for place in (*dots, *line)]
    for name, point in points.items():
        found: list[tuple[int, tuple[int, int, int], Bbox]] = []
        for gap, (across, up) in product(_GAPS, _SIDES):
            text = _text(axes, name, point, (across, up, gap))
            box = text.get_window_extent()
            text.remove()
            outside = not all(axes.bbox.contains(*corner) for corner in box.corners())
            overlaps = sum(box.overlaps(other) for other in taken) + 10 * outside
            found.append((overlaps, (across, up, gap), box))
            if not overlaps:
                break
        _, place, box = min(found, key=lambda one: one[0])
        joined = {"arrowprops": {"arrowstyle": "-", "color": "0.6", "lw": 0.7}} if place[2] > _GAPS[0] else {}
        _text(axes, name, point, place, **joined)
        taken.append(box)


def _text(
    axes: Axes, name: str, point: tuple[float, float], place: tuple[int, int, int], **options: Any
) -> Text:
    """A label beside its point. `place`: to the right (1) or left (−1), above (1) or below (−1), distance."""
    across, up, gap = place
    return axes.annotate(
        name,
        point,
        (gap * across, gap * up),
        textcoords="offset points",
        ha=("center", "left", "right")[across],
        va=("center", "bottom", "top")[up],
        fontsize=9,
        weight="bold" if name.startswith(OURS) else "normal",
        color=_color(name),
        **options,
    )
