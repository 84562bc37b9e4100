"""Point clouds in three dimensions, and paths of some of their points."""

from typing import Any

import numpy as np
import numpy.typing as npt

from manifill._arrays import Array
from manifill.errors import MissingDependency
from manifill.plots.style import STYLES

_LABELS = ("start", "final", "truth")
_SYMBOLS = ("diamond", "circle", "square")  # plotly has no 3D star


def diffusion_map(axes: Any, Y: npt.ArrayLike, color: npt.ArrayLike | None = None, **options: Any) -> Any:
    """Draw points (n, 3) on three-dimensional axes, coloured by `color` (n,)."""
    x, y, z = np.asarray(Y, dtype=np.float64)[:, :3].T
    axes.scatter(x, y, z, **{"c": color, "cmap": "cividis", "s": 12, "lw": 0, "depthshade": False, **options})
    axes.set(xticklabels=[], yticklabels=[], zticklabels=[])
    axes.set(xlabel="ψ₁", ylabel="ψ₂", zlabel="ψ₃")
    axes.set_box_aspect(None, zoom=1.15)
    for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
        axis.labelpad = -12
        axis.set_pane_color((1, 1, 1, 0))
    return axes


def trails(
    axes: Any,
    Y: npt.ArrayLike,
    start: npt.ArrayLike,
    final: npt.ArrayLike,
    truth: npt.ArrayLike,
    color: npt.ArrayLike | None = None,
) -> Any:
    """Draw a cloud (n, 3), and lines of some points (m, 3) from start ★ to final position ● and truth ■."""
    diffusion_map(axes, Y, color, alpha=0.8)
    for i, (a, b, c) in enumerate(zip(_rows(start), _rows(final), _rows(truth), strict=True)):
        colour = STYLES[i % len(STYLES)][0]
        for end, line in ((b, "-"), (c, ":")):
            axes.plot(*np.column_stack([a, end]), color=colour, ls=line, lw=1.2)
        for place, marker, size in ((a, "*", 90), (b, "o", 34), (c, "s", 24)):
            axes.scatter(*place, color=colour, marker=marker, s=size, ec="black", lw=0.6, depthshade=False)
    return axes


def interactive_trails(
    Y: npt.ArrayLike,
    start: npt.ArrayLike,
    final: npt.ArrayLike,
    truth: npt.ArrayLike,
    color: npt.ArrayLike | None = None,
    title: str = "",
) -> Any:
    """The plot of `trails` as a plotly figure that can be rotated; `.write_html(path)` writes a page."""
    try:
        import plotly.graph_objects as go
    except ImportError:
        raise MissingDependency("Interactive figures need plotly: pip install 'manifill[plots]'.") from None
    x, y, z = np.asarray(Y, dtype=np.float64)[:, :3].T
    values = None if color is None else np.asarray(color, dtype=np.float64)
    cloud = {"size": 3, "color": values, "colorscale": "Cividis", "opacity": 0.6}
    drawn = [go.Scatter3d(x=x, y=y, z=z, mode="markers", marker=cloud, name="all points", hoverinfo="skip")]
    for i, places in enumerate(zip(_rows(start), _rows(final), _rows(truth), strict=True)):
        colour = STYLES[i % len(STYLES)][0]
        for end, dash in ((places[1], "solid"), (places[2], "dot")):
            px, py, pz = np.column_stack([places[0], end])
            line = {"color": colour, "width": 4, "dash": dash}
            drawn.append(go.Scatter3d(x=px, y=py, z=pz, mode="lines", line=line, showlegend=False))
        for place, label, symbol in zip(places, _LABELS, _SYMBOLS, strict=True):
            marker = {"size": 6, "color": colour, "symbol": symbol, "line": {"color": "black", "width": 1}}
            drawn.append(
                go.Scatter3d(
                    x=[place[0]],
                    y=[place[1]],
                    z=[place[2]],
                    mode="markers",
                    marker=marker,
                    name=label,
                    hovertext=f"{label} of point {i + 1}",
                    hoverinfo="text",
                    legendgroup=label,
                    showlegend=i == 0,
                )
            )
    axis = {"showticklabels": False, "backgroundcolor": "white", "gridcolor": "#ddd"}
    scene = {f"{name}axis": {**axis, "title": f"ψ{i}"} for i, name in enumerate("xyz", start=1)}
    return go.Figure(drawn).update_layout(
        title=title,
        scene=scene,
        template="plotly_white",
        legend={"orientation": "h", "y": 0.0},
        margin={"l": 0, "r": 0, "b": 0},
    )


def _rows(points: npt.ArrayLike) -> Array:
    return np.atleast_2d(np.asarray(points, dtype=np.float64))[:, :3]
