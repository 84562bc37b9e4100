"""A table of mixed columns as a matrix of numbers, and back."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from manifill._arrays import Array
from manifill._checks import complaint, is_option
from manifill.tables.inference import by_name, check_bounds, declared, infer
from manifill.tables.source import Fills, Source
from manifill.tables.variables import Moment, Quantity, Variable


@dataclass(frozen=True)
class Field:
    """A column of a table: what it was taken for, why, and where its numbers are in the matrix."""

    name: Any
    variable: Variable
    reason: str
    first: int

    @property
    def columns(self) -> slice:
        return slice(self.first, self.first + self.variable.width)

    @property
    def kind(self) -> str:
        """What the column was taken for: "number", "category", …"""
        return self.variable.kind

    @property
    def modelled(self) -> bool:
        return self.variable.width > 0

    def __str__(self) -> str:
        return f"{self.name}: {self.kind} ({self.reason})"


class Fields(tuple[Field, ...]):
    """A `Field` for every column; `print` shows what each was taken for."""

    def __str__(self) -> str:
        width = max([6, *(len(str(field.name)) for field in self)])
        kinds = max([4, *(len(field.kind) for field in self)])
        lines = [f"{'column':<{width}}  {'type':<{kinds}}  because"]
        lines += [f"{field.name!s:<{width}}  {field.kind:<{kinds}}  {field.reason}" for field in self]
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class Encoding:
    """How the columns of a table become numbers.

    Attributes
    ----------
    fields : one for every column of the table, in its order.
    """

    fields: Fields

    @classmethod
    def of(
        cls, table: Source, types: Mapping[Any, Any] | None = None, bounds: Any = "observed"
    ) -> "Encoding":
        """What the columns are taken for: as the user says, or else inferred.

        `bounds` is "observed", None for no bounds, a pair for all numbers, or a mapping to pairs.
        """
        if types is not None and not isinstance(types, Mapping):
            raise complaint("types", "a mapping from columns, such as {'zip': 'category'}", types)
        pair = isinstance(bounds, tuple) and len(bounds) == 2
        if not (bounds is None or pair or isinstance(bounds, Mapping) or is_option(bounds, "observed")):
            raise complaint(
                "bounds", "'observed', None, a pair, or a mapping such as {'age': (0, 120)}", bounds
            )
        everywhere = bounds if pair else (None, None) if bounds is None else None
        types = by_name(types or {}, table.names, "types")
        bounds = by_name(bounds if isinstance(bounds, Mapping) else {}, table.names, "bounds")
        fields, first = [], 0
        for name in table.names:
            column = table.column(name)
            numeric = column.holds in ("integer", "number", "decimal")
            limits = bounds.get(name, everywhere if numeric else None)
            if name in types:
                variable, reason = declared(column, types[name], limits)
            else:
                variable, reason = infer(column, limits)
            if name in bounds:
                check_bounds(column, variable, limits)
            fields.append(Field(name, variable, reason, first))
            first += variable.width
        return cls(Fields(fields))

    def __iter__(self) -> Iterator[Field]:
        """The fields that are modelled."""
        return (field for field in self.fields if field.modelled)

    @cached_property
    def width(self) -> int:
        return sum(field.variable.width for field in self.fields)

    def encode(self, table: Source) -> Array:
        """(n, width), NaN where a value is missing."""
        X = np.empty((len(table), self.width))
        for field in self:
            X[:, field.columns] = field.variable.encode(table.column(field.name).plain())
        return X

    @property
    def groups(self) -> list[list[int]]:
        """Numbers that belong to one column of the table."""
        return [list(range(field.first, field.columns.stop)) for field in self if field.variable.width > 1]

    def bounds(self, X: Array) -> list[tuple[float, float]]:
        """Lowest and highest fill of every number."""
        pairs: list[tuple[float, float]] = []
        for field in self:
            low, high = field.variable.bounds(X[:, field.columns])
            pairs += zip(low.tolist(), high.tolist(), strict=True)
        return pairs

    def weights(self, X: Array) -> list[float]:
        """What every number counts when rows are compared."""
        return [weight for field in self for weight in field.variable.weights(X[:, field.columns]).tolist()]

    def fills(
        self, table: Source, X: Array, fields: Iterable[Field] | None = None, outward: int = 0
    ) -> Fills:
        """What the numbers of `X` say of the missing values of a table: column → rows, and plain values.

        Parameters
        ----------
        fields : those to fill; default: all that are modelled.
        outward : round down (-1), up (1), or to the nearest (0).
        """
        fills: Fills = {}
        for field in self if fields is None else fields:
            column = table.column(field.name)
            rows = np.flatnonzero(column.missing)
            if len(rows):
                numbers = X[rows, field.columns]
                fills[field.name] = rows, field.variable.decode(numbers, outward)
        return fills

    def moments(self, table: Source) -> Array | None:
        """(n,), when each row was measured; NaN where that is missing; None without a time column."""
        for field in self.fields:
            if isinstance(field.variable, Moment) and field.name in table.names:
                return np.asarray(table.column(field.name).plain(), dtype=np.float64)
        return None

    def hard_bounds(self, X: Array) -> list[tuple[float, float]]:
        """Bounds of what every number might be: those given, and 0 below what was never negative."""
        pairs: list[tuple[float, float]] = []
        for field in self:
            low, high = field.variable.bounds(X[:, field.columns])
            if isinstance(field.variable, Quantity) and field.variable.limits is None:
                least = 0.0 if low[0] >= 0 and not field.variable.log else -np.inf
                low, high = np.array([least]), np.array([np.inf])
            pairs += zip(low.tolist(), high.tolist(), strict=True)
        return pairs
