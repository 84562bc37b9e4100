"""Tables of numbers, categories, dates and text: encoded as a numeric matrix and decoded after imputation."""

from manifill.tables.arrays import ArrayTable, as_source
from manifill.tables.encoding import Encoding, Field, Fields
from manifill.tables.frames import Frame, is_frame
from manifill.tables.inference import KINDS
from manifill.tables.inspection import Inspection, inspect
from manifill.tables.source import Fills, Source, SourceColumn
from manifill.tables.variables import Category, Cyclic, Flag, Moment, Ordered, Quantity, Untouched, Variable

__all__ = [
    "KINDS",
    "ArrayTable",
    "Category",
    "Cyclic",
    "Encoding",
    "Field",
    "Fields",
    "Fills",
    "Flag",
    "Frame",
    "Inspection",
    "Moment",
    "Ordered",
    "Quantity",
    "Source",
    "SourceColumn",
    "Untouched",
    "Variable",
    "as_source",
    "inspect",
    "is_frame",
]
