"""Tables and surfaces as maps."""

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.contour import QuadContourSet

from manifill.plots.style import MISSING_COLOR

# Per cent above the best error at which a colour ends.
LEVELS = (0, 1, 2, 5, 10, 20, 50, 100)
# Columns up to which their names are written below them.
_NAMED = 40


def missingness(axes: Axes, X: npt.ArrayLike, columns: list[str] | None = None) -> Axes:
    """Which entries of a table are missing: a row for each row, orange where there is a hole.

    Parameters
    ----------
    X : (n, d) with NaN where missing, or the mask itself.
    columns : names of the columns.
    """
    table = np.asarray(X)
    M = table if table.dtype == bool else np.isnan(table.astype(np.float64))
    colours = ListedColormap(["0.93", MISSING_COLOR])
    axes.imshow(M, aspect="auto", interpolation="nearest", cmap=colours, vmin=0, vmax=1)
    axes.grid(False)
    axes.set(ylabel="row", title=f"{M.mean():.0%} missing")
    if columns is not None and len(columns) <= _NAMED:
        axes.set_xticks(range(len(columns)), columns, rotation=90)
    else:
        axes.set(xlabel="column")
    return axes


def error_surface(
    axes: Axes, ridges: npt.ArrayLike, bandwidths: npt.ArrayLike, errors: npt.ArrayLike
) -> QuadContourSet:
    """Error over ridge and bandwidth, in per cent above the best, which has a star.

    Returns what `figure.colorbar` asks for.

    Parameters
    ----------
    errors : (bandwidths, ridges)
    """
    height = np.asarray(errors, dtype=np.float64)
    excess = 100 * (height / np.nanmin(height) - 1)
    filled = axes.contourf(
        ridges,
        bandwidths,
        np.clip(excess, 0, LEVELS[-1]),
        levels=LEVELS,
        norm=BoundaryNorm(LEVELS, 256),  # an even step of colour for every level
        cmap="cividis_r",
    )
    i, j = np.unravel_index(np.nanargmin(height), height.shape)
    axes.plot(np.asarray(ridges)[j], np.asarray(bandwidths)[i], "*", color="white", mec="black", ms=14)
    axes.grid(False)
    axes.set(xscale="log", xlabel="ridge")
    axes.set_yscale("log", base=2)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    return filled
