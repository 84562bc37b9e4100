import datetime
import pickle
import time
import warnings
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge as RidgeRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import manifill
from manifill import IGHImputer, Sweep
from manifill._fillers import Status
from manifill._fillers.sweep import Schedule
from manifill.errors import EmptyColumnWarning, InvalidInput, UnfinishedWarning
from manifill.kernels import (
    Custom,
    Gaussian,
    Laplacian,
    MedianDistance,
    Polynomial,
    SelfTuning,
    SemiLinear,
)
from manifill.metrics import rmse
from manifill.solvers import ConditionNumber, Ridge, Spectral


def curve(n=60):
    """Points (n, 6) on a curve, and a mask (n, 6) with 20 % of the entries True, for missing."""
    t = np.linspace(0, 5, n)
    X = np.column_stack([np.sin(t), np.cos(t), np.sin(2 * t), t, np.cos(3 * t), t**2])
    return X, np.random.default_rng(1).random(X.shape) < 0.2


@pytest.fixture
def curved():
    return curve()


@pytest.fixture
def damaged(curved):
    X, M = curved
    return np.where(M, np.nan, X)


@pytest.fixture
def small(damaged):
    """20 rows, for tests in which accuracy does not matter."""
    return damaged[::3]


@pytest.fixture
def narrow(small):
    """The first three columns of `small`."""
    return small[:, :3].copy()


@pytest.fixture(scope="module")
def fitted():
    """Function from a kernel to an imputer fitted to `damaged`; every kernel is fitted once."""

    @cache
    def fit(kernel="auto"):
        X, M = curve()
        return IGHImputer(kernel, random_state=0).fit(np.where(M, np.nan, X))

    return fit


