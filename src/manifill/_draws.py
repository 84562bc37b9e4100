"""Multiple imputation: completed tables drawn from the distribution of the missing values.

Sweep: its fill is the conditional mean of a Gaussian process with covariance K + rI, the kernel matrix plus
the ridge. With P = (K + rI)⁻¹, the missing values M of a column, given the known ones f in rows A, have mean
−P[M, M]⁻¹ P[M, A] f and covariance a·P[M, M]⁻¹. The amplitude a = fᵀ (K[A, A] + rI)⁻¹ f / |A| is the maximum
likelihood estimate. Columns are drawn in turn, each given the draws of the others, for several sweeps (Gibbs
sampling, as in chained equations). So the draws of a row have the joint distribution of its missing values.

Field: its fill plus a draw of the residual of the Gaussian field, scaled to the errors of held-out entries.
Other fillers: the fill plus random errors of the size of those of held-out entries.
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
from manifill._ordering import Groups
from manifill._problem import Problem
from manifill._threads import Workers
from manifill._validation import Errors
from manifill.kernels import Pairs
from manifill.solvers import Ridge

_log = logging.getLogger(__name__)

# Gibbs sweeps of a draw. Set by hand, not tuned; docs/benchmarks/tables.md has the coverage of pooled
# estimates with it.
_SWEEPS = 5
# Rows up to which draws use the kernel matrix of all pairs; longer tables get the fill plus random errors.
_MAX_ROWS = 2000


def draws(
    errors: Errors,
    m: int,
    rng: np.random.Generator,
    *,
    bounds: Array,
    one_hot: Groups = (),
    run: Run,
    ensemble: Ensemble | None = None,
    field: tuple[FieldFiller, FieldFill] | None = None,
) -> Iterator[Array]:
    """Yield m fills (n, d) in standardised units, with random draws of the missing values.

    Parameters
    ----------
    errors : the fill, and its expected errors.
    bounds : (2, d), lowest and highest value of a draw, in standardised units.
    one_hot : groups of one-hot columns of a category; or single columns that are 0 or 1.
    run : device and threads.
    ensemble : kernels and solvers of the sweep, if the fill is that of a sweep alone.
    field : a field filler and its fill, if it was run.
    """
    problem = errors.problem
    use_process = (
        ensemble is not None
        and len(problem.Z) <= _MAX_ROWS
        and isinstance(ensemble.solver, Ridge)
        and ensemble.additive
    )
    for i, chain in enumerate(rng.spawn(m)):
        _log.info("drawing table %d of %d", i + 1, m)
        with Workers(run.n_jobs):  # not while the caller works on a drawn table: it limits BLAS to one thread
            if field is not None:
                residuals = _rescaled(errors, field[0].residuals(field[1], chain, run))
            else:
                residuals = errors.drawn(chain) * problem.scaling.weight
            # A chain starts from the fill plus random errors of the right size. If columns are highly
            # correlated, a chain that starts from the fill itself would take long to reach that size.
            Z = _with_residuals(errors, residuals, chain, bounds, one_hot)
            if use_process and field is None:
                Z = _chain(problem, Z, cast(Ensemble, ensemble), chain, bounds, one_hot)
        yield Z


def _rescaled(errors: Errors, residuals: Array) -> Array:
    """Residuals (n, d), rescaled to the expected RMS error of each column; of the table if homogeneous.

    Without that they are too small: the kernel between rows treats imputed values as known.
    """
    M, weight = errors.problem.M, errors.problem.scaling.weight
    count = np.maximum(M.sum(axis=0), 1)
    expected = np.sqrt((errors.expected**2).sum(axis=0) / count) * weight
    layout = errors.problem.layout
    actual = np.sqrt((np.where(M, residuals, 0.0) ** 2).sum(axis=0) / count)
    if layout is not None and layout.homogeneous:
        return residuals * math.sqrt(
            (errors.expected[M] ** 2).mean() / max(float((residuals[M] ** 2).mean()), 1e-24)
        )
    return np.asarray(residuals * expected / np.maximum(actual, 1e-12))


def _chain(
    problem: Problem, Z: Array, ensemble: Ensemble, rng: np.random.Generator, bounds: Array, one_hot: Groups
) -> Array:
    """Gibbs sampling of all columns, from the completed table Z (n, d)."""
    ledger = Ledger(ensemble.statistics, Z)
    groups = [np.array(group) for group in problem.groups if problem.incomplete[list(group)].any()]
    categorical = {group[0] for group in one_hot}
    for _ in range(_SWEEPS):
        for i in rng.permutation(len(groups)):
            group = groups[i]
            P = _precision(ensemble, ledger.take_out(group))
            drawn = ledger.left[:, group].copy()
            M = problem.M[:, group[0]]
            if group[0] in categorical:
                means = [
                    _mean(P, M, problem.Z[:, j]) * ensemble.shrinkage_of(group[[k]])
                    for k, j in enumerate(group)
                ]
                drawn[M] = _draw_levels(problem, group, np.column_stack(means), rng)
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
    """P = (K + rI)⁻¹ (n, n), with the weighted mean kernel matrix and ridge of an ensemble."""
    total = sum(component.weight for component in ensemble.components)
    S: Array = np.zeros(0)
    for component in ensemble.components:
        K = np.asarray(component.kernel.tuned(pairs).matrix(pairs), dtype=np.float64)
        scale = float(np.abs(np.diagonal(K)).mean()) or 1.0
        part = component.weight / total * K / scale
        S = part if not S.size else S + part
        S.reshape(-1)[:: len(S) + 1] += component.weight / total * cast(Ridge, component.solver).ridge + 1e-10
    P: Array = cho_solve((cholesky(S, lower=True, check_finite=False), True), np.eye(len(S)))
    return P


def _mean(P: Array, M: Mask, f: Array) -> Array:
    """Conditional mean of the missing values of a column f (n,)."""
    mean: Array = -cho_solve((cholesky(P[np.ix_(M, M)], lower=True), True), P[np.ix_(M, ~M)] @ f[~M])
    return mean


def _draw(P: Array, M: Mask, f: Array, shrinkage: float, rng: np.random.Generator) -> Array:
    """Draw the missing values of a column f (n,) given the known ones; standard normal for shrinkage 0."""
    A = ~M
    L = cholesky(P[np.ix_(M, M)], lower=True)
    projection = P[np.ix_(M, A)] @ f[A]
    mean: Array = -cho_solve((L, True), projection)
    amplitude = max(float(f[A] @ P[np.ix_(A, A)] @ f[A] + projection @ mean), 0.0) / max(int(A.sum()), 1)
    noise: Array = math.sqrt(amplitude) * solve_triangular(
        L, rng.standard_normal(len(mean)), lower=True, trans="T"
    )
    marginal = rng.standard_normal(len(mean))
    return shrinkage * mean + math.sqrt(shrinkage) * noise + math.sqrt(1 - shrinkage) * marginal


def _draw_levels(problem: Problem, group: Any, Z: Array, rng: np.random.Generator) -> Array:
    """One-hot rows in standardised units: one column of the group each, with its fill Z as probability."""
    scaling = problem.scaling
    values = (Z * scaling.scale[group] + scaling.center[group]) * scaling.magnitude[group]
    if len(group) == 1:
        one = (rng.random(len(values)) < np.clip(values[:, 0], 0.0, 1.0))[:, None]
    else:
        clipped = np.clip(values, 1e-9, 1.0)
        edges = np.cumsum(clipped / clipped.sum(axis=1, keepdims=True), axis=1)
        level = (rng.random((len(values), 1)) > edges).sum(axis=1)
        one = np.minimum(level, len(group) - 1)[:, None] == np.arange(len(group))
    step = np.where(scaling.std[group] > 0, scaling.scale[group], 1.0)
    drawn: Array = (one / scaling.magnitude[group] - scaling.center[group]) / step
    return np.where(scaling.std[group] > 0, drawn, 0.0)


def _with_residuals(
    errors: Errors, residuals: Array, rng: np.random.Generator, bounds: Array, one_hot: Groups
) -> Array:
    """The fill with residuals (n, d), in standardised units, added to the missing entries."""
    problem = errors.problem
    Z: Array = np.clip(errors.Z + residuals, *bounds)
    Z = np.where(problem.M & (problem.scaling.std > 0), Z, errors.Z)
    for group in map(np.array, one_hot):
        M = problem.M[:, group[0]]
        if problem.incomplete[group].any():
            Z[np.ix_(M, group)] = _draw_levels(problem, group, errors.Z[np.ix_(M, group)], rng)
    return Z
