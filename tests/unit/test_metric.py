"""Metrics of their own for every column: learned weights, copies, efforts, new rows, saved models."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from manifill import IGHImputer, TableImputer
from manifill._estimators import checking
from manifill._fillers import Run, Status
from manifill._fillers.metric import (
    EFFORTS,
    Effort,
    MetricFiller,
    Trees,
    Tuned,
    in_order,
    newrows,
    regression,
    targets,
)
from manifill._fillers.metric import filler as sweeps
from manifill._fillers.metric import tuned as tuning
from manifill._fillers.metric.copies import linear_copies
from manifill._fillers.metric.near import NearFit
from manifill._fillers.metric.preset import FIVE, NEAR, TWO, is_near
from manifill._fillers.metric.regression import fit, learned_weights
from manifill._fillers.metric.rows import Rows, Weighted, lengthened
from manifill._fillers.metric.shares import sums_of
from manifill._fillers.metric.trees import Forest
from manifill._fillers.metric.tuned import Parameters
from manifill._fillers.sweep import Component
from manifill._problem import Problem
from manifill._stacking import stack_by_group
from manifill.errors import InvalidInput
from manifill.kernels import Cosine, Gaussian, Pairs
from manifill.kernels.pairs import ABSOLUTE_DISTANCE, SQUARED_DISTANCE
from manifill.solvers import CentresFit, ExactFit, Ridge

SHORT, LONG = EFFORTS["balanced"].short, EFFORTS["balanced"].long


def friedman(n, seed, d=8):
    """Uniform predictors of which the first three matter, and their function in the last column."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    y = np.sin(3 * X[:, 0]) + X[:, 1] ** 2 * 2 + X[:, 2] + 0.1 * rng.standard_normal(n)
    return np.column_stack([X, y])


@pytest.fixture(scope="module")
def problem():
    X = friedman(600, 0)
    X[400:, -1] = np.nan
    return Problem.of(X)


def filled(problem, **changes):
    filler = MetricFiller(replace(SHORT, **changes))
    *_, fill = filler.steps(problem, np.random.default_rng(0), Run(), None)
    return fill


class TestFitsThatLeaveOut:
    rng = np.random.default_rng(0)
    X, f, elsewhere = rng.standard_normal((30, 2)), rng.standard_normal((30, 2)), rng.standard_normal((30, 2))
    kernel = Gaussian(1.0)

    def affinities(self, A, B):
        return np.exp(-0.5 * ((A[:, None] - B) ** 2).sum(axis=2))

    def test_errors_and_values_equal_those_of_fits_without_the_row(self):
        found = ExactFit.of(self.kernel.gram(self.X), self.f, 0.1)
        values = found.without_own(self.affinities(self.elsewhere, self.X))
        for i in range(30):
            others = np.arange(30) != i
            K = self.affinities(self.X[others], self.X[others])
            c = np.linalg.solve(K + 0.1 * np.eye(29), self.f[others])
            without = self.affinities(self.X[[i]], self.X[others]) @ c
            np.testing.assert_allclose(found.errors[[i]], self.f[[i]] - without, atol=1e-10)
            there = self.affinities(self.elsewhere[[i]], self.X[others]) @ c
            np.testing.assert_allclose(values[[i]], there, atol=1e-10)

    def test_with_all_rows_as_centres_the_fit_is_the_same(self):
        K = self.kernel.gram(self.X)
        exact, near = ExactFit.of(K.copy(), self.f, 0.1), CentresFit.of(K, K, self.f, 0.1)
        np.testing.assert_allclose(K @ near.coefficients, K @ exact.coefficients, atol=1e-4)

    def test_the_influence_of_a_row_stays_below_1(self):
        K = self.kernel.gram(3 * self.X)
        found = CentresFit.of(K, K, self.f, 1e-12)
        np.testing.assert_array_equal(found.influence, 0.99)
        assert np.isfinite(found.errors).all()

    def test_with_few_centres_errors_are_about_those_of_fits_without_the_row(self):
        rng = np.random.default_rng(1)
        X = rng.standard_normal((400, 2))
        f = np.sin(X[:, :1]) + 0.5 * rng.standard_normal((400, 1))
        K, among = self.affinities(X, X[:40]), self.affinities(X[:40], X[:40])
        found = CentresFit.of(K, among, f, 0.1)
        without = np.empty(400)
        for i in range(400):
            others = np.arange(400) != i
            products = K[others].T @ K[others] + 0.1 * among + 1e-9 * np.eye(40)
            c = np.linalg.solve(products, K[others].T @ f[others])
            without[i] = (f[i] - K[i] @ c)[0]
        assert np.mean(found.errors**2) == pytest.approx(np.mean(without**2), rel=0.03)
        assert np.mean((f - K @ found.coefficients) ** 2) < 0.97 * np.mean(without**2)