class TestFill:
    def test_error_is_far_below_that_of_the_mean(self):
        X, M = curve(120)
        damaged = np.where(M, np.nan, X)
        filled = IGHImputer(random_state=0).fit_transform(damaged)
        mean = np.where(M, np.nanmean(damaged, axis=0), X)
        assert rmse(X, filled, M) < 0.25 * rmse(X, mean, M)

    def test_observed_values_are_returned_bit_for_bit(self, damaged, fitted):
        filled = fitted().completed_
        known = ~np.isnan(damaged)
        assert filled[known].tobytes() == damaged[known].tobytes()
        assert np.isfinite(filled).all()

    def test_the_input_is_not_changed(self, narrow):
        before = narrow.copy()
        narrow.flags.writeable = False
        imputer = IGHImputer(random_state=0).fit(narrow)
        imputer.transform(narrow)
        np.testing.assert_array_equal(narrow, before)

    def test_float32_input_gives_float32_output(self, narrow):
        single = narrow.astype(np.float32)
        imputer = IGHImputer(random_state=0, add_indicator=True)
        filled = imputer.fit_transform(single)
        assert filled.dtype == np.float32
        assert imputer.transform(single[:3]).dtype == np.float32
        known = ~np.isnan(single)
        assert filled[:, :3][known].tobytes() == single[known].tobytes()
        double = IGHImputer(random_state=0).fit_transform(single.astype(float))
        np.testing.assert_allclose(filled[:, :3], double, rtol=1e-5, atol=1e-6)

    def test_the_result_does_not_depend_on_the_scale_of_the_columns(self, damaged, fitted):
        scale = np.array([1e-12, 1e12, 1.0, 1e3, 1e-3, 1e6])
        one = fitted().completed_
        two = IGHImputer(random_state=0).fit_transform(damaged * scale)
        np.testing.assert_allclose(two / scale, one, rtol=1e-7, atol=1e-9)

    def test_refit_gives_identical_numbers(self, narrow):
        imputer = IGHImputer(random_state=3)
        one = imputer.fit_transform(narrow)
        two = imputer.fit_transform(narrow)
        three = clone(imputer).fit_transform(narrow)
        assert one.tobytes() == two.tobytes() == three.tobytes()
        one, other = (IGHImputer("gaussian", random_state=seed).fit_transform(narrow) for seed in (3, 4))
        assert not np.array_equal(one, other)

    @pytest.mark.parametrize("seed", [np.random.RandomState(1), np.random.default_rng(1), np.int64(5), None])
    def test_random_state_accepts_seeds_generators_and_none(self, seed, narrow):
        assert np.isfinite(IGHImputer(random_state=seed).fit_transform(narrow)).all()

    def test_fitted_attributes(self, damaged):
        imputer = IGHImputer(random_state=0, max_sweeps=3).fit(damaged)
        assert imputer.n_sweeps_ == len(imputer.trace_) - 1 <= 3
        assert imputer.status_ in (Status.SWEEP_LIMIT, Status.SETTLED)
        assert imputer.kernel_ == imputer.ensemble_.main.kernel  # the one with the largest weight
        assert imputer.tuning_ is None
        assert isinstance(imputer.solver_, Ridge)
        assert imputer.schedule_ == Schedule(1)
        assert imputer.indicator_ is None
        assert imputer.n_features_in_ == 6

    def test_no_missing_values(self, curved):
        imputer = IGHImputer()
        filled = imputer.fit_transform(curved[0])
        np.testing.assert_array_equal(filled, curved[0])
        assert filled is not curved[0]
        assert imputer.status_ is Status.NOTHING_MISSING
        new = curved[0][:4].copy()
        new[:, 2] = np.nan
        assert rmse(curved[0][:4], imputer.transform(new), np.isnan(new)) < 0.3

    def test_string_options_equal_their_objects(self, damaged):
        strings = IGHImputer(
            "gaussian", solver="spectral", method=Sweep(schedule="column", start="mean", order="fixed")
        )
        objects = IGHImputer(
            Gaussian(MedianDistance(1.0)),
            solver=Spectral(ConditionNumber(1e-3)),
            method=Sweep(
                schedule=1,
                start=np.where(np.isnan(damaged), np.nanmean(damaged, axis=0), damaged),
                order=lambda blocks, problem, rng: sorted(blocks, key=min),
            ),
        )
        np.testing.assert_allclose(strings.fit_transform(damaged), objects.fit_transform(damaged), atol=1e-9)

    @pytest.mark.parametrize(
        "kernel", ["gaussian", "laplacian", "semilinear", "self_tuning", "polynomial", "cosine"]
    )
    def test_every_kernel_name_works(self, kernel, damaged, fitted):
        imputer = fitted(kernel)
        assert np.isfinite(imputer.transform(damaged)).all()
        assert isinstance(imputer.solver_, Spectral if kernel == "self_tuning" else Ridge)

    def test_a_kernel_function_gives_the_result_of_the_kernel(self, small):
        def gaussian(X, Y):
            return np.exp(-0.5 * ((X[:, None] - Y[None]) ** 2).sum(axis=2) / 4.0)

        ours = IGHImputer(Gaussian(2.0), solver="ridge", random_state=0)
        theirs = IGHImputer(gaussian, solver="ridge", random_state=0)
        np.testing.assert_allclose(ours.fit_transform(small), theirs.fit_transform(small), atol=1e-9)
        np.testing.assert_allclose(ours.transform(small), theirs.transform(small), atol=1e-9)
        assert isinstance(theirs.kernel_, Custom)
        assert isinstance(IGHImputer(gaussian).fit(small).solver_, Spectral)  # not known to be psd
        assert isinstance(IGHImputer(Custom(gaussian, psd=True)).fit(small).solver_, Ridge)

    def test_schedule_options_give_the_block_size(self, rng):
        X = rng.standard_normal((5, 70))
        X[rng.random(X.shape) < 0.1] = np.nan
        sizes = {
            option: IGHImputer(method=Sweep(schedule=option)).fit(X).schedule_.columns
            for option in ("auto", "column", "block", 9)
        }
        assert sizes == {"auto": 1, "column": 1, "block": 2, 9: 9}


