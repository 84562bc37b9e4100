"""Held-out entries: selection of candidates, stacking, shrinkage and accuracy."""

import time

import numpy as np
import pytest

from manifill import IGHImputer, Sweep
from manifill._fillers import Run
from manifill._fillers.sweep import Component, Ensemble, LinearStart, Sweeper, SweepLimit, mean_start, sweeps
from manifill._messages import listening
from manifill._problem import Problem
from manifill._selection.portfolio import CORE, PORTFOLIO, candidates, neighbours, scaled
from manifill._selection.screening import Screening
from manifill._validation import Accuracy, Evidence, accuracy, hold_out, random_sets, shrinkage, stack
from manifill._validation.missingness import missingness_odds
from manifill.amputation import mar, mcar
from manifill.kernels import Gaussian, Laplacian
from manifill.metrics import nrmse
from manifill.solvers import Landmarks, Local, Ridge, Spectral


def damaged(X, rate, seed=0):
    M = mcar(X.shape, rate, seed)
    M[M.all(axis=1), 0] = False
    return np.where(M, np.nan, X), M


@pytest.fixture(scope="module")
def curve_fitted():
    """An imputer with one kernel for all columns, fitted to points on a curve, and the log messages."""
    t = np.linspace(0, 5, 120)
    X = np.column_stack([np.sin(t), np.cos(t), np.sin(2 * t), t, np.cos(3 * t), t**2])
    M = np.random.default_rng(1).random(X.shape) < 0.2
    lines = []
    with listening(lines.append):
        imputer = IGHImputer(method=Sweep(schedule="column"), random_state=0)
        imputer.fit(np.where(M, np.nan, X))
    return imputer, lines