class TestWeights:
    def test_columns_that_matter_get_the_weight(self, problem):
        weights = filled(problem).sweeps[-1].weights[targets(problem).index((8,))]
        assert weights[8] == 0
        assert weights[:3].min() > 3 * weights[3:8].max()
        assert np.mean(weights[:8] ** 2) == pytest.approx(1)

    def test_learned_weights_fill_better_than_equal_ones(self, problem):
        truth = friedman(600, 0)[:, -1]
        errors = []
        for changes in (
            {"most": 2},
            {"first": FIVE, "most": 1, "finish": ()},
        ):  # the weights of the first sweep are equal
            fill = filled(problem, **changes)
            errors.append(np.mean((fill.X[400:, -1] - truth[400:]) ** 2))
        assert errors[0] - 0.01 < 0.8 * (errors[1] - 0.01)  # without the variance of the noise

    @pytest.mark.parametrize("n", [40, 200])
    def test_slopes_are_those_of_the_fit(self, n, monkeypatch):
        """Root mean squares of the gradient equal those of finite differences."""
        monkeypatch.setattr(regression, "_GRADIENT_ROWS", n)
        rng = np.random.default_rng(1)
        X, weights = rng.standard_normal((n, 3)), np.array([0.5, 1.0, 0.2])
        Y = np.column_stack([np.sin(X[:, 0]), X[:, 1]])
        rows = Rows(X, np.zeros(X.shape, dtype=bool))
        found = fit(rows, Y, weights, np.zeros(3), TWO, SHORT, 100, np.arange(3), rows, slopes=True)
        for k in range(3):
            step = np.zeros(3)
            step[k] = 1e-6
            # A kernel has a kink at its centre; the two sides cancel in the central difference.
            above, below = (found.regression.at(replace(rows, Z=X + s * step))[0] for s in (1, -1))
            slope = (above - below) / 2e-6
            assert np.sqrt((slope**2).mean()) == pytest.approx(found.slopes[k], rel=1e-3)

    def test_dummies_of_a_category_have_one_weight(self):
        rng = np.random.default_rng(0)
        kind = rng.integers(0, 3, 300)
        noise = rng.standard_normal((300, 7))
        X = np.column_stack([np.eye(3)[kind], noise[:, :6], kind % 2 + 0.1 * noise[:, 6]])
        X[200:, 9] = np.nan
        problem = Problem.of(X, groups=[[0, 1, 2], *([j] for j in range(3, 10))])
        weights = filled(problem).sweeps[-1].weights[targets(problem).index((9,))]
        assert weights[0] == weights[1] == weights[2] > weights[3:9].max()

    def test_without_any_slope_weights_are_equal(self):
        allowed = np.array([True, False, True])
        np.testing.assert_array_equal(learned_weights(np.zeros(3), [(0,), (1,), (2,)], allowed), [1, 0, 1])


