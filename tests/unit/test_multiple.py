import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from sklearn.linear_model import LinearRegression

from manifill import IGHImputer, TableImputer, pool
from manifill.errors import InvalidInput

# SAS/STAT 13 User's Guide, the MIANALYZE procedure, "Reading Means and Standard Errors": means of oxygen
# intake, running time and pulse of 31 men from five imputations, printed with four or five digits after the
# point, and the results that it prints for 30 complete degrees of freedom.
MEANS = [
    [47.0120, 10.4441, 171.216],
    [47.2407, 10.5040, 171.244],
    [47.4995, 10.5922, 171.909],
    [47.1485, 10.5279, 171.146],
    [47.0042, 10.4913, 172.072],
]
ERRORS = [
    [0.95984, 0.28520, 1.59910],
    [0.93540, 0.26661, 1.75638],
    [1.00766, 0.26302, 1.85795],
    [0.95439, 0.26405, 1.75011],
    [0.96528, 0.27275, 1.84807],
]


class TestPool:
    def test_results_equal_those_printed_by_sas(self):
        """Estimates for oxygen; tolerances allow for the rounding of the printed means and errors."""
        pooled = pool(MEANS, ERRORS, df=30, names=["oxygen", "time", "pulse"])
        assert pooled.estimate[0] == pytest.approx(47.180993, abs=5e-5)
        assert pooled.between[0] == pytest.approx(0.041478, abs=2e-5)
        assert pooled.within[0] == pytest.approx(0.930853, abs=1e-5)
        assert pooled.error[0] ** 2 == pytest.approx(0.980626, abs=2e-5)
        assert pooled.df[0] == pytest.approx(26.298, abs=2e-3)
        assert str(pooled).count("\n") == 3

    def test_a_relative_increase_of_a_tenth_has_484_degrees_of_freedom(self):
        """Five tables, as in the same guide: (5 − 1)(1 + 1/.1)² = 484; fewer for a small table."""
        standardised = np.array([-2, -1, 0, 1, 2]) / np.sqrt(2.5)  # variance 1
        between = 0.1 / (1 + 1 / 5)
        pooled = pool(standardised * np.sqrt(between), np.ones(5))
        assert pooled.df[0] == pytest.approx(484)
        small = pool(standardised * np.sqrt(between), np.ones(5), df=30)
        assert small.df[0] < 30

    def test_rubins_rules_by_hand(self):
        """Three tables: mean 2, within 1, between 1, total 1 + 4/3; (3 − 1)(1 + 3/4)² = 6.125."""
        pooled = pool([1.0, 2.0, 3.0], [1.0, 1.0, 1.0])
        assert pooled.estimate[0] == pytest.approx(2)
        assert pooled.error[0] ** 2 == pytest.approx(7 / 3)
        assert pooled.df[0] == pytest.approx(2 * (1 + 3 / 4) ** 2)
        small = pool([1.0, 2.0, 3.0], [1.0, 1.0, 1.0], df=10)
        observed = 11 / 13 * 10 * (1 - 4 / 7)
        assert small.df[0] == pytest.approx(1 / (1 / 6.125 + 1 / observed))

    def test_equal_estimates_keep_their_standard_error(self):
        pooled = pool([[1.0], [1.0]], [[0.5], [0.5]], df=20)
        assert pooled.error[0] == pytest.approx(0.5)
        assert pooled.df[0] == pytest.approx(21 / 23 * 20)
        assert pooled.missing_information[0] < 0.1

    def test_fits_of_statsmodels_and_scikit_learn_are_read(self):
        rng = np.random.default_rng(0)
        tables = []
        for _ in range(3):
            x = rng.standard_normal(50)
            tables.append(pd.DataFrame({"x": x, "y": 2 * x + 1 + rng.standard_normal(50)}))
        fits = [smf.ols("y ~ x", table).fit() for table in tables]
        pooled = pool(fits)
        assert pooled.names == ("Intercept", "x")
        np.testing.assert_allclose(pooled.within, np.mean([fit.bse**2 for fit in fits], axis=0))
        lines = [LinearRegression().fit(table[["x"]], table["y"]) for table in tables]
        same = pool(lines, [fit.bse for fit in fits], df=48)
        assert same.names == ("intercept", "x")
        np.testing.assert_allclose(same.estimate, pooled.estimate)
        np.testing.assert_allclose(same.df, pooled.df)
        assert (pooled.p_value < 0.05).all()

    @pytest.mark.parametrize(
        ("fits", "errors", "message"),
        [
            ([1.0], [1.0], "at least two tables"),
            ([1.0, 2.0], None, "Give errors="),
            ([[1.0], [1.0, 2.0]], [1.0, 1.0], "the same estimates"),
            ([1.0, 2.0], [1.0], "errors must be 2 × 1 numbers"),
            ([1.0, 2.0], [1.0, -1.0], "none below 0"),
        ],
    )
    def test_invalid_fits_are_refused(self, fits, errors, message):
        with pytest.raises(InvalidInput, match=message):
            pool(fits, errors)


