"""The formulas of the validation, written once more as plain loops that share no code with the package."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import chi2, norm

from manifill._fillers.sweep import LinearStart
from manifill._problem import Problem
from manifill._validation import Evidence, accuracy, hold_out, random_sets, shrinkage, stack
from manifill._validation.errors import Errors
from manifill._validation.holdout import (
    _moved,
    distance_bins,
    distance_bins_of_new_rows,
    hold_out_like_missing,
    holdout_size,
    odds_of,
)
from manifill._validation.missingness import missingness_odds
from manifill.layouts import Grid, Learned


def odds_of_loops(Z, M, groups):
    """Odds of being missing, by strata of a ridge regression score."""
    n, v = len(Z), len(groups)
    missing = M[:, [group[0] for group in groups]]
    some = [i for i in range(v) if 0 < missing[:, i].sum() < n]
    odds = np.ones(M.shape)
    total = missing[:, some].sum()
    if total < 40:
        return odds
    features = np.hstack([missing, Z]).astype(float)
    varying = features.std(axis=0) > 0
    features[:, varying] = (features - features.mean(axis=0))[:, varying] / features.std(axis=0)[varying]
    half = np.random.default_rng(0).permutation(n) % 2
    scores = np.zeros((n, v))
    for i, group in enumerate(groups):
        others = [k for k in range(v + Z.shape[1]) if k != i and k - v not in group]
        for test in (0, 1):
            train = features[half != test] - features[half != test].mean(axis=0)
            A = train[:, others]
            slopes = np.linalg.inv(A.T @ A + 10 * len(others) * np.eye(len(others))) @ A.T @ train[:, i]
            scores[half == test, i] = features[half == test][:, others] @ slopes
            scores[half == test, i] -= features[half != test].mean(axis=0)[others] @ slopes
    if Z.shape[1] > 100:  # in a wide table the score is how much else is missing
        scores = np.array([[missing[r].sum() - missing[r, i] for i in range(v)] for r in range(n)])
    count = min(5, max(1, total // 20))
    edges = np.quantile(scores[:, some][missing[:, some]], [k / count for k in range(1, count)])
    found, like_all, expected, variance = np.zeros((4, count))
    stratum = (scores[..., None] > edges).sum(axis=-1)
    for i in some:
        p = missing[:, i].mean()
        for r in range(n):
            k = stratum[r, i]
            found[k] += missing[r, i]
            like_all[k] += 0 if missing[r, i] else p / (1 - p)
            expected[k] += p
            variance[k] += p * (1 - p)
    statistic = ((found - expected) ** 2 / variance).sum()
    power = max(0, 1 - chi2.isf(0.05, count - 1) / statistic)
    for i in some:
        for r, column in itertools.product(range(n), groups[i]):
            k = stratum[r, i]
            odds[r, column] = min(20, max(1 / 20, found[k] / max(1, like_all[k]))) ** power
    return odds


@pytest.mark.parametrize(("rows", "strength"), [(60, 2.0), (100, 4.0), (150, 1.0), (400, 0.6), (400, 8.0)])
def test_odds_of_being_missing(rows, strength, rng):
    Z = rng.normal(size=(rows, 5))
    Z[:, 4] = 1.5
    M = rng.random(Z.shape) < 0.5 / (1 + np.exp(-strength * (Z[:, :1] - 0.5)))
    M[:, [0, 4]] = False
    M[:, 3] = M[:, 2]  # one variable of two columns
    groups = ((0,), (1,), (2, 3), (4,))
    Z = np.where(M, 0.0, Z)
    found = missingness_odds(Z, M, groups)
    assert (found == 1).all() == (rows <= 100)  # strata that do not differ significantly
    np.testing.assert_allclose(found, odds_of_loops(Z, M, groups), rtol=1e-9)
    np.testing.assert_array_equal(missingness_odds(Z[:, :4], M[:, :4], groups[:2])[:, 2:], 1.0)


@pytest.mark.parametrize("columns", [100, 101])
def test_odds_of_wide_tables(columns, rng):
    M = rng.random((50, columns)) < rng.uniform(0, 0.5, (50, 1))
    Z = np.where(M, 0.0, rng.normal(size=M.shape))
    groups = tuple((j,) for j in range(columns))
    np.testing.assert_allclose(missingness_odds(Z, M), odds_of_loops(Z, M, groups), rtol=1e-7)


def test_odds_need_forty_missing_entries():
    Z = np.linspace(-1, 1, 200)[:, None] * [1.0, 1.0]
    for count in (39, 40):
        M = np.zeros(Z.shape, bool)
        M[-count:, 1] = True
        assert (missingness_odds(np.where(M, 0.0, Z), M) == 1).all() == (count < 40)


def shrinkage_of_loops(columns, found, truth, d):
    own = [columns == j for j in range(d)]
    factor = [min(1, max(0, (30 + found[k] @ truth[k]) / (30 + found[k] @ found[k]))) for k in own]
    residual = [((factor[j] * found[k] - truth[k]) ** 2).sum() for j, k in enumerate(own)]
    total = [(truth[k] ** 2).sum() for k in own]
    overall = (sum(residual) + 2.5) / (sum(total) + 5)
    gains = [truth[k] ** 2 - (factor[j] * found[k] - truth[k]) ** 2 for j, k in enumerate(own)]
    error = [math.sqrt((one**2).sum()) for one in gains]
    table = sum(one.sum() for one in gains) + 2.5 > 1.7 * math.sqrt(sum(one**2 for one in error))
    for j in range(d):
        expected = (residual[j] + 5 * overall) / (total[j] + 5)
        significant = table or gains[j].sum() > 3.4 * error[j]
        if not (expected < 0.98 and significant and gains[j].sum() >= -1.7 * error[j]):
            factor[j] = 0
    return factor


def test_shrinkage():
    rng = np.random.default_rng(5)
    outcomes = []
    for _ in range(300):
        columns = rng.integers(0, 3, rng.integers(3, 60))
        truth, other = rng.normal(size=(2, len(columns)))
        signal = rng.uniform(-0.4, 1, 3)[columns]
        found = signal * truth + rng.uniform(0, 1.5) * other
        outcomes.append(shrinkage(columns, found, truth, 4))
        np.testing.assert_allclose(outcomes[-1], shrinkage_of_loops(columns, found, truth, 4), rtol=1e-12)
    assert 0.2 < np.mean(np.array(outcomes) == 0) < 0.8


def evidence_of(problem, rng, share=0.25, count=2, noise=0.5):
    """Held-out entries of a problem, their weights at random, with noise as errors."""
    weight = rng.uniform(0.2, 3, problem.shape)
    sets = [hold_out(problem, mask, weight=weight) for mask in random_sets(problem, share, count, rng)]
    found = np.concatenate([one.truth for one in sets])
    found = found + noise * rng.normal(size=found.shape) * rng.uniform(0.1, 2, found.shape)
    factors = rng.uniform(0.5, 1, problem.shape[1])
    return Evidence.of(sets, found, factors, share)


@pytest.fixture
def problem(rng):
    """Three variables of four columns, correlated, with weights and a row without values."""
    X = rng.normal(size=(120, 1)) * [1, 2, 3, -4] + rng.normal(size=(120, 4)) * [0.5, 2, 1, 3]
    X[rng.random(X.shape) < 0.2] = np.nan
    X[:, 2] = np.where(np.isnan(X[:, 1]), np.nan, X[:, 2])
    X[:, 1] = np.where(np.isnan(X[:, 2]), np.nan, X[:, 1])
    X[7] = np.nan
    return Problem.of(X, groups=[[1, 2]], weights=[1.0, 0.7, 0.7, 2.0])


@pytest.mark.parametrize("with_odds", [False, True])
@pytest.mark.parametrize("with_screened", [False, True])
def test_accuracy(problem, rng, with_odds, with_screened):
    evidence = evidence_of(problem, rng)
    evidence.shrinkage[3] = 0.0
    screened = evidence_of(problem, rng, count=1, noise=1.0) if with_screened else None
    odds = rng.uniform(0.5, 2, problem.shape) if with_odds else None

    def sums(one):
        e2, t2 = one.weight * (one.truth - one.found) ** 2, one.weight * one.truth**2
        return [np.array([part[one.columns == j].sum() for j in range(4)]) for part in (e2, t2, e2**2)]

    errors, total, fourth = sums(evidence)
    m, counts = fourth / errors, np.bincount(evidence.columns, minlength=4)
    if screened is not None:
        more_errors, more_total, _ = sums(screened)
        scale = (errors.sum() / total.sum()) / (more_errors.sum() / more_total.sum())
        errors, total = errors + scale * more_errors, total + more_total
        counts = counts + np.bincount(screened.columns, minlength=4)
    found = accuracy(evidence, problem, odds, screened)
    for j, one in enumerate(found):
        known = np.flatnonzero(~problem.M[:, j])
        variance = 1.0
        if odds is not None:
            terms = odds[known, j] * (problem.Z[known, j] / problem.scaling.weight[j]) ** 2
            variance = (terms.sum() + (terms**2).sum() / terms.sum()) / odds[known, j].sum()
        table_ratio = min(1, errors.sum() / total.sum())
        squared = 0.75 * (errors[j] + m[j] + variance * table_ratio) / (total[j] + variance)
        squared = 1 if j == 3 else squared
        column = problem.given[:, j]
        empty = np.isnan(problem.given).all(axis=1).sum() / np.isnan(column).sum()
        mean_error = np.nanstd(column, ddof=1) * math.sqrt(variance)
        assert one.mean_error == pytest.approx(mean_error, rel=1e-12)
        assert one.error == pytest.approx(mean_error * math.sqrt((1 - empty) * squared + empty), rel=1e-9)
        assert (one.held_out, one.column) == (counts[j], j)


def stack_of_loops(fills, truth, max_fills):
    """Forward selection, with a general minimiser for the weights."""
    penalty = 30 * np.mean(fills**2)

    def loss(w, chosen):
        prior = penalty * (w @ w - 2 * w.sum() / max_fills)
        return (w @ fills[chosen]) @ (w @ fills[chosen]) - 2 * (w @ fills[chosen]) @ truth + prior

    chosen, lowest, weights = [], 0.0, np.zeros(len(fills))
    while len(chosen) < max_fills:
        tried = []
        for i in set(range(len(fills))) - set(chosen):
            some = [*chosen, i]
            limit = {"type": "ineq", "fun": lambda w: 1 - w.sum()}
            start = np.full(len(some), 0.5 / len(some))
            found = minimize(
                loss, start, (some,), "SLSQP", bounds=[(0, 1)] * len(some), constraints=limit, tol=1e-12
            )
            tried.append((found.fun, some, found.x))
        best, some, w = min(tried, key=lambda one: one[0])
        if best >= lowest - 1e-4 * truth @ truth:
            break
        chosen, lowest, weights = some, best, np.zeros(len(fills))
        weights[some] = w
    return weights


@pytest.mark.parametrize("seed", range(6))
def test_stack(seed):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=40)
    fills = rng.uniform(0, 1.5, (4, 1)) * truth + rng.uniform(0.2, 2, (4, 1)) * rng.normal(size=(4, 40))
    if seed % 2:
        fills[0] = truth + 0.1 * rng.normal(size=40) * (np.arange(40) % 2)  # a fill that is hard to improve
    entry_weights, folds = rng.uniform(0.2, 2, 40), np.arange(40) % 2
    roots = np.sqrt(entry_weights)
    for most in (1, 2, 4):
        expected = stack_of_loops(fills * roots, truth * roots, most)
        np.testing.assert_allclose(stack(fills, truth, most, entry_weights), expected, atol=2e-3)
        squares = ((fills - truth) ** 2 * entry_weights).sum(axis=1)
        several, single = 0.0, 0.0
        for fold in (0, 1):
            train, test = folds != fold, folds == fold
            w = stack_of_loops((fills * roots)[:, train], (truth * roots)[train], most)
            best = np.argmin(((fills - truth) ** 2 * entry_weights)[:, train].sum(axis=1))
            several += (((w @ fills - truth) * roots)[test] ** 2).sum()
            single += (((fills[best] - truth) * roots)[test] ** 2).sum()
        if several > 0.995 * single:
            expected = np.eye(4)[np.argmin(squares)]
        np.testing.assert_allclose(stack(fills, truth, most, entry_weights, folds), expected, atol=2e-3)


class ErrorsOfLoops:
    """Expected errors without times and layout: σ^γ times the RMS of e/σ^γ in similar rows."""

    def __init__(self, problem, Z, evidence):
        self.problem, self.Z, self.evidence = problem, Z, evidence
        self.P = LinearStart().distribution(problem, np.random.default_rng(0))[1]
        self.group = {j: group for group in problem.groups for j in group}
        sigma = []
        for r, j, number in zip(evidence.rows, evidence.columns, evidence.sets, strict=True):
            together = (evidence.rows == r) & (evidence.sets == number)
            M = problem.M[r].copy()
            M[evidence.columns[together]] = True
            sigma.append(self.sigma(M, j))
        self.held_out_sigma = np.array(sigma)
        self.power = min(np.arange(13) / 4, key=self.loss)
        self.squares = (evidence.errors / self.held_out_sigma**self.power) ** 2

    def covariance(self, M):
        m = np.flatnonzero(M)
        weight = self.problem.scaling.weight[m]
        return np.linalg.inv(self.P[np.ix_(m, m)]) / np.outer(weight, weight)

    def sigma(self, M, j):
        return math.sqrt(np.diag(self.covariance(M))[np.flatnonzero(M) == j][0])

    def loss(self, power):
        """Negative log-likelihood of normal errors with standard deviation c·σ^γ, and of the prior of γ."""
        total = 2 * (power - 1) ** 2
        for j in range(self.problem.shape[1]):
            own = self.evidence.columns == j
            w = self.evidence.weight[own]
            w = w * w.sum() / (w @ w)
            s = self.held_out_sigma[own] ** power
            # Five more entries have σ = 1 and error 1.
            c2 = ((w * (self.evidence.errors[own] / s) ** 2).sum() + 5) / (w.sum() + 5)
            total += (w * np.log(math.sqrt(c2) * s)).sum() + 5 * math.log(math.sqrt(c2))
        return total

    def rms(self, z, j, without=None):
        """RMS of e/σ^γ over held-out entries of a column in the rows most similar to z, 0 where missing."""
        own = np.flatnonzero(self.evidence.columns == j)
        squares, w = self.squares[own], self.evidence.weight[own]
        overall = (w * squares).sum() / w.sum()
        if len(own) < 20:
            return math.sqrt(overall)
        others = [k for k in range(len(z)) if k not in self.group[j]]
        distance = np.abs(self.problem.Z[self.evidence.rows[own]] - z)[:, others].sum(axis=1)
        if without is not None:
            distance[own == without] = np.inf
        near = np.argsort(distance)[:19]
        return math.sqrt((10 * overall + squares[near].sum()) / 29)

    def s(self, z, M, j):
        return self.sigma(M, j) ** self.power * self.rms(np.where(M, 0.0, z), j)

    def quantile(self, j, level):
        own = np.flatnonzero(self.evidence.columns == j)
        own = own if len(own) >= 20 else np.arange(len(self.squares))
        ratios = [
            math.sqrt(self.squares[i])
            / self.rms(self.problem.Z[self.evidence.rows[i]], self.evidence.columns[i], i)
            for i in own
        ]
        return quantile_of_loops(np.array(ratios), self.evidence.weight[own], level)


def quantile_of_loops(ratios, weight, level):
    if len(ratios) < 20:
        return norm.ppf((1 + level) / 2)
    reached, needed = 0.0, level * (1 + (weight**2).sum() / weight.sum() ** 2)
    for i in np.argsort(ratios):
        reached += weight[i] / weight.sum()
        if reached >= needed:
            return ratios[i]
    return ratios.max()


class UnitVectors:
    """A generator whose normal numbers are 1 in one column and 0 elsewhere."""

    def __init__(self, column):
        self.column = column

    def standard_normal(self, shape):
        return np.tile(np.arange(shape[1]) == self.column, (shape[0], 1)).astype(float)


@pytest.mark.parametrize("share", [0.25, 0.1, 0.04])
def test_expected_errors_quantiles_and_draws(problem, rng, share):
    evidence = evidence_of(problem, rng, share=share)
    evidence.shrinkage[3] = 0.0
    Z = np.where(problem.M, rng.normal(size=problem.shape), problem.Z)
    errors, loops = Errors(problem, Z, evidence), ErrorsOfLoops(problem, Z, evidence)
    correction = np.where(evidence.shrinkage > 0, (1 - share) ** 0.25, 1.0)
    for r, j in zip(*np.nonzero(problem.M), strict=True):
        expected = correction[j] * loops.s(Z[r], problem.M[r], j)
        assert errors.expected[r, j] == pytest.approx(expected, rel=1e-9)
    assert not errors.expected[~problem.M].any()
    for level in (0.3, 0.9, 0.97):
        expected = [loops.quantile(j, level) for j in range(4)]
        np.testing.assert_allclose(errors.quantiles(level), expected, rtol=1e-9)
    new, M = rng.normal(size=(6, 4)), rng.random((6, 4)) < 0.5
    found = errors.of_new_rows(M, new, None)
    for r, j in np.ndindex(6, 4):
        expected = loops.s(new[r], M[r], j) if M[r, j] else 0.0
        assert found[r, j] == pytest.approx(expected, rel=1e-9)
    factors = np.stack([errors.drawn(UnitVectors(column)) for column in range(4)], axis=2)
    for r in np.flatnonzero(problem.M.any(axis=1))[:20]:
        m = np.flatnonzero(problem.M[r])
        covariance = loops.covariance(problem.M[r])
        deviations = errors.expected[r, m] / np.sqrt(np.diag(covariance))
        found = (factors[r] @ factors[r].T)[np.ix_(m, m)]
        np.testing.assert_allclose(found, covariance * np.outer(deviations, deviations), rtol=1e-9)


def bins_of_loops(problem, M):
    """Bins of the distances to the nearest known pixel of the row and the nearest known row of the column."""
    in_row, along = [0.5, 1.2, 1.6, 2.5, 3.5, 5.5, 8.5, 12.5, 20.5], [0.5, 1.5, 2.5, 4.5, 8.5, 16.5]
    bins = np.zeros(M.shape, dtype=int)
    for r, j in np.ndindex(M.shape):
        if isinstance(problem.layout, Grid):
            h, w, c = problem.layout.shape(M.shape[1])
            known = ~M[r].reshape(h, w, c).all(axis=2)
            y, x = divmod(j // c, w)
            distances = [math.hypot(y - i, x - k) for i, k in np.argwhere(known)]
            bins[r, j] = sum(min(distances, default=np.inf) >= edge for edge in in_row)
        if problem.moments is not None:
            nearest = min((abs(r - i) for i in np.flatnonzero(~M[:, j])), default=np.inf)
            bins[r, j] = 7 * bins[r, j] + sum(nearest >= edge for edge in along)
    return bins


def test_distances_to_known_entries_up_to_long_gaps(rng):
    M = np.zeros((40, 60), bool)
    M[3:37, 2:] = M[38, :] = True
    M[30:33, 4:57] = rng.random((3, 53)) < 0.9
    problem = Problem.of(
        np.where(M, np.nan, rng.normal(size=M.shape)), layout=Grid(2, 30), moments=np.arange(40.0)
    )
    found, expected = distance_bins(problem, M, M), bins_of_loops(problem, M)
    np.testing.assert_array_equal(found[M], expected[M])
    assert set((found[M] // 7).tolist()) == set(range(1, 10))  # every distance within the row
    assert set((found[M] % 7).tolist()) == set(range(1, 7))  # and along the rows


@pytest.mark.parametrize("grid", [False, True])
@pytest.mark.parametrize("timed", [False, True])
def test_errors_by_distance(rng, grid, timed):
    X = rng.normal(size=(40, 24)) + np.linspace(0, 4, 24)
    M = rng.random(X.shape) < 0.15
    M[5:25, 2:20] = True  # a long gap
    X[M] = np.nan
    layout = Grid(3, 4, 2) if grid else None
    problem = Problem.of(X, layout=layout, moments=np.arange(40.0) if timed or not grid else None)
    bins = bins_of_loops(problem, problem.M)
    np.testing.assert_array_equal(distance_bins(problem, problem.M, problem.M)[problem.M], bins[problem.M])
    entries = np.argwhere(~problem.M)[rng.permutation((~problem.M).sum())[:300]]
    rows, columns = entries[entries[:, 1] != 0].T  # nothing is held out in the first column
    place = rng.integers(0, bins.max() + 1, len(rows))
    found, truth, weight = rng.normal(size=(3, len(rows)))
    found = truth + found * (0.2 + 0.3 * place)
    sets = np.zeros(len(rows), dtype=int)
    evidence = Evidence(rows, columns, found, truth, np.abs(weight), place, sets, np.full(24, 0.5), share=0.1)
    errors, w, e = Errors(problem, problem.Z, evidence), np.abs(weight), truth - found
    overall = math.sqrt((w * e**2).sum() / w.sum())

    def rms(j, one):
        column, near = columns == j, place == one
        total = overall
        if column.any() and not grid:
            squared = (w * e**2)[column].sum() + 10 * overall**2
            total = math.sqrt(squared / (w[column].sum() + 10))
        return total * (math.sqrt((e[near] ** 2).mean()) / overall if near.sum() >= 20 else 1.0)

    for r, j in zip(*np.nonzero(problem.M), strict=True):
        expected = math.sqrt(0.9) * rms(j, bins[r, j])
        assert errors.expected[r, j] == pytest.approx(expected, rel=1e-9)
    ratios = np.array([abs(e[i]) / rms(columns[i], place[i]) for i in range(len(e))])
    for j, quantile in enumerate(errors.quantiles(0.8)):
        own = columns == j if (columns == j).sum() >= 20 else columns >= 0
        assert quantile == pytest.approx(quantile_of_loops(ratios[own], w[own], 0.8), rel=1e-9)
    np.testing.assert_array_equal(errors.drawn(UnitVectors(3))[:, :3], 0)
    np.testing.assert_array_equal(errors.drawn(UnitVectors(3))[:, 3], errors.expected[:, 3])


def test_errors_of_wide_tables_are_those_of_their_columns(rng):
    """With more than 100 columns the spread of a value given its row is not estimated."""
    X = rng.normal(size=(60, 101))
    X[rng.random(X.shape) < 0.1] = np.nan
    problem = Problem.of(X)
    evidence = evidence_of(problem, rng, share=0.1)
    errors = Errors(problem, problem.Z, evidence)
    squares = evidence.weight * evidence.errors**2
    for j in range(101):
        own = evidence.columns == j
        rms = math.sqrt(squares[own].sum() / evidence.weight[own].sum())
        expected = np.where(problem.M[:, j], math.sqrt(0.9) * rms, 0.0)
        np.testing.assert_allclose(errors.expected[:, j], expected)
    np.testing.assert_array_equal(errors.drawn(UnitVectors(3))[:, 3], errors.expected[:, 3])
    np.testing.assert_allclose(
        errors.of_new_rows(problem.M, problem.Z, None) * math.sqrt(0.9), errors.expected
    )


def test_constant_columns_have_no_errors(rng):
    X = np.column_stack([rng.normal(size=(30, 2)), np.full(30, 2.0)])
    X[3:6] = [[np.nan, 1, 2], [1, 1, np.nan], [1, np.nan, np.nan]]
    problem = Problem.of(X)
    errors = Errors(problem, problem.Z, evidence_of(problem, rng))
    assert ((errors.expected > 0) == (problem.M & [True, True, False])).all()
    M = np.array([[True, False, True]])
    np.testing.assert_array_equal(errors.of_new_rows(M, np.zeros((1, 3)), None) > 0, [[True, False, False]])


def test_without_held_out_entries_errors_by_distance_are_unknown(rng):
    X = rng.normal(size=(10, 3))
    X[2, 1] = np.nan
    errors = Errors(timed := Problem.of(X, moments=np.arange(10.0)), timed.Z, Evidence.none(3))
    assert errors.expected[2, 1] == 1.0
    np.testing.assert_array_equal(errors.quantiles(0.9), np.inf)
    usual = Errors(plain := Problem.of(X), plain.Z, Evidence.none(3))
    np.testing.assert_allclose(usual.quantiles(0.9), norm.ppf(0.95))
    precision = LinearStart().distribution(plain, np.random.default_rng(0))[1]
    place = np.argwhere(plain.M)[0]
    assert usual.expected[tuple(place)] == pytest.approx(precision[1, 1] ** -0.5)


@pytest.mark.parametrize(
    ("rows", "share", "count"),
    [
        (20, 0.1, 3),
        (100, 0.1, 3),
        (250, 0.1, 3),
        (300, 0.1, 2),
        (600, 0.1, 1),
        (1000, 0.06, 1),
        (6000, 0.02, 1),
    ],
)
def test_about_sixty_entries_of_each_column_are_held_out(rows, share, count, rng):
    """In at most three sets of 2 to 10 %; context and constant columns do not count."""
    X = rng.normal(size=(2 * rows, 4))
    X[::2, 0] = np.nan
    X[1::2, 1] = np.nan
    X[:, 2] = 3.0
    found = holdout_size(Problem.of(X, n_context=1))
    assert found == (pytest.approx(share), count)


def test_large_tables_have_one_held_out_set(rng):
    X = rng.normal(size=(250, 101))
    assert holdout_size(Problem.of(X, n_context=1)) == (0.1, 3)
    assert holdout_size(Problem.of(X)) == (0.1, 1)


def test_held_out_values_are_in_standard_deviations_before_holding_out(problem, rng):
    entries = ~np.isnan(problem.given) & (rng.random(problem.given.shape) < 0.3)
    weight, place = rng.uniform(1, 2, problem.shape), rng.integers(0, 9, problem.shape)
    held_out = hold_out(problem, entries, weight=weight, place=place)
    left = np.where(entries, np.nan, problem.given)
    some, Z = held_out.problem.rows, rng.normal(size=held_out.problem.shape)
    assert len(held_out.truth) == entries[some].sum()
    for i, (r, j) in enumerate(zip(held_out.rows, held_out.columns, strict=True)):
        row = some[r]
        assert entries[row, j]
        before, mean, after = (
            np.nanstd(problem.given[:, j], ddof=1),
            np.nanmean(left[:, j]),
            np.nanstd(left[:, j], ddof=1),
        )
        assert held_out.truth[i] == pytest.approx((problem.given[row, j] - mean) / before)
        scale = after / before / problem.scaling.weight[j]
        assert held_out.found(Z)[i] == pytest.approx(scale * Z[r, j])
        assert (held_out.weight[i], held_out.place[i]) == (weight[r, j], place[r, j])
    known = np.where(rng.random(left.shape) < 0.1, 5.0, np.nan)
    replaced = hold_out(problem, entries, known).problem.given
    np.testing.assert_array_equal(replaced, np.where(np.isnan(known), left, known))


@pytest.mark.parametrize(
    ("known", "share", "count", "size"),
    [(40, 0.1, 3, 4), (40, 0.5, 3, 7), (40, 0.5, 1, 20), (7, 0.01, 3, 0), (8, 0.01, 3, 1), (4, 0.01, 1, 1)],
)
def test_sizes_of_random_sets(known, share, count, size, rng):
    """At most half of a column together; at least one entry of a column that can spare it."""
    X = np.column_stack([rng.normal(size=(60, 3)), np.full(60, 2.0), rng.normal(size=60)])
    X[known:, 0] = np.nan
    sets = random_sets(Problem.of(X, n_context=1), share, count, rng)
    assert [one[:, 0].sum() for one in sets] == [size] * count
    assert not any(one[:, 4].any() for one in sets)  # a context column
    assert sum(one.astype(int) for one in sets).max() <= 1
    X[:known, 1:4] = np.nan
    X[:known, 4] = 1.0
    X[known:, 4] = 1.0
    for one in random_sets(Problem.of(X, n_context=1), share, count, rng):
        assert not one[:known].any()  # the only value that varies is kept


def test_context_columns_only_predict_what_is_missing(rng):
    X = rng.normal(size=(300, 3))
    X[rng.random(300) < 1 / (1 + np.exp(-3 * X[:, 2])), 0] = np.nan
    problem = Problem.of(X, n_context=1)
    odds = odds_of(problem)
    assert (odds[:, 2] == 1).all()
    assert odds[:, 0].max() > 2
    np.testing.assert_array_equal(odds, missingness_odds(problem.Z, problem.M, ((0,), (1,))))


@pytest.mark.parametrize("layout", [Grid(4, 6), Grid(4, 2, 3), Learned(), None], ids=str)
@pytest.mark.parametrize("rate", [0.05, 0.4])
def test_entries_held_out_like_missing_ones(layout, rate, rng):
    X = rng.normal(size=(60, 24))
    M = rng.random(X.shape) < rate
    M[20:40, 6:12] = True
    if isinstance(layout, Grid):
        M = np.repeat(M[:, :: layout.channels], layout.channels, axis=1)
    X[M] = np.nan
    problem = Problem.of(X, layout=layout, moments=np.arange(60.0) if layout is None else None)
    rows = np.arange(5, 55)
    shares = []
    for seed in range(3):
        found = hold_out_like_missing(problem, rows, np.random.default_rng(seed))
        assert not problem.M[found.rows, found.columns].any()
        assert np.isin(found.rows, rows).all()
        H = np.zeros(X.shape, bool)
        H[found.rows, found.columns] = True
        if isinstance(layout, Grid):  # channels of a pixel are held out together
            pixels = H.reshape(60, -1, layout.channels)
            assert (pixels.any(axis=2) == pixels.all(axis=2)).all()
        shares.append(H.sum() / (~problem.M[rows]).sum())
        part = Problem.of(X[rows], layout=layout, moments=None if problem.moments is None else rows)
        missing = bins_of_loops(part, part.M)[part.M]
        place = bins_of_loops(part, part.M | H[rows])[H[rows]]
        np.testing.assert_array_equal(found.place, place)
        wanted = [(missing == one).mean() / (place == one).mean() for one in place]
        weight = np.minimum(wanted, 20.0)
        np.testing.assert_allclose(found.weight, weight / weight.mean())
    if isinstance(layout, Learned):  # without distances, single entries
        assert np.mean(shares) == pytest.approx(0.06, abs=0.015)
    else:  # and damage of other rows: at most a quarter, or 8 % if much is missing
        assert {0.05: 0.14, 0.4: 0.1}[rate] < np.mean(shares) < {0.05: 0.31, 0.4: 0.15}[rate]


def test_little_damage_is_moved_to_many_rows(rng):
    X = rng.normal(size=(60, 24))
    X[30, :12] = np.nan
    problem = Problem.of(X, layout=Grid(4, 6))
    found = hold_out_like_missing(problem, np.arange(60), np.random.default_rng(0))
    per_row = np.bincount(found.rows, minlength=60)
    assert (per_row >= 12).sum() > 10


def test_moved_damage_keeps_its_channel_and_size(rng):
    field = np.zeros((6, 5, 4, 3), bool)
    field[2, 1:3, 1, 0] = True
    places = set()
    for _ in range(60):
        moved = _moved(field, rng)
        rows, y, x, channel = np.nonzero(moved)
        assert len(rows) == 2
        assert set(channel) == {0}
        assert len(set(rows)) == len(set(x)) == 1
        assert rows[0] != 2  # to another row
        assert (y[1] - y[0]) % 5 in (1, 4)
        places.add((int(rows[0]), int(x[0])))
    assert len(places) > 12
    assert _moved(field[2:3], rng).sum() == 2  # a single row


def test_distances_of_new_rows(rng):
    X = rng.normal(size=(50, 3))
    X[rng.random(X.shape) < 0.6] = np.nan
    X[0], X[49] = np.nan, [1, 2, np.nan]
    problem = Problem.of(X, moments=np.arange(50.0))
    times = np.array([-3.0, 0.5, 10.5, 30.2, 48.5, 70.0, np.nan])
    M = np.ones((7, 3), bool)
    found = distance_bins_of_new_rows(problem, M, times)
    for i, t in enumerate(times):
        for j in range(3):
            # As if the new row stood between the fitted rows.
            all_times = np.append(np.arange(50.0), t)
            column = np.append(np.isnan(X[:, j]), True)[np.argsort(all_times, kind="stable")][:, None]
            position = int(np.argsort(np.argsort(all_times, kind="stable"))[-1])
            with_row = Problem.of(np.where(column, np.nan, rng.normal(size=(51, 1))), moments=np.arange(51.0))
            expected = bins_of_loops(with_row, column)[position, 0] if np.isfinite(t) else 6
            assert found[i, j] == expected
    np.testing.assert_array_equal(distance_bins_of_new_rows(problem, M, None), 6)
    pixels = Problem.of(X, layout=Grid(1, 3), moments=np.arange(50.0))
    M[:, 0] = False
    within = bins_of_loops(replace(pixels, moments=None), M)
    np.testing.assert_array_equal(distance_bins_of_new_rows(pixels, M, times), 7 * within + found)


def linear_of_loops(Z, M, weight, rounds=8):
    """Expectation–maximisation of a normal distribution, row by row; returns the last mean and precision."""
    n, d = Z.shape
    Z, extra = Z.copy(), np.diag(M.sum(axis=0) * weight**2)
    for _ in range(rounds):
        mean = Z.mean(axis=0)
        S = (sum(np.outer(z - mean, z - mean) for z in Z) + extra) / n
        shrunk = d / (2 * (n + d))
        S = S - shrunk * (S - np.diag(np.diag(S))) + 1e-6 * (1 + shrunk) * np.eye(d)
        extra = np.zeros((d, d))
        for z, missing in zip(Z, M, strict=True):
            m, o = np.flatnonzero(missing), np.flatnonzero(~missing)
            slopes = S[np.ix_(m, o)] @ np.linalg.inv(S[np.ix_(o, o)])
            z[m] = mean[m] + slopes @ (z[o] - mean[o])
            extra[np.ix_(m, m)] += S[np.ix_(m, m)] - slopes @ S[np.ix_(o, m)]
    return Z, mean, np.linalg.inv(S)


def test_the_linear_start_is_the_conditional_mean(problem, rng):
    Z, mean, precision = linear_of_loops(problem.Z, problem.M, problem.scaling.weight)
    found = LinearStart().distribution(problem, rng)
    np.testing.assert_allclose(found[0], mean, rtol=1e-8)
    np.testing.assert_allclose(found[1], precision, rtol=1e-6)
    np.testing.assert_allclose(LinearStart()(problem, rng), Z, atol=1e-8)