class TestTuned:
    """Parameters that minimise the leave-one-out error."""

    def rows(self, m=90, q=4, gaussian=False):
        rng = np.random.default_rng(0)
        X, imputed = rng.uniform(-2, 2, (m, q)), rng.random((m, q)) < 0.2
        rows = Weighted.of(Rows(X, imputed), np.arange(q), np.ones(q), np.full(q, 0.3))
        f = np.column_stack([np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(m), X[:, 1] ** 2])
        return rows, f, Parameters(np.full(q, 0.4), 0.05, 0.1, 2 if gaussian else 1)

    @pytest.mark.parametrize("gaussian", [False, True])
    def test_the_gradient_is_that_of_the_loss(self, gaussian):
        rows, f, start = self.rows(gaussian=gaussian)
        problem = tuning._LeaveOneOut(rows, f, start, np.array([0, 1, 1, 2]))
        at = np.array([0.3, -0.2, 0.1, 0.4, -0.3])
        for k in range(5):
            step = 1e-5 * (np.arange(5) == k)
            slope = (problem.loss(at + step)[0] - problem.loss(at - step)[0]) / 2e-5
            assert problem.loss(at)[1][k] == pytest.approx(slope, rel=1e-5, abs=1e-8)

    @pytest.mark.parametrize("gaussian", [False, True])
    def test_the_loss_is_that_of_fits_without_each_row(self, gaussian):
        """Up to the penalty, which is 0 at the start."""
        rows, f, start = self.rows(30, gaussian=gaussian)
        found = tuning._component(start, rows)
        one = Pairs.of(rows.values * start.factors, statistics=found.kernel.statistics)
        scaled = rows.times(start.factors)
        K = found.kernel.tuned(one)(lengthened(one, scaled, scaled, np.arange(30)))
        fitted = ExactFit.of(K, f, found.solver.ridge)
        loss, _ = tuning._LeaveOneOut(rows, f, start, np.arange(4)).loss(np.zeros(6))
        assert loss == pytest.approx(np.log(np.sum(fitted.errors**2)), abs=1e-8)

    def test_tuning_finds_the_predictors_that_matter(self):
        rows, f, start = self.rows(200)
        found = tuning.tuned(rows, f, start, np.arange(4), 5)
        assert found.factors[:2].min() > 2 * found.factors[2:].max()
        together = tuning.tuned(rows, f, start, np.zeros(4, dtype=int), 5)
        assert np.ptp(together.factors) == pytest.approx(0, abs=1e-12)

    @pytest.mark.parametrize("m", [20, 200, 1200])  # not tuned; tuned on halves; tuned once
    def test_values_without_the_row_are_about_those_of_new_rows(self, m):
        rows, f, _ = self.rows(m + 300)
        fitted = tuning.fit_tuned(rows[slice(m)], f[:m], Tuned(), SHORT, 100, np.arange(4))
        assert len(fitted.part.parts) == (2 if m == 200 else 1)
        left_out = np.mean((fitted.left_out[0] - f[:m]) ** 2)
        new = np.mean((fitted.part.at(rows[slice(m, None)])[0] - f[m:]) ** 2)
        assert 0.6 < left_out / new < 1.7
        np.testing.assert_allclose(fitted.without_own(rows[slice(m)]), fitted.left_out, atol=1e-8)