class TestNewRows:
    def test_a_row_does_not_depend_on_the_other_new_rows(self, damaged):
        imputer = IGHImputer(random_state=0).fit(damaged[:40])
        new = damaged[40:]
        together = imputer.transform(new)
        alone = np.vstack([imputer.transform(row[None]) for row in new])
        np.testing.assert_allclose(together, alone, rtol=1e-9, atol=1e-11)
        shuffled = np.random.default_rng(0).permutation(len(new))
        np.testing.assert_allclose(
            imputer.transform(new[shuffled]), together[shuffled], rtol=1e-9, atol=1e-11
        )

    @pytest.mark.parametrize(
        "kernel", ["auto", "gaussian", "semilinear", "self_tuning", "polynomial", "cosine"]
    )
    @pytest.mark.parametrize("far", [1e6, 1e8, 1e100, 1e300])
    def test_a_row_does_not_depend_on_an_outlying_new_row(self, kernel, far, fitted):
        imputer = fitted(kernel)
        row = np.array([[0.5, np.nan, 0.1, 1.0, np.nan, 1.0]])
        rows = np.vstack([row, [[far, np.nan, -far, 1.0, np.nan, 1.0]]])
        together = imputer.transform(rows)
        assert np.isfinite(together).all()
        np.testing.assert_allclose(together[0], imputer.transform(row)[0], rtol=1e-9, atol=1e-11)

    def test_the_sweeps_of_a_row_do_not_depend_on_the_other_new_rows(self, damaged):
        def kernel(X, Y):
            return Gaussian(2.0).gram(Y, X)

        imputer = IGHImputer(kernel, random_state=0, tol=1e-3, max_sweeps=50).fit(damaged)
        together = imputer.transform(damaged[:40])
        for i in range(0, 40, 7):
            np.testing.assert_allclose(
                imputer.transform(damaged[i : i + 1])[0], together[i], rtol=1e-9, atol=1e-11
            )

    def test_transform_ends_with_zero_tolerance(self, narrow):
        imputer = IGHImputer(random_state=0, tol=0, max_sweeps=10**6).fit(narrow)
        began = time.monotonic()
        imputer.transform(narrow[:5])
        assert time.monotonic() - began < 20

    def test_new_rows_are_filled_nearly_as_well_as_training_rows(self, rng):
        t = rng.uniform(0, 5, 200)
        X = np.column_stack([np.sin(t), np.cos(t), np.sin(2 * t), t, np.cos(3 * t)])
        M = rng.random(X.shape) < 0.25
        M[:, 3] &= rng.random(200) < 0.5
        damaged = np.where(M, np.nan, X)
        imputer = IGHImputer(random_state=0).fit(damaged[:150])
        jointly = IGHImputer(random_state=0).fit_transform(damaged)[150:]
        new = M[150:]
        assert rmse(X[150:], imputer.transform(damaged[150:]), new) < 1.3 * rmse(X[150:], jointly, new)

    def test_a_column_complete_in_training_can_be_filled(self, curved):
        X, _ = curved
        imputer = IGHImputer(random_state=0).fit(X[::2])
        new = X[1::2].copy()
        new[:, 4] = np.nan
        mean_error = np.abs(X[::2, 4].mean() - X[1::2, 4]).mean()
        assert np.abs(imputer.transform(new)[:, 4] - X[1::2, 4]).mean() < 0.3 * mean_error

    def test_observed_values_are_kept_and_bounds_hold(self, damaged):
        imputer = IGHImputer(random_state=0, bounds={3: (1.0, 2.0)}).fit(damaged)
        new = damaged.copy()
        new[:, 3] = np.nan
        filled = imputer.transform(new)
        known = ~np.isnan(new)
        assert filled[known].tobytes() == new[known].tobytes()
        assert filled[:, 3].min() >= 1.0
        assert filled[:, 3].max() <= 2.0

    def test_a_row_without_observed_values_gets_the_column_means(self, damaged, fitted):
        imputer = fitted()
        np.testing.assert_allclose(
            imputer.transform(np.full((2, 6), np.nan)), [np.nanmean(damaged, axis=0)] * 2
        )

    def test_extreme_new_rows_give_finite_values(self, fitted):
        imputer = fitted()
        rows = np.array([[1e300, np.nan, 0, -1e308, np.nan, 1], [1e-300, np.nan, 1e30, 0, 0, np.nan]])
        assert np.isfinite(imputer.transform(rows)).all()

    @pytest.mark.parametrize("kernel", ["auto", "gaussian", "self_tuning", SemiLinear(Laplacian())])
    def test_a_pickled_copy_gives_identical_results(self, kernel, damaged):
        imputer = IGHImputer(kernel, random_state=0).fit(damaged[:45])
        copy = pickle.loads(pickle.dumps(imputer))
        first = imputer.transform(damaged[45:])
        assert copy.transform(damaged[45:]).tobytes() == first.tobytes()
        again = pickle.loads(pickle.dumps(imputer)).transform(damaged[45:])
        assert again.tobytes() == first.tobytes()
        for row in damaged[45:50]:  # earlier calls have no effect
            copy.transform(row[None])
        assert copy.transform(damaged[45:]).tobytes() == first.tobytes()

    def test_the_result_does_not_depend_on_the_chunk_size(self, damaged, fitted, monkeypatch):
        expected = fitted().transform(damaged)
        monkeypatch.setattr("manifill._fillers.sweep.newrows._MAX_PAIRS", 500)
        again = IGHImputer(random_state=0).fit(damaged)
        np.testing.assert_allclose(again.transform(damaged), expected, rtol=1e-9, atol=1e-11)


