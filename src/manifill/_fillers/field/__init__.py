"""Fillers that model the table as a Gaussian field: similarity of rows and layout of columns together."""

from manifill._fillers.field.field import Field
from manifill._fillers.field.stages import FieldFill, FieldFiller, Stage, fill_stages, stages_for

__all__ = ["Field", "FieldFill", "FieldFiller", "Stage", "fill_stages", "stages_for"]