class TestTrees:
    def test_products_stay_positive_semi_definite(self):
        rng = np.random.default_rng(0)
        fills = rng.standard_normal((3, 50))
        fills[2] = fills[1] + 1e-3 * rng.standard_normal(50)
        for excess in ([0.0, 0.0, 20.0], [0.0, 5.0, 20.0]):
            left_out = fills[:, :, None]
            noise = np.broadcast_to(np.array(excess)[:, None, None] / 50, left_out.shape)
            products, _, _ = sums_of(left_out, noise, left_out[0], np.ones(50), np.arange(50) % 5)
            assert np.linalg.eigvalsh(products.sum(axis=0)).min() >= 0
            assert products.sum(axis=0)[2, 2] < fills[2] @ fills[2]

    def test_values_without_the_row_come_from_trees_that_do_not_know_it(self):
        rng = np.random.default_rng(0)
        X = rng.uniform(-1, 1, (600, 3))
        f = np.sign(X[:, :1]) + 0.5 * rng.standard_normal((600, 1))
        rows = Weighted.of(Rows(X, np.zeros(X.shape, dtype=bool)), np.arange(3), np.ones(3), np.zeros(3))
        forests = Forest.of(rows[slice(400)], f[:400], Trees(10))
        left_out = np.mean((forests.without_own(rows[slice(400)])[0] - f[:400]) ** 2)
        new = np.mean((forests.at(rows[slice(400, None)])[0] - f[400:]) ** 2)
        known = np.mean((forests.at(rows[slice(400)])[0] - f[:400]) ** 2)
        assert 0.7 < left_out / new < 1.4
        assert known < 0.7 * left_out

    def test_few_trees_vary_more_than_all_by_the_excess(self):
        rng = np.random.default_rng(0)
        X = rng.uniform(-1, 1, (3000, 3))
        f = np.sin(3 * X[:, :1]) + 0.5 * rng.standard_normal((3000, 1))
        rows = Weighted.of(Rows(X, np.zeros(X.shape, dtype=bool)), np.arange(3), np.ones(3), np.zeros(3))
        some, others = rows[slice(1500)], rows[slice(1500, None)]
        forest = Forest.of(some, f[:1500], Trees(2, leaf=1))
        fitted = forest.fitted(some)
        left_out, new = np.mean(fitted.left_out**2), np.mean(forest.at(others) ** 2)
        assert left_out > 1.1 * new
        assert abs(left_out - np.mean(fitted.excess) - new) < 0.5 * (left_out - new)
        assert (Forest.of(some, f[:1500], Trees(1)).fitted(some).excess == 0).all()

    def test_few_rows_and_several_functions(self):
        rows = Weighted.of(Rows(np.eye(3), np.zeros((3, 3), bool)), np.arange(3), np.ones(3), np.zeros(3))
        forests = Forest.of(rows, np.arange(6.0).reshape(3, 2), Trees(4))
        assert forests.without_own(rows).shape == forests.at(rows).shape == (1, 3, 2)
        assert forests.at(rows[slice(0)]).shape == (1, 0, 2)

    def test_trees_are_not_kept_in_memory_but_fitted_again_for_new_rows(self, problem, monkeypatch):
        fill = filled(problem, finish=(Trees(4),), most=2)
        assert [bool(one.regressions) for one in fill.sweeps] == [True, False]
        assert fill.sweeps[-1].shares[:, -1].max() > 0
        for most in (1e9, 0):  # bytes that may be kept
            monkeypatch.setattr(newrows, "_MAX_KEPT", most)
            extension = MetricFiller().extension(fill, Run())
            np.testing.assert_allclose(extension.complete(problem.given), fill.X, atol=1e-9)
            assert bool(extension._regressions[-1]) == bool(most)

    def test_members_with_small_weights_leave_during_the_sweep(self, problem, monkeypatch):
        fitted, of = [], Forest.of
        monkeypatch.setattr(Forest, "of", lambda *parts: fitted.append(parts) or of(*parts))
        monkeypatch.setattr(sweeps, "_MIN_VISITED", 4)
        for least, most in ((0.0, 9), (2.0, 5)):  # weights are smaller than 2
            monkeypatch.setattr(sweeps, "_MIN_LARGEST_SHARE", least)
            fitted.clear()
            fill = filled(problem, finish=(TWO[1], Trees(2)), most=2)
            assert 4 <= len(fitted) <= most
            assert (fill.sweeps[-1].shares[:, -1] > 0).sum() <= len(fitted)
            assert (fill.sweeps[-1].shares[:, 0] > 0).any()
            extension = MetricFiller().extension(fill, Run())
            np.testing.assert_allclose(extension.complete(problem.given), fill.X, atol=1e-9)
        assert len(fitted) < 9

    def test_columns_without_members_are_within_bounds_for_new_rows(self):
        """Also if the mean is not; loaded models, whose fits have only members with weight, give the same."""
        X = np.column_stack([friedman(60, 0, 3), np.linspace(10, 20, 60)])
        X[:5, 4], X[5:10, 0] = np.nan, np.nan
        bounds = np.array([[-np.inf] * 5, [np.inf] * 4 + [5.0]])
        fill = filled(Problem.of(X, bounds=bounds), most=2)
        for share in (0.5, 0.0):
            results = []
            for kept in (True, False):
                changed = [replace(one, shares=share * one.shares) for one in fill.sweeps]
                changed = changed if kept else [replace(one, regressions=()) for one in changed]
                extension = MetricFiller().extension(replace(fill, sweeps=tuple(changed)), Run())
                results.append(extension._swept(fill.problem.Z, fill.problem.M))
            np.testing.assert_array_equal(*results)
            column = next(j for j in range(5) if np.isfinite(fill.problem.bounds[1, j]))
            assert (results[0][fill.problem.M[:, column], column] < -1).all()

    def test_members_are_in_the_order_of_their_fits(self):
        members = (Trees(2), Tuned(), *NEAR, *TWO)
        assert in_order(members) == (*TWO, *NEAR, Tuned(), Trees(2))


