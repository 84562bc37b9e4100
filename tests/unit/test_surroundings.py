"""Every column once more, from columns like it and from the rows before and after."""

import numpy as np
import pytest

from manifill import IGHImputer
from manifill.amputation import mcar
from manifill.geometry import Affinities, FieldProblem, Learned, Line, surroundings
from manifill._fillers.local_regression import from_surroundings
from manifill.metrics import rmse


def roads(n=200, n_roads=8, window=9):
    """Sensors on roads that have nothing to do with each other; a wave goes along each, a row a sensor."""
    noise = np.random.default_rng(0).standard_normal((n + 40, n_roads))
    waves = np.apply_along_axis(lambda x: np.convolve(x, np.hanning(window), mode="same"), 0, noise)
    X = np.hstack([waves[20 + lag : 20 + lag + n] for lag in range(4)])
    return X / X.std(axis=0)


class TestFill:
    def test_known_values_stay_and_the_rows_before_and_after_help(self):
        X = roads()
        M = mcar(X.shape, 0.3, 1)
        errors = []
        for rows in (Line(), None):
            problem = FieldProblem.of(np.where(M, np.nan, X), Learned(), rows)
            likeness = Learned().likeness(problem.Y, problem.M)
            found = from_surroundings(problem, likeness, problem.Y, np.random.default_rng(0))
            np.testing.assert_array_equal(found[~M], problem.Y[~M])
            errors.append(rmse(problem.standard(X), found, M))
        assert errors[0] < 0.7 * errors[1] < 0.7 * 0.7

    def test_an_imputer_takes_it_where_hidden_entries_say_so(self):
        X = np.tanh(3 * roads(window=5))  # jammed or free: jams go along the road
        M = mcar(X.shape, 0.3, 1)
        damaged = np.where(M, np.nan, X)
        imputer = IGHImputer(columns=Learned(), rows=Line(), random_state=0)
        filled = imputer.fit_transform(damaged)
        np.testing.assert_array_equal(filled[~M], X[~M])
        np.testing.assert_array_equal(filled, imputer.fit_transform(damaged))
        restored = imputer.restored_
        surroundings = len(restored.plan) + 2  # after the stages, rows only, and rows with companions
        assert restored.rehearsal.weights[surroundings] > 0.3
        assert np.argmin(restored.rehearsal.errors) == surroundings
        assert rmse(X, filled, M) < 0.8 * rmse(X, IGHImputer(random_state=0).fit_transform(damaged), M)

    def test_which_columns_are_near_is_what_the_geometry_says(self):
        X = roads(n_roads=20)
        M = mcar(X.shape, 0.3, 1)
        same_road = np.equal.outer(np.arange(80) % 20, np.arange(80) % 20)
        problem = FieldProblem.of(np.where(M, np.nan, X), Learned())
        truth, errors = problem.standard(X), []
        for K in (same_road, np.roll(same_road, 1, axis=0)):
            found = from_surroundings(problem, K * 1.0, problem.Y, np.random.default_rng(0))
            errors.append(rmse(truth, found, M))
        assert errors[0] < 0.9 * errors[1]

    def test_of_a_kernel_between_columns_it_takes_correlations(self):
        K = np.array([[4.0, 3.0], [3.0, 9.0]])
        np.testing.assert_allclose(
            Affinities(K).likeness(np.zeros((1, 2)), np.zeros((1, 2))), [[1, 0.5], [0.5, 1]]
        )


class TestHonest:
    @pytest.mark.parametrize("n", [3, 4, 5, 50])
    @pytest.mark.parametrize("step", [-2, -1, 1, 2])
    def test_no_row_is_before_or_after_itself(self, n, step):
        rows = surroundings._moved(n, step)
        assert ((rows >= 0) & (rows < n)).all()
        assert (rows != np.arange(n)).all()

    def test_what_is_hidden_is_not_seen(self):
        X = roads(n=80, n_roads=3)
        M = mcar(X.shape, 0.3, 1)
        other = np.where(M, X + 100, X)
        fills = []
        for table in (X, other):
            problem = FieldProblem.of(np.where(M, np.nan, table), Learned(), Line())
            likeness = Learned().likeness(problem.Y, problem.M)
            fills.append(from_surroundings(problem, likeness, problem.Y, np.random.default_rng(0)))
        np.testing.assert_array_equal(*fills)


class TestEdges:
    @pytest.mark.parametrize("shape", [(1, 3), (2, 3), (3, 2), (30, 1), (30, 2)])
    @pytest.mark.parametrize("rows", [Line(), None])
    def test_small_tables(self, shape, rows):
        X = np.random.default_rng(0).standard_normal(shape)
        X[0, 0] = np.nan
        problem = FieldProblem.of(X, Learned(), rows)
        found = from_surroundings(problem, np.eye(shape[1]), problem.Y, np.random.default_rng(0))
        assert np.isfinite(found).all()
        np.testing.assert_array_equal(found[~problem.M], problem.Y[~problem.M])

    @pytest.mark.parametrize("unit", [1e-200, 1e200])
    def test_units_do_not_matter(self, unit):
        X = roads(n=60, n_roads=1)
        X[mcar(X.shape, 0.2, 0)] = np.nan
        imputer = IGHImputer(columns=Learned(), rows=Line(), random_state=0)
        plain = imputer.fit_transform(X)
        np.testing.assert_allclose(imputer.fit_transform(X * unit), plain * unit, rtol=1e-6)
        assert np.isfinite(imputer.restored_.rehearsal.error)

    @pytest.mark.parametrize("rows", [Line(), None])
    def test_tables_that_are_much_work_are_filled_in_parts(self, rows, monkeypatch):
        X = roads(n=600, n_roads=3)
        M = mcar(X.shape, 0.3, 1)
        problem = FieldProblem.of(np.where(M, np.nan, X), Learned(), rows)
        likeness, truth = Learned().likeness(problem.Y, problem.M), problem.standard(X)
        whole = from_surroundings(problem, likeness, problem.Y, np.random.default_rng(0))
        monkeypatch.setattr(surroundings, "_MUCH_WORK", 1.0)
        parts = from_surroundings(problem, likeness, problem.Y, np.random.default_rng(0))
        np.testing.assert_allclose(parts[~M], problem.Y[~M], atol=1e-12)
        assert not np.array_equal(parts, whole)
        assert rmse(truth, parts, M) < 0.6

    def test_a_geometry_that_does_not_say_how_alike_columns_are_does_without(self):
        class Own:
            alike = False
            shape, axes, some = Learned.shape, lambda self, *words: Learned().axes(*words), Learned.some

        X = roads(n=60, n_roads=2)
        X[mcar(X.shape, 0.2, 0)] = np.nan
        assert np.isfinite(IGHImputer(columns=Own(), random_state=0).fit_transform(X)).all()
