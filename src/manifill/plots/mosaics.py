"""Mosaics of pictures."""

import math
from collections.abc import Mapping, Sequence

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from manifill._arrays import Array
from manifill.errors import InvalidInput
from manifill.plots.style import MISSING_COLOR


def tiled(images: npt.ArrayLike, columns: int | None = None, gap: int = 1) -> Array:
    """Join pictures (n, height, width) into one, `columns` in a row, with infinity in the gaps between them.

    Examples
    --------
    >>> import numpy as np
    >>> tiled(np.zeros((6, 4, 4)), columns=3).shape
    (9, 14)
    """
    stack = np.asarray(images, dtype=np.float64)
    if stack.ndim != 3:
        raise InvalidInput(f"images must be a stack (n, height, width); got {stack.ndim} dimensions.")
    n, height, width = stack.shape
    across = columns or math.ceil(math.sqrt(n * height / width))
    down = math.ceil(n / across)
    canvas = np.full((down * (height + gap), across * (width + gap)), np.inf)
    for i, image in enumerate(stack):
        top, left = (i // across) * (height + gap), (i % across) * (width + gap)
        canvas[top : top + height, left : left + width] = image
    return canvas[: canvas.shape[0] - gap, : canvas.shape[1] - gap]


def mosaic(
    axes: Axes,
    images: npt.ArrayLike,
    *,
    columns: int | None = None,
    limits: tuple[float, float] | None = None,
    missing_color: str = MISSING_COLOR,
    cmap: str = "gray",
    gap: int = 1,
) -> Axes:
    """Draw pictures side by side; missing pixels (NaN) have the colour `missing_color`.

    Parameters
    ----------
    images : (n, height, width)
    columns : pictures per row; default: for a roughly square mosaic.
    limits : darkest and brightest value; default: the smallest and largest value.
    """
    canvas = tiled(images, columns, gap)
    shown = np.ma.masked_where(~np.isfinite(canvas), canvas)
    low, high = limits or (float(shown.min()), float(shown.max()))
    colours = mpl.colormaps[cmap].with_extremes(bad=missing_color)
    between = np.isinf(canvas)
    axes.imshow(shown, cmap=colours, vmin=low, vmax=high, interpolation="nearest")
    background = np.zeros((*canvas.shape, 4))
    background[between] = 1.0  # white gaps
    axes.imshow(background, interpolation="nearest")
    axes.grid(False)
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    return axes


def before_after(
    axes: Sequence[Axes],
    stages: Mapping[str, npt.ArrayLike],
    *,
    columns: int | None = None,
    limits: tuple[float, float] | None = None,
    missing_color: str = MISSING_COLOR,
) -> Sequence[Axes]:
    """Draw a mosaic for each stage, such as original, damaged and filled, with the same limits.

    Parameters
    ----------
    stages : title → pictures (n, height, width), NaN for missing pixels.
    """
    if limits is None:
        stacks = [np.asarray(images, dtype=np.float64) for images in stages.values()]
        limits = min(float(np.nanmin(one)) for one in stacks), max(float(np.nanmax(one)) for one in stacks)
    for one, (title, images) in zip(axes, stages.items(), strict=True):
        mosaic(one, images, columns=columns, limits=limits, missing_color=missing_color)
        one.set_title(title)
    return axes
