"""Multiple imputation: completed tables that differ as the missing values may.

Draws of a sweep: its fill is the conditional mean of a Gaussian process whose covariance is the kernel matrix
K plus the ridge r. With P = (K + rI)⁻¹ the missing values of a column, given the known ones f, have mean
−P[M, M]⁻¹ P[M, A] f and covariance a·P[M, M]⁻¹, where the amplitude a = fᵀ (K[A, A] + rI)⁻¹ f / |A| is the
likeliest. Drawing them so, column after column, sweep after sweep, each with the draws of the others (Gibbs
sampling, as in chained equations), gives tables whose values are uncertain together as they are.

Draws of a field: its fill plus a draw of the field's own deviation, as large as held-out entries were off.
All others: the fill plus errors as expected from held-out entries.
"""

import logging
import math
from collections.abc import Iterator
from typing import Any, cast

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular

from manifill._arrays import Array, Mask
from manifill._fillers import Run
from manifill._fillers.field import FieldFill, FieldFiller
from manifill._fillers.sweep import Ensemble, Ledger
from manifill._problem import Groups, Problem
from manifill._threads import Workers
from manifill._validation import Errors
from manifill.kernels import Pairs
from manifill.solvers import Ridge

_log = logging.getLogger(__name__)

# Sweeps after which values of a row agree.
_SWEEPS = 5
# Rows up to which all pairs are looked at; beyond, fills with errors as expected must do.
_MAX_ROWS = 2000


def draws(
    errors: Errors,
    m: int,
    rng: np.random.Generator,
    *,
    bounds: Array,
    chosen: Groups = (),
    run: Run,
    ensemble: Ensemble | None = None,
    field: tuple[FieldFiller, FieldFill] | None = None,
) -> Iterator[Array]:
    """Yield m fills (n, d) in standard units, drawn from what the missing values may be.

    Parameters
    ----------
    errors : the fill, and what is known of its errors.
    bounds : (2, d), lowest and highest value of a draw, in standard units.
    chosen : columns that are 1 for one of them and 0 for the others; or a single one that is 1 or 0.
    ensemble : what a sweep was made with, where the fill is that of a sweep.
    field : a filler of fields and its fill, where one took part.
    """
    problem = errors.problem
    by_process = (
        ensemble is not None
        and len(problem.Z) <= _MAX_ROWS
        and isinstance(ensemble.solver, Ridge)
        and ensemble.additive
    )
    for i, chain in enumerate(rng.spawn(m)):
        _log.info("drawing table %d of %d", i + 1, m)
        if field is not None:
            off = _as_large_as_expected(errors, field[0].residuals(field[1], chain, run))
            yield _with_errors(errors, off, chain, bounds, chosen)
            continue
        with Workers(run.n_jobs):
            # Each value has about the error it may have, but alone; a chain from there has them agree. From
            # the fill itself it would take long to get as far where columns say nearly the same.
            Z = _with_errors(errors, errors.drawn(chain) * problem.scaling.weight, chain, bounds, chosen)
            if by_process:
                Z = _chain(problem, Z, cast(Ensemble, ensemble), chain, bounds, chosen)
        yield Z


def _as_large_as_expected(errors: Errors, off: Array) -> Array:
    """Deviations (n, d) as large in every column as held-out entries were off.

    A kernel between rows that are filled is too sure of itself.
    """
    M, weight = errors.problem.M, errors.problem.scaling.weight
    count = np.maximum(M.sum(axis=0), 1)
    expected = np.sqrt((errors.expected**2).sum(axis=0) / count) * weight
    layout = errors.problem.layout
    there = np.sqrt((np.where(M, off, 0.0) ** 2).sum(axis=0) / count)
    if layout is not None and layout.homogeneous:
        return off * math.sqrt((errors.expected[M] ** 2).mean() / max(float((off[M] ** 2).mean()), 1e-24))
    return np.asarray(off * expected / np.maximum(there, 1e-12))


