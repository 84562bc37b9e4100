"""Plots of missing entries, imputed values and manifolds.

Most functions draw on the axes they are given and return them. Colour-blind people can distinguish the
colours; markers and line styles differ too, for print in grey.
`with look(): figure, axes = plt.subplots()` gives the axes the style of manifill's own figures.
"""

from manifill.errors import MissingDependency

try:
    import matplotlib  # noqa: F401
except ImportError:
    raise MissingDependency("Drawing needs matplotlib: pip install 'manifill[plots]'.") from None

from manifill.plots.lines import convergence, series
from manifill.plots.maps import error_surface, importances, missingness
from manifill.plots.mosaics import before_after, mosaic, tiled
from manifill.plots.points import diffusion_map, interactive_trails, trails
from manifill.plots.style import LOOK, MISSING_COLOR, STYLES, look

__all__ = [
    "LOOK",
    "MISSING_COLOR",
    "STYLES",
    "before_after",
    "convergence",
    "diffusion_map",
    "error_surface",
    "importances",
    "interactive_trails",
    "look",
    "missingness",
    "mosaic",
    "series",
    "tiled",
    "trails",
]
