"""Layouts of the columns of a table: a grid, points, distances or a kernel; or learned from the data.

IGHImputer(layout=Grid(64, 64))          # pixels, row by row
IGHImputer(layout=Points(coordinates))   # sensors at known positions
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from manifill._arrays import Array, Indices, Mask
from manifill._axes import Axis, channels, cosines, eigenvectors
from manifill._checks import require_number
from manifill.errors import InvalidInput

__all__ = ["Affinities", "Distances", "Grid", "Layout", "Learned", "Points"]

# Pseudo-count of rows with product 0: it shrinks the correlation of columns that are known together in few
# rows. Set by hand, not tuned.
_PSEUDO_ROWS = 5.0


class Layout(Protocol):
    """Spatial arrangement or similarity of the columns of a table.

    Attributes
    ----------
    homogeneous : True if all columns measure the same quantity in the same unit, as pixels do. They then
        share one scale; otherwise each column has its own mean and standard deviation.
    """

    homogeneous: bool

    def shape(self, n_columns: int) -> tuple[int, ...]:
        """The shape of one row as an array."""
        ...

    def axes(self, Z: Array, M: Mask) -> tuple[Axis, ...]:
        """Harmonics along each axis of a row, given the table (n, d) as filled so far, and its mask."""
        ...

    def similarity(self, Z: Array, M: Mask) -> Array | None:
        """(d, d), similarity of each pair of columns, as a correlation; None for a grid."""
        ...

    def only(self, columns: Mask) -> "Layout":
        """The layout of the columns where the mask `columns` (d,) is True."""
        ...


@dataclass(frozen=True)
class Grid:
    """Columns that are the pixels of a picture, row by row, with the channels of a pixel next to each other.

    If every row of the table is a time series of d values, use `Grid(1, d)`.
    """

    height: int
    width: int
    channels: int = 1
    homogeneous = True

    def __post_init__(self) -> None:
        for name in ("height", "width", "channels"):
            require_number(name, getattr(self, name), least=1, whole=True)

    def shape(self, n_columns: int) -> tuple[int, ...]:
        size = self.height * self.width * self.channels
        if size != n_columns:
            raise InvalidInput(f"layout={self} means {size} columns; X has {n_columns}.")
        return self.height, self.width, self.channels

    def axes(self, Z: Array, M: Mask) -> tuple[Axis, ...]:
        per_octave = 3 if min(self.height, self.width) == 1 else 2  # finer cells for a single axis
        return cosines(self.height, per_octave), cosines(self.width, per_octave), channels(self.channels)

    def similarity(self, Z: Array, M: Mask) -> None:
        return None

    def only(self, columns: Mask) -> "Grid":
        return self  # pixels without any known value are filled too


@dataclass(frozen=True, eq=False)
class Affinities:
    """Columns with a kernel matrix (d, d) of similarities, symmetric and positive semi-definite."""

    kernel: npt.ArrayLike
    homogeneous = False

    def __post_init__(self) -> None:
        K = _square("kernel", self.kernel)
        if not np.allclose(K, K.T, rtol=1e-6, atol=1e-9 * np.abs(K).max()):
            raise InvalidInput("A kernel between columns must be symmetric; the one given is not.")
        lowest = np.linalg.eigvalsh(K)[0]
        if lowest < -1e-6 * np.abs(K).max():
            raise InvalidInput(
                f"A kernel between columns must be positive semi-definite; it has an eigenvalue {lowest:.3g}."
            )

    @cached_property
    def matrix(self) -> Array:
        """The kernel, (d, d)."""
        return np.asarray(self.kernel, dtype=np.float64)

    def shape(self, n_columns: int) -> tuple[int, ...]:
        if len(self.matrix) != n_columns:
            raise InvalidInput(f"The layout describes {len(self.matrix)} columns; X has {n_columns}.")
        return (n_columns,)

    def axes(self, Z: Array, M: Mask) -> tuple[Axis, ...]:
        return (eigenvectors(self.matrix),)

    def similarity(self, Z: Array, M: Mask) -> Array:
        """The kernel, scaled to 1 on the diagonal."""
        sizes = np.sqrt(np.maximum(np.diag(self.matrix), 1e-300))
        return np.asarray(self.matrix / sizes / sizes[:, None])

    def only(self, columns: Mask) -> "Affinities":
        return self if columns.all() else Affinities(self.matrix[np.ix_(columns, columns)])


@dataclass(frozen=True, eq=False)
class Distances(Affinities):
    """Columns with a matrix of distances (d, d); the kernel is exp(−distance / scale).

    `scale` is by default the median distance. If distances are not Euclidean, the kernel may have negative
    eigenvalues; they are set to 0.
    """

    kernel: npt.ArrayLike = field(default=(), repr=False)
    distances: npt.ArrayLike = ()
    scale: float | None = None

    def __init__(self, distances: npt.ArrayLike, scale: float | None = None) -> None:
        object.__setattr__(self, "distances", distances)
        object.__setattr__(self, "scale", scale)
        object.__setattr__(self, "kernel", _of_distances(_square("distances", distances), scale))


@dataclass(frozen=True, eq=False)
class Points(Affinities):
    """Columns at points in the plane or in space, (d, dimensions), such as sensors.

    The kernel is that of `Distances`, for the Euclidean distances between the points.
    """

    kernel: npt.ArrayLike = field(default=(), repr=False)
    coordinates: npt.ArrayLike = ()
    scale: float | None = None

    def __init__(self, coordinates: npt.ArrayLike, scale: float | None = None) -> None:
        message = "coordinates must be a table of finite numbers, one row for each column of the data"
        try:
            P = np.asarray(coordinates, dtype=np.float64)
        except (TypeError, ValueError):
            raise InvalidInput(f"{message}.") from None
        if not P.size or P.ndim != 2 or not np.isfinite(P).all():
            raise InvalidInput(f"{message}; got shape {P.shape}.")
        object.__setattr__(self, "coordinates", coordinates)
        object.__setattr__(self, "scale", scale)
        object.__setattr__(self, "kernel", _of_distances(np.linalg.norm(P[:, None] - P[None], axis=2), scale))


@dataclass(frozen=True)
class Learned:
    """Columns whose similarity is learned: their correlations over rows where both are known.

    Imputed values are not used: correlations computed from a fill would only reproduce that fill.
    """

    homogeneous = False

    def shape(self, n_columns: int) -> tuple[int, ...]:
        return (n_columns,)

    def axes(self, Z: Array, M: Mask) -> tuple[Axis, ...]:
        return (eigenvectors(self.similarity(Z, M), per_octave=3),)

    def similarity(self, Z: Array, M: Mask) -> Array:
        known = (~M).astype(np.float64)
        values = np.where(M, 0.0, Z)
        return np.asarray((values.T @ values) / (known.T @ known + _PSEUDO_ROWS))

    def only(self, columns: Mask) -> "Learned":
        return self


def as_layout(given: Any) -> Layout:
    """The layout itself; `InvalidInput` if it is not one."""
    needed = ("homogeneous", "shape", "axes", "similarity", "only")
    if isinstance(given, type) or not all(hasattr(given, name) for name in needed):
        raise InvalidInput(
            "layout must be None or a layout of manifill.layouts, such as Grid(height, width), "
            f"Points(coordinates), Distances(matrix), Affinities(matrix) or Learned(); got {given!r}."
        )
    layout: Layout = given
    return layout


def shared_scale(layout: Layout | None, n_columns: int) -> Indices | None:
    """(d,), the channel of each column if all columns share one scale; else None."""
    if layout is None or not layout.homogeneous:
        return None
    return np.arange(n_columns) % layout.shape(n_columns)[-1]


def _of_distances(D: Array, scale: float | None) -> Array:
    if (D < 0).any() or not np.allclose(D, D.T):
        raise InvalidInput("Distances between columns must be symmetric and non-negative.")
    if scale is None:
        scale = float(np.median(D[D > 0])) if (D > 0).any() else 1.0
    require_number("scale", scale, above=0)
    values, vectors = np.linalg.eigh(np.exp(-D / scale))
    return np.asarray((vectors * np.clip(values, 0, None)) @ vectors.T)


def _square(name: str, given: npt.ArrayLike) -> Array:
    try:
        matrix = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(f"{name} must be a square table of numbers.") from None
    if (
        not matrix.size
        or matrix.ndim != 2
        or matrix.shape[0] != matrix.shape[1]
        or not np.isfinite(matrix).all()
    ):
        raise InvalidInput(f"{name} must be a square table of finite numbers; got shape {matrix.shape}.")
    return matrix
