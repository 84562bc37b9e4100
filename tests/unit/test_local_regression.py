"""Every column once more, from the columns most similar to it and from the rows before and after."""

import numpy as np
import pytest

from manifill import IGHImputer, _selection
from manifill._fillers import Fill, Run, local_regression
from manifill._fillers.local_regression import LocalRegression
from manifill._problem import Problem
from manifill.amputation import mcar
from manifill.layouts import Affinities, Learned
from manifill.metrics import rmse


def roads(n=200, n_roads=8, window=9):
    """Sensors on roads that have nothing to do with each other; a wave goes along each, a row a sensor."""
    noise = np.random.default_rng(0).standard_normal((n + 40, n_roads))
    waves = np.apply_along_axis(lambda x: np.convolve(x, np.hanning(window), mode="same"), 0, noise)
    X = np.hstack([waves[20 + lag : 20 + lag + n] for lag in range(4)])
    return X / X.std(axis=0)


class Told(Learned):
    """Columns that are as similar as one says."""

    def __init__(self, matrix):
        self.matrix = matrix

    def similarity(self, Z, M):
        return self.matrix


def problem_of(X, layout=None, in_time=False):
    return Problem.of(X, layout=layout or Learned(), moments=np.arange(len(X)) if in_time else None)


def regressed(problem):
    """(n, d), the fill that starts from the column means, in standard deviations."""
    start = Fill(problem, problem.Z)
    (fill,) = LocalRegression().steps(problem, np.random.default_rng(0), Run(), start)
    return fill.Z


@pytest.fixture
def blends(monkeypatch):
    """What validation runs found, in the order in which they were made."""
    found = []

    def weigh(*words):
        found.append(original(*words))
        return found[-1]

    original = _selection.weigh
    monkeypatch.setattr(_selection, "weigh", weigh)
    return found


class TestFill:
    def test_known_values_stay_and_the_rows_before_and_after_help(self):
        X = roads()
        M = mcar(X.shape, 0.3, 1)
        errors = []
        for in_time in (True, False):
            problem = problem_of(np.where(M, np.nan, X), in_time=in_time)
            found = regressed(problem)
            np.testing.assert_array_equal(found[~M], problem.Z[~M])
            errors.append(rmse(problem.scaling.standardise(X), found, M))
        assert errors[0] < 0.7 * errors[1] < 0.7 * 0.7

    def test_an_imputer_takes_it_where_held_out_entries_say_so(self, blends):
        X = np.tanh(3 * roads(window=5))  # jammed or free: jams go along the road
        M = mcar(X.shape, 0.3, 1)
        damaged = np.where(M, np.nan, X)
        imputer = IGHImputer(layout=Learned(), times="even", random_state=0)
        filled = imputer.fit_transform(damaged)
        np.testing.assert_array_equal(filled[~M], X[~M])
        np.testing.assert_array_equal(filled, imputer.fit_transform(damaged))
        assert imputer.weights_["local regression"] > 0.3
        assert min(blends[0].errors, key=blends[0].errors.get) == "local regression"
        assert rmse(X, filled, M) < 0.8 * rmse(X, IGHImputer(random_state=0).fit_transform(damaged), M)

    def test_which_columns_are_near_is_what_the_layout_says(self):
        X = roads(n_roads=20)
        M = mcar(X.shape, 0.3, 1)
        same_road = np.equal.outer(np.arange(80) % 20, np.arange(80) % 20)
        errors = []
        for K in (same_road, np.roll(same_road, 1, axis=0)):
            problem = problem_of(np.where(M, np.nan, X), Told(K * 1.0))
            errors.append(rmse(problem.scaling.standardise(X), regressed(problem), M))
        assert errors[0] < 0.9 * errors[1]

    def test_of_a_kernel_between_columns_it_takes_correlations(self):
        K = np.array([[4.0, 3.0], [3.0, 9.0]])
        np.testing.assert_allclose(
            Affinities(K).similarity(np.zeros((1, 2)), np.zeros((1, 2))), [[1, 0.5], [0.5, 1]]
        )


