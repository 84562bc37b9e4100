"""Multiple imputation: completed tables that differ as they should, and Rubin's rules to pool their results.

A fill is the conditional mean of a Gaussian process whose covariance is the kernel matrix K plus the ridge r.
With P = (K + rI)⁻¹ the missing values of a column, given the known ones f, have mean −P[M, M]⁻¹ P[M, A] f and
covariance a·P[M, M]⁻¹, where the amplitude a = fᵀ (K[A, A] + rI)⁻¹ f / |A| is the likeliest. Drawing them so,
column after column, sweep after sweep, each with the draws of the others (Gibbs sampling, as in chained
equations), gives tables whose values are uncertain together as they are.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.special import stdtr, stdtrit

from manifill.arrays import Array, Mask
from manifill.checks import require_number
from manifill.errors import InvalidInput
from manifill.kernels import Pairs
from manifill.progress import say
from manifill.solvers import Ridge
from manifill.sweep import Problem, Recipe
from manifill.sweep.ledger import Ledger
from manifill.sweep.problem import Groups
from manifill.uncertainty import Errors

# Sweeps after which values of a row agree.
_SWEEPS = 5
# Rows up to which all pairs are looked at; beyond, fills with errors as expected must do.
_ROWS = 2000
# Degrees of freedom from which Student's distribution is the normal one.
_MANY = 1e9


def draws(
    errors: Errors,
    recipe: Recipe,
    m: int,
    rng: np.random.Generator,
    *,
    bounds: Array,
    chosen: Groups = (),
) -> Iterator[Array]:
    """Yield m fills (n, d) in standard units, drawn from what the missing values may be.

    Parameters
    ----------
    errors : the fill, and what is known of its errors.
    recipe : what it was made with.
    bounds : (2, d), lowest and highest value of a draw, in standard units.
    chosen : columns that are 1 for one of them and 0 for the others; or a single one that is 1 or 0.
    """
    require_number("m", m, least=1, whole=True)
    problem = errors.problem
    by_process = len(problem.Z) <= _ROWS and isinstance(recipe.solver, Ridge) and recipe.additive
    for i, chain in enumerate(rng.spawn(m)):
        say(f"drawing table {i + 1} of {m}")
        # Each value has about the error it may have, but alone; a chain from there has them agree. From the
        # fill itself it would take long to get as far where columns say nearly the same.
        Z = _with_errors(errors, chain, bounds, chosen)
        yield _chain(problem, Z, recipe, chain, bounds, chosen) if by_process else Z


def _chain(
    problem: Problem, Z: Array, recipe: Recipe, rng: np.random.Generator, bounds: Array, chosen: Groups
) -> Array:
    ledger = Ledger(recipe.statistics, Z)
    groups = [np.array(group) for group in problem.groups if problem.incomplete[list(group)].any()]
    of_some = {group[0] for group in chosen}
    for _ in range(_SWEEPS):
        for i in rng.permutation(len(groups)):
            group = groups[i]
            P = _precision(recipe, ledger.take_out(group))
            drawn = ledger.left[:, group].copy()
            M = problem.M[:, group[0]]
            if group[0] in of_some:
                means = [
                    _mean(P, M, problem.Z[:, j]) * recipe.relied_on(group[[k]]) for k, j in enumerate(group)
                ]
                drawn[M] = _chosen(problem, group, np.column_stack(means), rng)
            else:
                for k, j in enumerate(group):
                    if problem.incomplete[j]:
                        drawn[M, k] = _draw(
                            P, M, problem.Z[:, j], float(recipe.relied_on(group[[k]])[0]), rng
                        )
                drawn[M] = np.clip(drawn[M], bounds[0, group], bounds[1, group])
            ledger.put_back(group, drawn)
    drawn_table: Array = ledger.left
    return drawn_table


def _precision(recipe: Recipe, pairs: Pairs) -> Array:
    """P = (K + rI)⁻¹ of the mean kernel matrix and ridge of a recipe."""
    total = sum(member.weight for member in recipe.members)
    S: Array = np.zeros(0)
    for member in recipe.members:
        K = np.asarray(member.kernel.tuned(pairs).matrix(pairs), dtype=np.float64)
        unit = float(np.abs(np.diagonal(K)).mean()) or 1.0
        part = member.weight / total * K / unit
        S = part if not S.size else S + part
        S.reshape(-1)[:: len(S) + 1] += member.weight / total * cast(Ridge, member.solver).ridge + 1e-10
    P: Array = cho_solve((cholesky(S, lower=True, check_finite=False), True), np.eye(len(S)))
    return P


def _mean(P: Array, M: Mask, f: Array) -> Array:
    mean: Array = -cho_solve((cholesky(P[np.ix_(M, M)], lower=True), True), P[np.ix_(M, ~M)] @ f[~M])
    return mean


def _draw(P: Array, M: Mask, f: Array, reliance: float, rng: np.random.Generator) -> Array:
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
    return reliance * mean + math.sqrt(reliance) * noise + math.sqrt(1 - reliance) * alone


def _chosen(problem: Problem, group: Any, standard: Array, rng: np.random.Generator) -> Array:
    """One of the columns of a group for every row, with the probabilities that the numbers say."""
    scaling = problem.scaling
    values = (standard * scaling.unit[group] + scaling.center[group]) * scaling.magnitude[group]
    if len(group) == 1:
        one = (rng.random(len(values)) < np.clip(values[:, 0], 0.0, 1.0))[:, None]
    else:
        odds = np.clip(values, 1e-9, 1.0)
        edges = np.cumsum(odds / odds.sum(axis=1, keepdims=True), axis=1)
        place = (rng.random((len(values), 1)) > edges).sum(axis=1)
        one = np.minimum(place, len(group) - 1)[:, None] == np.arange(len(group))
    step = np.where(scaling.spread[group] > 0, scaling.unit[group], 1.0)
    drawn: Array = (one / scaling.magnitude[group] - scaling.center[group]) / step
    return np.where(scaling.spread[group] > 0, drawn, 0.0)


def _with_errors(errors: Errors, rng: np.random.Generator, bounds: Array, chosen: Groups) -> Array:
    """The fill, with errors drawn for the missing entries."""
    problem = errors.problem
    Z: Array = np.clip(errors.Z + errors.drawn(rng) * problem.scaling.weight, *bounds)
    Z = np.where(problem.to_learn, Z, errors.Z)
    for group in map(np.array, chosen):
        M = problem.M[:, group[0]]
        if problem.incomplete[group].any():
            Z[np.ix_(M, group)] = _chosen(problem, group, errors.Z[np.ix_(M, group)], rng)
    return Z


@dataclass(frozen=True, eq=False)
class Pooled:
    """Estimates pooled over m completed tables, by Rubin's rules.

    Attributes
    ----------
    names : of the estimates.
    estimate : (p,), their means.
    error : (p,), standard errors: √(within + (1 + 1/m) between).
    df : (p,), degrees of freedom (Barnard and Rubin 1999).
    within, between : (p,), mean variance within tables, and variance between them.
    missing_information : (p,), the share of information about each that the missing values held.
    """

    names: tuple[str, ...]
    estimate: Array
    error: Array
    df: Array
    within: Array
    between: Array
    missing_information: Array

    def interval(self, level: float = 0.95) -> Array:
        """(p, 2), confidence intervals."""
        require_number("level", level, above=0, below=1)
        half = _quantile(self.df, (1 + level) / 2) * self.error
        return np.column_stack([self.estimate - half, self.estimate + half])

    @property
    def p_value(self) -> Array:
        """(p,), of the hypothesis that an estimate is 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            p: Array = 2 * stdtr(np.minimum(self.df, _MANY), -np.abs(self.estimate / self.error))
        return p

    def __str__(self) -> str:
        width = max([8, *map(len, self.names)])
        low, high = self.interval().T
        lines = [
            f"{'':<{width}}  {'estimate':>10}  {'error':>10}  {'df':>8}  {'95 % interval':>23}  missing info"
        ]
        for i, name in enumerate(self.names):
            lines.append(
                f"{name:<{width}}  {self.estimate[i]:>10.4g}  {self.error[i]:>10.4g}  {self.df[i]:>8.1f}  "
                f"{low[i]:>11.4g} {high[i]:>11.4g}  {self.missing_information[i]:>12.2f}"
            )
        return "\n".join(lines)


