"""Rubin's rules: one result of what was estimated from several completed tables."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr, stdtrit

from manifill._arrays import Array
from manifill._checks import require_number
from manifill.errors import InvalidInput

# Degrees of freedom from which Student's distribution is the normal one.
_MANY = 1e9


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
    if not np.isfinite(rows).all():
        raise InvalidInput("Estimates must be finite numbers; some of these are not.")
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