class TestHonest:
    @pytest.mark.parametrize("n", [3, 4, 5, 50])
    @pytest.mark.parametrize("step", [-2, -1, 1, 2])
    def test_no_row_is_before_or_after_itself(self, n, step):
        rows = local_regression._shifted(n, step)
        assert ((rows >= 0) & (rows < n)).all()
        assert (rows != np.arange(n)).all()

    def test_what_is_held_out_is_not_seen(self):
        X = roads(n=80, n_roads=3)
        M = mcar(X.shape, 0.3, 1)
        other = np.where(M, X + 100, X)
        fills = [regressed(problem_of(np.where(M, np.nan, table), in_time=True)) for table in (X, other)]
        np.testing.assert_array_equal(*fills)


class TestEdges:
    @pytest.mark.parametrize("shape", [(2, 3), (3, 2), (30, 1), (30, 2)])
    @pytest.mark.parametrize("in_time", [True, False])
    def test_small_tables(self, shape, in_time):
        X = np.random.default_rng(0).standard_normal(shape)
        X[0, 0] = np.nan
        problem = problem_of(X, Told(np.eye(shape[1])), in_time)
        found = regressed(problem)
        assert np.isfinite(found).all()
        np.testing.assert_array_equal(found[~problem.M], problem.Z[~problem.M])

    @pytest.mark.parametrize("shape", [(1, 3), (2, 3), (3, 2), (30, 1)])
    @pytest.mark.parametrize("times", ["even", None])
    def test_small_tables_in_an_imputer(self, shape, times):
        X = np.random.default_rng(0).standard_normal(shape)
        X[0, 0] = np.nan
        imputer = IGHImputer(layout=Learned(), times=times, keep_empty_features=True, random_state=0)
        filled = imputer.fit_transform(X)
        assert np.isfinite(filled).all()
        np.testing.assert_array_equal(filled[~np.isnan(X)], X[~np.isnan(X)])

    @pytest.mark.parametrize("unit", [1e-200, 1e200])
    def test_units_do_not_matter(self, unit, blends):
        X = roads(n=60, n_roads=1)
        X[mcar(X.shape, 0.2, 0)] = np.nan
        imputer = IGHImputer(layout=Learned(), times="even", random_state=0)
        plain = imputer.fit_transform(X)
        np.testing.assert_allclose(imputer.fit_transform(X * unit), plain * unit, rtol=1e-6)
        assert np.isfinite(blends[-1].error)
        assert blends[-1].error == pytest.approx(unit * blends[0].error)

    @pytest.mark.parametrize("in_time", [True, False])
    def test_tables_that_are_much_work_are_filled_in_parts(self, in_time, monkeypatch):
        X = roads(n=600, n_roads=3)
        M = mcar(X.shape, 0.3, 1)
        problem = problem_of(np.where(M, np.nan, X), in_time=in_time)
        truth, whole = problem.scaling.standardise(X), regressed(problem)
        monkeypatch.setattr(local_regression, "_MAX_WORK", 1.0)
        parts = regressed(problem)
        np.testing.assert_allclose(parts[~M], problem.Z[~M], atol=1e-12)
        assert not np.array_equal(parts, whole)
        assert rmse(truth, parts, M) < 0.6

    def test_a_layout_of_ones_own(self):
        class Own:
            """What `manifill.layouts.Layout` asks for, and no more."""

            homogeneous = False

            def shape(self, n_columns):
                return (n_columns,)

            def axes(self, Z, M):
                return Learned().axes(Z, M)

            def similarity(self, Z, M):
                return Learned().similarity(Z, M)

            def only(self, columns):
                return self

        X = roads(n=60, n_roads=2)
        X[mcar(X.shape, 0.2, 0)] = np.nan
        found = [IGHImputer(layout=one, random_state=0).fit_transform(X) for one in (Own(), Learned())]
        np.testing.assert_array_equal(*found)