class TestNearRows:
    def fitted(self, m):
        rng = np.random.default_rng(0)
        X = rng.uniform(-1, 1, (m, 3))
        rows = Weighted.of(Rows(X, np.zeros(X.shape, dtype=bool)), np.arange(3), np.ones(3), np.zeros(3))
        f = np.sin(3 * X[:, :1]) + X[:, 1:2]
        return rows, f, NearFit.of(rows, f, NEAR)

    @pytest.mark.parametrize("m", [300, 6000])  # all rows are searched, and some cells
    def test_values_without_the_row_are_about_those_of_new_rows(self, m):
        rows, f, near = self.fitted(m)
        left_out = np.mean((near.without_own(rows)[0] - f) ** 2)
        others, truth, _ = self.fitted(m + 200)
        new = np.mean((near.at(others[slice(m, None)])[0] - truth[m:]) ** 2)
        assert 0.7 < left_out / new < 1.4
        assert np.mean((near.at(rows)[0] - f) ** 2) < 0.4 * left_out
        assert left_out < 0.02 * f.var()

    def test_short_tables_have_no_such_component(self):
        X = friedman(220, 3)
        X[180:, -1] = np.nan
        for rows, expected in ((150, False), (220, True)):
            found = filled(Problem.of(X[-rows:]), most=2, finish=NEAR).sweeps[-1].members
            assert any(is_near(one) for one in found) == expected


def test_imputed_values_make_rows_distant():
    """Distances are longer by half of the error of every imputed value; that of a row to itself stays 0."""
    Z = np.array([[0.0, 1.0], [2.0, 1.0]])
    rows = Rows(Z, np.array([[True, False], [False, False]]))
    weighted = Weighted.of(rows, np.arange(2), np.array([2.0, 1.0]), np.array([0.5, 9.0]))
    pairs = lengthened(
        Pairs.of(weighted.values, statistics=(ABSOLUTE_DISTANCE, SQUARED_DISTANCE)),
        weighted,
        weighted,
        np.arange(2),
    )
    np.testing.assert_allclose(pairs[ABSOLUTE_DISTANCE], [[0, 4.5], [4.5, 0]])
    np.testing.assert_allclose(pairs[SQUARED_DISTANCE], [[0, 16.5], [16.5, 0]])


class TestCopies:
    def test_columns_that_tell_about_each_other_are_in_different_folds(self):
        rng = np.random.default_rng(0)
        z = rng.standard_normal((100, 4))
        X = np.repeat(z, 2, axis=1) + 0.1 * rng.standard_normal((100, 8))
        X[0, 0] = np.nan
        problem = Problem.of(X)
        fold = linear_copies(problem, targets(problem), 4, 100, np.random.default_rng(0)).fold
        np.testing.assert_array_equal(np.bincount(fold), [2, 2, 2, 2])
        assert (fold[::2] != fold[1::2]).all()

    def test_imputed_predictors_hardly_depend_on_the_target(self):
        """In the table, imputed values of a row follow a known value of that row; in its copy they do not."""
        rng = np.random.default_rng(0)
        X = rng.standard_normal((200, 1)) + 0.3 * rng.standard_normal((200, 5))
        X[rng.random(X.shape) < 0.3] = np.nan
        X[0] = [np.nan, 1.0, np.nan, 0.5, 0.3]
        problem = Problem.of(X)
        row = int(np.flatnonzero(problem.rows == 0)[0])
        Z = problem.Z.copy()
        Z[row, 1] += 10
        before, after = (
            linear_copies(replace(problem, Z=one), targets(problem), 5, 1000, np.random.default_rng(0))
            for one in (problem.Z, Z)
        )
        own = before.fold[1]
        in_table = np.abs(after.Z - before.Z)[row, [0, 2]].min()
        in_copy = np.abs(after.hidden[own] - before.hidden[own])[row].max()
        assert in_table > 1
        assert in_copy < 0.05 * in_table

    def test_errors_of_entries_that_are_left_out_are_those_of_missing_ones(self):
        """On average over five tables."""
        ratios = []
        for seed in range(5):
            rng = np.random.default_rng(seed)
            z = rng.uniform(-2, 2, (300, 2))
            X = np.sin(z @ rng.standard_normal((2, 6)) + rng.uniform(0, 6, 6))
            X += 0.1 * rng.standard_normal(X.shape)
            M = rng.random(X.shape) < 0.3
            M[M.all(axis=1), 0] = False
            problem = Problem.of(np.where(M, np.nan, X))
            fill = filled(problem)
            truth = (X - problem.scaling.mean) / problem.scaling.deviation
            missing = np.sqrt(np.mean((fill.Z - truth[problem.rows])[problem.M] ** 2))
            ratios.append(fill.errors[-1] / missing)
        assert 0.92 < np.mean(ratios) < 1.05


