"""Where the sweeps start: the first values of the missing entries, in standard units."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from manifill.arrays import Array
from manifill.errors import InvalidInput
from manifill.sweep.problem import Problem


class Start(Protocol):
    """problem → a completed Z, equal to `problem.Z` where that was observed."""

    def __call__(self, problem: Problem, rng: np.random.Generator) -> Array: ...


@dataclass(frozen=True)
class NormalStart:
    """Draws from a normal distribution with the observed mean and variance of the column (the paper's)."""

    def __call__(self, problem: Problem, rng: np.random.Generator) -> Array:
        draws = rng.standard_normal(problem.shape) * (problem.scaling.spread > 0)
        return np.where(problem.M, draws, problem.Z)


@dataclass(frozen=True)
class MeanStart:
    """The observed mean of the column."""

    def __call__(self, problem: Problem, rng: np.random.Generator) -> Array:
        return problem.Z.copy()


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
                f"column {column} is {values[row, column]} in row {np.flatnonzero(problem.rows)[row]}."
            )
        return np.where(problem.M, problem.scaling.standardise(np.where(problem.M, values, 0.0)), problem.Z)
