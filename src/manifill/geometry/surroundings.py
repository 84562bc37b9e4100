"""Columns filled once more, each from its surroundings: columns like it, in its row and in the rows around.

Of all columns of a wide table few have to do with a given one, and a kernel of all of them hardly sees those.
So here every column has a kernel of its own: rows are compared by the columns most like it, by how alike they
are; where rows are in order, also by what these and the column itself were in the rows before and after, and
by what is expected of it from its own known values in time. A fill is there already. It tells what is missing
of the surroundings.
"""

import numpy as np

from manifill.arrays import Array, Indices
from manifill.geometry.problem import FieldProblem
from manifill.geometry.restoring import MOST_ROWS
from manifill.geometry.windows import parts
from manifill.kernels import Laplacian, MedianDistance, Pairs, SemiLinear
from manifill.progress import say
from manifill.solvers import Columns, Ridge
from manifill.timeline import Timeline

# Tried on traffic, air and weather, with holes that are scattered and in runs: all of these numbers may be
# half as large or twice without much loss (docs/pictures.md).
_NEAREST, _LEAST = 25, 0.4
_STEPS, _BEFORE_AND_AFTER, _EXPECTED = (-2, -1, 1, 2), 0.7, 2.0
_KERNEL, _SOLVER = SemiLinear(Laplacian(MedianDistance(0.5, sample=150)), 1.0), Ridge(0.1)
# After the second sweep fills drift: the surroundings are then fills of fills.
_SWEEPS = 2
# Multiplications in a sweep that are worth a minute's wait: tables with more are filled in shorter parts.
_MUCH_WORK, _FEW_ROWS = 2e12, 300

Near = tuple[Indices, Array]
"""The columns most like one, and what each of them counts."""


def from_surroundings(problem: FieldProblem, likeness: Array, Z: Array, rng: np.random.Generator) -> Array:
    """Fill a table once more that is filled already, `Z` (n, d) in standard units.

    `likeness` (d, d) says how alike each two columns are, 0 to 1 or −1.
    """
    n, d = Z.shape
    most = int(np.clip(np.sqrt(_MUCH_WORK / (n * d)), _FEW_ROWS, MOST_ROWS))
    nearest = [_nearest(j, np.abs(row)) for j, row in enumerate(likeness)]
    found = np.zeros_like(Z)
    for part in parts(n, most, rng, in_order=problem.rows is not None):
        found[part.rows] += part.spread(_filled(problem.some_rows(part.rows), nearest, Z[part.rows], rng))
    return found


def timeline_of(problem: FieldProblem) -> Timeline:
    """Its columns in order of time, in standard units."""
    return Timeline(np.where(problem.M, np.nan, problem.Y), np.arange(len(problem.Y), dtype=np.float64))


def _filled(problem: FieldProblem, nearest: list[Near], Z: Array, rng: np.random.Generator) -> Array:
    Y, M, Z = problem.Y.astype(np.float64), problem.M, Z.copy()
    expected = None if problem.rows is None else timeline_of(problem).companions()
    steps = [step for step in _STEPS if abs(step) < len(Z)]
    for sweep in range(_SWEEPS):
        say(f"every column from its surroundings: sweep {sweep + 1} of {_SWEEPS}")
        for j in rng.permutation(np.flatnonzero(M.any(axis=0) & ~M.all(axis=0))):
            near, weights = nearest[j]
            seen = [Z[:, near] * weights]
            if expected is not None:
                around = Z[:, [j, *near]] * np.array([1.0, *weights])
                seen += [_BEFORE_AND_AFTER * around[_moved(len(Z), step)] for step in steps]
                seen += [_EXPECTED * expected[:, [j]]]
            pairs = Pairs.of(np.hstack(seen), statistics=_KERNEL.statistics)
            K = _KERNEL.tuned(pairs).matrix(pairs)
            extended, _ = Columns(F=Y[:, [j]], M=M[:, [j]]).extension(K, _SOLVER)
            Z[M[:, j], j] = extended[M[:, j], 0]
    return Z


def _nearest(j: int, likeness: Array) -> Near:
    order = np.argsort(-likeness, kind="stable")
    near = order[order != j][:_NEAREST]
    return near, _LEAST + (1 - _LEAST) * np.minimum(likeness[near], 1.0) ** 2


def _moved(n: int, step: int) -> Indices:
    """The row so many steps after each; at the ends as many before, for no row may be its own neighbour."""
    rows = np.arange(n)
    inside = (rows + step >= 0) & (rows + step < n)
    return np.asarray(np.where(inside, rows + step, np.clip(rows - step, 0, n - 1)))
