"""Fill a field: rehearse on hidden entries what each stage is worth, then fill, and say how sure it is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from manifill.arrays import Array, Mask, Table, to_numpy
from manifill.geometry.filling import Filled, Stage, stages
from manifill.geometry.hiding import hide, places
from manifill.geometry.problem import FieldProblem
from manifill.geometry.windows import Part, parts
from manifill.progress import say
from manifill.threads import Workers
from manifill.tuning.stacking import stack

# Entries that a rehearsal looks at: with more, weights do not become better.
_REHEARSED = 200 * 4096
_FEWEST_ROWS = 50
# Rows that are compared with each other at a time, for each a row of a matrix.
MOST_ROWS = 2500
# Which part of the squared error of the best single fill a sum of several may leave to be worth it.
_WORTH = 0.995

Beside = Callable[[FieldProblem], npt.NDArray[Any]]
"""Another way to fill a problem: (n, ...) in its standard units."""
# Entries that must lie in a kind of place for its errors to be told apart from others'.
_ENOUGH = 50


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """What hidden entries say.

    Attributes
    ----------
    weights : (k,), what the fill of each stage, and of what is beside them, counts in the sum.
    errors : (k,), root mean square error of each alone, in the user's units; as many count as missing.
    error, simple_error : of the weighted sum, and of the known entries' mean.
    kinds, columns : (h,), kind of place and column of each hidden entry.
    truths, misses : (h,), what it is, and how far its fill was off, in standard units.
    counts : (h,), what each counts.
    """

    weights: Array
    errors: Array
    error: float
    simple_error: float
    kinds: npt.NDArray[Any]
    columns: npt.NDArray[Any]
    truths: Array
    misses: Array
    counts: Array

    def half_widths(self, kinds: npt.NDArray[Any], level: float) -> Array:
        """How far a fill in each kind of place is off at most, in a share `level` of cases."""
        widths = np.full(int(kinds.max(initial=0)) + 1, _quantile(np.abs(self.misses), self.counts, level))
        for kind in np.unique(self.kinds):
            here = self.kinds == kind
            if here.sum() >= _ENOUGH and kind < len(widths):
                widths[kind] = _quantile(np.abs(self.misses[here]), np.ones(int(here.sum())), level)
        return np.asarray(widths[kinds])


@dataclass(frozen=True, eq=False)
class Restored:
    """A completed field, and what is known of it.

    Attributes
    ----------
    problem : what was to be filled.
    Z : (n, ...), the fill in standard units.
    plan : the stages there were; `rehearsal` has what each counts.
    parts : the rows that were filled together.
    last : the last stage that counts, where all rows are one part: of many parts none is kept.
    device : where the arithmetic ran.
    """

    problem: FieldProblem
    Z: npt.NDArray[Any]
    plan: tuple[Stage, ...]
    rehearsal: Rehearsal | None
    parts: tuple[Part, ...] = ()
    last: Filled | None = None
    device: str | None = None

    @property
    def X(self) -> Table:
        """The completed table in the user's units."""
        return self.problem.complete(self.Z)

    def intervals(self, level: float, bounds: npt.ArrayLike | None = None) -> tuple[Table, Table]:
        """Lower and upper ends that hold each missing value with this probability, from hidden entries.

        Where no entry could be hidden nothing is known of the errors, and the ends are those of `bounds`.
        """
        problem, half = self.problem, np.full(self.problem.M.shape, np.inf)
        if self.rehearsal is not None:
            M = problem.M
            half[M] = self.rehearsal.half_widths(places(M, M, problem)[M], level)
        return problem.complete(self.Z - half, bounds), problem.complete(self.Z + half, bounds)

    def drawn(self, rng: np.random.Generator, bounds: npt.ArrayLike | None = None) -> Table:
        """A completed table, drawn from what the missing values may be."""
        if not self.parts:
            return self.X
        off, together = np.zeros(self.Z.shape), np.zeros(len(self.Z))
        plan = self.plan[: _used(self.plan, self.rehearsal) + 1]
        with Workers():
            for part in self.parts:
                filled = self.last
                if filled is None:
                    *_, filled = stages(self.problem.some_rows(part.rows), plan, rng, self.device)
                off[part.rows] += part.spread(to_numpy(filled.field.deviation(filled.variances, rng, 0.1)))
                together[part.rows] += part.share**2
        off = off / np.sqrt(together).reshape(-1, *[1] * (off.ndim - 1))  # two draws vary less than one
        if self.rehearsal is not None:
            # As far off as hidden entries were: a kernel between rows that are filled is too sure of itself.
            misses = np.sqrt(np.average(self.rehearsal.misses**2, weights=self.rehearsal.counts))
            off = off * (misses / max(np.sqrt(np.mean(off[self.problem.M] ** 2)), 1e-12))
        return self.problem.complete(self.Z + off, bounds)


def plan_for(problem: FieldProblem) -> tuple[Stage, ...]:
    """Stages that make sense for these rows."""
    plan = [Stage("columns")]
    if problem.rows is not None and len(problem.M) > 2:
        plan.append(Stage("time"))
    if len(problem.M) > 2:
        plan += [Stage("alike", 0.5, 2), Stage("alike", 0.5, 1)]
    return tuple(plan)


