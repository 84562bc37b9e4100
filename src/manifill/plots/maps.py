"""Maps of missing entries and of errors over two parameters."""

from collections.abc import Mapping
from typing import Any

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


def importances(axes: Axes, found: Mapping[Any, Mapping[Any, float]]) -> Axes:
    """Map of which column tells about which: a row for each filled column, dark where a predictor counts.

    Parameters
    ----------
    found : `importances_` of an imputer: predictor → filled column → share.
    """
    names = list(found)
    filled = list(next(iter(found.values()), {}))
    shares = np.array([[found[name][target] for name in names] for target in filled], dtype=float)
    axes.imshow(shares.reshape(len(filled), len(names)), cmap="Blues", vmin=0, aspect="auto")
    axes.grid(False)
    axes.set(xlabel="predictor", ylabel="filled column")
    if max(len(names), len(filled)) <= _MAX_NAMED:
        axes.set_xticks(range(len(names)), [str(one) for one in names], rotation=90)
        axes.set_yticks(range(len(filled)), [str(one) for one in filled])
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
