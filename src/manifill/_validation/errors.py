"""Expected errors of imputed values: intervals and random errors, calibrated on held-out entries.

The half-width of an interval is q·s. Here s is the expected error of the entry, and q is a quantile of |e|/s
over the held-out entries, whose errors are e (conformal prediction; Papadopoulos et al., 2002). So fill ± q·s
covers about the same share of the missing entries as of the held-out ones. Held-out entries are weighted to
resemble the missing ones (Tibshirani et al., 2019).

Without row times or a layout, s = σ^γ × (RMS of e/σ^γ over held-out entries of the column in similar rows).
σ is the conditional standard deviation of the entry given the observed part of its row, if rows are draws
from one normal distribution; γ is estimated (see `Errors._power`). With row times or a layout, the distance
to known entries matters more than the row: s = (RMS error of the column) × (RMS error of the distance bin,
relative to that of all entries).

Measured on fifteen tables with 30 % missing completely at random, 90 % intervals, by a score of width and
misses (smaller is better): 2.64 with one s per column, 2.58 with similar rows only, 2.51 with σ only, 2.44
with both. Under MAR, where some rows lose much and others nothing, similar rows alone cover 84 %, both 88 %.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import ndtri

from manifill._arrays import Array, Indices, Mask
from manifill._fillers.sweep import LinearStart
from manifill._fillers.sweep.start import conditional_covariances
from manifill._parts import Part, parts_of
from manifill._problem import Problem
from manifill._validation.evidence import Evidence
from manifill._validation.holdout import distance_bins, distance_bins_of_new_rows

# The mean square of e/σ for an entry is taken over the _SIMILAR_ROWS − 1 held-out entries of its column in
# the most similar rows. The mean square of all held-out entries of the column is the prior, with a
# pseudo-count of _PRIOR_ENTRIES. Set by hand, not tuned.
_SIMILAR_ROWS, _PRIOR_ENTRIES = 20, 10.0
# Rows up to which all distances between rows are computed. Longer tables have many held-out entries, and use
# one mean square per column.
_MAX_ROWS = 4000
# Limits on the estimation of σ: columns d, and n·d³ operations.
_MAX_COLUMNS, _MAX_WORK = 100, 2e10
# Held-out entries that a column or a distance bin needs for an estimate of its own. Set by hand, not tuned.
_MIN_ENTRIES = 20
# Fills are better when nothing is held out. Errors vary as the observed share to the power −1/2 (see
# `accuracy`), but only to the power −1/4 relative to σ, which knows that entries of one row that are held out
# together do not help each other. 90 % intervals of gauss, circle and three columns in `benchmarks/claims.py`
# (seeds 300 to 307) cover 88.3 to 91.5 % with power 1/2, 89.2 to 92.1 % with 1/4, 90.0 to 92.8 % with 0.
_HOLDOUT_POWER, _HOLDOUT_POWER_WITH_SIGMA = 0.5, 0.25
# Powers of σ to choose from, and weight of the prior: a normal one, with mean 1 and standard deviation 1/2.
_POWERS, _PRIOR_POWER = np.linspace(0, 3, 13), 2.0
# Entries with σ = 1 and error 1 that are added to the held-out ones of a column. Set by hand, not tuned.
_EMPTY_ENTRIES = 5.0
# Lower bound on an RMS error, in standard deviations: a few held-out entries can be filled exactly by chance.
_MIN_ERROR = 1e-6


@dataclass(frozen=True, eq=False)
class Errors:
    """Expected errors of the imputed values of a problem.

    Attributes
    ----------
    problem : the problem that was filled.
    Z : (n, d), its fill, in standardised units.
    evidence : held-out entries and their imputed values, in standard deviations of the columns.
    """

    problem: Problem
    Z: Array
    evidence: Evidence

    def _holdout_correction(self, j: int) -> float:
        """Factor from errors with entries held out to errors with all known entries.

        It is 1 for a column that is filled with its mean.
        """
        if not self.evidence.shrinkage[j] > 0:
            return 1.0
        power = _HOLDOUT_POWER if self._precision is None else _HOLDOUT_POWER_WITH_SIGMA
        return float((1 - self.evidence.share) ** power)

    @cached_property
    def expected(self) -> Array:
        """(n, d), expected RMS error of each missing entry, in standard deviations; 0 for known entries."""
        expected = np.zeros(self.problem.shape)
        for j in np.flatnonzero(self.problem.M.any(axis=0) & (self.problem.scaling.std > 0)):
            correction = self._holdout_correction(int(j))
            expected[self.problem.M[:, j], j] = correction * self._of_column(int(j))[0]
        return expected

    def of_new_rows(self, M: Mask, Z: Array, moments: Array | None) -> Array:
        """(m, d), the same for new rows, which do not help to fill others: as large as with entries held out.

        Parameters
        ----------
        M : (m, d), True where missing.
        Z : (m, d), their fill, in standardised units.
        moments : (m,), their times, NaN where unknown; or None.
        """
        expected = np.zeros(M.shape)
        sigma = self._sigma_of(M)
        bins = distance_bins_of_new_rows(self.problem, M, moments) if self._by_distance else None
        for j in np.flatnonzero(M.any(axis=0) & (self.problem.scaling.std > 0)).tolist():
            missing = np.flatnonzero(M[:, j])
            if bins is not None:
                s = self._rms_of_bins(j, bins[missing, j])
            else:
                rows, squares, weight = self._squares(j)
                others = np.flatnonzero(self.problem.predictors.of_group([j]))
                to_held_out = None
                if self._uses_similar_rows(squares):
                    known = np.where(M[missing], 0.0, Z[missing])[:, others]
                    to_held_out = cdist(known, self.problem.Z[np.ix_(rows, others)], "cityblock")
                s = sigma[missing, j] ** self._power * _local_rms(squares, weight, to_held_out)
            expected[missing, j] = s
        return expected

    def quantiles(self, level: float) -> Array:
        """(d,), half-widths of intervals with coverage `level`, in expected errors.

        Infinite if errors depend on distances and no entry could be held out.
        """
        d = self.problem.shape[1]
        if self._by_distance and not len(self.evidence.truth):
            return np.full(d, np.inf)
        ratios = [self._of_column(j)[1] for j in range(d)]
        pooled, weights = np.concatenate(ratios), self.evidence.weight
        quantiles = np.zeros(d)
        for j, own in enumerate(ratios):
            few = len(own) < _MIN_ENTRIES
            weight = weights[self._held_out if few else self._entries(j)]
            quantiles[j] = _quantile(pooled if few else own, weight, level)
        return quantiles

    def drawn(self, rng: np.random.Generator) -> Array:
        """(n, d), random errors of the missing entries, in standard deviations; 0 for known entries.

        Errors of one row have the conditional correlation of its missing entries given its observed ones.
        """
        normal = rng.standard_normal(self.problem.shape)
        if self._precision is None:
            return self.expected * normal
        drawn = np.zeros(self.problem.shape)
        for rows, covariance in conditional_covariances(self.problem.M, self._precision):
            values, vectors = np.linalg.eigh(covariance)
            drawn[rows] = np.einsum("rij,rj->ri", vectors, np.sqrt(np.maximum(values, 0.0)) * normal[rows])
        sigma = _deviations(self.problem.M, self._precision)
        return self.expected * drawn / np.where(self.problem.M, sigma, 1.0)

    def _of_column(self, j: int) -> tuple[Array, Array]:
        """For a column, s of its missing entries and |e|/s of its held-out ones; computed once."""
        if j not in self._columns:
            self._columns[j] = self._estimate(j)
        return self._columns[j]

    @cached_property
    def _columns(self) -> dict[int, tuple[Array, Array]]:
        """Cache of `_of_column`."""
        return {}

    def _estimate(self, j: int) -> tuple[Array, Array]:
        missing = np.flatnonzero(self.problem.M[:, j])
        if self._by_distance:
            held_out = self._entries(j)
            own = self._rms_of_bins(j, self.evidence.place[held_out])
            s = self._rms_of_bins(j, self._bins[missing, j])
            return s, np.abs(self.evidence.errors[held_out]) / own
        rows, squares, weight = self._squares(j)
        to_missing = to_rows = None
        if self._uses_similar_rows(squares):
            to_missing, to_rows = (self._distances_without(j, some, rows) for some in (missing, rows))
            np.fill_diagonal(to_rows, np.inf)  # an entry is not its own neighbour
        s = self._sigma[missing, j] ** self._power * _local_rms(squares, weight, to_missing)
        return s, np.sqrt(squares) / _local_rms(squares, weight, to_rows)

    def _entries(self, j: int) -> Indices:
        """Indices of the held-out entries of a column."""
        return self._held_out[self._first[j] : self._first[j + 1]]

    def _squares(self, j: int) -> tuple[Indices, Array, Array]:
        """Rows of the held-out entries of a column, the squares of e/σ, and the weights."""
        held_out = self._entries(j)
        rows = self.evidence.rows[held_out]
        squares = (self.evidence.errors / self._sigma_held_out**self._power)[held_out] ** 2
        return rows, squares, self.evidence.weight[held_out]

    def _uses_similar_rows(self, squares: Array) -> bool:
        return len(squares) >= _MIN_ENTRIES and len(self.Z) <= _MAX_ROWS

    @property
    def _by_distance(self) -> bool:
        """Do errors depend on the distance to known entries?"""
        return self.problem.layout is not None or self.problem.moments is not None

    def _rms_of_bins(self, j: int, bins: Indices) -> Array:
        """RMS errors of entries of a column in these distance bins."""
        held_out = self._entries(j)
        overall, relative = self._rms_by_bin
        rms = overall
        layout = self.problem.layout
        if len(held_out) and not (layout is not None and layout.homogeneous):
            squares = (self.evidence.weight * self.evidence.errors**2)[held_out].sum()
            weight = self.evidence.weight[held_out].sum()
            rms = math.sqrt((squares + _PRIOR_ENTRIES * overall**2) / (weight + _PRIOR_ENTRIES))
        with_others = np.append(relative, 1.0)  # bins without held-out entries
        return np.asarray(rms * with_others[np.minimum(bins, len(relative))])

    @cached_property
    def _bins(self) -> Array:
        return distance_bins(self.problem, self.problem.M, self.problem.M)

    @cached_property
    def _rms_by_bin(self) -> tuple[float, Array]:
        """RMS error of all held-out entries, and that of each distance bin relative to it."""
        evidence = self.evidence
        size = int(max(self._bins.max(initial=0), evidence.place.max(initial=0))) + 1
        if not len(evidence.truth):
            return 1.0, np.ones(size)
        overall = math.sqrt(float(np.average(evidence.errors**2, weights=evidence.weight + 1e-12)))
        overall = max(overall, _MIN_ERROR)
        number = np.bincount(evidence.place, minlength=size)
        squares = np.bincount(evidence.place, (evidence.errors / overall) ** 2, minlength=size)
        sufficient = number >= _MIN_ENTRIES
        relative = np.where(sufficient, np.sqrt(squares / np.maximum(number, 1)), 1.0)
        return overall, np.maximum(relative, _MIN_ERROR)

    @cached_property
    def _precision(self) -> Array | None:
        """Precision matrix (d, d) of the rows; None if it is not used or too expensive."""
        n, d = self.problem.shape
        if self._by_distance or d > _MAX_COLUMNS or float(n) * d**3 > _MAX_WORK:
            return None
        return LinearStart().distribution(self.problem, np.random.default_rng(0))[1]

    @cached_property
    def _sigma(self) -> Array:
        """(n, d), σ of the missing entries, in standard deviations of their columns; 1 for known entries."""
        return self._sigma_of(self.problem.M)

    @cached_property
    def _sigma_held_out(self) -> Array:
        """(h,), σ of the held-out entries; all entries of their set are missing too."""
        evidence = self.evidence
        sigma = np.ones(len(evidence.truth))
        for number in np.unique(evidence.sets):
            own = np.flatnonzero(evidence.sets == number)
            rows, position = np.unique(evidence.rows[own], return_inverse=True)
            M = self.problem.M[rows].copy()
            M[position, evidence.columns[own]] = True
            sigma[own] = self._sigma_of(M)[position, evidence.columns[own]]
        return sigma

    @cached_property
    def _power(self) -> float:
        """The power γ of σ in the expected error s = c·σ^γ; c is a constant of the column.

        Maximum of the likelihood of the held-out errors, if they are normal, and of a normal prior. A linear
        model has γ = 1. If kernels fill better, γ > 1: in a row with nothing known both have s = σ = 1, and
        `_EMPTY_ENTRIES` such entries are added to each column. They decide if all held-out entries have
        nearly the same σ.
        """
        if self._precision is None:
            return 1.0
        squares, log_sigma = self.evidence.errors**2, np.log(self._sigma_held_out)
        loss = _PRIOR_POWER * (_POWERS - 1) ** 2
        for j in range(self.problem.shape[1]):
            own = self._entries(j)
            w = self.evidence.weight[own]
            if len(own) < 2 or not w.sum() > 0:
                continue
            w = w * w.sum() / (w**2).sum()  # sums to the effective number of entries
            ratios = squares[own, None] * np.exp(-2 * _POWERS * log_sigma[own, None])
            entries = w.sum() + _EMPTY_ENTRIES
            constant = np.maximum((w @ ratios + _EMPTY_ENTRIES) / entries, _MIN_ERROR**2)
            loss = loss + entries * np.log(constant) / 2 + _POWERS * (w @ log_sigma[own])
        return float(_POWERS[np.argmin(loss)])

    def _sigma_of(self, M: Mask) -> Array:
        sigma = np.ones(M.shape)
        if self._precision is None:
            return sigma
        for part, precision in self._precisions:
            sigma[:, part.targets] = _deviations(M[:, part.used], precision)[:, part.own]
        return sigma / np.where(M, self.problem.scaling.weight, 1.0)

    @cached_property
    def _precisions(self) -> list[tuple[Part, Array]]:
        """The parts of the problem, with their precision matrices; errors come from the predictors alone."""
        start, parts = LinearStart(), parts_of(self.problem)
        if len(parts) == 1 and self._precision is not None:
            return [(parts[0], self._precision)]
        return [(one, start.distribution(one.problem, np.random.default_rng(0))[1]) for one in parts]

    @cached_property
    def _held_out(self) -> Indices:
        """Indices of the held-out entries, sorted by column."""
        return np.argsort(self.evidence.columns, kind="stable")

    @cached_property
    def _first(self) -> Indices:
        """(d + 1,), position in `_held_out` of the first entry of each column."""
        counts = np.bincount(self.evidence.columns, minlength=self.problem.shape[1])
        return np.concatenate([[0], np.cumsum(counts)])

    @cached_property
    def _distances(self) -> Array:
        """(n, n), L1 distances between rows, with the mean for missing entries; for up to `_MAX_ROWS` rows.

        Imputed values would not do: in a row with a held-out entry they were imputed with its help, so they
        are the nearer to those of rows without it the smaller the error is.
        """
        return np.asarray(cdist(self.problem.Z, self.problem.Z, "cityblock"))

    @cached_property
    def _group_of(self) -> dict[int, tuple[int, ...]]:
        return {column: group for group in self.problem.groups for column in group}

    def _distances_without(self, j: int, rows: Indices, others: Indices) -> Array:
        """L1 distances from rows to others by the predictors of column j."""
        if self.problem.predictors.restricted:
            some = self.problem.Z[:, self.problem.predictors.of_group([j])]
            return np.asarray(cdist(some[rows], some[others], "cityblock"))
        group = self.problem.Z[:, list(self._group_of[j])]
        own = cdist(group[rows], group[others], "cityblock")
        distances: Array = self._distances[np.ix_(rows, others)] - own
        return distances


def _deviations(M: Mask, precision: Array) -> Array:
    """(m, d), conditional standard deviations of missing entries, in standardised units; 1 if known."""
    sigma = np.ones(M.shape)
    for rows, covariance in conditional_covariances(M, precision):
        variances = np.diagonal(covariance, axis1=1, axis2=2)
        sigma[rows] = np.sqrt(np.where(M[rows], np.maximum(variances, 1e-12), 1.0))
    return sigma


def _local_rms(squares: Array, weight: Array, distances: Array | None) -> Any:
    """RMS of e/σ near each of m entries, from `squares` (h,) of it and `distances` (m, h) to their rows.

    Without distances, one number: the weighted RMS of all held-out entries; 1 if there are none.
    """
    overall = max(float(np.average(squares, weights=weight)), _MIN_ERROR**2) if weight.sum() > 0 else 1.0
    if distances is None:
        return math.sqrt(overall)
    near = np.argpartition(distances, _SIMILAR_ROWS - 2, axis=1)[:, : _SIMILAR_ROWS - 1]
    total = _PRIOR_ENTRIES * overall + squares[near].sum(axis=1)
    return np.sqrt(total / (_PRIOR_ENTRIES + near.shape[1]))


def _quantile(ratios: Array, weight: Array, level: float) -> float:
    """Weighted conformal quantile of |e|/s for coverage `level`; that of a normal one if ratios are few."""
    if len(ratios) < _MIN_ENTRIES or not weight.sum() > 0:
        return float(ndtri((1 + level) / 2))
    order = np.argsort(ratios)
    effective = weight.sum() ** 2 / (weight**2).sum()  # number of entries of equal weight, as informative
    reached = np.cumsum(weight[order]) / weight.sum() >= level * (1 + 1 / effective) - 1e-9
    return float(ratios[order[np.argmax(reached) if reached.any() else -1]])