def restore_field(
    problem: FieldProblem,
    rng: np.random.Generator,
    *,
    device: str | None = None,
    n_jobs: int | None = None,
    rehearsal: Rehearsal | None = None,
    judge: bool = True,
    beside: Sequence[Beside] = (),
) -> Restored:
    """Fill the holes of a field.

    Parameters
    ----------
    problem : what is to be filled.
    rng : draws what is hidden, and how far entries may be from where they are expected.
    device : None for numpy, or a device of torch's.
    n_jobs : threads, as in `Workers`.
    rehearsal : of another field of the same kind, to take the weights from; None rehearses on this one.
    judge : rehearse at all? Without, the last stage counts alone.
    beside : other ways to fill, which get weights like the stages; they come after them.
    """
    plan = plan_for(problem)
    hidden_rng, draw_rng = rng.spawn(2)
    if not problem.M.any():
        return Restored(problem, problem.Y, plan, None)
    with Workers(n_jobs):
        if rehearsal is None and judge:
            rehearsal = rehearse(problem, plan, hidden_rng, device, beside)
        weights = np.eye(len(plan))[-1] if rehearsal is None else rehearsal.weights
        used = _used(plan, rehearsal)
        in_order, last = problem.rows is not None, None
        whole = tuple(parts(len(problem.M), MOST_ROWS, draw_rng, in_order=in_order))
        Z = np.zeros(problem.Y.shape, problem.Y.dtype)
        for part in whole:
            steps = stages(problem.some_rows(part.rows), plan[: used + 1], draw_rng, device)
            for weight, last in zip(weights, steps, strict=False):
                Z[part.rows] += part.spread(weight * last.Z)
        for weight, other in zip(weights[len(plan) :], beside, strict=False):
            Z += weight * other(problem) if weight else 0
    Z = np.where(problem.M, Z, problem.Y)
    return Restored(problem, Z, plan, rehearsal, whole, last if len(whole) == 1 else None, device)


def _used(plan: tuple[Stage, ...], rehearsal: Rehearsal | None) -> int:
    """The last stage that counts; the first where none does."""
    if rehearsal is None:
        return len(plan) - 1
    return int(max(np.flatnonzero(rehearsal.weights[: len(plan)]), default=0))


def rehearse(
    problem: FieldProblem,
    plan: tuple[Stage, ...],
    rng: np.random.Generator,
    device: str | None = None,
    beside: Sequence[Beside] = (),
) -> Rehearsal | None:
    """Hide known entries of some rows, and see what each stage makes of them; None if nothing is left."""
    rows = _some_rows(problem, rng)
    part = problem.some_rows(rows)
    hidden = hide(part, rng)
    H: Mask = hidden.H
    if not H.any() or not (~part.M & ~H).any():
        return None
    truth = part.Y[H].astype(np.float64)
    say("rehearsing on hidden entries")
    damaged = part.with_hidden(H)
    fills = [filled.Z[H].astype(np.float64) for filled in stages(damaged, plan, rng, device)]
    fills += [other(damaged)[H].astype(np.float64) for other in beside]
    weights = _weights(np.stack(fills), truth, hidden.weight, np.nonzero(H)[0])
    misses = weights @ np.stack(fills) - truth
    largest = float(np.max(problem.scale))
    unit = largest * float(np.sqrt(np.mean(np.square(problem.scale / largest))))

    def size(off: Array) -> float:
        return unit * float(np.sqrt(np.mean(hidden.weight * off**2)))

    return Rehearsal(
        weights=weights,
        errors=np.array([size(fill - truth) for fill in fills]),
        error=size(misses),
        simple_error=size(truth),
        kinds=hidden.kind,
        columns=np.nonzero(H.reshape(part.given.shape))[1],
        truths=truth,
        misses=misses,
        counts=hidden.weight,
    )


def _weights(fills: Array, truth: Array, counts: Array, rows: npt.NDArray[Any]) -> Array:
    """Weights of the fills (k, h): of several if that is better on rows the weights were not found on."""
    root = np.sqrt(counts)

    def best(some: Any) -> Array:
        return stack(fills[:, some] * root[some], truth[some] * root[some], most=len(fills))

    def single(some: Any) -> Array:
        squares = (counts[some] * (fills[:, some] - truth[some]) ** 2).sum(axis=1)
        return np.asarray(np.eye(len(fills))[int(np.argmin(squares))])

    def crossed(find: Callable[[Any], Array]) -> float:
        halves = [rows % 2 == 0, rows % 2 == 1]
        return sum(
            float((counts[there] * (find(here) @ fills[:, there] - truth[there]) ** 2).sum())
            for here, there in (halves, halves[::-1])
        )

    if len({*(rows % 2).tolist()}) < 2 or crossed(best) > _WORTH * crossed(single):
        return single(np.ones(len(truth), dtype=np.bool_))
    return best(np.ones(len(truth), dtype=np.bool_))


def _some_rows(problem: FieldProblem, rng: np.random.Generator) -> Any:
    n = len(problem.M)
    most = min(MOST_ROWS, max(_FEWEST_ROWS, _REHEARSED // problem.given.shape[1]))
    if n <= most:
        return slice(None)
    if problem.rows is not None:
        first = int(rng.integers(0, n - most + 1))
        return slice(first, first + most)
    return np.sort(rng.permutation(n)[:most])


def _quantile(sizes: Array, counts: Array, level: float) -> float:
    """The weighted quantile of sizes."""
    if not len(sizes):
        return 0.0
    order = np.argsort(sizes)
    reached = np.cumsum(counts[order])
    return float(sizes[order][min(np.searchsorted(reached, level * reached[-1]), len(sizes) - 1)])
