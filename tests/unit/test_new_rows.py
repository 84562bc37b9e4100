"""Intervals, deviations and probabilities of new rows, of fitted imputers and of loaded ones."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from manifill import IGHImputer, TableImputer
from manifill._problem import Problem
from manifill._validation.holdout import distance_bins, distance_bins_of_new_rows
from manifill.errors import InvalidInput


def mixed(n, seed):
    """A table of all kinds of columns, and the same with 30 % missing values."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, 2))
    noise = rng.standard_normal((n, 4))
    truth = pd.DataFrame(
        {
            "a": z[:, 0] + 0.3 * noise[:, 0],
            "b": 3 * z[:, 1] + z[:, 0] + 0.5 * noise[:, 1],
            "i": np.round(10 + 3 * z[:, 1]).astype(int),
            "k": np.where(z[:, 0] + 0.3 * noise[:, 2] > 0, "hi", "lo"),
            "f": z[:, 1] > 0,
            "d": pd.Timestamp("2026-01-01") + pd.to_timedelta(np.round(30 * z[:, 0] + 5 * noise[:, 3]), "D"),
        }
    )
    return truth, truth.mask(rng.random(truth.shape) < 0.3)


@pytest.fixture(scope="module")
def imputers(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "m.model"
    fitted = TableImputer(random_state=0).fit(mixed(300, 0)[1])
    fitted.save(path)
    return fitted, TableImputer.load(path)


def test_a_loaded_model_gives_the_same_to_the_bit(imputers):
    fitted, loaded = imputers
    _, new = mixed(200, 1)
    for one, other in zip(fitted.intervals(0.8, new), loaded.intervals(0.8, new), strict=True):
        pd.testing.assert_frame_equal(one, other, check_exact=True)
    pd.testing.assert_frame_equal(fitted.deviations(new), loaded.deviations(new), check_exact=True)
    for name in ("k", "f"):
        one, other = (imputer.probabilities(name, new) for imputer in imputers)
        pd.testing.assert_frame_equal(one, other, check_exact=True)
    assert fitted.accuracy_ == loaded.accuracy_


def test_intervals_and_deviations_of_new_rows_are_as_large_as_the_errors(imputers):
    _, loaded = imputers
    truth, new = mixed(1500, 2)
    low, high = loaded.intervals(0.9, new)
    deviations, filled = loaded.deviations(new), loaded.transform(new)
    for name in ("a", "b", "d"):
        missing = new[name].isna()
        covered = ((truth[name] >= low[name]) & (truth[name] <= high[name]))[missing].mean()
        assert 0.85 < covered < (0.98 if name == "d" else 0.96), (
            name
        )  # intervals of days are rounded outwards
        if name != "d":
            error = np.sqrt(((filled[name] - truth[name])[missing].astype(float) ** 2).mean())
            claimed = np.sqrt((deviations[name][missing] ** 2).mean())
            assert 0.8 < claimed / error < 1.25, name
        pd.testing.assert_series_equal(low[name][~missing], new[name][~missing])
        assert (deviations[name][~missing] == 0).all()
    assert (low["i"] == low["i"].round()).all()
    wrong = (filled["k"] != truth["k"])[new["k"].isna()].mean()
    assert abs(wrong - deviations["k"][new["k"].isna()].mean()) < 0.06


def test_a_new_row_of_which_nothing_is_known_has_the_distribution_of_the_columns(imputers):
    fitted, loaded = imputers
    empty = mixed(1, 0)[0].astype(object).mask(np.ones((1, 6), bool))
    low, high = loaded.intervals(0.9, empty)
    observed = fitted._table.completed({})["b"]
    assert low["b"][0] == np.nanquantile(observed, 0.05, method="lower")
    assert high["b"][0] == np.nanquantile(observed, 0.95, method="higher")
    assert loaded.deviations(empty)["b"][0] == pytest.approx(observed.std())
    assert loaded.probabilities("k", empty).iloc[0].sum() == pytest.approx(1)


@pytest.mark.parametrize("kind", [pl.DataFrame, pa.table])
@pytest.mark.parametrize("missing", ["a", "i", "k", "f", "d"])
def test_polars_and_arrow_rows_with_a_column_without_values(imputers, kind, missing):
    row = {"a": 0.5, "b": 1.0, "i": 10, "k": "hi", "f": True, "d": pd.Timestamp("2026-01-05")}
    table = kind({name: [None if name == missing else value] for name, value in row.items()})
    for imputer in imputers:
        low, _ = imputer.intervals(0.9, table)
        assert type(low) is type(table)
        (value,) = low[missing].to_list() if kind is pl.DataFrame else low[missing].to_pylist()
        assert (value is None) == (missing in "kf")
        assert imputer.transform(table)[missing].null_count() == 0 if kind is pl.DataFrame else True
        assert imputer.deviations(table).shape == (1, 6)


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA])
@pytest.mark.parametrize("name", ["a", "i", "k", "f", "d"])
def test_pandas_rows_with_a_column_without_values(imputers, name, missing):
    row = {"a": 0.5, "b": 1.0, "i": 10, "k": "hi", "f": True, "d": pd.Timestamp("2026-01-05")}
    frame = pd.DataFrame([{**row, name: missing}])
    for imputer in imputers:
        assert not imputer.transform(frame).isna().any().any()
        assert imputer.intervals(0.9, frame)[0][name].isna()[0] == (name in "kf")


