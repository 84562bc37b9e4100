"""Properties of `IGHImputer` in every configuration: tuned or not, with times, a layout, a time limit."""

import re
import time
import warnings

import numpy as np
import pandas as pd
import pytest

from manifill import IGHImputer
from manifill._fillers import Status
from manifill._validation import Accuracy
from manifill.errors import EmptyColumnWarning, InvalidInput, UnfinishedWarning
from manifill.layouts import Grid, Learned

N = 24
UNEVEN = np.cumsum(np.random.default_rng(5).exponential(size=N))
CONFIGURATIONS = {
    "default": {},
    "given": {"kernel": "gaussian", "solver": "ridge"},
    "grid": {"layout": Grid(2, 3)},
    "grid, kernel given": {"layout": Grid(2, 3), "kernel": "gaussian"},
    "learned": {"layout": Learned()},
    "even times": {"times": "even"},
    "uneven times": {"times": UNEVEN[np.random.default_rng(6).permutation(N)]},
    "times, given": {"times": "even", "kernel": "gaussian", "solver": "ridge"},
    "times and grid": {"times": UNEVEN, "layout": Grid(2, 3)},
    "nothing missing": {},
    "nothing missing, times": {"times": "even"},
    "nothing missing, grid": {"layout": Grid(2, 3)},
    "time limit": {"time_limit": 1e-9},
    "time limit, times": {"time_limit": 1e-9, "times": UNEVEN},
    "time limit, grid": {"time_limit": 1e-9, "layout": Grid(2, 3)},
}
ATTRIBUTES = sorted(
    {
        name
        for line in IGHImputer.__doc__.split("    Attributes\n")[1].split("    Notes\n")[0].splitlines()
        if re.match(r"    \w", line)
        for name in line.split(" : ")[0].strip().split(", ")
    }
)


def frame(missing=True, empty_column=False):
    """24 noisy points on a curve in six dimensions, 20 % missing."""
    rng = np.random.default_rng(0)
    t = np.linspace(0, 4, N)
    X = np.sin(np.outer(t, [1.0, 1.3, 1.6, 2.0, 0.7, 0.4])) + 0.05 * rng.standard_normal((N, 6))
    if missing:
        X[rng.random(X.shape) < 0.2] = np.nan
    if empty_column:
        X[:, 4] = np.nan
    return pd.DataFrame(X, columns=list("abcdef"), index=[f"row {i}" for i in range(N)])


@pytest.fixture(scope="module", params=CONFIGURATIONS)
def fitted(request):
    """Name of the configuration, an imputer fitted with it, and the fills that `iter_fit` yielded."""
    imputer = IGHImputer(random_state=0, **CONFIGURATIONS[request.param])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnfinishedWarning)
        fills = list(imputer.iter_fit(frame(missing="nothing" not in request.param)))
    return request.param, imputer, fills


class TestAttributes:
    def test_the_docstring_lists_the_fitted_attributes(self):
        assert len(ATTRIBUTES) >= 17
        assert all(name.endswith("_") for name in ATTRIBUTES)

    def test_all_listed_attributes_exist(self, fitted):
        assert [name for name in ATTRIBUTES if not hasattr(fitted[1], name)] == []

    def test_all_fitted_attributes_are_listed(self, fitted):
        found = {name for name in vars(fitted[1]) if name.endswith("_") and not name.startswith("_")}
        assert found <= set(ATTRIBUTES)

    def test_attributes_have_the_documented_types_and_values(self, fitted):
        _, imputer, _ = fitted
        assert np.isfinite(imputer.completed_).all()
        assert isinstance(imputer.accuracy_, Accuracy)
        assert [one.column for one in imputer.accuracy_] == list("abcdef")
        assert str(imputer.accuracy_).count("\n") == 7
        assert len(pd.DataFrame(imputer.accuracy_)) == 6
        assert all(isinstance(name, str) and weight >= 0 for name, weight in imputer.weights_.items())
        assert imputer.kernel_ in [component.kernel for component in imputer.ensemble_.components]
        assert imputer.solver_ in [component.solver for component in imputer.ensemble_.components]
        assert type(imputer.kernel_).__name__ in str(imputer.ensemble_)
        assert type(imputer.solver_).__name__ in str(imputer.solver_)
        assert imputer.schedule_.columns >= 1
        assert imputer.n_sweeps_ == imputer.trace_[-1].sweep
        assert len(pd.DataFrame(imputer.trace_)) == len(imputer.trace_)
        assert isinstance(imputer.status_, Status)
        assert imputer.errors_.expected.shape == (N, 6)
        assert np.isfinite(imputer.errors_.expected).all()
        assert imputer.indicator_ is None
        assert imputer.n_features_in_ == 6
        assert list(imputer.feature_names_in_) == list("abcdef")

    def test_tuning_is_none_if_nothing_was_tuned(self, fitted):
        configuration, imputer, _ = fitted
        if configuration in ("learned", "even times", "uneven times"):
            assert imputer.tuning_.trials
        if "given" in configuration or configuration in ("grid", "times and grid", "nothing missing, grid"):
            assert imputer.tuning_ is None or configuration == "grid, kernel given"

    def test_status(self, fitted):
        configuration, imputer, _ = fitted
        if "nothing" in configuration:
            assert imputer.status_ is Status.NOTHING_MISSING
        elif "limit" in configuration:
            assert imputer.status_ is Status.TIME_LIMIT
        elif configuration in ("default", "given"):
            assert imputer.status_ in (Status.SETTLED, Status.SWEEP_LIMIT, Status.PLATEAU)
        else:
            assert imputer.status_ is Status.BLENDED
            assert sum(imputer.weights_.values()) <= 1 + 1e-6


