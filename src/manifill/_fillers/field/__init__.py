"""Both geometries at once: how similar rows are, and how columns lie to each other."""

from manifill._fillers.field.field import Field
from manifill._fillers.field.stages import FieldFill, FieldFiller, Stage, fill_stages, stages_for

__all__ = ["Field", "FieldFill", "FieldFiller", "Stage", "fill_stages", "stages_for"]
