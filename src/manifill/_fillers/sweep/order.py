"""Which columns are left out together, and in which order a sweep visits them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from manifill._checks import require_number
from manifill._ordering import Groups
from manifill._problem import Problem

Block = npt.NDArray[np.intp]
"""Indices of columns that are left out together."""


@dataclass(frozen=True)
class Schedule:
    """Column groups in blocks of about `columns` columns; 1 is the paper's one column at a time.

    A block shares one kernel matrix. Its columns are drawn at random, so that neighbouring pixels of a
    picture rarely share a block. The blocks are the same in all sweeps: with new blocks in every sweep the
    fill does not converge (docs/notes/defaults.md).
    """

    columns: int = 1

    def __post_init__(self) -> None:
        require_number("columns of Schedule", self.columns, least=1, whole=True)

    @classmethod
    def auto(cls, d: int, n: int = 0) -> "Schedule":
        """One column at a time for narrow tables, blocks of (d/40)^1.5 columns for wide ones.

        That is 3 of 100 columns, 125 of 1,000, and the maximum, 1,024, of 4,096. Tables of at least 1,000
        rows and 150 columns have blocks of at least d/10 columns, since their kernel matrix is expensive.
        The loss of accuracy is below .5 % on faces and below 1 % on traffic (docs/notes/speed.md).
        """
        columns = (d / 40) ** 1.5
        if n >= 1000 and d >= 150:
            columns = max(columns, d / 10)
        return cls(columns=min(max(int(columns), 1), 1024))

    def blocks(self, groups: Groups, rng: np.random.Generator) -> tuple[Block, ...]:
        """All columns in blocks; groups are never split.

        A block has at most half of the columns, so that enough are left to learn from.
        """
        columns = min(self.columns, sum(map(len, groups)) // 2)
        if columns <= 1:
            return tuple(np.array(group, dtype=np.intp) for group in groups)
        shuffled = [groups[i] for i in rng.permutation(len(groups))]
        blocks: list[list[int]] = [[]]
        for group in shuffled:
            if blocks[-1] and len(blocks[-1]) + len(group) > columns:
                blocks.append([])
            blocks[-1].extend(group)
        return tuple(np.array(block, dtype=np.intp) for block in blocks)


Blocks = tuple[Block, ...]
Order = Callable[[Blocks, Problem, np.random.Generator], Blocks]
"""Function that returns the blocks in the order of the next sweep."""


def random_order(blocks: Blocks, problem: Problem, rng: np.random.Generator) -> Blocks:
    """A new random order in each sweep (the paper's Remark 1: slower to converge, more accurate)."""
    return tuple(blocks[i] for i in rng.permutation(len(blocks)))


def fixed_order(blocks: Blocks, problem: Problem, rng: np.random.Generator) -> Blocks:
    """The order of the table, from left to right."""
    return tuple(sorted(blocks, key=lambda block: int(block.min())))


def missingness_order(blocks: Blocks, problem: Problem, rng: np.random.Generator) -> Blocks:
    """Blocks with the fewest missing values first."""
    share = problem.M.mean(axis=0)
    return tuple(sorted(blocks, key=lambda block: float(share[block].mean())))
