"""Protocols for tables from any source: named columns of plain values, of which some are missing."""

from collections.abc import Mapping
from typing import Any, Protocol

from manifill._arrays import Indices, Mask
from manifill.tables.variables import Plain

Fills = dict[Any, tuple[Indices, Plain]]
"""Imputed values: column → (rows where it is missing, plain values for these rows)."""


class SourceColumn(Protocol):
    """A column of a table.

    Attributes
    ----------
    holds : "boolean", "integer", "number", "decimal", "label", "ordered label", "date", "date and time",
        "duration", "time" or "other".
    missing : (n,), True where a value is missing.
    declared : True if its type declares the values to be categories.
    type_name : name of its type in the library or file it comes from.
    note : what is special about its cells, for the reason of its kind; empty if nothing is.
    """

    @property
    def name(self) -> Any: ...
    @property
    def holds(self) -> str: ...
    @property
    def missing(self) -> Mask: ...
    @property
    def declared(self) -> bool: ...
    @property
    def type_name(self) -> str: ...
    @property
    def note(self) -> str: ...

    def plain(self) -> Plain:
        """Numbers with NaN where missing, or labels with None where missing. Times are microseconds."""
        ...

    def levels(self) -> tuple[Any, ...]:
        """Distinct observed labels or values, in the order that the type declares, or sorted."""
        ...


class Source(Protocol):
    """A table with named columns."""

    @property
    def names(self) -> list[Any]: ...

    def __len__(self) -> int: ...

    def column(self, name: Any) -> SourceColumn: ...

    def completed(self, fills: Fills) -> Any:
        """The table with imputed values inserted, as an object of its own library."""
        ...

    def like(self, columns: Mapping[str, Any]) -> Any:
        """Another table with as many rows, as an object of the same library."""
        ...