def _chain(
    problem: Problem, Z: Array, ensemble: Ensemble, rng: np.random.Generator, bounds: Array, chosen: Groups
) -> Array:
    ledger = Ledger(ensemble.statistics, Z)
    groups = [np.array(group) for group in problem.groups if problem.incomplete[list(group)].any()]
    of_some = {group[0] for group in chosen}
    for _ in range(_SWEEPS):
        for i in rng.permutation(len(groups)):
            group = groups[i]
            P = _precision(ensemble, ledger.take_out(group))
            drawn = ledger.left[:, group].copy()
            M = problem.M[:, group[0]]
            if group[0] in of_some:
                means = [
                    _mean(P, M, problem.Z[:, j]) * ensemble.shrinkage_of(group[[k]])
                    for k, j in enumerate(group)
                ]
                drawn[M] = _chosen(problem, group, np.column_stack(means), rng)
            else:
                for k, j in enumerate(group):
                    if problem.incomplete[j]:
                        drawn[M, k] = _draw(
                            P, M, problem.Z[:, j], float(ensemble.shrinkage_of(group[[k]])[0]), rng
                        )
                drawn[M] = np.clip(drawn[M], bounds[0, group], bounds[1, group])
            ledger.put_back(group, drawn)
    drawn_table: Array = ledger.left
    return drawn_table


def _precision(ensemble: Ensemble, pairs: Pairs) -> Array:
    """P = (K + rI)⁻¹ of the mean kernel matrix and ridge of an ensemble."""
    total = sum(component.weight for component in ensemble.components)
    S: Array = np.zeros(0)
    for component in ensemble.components:
        K = np.asarray(component.kernel.tuned(pairs).matrix(pairs), dtype=np.float64)
        unit = float(np.abs(np.diagonal(K)).mean()) or 1.0
        part = component.weight / total * K / unit
        S = part if not S.size else S + part
        S.reshape(-1)[:: len(S) + 1] += component.weight / total * cast(Ridge, component.solver).ridge + 1e-10
    P: Array = cho_solve((cholesky(S, lower=True, check_finite=False), True), np.eye(len(S)))
    return P


def _mean(P: Array, M: Mask, f: Array) -> Array:
    mean: Array = -cho_solve((cholesky(P[np.ix_(M, M)], lower=True), True), P[np.ix_(M, ~M)] @ f[~M])
    return mean


def _draw(P: Array, M: Mask, f: Array, shrinkage: float, rng: np.random.Generator) -> Array:
    """Missing values of a function, drawn given the known ones; standard normal where nothing is learned."""
    A = ~M
    L = cholesky(P[np.ix_(M, M)], lower=True)
    pull = P[np.ix_(M, A)] @ f[A]
    mean: Array = -cho_solve((L, True), pull)
    amplitude = max(float(f[A] @ P[np.ix_(A, A)] @ f[A] + pull @ mean), 0.0) / max(int(A.sum()), 1)
    noise: Array = math.sqrt(amplitude) * solve_triangular(
        L, rng.standard_normal(len(mean)), lower=True, trans="T"
    )
    alone = rng.standard_normal(len(mean))
    return shrinkage * mean + math.sqrt(shrinkage) * noise + math.sqrt(1 - shrinkage) * alone


def _chosen(problem: Problem, group: Any, standard: Array, rng: np.random.Generator) -> Array:
    """One of the columns of a group for every row, with the probabilities that the numbers say."""
    scaling = problem.scaling
    values = (standard * scaling.scale[group] + scaling.center[group]) * scaling.magnitude[group]
    if len(group) == 1:
        one = (rng.random(len(values)) < np.clip(values[:, 0], 0.0, 1.0))[:, None]
    else:
        odds = np.clip(values, 1e-9, 1.0)
        edges = np.cumsum(odds / odds.sum(axis=1, keepdims=True), axis=1)
        place = (rng.random((len(values), 1)) > edges).sum(axis=1)
        one = np.minimum(place, len(group) - 1)[:, None] == np.arange(len(group))
    step = np.where(scaling.std[group] > 0, scaling.scale[group], 1.0)
    drawn: Array = (one / scaling.magnitude[group] - scaling.center[group]) / step
    return np.where(scaling.std[group] > 0, drawn, 0.0)


def _with_errors(
    errors: Errors, off: Array, rng: np.random.Generator, bounds: Array, chosen: Groups
) -> Array:
    """The fill, with errors `off` (n, d) in standard units added to the missing entries."""
    problem = errors.problem
    Z: Array = np.clip(errors.Z + off, *bounds)
    Z = np.where(problem.M & (problem.scaling.std > 0), Z, errors.Z)
    for group in map(np.array, chosen):
        M = problem.M[:, group[0]]
        if problem.incomplete[group].any():
            Z[np.ix_(M, group)] = _chosen(problem, group, errors.Z[np.ix_(M, group)], rng)
    return Z
