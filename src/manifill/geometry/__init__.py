"""Both geometries at once: how alike rows are, and how columns lie to each other.

For tables whose columns have a layout, such as the pixels of pictures, sensors at places, or moments in time.
"""

from manifill.geometry.columns import Affinities, Distances, Geometry, Grid, Learned, Line, Points
from manifill.geometry.field import Field
from manifill.geometry.filling import Filled, Stage, stages
from manifill.geometry.problem import FieldProblem
from manifill.geometry.restoring import Rehearsal, Restored, rehearse, restore_field

__all__ = [
    "Affinities",
    "Distances",
    "Field",
    "FieldProblem",
    "Filled",
    "Geometry",
    "Grid",
    "Learned",
    "Line",
    "Points",
    "Rehearsal",
    "Restored",
    "Stage",
    "rehearse",
    "restore_field",
    "stages",
]
