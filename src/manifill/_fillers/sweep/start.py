"""Where the sweeps start: the first values of the missing entries, in standard units."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from manifill._arrays import Array, Mask
from manifill._problem import Problem
from manifill.errors import InvalidInput

# Numbers that the inverses of one chunk of rows may take.
_CHUNK = 4_000_000


Start = Callable[[Problem, np.random.Generator], Array]
"""problem → a completed Z, equal to `problem.Z` where that was observed."""


def normal_start(problem: Problem, rng: np.random.Generator) -> Array:
    """Draws from a normal distribution with the observed mean and variance of the column (the paper's)."""
    scaling = problem.scaling
    draws = rng.standard_normal(problem.shape) * scaling.weight * (scaling.std > 0)
    return np.where(problem.M, draws, problem.Z)


def mean_start(problem: Problem, rng: np.random.Generator) -> Array:
    """The observed mean of the column."""
    return problem.Z.copy()


@dataclass(frozen=True)
class LinearStart:
    """What is expected of a row, given its observed values, if rows are draws from one normal distribution.

    Its means and covariances are found by expectation and maximisation (Dempster, Laird and Rubin 1977), with
    some of the rows where they are many. A table that lies along a plane is filled at once, and a curved one
    better than by its means; but it costs d³ operations a row.

    Parameters
    ----------
    rounds : of expectation and maximisation.
    most_rows : that the distribution is found from.
    """

    rounds: int = 8
    most_rows: int = 2000

    def __call__(self, problem: Problem, rng: np.random.Generator) -> Array:
        filled, _ = _expected(problem.Z, problem.M, *self.distribution(problem, rng))
        return filled * (problem.scaling.std > 0)

    def distribution(self, problem: Problem, rng: np.random.Generator) -> tuple[Array, Array]:
        """Mean (d,) and inverse of the covariance (d, d), in standard units."""
        n, d = problem.shape
        some = np.sort(rng.permutation(n)[: self.most_rows])
        Z, M = problem.Z[some], problem.M[some]
        mean, uncertain = np.zeros(d), np.diag(M.sum(axis=0) * problem.scaling.weight**2)
        shrinkage = d / (2 * (len(Z) + d))
        for _ in range(self.rounds):
            mean = Z.mean(axis=0)
            covariance = ((Z - mean).T @ (Z - mean) + uncertain) / len(Z)
            variances = np.diag(covariance) + 1e-6
            covariance = (1 - shrinkage) * covariance + shrinkage * np.diag(variances) + 1e-6 * np.eye(d)
            precision = np.linalg.inv(covariance)
            Z, uncertain = _expected(Z, M, mean, precision)
        return mean, precision


def left_over(M: Mask, precision: Array) -> Iterator[tuple[slice, Array]]:
    """Covariances (rows, d, d) of what is missing (True in M) given the rest, chunk after chunk of rows.

    Of a row with missing entries m that is P[m, m]⁻¹; 0 elsewhere.
    """
    diagonal = np.arange(len(precision))
    chunk = max(1, _CHUNK // precision.size)
    for first in range(0, len(M), chunk):
        rows = slice(first, first + chunk)
        missing = M[rows]
        both = missing[:, :, None] & missing[:, None, :]
        within = np.where(both, precision, 0.0)
        within[:, diagonal, diagonal] += ~missing  # 1 for observed entries, which then keep apart
        yield rows, np.linalg.inv(within) * both


def _expected(Z: Array, M: Mask, mean: Array, precision: Array) -> tuple[Array, Array]:
    """Z (n, d) with expected values where M is True, and the covariances of what is left, summed over rows.

    Of a row with missing entries m and observed ones o, that is −P[m, m]⁻¹ P[m, o] (z − mean)[o].
    """
    filled = Z.copy()
    uncertain = np.zeros_like(precision)
    for rows, left in left_over(M, precision):
        missing = M[rows]
        drawn = np.where(missing, 0.0, Z[rows] - mean) @ precision
        filled[rows] = np.where(missing, mean - np.einsum("rij,rj->ri", left, drawn), Z[rows])
        uncertain += left.sum(axis=0)
    return filled, uncertain


@dataclass(frozen=True, eq=False)
class GivenStart:
    """A completed table of your own, in the user's units; read where values are missing."""

    values: npt.ArrayLike

    def __call__(self, problem: Problem, rng: np.random.Generator) -> Array:
        values = np.asarray(self.values, dtype=np.float64)
        if values.shape != problem.given.shape:
            raise InvalidInput(
                f"start must have the shape of the data, {problem.given.shape}; got {values.shape}."
            )
        values = values[problem.rows]
        if not np.isfinite(values[problem.M]).all():
            row, column = np.argwhere(problem.M & ~np.isfinite(values))[0]
            raise InvalidInput(
                "start must be finite wherever the data are missing; "
                f"column {column} is {values[row, column]} in row {problem.rows[row]}."
            )
        return np.where(problem.M, problem.scaling.standardise(np.where(problem.M, values, 0.0)), problem.Z)