class TestFrames:
    names = ("a", "b", "c", "d", "e", "f")

    def test_pandas(self, damaged, fitted):
        index = [f"row {i}" for i in range(60)]
        frame = pd.DataFrame(damaged, columns=list(self.names), index=index)
        imputer = IGHImputer(random_state=0).set_output(transform="pandas")
        filled = imputer.fit_transform(frame)
        assert list(filled.columns) == list(self.names)
        assert list(filled.index) == index
        np.testing.assert_array_equal(filled, fitted().completed_)
        assert list(imputer.feature_names_in_) == list(self.names)
        with pytest.raises(ValueError, match="feature names"):
            imputer.transform(frame.rename(columns={"a": "z"}))

    def test_pandas_nullable(self, small):
        frame = pd.DataFrame(small, columns=list(self.names)).convert_dtypes()
        frame["f"] = frame["f"].astype("Float64")
        filled = IGHImputer(random_state=0).fit_transform(frame)
        np.testing.assert_allclose(filled, IGHImputer(random_state=0).fit_transform(small))

    def test_polars(self, small):
        frame = pl.DataFrame(
            {n: [None if np.isnan(v) else v for v in c] for n, c in zip(self.names, small.T, strict=True)}
        )
        filled = IGHImputer(random_state=0).set_output(transform="polars").fit_transform(frame)
        assert isinstance(filled, pl.DataFrame)
        assert filled.columns == list(self.names)
        assert filled.null_count().to_numpy().sum() == 0

    def test_bounds_and_groups_by_name(self, small):
        frame = pd.DataFrame(small, columns=list(self.names))
        imputer = IGHImputer(random_state=0, bounds={"d": (1.0, None)}, groups=[["a", "b"]])
        filled = imputer.fit_transform(frame)
        assert filled[np.isnan(small[:, 3]), 3].min() >= 1.0
        by_number = IGHImputer(random_state=0, bounds={3: (1.0, None)}, groups=[[0, 1]]).fit_transform(small)
        np.testing.assert_array_equal(filled, by_number)

    def test_indicator(self, small):
        small[:, 2] = np.nan_to_num(small[:, 2])
        frame = pd.DataFrame(small, columns=list(self.names))
        imputer = IGHImputer(random_state=0, add_indicator=True).set_output(transform="pandas")
        filled = imputer.fit_transform(frame)
        assert list(filled.columns[6:]) == [f"missingindicator_{n}" for n in "abdef"]
        np.testing.assert_array_equal(filled["missingindicator_a"], np.isnan(small[:, 0]))
        assert list(imputer.transform(frame.iloc[:3]).columns) == list(filled.columns)

    def test_feature_names_out_are_checked(self, fitted):
        imputer = fitted()
        assert list(imputer.get_feature_names_out()) == [f"x{i}" for i in range(6)]
        assert list(imputer.get_feature_names_out(list(self.names))) == list(self.names)
        with pytest.raises(InvalidInput, match="length"):
            imputer.get_feature_names_out(["a"])


class TestIterationAndStopping:
    def test_break_leaves_the_imputer_fitted(self, damaged):
        imputer = IGHImputer("laplacian", solver="ridge", random_state=0, tol=0)
        for state in imputer.iter_fit(damaged):
            if state.sweep == 2:
                break
        assert imputer.n_sweeps_ == 2
        assert imputer.status_ is Status.INTERRUPTED
        expected = IGHImputer("laplacian", solver="ridge", random_state=0, tol=0, max_sweeps=2)
        np.testing.assert_array_equal(state.X, expected.fit_transform(damaged))
        assert np.isfinite(imputer.transform(damaged)).all()

    def test_the_imputer_is_fitted_from_the_first_sweep_on(self, narrow):
        imputer = IGHImputer(random_state=0)
        fills = imputer.iter_fit(narrow)
        next(fills)
        with pytest.raises(NotFittedError):
            imputer.transform(narrow)
        next(fills)
        assert imputer.n_sweeps_ == 1  # while the iterator is still open
        assert imputer.status_ is Status.INTERRUPTED

    def test_a_failed_fit_discards_the_previous_one(self, narrow):
        imputer = IGHImputer(random_state=0).fit(narrow)
        with pytest.raises(InvalidInput):
            imputer.set_params(tol=-1).fit(narrow[:, :2])
        with pytest.raises(NotFittedError):
            imputer.transform(narrow)
        assert not hasattr(imputer, "trace_")

    def test_the_last_fill_equals_completed(self, narrow):
        for options in ({}, {"time_limit": 1e-9}):
            imputer = IGHImputer(random_state=0, **options)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UnfinishedWarning)
                *_, last = imputer.iter_fit(narrow)
            np.testing.assert_array_equal(last.X, imputer.completed_)

    def test_it_stops_when_the_changes_stop_shrinking(self, rng):
        X = rng.standard_normal((60, 5))
        X[rng.random(X.shape) < 0.4] = np.nan
        imputer = IGHImputer(
            Gaussian(MedianDistance(0.7)), solver=Ridge(1e-3), tol=1e-12, max_sweeps=300, random_state=0
        )
        assert imputer.fit(X).status_ is Status.PLATEAU
        assert imputer.n_sweeps_ < 300

    def test_zero_tolerance_runs_all_sweeps(self, rng):
        X = rng.standard_normal((30, 4))
        X[rng.random(X.shape) < 0.4] = np.nan
        imputer = IGHImputer(
            Gaussian(MedianDistance(0.7)), solver=Ridge(1e-3), tol=0, max_sweeps=120, random_state=0
        )
        assert imputer.fit(X).n_sweeps_ == 120

    def test_ctrl_c_leaves_the_imputer_fitted_and_is_raised(self, damaged):
        calls = []

        def kernel(X, Y):
            calls.append(1)
            if len(calls) == 9:
                raise KeyboardInterrupt
            return Gaussian(2.0).gram(Y, X)

        imputer = IGHImputer(kernel, random_state=0)
        with pytest.raises(KeyboardInterrupt):
            imputer.fit(damaged)
        assert imputer.status_ is Status.INTERRUPTED
        assert imputer.n_sweeps_ == 1
        expected = IGHImputer(Gaussian(2.0), solver="spectral", random_state=0, max_sweeps=1).fit_transform(
            damaged
        )
        np.testing.assert_allclose(imputer.completed_, expected, atol=1e-8)

    def test_a_time_limit_too_short_for_a_sweep_gives_column_means(self, damaged):
        imputer = IGHImputer(random_state=0, time_limit=1e-9)
        with pytest.warns(UnfinishedWarning, match="column means: the time limit was reached"):
            filled = imputer.fit_transform(damaged)
        assert imputer.status_ is Status.TIME_LIMIT
        assert imputer.n_sweeps_ == 0
        means = np.broadcast_to(np.nanmean(damaged, axis=0), damaged.shape)
        np.testing.assert_allclose(filled[np.isnan(damaged)], means[np.isnan(damaged)])

    def test_only_verbose_prints_and_only_to_stderr(self, narrow, capsys):
        IGHImputer(random_state=0).fit(narrow)
        assert capsys.readouterr() == ("", "")
        IGHImputer(random_state=0, verbose=True, max_sweeps=2).fit(narrow)
        out, err = capsys.readouterr()
        assert out == ""
        lines = [line.split(":")[0] for line in err.splitlines()]
        assert lines == ["step 1, metric", "step 2, metric"]
        IGHImputer("gaussian", random_state=0, verbose=True, max_sweeps=2).fit(narrow)
        lines = [line.split(":")[0] for line in capsys.readouterr().err.splitlines()]
        steps = [line for line in lines if line.startswith("step")]
        assert steps
        assert lines[-len(steps) :] == steps == [f"step {i + 1}, sweep" for i in range(len(steps))]
        *screening, validation = lines[: -len(steps)]
        assert {line.split()[0] for line in screening} == {"trying"}
        assert validation.startswith("validation run on")


