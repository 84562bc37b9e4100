"""Rubin's rules: pool the estimates from several completed tables into one result."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr, stdtrit

from manifill._arrays import Array
from manifill._checks import require_number
from manifill._messages import text_table
from manifill.errors import InvalidInput

# Degrees of freedom from which Student's t distribution is numerically the normal distribution.
_MAX_DF = 1e9


@dataclass(frozen=True, eq=False)
class Pooled:
    """Estimates pooled over m completed tables, by Rubin's rules.

    Attributes
    ----------
    names : (p,), names of the estimates.
    estimate : (p,), means over the tables.
    error : (p,), standard errors: √(within + (1 + 1/m) between).
    df : (p,), degrees of freedom (Barnard and Rubin 1999).
    within, between : (p,), mean variance within tables, and variance between tables.
    missing_information : (p,), fraction of missing information of each estimate.
    """

    names: tuple[str, ...]
    estimate: Array
    error: Array
    df: Array
    within: Array
    between: Array
    missing_information: Array

    def interval(self, level: float = 0.95) -> Array:
        """Confidence intervals, (p, 2)."""
        require_number("level", level, above=0, below=1)
        half = _quantile(self.df, (1 + level) / 2) * self.error
        return np.column_stack([self.estimate - half, self.estimate + half])

    @property
    def p_value(self) -> Array:
        """Two-sided p-values of the hypothesis that an estimate is 0, (p,)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            p: Array = 2 * stdtr(np.minimum(self.df, _MAX_DF), -np.abs(self.estimate / self.error))
        return p

    def __str__(self) -> str:
        header = ("", "estimate", "error", "df", "95 % from", "to", "missing information")
        columns = (self.estimate, self.error, self.df, self.interval(), self.missing_information)
        forms = ("{:.4g}", "{:.4g}", "{:.1f}", "{:.4g}", "{:.4g}", "{:.2f}")
        rows = [
            (name, *(form.format(value) for form, value in zip(forms, row, strict=True)))
            for name, row in zip(self.names, np.column_stack(columns).tolist(), strict=True)
        ]
        return text_table(header, rows)


def pool(
    fits: Sequence[Any],
    errors: npt.ArrayLike | None = None,
    *,
    df: float | None = None,
    names: Sequence[str] | None = None,
) -> Pooled:
    """Pool the estimates from m completed tables by Rubin's rules.

    Parameters
    ----------
    fits : m results of statsmodels (with `params` and `bse`), m fitted models of scikit-learn (with `coef_`
        and `intercept_`), or estimates, (m,) or (m, p).
    errors : (m,) or (m, p), standard errors of the estimates; required unless the fits have `bse`.
    df : degrees of freedom of an estimate from complete data, such as rows − parameters; default `df_resid`
        of the fits, or infinity.
    names : (p,), names of the estimates; default those of the fits, or x0, x1, ….

    Examples
    --------
    >>> pooled = pool([1.0, 1.2, 1.1], [0.2, 0.2, 0.2], df=100)
    >>> round(float(pooled.estimate[0]), 2), round(float(pooled.error[0]), 3)
    (1.1, 0.231)
    """
    if len(fits) < 2:
        raise InvalidInput(f"Pooling needs estimates from at least two tables; got {len(fits)}.")
    Q, own_names = _estimates(fits)
    U = _squared_errors(fits, errors, Q.shape)
    nu_com = _complete_df(fits, df)
    m = len(Q)
    within, between = U.mean(axis=0), Q.var(axis=0, ddof=1)
    total = within + (1 + 1 / m) * between
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(total > 0, (1 + 1 / m) * between / total, 0.0)
        nu_tables = (m - 1) / share**2
        nu_observed = (nu_com + 1) / (nu_com + 3) * nu_com * (1 - share) if np.isfinite(nu_com) else np.inf
        nu = np.where(np.isinf(nu_tables), nu_observed, 1 / (1 / nu_tables + 1 / np.asarray(nu_observed)))
        increase = np.where(within > 0, (1 + 1 / m) * between / within, np.inf)
        fraction = np.where(np.isinf(increase), 1.0, (increase + 2 / (nu + 3)) / (1 + increase))
    labels = tuple(map(str, names or own_names or [f"x{i}" for i in range(Q.shape[1])]))
    if len(labels) != Q.shape[1]:
        raise InvalidInput(f"names must have {Q.shape[1]} entries, one for each estimate; got {len(labels)}.")
    return Pooled(labels, Q.mean(axis=0), np.sqrt(total), nu, within, between, fraction)


def _estimates(fits: Sequence[Any]) -> tuple[Array, list[str] | None]:
    first = fits[0]
    names: list[str] | None = None
    if hasattr(first, "params") and hasattr(first, "bse"):
        names = list(getattr(first.params, "index", [])) or None
        rows = [np.asarray(fit.params, dtype=np.float64) for fit in fits]
    elif hasattr(first, "coef_"):
        rows = [np.concatenate([np.ravel(fit.intercept_), np.ravel(fit.coef_)]) for fit in fits]
        features = getattr(first, "feature_names_in_", None)
        if features is not None and len(features) + 1 == len(rows[0]):
            names = ["intercept", *features]
    else:
        rows = [np.atleast_1d(np.asarray(fit, dtype=np.float64)) for fit in fits]
    if len({row.shape for row in rows}) > 1 or rows[0].ndim != 1:
        raise InvalidInput("All tables must have the same estimates, a number or a list of numbers each.")
    if not np.isfinite(rows).all():
        raise InvalidInput("Estimates must be finite numbers; some of these are not.")
    return np.array(rows), names


def _squared_errors(fits: Sequence[Any], errors: npt.ArrayLike | None, shape: tuple[int, ...]) -> Array:
    if errors is None and hasattr(fits[0], "bse"):
        errors = [np.asarray(fit.bse, dtype=np.float64) for fit in fits]
    if errors is None:
        raise InvalidInput(
            "Rubin's rules need the standard error of every estimate; these fits have none (`bse`). Give "
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
    """Quantiles of Student's t distribution."""
    quantile: Array = stdtrit(np.minimum(df, _MAX_DF), probability)
    return quantile


def _complete_df(fits: Sequence[Any], df: float | None) -> float:
    if df is not None:
        require_number("df", df, above=0)
        return float(df)
    return float(getattr(fits[0], "df_resid", math.inf))
