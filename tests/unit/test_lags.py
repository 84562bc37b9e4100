"""Lag features, and tables whose rows have times."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from manifill import IGHImputer, TableImputer, _fitting
from manifill._fillers import Run
from manifill._fillers.field import stages as stages_module
from manifill._fillers.field import windows as windows_module
from manifill._fillers.lags import LaggedSweeper, Timeline, with_lags
from manifill._fillers.sweep import Ensemble, GivenStart, Sweeper
from manifill._problem import Problem
from manifill._selection import Candidates, tune
from manifill._validation.holdout import random_sets
from manifill.errors import InvalidInput
from manifill.kernels import Gaussian
from manifill.layouts import Learned
from manifill.metrics import rmse
from manifill.solvers import Ridge


def walks(n: int = 200, d: int = 3, rate: float = 0.3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Random walks, complete and with missing entries."""
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal((n, d)).cumsum(axis=0)
    return truth, np.where(rng.random(truth.shape) < rate, np.nan, truth)


class TestFeatures:
    def test_feature_hardly_depends_on_its_own_value(self):
        """Only through the scale of the column, and slightly through the weights of the smoother."""
        _, X = walks()
        i = int(np.flatnonzero(~np.isnan(X[:, 0]))[50])
        changed = X.copy()
        changed[i, 0] += 1e-6
        moved = Timeline(changed, np.arange(200.0)).features() - Timeline(X, np.arange(200.0)).features()
        assert abs(moved[i, 0]) < 0.1 * np.abs(moved[:, 0]).max()

    def test_features_are_independent_of_row_order_and_time_unit(self):
        _, X = walks()
        once = Timeline(X, np.arange(200.0)).features()
        order = np.random.default_rng(1).permutation(200)
        other = Timeline(X[order], 3600.0 * order - 1e6).features()
        np.testing.assert_allclose(other, once[order], atol=1e-9)
        assert once.shape == (200, 3)

    def test_features_are_independent_of_the_order_of_simultaneous_rows(self):
        _, X = walks()
        moments = np.repeat(np.arange(50.0), 4)
        within = np.concatenate([4 * i + np.random.default_rng(i).permutation(4) for i in range(50)])
        found = Timeline(X, moments).features()
        np.testing.assert_allclose(Timeline(X[within], moments).features(), found[within], atol=1e-9)
        assert (Timeline(X, np.zeros(200)).features() == 0).all()  # all rows have the same time

    def test_features_do_not_reveal_the_value_left_out(self):
        """The mean of all other values would be a decreasing function of the one left out."""
        correlations = []
        for seed in range(30):
            X = np.random.default_rng(seed).standard_normal((60, 1))
            X[::6] = np.nan
            found = Timeline(X, np.arange(60.0)).features()[~np.isnan(X[:, 0])]
            correlations.append([np.corrcoef(feature, X[~np.isnan(X)])[0, 1] for feature in found.T])
        assert (np.abs(np.mean(correlations, axis=0)) < 0.2).all()

    @pytest.mark.parametrize("scale", [1e-200, 1e300])
    def test_features_are_independent_of_the_scale_of_columns(self, scale):
        _, X = walks()
        once, other = (Timeline(some, np.arange(200.0)).features() for some in (X, X * scale))
        np.testing.assert_allclose(other, once, rtol=1e-6, atol=1e-9)

    def test_features_of_new_rows_equal_those_of_missing_entries(self):
        _, X = walks()
        timeline = Timeline(X, np.arange(200.0))
        own, at = timeline.features(), timeline.at(np.arange(200.0))
        np.testing.assert_array_equal(at[np.isnan(X)], own[np.isnan(X)])

    def test_features_of_known_values_are_as_weak_as_those_in_gaps(self):
        """Features in the middle of long gaps are uninformative, so those of known values must be, too."""
        rng = np.random.default_rng(3)
        X = np.sin(0.3 * rng.standard_normal((4000, 1)).cumsum(axis=0))
        gaps = np.zeros(4000, dtype=bool)
        for first in range(50, 4000, 400):
            gaps[first : first + 200] = True
        scattered = rng.random(4000) < 0.2

        def correlation(missing):
            known = np.where(missing[:, None], np.nan, X)
            feature = Timeline(known, np.arange(4000.0)).features()[~missing, 0]
            return abs(np.corrcoef(feature, X[~missing, 0])[0, 1])

        assert correlation(gaps) < 0.5 < 0.8 < correlation(scattered)

    def test_expected_values_are_close_to_the_truth(self):
        truth, X = walks(400)
        missing = np.isnan(X)
        assert rmse(truth, Timeline(X, np.arange(400.0)).expected(), missing) < 0.3 * truth.std()

    @pytest.mark.parametrize("column", [[np.nan] * 5, [2.0] * 5, [np.nan, 1.0, np.nan, np.nan, np.nan]])
    def test_features_are_finite_if_few_values_are_known(self, column):
        found = Timeline(np.array(column)[:, None], np.zeros(5)).features()
        assert np.isfinite(found).all()