class TestHoldout:
    def test_sets_are_disjoint_observed_and_about_as_large_as_requested(self, rng):
        X, _ = damaged(rng.normal(size=(200, 5)), 0.3)
        first, second = random_sets(Problem.of(X), 0.1, 2, rng)
        assert not (first & second).any()
        assert not (first & np.isnan(X)).any()
        assert (np.abs(first.sum(axis=0) - 0.1 * (~np.isnan(X)).sum(axis=0)) <= 3).all()

    def test_rows_keep_a_value_and_groups_are_held_out_together(self, rng):
        X = rng.normal(size=(60, 4))
        X[:30, 1:] = np.nan
        (entries,) = random_sets(Problem.of(X, groups=[[1, 2]]), 0.5, 1, rng)
        assert (~np.isnan(X) & ~entries).any(axis=1).all()
        assert (entries[:, 1] == entries[:, 2]).all()

    def test_the_problem_does_not_depend_on_held_out_values(self, rng):
        X, _ = damaged(rng.normal(size=(50, 3)), 0.2)
        entries = np.zeros(X.shape, bool)
        entries[np.flatnonzero(~np.isnan(X[:, 1]))[0], 1] = True
        other = X.copy()
        other[entries] = 1e6
        one, two = (hold_out(Problem.of(table), entries) for table in (X, other))
        in_order = [held.problem.Z[np.argsort(held.problem.rows)] for held in (one, two)]
        np.testing.assert_array_equal(*in_order)
        assert one.truth[0] != two.truth[0]

    def test_weighted_observed_entries_resemble_missing_ones(self, rng):
        driver = np.sort(rng.normal(size=2000))
        X = driver[:, None] + rng.normal(size=(2000, 12))
        M = mar(X, 0.5, 0, driver=0)
        M[:, 0] = rng.random(2000) < 0.5
        weight = np.where(M, 0.0, missingness_odds(np.where(M, 0.0, X), M))
        observed, missing, weighted = (np.average(X[:, 5], weights=w[:, 5]) for w in (~M, M, weight))
        assert abs(weighted - missing) < 0.5 * abs(observed - missing)

    @pytest.mark.parametrize("rate", [0.0, 0.1, 0.6])
    def test_odds_are_1_if_missingness_does_not_depend_on_rows(self, rate):
        Z = np.random.default_rng(0).normal(size=(300, 20))
        np.testing.assert_allclose(missingness_odds(Z, mcar((300, 20), rate, 1)), 1.0, atol=0.1)

    def test_columns_of_a_group_are_one_variable(self):
        """Dummy columns are always missing together, which is one missing value of the row and not many."""
        M = mcar((400, 8), 0.2, 3)
        dummies = np.hstack([M, np.repeat(M[:, :1], 4, axis=1)])
        groups = ((0, 8, 9, 10, 11), *((j,) for j in range(1, 8)))
        Z = np.random.default_rng(0).normal(size=dummies.shape)
        weight = missingness_odds(Z, dummies, groups)
        np.testing.assert_array_equal(weight, 1.0)
        assert missingness_odds(Z, dummies).max() > 2

    @pytest.mark.parametrize("columns", [3, 150])
    def test_odds_of_strata_are_those_of_the_mechanism(self, columns, rng):
        """One column tells where others are missing; in a wide table the number of missing entries does."""
        X = rng.normal(size=(1000, columns))
        probability = np.where(X[:, 0] > 0, 0.5, 0.1)
        M = rng.random(X.shape) < probability[:, None]
        M[:, 0] = False
        odds = missingness_odds(np.where(M, 0.0, X), M)
        assert (odds[:, 0] == 1).all()
        likely, unlikely = (odds[rows, 1].mean() for rows in (X[:, 0] > 0.3, X[:, 0] < -0.3))
        assert 5 < likely / unlikely < 12  # 9 = (.5 / .5) / (.1 / .9)

    def test_accuracy_does_not_use_the_held_out_values_of_a_given_start(self, rng):
        X = rng.normal(size=(80, 3))
        table, _ = damaged(X, 0.2)
        from_truth, from_mean = (
            IGHImputer(
                Gaussian(), solver=Ridge(), max_sweeps=1, method=Sweep(start=start), random_state=0
            ).fit(table)
            for start in (X, "mean")
        )
        assert from_truth.accuracy_ == from_mean.accuracy_

    def test_accuracy_accounts_for_where_values_are_missing(self, rng, monkeypatch):
        u = rng.normal(size=(600, 1))
        X = np.hstack([u, np.sin(u * rng.normal(size=7)) + np.exp(u / 2) * 0.3 * rng.normal(size=(600, 7))])
        M = mar(X, 0.3, 0, driver=0)

        def estimated_over_true():
            imputer = IGHImputer(Laplacian(), solver=Ridge(), random_state=0)
            filled = imputer.fit_transform(np.where(M, np.nan, X))
            true = np.sqrt(np.mean((filled - X)[:, 1:] ** 2, axis=0, where=M[:, 1:]))
            return np.mean([one.error for one in imputer.accuracy_][1:] / true)

        weighted = estimated_over_true()
        monkeypatch.setattr(
            "manifill._validation.holdout.missingness_odds", lambda Z, M, groups: np.ones(M.shape)
        )
        assert estimated_over_true() + 0.1 < weighted < 1.15


class TestStack:
    def test_weights_recover_a_mixture(self, rng):
        fills = rng.normal(size=(6, 20_000))
        weights = stack(fills, 0.7 * fills[2] + 0.3 * fills[5], max_fills=3)
        np.testing.assert_allclose(weights, [0, 0, 0.7, 0, 0, 0.3], atol=0.01)

    def test_at_most_max_fills_weights_are_positive_and_none_is_negative(self, rng):
        fills = rng.normal(size=(6, 400))
        weights = stack(fills, fills.sum(axis=0) - 3 * fills[0], max_fills=2)
        assert (weights >= 0).all()
        assert (weights > 0).sum() == 2

    def test_weights_sum_to_at_most_1(self, rng):
        fills = rng.normal(size=(3, 5000))
        weights = stack(fills, fills[0] + fills[1], max_fills=3)
        np.testing.assert_allclose(weights, [0.5, 0.5, 0], atol=0.02)
        assert weights.sum() <= 1 + 1e-6

    def test_fills_that_are_not_finite_get_weight_0(self, rng):
        fills = rng.normal(size=(3, 400))
        fills[1, 7] = np.nan
        assert stack(fills, fills[0], max_fills=3)[1] == 0
        assert not stack(np.full((2, 5), np.nan), np.ones(5), max_fills=1).any()

    def test_with_few_entries_the_weights_follow_the_prior(self, rng):
        truth = rng.normal(size=8)
        fills = truth + 0.1 * rng.normal(size=(4, 8))
        weights = stack(fills, truth, max_fills=2)
        assert (weights > 0.3).sum() == 2
        assert (weights > 0).sum() == 2


