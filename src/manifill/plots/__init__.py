"""Pictures of holes, fills and manifolds: every function draws on the axes it is given and returns them.

Colours are told apart by colour-blind people, and markers and line styles in grey print.
`with look(): figure, axes = plt.subplots()` gives the axes the look of manifill's own figures.
"""

from manifill.errors import MissingDependency

try:
    import matplotlib  # noqa: F401
except ImportError:
    raise MissingDependency("Drawing needs matplotlib: pip install 'manifill[plots]'.") from None

from manifill.plots.lines import convergence, series
from manifill.plots.maps import error_surface, missingness
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
    "interactive_trails",
    "look",
    "missingness",
    "mosaic",
    "series",
    "tiled",
    "trails",
]