class TestContext:
    """Context: the last columns of a problem, used only to compare rows, such as lag features."""

    def test_context_is_not_held_out(self):
        truth, X = walks(150, 4, seed=4)
        problem = Problem.of(np.hstack([X, truth[:, :2]]), n_context=2)
        for entries in random_sets(problem, 0.1, 3, np.random.default_rng(0)):
            assert entries[:, :4].any(axis=0).all()
            assert not entries[:, 4:].any()
        sweeper = Sweeper(Ensemble.of(Gaussian(), Ridge(0.1)))
        tuning = tune(problem, Candidates(sweeper, None, Ridge(), True), Run(), np.random.default_rng(0))
        held_out = [one.held_out for one in tuning.accuracy]
        assert min(held_out[:4]) > 0
        assert held_out[4:] == [0, 0]

    @pytest.mark.parametrize("n", [3, 4])
    def test_invalid_n_context_is_refused(self, n):
        truth, _ = walks(30, 3)
        with pytest.raises(InvalidInput, match="n_context"):
            Problem.of(truth, n_context=n)

    def test_context_must_be_complete(self):
        _, X = walks(40, 3)
        with pytest.raises(InvalidInput, match="the last n_context must be complete"):
            Problem.of(X, n_context=1)

    def test_one_column_with_few_known_values_and_context_is_filled(self):
        truth, X = walks(40, 3)
        X[3:, 0] = np.nan
        problem = Problem.of(np.column_stack([X[:, 0], truth[:, 1:]]), n_context=2)
        sweeper = Sweeper(Ensemble.of(Gaussian(), Ridge(0.1)))
        tuning = tune(problem, Candidates(sweeper, None, Ridge(), True), Run(), np.random.default_rng(0))
        *_, fill = tuning.sweeper.steps(problem, np.random.default_rng(0), Run(), None)
        assert np.isfinite(fill.X).all()

    @pytest.mark.parametrize("weights", [None, [0.5, 1.0, 2.0]])
    def test_lag_features_are_appended_as_context(self, weights):
        _, X = walks(60, 3)
        order = np.random.default_rng(0).permutation(60)
        problem = Problem.of(X[order], moments=order * 1.0, weights=weights, layout=Learned())
        lagged = with_lags(problem)
        own = lagged.shape[1] - lagged.n_context
        assert own == 3
        np.testing.assert_array_equal(lagged.Z[:, :own], problem.Z)
        np.testing.assert_array_equal(lagged.M[:, :own], problem.M)
        assert not lagged.M[:, own:].any()
        np.testing.assert_allclose(lagged.given[:, :own], X)  # in order of time
        features = Timeline(X, np.arange(60.0)).features() * (1.0 if weights is None else weights)
        np.testing.assert_allclose(lagged.Z[:, own : own + 3], features, atol=1e-9)


def field_parts(imputer):
    """Parts of the rows, each filled at once by the field filler."""
    result = imputer.result_
    return result.fill_of(result.fillers[-1]).parts


