"""Which columns are left out together, and in which order a sweep visits them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from manifill._checks import require_number
from manifill._problem import Groups, Problem

Block = npt.NDArray[np.intp]
"""Columns that are left out together."""


@dataclass(frozen=True)
class Schedule:
    """Column groups in blocks of about `columns` columns; 1 is the paper's one column at a time.

    A block shares one kernel matrix. Its columns are drawn at random, so that neighbours such as the
    pixels of a picture do not fall into one block, and stay together through all sweeps: with columns
    that change the fill would never settle (measured in docs/measurements.md).
    """

    columns: int = 1

    def __post_init__(self) -> None:
        require_number("columns of Schedule", self.columns, least=1, whole=True)

    @classmethod
    def auto(cls, d: int, n: int = 0) -> "Schedule":
        """One column at a time on narrow tables, blocks of a growing share of the columns on wide data.

        3 of 100 columns, 125 of 1,000, 1,024 of 4,096 and more; a tenth of 150 and more where there are
        1,000 rows, whose kernel matrix is dear. What a block costs in accuracy shrinks with the number of
        columns that are left: below half a percent on faces, below one on traffic speeds (docs/speed.md).
        """
        columns = (d / 40) ** 1.5
        if n >= 1000 and d >= 150:
            columns = max(columns, d / 10)
        return cls(columns=min(max(int(columns), 1), 1024))

    def blocks(self, groups: Groups, rng: np.random.Generator) -> tuple[Block, ...]:
        """All columns, each in one block; groups are never split.

        A block takes at most half of the columns, or nothing would be left to learn from.
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
"""The blocks, rearranged for the next sweep."""


def random_order(blocks: Blocks, problem: Problem, rng: np.random.Generator) -> Blocks:
    """A new random order each sweep (the paper's Remark 1: slower to settle, more accurate)."""
    return tuple(blocks[i] for i in rng.permutation(len(blocks)))


def fixed_order(blocks: Blocks, problem: Problem, rng: np.random.Generator) -> Blocks:
    """From left to right."""
    return blocks


def missingness_order(blocks: Blocks, problem: Problem, rng: np.random.Generator) -> Blocks:
    """Blocks with the fewest missing values first."""
    share = problem.M.mean(axis=0)
    return tuple(sorted(blocks, key=lambda block: float(share[block].mean())))