class TestFills:
    def test_the_last_fill_is_the_result(self, fitted):
        _, imputer, fills = fitted
        np.testing.assert_array_equal(fills[-1].X, imputer.completed_)
        assert fills[-1].status is imputer.status_

    def test_every_fill_keeps_the_observed_values(self, fitted):
        configuration, _, fills = fitted
        X = frame(missing="nothing" not in configuration).to_numpy()
        for fill in fills:
            assert np.isfinite(fill.X).all()
            np.testing.assert_array_equal(fill.X[~np.isnan(X)], X[~np.isnan(X)])

    @pytest.mark.parametrize("configuration", CONFIGURATIONS)
    def test_the_last_fill_is_the_result_with_indicators_and_empty_columns(self, configuration):
        imputer = IGHImputer(
            random_state=0, add_indicator=True, keep_empty_features=True, **CONFIGURATIONS[configuration]
        )
        X = frame(missing="nothing" not in configuration, empty_column=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnfinishedWarning)
            *_, last = imputer.iter_fit(X)
        np.testing.assert_array_equal(last.X, imputer.completed_)
        incomplete = int(X.isna().any().sum())
        assert imputer.completed_.shape == (N, 6 + incomplete)
        assert np.isfinite(imputer.completed_).all()
        np.testing.assert_array_equal(imputer.completed_[:, 6:], X.loc[:, X.isna().any()].isna())
        if "grid" not in configuration:
            assert (imputer.completed_[:, 4] == 0).all()

    def test_empty_columns_are_dropped_unless_they_are_kept(self):
        for options, width in (({}, 5), ({"times": "even"}, 5), ({"layout": Grid(2, 3)}, 6)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", EmptyColumnWarning)
                imputer = IGHImputer(random_state=0, **options).fit(frame(empty_column=True))
            assert imputer.completed_.shape == (N, width)
            assert len(imputer.get_feature_names_out()) == width


class TestDraws:
    def test_draws_are_a_list_of_completed_tables(self, fitted):
        configuration, imputer, _ = fitted
        tables = imputer.draws(2)
        assert isinstance(tables, list)
        assert len(tables) == 2
        X = frame(missing="nothing" not in configuration).to_numpy()
        for table in tables:
            assert np.isfinite(table).all()
            np.testing.assert_array_equal(table[~np.isnan(X)], X[~np.isnan(X)])
        for one, other in zip(tables, imputer.draws(2), strict=True):
            np.testing.assert_array_equal(one, other)  # the default seed is that of the imputer
        if np.isnan(X).any():
            assert not np.array_equal(tables[0], tables[1])
            assert not np.array_equal(tables[0], imputer.draws(1, random_state=7)[0])

    @pytest.mark.parametrize("m", [0, -1, 2.5, None])
    def test_invalid_numbers_of_draws_are_refused(self, m, fitted):
        with pytest.raises(InvalidInput, match="m must be a whole number ≥ 1"):
            fitted[1].draws(m)

    def test_intervals_contain_the_fill(self, fitted):
        _, imputer, _ = fitted
        low, high = imputer.intervals()
        assert (low <= imputer.completed_).all()
        assert (high >= imputer.completed_).all()

    def test_pixels_of_a_grid_share_their_range(self):
        """A pixel without negative known values gets negative fills, like the other pixels."""
        rng = np.random.default_rng(0)
        X = rng.normal(-1, 0.3, (40, 1)) + 0.1 * rng.standard_normal((40, 6))
        X[:, 5] = np.where(np.arange(40) < 35, np.nan, 0.01)
        imputer = IGHImputer(layout=Grid(1, 6), random_state=0).fit(X)
        assert imputer.completed_[:35, 5].max() < 0
        low, high = imputer.intervals()
        assert (low <= imputer.completed_).all()
        assert (high >= imputer.completed_).all()
        drawn = np.mean([table[:35, 5] for table in imputer.draws(20)], axis=0)
        assert np.abs(drawn - imputer.completed_[:35, 5]).mean() < 0.2

    def test_draws_of_an_interrupted_blend_agree_with_its_intervals(self):
        """Random walks are predictable from time only; draws from a kernel of rows miss the intervals."""
        rng = np.random.default_rng(0)
        X = np.cumsum(rng.standard_normal((150, 5)), axis=0)
        X[rng.random(X.shape) < 0.2] = np.nan
        imputer = IGHImputer(times="even", random_state=0)
        for fill in imputer.iter_fit(X):
            if fill.sweep == 1:
                break
        assert imputer.status_ is Status.INTERRUPTED
        low, high = imputer.intervals(0.9)
        inside = [((table >= low) & (table <= high))[np.isnan(X)].mean() for table in imputer.draws(20)]
        assert np.mean(inside) == pytest.approx(0.9, abs=0.06)


class TestOutput:
    def test_feature_names(self, fitted):
        assert list(fitted[1].get_feature_names_out()) == list("abcdef")
        assert list(fitted[1].get_feature_names_out(list("abcdef"))) == list("abcdef")

    @pytest.mark.parametrize("configuration", CONFIGURATIONS)
    def test_pandas(self, configuration):
        X = frame(missing="nothing" not in configuration)
        imputer = IGHImputer(random_state=0, **CONFIGURATIONS[configuration]).set_output(transform="pandas")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnfinishedWarning)
            filled = imputer.fit_transform(X)
        new = imputer.transform(X.iloc[:3])
        for table, index in ((filled, X.index), (new, X.index[:3])):
            assert isinstance(table, pd.DataFrame)
            assert list(table.columns) == list("abcdef")
            pd.testing.assert_index_equal(table.index, index)
            assert not table.isna().any().any()

    def test_new_rows_are_filled(self, fitted):
        new = np.array([[0.5, np.nan, 0.1, np.nan, 0.2, np.nan], [np.nan] * 6])
        filled = fitted[1].transform(pd.DataFrame(new, columns=list("abcdef")))
        assert np.isfinite(filled).all()
        np.testing.assert_array_equal(filled[0, [0, 2, 4]], [0.5, 0.1, 0.2])