def test_stacking_by_group_shrinks_small_groups_towards_all():
    rng = np.random.default_rng(0)
    fills = rng.standard_normal((2, 2000))
    truths = np.stack([fills[0], fills[1]])  # one group follows the first fill, the other the second
    sums = []
    for truth, count in zip(truths, (2000, 20), strict=True):
        f, t = fills[:, :count], truth[:count]
        sums.append((f @ f.T, f @ t, float(count)))
    products, projections, entries = (np.array(one) for one in zip(*sums, strict=True))
    large, small = stack_by_group(products, projections, entries)
    assert large[0] > 0.9
    assert small[0] > 0.6
    np.testing.assert_array_equal(stack_by_group(products, projections, np.zeros(2)), np.full((2, 2), 0.5))


class TestFiller:
    def test_it_fills_missing_entries_only(self, problem):
        fill = filled(problem)
        np.testing.assert_array_equal(fill.Z[~problem.M], problem.Z[~problem.M])
        lowest, highest = problem.standard_bounds
        assert ((lowest <= fill.Z) & (highest >= fill.Z)).all()
        assert fill.status is Status.SWEEP_LIMIT
        assert 2 <= len(fill.errors) == len(fill.sweeps) == fill.sweep <= 4

    def test_many_rows_are_fitted_on_centres_like_few(self, problem):
        exact, near = filled(problem), filled(problem, exact=100, centres=390, finish_centres=390)
        change = (exact.Z - near.Z)[problem.M]
        assert np.sqrt(np.mean(change**2)) < 0.2 * np.sqrt(np.mean(exact.Z[problem.M] ** 2))
        assert {len(one.parts[0].centres) for one in near.sweeps[-1].regressions} == {390}

    def test_the_last_sweep_has_more_centres(self, problem):
        fill = filled(problem, exact=100, centres=80, finish_centres=120)
        first, last = (one.regressions[0].parts[0].centres for one in (fill.sweeps[0], fill.sweeps[-1]))
        assert (len(first), len(last)) == (80, 120)

    def test_rows_beyond_the_limit_are_filled_from_a_sample(self, problem):
        fill = filled(problem, rows=300)
        assert len(fill.rows) == len(fill.left_out) == 300
        truth = friedman(600, 0)[:, -1]
        assert np.corrcoef(fill.X[400:, -1], truth[400:])[0, 1] > 0.85

    def test_the_time_limit_keeps_the_last_full_sweep(self, problem, monkeypatch):
        monkeypatch.setattr(Run, "time_is_up", True)
        *_, fill = MetricFiller().steps(problem, np.random.default_rng(0), Run(), None)
        assert fill.status is Status.TIME_LIMIT
        assert fill.sweep == 0

    def test_efforts_differ_in_error(self):
        X = friedman(400, 5)
        M = np.random.default_rng(1).random(X.shape) < 0.2
        errors = {}
        for effort in EFFORTS:
            imputer = IGHImputer(effort=effort, random_state=0)
            errors[effort] = np.sqrt(((imputer.fit_transform(np.where(M, np.nan, X)) - X)[M] ** 2).mean())
        assert errors["best"] < errors["fast"]
        assert errors["balanced"] < errors["fast"]

    def test_the_first_component_stays_when_near_rows_have_all_weight(self, problem):
        """Weights of predictors are learned from its fit, and intervals need a kernel on all rows."""
        fill = filled(problem, most=2)
        last = fill.sweeps[-1]
        shares = np.zeros_like(last.shares)
        shares[:, [is_near(one) for one in last.members]] = 1.0
        fill = replace(fill, sweeps=(*fill.sweeps[:-1], replace(last, shares=shares)))
        first, *others = MetricFiller()._members(fill)
        assert first == last.members[0]
        assert all(is_near(one) for one in others)
        assert len(fill.ensemble(SHORT).components) == 1

    @pytest.mark.parametrize("effort", ["slow", None, 3])
    def test_unknown_efforts_are_refused(self, effort):
        with pytest.raises(InvalidInput, match="effort must be 'fast', 'balanced' or 'best'"):
            IGHImputer(effort=effort).fit(friedman(20, 0))