class TestShrinkage:
    def test_noise_is_shrunk_to_the_mean_and_signal_is_not(self, rng):
        columns = np.repeat([0, 1], 200)
        truth = rng.normal(size=400)
        found = np.where(columns == 0, rng.normal(size=400), truth + 0.2 * rng.normal(size=400))
        factors = shrinkage(columns, found, truth, 3)
        assert factors[0] == 0
        assert factors[1] > 0.9

    def test_a_factor_of_0_gives_the_mean_with_every_solver(self, curved):
        X, M = curved
        table = np.where(M, np.nan, X)
        problem = Problem.of(table)
        for solver in (Ridge(), Landmarks(60), Local(20)):
            ensemble = Ensemble((Component(Gaussian(), solver),), shrinkage=np.zeros(6))
            *_, last = sweeps(problem, ensemble=ensemble, stopping=[SweepLimit(1)], rng=0)
            np.testing.assert_allclose(last.Z[problem.M], 0, atol=1e-12)


def test_screened_entries_equal_to_the_mean_do_not_change_the_accuracy():
    def entry(found, truth):
        one = np.array([0])
        return Evidence(
            rows=one,
            columns=one,
            found=np.array([found]),
            truth=np.array([truth]),
            weight=one + 1.0,
            place=one,
            sets=one,
            shrinkage=np.ones(1),
        )

    validated, problem = entry(0.5, 1.0), Problem.of([[1.0], [2.0], [4.0]])
    errors = [accuracy(validated, problem, None, one)[0].error for one in (None, entry(0.4, 0.0))]
    assert np.isfinite(errors).all()
    assert errors[0] == errors[1]


class TestEnsembles:
    @pytest.mark.parametrize("solver", [Ridge(0.1), Landmarks(60), Local(20)], ids=str)
    def test_two_equal_components_of_half_weight_equal_one(self, solver, curved):
        X, M = curved
        problem = Problem.of(np.where(M, np.nan, X))
        halves = Ensemble((Component(Gaussian(), solver, 0.5), Component(Gaussian(), solver, 0.5)))
        fills = []
        for ensemble in (Ensemble.of(Gaussian(), solver), halves):
            *_, last = sweeps(problem, ensemble=ensemble, stopping=[SweepLimit(2)], rng=0)
            fills.append(last.Z)
        np.testing.assert_allclose(*fills, atol=1e-10)

    def test_incompatible_components_are_refused(self):
        with pytest.raises(ValueError, match="one kind"):
            Ensemble((Component(Gaussian(), Ridge()), Component(Gaussian(), Local())))
        with pytest.raises(ValueError, match="no component"):
            Ensemble(())

    def test_new_rows_are_filled_by_all_components(self, curved, curve_fitted):
        X, _ = curved
        imputer, _ = curve_fitted
        new = X[5:9].copy()
        new[:, 2] = np.nan
        assert len(imputer.ensemble_.components) > 1
        assert np.abs(imputer.transform(new)[:, 2] - X[5:9, 2]).max() < 0.3


