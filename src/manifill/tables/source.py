"""What a table is, wherever it comes from: columns of plain values, some of them missing."""

from collections.abc import Mapping
from typing import Any, Protocol

from manifill._arrays import Indices, Mask
from manifill.tables.variables import Plain

Fills = dict[Any, tuple[Indices, Plain]]
"""Column → the rows where it was missing, and plain values for them."""


class SourceColumn(Protocol):
    """A column of a table.

    Attributes
    ----------
    holds : "boolean", "integer", "number", "decimal", "label", "ordered label", "date", "date and time",
        "duration", "time" or "other".
    missing : (n,), True where a value is.
    declared : does its type say that values are categories?
    type_name : what its library or file calls it.
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

    def plain(self) -> Plain:
        """Numbers, with NaN where missing; or labels, with None. Times are microseconds."""
        ...

    def levels(self) -> tuple[Any, ...]:
        """Observed labels or values, in the order of their type, or sorted."""
        ...


class Source(Protocol):
    """A table."""

    @property
    def names(self) -> list[Any]: ...

    def __len__(self) -> int: ...

    def column(self, name: Any) -> SourceColumn: ...

    def completed(self, fills: Fills) -> Any:
        """The table with these values put in, in its own terms."""
        ...

    def like(self, columns: Mapping[str, Any]) -> Any:
        """Another table of as many rows, in its own terms."""
        ...