def test_pipeline_and_grid_search(damaged, curved):
    y = np.nan_to_num(curved[0][:, 3] ** 2)
    pipeline = make_pipeline(IGHImputer(random_state=0), RidgeRegression())
    grid = {
        "ighimputer__kernel": ["gaussian", Laplacian(MedianDistance(0.5))],
        "ighimputer__solver": [Ridge(1e-2), Ridge(1.0)],
    }
    search = GridSearchCV(pipeline, grid, cv=3, error_score="raise").fit(damaged, y)
    assert np.isfinite(search.best_score_)


class TestImpute:
    def test_arrays_and_lists(self, damaged, fitted):
        expected = fitted().completed_
        np.testing.assert_array_equal(manifill.impute(damaged, random_state=0), expected)
        np.testing.assert_array_equal(manifill.impute(damaged.tolist(), random_state=0), expected)

    def test_frames_come_back_as_frames(self, small):
        frame = pd.DataFrame(small, columns=list("abcdef"), index=range(100, 120))
        filled = manifill.impute(frame, random_state=0)
        assert isinstance(filled, pd.DataFrame)
        pd.testing.assert_index_equal(filled.index, frame.index)
        assert isinstance(manifill.impute(pl.from_pandas(frame)), pl.DataFrame)

    def test_unknown_option(self, damaged):
        with pytest.raises(TypeError, match="unexpected keyword argument 'sweeps'"):
            manifill.impute(damaged, sweeps=3)