class TestDraws:
    def test_draws_have_the_standard_deviation_of_the_noise(self):
        """y = x + noise of standard deviation .5."""
        rng = np.random.default_rng(0)
        x = rng.standard_normal(300)
        X = np.column_stack([x, x + 0.5 * rng.standard_normal(300)])
        M = np.zeros(X.shape, dtype=bool)
        M[:90, 1] = True
        imputer = IGHImputer(random_state=0).fit(np.where(M, np.nan, X))
        tables = np.array(imputer.draws(60))
        np.testing.assert_array_equal(tables[:, ~M], np.broadcast_to(X[~M], (60, (~M).sum())))
        assert tables[:, M].std(axis=0).mean() == pytest.approx(0.5, rel=0.2)
        assert np.abs(tables[:, M].mean(axis=0) - imputer.completed_[M]).mean() < 0.15

    def test_values_missing_together_are_drawn_together(self):
        """Two columns are nearly equal, so where both are missing their draws must be, too."""
        rng = np.random.default_rng(0)
        x = rng.standard_normal(200)
        X = np.column_stack([x, x + 0.05 * rng.standard_normal(200), rng.standard_normal(200)])
        X[:40, :2] = np.nan
        tables = np.array(IGHImputer(random_state=0).fit(X).draws(20))
        first, second = tables[:, :40, 0].ravel(), tables[:, :40, 1].ravel()
        assert np.corrcoef(first, second)[0, 1] > 0.9
        assert first.std() > 0.6  # it would be .05 if the other column were known

    def test_the_same_seed_gives_the_same_tables(self):
        rng = np.random.default_rng(0)
        frame = pd.DataFrame({"a": rng.standard_normal(40), "b": rng.integers(0, 2, 40) > 0})
        frame.loc[::4, "a"] = np.nan
        frame["b"] = frame["b"].astype("boolean").mask(rng.random(40) < 0.3)
        imputer = TableImputer(random_state=0).fit(frame)
        one, two, other = (imputer.draws(3, random_state=seed) for seed in (1, 1, 2))
        for a, b in zip(one, two, strict=True):
            pd.testing.assert_frame_equal(a, b)
        assert not all(a.equals(b) for a, b in zip(one, other, strict=True))

    def test_categories_are_drawn_with_their_probabilities(self):
        rng = np.random.default_rng(0)
        frame = pd.DataFrame(
            {"x": rng.standard_normal(400), "kind": rng.choice(["a", "b"], 400, p=[0.8, 0.2])}
        )
        frame.loc[:199, "kind"] = None
        share = np.mean(
            [(t["kind"][:200] == "a").mean() for t in TableImputer(random_state=0).fit(frame).draws(10)]
        )
        assert share == pytest.approx(0.8, abs=0.06)

    def test_draws_of_long_tables_are_the_fill_plus_random_errors(self, monkeypatch):
        monkeypatch.setattr("manifill._draws._MAX_ROWS", 50)
        rng = np.random.default_rng(0)
        x = rng.standard_normal(300)
        X = np.column_stack([x, x + 0.5 * rng.standard_normal(300), (x > 0).astype(float)])
        X[rng.random(X.shape) < 0.2] = np.nan
        X[np.isnan(X).all(axis=1), 0] = 0
        fitted = IGHImputer(random_state=0).fit(X).result_
        limits = np.repeat([[-np.inf], [np.inf]], 3, axis=1)
        tables = np.array(list(fitted.draws(20, rng, limits, one_hot=((2,),))))
        M = np.isnan(X)
        assert set(np.unique(tables[:, M[:, 2], 2])) == {0.0, 1.0}
        assert tables[:, M[:, 1], 1].std(axis=0).mean() == pytest.approx(0.5, rel=0.3)

    @pytest.mark.parametrize("m", [0, -1, 2.5, "many"])
    def test_invalid_numbers_of_tables_are_refused(self, m):
        X = np.array([[1.0, 2.0], [2.0, 3.0], [np.nan, 4.0], [4.0, 5.0]])
        with pytest.raises(InvalidInput, match="m must be a whole number ≥ 1"):
            IGHImputer(random_state=0).fit(X).draws(m)
