"""Medians instead of means."""

import numpy as np
import pandas as pd
import pytest

from manifill import IGHImputer, TableImputer
from manifill.errors import InvalidInput


def skewed(n=600, seed=0):
    """The last column is the sine of the first, plus an error that is usually small and rarely large."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 3))
    return np.column_stack([X, np.sin(X[:, 0]) + 0.3 * rng.lognormal(0, 1.2, n)])


X = skewed()
M = np.random.default_rng(1).random(X.shape) < 0.2


def fitted(estimate, **given):
    return IGHImputer(estimate=estimate, effort="fast", random_state=0, **given).fit(np.where(M, np.nan, X))


@pytest.fixture(scope="module")
def both():
    return fitted("mean"), fitted("median")


def errors(filled, truth=X, missing=M):
    wrong = (filled - truth)[:, 3][missing[:, 3]]
    return np.abs(wrong).mean(), np.sqrt((wrong**2).mean())


def test_absolute_errors_are_smaller_and_squared_errors_larger(both):
    mean, median = (errors(one.completed_) for one in both)
    assert median[0] < 0.97 * mean[0]
    assert median[1] > mean[1]


def test_known_values_and_the_observed_range_are_kept(both):
    filled = both[1].completed_
    np.testing.assert_array_equal(filled[~M], X[~M])
    observed = np.where(M, np.nan, X)
    assert (filled >= np.nanmin(observed, axis=0)).all()
    assert (filled <= np.nanmax(observed, axis=0)).all()


def test_accuracy_is_that_of_the_medians(both):
    claimed = [one.accuracy_[3].error for one in both]
    true = [errors(one.completed_)[1] for one in both]
    assert claimed[1] / claimed[0] == pytest.approx(true[1] / true[0], rel=0.1)
    assert claimed[1] > claimed[0]


def test_intervals_and_draws_are_the_same(both):
    for one, other in zip(*(one.intervals(0.9) for one in both), strict=True):
        np.testing.assert_array_equal(one, other)
    one, other = (imputer.draws(1)[0] for imputer in both)
    np.testing.assert_array_equal(one, other)


def test_new_rows_are_filled_with_medians_too(both):
    new = skewed(300, 7)
    hidden = np.where(np.arange(4) == 3, np.nan, new)
    mean, median = (errors(one.transform(hidden), new, np.isnan(hidden)) for one in both)
    assert median[0] < 0.93 * mean[0]
    np.testing.assert_allclose(both[1].transform(np.where(M, np.nan, X)), both[1].completed_, atol=1e-9)


def test_fills_of_a_given_kernel_are_shifted_too():
    mean, median = (
        errors(fitted(one, kernel="laplacian", solver="ridge").completed_) for one in ("mean", "median")
    )
    assert median[0] < mean[0]


def test_a_saved_model_keeps_it(tmp_path):
    frame = pd.DataFrame(np.where(M, np.nan, X), columns=list("abcd"))
    imputer = TableImputer(estimate="median", effort="fast", random_state=0).fit(frame)
    imputer.save(tmp_path / "x.model")
    loaded = TableImputer.load(tmp_path / "x.model")
    new = frame.iloc[:20]
    pd.testing.assert_frame_equal(loaded.transform(new), imputer.transform(new), check_exact=True)
    assert loaded.accuracy_ == imputer.accuracy_


def test_categories_are_the_same():
    frame = pd.DataFrame(np.where(M, np.nan, X)[:, [0, 3]], columns=["x", "y"])
    frame["kind"] = np.where(X[:, 0] > 0, "u", "v")
    frame.loc[::7, "kind"] = None
    frame["flag"] = X[:, 0] > 0
    frame["flag"] = frame["flag"].astype("boolean").mask(frame.index % 11 == 0)
    one, other = (
        TableImputer(estimate=e, effort="fast", random_state=0).fit_transform(frame)
        for e in ("mean", "median")
    )
    assert (one["kind"] == other["kind"]).all()
    assert (one["flag"] == other["flag"]).all()
    assert (one["y"] != other["y"]).any()


def test_columns_filled_by_their_mean_get_their_median():
    rng = np.random.default_rng(0)
    noise = rng.lognormal(0, 1, (300, 3))
    noise[:60, 0] = np.nan
    filled = IGHImputer(estimate="median", random_state=0).fit_transform(noise)
    assert filled[:60, 0] == pytest.approx(np.full(60, np.nanmedian(noise[:, 0])), rel=0.02)


@pytest.mark.parametrize("estimate", ["mode", None, 3])
def test_others_are_refused(estimate):
    with pytest.raises(InvalidInput, match="estimate must be 'mean' or 'median'"):
        IGHImputer(estimate=estimate).fit(X)
