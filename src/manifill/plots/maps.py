"""Maps of missing entries and of errors over two parameters."""

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.contour import QuadContourSet

from manifill.plots.style import MISSING_COLOR

# Boundaries of the colours, in per cent above the lowest error. Set by hand.
LEVELS = (0, 1, 2, 5, 10, 20, 50, 100)
# Largest number of columns whose names are shown below the map.
_MAX_NAMED = 40


def missingness(axes: Axes, X: npt.ArrayLike, columns: list[str] | None = None) -> Axes:
    """Map of the missing entries of a table, one line per row; missing entries are orange.

    Parameters
    ----------
    X : (n, d), a table with NaN for missing entries, or a mask that is True there.
    columns : names of the columns.
    """
    table = np.asarray(X)
    M = table if table.dtype == bool else np.isnan(table.astype(np.float64))
    colours = ListedColormap(["0.93", MISSING_COLOR])
    axes.imshow(M, aspect="auto", interpolation="nearest", cmap=colours, vmin=0, vmax=1)
    axes.grid(False)
    axes.set(ylabel="row", title=f"{M.mean():.0%} missing")
    if columns is not None and len(columns) <= _MAX_NAMED:
        axes.set_xticks(range(len(columns)), columns, rotation=90)
    else:
        axes.set(xlabel="column")
    return axes


def error_surface(
    axes: Axes, ridges: npt.ArrayLike, bandwidths: npt.ArrayLike, errors: npt.ArrayLike
) -> QuadContourSet:
    """Error over ridge and bandwidth, in per cent above the lowest error, which is marked by a star.

    Returns the contour set, for `figure.colorbar`.

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
        norm=BoundaryNorm(LEVELS, 256),  # equal colour steps for unequal levels
        cmap="cividis_r",
    )
    i, j = np.unravel_index(np.nanargmin(height), height.shape)
    axes.plot(np.asarray(ridges)[j], np.asarray(bandwidths)[i], "*", color="white", mec="black", ms=14)
    axes.grid(False)
    axes.set(xscale="log", xlabel="ridge")
    axes.set_yscale("log", base=2)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    return filled