def pool(
    fits: Sequence[Any],
    errors: npt.ArrayLike | None = None,
    *,
    df: float | None = None,
    names: Sequence[str] | None = None,
) -> Pooled:
    """Pool what was estimated from each of m completed tables, by Rubin's rules.

    Parameters
    ----------
    fits : results of statsmodels (with `params` and `bse`), fitted models of scikit-learn (with `coef_` and
        `intercept_`), or estimates, (m,) or (m, p).
    errors : (m,) or (m, p), standard errors of the estimates; needed unless the fits know their own.
    df : degrees of freedom that an estimate would have if nothing were missing, such as rows − parameters;
        default: those of the fits, or infinitely many.
    names : of the estimates.

    Examples
    --------
    >>> pooled = pool([1.0, 1.2, 1.1], [0.2, 0.2, 0.2], df=100)
    >>> round(float(pooled.estimate[0]), 2), round(float(pooled.error[0]), 3)
    (1.1, 0.231)
    """
    if len(fits) < 2:
        raise InvalidInput(f"Pooling needs the estimates of at least two tables; got {len(fits)}.")
    Q, own_names = _estimates(fits)
    U = _squared_errors(fits, errors, Q.shape)
    complete = _complete_df(fits, df)
    m = len(Q)
    within, between = U.mean(axis=0), Q.var(axis=0, ddof=1)
    total = within + (1 + 1 / m) * between
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(total > 0, (1 + 1 / m) * between / total, 0.0)
        of_draws = (m - 1) / share**2
        observed = (
            (complete + 1) / (complete + 3) * complete * (1 - share) if np.isfinite(complete) else np.inf
        )
        nu = np.where(np.isinf(of_draws), observed, 1 / (1 / of_draws + 1 / np.asarray(observed)))
        increase = np.where(within > 0, (1 + 1 / m) * between / within, np.inf)
        lost = np.where(np.isinf(increase), 1.0, (increase + 2 / (nu + 3)) / (1 + increase))
    labels = tuple(map(str, names or own_names or [f"x{i}" for i in range(Q.shape[1])]))
    if len(labels) != Q.shape[1]:
        raise InvalidInput(f"names must be {Q.shape[1]}, one for each estimate; got {len(labels)}.")
    return Pooled(labels, Q.mean(axis=0), np.sqrt(total), nu, within, between, lost)


