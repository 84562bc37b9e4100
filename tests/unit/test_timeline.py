"""What columns are before and after, as columns to compare rows by."""

import numpy as np
import pytest

from manifill import IGHImputer
from manifill.errors import InvalidInput
from manifill.geometry import Learned, Line
from manifill.geometry import restoring as restoring_module
from manifill.geometry import windows as windows_module
from manifill.metrics import rmse
from manifill._fillers.lags import Timeline


def walks(n: int = 200, d: int = 3, rate: float = 0.3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Random walks, and the same with holes."""
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal((n, d)).cumsum(axis=0)
    return truth, np.where(rng.random(truth.shape) < rate, np.nan, truth)


class TestCompanions:
    def test_a_value_has_no_part_in_its_own_companion(self):
        """But for the scale of the column, and what its weights learn of one value in a hundred."""
        _, X = walks()
        i = int(np.flatnonzero(~np.isnan(X[:, 0]))[50])
        changed = X.copy()
        changed[i, 0] += 1e-6
        moved = Timeline(changed, np.arange(200.0)).companions() - Timeline(X, np.arange(200.0)).companions()
        assert abs(moved[i, 0]) < 0.1 * np.abs(moved[:, 0]).max()

    def test_order_and_unit_of_moments_do_not_matter(self):
        _, X = walks()
        once = Timeline(X, np.arange(200.0)).companions(wide=True)
        order = np.random.default_rng(1).permutation(200)
        other = Timeline(X[order], 3600.0 * order - 1e6).companions(wide=True)
        np.testing.assert_allclose(other, once[order], atol=1e-9)
        assert once.shape == (200, 9)

    def test_the_order_of_rows_of_one_moment_does_not_matter(self):
        _, X = walks()
        moments = np.repeat(np.arange(50.0), 4)
        within = np.concatenate([4 * i + np.random.default_rng(i).permutation(4) for i in range(50)])
        found = Timeline(X, moments).companions(wide=True)
        np.testing.assert_allclose(
            Timeline(X[within], moments).companions(wide=True), found[within], atol=1e-9
        )
        assert (Timeline(X, np.zeros(200)).companions() == 0).all()  # one moment tells nothing

    def test_means_do_not_tell_the_value_that_is_left_out(self):
        """A mean of all others would be the value itself with another sign."""
        told = []
        for seed in range(30):
            X = np.random.default_rng(seed).standard_normal((60, 1))
            X[::6] = np.nan
            found = Timeline(X, np.arange(60.0)).companions(wide=True)[~np.isnan(X[:, 0])]
            told.append([np.corrcoef(one, X[~np.isnan(X)])[0, 1] for one in found.T])
        assert (np.abs(np.mean(told, axis=0)) < 0.2).all()

    @pytest.mark.parametrize("unit", [1e-200, 1e300])
    def test_units_of_columns_do_not_matter(self, unit):
        _, X = walks()
        once, other = (Timeline(some, np.arange(200.0)).companions() for some in (X, X * unit))
        np.testing.assert_allclose(other, once, rtol=1e-6, atol=1e-9)

    def test_other_rows_get_what_missing_ones_get(self):
        _, X = walks()
        timeline = Timeline(X, np.arange(200.0))
        own, at = timeline.companions(), timeline.at(np.arange(200.0))
        np.testing.assert_array_equal(at[np.isnan(X)], own[np.isnan(X)])

    def test_gaps_of_known_values_are_like_those_of_missing_ones(self):
        """In the middle of long gaps time tells nothing, so hardly anything may be learned from it."""
        rng = np.random.default_rng(3)
        X = np.sin(0.3 * rng.standard_normal((4000, 1)).cumsum(axis=0))
        gone = np.zeros(4000, dtype=bool)
        for first in range(50, 4000, 400):
            gone[first : first + 200] = True
        scattered = rng.random(4000) < 0.2

        def learned(missing):
            known = np.where(missing[:, None], np.nan, X)
            companion = Timeline(known, np.arange(4000.0)).companions()[~missing, 0]
            return abs(np.corrcoef(companion, X[~missing, 0])[0, 1])

        assert learned(gone) < 0.5 < 0.8 < learned(scattered)

    def test_expected_is_a_fill(self):
        truth, X = walks(400)
        missing = np.isnan(X)
        assert rmse(truth, Timeline(X, np.arange(400.0)).expected(), missing) < 0.3 * truth.std()

    @pytest.mark.parametrize("column", [[np.nan] * 5, [2.0] * 5, [np.nan, 1.0, np.nan, np.nan, np.nan]])
    def test_next_to_nothing_known(self, column):
        found = Timeline(np.array(column)[:, None], np.zeros(5)).companions(wide=True)
        assert np.isfinite(found).all()


class TestContext:
    def test_columns_of_context_are_not_hidden(self):
        truth, X = walks(150, 4, seed=4)
        imputer = IGHImputer(n_context=2, random_state=0).fit(np.hstack([X, truth[:, :2]]))
        hidden = [one.hidden for one in imputer.accuracy_]
        assert min(hidden[:4]) > 0
        assert hidden[4:] == [0, 0]

    @pytest.mark.parametrize("n", [-1, 1.5, 3, "1"])
    def test_what_is_no_context(self, n):
        _, X = walks(30, 3)
        with pytest.raises((InvalidInput, TypeError), match="n_context"):
            IGHImputer(n_context=n).fit(X)

    def test_context_without_a_value_or_beside_a_geometry(self):
        truth, X = walks(40, 3)
        with pytest.raises(InvalidInput, match="n_context columns must be complete"):
            IGHImputer(n_context=1).fit(np.column_stack([X, np.full(40, np.nan)]))
        with pytest.raises(InvalidInput, match="n_context is for rows alone"):
            IGHImputer(n_context=1, rows=Line()).fit(truth)
        X[3:, 0] = np.nan
        few = IGHImputer(n_context=2, random_state=0).fit(np.column_stack([X[:, 0], truth[:, 1:]]))
        assert np.isfinite(few.completed_).all()


class TestLongTables:
    def test_rows_are_filled_in_parts_that_fade(self, monkeypatch):
        monkeypatch.setattr(restoring_module, "MOST_ROWS", 60)
        monkeypatch.setattr(windows_module, "_OVERLAP", 10)
        t = np.arange(260)[:, None] / 9
        truth = np.sin(t + np.arange(6)) + 0.2 * np.sin(3.1 * t)
        X = np.where(np.random.default_rng(0).random(truth.shape) < 0.3, np.nan, truth)
        imputer = IGHImputer(columns=Learned(), rows=Line(), random_state=0).fit(X)
        assert len(imputer.restored_.parts) > 3
        assert rmse(truth, imputer.completed_, np.isnan(X)) < 0.15
        drawn = next(imputer.draws(1))
        assert rmse(truth, drawn, np.isnan(X)) < 0.4
        np.testing.assert_array_equal(drawn[~np.isnan(X)], X[~np.isnan(X)])

    def test_rows_without_order_are_taken_at_random(self, monkeypatch):
        monkeypatch.setattr(restoring_module, "MOST_ROWS", 60)
        rng = np.random.default_rng(0)
        angle = rng.uniform(0, 6, (200, 1))
        truth = np.sin(angle + np.arange(5))
        X = np.where(rng.random(truth.shape) < 0.2, np.nan, truth)
        imputer = IGHImputer(columns=Learned(), random_state=0).fit(X)
        parts = np.sort(np.concatenate([part.rows for part in imputer.restored_.parts]))
        np.testing.assert_array_equal(parts, np.arange(200))
        assert rmse(truth, imputer.completed_, np.isnan(X)) < 0.3


def test_rows_in_order_need_no_columns():
    truth, X = walks(150)
    with_time = IGHImputer(rows=Line(), random_state=0).fit(X)
    without = IGHImputer(random_state=0).fit(X)
    error, simple = (rmse(truth, one.completed_, np.isnan(X)) for one in (with_time, without))
    assert error < 0.7 * simple
