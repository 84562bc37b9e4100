"""Initial values of the missing entries, in standardised units."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from manifill._arrays import Array, Mask
from manifill._problem import Problem
from manifill.errors import InvalidInput

# Matrix entries in memory at a time, for the inverses of a chunk of rows.
_CHUNK = 4_000_000


Start = Callable[[Problem, np.random.Generator], Array]
"""Function from a problem to a completed Z, equal to `problem.Z` where observed."""


def normal_start(problem: Problem, rng: np.random.Generator) -> Array:
    """Draws from a normal distribution with the observed mean and variance of the column (the paper's)."""
    scaling = problem.scaling
    draws = rng.standard_normal(problem.given.shape)[problem.rows] * scaling.weight * (scaling.std > 0)
    return np.where(problem.M, draws, problem.Z)


def mean_start(problem: Problem, rng: np.random.Generator) -> Array:
    """The observed mean of the column."""
    return problem.Z.copy()


@dataclass(frozen=True)
class LinearStart:
    """Conditional mean of each row given its observed values, if rows follow one normal distribution.

    Mean and covariance are estimated by expectation–maximisation (Dempster, Laird and Rubin 1977), on a
    sample of the rows if there are many. Data on a plane are completed at once, and curved data better than
    by column means. It costs d³ operations per row. The defaults are set by hand, not tuned.

    Parameters
    ----------
    rounds : number of rounds of expectation–maximisation.
    most_rows : maximum number of rows that the distribution is estimated from.
    """

    rounds: int = 8
    most_rows: int = 2000

    def __call__(self, problem: Problem, rng: np.random.Generator) -> Array:
        filled, _ = _conditional(problem.Z, problem.M, *self.distribution(problem, rng))
        return filled * (problem.scaling.std > 0)

    def distribution(self, problem: Problem, rng: np.random.Generator) -> tuple[Array, Array]:
        """Mean (d,) and precision matrix (d, d), in standardised units."""
        n, d = problem.shape
        some = np.sort(rng.permutation(n)[: self.most_rows])
        Z, M = problem.Z[some], problem.M[some]
        mean, total_covariance = np.zeros(d), np.diag(M.sum(axis=0) * problem.scaling.weight**2)
        varying = int((problem.scaling.std > 0).sum())
        shrinkage = varying / (2 * (len(Z) + varying))
        for _ in range(self.rounds):
            mean = Z.mean(axis=0)
            covariance = ((Z - mean).T @ (Z - mean) + total_covariance) / len(Z)
            variances = np.diag(covariance) + 1e-6
            covariance = (1 - shrinkage) * covariance + shrinkage * np.diag(variances) + 1e-6 * np.eye(d)
            precision = np.linalg.inv(covariance)
            Z, total_covariance = _conditional(Z, M, mean, precision)
        return mean, precision


def conditional_covariances(M: Mask, precision: Array) -> Iterator[tuple[slice, Array]]:
    """Conditional covariances (rows, d, d) of the missing entries (True in M), by chunks of rows.

    With P the precision matrix, that of a row with missing entries m is P[m, m]⁻¹; 0 elsewhere.
    """
    diagonal = np.arange(len(precision))
    chunk = max(1, _CHUNK // precision.size)
    for first in range(0, len(M), chunk):
        rows = slice(first, first + chunk)
        missing = M[rows]
        both = missing[:, :, None] & missing[:, None, :]
        within = np.where(both, precision, 0.0)
        within[:, diagonal, diagonal] += ~missing  # observed entries: the identity
        yield rows, np.linalg.inv(within) * both


def _conditional(Z: Array, M: Mask, mean: Array, precision: Array) -> tuple[Array, Array]:
    """Z (n, d) with the conditional mean where M is True, and the conditional covariances summed over rows.

    The conditional mean of missing entries m given observed ones o is
    mean[m] − P[m, m]⁻¹ P[m, o] (z − mean)[o], with P the precision matrix.
    """
    filled = Z.copy()
    total_covariance = np.zeros_like(precision)
    for rows, covariance in conditional_covariances(M, precision):
        missing = M[rows]
        projected = np.where(missing, 0.0, Z[rows] - mean) @ precision
        filled[rows] = np.where(missing, mean - np.einsum("rij,rj->ri", covariance, projected), Z[rows])
        total_covariance += covariance.sum(axis=0)
    return filled, total_covariance


@dataclass(frozen=True, eq=False)
class GivenStart:
    """Initial values from a completed table in the user's units, used where entries are missing."""

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
