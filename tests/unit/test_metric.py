"""Metrics of their own for every column: learned weights, long tables, new rows, saved models."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from manifill import IGHImputer, TableImputer
from manifill._estimators import options
from manifill._estimators.checking import check_metrics
from manifill._fillers import Run
from manifill._fillers.metric import Metric, MetricFiller, _root_mean_square_gradient, learned, regression
from manifill._problem import Problem
from manifill._selection.blending import add_others
from manifill._validation import hold_out
from manifill.solvers import Landmarks, Local


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


@pytest.fixture
def long(monkeypatch):
    """Tables of more than 150 rows are long."""
    monkeypatch.setattr(options, "EXACT_ROWS", 150)


def test_columns_that_matter_get_the_weight(problem):
    metric = learned(problem, problem.Z, [8], np.random.default_rng(0))
    assert metric.weights[8] == 0
    assert metric.weights[:3].min() > 3 * metric.weights[3:8].max()


def test_the_learned_metric_fills_better_than_equal_weights(problem):
    truth = friedman(600, 0)[problem.rows, -1]
    metric = learned(problem, problem.Z, [8], np.random.default_rng(0))
    equal = type(metric)(np.where(metric.weights > 0, metric.weights.mean(), 0.0), metric.ridge)
    missing = problem.M[:, 8]
    errors = []
    for one in (metric, equal):
        found = regression(problem, problem.Z, [8], one).at(problem.Z[missing])[:, 0]
        restored = found * problem.scaling.deviation[8] + problem.scaling.mean[8]
        errors.append(np.sqrt(np.mean((restored - truth[missing]) ** 2)))
    noise = 0.1
    assert errors[0] ** 2 - noise**2 < 0.7 * (errors[1] ** 2 - noise**2)


def test_gradients_are_those_of_the_fit(problem):
    """Root mean squares of the gradient equal those of finite differences."""

    rng = np.random.default_rng(1)
    X, weights = rng.standard_normal((40, 3)), np.array([0.5, 1.0, 0.2])
    Y = np.column_stack([np.sin(X[:, 0]), X[:, 1]])
    found = _root_mean_square_gradient(X, Y, weights, 0.1)

    def kernel(A, B):
        return np.exp(-(np.abs(A[:, None] - B) * weights).sum(axis=2))

    coefficients = np.linalg.solve(kernel(X, X) + 0.1 * np.eye(40), Y)
    for k in range(3):
        step = np.zeros(3)
        step[k] = 1e-6
        # A kernel has a kink at its centre; the two sides cancel in the central difference.
        slope = (kernel(X + step, X) - kernel(X - step, X)) @ coefficients / 2e-6
        assert np.sqrt((slope**2).mean()) == pytest.approx(found[k], rel=1e-4)


def test_many_rows_are_fitted_on_centres_like_few(monkeypatch, problem):
    metric = learned(problem, problem.Z, [8], np.random.default_rng(0))
    missing = problem.Z[problem.M[:, 8]]
    exact = regression(problem, problem.Z, [8], metric).at(missing)
    monkeypatch.setattr("manifill._fillers.metric._MAX_EXACT", 300)
    monkeypatch.setattr("manifill._fillers.metric._CENTRES", 390)
    near = regression(problem, problem.Z, [8], metric).at(missing)
    assert np.sqrt(np.mean((near - exact) ** 2)) < 0.1
    assert len(regression(problem, problem.Z, [8], metric).centres) == 390


def test_dummies_of_a_category_have_one_weight():
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 300)
    noise = rng.standard_normal((300, 7))
    X = np.column_stack([np.eye(3)[kind], noise[:, :6], kind % 2 + 0.1 * noise[:, 6]])
    X[200:, 9] = np.nan
    problem = Problem.of(X, groups=[[0, 1, 2], *([j] for j in range(3, 10))])
    weights = learned(problem, problem.Z, [9], np.random.default_rng(0)).weights
    assert weights[0] == weights[1] == weights[2] > weights[3:9].max()


def test_the_filler_fills_missing_entries_only(problem):
    *_, fill = MetricFiller().steps(problem, np.random.default_rng(0), Run(), None)
    np.testing.assert_array_equal(fill.Z[~problem.M], problem.Z[~problem.M])
    lowest, highest = problem.standard_bounds
    assert ((lowest <= fill.Z) & (highest >= fill.Z)).all()
    *_, left = MetricFiller(left_out=np.arange(9) == 8).steps(problem, np.random.default_rng(0), Run(), None)
    np.testing.assert_array_equal(left.Z[problem.M], 0)


@pytest.mark.parametrize(
    ("column", "weights", "ridge"),
    [
        (9, np.zeros(9), 0.1),
        (8, np.zeros(3), 0.1),
        (8, -np.ones(9), 0.1),
        (8, np.ones(9), 0.1),
        (8, np.zeros(9), np.inf),
        (8, np.full(9, np.nan), 0.1),
    ],
)
def test_metrics_of_damaged_model_files_are_refused(problem, column, weights, ridge):
    check_metrics({8: Metric(np.where(np.arange(9) == 8, 0.0, 1.0), 0.1)}, problem)
    with pytest.raises(ValueError, match=r"metric|table"):
        check_metrics({column: Metric(weights, ridge)}, problem)


class TestLongTables:
    """With `kernel`, `solver` and `method` left to manifill, the sweep is blended with the metric filler."""

    X = friedman(400, 1)
    M = np.random.default_rng(2).random(X.shape) < 0.2

    def fitted(self, **given):
        return IGHImputer(random_state=0, **given).fit(np.where(self.M, np.nan, self.X))

    def test_the_blend_beats_the_sweep_alone(self, long):
        imputer = self.fitted()
        assert set(imputer.weights_) == {"sweep", "metric"}
        assert isinstance(imputer.solver_, Landmarks | Local)
        alone = self.fitted(solver="landmarks")
        assert set(alone.weights_) == {"sweep"}
        errors = [np.sqrt(((one.completed_ - self.X)[self.M] ** 2).mean()) for one in (imputer, alone)]
        assert errors[0] < errors[1]

    def test_new_rows_are_filled_by_the_blend(self, long):
        imputer = self.fitted()
        truth = friedman(300, 7)
        new = np.where(np.arange(9) == 8, np.nan, truth)
        error = np.sqrt(((imputer.transform(new) - truth)[:, 8] ** 2).mean())
        assert error < 0.6 * truth[:, 8].std()
        one_by_one = np.vstack([imputer.transform(new[i : i + 1]) for i in range(5)])
        np.testing.assert_allclose(one_by_one, imputer.transform(new)[:5], atol=1e-10)

    def test_a_saved_model_fills_new_rows_alike(self, long, tmp_path):
        names = [f"c{j}" for j in range(9)]
        frame = pd.DataFrame(np.where(self.M, np.nan, self.X), columns=names)
        imputer = TableImputer(random_state=0).fit(frame)
        assert imputer.imputer_.weights_["metric"] > 0
        imputer.save(tmp_path / "x.model")
        new = pd.DataFrame(friedman(20, 8), columns=names)
        new["c8"] = np.nan
        loaded = TableImputer.load(tmp_path / "x.model")
        pd.testing.assert_frame_equal(imputer.transform(new), loaded.transform(new), check_exact=True)
        low, high = loaded.intervals(0.9, new)
        assert (low["c8"] < high["c8"]).all()

    @pytest.mark.parametrize("weights", [{"sweep": 0.0, "metric": 1.0}, {"sweep": 0.3, "metric": 0.7}])
    def test_a_saved_blend_of_any_weights_is_the_same(self, long, tmp_path, weights):
        names = [f"c{j}" for j in range(9)]
        imputer = TableImputer(random_state=0).fit(
            pd.DataFrame(np.where(self.M, np.nan, self.X), columns=names)
        )
        imputer.imputer_.result_ = replace(imputer.imputer_.result_, weights=weights)
        imputer.save(tmp_path / "x.model")
        new = pd.DataFrame(friedman(20, 8), columns=names)
        new["c8"] = np.nan
        filled = TableImputer.load(tmp_path / "x.model").transform(new)
        pd.testing.assert_frame_equal(filled, imputer.transform(new), check_exact=True)

    def test_without_time_left_the_sweep_is_used_alone(self, long, monkeypatch):
        monkeypatch.setattr(Run, "time_is_up", True)
        held_out = [hold_out(Problem.of(self.X), self.M)]
        swept = np.zeros(len(held_out[0].truth))
        weights, found, others = add_others(
            held_out, swept, np.ones(9), [MetricFiller()], Run(), np.random.default_rng(0)
        )
        assert weights == {"sweep": 1.0}
        assert found is swept
        assert others == []

    def test_intervals_and_draws_come_with_it(self, long):
        imputer = self.fitted()
        low, high = imputer.intervals(0.9)
        assert 0.8 < ((low <= self.X) & (high >= self.X))[self.M].mean() < 0.98
        drawn = next(iter(imputer.draws(1)))
        np.testing.assert_array_equal(drawn[~self.M], self.X[~self.M])

    def test_the_order_of_rows_and_columns_does_not_matter(self, long):
        X = np.where(self.M, np.nan, self.X)
        rows, columns = np.random.default_rng(3).permutation(len(X)), np.random.default_rng(4).permutation(9)
        one = IGHImputer(random_state=0).fit_transform(X)
        other = IGHImputer(random_state=0).fit_transform(X[rows][:, columns])
        np.testing.assert_allclose(other, one[rows][:, columns], atol=1e-7)
