from dataclasses import replace

import numpy as np
import pytest

from manifill import IGHImputer
from manifill.errors import InvalidInput


def curve(rng, n=200, noise=0.1):
    t = rng.uniform(0, 6, n)
    X = np.column_stack([np.sin(t), np.cos(t), np.sin(2 * t), t])
    return X + noise * rng.standard_normal(X.shape)


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(1)
    X = curve(rng)
    M = rng.random(X.shape) < 0.2
    return X, M, IGHImputer(random_state=0).fit(np.where(M, np.nan, X))


def plane(rng):
    return rng.standard_normal((200, 1)) + rng.standard_normal((200, 4))


@pytest.mark.parametrize("table", [plane, curve])
def test_intervals_have_the_stated_coverage(table):
    covered = {0.5: [], 0.9: []}
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = table(rng)
        M = rng.random(X.shape) < 0.2
        imputer = IGHImputer(random_state=0).fit(np.where(M, np.nan, X))
        for level, found in covered.items():
            low, high = imputer.intervals(level)
            found.append(((low <= X) & (high >= X))[M].mean())
    assert 0.4 <= np.mean(covered[0.5]) <= 0.65
    assert 0.84 <= np.mean(covered[0.9]) <= 0.96


def test_intervals_contain_the_fill_and_keep_known_values(fitted):
    X, M, imputer = fitted
    for level in (0.5, 0.9):
        low, high = imputer.intervals(level)
        np.testing.assert_array_equal(low[~M], X[~M])
        np.testing.assert_array_equal(high[~M], X[~M])
        assert (low <= imputer.completed_).all()
        assert (high >= imputer.completed_).all()


def test_intervals_are_wider_for_higher_levels(fitted):
    _, M, imputer = fitted
    widths = [np.subtract(*imputer.intervals(level)[::-1])[M].mean() for level in (0.5, 0.8, 0.95)]
    assert widths == sorted(widths)


def test_noisy_rows_have_wider_intervals():
    """Half of the rows are noisy; six columns indicate which."""
    rng = np.random.default_rng(0)
    n = 400
    x, noisy = rng.uniform(-1, 1, n), np.arange(n) % 2
    y = x + np.where(noisy, 1.0, 0.05) * rng.standard_normal(n)
    X = np.column_stack([y, x, *[noisy] * 6]).astype(float)
    X[rng.random(n) < 0.3, 0] = np.nan
    low, high = IGHImputer(random_state=0).fit(X).intervals(0.9)
    without_noise, with_noise = (np.isnan(X[:, 0]) & (noisy == which) for which in (0, 1))
    assert (high - low)[with_noise, 0].mean() > 1.3 * (high - low)[without_noise, 0].mean()


def test_expected_errors_do_not_depend_on_the_unit_of_the_weights_of_held_out_entries():
    rng = np.random.default_rng(3)
    X = curve(rng, 120)
    X[rng.random(X.shape) < 0.2] = np.nan
    errors = IGHImputer(random_state=0).fit(X).result_.errors
    evidence = errors.evidence
    uneven = replace(errors, evidence=replace(evidence, weight=evidence.weight * (1 + evidence.rows % 3)))
    lighter = replace(uneven, evidence=replace(uneven.evidence, weight=uneven.evidence.weight / 1e4))
    np.testing.assert_allclose(lighter.expected, uneven.expected, rtol=1e-9)
    assert lighter._power == uneven._power != 1.0


def test_bounds_hold_for_intervals_and_draws():
    rng = np.random.default_rng(0)
    X = np.abs(curve(rng, noise=0.3))
    M = rng.random(X.shape) < 0.3
    given = np.where(M, np.nan, X)
    imputer = IGHImputer(random_state=0, bounds=(0.5, 0.6)).fit(given)
    low, high = imputer.intervals()
    for table in (low, high, *imputer.draws(2)):
        assert table[M].min() >= 0.5
        assert table[M].max() <= 0.6
    default = IGHImputer(random_state=0).fit(given)
    for table in (*default.intervals(0.99), *default.draws(2)):
        assert table.min() >= 0  # observed values are never negative


def test_intervals_of_a_tiny_table_are_not_empty():
    X = np.array([[1.0, 2.0], [np.nan, 3.0], [4.0, np.nan]])
    imputer = IGHImputer(random_state=0).fit(X)
    low, high = imputer.intervals()
    assert (low < high)[np.isnan(X)].all()


@pytest.mark.parametrize("level", [0, 1, 90, "0.9", None])
def test_invalid_levels_are_refused(fitted, level):
    with pytest.raises(InvalidInput, match="level must be a finite number > 0 and < 1"):
        fitted[2].intervals(level)


@pytest.fixture(scope="module")
def with_empty_rows():
    rng = np.random.default_rng(0)
    x = rng.standard_normal(200)
    X = np.column_stack([x, x + 0.1 * rng.standard_normal(200)])
    X[:20] = np.nan
    return IGHImputer(random_state=0).fit(X), X


class TestRowsWithoutObservedValues:
    """Nothing is known of them, so they have the distribution of the table."""

    def test_intervals_contain_the_requested_share_of_the_observed_values(self, with_empty_rows):
        imputer, X = with_empty_rows
        low, high = imputer.intervals(0.9)
        for j in range(2):
            inside = (low[0, j] <= X[20:, j]) & (X[20:, j] <= high[0, j])
            assert 0.88 <= inside.mean() <= 0.93
        np.testing.assert_array_equal(low[:20], np.tile(low[0], (20, 1)))

    def test_draws_vary_and_keep_the_correlation_of_the_columns(self, with_empty_rows):
        imputer, X = with_empty_rows
        draws = imputer.draws(20, random_state=1)
        empty = np.concatenate([table[:20] for table in draws])
        assert 0.8 < empty[:, 0].std() / np.nanstd(X[:, 0]) < 1.2
        assert np.corrcoef(empty.T)[0, 1] > 0.9
        np.testing.assert_array_equal(draws[0][20:], X[20:])

    def test_draws_repeat_with_the_seed(self, with_empty_rows):
        imputer, _ = with_empty_rows
        one, two = (imputer.draws(2, random_state=3) for _ in range(2))
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("share", [0.99, 0.93, 0.87])
def test_intervals_of_nearly_constant_columns_contain_the_usual_value(share):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((500, 3))
    rare = np.where(rng.random(500) < share, 0.0, rng.exponential(1.0, 500))
    X = np.column_stack([x, x.sum(axis=1) + 0.1 * rng.standard_normal(500), rare])
    M = rng.random(X.shape) < 0.3
    low, high = IGHImputer(random_state=0).fit(np.where(M, np.nan, X)).intervals(0.9)
    inside = ((low <= X) & (high >= X))[M[:, 4], 4]
    assert inside.mean() >= 0.85