class TestTables:
    def test_masked_arrays(self, damaged, fitted):
        masked = np.ma.masked_array(np.where(np.isnan(damaged), -999.0, damaged), mask=np.isnan(damaged))
        expected = fitted().completed_
        np.testing.assert_array_equal(IGHImputer(random_state=0).fit_transform(masked), expected)
        np.testing.assert_array_equal(manifill.impute(masked, random_state=0), expected)

    @pytest.mark.parametrize(
        "frame",
        [
            pd.DataFrame({"n": [1.0, 2.0], "when": pd.to_datetime(["2020-01-01", None])}),
            pd.DataFrame({"when": pd.to_datetime(["2020-01-01", None])}),
            pd.DataFrame({"when": pd.to_timedelta([1, None])}),
            pl.DataFrame({"when": [datetime.date(2020, 1, 1), None]}),
            pd.DataFrame({"when": [datetime.date(2020, 1, 1), None]}, dtype=object),
            pd.DataFrame({"when": [pd.NA, 1.0]}, dtype=object),
        ],
        ids=range(6),
    )
    def test_the_column_of_values_that_are_not_numbers_is_named(self, frame):
        with pytest.raises(InvalidInput, match=r"must be numbers; column 'when'"):
            IGHImputer().fit(frame)

    def test_arrays_of_dates_are_refused(self):
        dates = np.array([["2020-01-01", "NaT"]], dtype="M8[D]")
        with pytest.raises(InvalidInput, match="dates"):
            IGHImputer().fit(dates)
        with pytest.raises(InvalidInput, match="datetime64"):
            manifill.impute(dates)

    def test_integers_that_a_float_cannot_represent_are_refused(self):
        frame = pd.DataFrame({"id": [2**53 + 1, 2**53 + 3, 5], "f": [1.0, np.nan, 3.0]})
        with pytest.raises(InvalidInput, match="column 'id' is 9007199254740993 in row 0"):
            IGHImputer().fit(frame)
        assert manifill.impute(frame)["id"].tolist() == frame["id"].tolist()

    @pytest.mark.parametrize(
        "table",
        [
            pd.DataFrame({"x0": pd.array([2**60 + 1, 2, None], dtype="Int64"), "b": [1.0, 2.0, 3.0]}),
            pl.DataFrame({"x0": [2**60 + 1, None, 3], "b": [1, 2, 3]}),
            np.ma.masked_array([[2**60 + 1, 1], [2, 3], [3, 4]], mask=[[0, 0], [0, 1], [0, 0]]),
            [[2**60 + 1, 1], [2, 3], [None, 4]],
        ],
        ids=["pandas", "polars", "masked", "list"],
    )
    def test_large_integers_are_refused_in_tables_with_missing_values(self, table):
        with pytest.raises(InvalidInput, match="column 'x0' is 1152921504606846977 in row 0"):
            IGHImputer().fit(table)

    @pytest.mark.parametrize(
        "table",
        [
            [[10**400, 1], [2, 3], [None, 4]],
            [[np.datetime64("2020-01-01"), 1.0], [np.datetime64("2020-01-02"), None]],
            [[np.timedelta64(3, "D"), 1.0], [np.timedelta64("NaT"), None]],
        ],
    )
    def test_lists_with_values_that_are_not_numbers_are_refused(self, table):
        with pytest.raises(InvalidInput, match="must be numbers; column x0 is"):
            IGHImputer().fit(table)

    def test_masked_arrays_of_other_types(self, narrow):
        single = np.ma.masked_invalid(narrow.astype(np.float32))
        assert manifill.impute(single).dtype == np.float32
        dates = np.ma.masked_array(np.array([["2020"], ["2021"]], "M8[Y]"), mask=[[0], [1]])
        with pytest.raises(InvalidInput, match="dates"):
            IGHImputer().fit(dates)
        with pytest.raises(InvalidInput, match="not modelled"):
            manifill.impute(dates)

    def test_bounds_far_from_the_data_hold_without_divergence(self, rng):
        X = rng.normal(size=(20, 3))
        X[0, 0] = np.nan
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            imputer = IGHImputer(bounds=(1e5, 2e5), random_state=0).fit(X)
        assert imputer.completed_[0, 0] == 1e5
        assert imputer.transform(X)[0, 0] == 1e5
        assert imputer.status_ is not Status.DIVERGED

    def test_integer_column_names(self, small):
        frame = pd.DataFrame(small, columns=range(1, 7))
        filled = manifill.impute(frame, bounds={1: (7, 8)}, random_state=0)
        assert list(filled.columns) == list(range(1, 7))
        assert filled[1][np.isnan(small[:, 0])].between(7, 8).all()
        with pytest.raises(InvalidInput, match="bounds names unknown columns: 0"):
            manifill.impute(frame, bounds={0: (7, 8)})

    def test_a_table_without_observed_values(self):
        for keep in (False, True):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", EmptyColumnWarning)
                imputer = IGHImputer(keep_empty_features=keep).fit(np.full((3, 2), np.nan))
            assert imputer.transform([[1.0, np.nan]]).tolist() == ([[1.0, 0.0]] if keep else [[]])

    @pytest.mark.parametrize("solver", ["ridge", "spectral", "landmarks", "local"])
    def test_a_constant_column_missing_in_a_new_row_gets_its_value(self, solver, small):
        X = np.column_stack([small, np.full(len(small), 3.0)])
        imputer = IGHImputer(solver=solver, random_state=0, max_sweeps=1).fit(X)
        assert imputer.transform([[np.nan] * 5 + [1.0, np.nan]])[0, -1] == 3.0

    def test_a_polynomial_kernel_stays_finite_for_an_outlying_row(self, damaged):
        imputer = IGHImputer(Polynomial(5), random_state=0).fit(damaged)
        assert np.isfinite(imputer.transform([[1e300] + [np.nan] * 5])).all()

    def test_two_columns_with_a_block_schedule_predict_each_other(self, rng):
        x = rng.standard_normal(80)
        X = np.column_stack([x, x])
        X[::4, 0] = np.nan
        filled = IGHImputer("semilinear", method=Sweep(schedule="block"), random_state=0).fit_transform(X)
        assert np.abs(filled[::4, 0] - x[::4]).mean() < 0.1


