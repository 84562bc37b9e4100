"""Encode a table of mixed columns as a numeric matrix, and decode it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from manifill._arrays import Array
from manifill._checks import complaint, is_option
from manifill._messages import text_table
from manifill.errors import InvalidInput
from manifill.tables.inference import by_name, check_bounds, declared, infer
from manifill.tables.source import Fills, Source
from manifill.tables.variables import Moment, Quantity, Variable


@dataclass(frozen=True)
class Field:
    """A column of a table: its kind of variable, the reason, and its first column in the encoded matrix."""

    name: Any
    variable: Variable
    reason: str
    first: int

    @property
    def columns(self) -> slice:
        """Its columns in the encoded matrix."""
        return slice(self.first, self.first + self.variable.width)

    @property
    def kind(self) -> str:
        """Kind of variable: "number", "category", …"""
        return self.variable.kind

    @property
    def modelled(self) -> bool:
        """False for columns that are copied unchanged."""
        return self.variable.width > 0

    def __str__(self) -> str:
        return f"{self.name}: {self.kind} ({self.reason})"


class Fields(tuple[Field, ...]):
    """A `Field` for every column; `print` shows the kind of each and the reason."""

    def __str__(self) -> str:
        rows = [(field.name, field.kind, field.reason) for field in self]
        return text_table(("column", "type", "because"), rows, left=(0, 1, 2))


@dataclass(frozen=True, eq=False)
class Encoding:
    """How the columns of a table are encoded as a numeric matrix (n, width).

    Attributes
    ----------
    fields : one for every column of the table, in the order of the table.
    """

    fields: Fields

    @classmethod
    def of(
        cls, table: Source, types: Mapping[Any, Any] | None = None, bounds: Any = "observed"
    ) -> "Encoding":
        """Encoding of a table; `types` maps columns to kinds, and those of other columns are inferred.

        `bounds` is "observed", None for no bounds, a pair for all numbers, or a mapping of columns to pairs.
        """
        if types is not None and not isinstance(types, Mapping):
            raise complaint("types", "a mapping from columns, such as {'zip': 'category'}", types)
        pair = isinstance(bounds, tuple) and len(bounds) == 2
        if not (bounds is None or pair or isinstance(bounds, Mapping) or is_option(bounds, "observed")):
            raise complaint(
                "bounds", "'observed', None, a pair, or a mapping such as {'age': (0, 120)}", bounds
            )
        default = bounds if pair else (None, None) if bounds is None else None
        types = by_name(types or {}, table.names, "types")
        bounds = by_name(bounds if isinstance(bounds, Mapping) else {}, table.names, "bounds")
        fields, first = [], 0
        for name in table.names:
            column = table.column(name)
            numeric = column.holds in ("integer", "number", "decimal")
            limits = bounds.get(name, default if numeric else None)
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
        """Iterate over the fields that are modelled."""
        return (field for field in self.fields if field.modelled)

    @cached_property
    def width(self) -> int:
        """Number of columns of the encoded matrix."""
        return sum(field.variable.width for field in self.fields)

    def encode(self, table: Source) -> Array:
        """(n, width), encoded table; NaN where a value is missing."""
        X = np.empty((len(table), self.width))
        for field in self:
            column = table.column(field.name)
            X[:, field.columns] = np.nan if column.missing.all() else field.variable.encode(column.plain())
        return X

    @property
    def groups(self) -> list[list[int]]:
        """Encoded columns that belong to the same column of the table."""
        return [list(range(field.first, field.columns.stop)) for field in self if field.variable.width > 1]

    def bounds(self, X: Array) -> list[tuple[float, float]]:
        """Lowest and highest imputed value of every encoded column."""
        pairs: list[tuple[float, float]] = []
        for field in self:
            low, high = field.variable.bounds(X[:, field.columns])
            pairs += zip(low.tolist(), high.tolist(), strict=True)
        return pairs

    def weights(self, X: Array) -> list[float]:
        """Weight of every encoded column in the distance between rows."""
        return [weight for field in self for weight in field.variable.weights(X[:, field.columns]).tolist()]

    def fills(
        self, table: Source, X: Array, fields: Iterable[Field] | None = None, outward: int = 0
    ) -> Fills:
        """Decoded values of the missing entries of a table: column → (rows, plain values).

        Parameters
        ----------
        X : (n, width), encoded and imputed table.
        fields : columns to decode; default: all that are modelled.
        outward : rounding of values with steps: down (-1), to the nearest (0) or up (1).
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
        """(n,), times of the rows, NaN where missing; None without a time column."""
        for field in self.fields:
            if isinstance(field.variable, Moment) and field.name in table.names:
                column = table.column(field.name)
                if column.missing.all():
                    return np.full(len(table), np.nan)
                if column.plain().dtype == object:
                    raise InvalidInput(
                        f"Column {field.name!r} must hold the times of the rows, as in the fit; it holds "
                        f"{column.type_name}. Convert it."
                    )
                return np.asarray(column.plain(), dtype=np.float64)
        return None

    def hard_bounds(self, X: Array) -> list[tuple[float, float]]:
        """Lowest and highest possible value of every encoded column.

        Without given limits, quantities are bounded by 0 if all observed values are ≥ 0, else not at all.
        Dates are not: their 0, the beginning of 1970, means nothing.
        """
        pairs: list[tuple[float, float]] = []
        for field in self:
            low, high = field.variable.bounds(X[:, field.columns])
            if isinstance(field.variable, Quantity) and field.variable.limits is None:
                bounded = (
                    low[0] >= 0 and not field.variable.log and field.kind not in ("date", "date and time")
                )
                lowest = 0.0 if bounded else -np.inf
                low, high = np.array([lowest]), np.array([np.inf])
            pairs += zip(low.tolist(), high.tolist(), strict=True)
        return pairs