class TestPortfolio:
    def test_core_comes_first_and_candidates_are_distinct(self):
        pairs = candidates(None, Ridge(), True)
        assert len(set(pairs)) == len(pairs) == len(PORTFOLIO)
        assert [kernel for kernel, _ in pairs[: len(CORE)]] == [kernel for kernel, _ in CORE]

    def test_a_given_kernel_or_solver_is_not_varied(self):
        assert {kernel for kernel, _ in candidates(Gaussian(), Ridge(), True)} == {Gaussian()}
        assert {solver for _, solver in candidates(None, Ridge(0.7), False)} == {Ridge(0.7)}
        assert candidates(Gaussian(), Spectral(), True) == [(Gaussian(), Spectral())]

    def test_neighbours_differ_in_one_parameter(self):
        found = neighbours((Laplacian(), Ridge(0.3)), True, True)
        assert (scaled(Laplacian(), 2.0), Ridge(0.3)) in found
        assert any(kernel == Laplacian() and solver.ridge < 0.2 for kernel, solver in found)


class TestScreening:
    def screening(self, X, rate=0.3):
        table, _ = damaged(X, rate)
        pairs = candidates(None, Ridge(), True)
        base = Sweeper(Ensemble.of(*pairs[0]))
        return Screening(Problem.of(table), base, Run(), False, np.random.default_rng(0)), pairs

    def test_the_start_with_the_smallest_error_is_chosen(self, rng):
        plane = rng.normal(size=(150, 2)) @ rng.normal(size=(2, 6))
        screening, pairs = self.screening(plane)
        starts = [mean_start, LinearStart()]
        assert screening.choose_start(starts, pairs[:2]) == LinearStart()
        assert screening.pairs == pairs[:2]
        screening, pairs = self.screening(plane)
        starts = [lambda problem, _: problem.Z - 50.0, mean_start]
        assert screening.choose_start(starts, pairs[:2]) == mean_start