def test_rows_are_needed_after_loading(imputers):
    _, loaded = imputers
    for call in (loaded.intervals, loaded.deviations, lambda: loaded.probabilities("k"), loaded.draws):
        with pytest.raises(InvalidInput, match="Give it new rows X"):
            call()
    none = mixed(3, 0)[1].iloc[:0]
    assert len(loaded.intervals(0.9, none)[0]) == len(loaded.deviations(none)) == 0


def test_loaded_model_of_rows_in_time_gives_the_same_to_the_bit(tmp_path):
    rng = np.random.default_rng(0)
    walk = np.cumsum(rng.standard_normal((300, 2)), axis=0)
    frame = pd.DataFrame({"t": np.arange(300.0), "x": walk[:, 0], "y": walk[:, 1]})
    frame[["x", "y"]] = frame[["x", "y"]].mask(rng.random((300, 2)) < 0.2)
    imputer = TableImputer(time="t", random_state=0).fit(frame.drop(index=range(100, 200, 10)))
    imputer.save(tmp_path / "m")
    new = pd.DataFrame({"t": np.arange(100.0, 200, 10), "x": np.nan, "y": walk[100:200:10, 1]})
    low, high = imputer.intervals(0.9, new)
    for one, other in zip((low, high), TableImputer.load(tmp_path / "m").intervals(0.9, new), strict=True):
        pd.testing.assert_frame_equal(one, other, check_exact=True)
    assert ((low["x"] < walk[100:200:10, 0]) & (walk[100:200:10, 0] < high["x"])).mean() >= 0.7
    assert (high["x"] - low["x"]).max() < 2 * walk[:, 0].std()


def test_new_rows_have_the_distances_to_known_entries_of_rows_between_the_fitted_ones():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((80, 3)) < 0.6, np.nan, rng.standard_normal((80, 3)))
    X[20] = X[50] = X[79] = np.nan
    times = np.arange(80.0)
    everything, new = Problem.of(X, moments=times), np.array([20, 50, 79])
    fitted = Problem.of(np.delete(X, new, axis=0), moments=np.delete(times, new))
    expected = distance_bins(everything, everything.M, everything.M)[new]
    found = distance_bins_of_new_rows(fitted, np.ones((3, 3), bool), times[new])
    np.testing.assert_array_equal(found, expected)


def test_arrays_of_new_rows():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((300, 1))
    X = x * [1, 2, -1] + 0.2 * rng.standard_normal((300, 3))
    imputer = IGHImputer(random_state=0).fit(X[:200])  # nothing is missing in the rows of the fit
    new = X[200:].copy()
    new[:, 1] = np.nan
    low, high = imputer.intervals(0.9, new)
    np.testing.assert_array_equal(low[:, [0, 2]], X[200:, [0, 2]])
    assert 0.8 < ((low <= X[200:]) & (X[200:] <= high))[:, 1].mean() <= 1
    assert (high - low)[:, 1].max() < 2 * X[:, 1].std()