class TestTimes:
    @pytest.mark.parametrize("layout", [None, Grid(2, 3)], ids=str)
    @pytest.mark.parametrize("moments", [np.arange(N) / 7, UNEVEN], ids=["even", "uneven"])
    def test_the_result_does_not_depend_on_the_order_of_the_rows(self, moments, layout):
        X = frame().to_numpy()
        order = np.random.default_rng(3).permutation(N)

        def fill(which):
            imputer = IGHImputer(times=moments[which], layout=layout, random_state=0)
            return imputer.fit_transform(X[which])

        np.testing.assert_allclose(fill(order), fill(np.arange(N))[order], rtol=0, atol=1e-8)

    def test_even_equals_evenly_spaced_numbers(self):
        X = frame().to_numpy()
        option, numbers = (
            IGHImputer(times=times, random_state=0).fit_transform(X)
            for times in ("even", 5 + 3 * np.arange(N))
        )
        np.testing.assert_allclose(option, numbers, rtol=0, atol=1e-8)

    def test_dates_equal_numbers_of_days(self):
        X = frame().to_numpy()
        days = np.cumsum(np.random.default_rng(2).integers(1, 9, N))
        numbers, dates = (
            IGHImputer(times=times, random_state=0).fit_transform(X)
            for times in (days, np.datetime64("2024-02-27") + days)
        )
        np.testing.assert_allclose(numbers, dates, rtol=0, atol=1e-8)

    @pytest.mark.parametrize(
        ("times", "message"),
        [
            ("uneven", "times must be None, 'even', or one number or date per row"),
            (np.arange(5), "one finite number or date for each of the 24 rows"),
            (np.where(np.arange(N) == 3, np.nan, np.arange(N)), "with 1 missing or infinite"),
            ([object()] * N, "times must be"),
        ],
        ids=range(4),
    )
    def test_invalid_times_are_refused(self, times, message):
        with pytest.raises(InvalidInput, match=message):
            IGHImputer(times=times).fit(frame())


def test_a_time_limit_is_kept_with_times():
    """Without a time limit this fit takes many seconds."""
    rng = np.random.default_rng(0)
    t = np.linspace(0, 30, 700)
    X = np.sin(np.outer(t, np.linspace(0.5, 2, 16))) + 0.1 * rng.standard_normal((700, 16))
    X[rng.random(X.shape) < 0.3] = np.nan
    began = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnfinishedWarning)
        imputer = IGHImputer(times="even", time_limit=0.5, random_state=0).fit(X)
    assert time.monotonic() - began < 3
    assert np.isfinite(imputer.completed_).all()
