"""Harmonics along one axis of a table, such as its rows or the height of a picture."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy.linalg import eigh

from manifill._arrays import Array, Indices, Tensor, frozen
from manifill._threads import product, share

# Lower bound on eigenvalues, relative to the largest. Smaller ones are rounding errors.
_ROUNDING = 1e-12
# Array entries that one thread transforms at a time.
_CHUNK = 2**17


@dataclass(frozen=True, eq=False)
class Axis:
    """Orthonormal harmonics along one axis, from the smoothest to the roughest.

    Attributes
    ----------
    size : number of positions.
    basis : (size, size), a harmonic in every column; None for the identity.
    roughness : (size,), roughness of each harmonic, used only for the initial variances.
    edges : (cells,), index of the first harmonic of every cell. The harmonics of a cell share a variance.
    waves : True if the harmonics are cosines. A missing region then mixes each harmonic with its neighbours,
        else with all others.
    """

    size: int
    basis: Array | None
    roughness: Array
    edges: Indices
    waves: bool = False

    @cached_property
    def averages(self) -> Array:
        """(cells, size), matrix that takes the mean over every cell."""
        width = np.diff(np.append(self.edges, self.size))
        return frozen(np.repeat(np.diag(1 / width), width, axis=1))

    @cached_property
    def interpolation(self) -> Array:
        """(size, cells), matrix that interpolates from cells to harmonics, linearly in log(1 + index)."""
        places = np.log1p(np.arange(self.size))
        centres = self.averages @ places
        return frozen(np.column_stack([np.interp(places, centres, unit) for unit in np.eye(len(centres))]))


def separate(size: int) -> Axis:
    """Independent positions, all in one cell."""
    return Axis(size, None, np.zeros(1), np.zeros(1, dtype=np.intp))


def cosines(size: int, per_octave: int = 2) -> Axis:
    """Evenly spaced positions: cosines, the harmonics of a path graph."""
    k = np.arange(size)
    basis = np.cos(np.pi * np.outer(k + 0.5, k) / size) * np.sqrt(2 / size)
    basis[:, 0] /= np.sqrt(2)
    return Axis(size, frozen(basis), 2 - 2 * np.cos(np.pi * k / size), octaves(size, per_octave), waves=True)


def channels(size: int) -> Axis:
    """Colour channels: the harmonics are their sum, then differences, each a cell of its own."""
    axis = cosines(size)
    return Axis(size, axis.basis, np.where(np.arange(size) > 0, 0.05, 0.0), np.arange(size))


def eigenvectors(K: Array, per_octave: int = 2) -> Axis:
    """Positions with a kernel matrix K: its eigenvectors, largest eigenvalue first."""
    values, vectors = eigh(K)
    values, vectors = np.clip(values[::-1], max(_ROUNDING * abs(values[-1]), 1e-300), None), vectors[:, ::-1]
    roughness = np.sqrt(values.mean() / values)
    return Axis(len(K), frozen(np.ascontiguousarray(vectors)), roughness, octaves(len(K), per_octave))


def octaves(size: int, per_octave: int) -> Indices:
    """First indices of cells of geometrically growing width: `per_octave` cells per doubling of the index."""
    edges, edge = [0], 1.0
    while round(edge) < size:
        edges.append(max(edges[-1] + 1, round(edge)))
        edge = max(edge, edges[-1]) * 2 ** (1 / per_octave)
    return np.unique([edge for edge in edges if edge < size])


def along(A: Tensor, V: Tensor, axis: int) -> Tensor:
    """The matrix A applied to V along one of its axes: numpy arrays in threads, tensors on their device."""
    shape = V.shape
    before, after = int(np.prod(shape[:axis])), int(np.prod(shape[axis + 1 :]))
    size = (*shape[:axis], len(A), *shape[axis + 1 :])
    if after == 1:
        return product(V.reshape(before, -1), A.T).reshape(size)
    if before == 1:
        return product(A, V.reshape(shape[axis], after)).reshape(size)
    V = V.reshape(before, shape[axis], after)
    if not isinstance(V, np.ndarray):
        return (A @ V).reshape(size)
    out = np.empty((before, len(A), after), V.dtype)
    step = max(1, _CHUNK // (V.shape[1] * after))

    def run(ends: tuple[int, int]) -> None:
        np.matmul(A, V[slice(*ends)], out=out[slice(*ends)])

    share(run, pairwise([*range(0, before, step), before]))
    return out.reshape(size)
