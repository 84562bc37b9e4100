"""How sure each fill is: intervals, calibrated on entries that were hidden.

An entry is as uncertain as its row has lost what would tell of it, and as fills of its column were wrong in
rows like its own. The first is the standard deviation σ it has given the rest of its row, if rows are draws
from one normal distribution; the second is the error of hidden entries nearby, in units of their σ. With s
the product of both and e the errors of hidden entries, fill ± q·s holds as large a share of the missing
entries as of the hidden ones, if q is that quantile of |e|/s (conformal prediction; Papadopoulos et al.,
2002).

Over fifteen tables with 30 % missing at random, 90 % intervals score (width, and what they miss) 2.64 with
the same s for a whole column, 2.58 with neighbours, 2.51 with σ, and 2.44 with both; under MAR, where
rows lose much or nothing, neighbours alone hold 84 % and both 88 %.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import ndtri

from manifill.arrays import Array, Indices, Mask
from manifill.sweep import LinearStart, Problem
from manifill.sweep.start import left_over
from manifill.tuning.accuracy import Evidence

# Hidden entries near an entry that its error is expected from, and how many the whole column counts for.
_NEAR, _PRIOR = 20, 10.0
# Rows up to which neighbours are looked for among all of them; with more, hidden entries are many enough.
_ROWS = 4000
# Columns, and operations, up to which the normal distribution of the rows is asked.
_COLUMNS, _WORK = 100, 2e10
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
    share : of the observed entries, that was hidden. With all of them fills are a little better, their errors
        about √(1 − share) of those of hidden entries (see `manifill.tuning.accuracy`).
    """

    problem: Problem
    Z: Array
    evidence: Evidence
    reliance: Array
    share: float = 0.0

    @cached_property
    def wrong(self) -> Array:
        """(h,), errors of the hidden entries."""
        return self.evidence.truth - self.reliance[self.evidence.columns] * self.evidence.found

    @cached_property
    def expected(self) -> Array:
        """(n, d), root mean square error to expect of each missing entry, in standard deviations; else 0."""
        expected = np.zeros(self.problem.shape)
        for j in np.flatnonzero(self.problem.incomplete):
            expected[self.problem.M[:, j], j] = math.sqrt(1 - self.share) * self._of_column(int(j))[0]
        return expected

    def half_widths(self, level: float) -> Array:
        """(n, d), half of the interval that holds a missing entry with this probability; else 0."""
        each = range(self.problem.shape[1])
        pooled = np.concatenate([self._of_column(j)[1] for j in each] or [np.zeros(0)])
        widths = np.zeros(self.problem.shape)
        for j in np.flatnonzero(self.problem.incomplete):
            _, ratios = self._of_column(int(j))
            enough = ratios if len(ratios) >= _ENOUGH else pooled
            widths[:, j] = self.expected[:, j] * _quantile(enough, level)
        return widths

    def drawn(self, rng: np.random.Generator) -> Array:
        """(n, d), errors of the missing entries, drawn at random; those of a row together, as it has them."""
        normal = rng.standard_normal(self.problem.shape)
        if self._precision is None:
            return self.expected * normal
        drawn = np.zeros(self.problem.shape)
        for rows, left in left_over(self.problem.M, self._precision):
            values, vectors = np.linalg.eigh(left)
            together = np.einsum("rij,rj->ri", vectors, np.sqrt(np.maximum(values, 0.0)) * normal[rows])
            drawn[rows] = together
        return self.expected * drawn / np.where(self.problem.M, self._deviations, 1.0)

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
        sigma = self._deviations[missing, j]
        if not len(hidden):
            return sigma, np.zeros(0)
        rows = self.evidence.rows[hidden]
        of_hidden = self._deviations_without(rows, j)
        squares = (self.wrong[hidden] / of_hidden) ** 2
        overall = max(float(squares.mean()), _LEAST**2)
        if len(hidden) < _ENOUGH or self._distances is None:
            return math.sqrt(overall) * sigma, np.sqrt(squares / overall)
        to_hidden = self._apart(j, np.concatenate([missing, rows]), rows)
        np.fill_diagonal(to_hidden[len(missing) :], np.inf)  # not its own error
        near = np.argpartition(to_hidden, _NEAR - 2, axis=1)[:, : _NEAR - 1]
        s = np.sqrt((_PRIOR * overall + squares[near].sum(axis=1)) / (_PRIOR + near.shape[1]))
        return s[: len(missing)] * sigma, np.sqrt(squares) / s[len(missing) :]

    @cached_property
    def _precision(self) -> Array | None:
        """Inverse covariance (d, d) of the rows; None where it is too dear."""
        n, d = self.problem.shape
        if d > _COLUMNS or float(n) * d**3 > _WORK or self.problem.nothing_missing:
            return None
        return LinearStart().distribution(self.problem, np.random.default_rng(0))[1]

    @cached_property
    def _deviations(self) -> Array:
        """(n, d), σ of the missing entries, in standard deviations of their columns; else 1."""
        return self._deviations_of(self.problem.M)

    def _deviations_without(self, rows: Indices, j: int) -> Array:
        """(h,), σ of observed entries of a column, if they were missing too."""
        M = self.problem.M[rows].copy()
        M[:, list(self._group_of[j])] = True
        return self._deviations_of(M)[:, j]

    def _deviations_of(self, M: Mask) -> Array:
        sigma = np.ones(M.shape)
        if self._precision is None:
            return sigma
        for rows, left in left_over(M, self._precision):
            variances = np.diagonal(left, axis1=1, axis2=2)
            sigma[rows] = np.sqrt(np.where(M[rows], np.maximum(variances, 1e-12), 1.0))
        return sigma / np.where(M, self.problem.scaling.weight, 1.0)

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
