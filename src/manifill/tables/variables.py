"""What a column holds, and how its values become numbers that rows can be compared by, and back.

`encode` takes the plain values of a column (numbers with NaN, or labels with None) to (n, width) numbers, all
of a row NaN where the value is missing. `decode` takes such numbers, as a fill made them, to plain values;
where these are in steps, to the nearest, the next below (`outward` = -1) or the next above (1).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from manifill._arrays import Array

Plain = npt.NDArray[Any]

_ROUND: dict[int, Any] = {-1: np.floor, 0: np.round, 1: np.ceil}


class Variable(Protocol):
    """A kind of column that can be filled."""

    chosen: ClassVar[bool]
    """Is a value one of some, rather than a number?"""

    @property
    def kind(self) -> str:
        """What users call it, such as "number" or "category"."""
        ...

    @property
    def width(self) -> int: ...

    def encode(self, plain: Plain) -> Array: ...

    def decode(self, numbers: Array, outward: int = 0) -> Plain: ...

    def bounds(self, numbers: Array) -> tuple[Array, Array]:
        """Lowest and highest (width,) that fills may be, given what is observed."""
        ...

    def weights(self, numbers: Array) -> Array:
        """(width,), for the columns of a variable to count together as much as one number does."""
        ...


@dataclass(frozen=True)
class Quantity:
    """A number, a date, a duration: anything with differences.

    Parameters
    ----------
    kind : "number", "integer", "date", …, for reports.
    step : fills are multiples of it; 0 is any number.
    log : is the logarithm modelled? Then `offset` is added inside it where zeros occur.
    limits : lowest and highest value of fills; None: as observed.
    """

    kind: str = "number"
    step: float = 0.0
    log: bool = False
    offset: float = 0.0
    limits: tuple[float, float] | None = None
    chosen: ClassVar[bool] = False
    width: ClassVar[int] = 1

    def encode(self, plain: Plain) -> Array:
        values = np.asarray(plain, dtype=np.float64)
        if self.log:
            with np.errstate(divide="ignore", invalid="ignore"):
                values = np.log(values + self.offset)
            values = np.where(np.isneginf(values), np.nan, values)
        return values[:, None]

    def decode(self, numbers: Array, outward: int = 0) -> Plain:
        values = numbers[:, 0]
        if self.log:
            values = np.exp(np.minimum(values, 700.0)) - self.offset
            values = np.maximum(values, 0.0)
        if self.step:
            values = _ROUND[outward](values / self.step) * self.step
        if self.limits is not None:
            low, high = self.limits
            if self.step:  # the outermost multiples within them, if there are any
                low, high = math.ceil(low / self.step) * self.step, math.floor(high / self.step) * self.step
            values = np.clip(values, low, max(low, high)) if np.isfinite([low, high]).any() else values
        return values

    def bounds(self, numbers: Array) -> tuple[Array, Array]:
        if self.limits is None:
            return np.nanmin(numbers, axis=0), np.nanmax(numbers, axis=0)
        encoded = self.encode(np.array(self.limits))[:, 0]
        low, high = np.where(np.isnan(encoded), [-np.inf, np.inf], encoded)
        return np.array([low]), np.array([high])

    def weights(self, numbers: Array) -> Array:
        return np.ones(1)


@dataclass(frozen=True)
class Flag:
    """True or false."""

    kind: ClassVar[str] = "boolean"
    chosen: ClassVar[bool] = True
    width: ClassVar[int] = 1

    @property
    def levels(self) -> tuple[Any, ...]:
        return (False, True)

    def encode(self, plain: Plain) -> Array:
        return np.asarray(plain, dtype=np.float64)[:, None]

    def decode(self, numbers: Array, outward: int = 0) -> Plain:
        return numbers[:, 0] >= 0.5

    def probabilities(self, numbers: Array) -> Array:
        """(n, 2), of false and true."""
        true = np.clip(numbers[:, 0], 0.0, 1.0)
        return np.column_stack([1 - true, true])

    def bounds(self, numbers: Array) -> tuple[Array, Array]:
        return np.zeros(1), np.ones(1)

    def weights(self, numbers: Array) -> Array:
        return np.ones(1)


@dataclass(frozen=True)
class Category:
    """One of some values without an order, each a column of 0 and 1.

    All columns have one unit, and together the weight of one number: two levels are as far apart as two
    values of a true-or-false column, whatever the number of levels.
    """

    levels: tuple[Any, ...]
    kind: ClassVar[str] = "category"
    chosen: ClassVar[bool] = True

    @property
    def width(self) -> int:
        return len(self.levels)

    def encode(self, plain: Plain) -> Array:
        return _dummies(_codes(plain, self.levels), len(self.levels))

    def decode(self, numbers: Array, outward: int = 0) -> Plain:
        values: Plain = _of(self.levels)[np.argmax(numbers, axis=1)]
        return values

    def probabilities(self, numbers: Array) -> Array:
        """(n, levels), not below 0, adding up to 1."""
        positive = np.clip(numbers, 1e-9, 1.0)
        shares: Array = positive / positive.sum(axis=1, keepdims=True)
        return shares

    def bounds(self, numbers: Array) -> tuple[Array, Array]:
        return np.zeros(self.width), np.ones(self.width)

    def weights(self, numbers: Array) -> Array:
        spread = np.nanstd(numbers, axis=0)
        together = math.sqrt(float((spread**2).sum()))
        return spread / together if together > 0 and (spread > 0).all() else np.ones(self.width)


@dataclass(frozen=True)
class Ordered:
    """One of some values with an order: low, middle, high; evenly spaced."""

    levels: tuple[Any, ...]
    kind: ClassVar[str] = "ordered"
    chosen: ClassVar[bool] = False
    width: ClassVar[int] = 1

    def encode(self, plain: Plain) -> Array:
        return _codes(plain, self.levels)[:, None]

    def decode(self, numbers: Array, outward: int = 0) -> Plain:
        nearest = np.clip(_ROUND[outward](numbers[:, 0]), 0, len(self.levels) - 1)
        values: Plain = _of(self.levels)[nearest.astype(np.intp)]
        return values

    def bounds(self, numbers: Array) -> tuple[Array, Array]:
        return np.zeros(1), np.array([float(len(self.levels) - 1)])

    def weights(self, numbers: Array) -> Array:
        return np.ones(1)


@dataclass(frozen=True)
class Cyclic:
    """A number on a circle, such as an hour or the direction of wind: 0 and `period` are the same.

    Parameters
    ----------
    period : 24 for hours, 360 for degrees, 12 for months (whichever is the first).
    step : fills are multiples of it; 0 is any number.
    first : where values begin; 1 for months.
    """

    period: float
    step: float = 0.0
    first: float = 0.0
    kind: ClassVar[str] = "cyclic"
    chosen: ClassVar[bool] = False
    width: ClassVar[int] = 2

    def encode(self, plain: Plain) -> Array:
        angle = 2 * np.pi * np.asarray(plain, dtype=np.float64) / self.period
        return np.column_stack([np.cos(angle), np.sin(angle)])

    def decode(self, numbers: Array, outward: int = 0) -> Plain:
        angle = np.arctan2(numbers[:, 1], numbers[:, 0])
        values = angle / (2 * np.pi) * self.period
        if self.step:
            values = np.round(values / self.step) * self.step
        return (values - self.first) % self.period + self.first

    def bounds(self, numbers: Array) -> tuple[Array, Array]:
        return -np.ones(2), np.ones(2)

    def weights(self, numbers: Array) -> Array:
        return np.full(2, math.sqrt(0.5))


@dataclass(frozen=True)
class Untouched:
    """A column that is handed through, and tells nothing about the others."""

    kind: str = "text"
    chosen: ClassVar[bool] = False
    width: ClassVar[int] = 0

    def encode(self, plain: Plain) -> Array:
        return np.zeros((len(plain), 0))

    def decode(self, numbers: Array, outward: int = 0) -> Plain:
        raise NotImplementedError

    def bounds(self, numbers: Array) -> tuple[Array, Array]:
        return np.zeros(0), np.zeros(0)

    def weights(self, numbers: Array) -> Array:
        return np.zeros(0)


@dataclass(frozen=True)
class Moment(Untouched):
    """When each row was measured: rows are put in its order, and it is not filled."""

    kind: str = "number"


def _codes(plain: Plain, levels: Sequence[Any]) -> Array:
    """The number of each value among the levels; NaN where it is missing or none of them."""
    place = {level: float(i) for i, level in enumerate(levels)}
    return np.array([place.get(value, np.nan) for value in plain.tolist()], dtype=np.float64)


def _dummies(codes: Array, width: int) -> Array:
    dummies: Array = (codes[:, None] == np.arange(width)).astype(np.float64)
    dummies[np.isnan(codes)] = np.nan
    return dummies


def _of(levels: Sequence[Any]) -> Plain:
    """Levels as an array of objects, whatever they are."""
    values = np.empty(len(levels), dtype=object)
    values[:] = levels
    return values