def test_empty_columns(small):
    small[:, 1] = np.nan
    frame = pd.DataFrame(small, columns=list("abcdef"))
    with pytest.warns(EmptyColumnWarning, match=r"dropped.*\['b'\]"):
        dropped = IGHImputer(random_state=0).fit(frame)
    assert list(dropped.get_feature_names_out()) == list("acdef")
    assert dropped.transform(frame).shape == (20, 5)
    kept = IGHImputer(random_state=0, keep_empty_features=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        filled = kept.fit_transform(frame)
    assert (filled[:, 1] == 0).all()
    new = frame.iloc[:3].copy()
    new["b"] = [4.0, np.nan, 5.0]
    np.testing.assert_array_equal(kept.transform(new)[:, 1], [4.0, 0.0, 5.0])


def test_empty_columns_with_groups_start_and_bounds(small):
    small[:, 1] = np.nan
    with pytest.warns(EmptyColumnWarning):
        imputer = IGHImputer(
            groups=[[0, 1], [2, 3]],
            method=Sweep(start=np.ones((20, 6))),
            bounds=[(-1, 1)] * 6,
            random_state=0,
        ).fit(small)
    assert np.isfinite(imputer.transform(small)).all()


@pytest.mark.parametrize(
    "X",
    [
        pytest.param([[1.0, 2.0, 3.0]], id="one row"),
        pytest.param([[1.0], [np.nan], [3.0]], id="one column"),
        pytest.param([[np.nan, 1.0], [1.0, np.nan]], id="two by two"),
        pytest.param([[1.0, 2.0]] * 5 + [[1.0, np.nan]] * 5, id="duplicated rows"),
        pytest.param([[1e-12, 1e12], [2e-12, np.nan], [np.nan, 3e12], [4e-12, 4e12]], id="wild scales"),
        pytest.param([[1e308, -1e308], [-1e308, np.nan], [np.nan, 1e308], [1e307, 0]], id="near overflow"),
        pytest.param([[1e-310, 1.0], [2e-310, np.nan], [np.nan, 2.0], [3e-310, 3.0]], id="subnormal"),
        pytest.param([[5.0, 1.0], [5.0, np.nan], [np.nan, 2.0]], id="constant column"),
        pytest.param([[np.nan, np.nan], [1.0, 2.0], [3.0, np.nan]], id="empty row"),
        pytest.param([[np.nan, 1.0], [np.nan, 2.0], [7.0, 3.0]], id="single observed"),
        pytest.param([[0.0, 0.0], [0.0, np.nan]], id="zeros"),
        pytest.param([[1 + 1e-16, 1.0], [1.0 + 2.3e-16, np.nan], [np.nan, 2.0]], id="nearly constant"),
    ],
)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"kernel": "gaussian", "solver": "spectral"},
        {"kernel": "self_tuning"},
        {"kernel": "cosine"},
        {"method": Sweep(schedule=5)},
    ],
    ids=str,
)
def test_odd_tables_give_finite_results_and_no_warnings(X, options):
    X = np.array(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        imputer = IGHImputer(random_state=0, **options)
        filled = imputer.fit_transform(X)
        again = imputer.transform(X)
    for result in (filled, again):
        assert np.isfinite(result).all()
        assert result[~np.isnan(X)].tobytes() == X[~np.isnan(X)].tobytes()


def test_constant_columns_get_their_value_and_empty_rows_the_mean():
    X = np.array([[5.0, 0.1, 1.0], [5.0, np.nan, 2.0], [np.nan, 0.1, 4.0], [5.0, 0.1, np.nan], [np.nan] * 3])
    X = np.column_stack([X, [np.nan, np.nan, 7.7, np.nan, np.nan]])
    filled = IGHImputer(random_state=0, bounds=None).fit_transform(X)
    assert (filled[:, 0] == 5.0).all()
    assert (filled[:, 1] == 0.1).all()
    assert (filled[:, 3] == 7.7).all()
    assert filled[4, 2] == pytest.approx(7 / 3)


def test_99_percent_missing(rng):
    X = rng.standard_normal((300, 20))
    X[rng.random(X.shape) < 0.99] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", EmptyColumnWarning)
        assert np.isfinite(IGHImputer(random_state=0).fit_transform(X)).all()


class TestBadInput:
    @pytest.mark.parametrize(
        ("X", "message"),
        [
            ([[1.0, np.inf], [2.0, 3.0]], "column 'x1' contains infinity: inf in row 0"),
            ([["a", 1.0], [2.0, 3.0]], "column x0 is 'a' in row 0"),
            (pd.DataFrame({"age": [1.0, 2.0], "city": ["Ulm", "Rom"]}), "column 'city' is 'Ulm' in row 0"),
            (
                pd.DataFrame({"age": [1.0, -np.inf], "w": [1.0, 2.0]}),
                "column 'age' contains infinity: -inf in row 1",
            ),
            ([1.0, 2.0], "Expected 2D array"),
            (np.zeros((2, 2, 2)), "dim 3"),
            (np.empty((0, 3)), "0 sample"),
            (np.empty((3, 0)), "0 feature"),
            (np.array([[1 + 2j]]), "Complex"),
        ],
    )
    def test_invalid_tables_are_refused(self, X, message):
        with pytest.raises(ValueError, match=message):
            IGHImputer().fit(X)

    def test_a_wrong_number_of_columns_at_transform_is_refused(self, damaged, fitted):
        with pytest.raises(ValueError, match="X has 5 features, but IGHImputer is expecting 6"):
            fitted().transform(damaged[:, :5])

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"kernel": "gauss"}, "kernel must be one of 'auto', 'gaussian'.*got 'gauss'"),
            ({"kernel": 3}, "kernel must be.*got 3 of type int"),
            ({"kernel": Gaussian}, "kernel must be"),
            ({"kernel": "precomputed"}, "no columns to leave out"),
            ({"kernel": SelfTuning(), "solver": "ridge"}, r"SelfTuning\(k=7\)"),
            ({"solver": "cholesky"}, "solver must be one of.*got 'cholesky'"),
            ({"solver": None}, "solver must be"),
            ({"method": Sweep(schedule="blocks")}, "schedule must be"),
            ({"method": Sweep(schedule=0)}, "schedule must be"),
            ({"method": Sweep(start="zero")}, "start must be one of"),
            ({"method": Sweep(start=None)}, "start must be"),
            ({"method": Sweep(start=np.zeros((2, 2)))}, "start must have the shape of X"),
            ({"method": Sweep(order="up")}, "order must be one of"),
            ({"method": Sweep(order=Schedule)}, "order must be"),
            ({"solver": Ridge}, "solver must be"),
            ({"method": Sweep(start="a table")}, "start must be one of"),
            ({"method": Sweep(start=[["a"]])}, "start must be"),
            ({"method": Sweep(start=np.full((60, 6), np.nan))}, "column 'x[0-9]' is nan in row"),
            ({"add_indicator": "no"}, "add_indicator must be True or False"),
            ({"keep_empty_features": 3}, "keep_empty_features must be True or False"),
            ({"kernel": "Gaussian"}, "Did you mean 'gaussian'"),
            ({"max_sweeps": 0}, "max_sweeps must be a whole number ≥ 1; got 0"),
            ({"max_sweeps": 2.5}, "max_sweeps must be a whole number"),
            ({"tol": -1}, "tol must be a finite number ≥ 0; got -1"),
            ({"tol": "small"}, "tol must be"),
            ({"time_limit": 0}, "time_limit must be a finite number > 0"),
            ({"bounds": {"age": (0, 1)}}, "bounds names an unknown column: 'age'"),
            ({"bounds": {0: (1, 0)}}, "bounds of column 'x0'.*lowest ≤ highest"),
            ({"bounds": {0: 3}}, "bounds of column 'x0'"),
            ({"bounds": "tight"}, "bounds of column 'x0'"),
            ({"bounds": [(0, 1)]}, "bounds must be"),
            ({"groups": [["a"]]}, "groups names an unknown column: 'a'"),
            ({"groups": "ab"}, "groups must be a list of lists"),
            ({"groups": 5}, "groups must be a list of lists"),
            ({"bounds": (np.inf, np.inf)}, "bounds of column 'x0'"),
            ({"bounds": {0: "12"}}, "bounds of column 'x0'"),
            ({"bounds": np.array(3)}, "bounds must be"),
            ({"max_sweeps": 10**400}, "max_sweeps must be"),
            ({"tol": True}, "tol must be"),
            ({"groups": [[0, 1], [1, 2]]}, "each at most once"),
            ({"random_state": "dice"}, "random_state must be"),
            ({"random_state": -1}, "random_state must be"),
        ],
        ids=str,
    )
    def test_invalid_parameters_are_refused(self, options, message, damaged):
        with pytest.raises(InvalidInput, match=message):
            IGHImputer(**options).fit(damaged)
