"""Claimed errors and intervals: true where values are missing, and cautious where little was held out."""

import numpy as np
import pandas as pd
import pytest
from benchmarks.claims import claims, removed, tables

from manifill import IGHImputer, TableImputer
from manifill._messages import MEASURED
from manifill._problem import Problem
from manifill._validation import Evidence, accuracy
from manifill._validation.errors import _quantile
from manifill.tables import Quantity, inspect
from manifill.tables.accuracy import score
from manifill.tables.frames import Frame


def test_claimed_errors_are_true_if_values_are_missing_at_random():
    """Without weights the ratio is .78."""
    rows = []
    for seed in range(100, 104):
        table = dict(tables(seed, 300))["gauss"]
        rows += claims(table, removed(table, "MAR", seed))
    claimed, true = (np.sqrt(np.mean([row[key] ** 2 for row in rows])) for key in ("claimed", "true"))
    assert 0.88 < claimed / true < 1.15


def test_entries_that_are_held_out_with_weight_zero_have_an_error():
    assert score(Quantity("number"), np.zeros((3, 1)), np.full((3, 1), 2.0), np.zeros(3)) == ("error", 2.0)


def evidence(errors, truth, columns, d):
    columns = np.array(columns)
    h = len(columns)
    zeros = np.zeros(h, dtype=np.intp)
    truth = np.array(truth, dtype=float)
    return Evidence(zeros, columns, truth - errors, truth, np.ones(h), zeros, zeros, np.ones(d))


class TestFewHeldOut:
    def test_few_held_out_values_raise_the_claimed_error(self, rng):
        problem = Problem.of(rng.normal(size=(200, 2)))
        columns = [0] * 100 + [1] * 4
        errors = np.tile([0.3, -0.3], 52)
        many, few = accuracy(evidence(errors, np.tile([1.0, -1.0], 52), columns, 2), problem)
        assert (many.held_out, few.held_out) == (100, 4)
        assert few.relative > 1.02 * many.relative
        assert many.relative == pytest.approx(0.3, rel=0.01)

    def test_held_out_values_without_the_rare_ones_are_no_proof_of_a_small_error(self, rng):
        """All held-out entries of the second column are its most frequent value, filled nearly exactly."""
        X = rng.normal(size=(400, 2))
        X[:, 1] = 0
        X[:4, 1] = 10
        problem = Problem.of(X)
        columns = [0] * 60 + [1] * 60
        truth = np.concatenate([rng.normal(size=60), np.full(60, -0.1)])
        errors = np.concatenate([0.5 * rng.normal(size=60), np.full(60, 0.001)])
        usual, rare = accuracy(evidence(errors, truth, columns, 2), problem, np.ones(problem.shape))
        assert rare.relative > 0.5 * usual.relative

    def test_errors_from_a_single_entry_are_raised(self):
        problem = Problem.of(np.random.default_rng(0).normal(size=(200, 1)))
        even, single = np.full(50, 1.0), np.zeros(50)
        single[0] = np.sqrt(50)
        ones = np.ones(50)
        raised = [accuracy(evidence(one, ones, [0] * 50, 1), problem)[0].error for one in (even, single)]
        assert raised[1] > 1.1 * raised[0]

    def test_rows_without_known_values_have_the_error_of_the_mean(self, rng):
        X = rng.normal(size=(100, 2))
        X[:50, 0] = np.nan
        X[:25, 1] = np.nan
        held_out = evidence(np.full(40, 0.1), np.tile([1.0, -1.0], 20), [0] * 40, 2)
        (half_empty, _) = accuracy(held_out, Problem.of(X))
        assert half_empty.relative == pytest.approx(np.sqrt(0.5), rel=0.02)


def test_quantiles_follow_the_weights():
    ratios = np.arange(1.0, 101.0)
    assert _quantile(ratios, np.ones(100), 0.9) == 91
    assert _quantile(ratios, np.where(ratios <= 50, 1.0, 0.0), 0.9) == 46
    assert _quantile(ratios, np.ones(100), 0.999) == 100
    assert _quantile(ratios[:99], np.ones(99), 0.9) == 90  # 90 of 99, exactly what is needed


def test_intervals_end_at_values_that_are_just_outside(rng):
    """With half-widths that end shortly before the next of few distinct values, that value is included."""
    x = np.repeat([0.0, 1.0, 2.0, 3.0], 30)
    X = np.column_stack([x, rng.normal(size=120)])
    M = rng.random(120) < 0.2
    X[M, 0] = np.nan
    result = IGHImputer(random_state=0).fit(X).result_
    low, high = np.full(X.shape, 1.02), np.full(X.shape, 2.97)
    result._include_values(X, low, high)
    assert set(low[M, 0]) == {1.0}
    assert set(high[M, 0]) == {3.0}
    low, high = np.full(X.shape, 1.4), np.full(X.shape, 2.4)
    result._include_values(X, low, high)
    assert set(low[M, 0]) == {1.4}
    assert set(high[M, 0]) == {2.4}


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    x = rng.normal(size=120)
    steps = np.round(5 * x + rng.normal(size=120))
    frame = pd.DataFrame({"x": x, "y": x + rng.normal(size=120), "n": steps})
    frame["k"] = np.where(x > 0, "a", "b")
    return TableImputer(random_state=0).fit(frame.mask(rng.random(frame.shape) < 0.2))


class TestWords:
    def test_accuracy_shows_held_out_numbers_and_what_it_means(self, fitted):
        for text in (str(fitted.accuracy_), str(fitted.imputer_.accuracy_)):
            assert text.endswith(MEASURED)
            assert "held out" in text.splitlines()[0]
        header, *rows = str(fitted.accuracy_).splitlines()[:-1]
        end = header.index("held out") + len("held out")
        shown = [int(row[:end].split()[-1]) for row in rows]
        assert shown == [one.held_out for one in fitted.accuracy_]

    def test_rounding_counts_in_the_error_of_integers(self, fitted):
        by_column = {one.column: one for one in fitted.accuracy_}
        encoded = fitted.imputer_.accuracy_[fitted._encoding.fields[2].first].error
        assert by_column["n"].error != encoded
        assert by_column["n"].error == pytest.approx(encoded, rel=0.2)

    def test_inspection_does_not_promise_that_fills_are_unbiased(self, rng):
        x = rng.normal(size=400)
        frame = pd.DataFrame({"x": x, "y": np.where(x > 0.5, np.nan, rng.normal(size=400))})
        verdict = inspect(Frame(frame)).verdict
        assert "not missing completely at random" in verdict
        assert "biased" in verdict