def changed(parts, position, value):
    """The parts with another value at a position."""
    return (*parts[:position], value, *parts[position + 1 :])


class TestDamagedModels:
    """Parts of saved models that do not belong together are refused."""

    def saved(self, problem):
        fill = filled(problem)
        copies = fill.sweeps[0].copies
        sweeps = [
            (one.members, one.centres, one.copies.hidden, one.copies.completed)
            + (one.weights, one.strength, one.errors, one.shares)
            for one in fill.sweeps
        ]
        return {"preset": SHORT, "rows": copies.rows, "fold": copies.fold, "sweeps": sweeps}

    @pytest.mark.parametrize(
        "change",
        [
            lambda saved: {"preset": None},
            lambda saved: {"preset": replace(saved["preset"], folds=0)},
            lambda saved: {"preset": replace(saved["preset"], first=(Component(Cosine(), Ridge(0.1)),))},
            lambda saved: {"sweeps": [((), *others) for _, *others in saved["sweeps"]]},
            lambda saved: {"rows": saved["rows"] + 1},
            lambda saved: {"rows": saved["rows"][::-1]},
            lambda saved: {"rows": saved["rows"].astype(float)},
            lambda saved: {"fold": saved["fold"][:-1]},
            lambda saved: {"fold": saved["fold"] - 1},
            lambda saved: {"sweeps": []},
            lambda saved: {"sweeps": saved["sweeps"] * 3},
            lambda saved: {"sweeps": [changed(one, 0, one[0][::-1]) for one in saved["sweeps"]]},
            lambda saved: {"sweeps": [changed(one, 0, (*one[0], Trees(0))) for one in saved["sweeps"]]},
            lambda saved: {
                "sweeps": [changed(one, 0, (*one[0], Tuned(ridge=-1.0))) for one in saved["sweeps"]]
            },
            lambda saved: {"sweeps": [changed(one, 1, 0) for one in saved["sweeps"]]},
            lambda saved: {"sweeps": [changed(one, 1, 2.5) for one in saved["sweeps"]]},
            lambda saved: {"sweeps": [changed(one, 2, one[2][:, 1:]) for one in saved["sweeps"]]},
            lambda saved: {"sweeps": [changed(one, 2, one[2] * np.nan) for one in saved["sweeps"]]},
            lambda saved: {"sweeps": [changed(one, 3, one[3][1:]) for one in saved["sweeps"]]},
            lambda saved: {"sweeps": [changed(one, 4, one[4] + 1) for one in saved["sweeps"]]},
            lambda saved: {"sweeps": [changed(one, 5, one[5] - 9) for one in saved["sweeps"]]},
            lambda saved: {"sweeps": [changed(one, 5, one[5][:, 1:]) for one in saved["sweeps"]]},
            lambda saved: {"sweeps": [changed(one, 6, one[6] - 9) for one in saved["sweeps"]]},
            lambda saved: {"sweeps": [changed(one, 7, one[7] - 1) for one in saved["sweeps"]]},
        ],
    )
    def test_a_damaged_part_is_refused(self, problem, change):
        saved = self.saved(problem)
        checking.check_learned(saved, problem)
        with pytest.raises((ValueError, TypeError)):
            checking.check_learned(saved | change(saved), problem)


# The members of long tables, with few centres, for all tables.
small = Effort(*(replace(LONG, exact=100, centres=80, finish_centres=120),) * 2)


