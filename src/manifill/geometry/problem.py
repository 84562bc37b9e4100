"""A table with holes as a field: in the shape of its columns' geometry, centred and scaled."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from manifill.arrays import Mask, Table, frozen
from manifill.errors import InvalidInput
from manifill.geometry.columns import Geometry, Line, as_geometry

# Entries up to which double precision costs next to nothing.
_SMALL = 2**18


@dataclass(frozen=True, eq=False)
class FieldProblem:
    """What is to be filled; make one with `FieldProblem.of`.

    Attributes
    ----------
    given : (n, d), the table as it came; NaN where missing.
    columns, rows : the geometry of the columns, and of the rows where they are in order.
    Y : (n, ...), known values less their centre, in units of their scale; 0 where missing.
    M : (n, ...), True where missing.
    center, scale : one each for all columns, or for each channel, or each column.
    bounds : lowest and highest value of a fill, in the user's units.
    """

    given: Table
    columns: Geometry
    rows: Line | None
    Y: npt.NDArray[Any]
    M: Mask
    center: npt.NDArray[Any]
    scale: npt.NDArray[Any]
    bounds: npt.NDArray[Any]

    @classmethod
    def of(
        cls,
        X: npt.ArrayLike,
        columns: Geometry,
        rows: Line | None = None,
        bounds: npt.ArrayLike | None = None,
    ) -> "FieldProblem":
        """Check, and bring into shape."""
        given = np.array(X)
        if given.ndim != 2 or not given.size:
            raise InvalidInput(f"X must be a table with rows and columns; got shape {given.shape}.")
        if given.dtype not in (np.float32, np.float64):
            given = given.astype(np.float64)
        if np.isinf(given).any():
            row, column = np.argwhere(np.isinf(given))[0]
            raise InvalidInput(f"X must be finite; it is {given[row, column]} at row {row}, column {column}.")
        if not isinstance(rows, Line | None):
            raise InvalidInput(f"rows must be None or Line(), for rows in order of time; got {rows!r}.")
        shape = (len(given), *as_geometry("columns", columns).shape(given.shape[1]))
        if np.isnan(given).all():
            raise InvalidInput("Something must be known to fill the rest from; all of X is missing.")
        values = given.reshape(shape)
        M = np.isnan(values)
        together = tuple(range(len(shape) - 1)) if columns.alike else (0,)
        if columns.alike and len(shape) < 4:
            together = tuple(range(len(shape)))
        known = np.where(M, 0.0, values.astype(np.float64))
        # Squares of very large and very small numbers would be lost: all are taken relative to the largest.
        unit = np.abs(known).max(axis=None if columns.alike else together, keepdims=True)
        unit = np.where(unit > 0, unit, 1.0)
        known = known / unit
        count = np.maximum((~M).sum(axis=together, keepdims=True), 1)
        center = known.sum(axis=together, keepdims=True) / count
        spread = np.sqrt((np.where(M, 0.0, known - center) ** 2).sum(axis=together, keepdims=True) / count)
        # Channels keep their proportions; columns of other units do not.
        scale = np.full_like(spread, np.sqrt((spread**2).mean())) if columns.alike else spread
        scale = np.where(scale > 1e-12 * np.maximum(np.abs(center), 1e-300), scale, 1.0)
        dtype = np.float64 if values.size <= _SMALL else np.float32
        Y = np.where(M, 0.0, (known - center) / scale).astype(dtype)
        center, scale = center * unit, scale * unit
        limits = np.array([-np.inf, np.inf] if bounds is None else bounds, dtype=np.float64)
        return cls(frozen(given), columns, rows, frozen(Y), frozen(M), center, scale, limits)

    def complete(self, Z: npt.NDArray[Any], bounds: npt.ArrayLike | None = None) -> Table:
        """The table in the user's units, with `Z` where it is missing; the rest comes back bit for bit.

        `bounds` are the lowest and highest fills; None for those of the problem.
        """
        fill = (Z.astype(np.float64) * self.scale + self.center).reshape(self.given.shape)
        fill = np.clip(fill, *(self.bounds if bounds is None else np.asarray(bounds)))
        return np.where(np.isnan(self.given), fill.astype(self.given.dtype), self.given)

    def standard(self, X: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Rows in the user's units → (n, ...) in standard units."""
        return np.asarray((X.reshape(len(X), *self.M.shape[1:]) - self.center) / self.scale)

    def with_hidden(self, H: Mask) -> "FieldProblem":
        """The same with known entries (n, ...) hidden, in the same units."""
        Y, M = np.where(H, 0, self.Y), self.M | H
        return FieldProblem(
            np.where(H.reshape(self.given.shape), np.nan, self.given).astype(self.given.dtype),
            self.columns, self.rows, frozen(Y), frozen(M), self.center, self.scale, self.bounds,
        )  # fmt: skip

    def some_rows(self, which: Any) -> "FieldProblem":
        """Only these rows, in the same units."""
        return FieldProblem(
            self.given[which], self.columns, self.rows, frozen(self.Y[which]), frozen(self.M[which]),
            self.center, self.scale, self.bounds,
        )  # fmt: skip
