"""What is known of the layout of columns: a grid, a line, points, distances, a kernel; or learned."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from manifill.arrays import Array, Mask
from manifill.checks import require_number
from manifill.errors import InvalidInput
from manifill.geometry.axes import Axis, channels, cosines, eigenvectors

# Rows that count as few to tell a correlation from.
_FEW = 5.0


class Geometry(Protocol):
    """How the columns of a table lie to each other.

    `alike` says that all columns measure the same thing in the same unit, as pixels do; else each column has
    a mean and a spread of its own. `shape` is that of one row, and `axes` are the harmonics along each of its
    directions, given the table as it is filled so far and what of it is missing.
    """

    alike: bool

    def shape(self, n_columns: int) -> tuple[int, ...]: ...

    def axes(self, n_columns: int, Z: Array, M: Mask) -> tuple[Axis, ...]: ...

    def some(self, kept: Mask) -> "Geometry": ...


@runtime_checkable
class Likeness(Protocol):
    """A geometry that says of each two columns how alike they are, (d, d), as a correlation does."""

    def likeness(self, Z: Array, M: Mask) -> Array: ...


@dataclass(frozen=True)
class Grid:
    """Columns that are the pixels of a picture, row by row; of several channels, the channels last."""

    height: int
    width: int
    channels: int = 1
    alike = True

    def __post_init__(self) -> None:
        for name in ("height", "width", "channels"):
            require_number(name, getattr(self, name), least=1, whole=True)

    def shape(self, n_columns: int) -> tuple[int, ...]:
        size = self.height * self.width * self.channels
        if size != n_columns:
            raise InvalidInput(f"columns={self} means {size} columns; X has {n_columns}.")
        return self.height, self.width, self.channels

    def axes(self, n_columns: int, Z: Array, M: Mask) -> tuple[Axis, ...]:
        return cosines(self.height), cosines(self.width), channels(self.channels)

    def some(self, kept: Mask) -> "Grid":
        return self  # pixels of which nothing is known are filled too


@dataclass(frozen=True)
class Line:
    """Columns, or rows, that follow each other at even steps, such as moments in time."""

    alike = True

    def shape(self, n_columns: int) -> tuple[int, ...]:
        return (n_columns,)

    def axes(self, n_columns: int, Z: Array, M: Mask) -> tuple[Axis, ...]:
        return (cosines(n_columns, per_octave=3),)

    def some(self, kept: Mask) -> "Line":
        return self


@dataclass(frozen=True, eq=False)
class Affinities:
    """Columns of which a kernel says how alike they are: symmetric, positive semi-definite, (d, d)."""

    kernel: npt.ArrayLike
    alike = False

    def __post_init__(self) -> None:
        K = _square("kernel", self.kernel)
        if not np.allclose(K, K.T, rtol=1e-6, atol=1e-9 * np.abs(K).max()):
            raise InvalidInput("A kernel between columns must be symmetric; this one is not.")
        lowest = np.linalg.eigvalsh(K)[0]
        if lowest < -1e-6 * np.abs(K).max():
            raise InvalidInput(
                f"A kernel between columns must be positive semi-definite; it has an eigenvalue {lowest:.3g}."
            )

    def shape(self, n_columns: int) -> tuple[int, ...]:
        if len(np.asarray(self.kernel)) != n_columns:
            raise InvalidInput(
                f"The geometry of the columns is of {len(np.asarray(self.kernel))}; X has {n_columns}."
            )
        return (n_columns,)

    def axes(self, n_columns: int, Z: Array, M: Mask) -> tuple[Axis, ...]:
        return (eigenvectors(np.asarray(self.kernel, dtype=np.float64)),)

    def likeness(self, Z: Array, M: Mask) -> Array:
        """The kernel, of each column with itself 1."""
        K = np.asarray(self.kernel, dtype=np.float64)
        sizes = np.sqrt(np.maximum(np.diag(K), 1e-300))
        return np.asarray(K / sizes / sizes[:, None])

    def some(self, kept: Mask) -> "Affinities":
        """Only of the columns that are kept."""
        return self if kept.all() else Affinities(np.asarray(self.kernel)[np.ix_(kept, kept)])


def Distances(distances: npt.ArrayLike, scale: float | None = None) -> Affinities:
    """Columns with a distance between each two, (d, d): the kernel exp(−distance / scale).

    `scale` is the median distance where None is given. Distances that are not those of points in a plane or
    in space can give a kernel that is not positive; what is negative of it is left out.
    """
    D = _square("distances", distances)
    if (D < 0).any() or not np.allclose(D, D.T):
        raise InvalidInput("Distances between columns must be symmetric and not negative.")
    if scale is None:
        scale = float(np.median(D[D > 0])) if (D > 0).any() else 1.0
    require_number("scale", scale, above=0)
    values, vectors = np.linalg.eigh(np.exp(-D / scale))
    return Affinities((vectors * np.clip(values, 0, None)) @ vectors.T)


def Points(coordinates: npt.ArrayLike, scale: float | None = None) -> Affinities:
    """Columns at points in the plane or in space, (d, dimensions), such as sensors."""
    try:
        P = np.asarray(coordinates, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput("coordinates must be a table of finite numbers, a row a column.") from None
    if not P.size or P.ndim != 2 or not np.isfinite(P).all():
        raise InvalidInput(f"coordinates must be a table of finite numbers, a row a column; got {P.shape}.")
    return Distances(np.linalg.norm(P[:, None] - P[None], axis=2), scale)


@dataclass(frozen=True)
class Learned:
    """Columns whose likeness is learned: their correlations where both of two columns are known.

    Of the fill nothing is taken: what it lacks, its correlations lack too, and it would never change.
    """

    alike = False

    def shape(self, n_columns: int) -> tuple[int, ...]:
        return (n_columns,)

    def axes(self, n_columns: int, Z: Array, M: Mask) -> tuple[Axis, ...]:
        return (eigenvectors(self.likeness(Z, M), per_octave=3),)

    def likeness(self, Z: Array, M: Mask) -> Array:
        """Correlations. Two columns known together in few rows are taken for less alike than they seem."""
        known = (~M).astype(np.float64)
        values = np.where(M, 0.0, Z)
        return np.asarray((values.T @ values) / (known.T @ known + _FEW))

    def some(self, kept: Mask) -> "Learned":
        return self


def as_geometry(name: str, given: Any) -> Geometry:
    """Refuse what is no geometry."""
    if isinstance(given, type) or not (
        hasattr(given, "axes") and hasattr(given, "shape") and hasattr(given, "alike")
    ):
        raise InvalidInput(
            f"{name} must be a geometry of manifill.geometry, such as Grid(height, width), Line(), "
            f"Points(coordinates), Distances(matrix), Affinities(matrix) or Learned(); got {given!r}."
        )
    geometry: Geometry = given
    return geometry


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
