"""A problem in parts: columns that may be filled from the same columns, with these."""

from dataclasses import dataclass

import numpy as np

from manifill._arrays import Indices
from manifill._problem import Problem


@dataclass(frozen=True, eq=False)
class Part:
    """Columns with the same predictors.

    Attributes
    ----------
    targets : columns that may be filled from the same columns.
    used : the targets and their predictors.
    own : positions of the targets in `used`.
    problem : the problem of the columns `used`.
    """

    targets: Indices
    used: Indices
    own: Indices
    problem: Problem


def parts_of(problem: Problem) -> list[Part]:
    """The parts of a problem; every column is a target of one of them."""
    if not problem.predictors.restricted:
        every = np.arange(problem.shape[1])
        return [Part(every, every, every, problem)]
    return [
        Part(targets, used, np.searchsorted(used, targets), problem.only(used))
        for targets, used in problem.predictors.sets()
    ]
