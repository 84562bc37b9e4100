"""How sure each fill is: intervals, calibrated on entries that were hidden.

An entry is as uncertain as fills of its column were wrong in rows like its own. With s that expected error
and e the errors of hidden entries, the interval fill ± q·s holds as large a share of the missing entries as
it does of the hidden ones, if q is that quantile of |e|/s (conformal prediction; Papadopoulos et al. 2002).
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import ndtri

from manifill.arrays import Array, Indices
from manifill.sweep import Problem
from manifill.tuning.accuracy import Evidence

# Hidden entries near an entry that its error is expected from, and how many the whole column counts for.
# Over fifteen tables intervals of the same coverage have a score (width, and misses) 2.2 % lower with
# neighbours than without.
_NEAR, _PRIOR = 20, 10.0
# Rows up to which neighbours are looked for among all of them; with more, hidden entries are many enough.
_ROWS = 4000
# Hidden entries that a column needs to speak for itself.
_ENOUGH = 20
# The least error, in standard deviations, that is believed: hidden entries can all be met by chance.
_LEAST = 1e-6


@dataclass(frozen=True, eq=False)
class Errors:
    """Errors to expect of the fills of a problem.

    Attributes
    ----------
    problem : what was filled.
    Z : (n, d), its fill, in standard units.
    evidence : hidden entries and what was found for them, in standard deviations of the columns.
    reliance : (d,), the share of what was found that fills take.
    """

    problem: Problem
    Z: Array
    evidence: Evidence
    reliance: Array

    @cached_property
    def wrong(self) -> Array:
        """(h,), errors of the hidden entries."""
        return self.evidence.truth - self.reliance[self.evidence.columns] * self.evidence.found

    @cached_property
    def expected(self) -> Array:
        """(n, d), root mean square error to expect of each missing entry, in standard deviations; else 0."""
        expected = np.zeros(self.problem.shape)
        for j in np.flatnonzero(self.problem.incomplete):
            expected[self.problem.M[:, j], j] = self._of_column(int(j))[0]
        return expected

    def half_widths(self, level: float) -> Array:
        """(n, d), half of the interval that holds a missing entry with this probability; else 0."""
        pooled = np.concatenate(
            [self._of_column(j)[1] for j in range(self.problem.shape[1])] or [np.zeros(0)]
        )
        widths = np.zeros(self.problem.shape)
        for j in np.flatnonzero(self.problem.incomplete):
            _, ratios = self._of_column(int(j))
            widths[:, j] = self.expected[:, j] * _quantile(
                ratios if len(ratios) >= _ENOUGH else pooled, level
            )
        return widths

    def relative(self, j: int) -> Array:
        """Errors of the hidden entries of a column, with their signs, each over the one expected of it."""
        signs = np.sign(self.wrong[self._hidden[self._first[j] : self._first[j + 1]]])
        return signs * self._of_column(j)[1]

    def _of_column(self, j: int) -> tuple[Array, Array]:
        """Errors to expect of the missing entries of a column, and |e|/s of its hidden ones."""
        if j not in self._columns:
            self._columns[j] = self._expect(j)
        return self._columns[j]

    @cached_property
    def _columns(self) -> dict[int, tuple[Array, Array]]:
        return {}

    def _expect(self, j: int) -> tuple[Array, Array]:
        hidden = self._hidden[self._first[j] : self._first[j + 1]]
        missing = np.flatnonzero(self.problem.M[:, j])
        squares = self.wrong[hidden] ** 2
        if not len(hidden):
            return np.ones(len(missing)), np.zeros(0)
        overall = max(float(squares.mean()), _LEAST**2)
        if len(hidden) < _ENOUGH or self._distances is None:
            s = math.sqrt(overall)
            return np.full(len(missing), s), np.sqrt(squares) / s
        rows = self.evidence.rows[hidden]
        to_hidden = self._apart(j, np.concatenate([missing, rows]), rows)
        np.fill_diagonal(to_hidden[len(missing) :], np.inf)  # not its own error
        near = np.argpartition(to_hidden, _NEAR - 2, axis=1)[:, : _NEAR - 1]
        s = np.sqrt((_PRIOR * overall + squares[near].sum(axis=1)) / (_PRIOR + near.shape[1]))
        return s[: len(missing)], np.sqrt(squares) / s[len(missing) :]

    @cached_property
    def _hidden(self) -> Indices:
        """The hidden entries, those of a column together."""
        return np.argsort(self.evidence.columns, kind="stable")

    @cached_property
    def _first(self) -> Indices:
        """(d + 1,), where those of each column begin."""
        counts = np.bincount(self.evidence.columns, minlength=self.problem.shape[1])
        return np.concatenate([[0], np.cumsum(counts)])

    @cached_property
    def _distances(self) -> Array | None:
        """L1 distances between all rows; None where they are too many."""
        return cdist(self.Z, self.Z, "cityblock") if len(self.Z) <= _ROWS else None

    @cached_property
    def _group_of(self) -> dict[int, tuple[int, ...]]:
        return {column: group for group in self.problem.groups for column in group}

    def _apart(self, j: int, these: Indices, those: Indices) -> Array:
        """Distances between rows, the variable of column j left out."""
        assert self._distances is not None
        group = self.Z[:, list(self._group_of[j])]
        own = cdist(group[these], group[those], "cityblock")
        apart: Array = self._distances[np.ix_(these, those)] - own
        return apart


def _quantile(ratios: Array, level: float) -> float:
    """The quantile of |e|/s that a new entry stays below with this probability; a normal one's of few."""
    if len(ratios) < _ENOUGH:
        return float(ndtri((1 + level) / 2))
    rank = min(math.ceil(level * (len(ratios) + 1)), len(ratios))
    return float(np.partition(ratios, rank - 1)[rank - 1])