class TestImputer:
    X = friedman(400, 1)
    M = np.random.default_rng(2).random(X.shape) < 0.2

    def fitted(self, **given):
        return IGHImputer(random_state=0, **given).fit(np.where(self.M, np.nan, self.X))

    def test_it_beats_the_sweep_with_one_kernel_for_all_columns(self):
        imputer, alone = self.fitted(), self.fitted(solver="ridge")
        assert set(imputer.weights_) == {"metric"}
        assert set(alone.weights_) == {"sweep"}
        errors = [np.sqrt(((one.completed_ - self.X)[self.M] ** 2).mean()) for one in (imputer, alone)]
        assert errors[0] < errors[1]

    @pytest.mark.parametrize("long", [False, True])
    def test_new_rows_are_filled_like_those_of_the_fit(self, long, monkeypatch):
        if long:
            monkeypatch.setitem(EFFORTS, "balanced", small)
        imputer = self.fitted()
        truth = friedman(300, 7)
        new = np.where(np.arange(9) == 8, np.nan, truth)
        error = np.sqrt(((imputer.transform(new) - truth)[:, 8] ** 2).mean())
        assert error < 0.6 * truth[:, 8].std()
        one_by_one = np.vstack([imputer.transform(new[i : i + 1]) for i in range(5)])
        np.testing.assert_allclose(one_by_one, imputer.transform(new)[:5], atol=1e-10)
        again = imputer.transform(np.where(self.M, np.nan, self.X))
        np.testing.assert_allclose(again, imputer.completed_, atol=1e-9)

    @pytest.mark.parametrize("long", [False, True])
    def test_a_saved_model_fills_new_rows_alike(self, long, tmp_path, monkeypatch):
        if long:
            monkeypatch.setitem(EFFORTS, "balanced", small)
        names = [f"c{j}" for j in range(9)]
        frame = pd.DataFrame(np.where(self.M, np.nan, self.X), columns=names)
        imputer = TableImputer(random_state=0).fit(frame)
        imputer.save(tmp_path / "x.model")
        new = pd.DataFrame(friedman(20, 8), columns=names)
        new["c8"] = np.nan
        loaded = TableImputer.load(tmp_path / "x.model")
        pd.testing.assert_frame_equal(imputer.transform(new), loaded.transform(new), check_exact=True)
        low, high = loaded.intervals(0.9, new)
        assert (low["c8"] < high["c8"]).all()

    def test_importances_tell_which_column_is_filled_from_which(self):
        imputer = self.fitted()
        table = pd.DataFrame(imputer.importances_)
        assert list(table.columns) == list(table.index) == [f"x{j}" for j in range(9)]
        assert table.loc["x8"].sum() == pytest.approx(1)
        assert table.loc["x8", ["x0", "x1", "x2"]].sum() > 0.75
        assert table.loc["x5"].sum() == 0  # noise, filled with its mean
        lines = {line.split()[0]: line for line in str(imputer.importances_).splitlines()}
        assert re.search(r"x8 +x[012] \d+%, x[012]", lines["x8"])
        assert "nothing: filled with its mean" in lines["x5"]
        assert self.fitted(solver="ridge").importances_ is None

    def test_importances_of_a_category_count_once(self):
        kind = np.random.default_rng(0).integers(0, 4, 300)
        noise = np.random.default_rng(1).standard_normal((300, 2))
        frame = pd.DataFrame({"kind": np.array(list("uvwx"))[kind], "noise": noise[:, 0]})
        frame["y"] = np.array([0.0, 3.0, 1.0, 7.0])[kind] + 0.1 * noise[:, 1]
        frame.loc[::5, "y"] = np.nan
        found = pd.DataFrame(TableImputer(random_state=0).fit(frame).importances_)
        assert list(found.columns) == ["kind", "noise", "y"]
        assert found.loc["y", "kind"] > 0.7

    def test_intervals_and_draws_come_with_it(self):
        imputer = self.fitted()
        low, high = imputer.intervals(0.9)
        assert 0.85 < ((low <= self.X) & (high >= self.X))[self.M].mean() < 0.96
        drawn = next(iter(imputer.draws(1)))
        np.testing.assert_array_equal(drawn[~self.M], self.X[~self.M])

    @pytest.mark.parametrize("long", [False, True])
    def test_the_order_of_rows_and_columns_does_not_matter(self, long, monkeypatch):
        if long:
            monkeypatch.setitem(EFFORTS, "balanced", replace(small, short=replace(small.short, rows=200)))
        X = np.where(self.M, np.nan, self.X)
        rows, columns = np.random.default_rng(3).permutation(len(X)), np.random.default_rng(4).permutation(9)
        one = IGHImputer(random_state=0).fit_transform(X)
        other = IGHImputer(random_state=0).fit_transform(X[rows][:, columns])
        np.testing.assert_allclose(other, one[rows][:, columns], atol=1e-7)
