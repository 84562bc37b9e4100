"""Filling a field, in stages that learn more and more from its rows.

1. *columns*: every row for itself, with variances of the columns' harmonics that all rows share.
2. *time*: where rows are in order, on the harmonics of their line.
3. *alike*: on the geometric harmonics of the rows, the eigenvectors of a Gaussian kernel between the rows as
   they are filled by then. This is the paper's kernel, with the columns' geometry beside it.

In each the variances T are learned by expectation and maximisation: expect the missing entries, add one draw
of how far off they may be, and take the mean power of every cell of harmonics.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from manifill.arrays import to_numpy
from manifill.geometry.axes import Axis, cosines, eigenvectors, separate
from manifill.geometry.field import Field
from manifill.geometry.problem import FieldProblem
from manifill.progress import say
from manifill.threads import symmetric_product

# How exactly entries are expected while variances are learned, and at last; in standard deviations.
_ROUGHLY, _EXACTLY = 0.1, 0.03
# Pairs of coefficients that the variances of the round before count for.
_BELIEVED = 2.0
# Variances are no less than this, of the field's: what single and double precision can tell from zero.
_LEAST = {np.dtype(np.float32): 1e-7, np.dtype(np.float64): 1e-10}
# A start for the variances of columns' harmonics: (κ² + roughness)^−2, the smoothness of thin plates.
_FLAT = 0.1**2


@dataclass(frozen=True)
class Stage:
    """What rows have to do with each other: nothing, the time between them, or how alike they are.

    Attributes
    ----------
    rows : "columns" (only), "time" or "alike".
    bandwidth : of the kernel between rows, in medians of their squared distances.
    rounds : how often variances are learned.
    """

    rows: str
    bandwidth: float = 1.0
    rounds: int = 3

    def __str__(self) -> str:
        return f"alike, bandwidth {self.bandwidth:g}" if self.rows == "alike" else self.rows

    def axis(self, Z: Any) -> Axis:
        """The rows' harmonics, given the fill so far."""
        if self.rows == "columns":
            return separate(len(Z))
        if self.rows == "time":
            return cosines(len(Z), per_octave=3)
        return eigenvectors(_affinities(Z, self.bandwidth), per_octave=3)


@dataclass(frozen=True, eq=False)
class Filled:
    """A fill after a stage: Z (n, ...) in standard units, and the field and variances that gave it."""

    problem: FieldProblem
    stage: Stage
    Z: npt.NDArray[Any]
    field: Field
    variances: Any

    @property
    def X(self) -> Any:
        """The completed table."""
        return self.problem.complete(self.Z)


def stages(
    problem: FieldProblem, plan: tuple[Stage, ...], rng: np.random.Generator, device: str | None = None
) -> Iterator[Filled]:
    """Fill stage by stage, each starting from the fill of the one before."""
    filled = None
    for stage in plan:
        filled = _filled(problem, stage, filled, rng, device)
        yield filled


def _filled(
    problem: FieldProblem,
    stage: Stage,
    before: Filled | None,
    rng: np.random.Generator,
    device: str | None,
) -> Filled:
    d, Z = problem.given.shape[1], problem.Y if before is None else before.Z
    flat = np.asarray(Z.reshape(len(Z), d), dtype=np.float64)
    columns = problem.columns.axes(d, flat, problem.M.reshape(len(Z), d))
    axes = (stage.axis(Z), *columns)
    field = Field(axes, problem.M, problem.Y.dtype, device)
    least = _LEAST[problem.Y.dtype]
    Y, missing = field.placed(problem.Y), field.missing
    T, x = field.placed(_first_variances(axes)), None
    if before is not None:
        Z = field.placed(Z)
        learned = before.variances.mean(0)[None]
        x, shares = missing * Z, field.variances(field.harmonics(Z) ** 2, learned, _BELIEVED, least)
        # A fill is smoother than what it fills. So of it only the shares of the rows' harmonics are taken.
        T = shares / shares.mean(0)[None] * learned
    for number in range(stage.rounds):
        say(f"{stage}: round {number + 1} of {stage.rounds}")
        x = field.mean(Y, T, _ROUGHLY, x)
        drawn = field.harmonics(Y + x + field.deviation(T, rng, 2 * _ROUGHLY))
        T = field.variances(drawn**2, T, _BELIEVED, least)
    say(f"{stage}: the fill itself")
    x = field.mean(Y, T, _EXACTLY, x)
    filled = to_numpy(Y + x)
    if stage.rows == "columns":
        filled = _with_empty_rows(filled, problem)
    return Filled(problem, stage, filled, field, T)


def _first_variances(axes: tuple[Axis, ...]) -> npt.NDArray[Any]:
    roughness = np.zeros((1,) * len(axes))
    for i, axis in enumerate(axes):
        if i:  # rows do not count: their variances are those of a fill
            roughness = roughness + axis.roughness.reshape([-1 if j == i else 1 for j in range(len(axes))])
    T = (_FLAT + roughness) ** -2.0
    return np.asarray(T / T.mean() + 1e-3)


def _affinities(Z: npt.NDArray[Any], bandwidth: float) -> npt.NDArray[Any]:
    """A Gaussian kernel between rows, centred, with a constant part: the mean of all rows is a harmonic."""
    flat = Z.reshape(len(Z), -1)
    products = symmetric_product(flat, np.ascontiguousarray(flat.T)).astype(np.float64)
    squares = np.diag(products)
    D = np.clip(squares[:, None] + squares - 2 * products, 0, None)
    typical = np.median(D[D > 0]) if (D > 0).any() else 1.0
    K = np.exp(-D / (bandwidth * typical))
    K -= K.mean(axis=0)
    K -= K.mean(axis=1)[:, None]
    return np.asarray(K / max(np.trace(K) / len(K), 1e-12) + 1)


def _with_empty_rows(Z: npt.NDArray[Any], problem: FieldProblem) -> npt.NDArray[Any]:
    """Rows without any known value: between those before and after them in time, or the mean of all rows."""
    empty = problem.M.reshape(len(Z), -1).all(axis=1)
    if not empty.any() or empty.all():
        return Z
    Z = Z.copy()
    if problem.rows is None:
        Z[empty] = Z[~empty].mean(axis=0)
        return Z
    known, places = np.flatnonzero(~empty), np.flatnonzero(empty)
    after = np.clip(np.searchsorted(known, places), 0, len(known) - 1)
    before = np.clip(after - 1, 0, None)
    gap = np.maximum(known[after] - known[before], 1)
    share = np.clip((places - known[before]) / gap, 0, 1).reshape(-1, *[1] * (Z.ndim - 1)).astype(Z.dtype)
    Z[empty] = Z[known[before]] * (1 - share) + Z[known[after]] * share
    return Z
