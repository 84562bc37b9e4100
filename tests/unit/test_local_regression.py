"""Local regression of every column on its most similar columns and on the rows before and after."""

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
    """Four sensors on each of several independent roads; waves move by one sensor per row."""
    noise = np.random.default_rng(0).standard_normal((n + 40, n_roads))
    waves = np.apply_along_axis(lambda x: np.convolve(x, np.hanning(window), mode="same"), 0, noise)
    X = np.hstack([waves[20 + lag : 20 + lag + n] for lag in range(4)])
    return X / X.std(axis=0)


class GivenSimilarity(Learned):
    """Columns with a given similarity matrix."""

    def __init__(self, matrix):
        self.matrix = matrix

    def similarity(self, Z, M):
        return self.matrix


def problem_of(X, layout=None, in_time=False):
    return Problem.of(X, layout=layout or Learned(), moments=np.arange(len(X)) if in_time else None)


def regressed(problem):
    """(n, d), fill of local regression that starts from the column means, in standardised units."""
    start = Fill(problem, problem.Z)
    (fill,) = LocalRegression().steps(problem, np.random.default_rng(0), Run(), start)
    return fill.Z


@pytest.fixture
def blends(monkeypatch):
    """Blends of all validation runs, in order."""
    found = []

    def weigh(*args):
        found.append(original(*args))
        return found[-1]

    original = _selection.weigh
    monkeypatch.setattr(_selection, "weigh", weigh)
    return found


class TestFill:
    def test_known_values_are_kept_and_row_times_reduce_the_error(self):
        X = roads()
        M = mcar(X.shape, 0.3, 1)
        errors = []
        for in_time in (True, False):
            problem = problem_of(np.where(M, np.nan, X), in_time=in_time)
            found = regressed(problem)
            np.testing.assert_array_equal(found[~M], problem.Z[~M])
            errors.append(rmse(problem.scaling.standardise(X), found, M))
        assert errors[0] < 0.7 * errors[1] < 0.7 * 0.7

    def test_imputer_gives_it_weight_if_its_held_out_error_is_smallest(self, blends):
        X = np.tanh(3 * roads(window=5))  # like traffic that is either jammed or free
        M = mcar(X.shape, 0.3, 1)
        damaged = np.where(M, np.nan, X)
        imputer = IGHImputer(layout=Learned(), times="even", random_state=0)
        filled = imputer.fit_transform(damaged)
        np.testing.assert_array_equal(filled[~M], X[~M])
        np.testing.assert_array_equal(filled, imputer.fit_transform(damaged))
        assert imputer.weights_["local regression"] > 0.3
        assert min(blends[0].errors, key=blends[0].errors.get) == "local regression"
        assert rmse(X, filled, M) < 0.8 * rmse(X, IGHImputer(random_state=0).fit_transform(damaged), M)

    def test_layout_determines_the_similar_columns(self):
        X = roads(n_roads=20)
        M = mcar(X.shape, 0.3, 1)
        same_road = np.equal.outer(np.arange(80) % 20, np.arange(80) % 20)
        errors = []
        for K in (same_road, np.roll(same_road, 1, axis=0)):
            problem = problem_of(np.where(M, np.nan, X), GivenSimilarity(K * 1.0))
            errors.append(rmse(problem.scaling.standardise(X), regressed(problem), M))
        assert errors[0] < 0.9 * errors[1]

    def test_similarity_of_affinities_is_their_correlation(self):
        K = np.array([[4.0, 3.0], [3.0, 9.0]])
        np.testing.assert_allclose(
            Affinities(K).similarity(np.zeros((1, 2)), np.zeros((1, 2))), [[1, 0.5], [0.5, 1]]
        )


class TestLeakage:
    @pytest.mark.parametrize("n", [3, 4, 5, 50])
    @pytest.mark.parametrize("step", [-2, -1, 1, 2])
    def test_no_row_is_before_or_after_itself(self, n, step):
        rows = local_regression._shifted(n, step)
        assert ((rows >= 0) & (rows < n)).all()
        assert (rows != np.arange(n)).all()


class TestEdges:
    @pytest.mark.parametrize("shape", [(2, 3), (3, 2), (30, 1), (30, 2)])
    @pytest.mark.parametrize("in_time", [True, False])
    def test_small_tables_are_filled(self, shape, in_time):
        X = np.random.default_rng(0).standard_normal(shape)
        X[0, 0] = np.nan
        problem = problem_of(X, GivenSimilarity(np.eye(shape[1])), in_time)
        found = regressed(problem)
        assert np.isfinite(found).all()
        np.testing.assert_array_equal(found[~problem.M], problem.Z[~problem.M])

    @pytest.mark.parametrize("shape", [(1, 3), (2, 3), (3, 2), (30, 1)])
    @pytest.mark.parametrize("times", ["even", None])
    def test_imputer_fills_small_tables(self, shape, times):
        X = np.random.default_rng(0).standard_normal(shape)
        X[0, 0] = np.nan
        imputer = IGHImputer(layout=Learned(), times=times, keep_empty_features=True, random_state=0)
        filled = imputer.fit_transform(X)
        assert np.isfinite(filled).all()
        np.testing.assert_array_equal(filled[~np.isnan(X)], X[~np.isnan(X)])

    @pytest.mark.parametrize("scale", [1e-200, 1e200])
    def test_result_is_independent_of_the_scale(self, scale, blends):
        X = roads(n=60, n_roads=1)
        X[mcar(X.shape, 0.2, 0)] = np.nan
        imputer = IGHImputer(layout=Learned(), times="even", random_state=0)
        plain = imputer.fit_transform(X)
        np.testing.assert_allclose(imputer.fit_transform(X * scale), plain * scale, rtol=1e-6)
        assert np.isfinite(blends[-1].error)
        assert blends[-1].error == pytest.approx(scale * blends[0].error)

    @pytest.mark.parametrize("in_time", [True, False])
    def test_large_tables_are_filled_in_parts(self, in_time, monkeypatch):
        X = roads(n=600, n_roads=3)
        M = mcar(X.shape, 0.3, 1)
        problem = problem_of(np.where(M, np.nan, X), in_time=in_time)
        truth, at_once = problem.scaling.standardise(X), regressed(problem)
        monkeypatch.setattr(local_regression, "_MAX_WORK", 1.0)
        parts = regressed(problem)
        np.testing.assert_allclose(parts[~M], problem.Z[~M], atol=1e-12)
        assert not np.array_equal(parts, at_once)
        assert rmse(truth, parts, M) < 0.6

    def test_custom_layout_equals_the_learned_one(self):
        class Custom:
            """Only what the protocol `manifill.layouts.Layout` requires."""

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
        found = [IGHImputer(layout=one, random_state=0).fit_transform(X) for one in (Custom(), Learned())]
        np.testing.assert_array_equal(*found)