class TestLongTables:
    def test_ordered_rows_are_filled_in_overlapping_parts(self, monkeypatch):
        monkeypatch.setattr(stages_module, "MAX_ROWS", 60)
        monkeypatch.setattr(windows_module, "_OVERLAP", 10)
        t = np.arange(260)[:, None] / 9
        truth = np.sin(t + np.arange(6)) + 0.2 * np.sin(3.1 * t)
        X = np.where(np.random.default_rng(0).random(truth.shape) < 0.3, np.nan, truth)
        imputer = IGHImputer(layout=Learned(), times="even", random_state=0).fit(X)
        assert len(field_parts(imputer)) > 3
        assert rmse(truth, imputer.completed_, np.isnan(X)) < 0.15
        (drawn,) = imputer.draws(1)
        assert rmse(truth, drawn, np.isnan(X)) < 0.4
        np.testing.assert_array_equal(drawn[~np.isnan(X)], X[~np.isnan(X)])

    def test_unordered_rows_are_each_filled_in_one_part(self, monkeypatch):
        monkeypatch.setattr(stages_module, "MAX_ROWS", 60)
        rng = np.random.default_rng(0)
        angle = rng.uniform(0, 6, (200, 1))
        truth = np.sin(angle + np.arange(5))
        X = np.where(rng.random(truth.shape) < 0.2, np.nan, truth)
        imputer = IGHImputer(layout=Learned(), random_state=0).fit(X)
        parts = np.sort(np.concatenate([part.rows for part in field_parts(imputer)]))
        np.testing.assert_array_equal(parts, np.arange(200))
        assert rmse(truth, imputer.completed_, np.isnan(X)) < 0.3


def test_row_times_reduce_the_error_without_a_layout():
    truth, X = walks(150)
    with_time = IGHImputer(times="even", random_state=0).fit(X)
    without = IGHImputer(random_state=0).fit(X)
    error, simple = (rmse(truth, one.completed_, np.isnan(X)) for one in (with_time, without))
    assert error < 0.7 * simple


def sensors(n=100, seed=1):
    """Six noisy functions of two random walks at random times: with missing entries, and complete."""
    rng = np.random.default_rng(seed)
    t = np.sort(rng.uniform(0, 40, n))
    factors = rng.standard_normal((n, 2)).cumsum(axis=0) / 3
    truth = np.tanh(factors @ rng.standard_normal((2, 6))) + 0.1 * rng.standard_normal((n, 6))
    X = np.where(rng.random(truth.shape) < 0.3, np.nan, truth)
    return pd.DataFrame(X, columns=list("abcdef")).assign(t=t), truth


@pytest.fixture(scope="module")
def fitted():
    frame, _ = sensors()
    return frame, TableImputer(time="t", random_state=0).fit(frame)


