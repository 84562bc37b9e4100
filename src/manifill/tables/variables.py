"""Kinds of variables, and how their values are encoded as numbers and decoded.

`encode` converts the plain values of a column (numbers with NaN, or labels with None) to numbers (n, width),
with NaN in all columns of a row whose value is missing. `decode` converts imputed numbers to plain values.
Variables with steps are rounded to the nearest step (`outward` = 0), down (-1) or up (1).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from manifill._arrays import Array

Plain = npt.NDArray[Any]

# `outward` → rounding function.
_ROUND: dict[int, Any] = {-1: np.floor, 0: np.round, 1: np.ceil}


class Variable(Protocol):
    """A kind of variable."""

    chosen: ClassVar[bool]
    """True for levels without order (booleans and categories), which have probabilities."""

    @property
    def kind(self) -> str:
        """Name of the kind in `types` and reports, such as "number" or "category"."""
        ...

    @property
    def width(self) -> int:
        """Number of encoded columns."""
        ...

    def encode(self, plain: Plain) -> Array: ...

    def decode(self, numbers: Array, outward: int = 0) -> Plain: ...

    def bounds(self, numbers: Array) -> tuple[Array, Array]:
        """Lowest and highest imputed value (width,) of each encoded column, given the observed `numbers`."""
        ...

    def weights(self, numbers: Array) -> Array:
        """(width,), weights of the encoded columns, so that together they count as much as one number."""
        ...


@dataclass(frozen=True)
class Quantity:
    """A number, date or duration: values whose differences are meaningful.

    Parameters
    ----------
    kind : "number", "integer", "date", …, used in reports.
    step : imputed values are multiples of it; 0 allows any number.
    log : if True, log(value + offset) is modelled.
    offset : positive if there are zeros.
    limits : lowest and highest imputed value; None: the observed range.
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
            with np.errstate(over="ignore"):  # an interval may end at the largest float
                values = _ROUND[outward](values / self.step) * self.step
        if self.limits is not None:
            low, high = self.limits
            if self.step:  # the lowest and highest multiple within the limits
                low, high = np.ceil(low / self.step) * self.step, np.floor(high / self.step) * self.step
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
        """(n, 2), probabilities of false and true."""
        true = np.clip(numbers[:, 0], 0.0, 1.0)
        return np.column_stack([1 - true, true])

    def bounds(self, numbers: Array) -> tuple[Array, Array]:
        return np.zeros(1), np.ones(1)

    def weights(self, numbers: Array) -> Array:
        return np.ones(1)


@dataclass(frozen=True)
class Category:
    """Categories without order, one-hot encoded: one dummy column per level.

    The weights are σⱼ/‖σ‖, with σ the standard deviations of the dummy columns. All of them then share one
    scale, and together they weigh as much as one number: two levels are as far apart as the two values of a
    boolean, whatever the number of levels.
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
        values: Plain = _object_array(self.levels)[np.argmax(numbers, axis=1)]
        return values

    def probabilities(self, numbers: Array) -> Array:
        """(n, levels), probabilities of the levels."""
        positive = np.clip(numbers, 1e-9, 1.0)
        shares: Array = positive / positive.sum(axis=1, keepdims=True)
        return shares

    def bounds(self, numbers: Array) -> tuple[Array, Array]:
        return np.zeros(self.width), np.ones(self.width)

    def weights(self, numbers: Array) -> Array:
        std = np.nanstd(numbers, axis=0)
        norm = math.sqrt(float((std**2).sum()))
        return std / norm if norm > 0 and (std > 0).all() else np.ones(self.width)


@dataclass(frozen=True)
class Ordered:
    """Ordered categories such as low < middle < high, encoded as evenly spaced numbers 0, 1, 2, …"""

    levels: tuple[Any, ...]
    kind: ClassVar[str] = "ordered"
    chosen: ClassVar[bool] = False
    width: ClassVar[int] = 1

    def encode(self, plain: Plain) -> Array:
        return _codes(plain, self.levels)[:, None]

    def decode(self, numbers: Array, outward: int = 0) -> Plain:
        nearest = np.clip(_ROUND[outward](numbers[:, 0]), 0, len(self.levels) - 1)
        values: Plain = _object_array(self.levels)[nearest.astype(np.intp)]
        return values

    def bounds(self, numbers: Array) -> tuple[Array, Array]:
        return np.zeros(1), np.array([float(len(self.levels) - 1)])

    def weights(self, numbers: Array) -> Array:
        return np.ones(1)


@dataclass(frozen=True)
class Cyclic:
    """A periodic number, such as an hour or a wind direction, encoded as cosine and sine.

    Parameters
    ----------
    period : 24 for hours, 360 for degrees, 12 for months.
    step : imputed values are multiples of it; 0 allows any number.
    first : lowest value, 0 or, for months, 1; imputed values lie in [first, first + period).
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
    """A column that is copied unchanged and not used as a predictor."""

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
    """Times of the rows. Rows are ordered by them, and missing times are not imputed."""

    kind: str = "number"


def _codes(plain: Plain, levels: Sequence[Any]) -> Array:
    """Index of each value in `levels`; NaN where it is missing or not in `levels`."""
    code_of = {level: float(i) for i, level in enumerate(levels)}
    return np.array([code_of.get(value, np.nan) for value in plain.tolist()], dtype=np.float64)


def _dummies(codes: Array, width: int) -> Array:
    dummies: Array = (codes[:, None] == np.arange(width)).astype(np.float64)
    dummies[np.isnan(codes)] = np.nan
    return dummies


def _object_array(levels: Sequence[Any]) -> Plain:
    """(levels,), array of dtype object; `np.array` would convert or nest some levels."""
    values = np.empty(len(levels), dtype=object)
    values[:] = levels
    return values