def _estimates(fits: Sequence[Any]) -> tuple[Array, list[str] | None]:
    first = fits[0]
    names: list[str] | None = None
    if hasattr(first, "params") and hasattr(first, "bse"):
        names = list(getattr(first.params, "index", [])) or None
        rows = [np.asarray(fit.params, dtype=np.float64) for fit in fits]
    elif hasattr(first, "coef_"):
        rows = [np.concatenate([np.ravel(fit.intercept_), np.ravel(fit.coef_)]) for fit in fits]
        known = getattr(first, "feature_names_in_", None)
        if known is not None and len(known) + 1 == len(rows[0]):
            names = ["intercept", *known]
    else:
        rows = [np.atleast_1d(np.asarray(fit, dtype=np.float64)) for fit in fits]
    if len({row.shape for row in rows}) > 1 or rows[0].ndim != 1:
        raise InvalidInput("All tables must give the same estimates, a number or a list of numbers each.")
    return np.array(rows), names


def _squared_errors(fits: Sequence[Any], errors: npt.ArrayLike | None, shape: tuple[int, ...]) -> Array:
    if errors is None and hasattr(fits[0], "bse"):
        errors = [np.asarray(fit.bse, dtype=np.float64) for fit in fits]
    if errors is None:
        raise InvalidInput(
            "Rubin's rules need the standard error of every estimate; these fits do not know theirs. Give "
            "errors=, one for each estimate of each table."
        )
    U = np.asarray(errors, dtype=np.float64)
    U = U[:, None] if U.ndim == 1 and shape[1] == 1 else U
    if U.shape != shape or not (U >= 0).all():
        raise InvalidInput(
            f"errors must be {shape[0]} × {shape[1]} numbers, none below 0; got shape {U.shape}."
        )
    return U**2


def _quantile(df: Array, probability: float) -> Array:
    """Of Student's distribution."""
    quantile: Array = stdtrit(np.minimum(df, _MANY), probability)
    return quantile


def _complete_df(fits: Sequence[Any], df: float | None) -> float:
    if df is not None:
        require_number("df", df, above=0)
        return float(df)
    return float(getattr(fits[0], "df_resid", math.inf))