class TestMoments:
    def test_result_is_independent_of_the_row_order(self, fitted):
        frame, imputer = fitted
        order = np.random.default_rng(1).permutation(len(frame))
        shuffled = TableImputer(time="t", random_state=0).fit(frame.iloc[order])
        assert imputer.imputer_.weights_["sweep"] > 0  # so that the sweep is tested, too
        assert shuffled.imputer_.weights_ == pytest.approx(imputer.imputer_.weights_)
        pd.testing.assert_frame_equal(shuffled.completed_.sort_index(), imputer.completed_, rtol=1e-9)
        pd.testing.assert_frame_equal(shuffled.completed_, imputer.completed_.iloc[order], rtol=1e-9)

    def test_start_from_the_validation_run_is_independent_of_the_row_order(self):
        """The sweep starts from it in tables of more than 25,000 entries."""
        rng = np.random.default_rng(2)
        factors = rng.standard_normal((500, 2)).cumsum(axis=0) / 3
        X = np.tanh(factors @ rng.standard_normal((2, 52))) + 0.1 * rng.standard_normal((500, 52))
        X[rng.random(X.shape) < 0.3] = np.nan
        choices = Candidates(Sweeper(Ensemble.of(Gaussian(), Ridge())), Gaussian(), Ridge(), True)
        order, starts = rng.permutation(500), []
        for rows in (np.arange(500), order):
            problem = Problem.of(X[rows], moments=rows, layout=Learned())
            start = _fitting._tuned(problem, choices, Run(), np.random.default_rng(0)).sweeper.start
            assert isinstance(start, GivenStart)
            starts.append(start.values)
        np.testing.assert_allclose(starts[1], starts[0][order], rtol=1e-7)

    def test_loaded_model_fills_new_rows_the_same(self, fitted, tmp_path):
        frame, imputer = fitted
        imputer.save(tmp_path / "m.model")
        loaded = TableImputer.load(tmp_path / "m.model")
        rng = np.random.default_rng(3)
        new = frame.iloc[::4].assign(t=rng.uniform(-5, 45, 25), a=np.nan)
        new.iloc[3:9, new.columns.get_loc("b")] = np.nan
        expected = imputer.transform(new)
        assert expected.notna().all(axis=None)
        pd.testing.assert_frame_equal(loaded.transform(new), expected, check_exact=True)
        later = imputer.transform(new.assign(t=new["t"] + 5.0))
        assert np.abs(later["a"] - expected["a"]).max() > 0.01  # times of new rows are used

    def test_loaded_model_has_the_same_lag_features(self, fitted, tmp_path):
        _, imputer = fitted
        imputer.save(tmp_path / "m.model")
        loaded = TableImputer.load(tmp_path / "m.model")
        before, after = (with_lags(one.result_.problem) for one in (imputer, loaded))
        assert after.n_context == before.n_context > 0
        assert after.shape == before.shape
        np.testing.assert_array_equal(after.Z, before.Z)
        inner = []
        for one in (imputer, loaded):
            (lagged,) = (filler for filler in one.result_.fillers if isinstance(filler, LaggedSweeper))
            inner.append(one.result_.fill_of(lagged).inner.problem)
        assert inner[1].n_context == inner[0].n_context == before.n_context

    def test_uneven_times_reduce_the_error(self):
        """Points of a smooth curve at random times, which determine the position on the curve."""
        rng = np.random.default_rng(4)
        t = rng.uniform(0, 30, 120)
        truth = np.column_stack([np.sin(t), np.cos(1.7 * t), np.sin(0.6 * t + 1)])
        X = np.where(rng.random(truth.shape) < 0.4, np.nan, truth)
        with_times, even, without = (
            rmse(truth, IGHImputer(times=times, random_state=0).fit_transform(X), np.isnan(X))
            for times in (t, "even", None)
        )
        assert with_times < 0.5 * without
        assert with_times < 0.5 * even  # rows are not in order of time

    def test_dates_of_any_unit_equal_numbers(self):
        frame, _ = sensors(60)
        X, t = frame[list("abcdef")].to_numpy(), np.round(frame["t"].to_numpy() * 1000)
        days = np.datetime64("2026-01-01") + t.astype("timedelta64[D]")
        hours = np.datetime64("1950-01-01") + t.astype("timedelta64[h]")
        fills = [IGHImputer(times=one, random_state=0).fit_transform(X) for one in (t, days, hours)]
        np.testing.assert_allclose(fills[1], fills[0], rtol=1e-6)
        np.testing.assert_allclose(fills[2], fills[0], rtol=1e-6)

    def test_evenly_spaced_times_equal_even(self):
        X = sensors(60)[0][list("abcdef")].to_numpy()
        fills = [
            IGHImputer(times=one, random_state=0).fit_transform(X) for one in ("even", 3.0 * np.arange(60))
        ]
        np.testing.assert_allclose(fills[1], fills[0], rtol=1e-9)


class TestExtension:
    """New rows are filled by one filler: the one with the smallest held-out error that supports them."""

    def test_extending_filler_with_the_smallest_error_fills_new_rows(self):
        t = np.arange(80.0)
        X = np.column_stack([np.sin(t / 9), np.cos(t / 9), np.sin(t / 5)])
        X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
        fitted = IGHImputer(times="even", random_state=0).fit(X).result_
        row, moment = np.full((1, 3), np.nan), np.array([40.5])
        names = {one.name for one in fitted.fillers if one.extends}
        assert names >= {"sweep", "sweep with lag features", "interpolation"}
        for best in ("interpolation", "sweep with lag features"):
            known = replace(fitted, filler_errors={name: 1.0 - (name == best) for name in names})
            filler = next(one for one in fitted.fillers if one.name == best)
            expected = filler.extension(fitted.fill_of(filler), fitted.run).complete(row, moment)
            np.testing.assert_array_equal(known.complete(row, moment), expected)
        with_time, without = known.complete(row, moment), known.complete(row)
        assert np.abs(with_time - without).max() > 0.1


def test_without_a_method_that_helps_columns_get_their_means():
    """On columns of noise the weights of all methods may be 0, and then none of them runs."""
    X = np.random.default_rng(0).standard_normal((30, 2))
    X[::4, 0] = np.nan
    problem = Problem.of(X, moments=np.arange(30.0))
    *_, last = _fitting.run_all(_fitting.unfilled(problem, (), Run()), [], Run(), np.random.default_rng(0))
    np.testing.assert_allclose(last.fill.X[::4, 0], np.nanmean(X[:, 0]))
