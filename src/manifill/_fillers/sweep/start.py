"""Initial values of the missing entries, in standardised units."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from manifill._arrays import Array, Indices, Mask
from manifill._problem import Problem
from manifill.errors import InvalidInput

# Matrix entries in memory at a time, for the inverses of a chunk of rows.
_CHUNK = 4_000_000


Normal = tuple[Array, Array]
"""Mean (d,) and precision matrix (d, d) of a normal distribution, in standardised units."""
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
        return conditional_mean(problem.Z, problem.M, self.distribution(problem, rng)) * (
            problem.scaling.std > 0
        )

    def distribution(self, problem: Problem, rng: np.random.Generator) -> Normal:
        """Mean (d,) and precision matrix (d, d), in standardised units."""
        return self._estimate(problem, self._sampled(problem, rng))

    def distributions(
        self, problem: Problem, rng: np.random.Generator, folds: Indices
    ) -> tuple[Normal, list[Normal]]:
        """The distribution, and for each fold of the rows the one that is estimated without them.

        `folds` (n,) are the numbers of the folds, from 0. Rows of other folds are completed by the
        distribution of all rows, so a row still has a small influence on the one without its fold.
        """
        some = self._sampled(problem, rng)
        normal = self._estimate(problem, some)
        parts = []
        for fold in range(int(folds.max(initial=0)) + 1):
            own = some[folds[some] == fold]
            parts.append((own, *_conditional(problem.Z[own], problem.M[own], *normal)))
        without = []
        for own, _, _ in parts:
            others = [(Z, covariance) for rows, Z, covariance in parts if rows is not own]
            Z = np.concatenate([problem.Z[:0], *(Z for Z, _ in others)])
            enough = len(Z) > 1
            total = np.sum([covariance for _, covariance in others], axis=0)
            without.append(self._maximum(problem, Z, total) if enough else normal)
        return normal, without

    def _sampled(self, problem: Problem, rng: np.random.Generator) -> Indices:
        """The rows that the distribution is estimated from."""
        return np.sort(rng.permutation(problem.shape[0])[: self.most_rows])

    def _estimate(self, problem: Problem, some: Indices) -> Normal:
        Z, M = problem.Z[some], problem.M[some]
        total_covariance = np.diag(M.sum(axis=0) * problem.scaling.weight**2)
        for _ in range(self.rounds):
            normal = self._maximum(problem, Z, total_covariance)
            Z, total_covariance = _conditional(Z, M, *normal)
        return normal

    def _maximum(self, problem: Problem, Z: Array, total_covariance: Array) -> Normal:
        """Mean and precision of completed rows, with the summed covariances of their missing entries."""
        varying = int((problem.scaling.std > 0).sum())
        shrinkage = varying / (2 * (len(Z) + varying))
        mean: Array = Z.mean(axis=0)
        covariance = ((Z - mean).T @ (Z - mean) + total_covariance) / len(Z)
        variances = np.diag(covariance) + 1e-6
        covariance = (1 - shrinkage) * covariance + shrinkage * np.diag(variances) + 1e-6 * np.eye(len(mean))
        return mean, np.asarray(np.linalg.inv(covariance), dtype=np.float64)


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


def conditional_mean(Z: Array, M: Mask, normal: Normal) -> Array:
    """Z (n, d) with the conditional mean given the other entries where M is True."""
    return _conditional(Z, M, *normal)[0]


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
