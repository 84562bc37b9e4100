"""Rules that choose a bandwidth from the distances between rows.

A rule is called with distances (s, n) from a sample of s rows to all n rows, each row's zero distance
to itself among them, and the kernel's profile. Rows that coincide say nothing about scale, so zero
distances are passed over; where all rows coincide every bandwidth is the same and 1 is returned.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from manifill.arrays import Array
from manifill.errors import InvalidInput

Profile = Callable[[Array], Array]
"""distance / bandwidth → affinity; the shape of a radial kernel."""

# Measured on 2,000 rows: a median from this many has a standard error of 1.5 %, and no fill notices that.
_SAMPLE_ROWS = 256
_SAMPLE_PAIRS = 20_000


Rows = slice | npt.NDArray[np.intp]


class Bandwidth(Protocol):
    """A rule: distances → one positive number."""

    def __call__(self, distances: Array, profile: Profile) -> float: ...


def sample_rows(n: int) -> Rows:
    """All rows of a small table, evenly spread ones of a long table."""
    if n <= _SAMPLE_ROWS:
        return slice(None)
    return np.linspace(0, n - 1, _SAMPLE_ROWS).astype(np.intp)


def _require_positive(rule: object, name: str, value: float) -> None:
    if not (isinstance(value, int | float | np.number) and math.isfinite(value) and value > 0):
        raise InvalidInput(
            f"{name} of {type(rule).__name__} must be a positive, finite number; got {value!r}."
        )


def _positive(distances: Array) -> Array:
    positive: Array = distances[distances > 0]
    return positive


@dataclass(frozen=True)
class Fixed:
    """The bandwidth is `value`, whatever the data."""

    value: float

    def __post_init__(self) -> None:
        _require_positive(self, "value", self.value)

    def __call__(self, distances: Array, profile: Profile) -> float:
        return float(self.value)


@dataclass(frozen=True)
class MedianDistance:
    """`multiple` × the median distance between different rows."""

    multiple: float = 1.0

    def __post_init__(self) -> None:
        _require_positive(self, "multiple", self.multiple)

    def __call__(self, distances: Array, profile: Profile) -> float:
        positive = _positive(distances)
        return self.multiple * float(np.median(positive)) if positive.size else 1.0


@dataclass(frozen=True)
class NeighborDistance:
    """`multiple` × the median, over rows, of the distance to the k-th nearest other row."""

    k: int = 7
    multiple: float = 1.0

    def __post_init__(self) -> None:
        _require_positive(self, "multiple", self.multiple)
        if not (isinstance(self.k, int | np.integer) and self.k >= 1):
            raise InvalidInput(f"k of NeighborDistance must be a whole number ≥ 1; got {self.k!r}.")

    def __call__(self, distances: Array, profile: Profile) -> float:
        k = min(self.k, distances.shape[1] - 1)  # position 0 is the row itself
        positive = _positive(np.partition(distances, k, axis=1)[:, k])
        if not positive.size:
            positive = _positive(distances)
        return self.multiple * float(np.median(positive)) if positive.size else 1.0


@dataclass(frozen=True)
class LogSumSlope:
    """`multiple` × the bandwidth at which log Σ k(dᵢⱼ/σ) rises fastest with log σ.

    Between "every row sees itself only" and "all rows see each other" the sum grows like σ to the power
    of the dimension of the manifold; the steepest point lies where the kernel resolves it best
    (Coifman, Shkolnisky, Sigworth and Singer 2008; Berry, Giannakis and Harlim 2015).
    """

    multiple: float = 1.0

    def __post_init__(self) -> None:
        _require_positive(self, "multiple", self.multiple)

    def __call__(self, distances: Array, profile: Profile) -> float:
        positive = _positive(distances)
        if not positive.size:
            return 1.0
        sigma, slope = self.slopes(distances, profile)
        return self.multiple * float(sigma[np.argmax(slope)])

    @staticmethod
    def slopes(distances: Array, profile: Profile) -> tuple[Array, Array]:
        """The bandwidths tried, and d log Σk / d log σ at each: an estimate of the dimension."""
        pairs = distances.ravel()[:: max(1, distances.size // _SAMPLE_PAIRS)]
        positive = _positive(distances)
        edges = np.geomspace(positive.min() / 4, positive.max() * 4, 65)
        # Rows whose self-distance fell out of the sample still count: each sees itself.
        own = distances.shape[0] / distances.size
        log_sum = np.log([own + profile(pairs / sigma).mean() for sigma in edges])
        slope = np.diff(log_sum) / np.diff(np.log(edges))
        return np.sqrt(edges[1:] * edges[:-1]), slope


def as_bandwidth(value: "Bandwidth | float") -> Bandwidth:
    """A number becomes a `Fixed` rule; a rule stays what it is."""
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        return Fixed(float(value))
    if not callable(value):
        raise InvalidInput(
            f"bandwidth must be a positive number or a rule such as MedianDistance(2.0); got {value!r}."
        )
    return value