class TestImputer:
    def test_independent_noise_is_filled_by_the_mean(self, rng):
        X = rng.normal(size=(400, 6))
        table, M = damaged(X, 0.3)
        imputer = IGHImputer(random_state=0)
        means = np.where(M, np.nanmean(table, axis=0), X)
        assert nrmse(X, imputer.fit_transform(table), M) < 1.01 * nrmse(X, means, M)
        assert "filled by the mean" in str(imputer.accuracy_)

    def test_a_curved_relation_is_found(self, rng):
        x = rng.uniform(-2, 2, size=(300, 1))
        X = np.hstack([x, x**2, np.cos(2 * x)]) + 0.05 * rng.normal(size=(300, 3))
        M = np.zeros(X.shape, bool)
        M[:, 1:] = mcar((300, 2), 0.3, 0)
        imputer = IGHImputer(random_state=0)
        assert nrmse(X, imputer.fit_transform(np.where(M, np.nan, X)), M) < 0.25  # a linear fit: about 0.9

    def test_accuracy_separates_predictable_columns_from_noise(self, rng):
        t = rng.uniform(0, 6, size=300)
        X = np.column_stack([np.sin(t), np.cos(t), t, rng.normal(size=300)])
        table, M = damaged(X, 0.25)
        imputer = IGHImputer(random_state=0).fit(table)
        easy, *_, noise = imputer.accuracy_
        assert easy.relative < 0.6
        assert noise.relative > 0.9
        errors = (imputer.completed_ - X)[:, 0][M[:, 0]]
        assert 0.5 < easy.error / np.sqrt(np.mean(errors**2)) < 2

    def test_every_choice_is_a_fitted_attribute(self, curve_fitted):
        imputer, _ = curve_fitted
        assert imputer.kernel_ in [component.kernel for component in imputer.ensemble_.components]
        assert len(imputer.tuning_.trials) >= len(PORTFOLIO)
        assert imputer.max_sweeps_ == imputer.tuning_.sweeper.max_sweeps
        assert imputer.tuning_.errors[imputer.max_sweeps_ - 1] <= 1.01 * min(imputer.tuning_.errors)

    def test_with_given_kernel_and_solver_nothing_is_tuned_but_accuracy_is_estimated(self, curved):
        X, M = curved
        imputer = IGHImputer(Gaussian(), solver=Ridge(1e-3), random_state=1).fit(np.where(M, np.nan, X))
        assert imputer.tuning_ is None
        assert str(imputer.ensemble_).startswith("1.00 × Gaussian")
        assert isinstance(imputer.accuracy_, Accuracy)
        assert [one.column for one in imputer.accuracy_] == [f"x{j}" for j in range(6)]
        assert all(one.relative < 0.5 for one in imputer.accuracy_)

    def test_the_ridge_is_tuned_for_a_given_kernel(self, curved):
        X, M = curved
        imputer = IGHImputer(Gaussian(), random_state=0).fit(np.where(M, np.nan, X))
        assert {trial.kernel for trial in imputer.tuning_.trials} == {Gaussian()}
        assert imputer.solver_.ridge < 0.1  # small, because the curve has no noise

    def test_tables_with_very_few_values(self):
        nan = float("nan")
        for table in ([[1.0]], [[1.0, nan]], [[1.0, nan], [2.0, 3.0]], [[1.0], [nan]], [[nan, 1], [2, nan]]):
            assert np.isfinite(IGHImputer(random_state=0).fit_transform(table)).all()
        imputer = IGHImputer(solver="ridge", random_state=0, tol=0).fit([[1.0, nan], [2.0, 3.0], [3.0, 4.0]])
        assert imputer.max_sweeps_ == 6
        assert np.isnan([one.error for one in imputer.accuracy_]).all()

    def test_large_tables_start_from_the_validation_run_unless_a_start_is_given(self, rng, monkeypatch):
        monkeypatch.setattr("manifill._validation.holdout._MANY_ENTRIES", 100)
        X = np.sin(rng.random((120, 2)) @ rng.standard_normal((2, 8)) * 2)
        table, M = damaged(X, 0.5)
        for start, warm_start in (("auto", True), ("mean", False)):
            imputer = IGHImputer(solver="ridge", method=Sweep(start=start), tol=0, random_state=0)
            first, *_, last = imputer.iter_fit(table)
            starts_near_the_result = nrmse(X, first.X, M) < 1.3 * nrmse(X, last.X, M)
            assert starts_near_the_result == warm_start

    def test_a_time_limit_holds_during_tuning(self, rng):
        table, _ = damaged(rng.normal(size=(600, 20)), 0.3)
        began = time.monotonic()
        with pytest.warns(match="column means"):
            IGHImputer(time_limit=0.05, random_state=0).fit(table)
        assert time.monotonic() - began < 3

    def test_screening_and_validation_are_logged(self, curve_fitted):
        _, lines = curve_fitted
        assert any("candidates" in line for line in lines)
        assert any("validation run" in line for line in lines)

    def test_wide_tables_are_screened_on_some_columns(self, rng, monkeypatch):
        monkeypatch.setattr("manifill._selection.tuning._WIDE", 20)
        monkeypatch.setattr("manifill._selection.screening._COLUMNS_OF_WIDE", 10)
        X = np.sin(rng.random((80, 2)) @ rng.standard_normal((2, 60)) * 2)
        table, M = damaged(X, 0.5)
        imputer = IGHImputer(random_state=0)
        assert nrmse(X, imputer.fit_transform(table), M) < 0.2
        assert len(imputer.accuracy_) == 60

    @pytest.mark.parametrize("solver", ["landmarks", "local"])
    def test_solvers_of_long_tables_are_tuned_too(self, solver, rng):
        X = np.sin(rng.random((250, 2)) @ rng.standard_normal((2, 5)) * 2)
        table, M = damaged(X, 0.2)
        imputer = IGHImputer(solver=solver, random_state=0)
        assert nrmse(X, imputer.fit_transform(table), M) < 0.55  # 0.7 with an unsuitable kernel
        assert imputer.tuning_ is not None
