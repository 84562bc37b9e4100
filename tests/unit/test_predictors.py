"""Which columns may help to fill which: `predictors` and `exclude`."""

import numpy as np
import pandas as pd
import pytest

from manifill import IGHImputer, TableImputer, impute
from manifill._fillers.sweep import LinearStart
from manifill._parts import parts_of
from manifill._predictors import Predictors
from manifill._problem import Problem
from manifill.errors import InvalidInput
from manifill.layouts import Grid

OTHERS = ["a", "b", "c"]
ALL = [*OTHERS, "t"]


def table(n=160, seed=0):
    """Three related columns and a target that tells much about each of them, with missing values."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, 2))
    a, b = z[:, 0] + 0.3 * rng.standard_normal(n), z[:, 1] + 0.3 * rng.standard_normal(n)
    frame = pd.DataFrame({"a": a, "b": b, "c": a**2 + b, "t": 2 * z[:, 0] + z[:, 1]})
    frame = frame.mask(rng.random(frame.shape) < 0.2)
    frame.loc[0] = [np.nan, np.nan, np.nan, 1.0]  # a row with the target alone
    return frame


def with_other(frame, columns, seed=1):
    """The table with other values of these columns, and others of them missing."""
    rng = np.random.default_rng(seed)
    other = frame.copy()
    for column in columns:
        other[column] = np.where(rng.random(len(frame)) < 0.4, np.nan, rng.exponential(5, len(frame)))
    return other


def changes(frame):
    """Tables with other values of the target: random, constant, and a category."""
    rng = np.random.default_rng(2)
    yield with_other(frame, ["t"])
    yield frame.assign(t=1.0)
    yield frame.assign(t=rng.choice(["u", "v", "w", None], len(frame)))


@pytest.fixture(scope="module")
def frame():
    return table()


class TestAnExcludedColumn:
    @pytest.mark.parametrize("options", [{}, {"effort": "fast"}, {"effort": "best"}, {"estimate": "median"}])
    def test_does_not_change_the_fills_of_others(self, frame, options):
        imputer = TableImputer(exclude=["t"], random_state=0, **options).fit(frame)
        assert imputer.completed_[ALL].notna().all().all()
        for other in changes(frame):
            again = TableImputer(exclude=["t"], random_state=0, **options).fit_transform(other)
            pd.testing.assert_frame_equal(again[OTHERS], imputer.completed_[OTHERS], check_exact=True)

    def test_changes_them_if_it_is_not_excluded(self, frame):
        fills = [impute(one, random_state=0)[OTHERS] for one in (frame, with_other(frame, ["t"]))]
        assert not fills[0].equals(fills[1])

    def test_does_not_change_the_fills_of_new_rows(self, frame):
        imputer = TableImputer(exclude=["t"], random_state=0).fit(frame)
        new = table(60, seed=5)
        filled = imputer.transform(new)[OTHERS]
        other = imputer.transform(with_other(new, ["t"]))[OTHERS]
        pd.testing.assert_frame_equal(other, filled, check_exact=True)
        pd.testing.assert_frame_equal(imputer.transform(frame), imputer.completed_)

    def test_changes_nothing_in_tables_with_many_columns(self):
        rng = np.random.default_rng(0)
        X = np.tanh(rng.standard_normal((600, 3)) @ rng.standard_normal((3, 12)))
        X[rng.random(X.shape) < 0.2] = np.nan
        frames = [pd.DataFrame(X[:500]), pd.DataFrame(X[500:])]
        others = [with_other(one, [2, 11]) for one in frames]
        keep = [j for j in range(12) if j not in (2, 11)]
        fits = [IGHImputer(exclude=[2, 11], random_state=0).fit(one) for one in (frames[0], others[0])]
        assert np.array_equal(fits[0].completed_[:, keep], fits[1].completed_[:, keep])
        new = [fits[0].transform(one)[:, keep] for one in (frames[1], others[1])]
        assert np.array_equal(*new)

    def test_is_filled_from_the_others(self, frame):
        imputer = TableImputer(exclude=["t"], random_state=0).fit(frame)
        accuracy = {one.column: one for one in imputer.accuracy_}["t"]
        assert accuracy.error < 0.6 * accuracy.simple_error

    def test_of_two_neither_changes_the_other(self, frame):
        fills = [impute(one, exclude=["c", "t"], random_state=0) for one in (frame, with_other(frame, ["t"]))]
        assert fills[0]["c"].equals(fills[1]["c"])

    def test_changes_nothing_in_arrays_named_by_position(self, frame):
        fills = [
            IGHImputer(exclude=[3], random_state=0).fit_transform(one.to_numpy())
            for one in (frame, with_other(frame, ["t"]))
        ]
        assert np.array_equal(fills[0][:, :3], fills[1][:, :3])

    def test_may_be_the_only_helper(self, frame):
        imputer = IGHImputer(exclude=["a"], random_state=0).fit(frame[["a", "b"]])
        assert imputer.importances_["a"]["b"] == 0
        known = frame.b.mean()
        assert np.allclose(np.asarray(imputer.completed_)[frame.b.isna(), 1], known)

    def test_keeps_its_known_values_in_draws_and_intervals(self, frame):
        imputer = TableImputer(exclude=["t"], random_state=0).fit(frame)
        known = frame.t.notna()
        low, high = imputer.intervals(0.9)
        for one in (*imputer.draws(2, random_state=0), low, high):
            assert one.t[known].equals(frame.t[known])
        assert (low.a <= high.a).all()
        assert low.a[0] < high.a[0]
        assert imputer.deviations().t[0] == 0

    def test_may_be_all_columns(self, frame):
        imputer = TableImputer(exclude=ALL, random_state=0).fit(frame)
        assert np.allclose(imputer.completed_.a[frame.a.isna()], frame.a.mean())
        assert str(imputer.importances_).count("nothing: filled with its mean") == 4


class TestPredictorsOfAColumn:
    def complete(self, frame):
        """The table with all values of b and c known."""
        return frame.assign(b=frame.b.fillna(0.1), c=frame.c.fillna(0.2), a=frame.a)

    def test_no_other_column_changes_its_fill_if_its_predictors_are_known(self, frame):
        frame = self.complete(frame)
        frame["a"] = (frame.c - frame.b).mask(frame.a.isna())
        predictors = {"a": ["b", "c"]}
        imputer = TableImputer(predictors=predictors, random_state=0).fit(frame)
        assert {one.column: one.relative for one in imputer.imputer_.accuracy_}["x0"] < 0.5
        for other in (with_other(frame, ["t"]), with_other(frame, ["t"], seed=9)):
            again = TableImputer(predictors=predictors, random_state=0).fit_transform(other)
            assert again.a.equals(imputer.completed_.a)
        new = table(50, seed=3)
        assert np.array_equal(
            imputer.transform(self.complete(new)).a,
            imputer.transform(with_other(self.complete(new), ["t"])).a,
        )

    def test_none_gives_the_mean_or_the_most_frequent_category(self, frame):
        frame = frame.assign(k=np.where(frame.a > 0.3, "high", "low")).mask(
            (np.arange(len(frame)) % 5 == 0)[:, None] & np.array([[False] * 4 + [True]])
        )
        filled = impute(frame, predictors={"b": [], "k": []}, random_state=0)
        assert np.allclose(filled.b[frame.b.isna()], frame.b.mean())
        assert set(filled.k[frame.k.isna()]) == {frame.k.mode()[0]}

    def test_rows_in_which_none_are_known_get_the_mean(self, frame):
        frame = frame.assign(u=frame.t + 1)
        frame.loc[:9] = np.nan
        frame.loc[:4, "t"] = 2.0
        imputer = TableImputer(predictors={"a": ["b"], "b": ["a"]}, random_state=0).fit(frame)
        for one in (imputer.completed_, imputer.transform(frame)):
            assert np.allclose(one.loc[:9, ["a", "b"]], frame[["a", "b"]].mean())
            assert np.allclose(one.loc[5:9], frame.mean())
            assert not np.allclose(one.u[:5], frame.u.mean())

    def test_importances_of_barred_predictors_are_0(self, frame):
        imputer = TableImputer(predictors={"a": ["t"]}, exclude=["b"], random_state=0).fit(frame)
        found = imputer.importances_
        assert found["t"]["a"] == pytest.approx(1)
        assert found["c"]["a"] == 0
        assert all(found["b"][name] == 0 for name in ALL)
        assert found["a"]["t"] > 0

    def test_of_a_category_hold_for_all_its_levels(self, frame):
        frame = frame.assign(k=np.select([frame.t > 1, frame.t < -1], ["high", "low"], "middle"))
        imputer = TableImputer(predictors={"a": ["b", "c", "t"]}, random_state=0).fit(frame)
        assert imputer.importances_["k"]["a"] == 0
        assert imputer.importances_["k"]["b"] > 0
        excluded = TableImputer(exclude=["k"], random_state=0).fit(frame)
        assert all(one == 0 for one in excluded.importances_["k"].values())


def test_all_columns_as_predictors_change_nothing(frame):
    predictors = {one: [other for other in ALL if other != one] for one in ALL}
    expected = impute(frame, random_state=0)
    assert impute(frame, predictors=predictors, exclude=[], random_state=0).equals(expected)


def test_a_saved_model_keeps_the_predictors(frame, tmp_path):
    imputer = TableImputer(predictors={"a": ["c"]}, exclude=["t"], random_state=0).fit(frame)
    imputer.save(tmp_path / "m.model")
    loaded, new = TableImputer.load(tmp_path / "m.model"), table(60, seed=5)
    pd.testing.assert_frame_equal(loaded.transform(new), imputer.transform(new))
    other = loaded.transform(with_other(new, ["t"]))
    assert other[OTHERS].equals(loaded.transform(new)[OTHERS])


def test_the_linear_start_uses_allowed_columns_only():
    X = table(80).to_numpy()
    allowed = np.ones((4, 4), dtype=bool)
    allowed[0, 2:] = False
    problem = Problem.of(X, allowed=allowed)
    parts = parts_of(problem)
    assert [one.used.tolist() for one in parts] == [[0, 1], [0, 1, 2, 3]]
    assert sorted(np.concatenate([one.targets for one in parts])) == [0, 1, 2, 3]
    alone = Problem.of(X[problem.rows][:, :2], order=(np.arange(len(problem.rows)), ((0,), (1,))))
    normals = [LinearStart().distribution(one, np.random.default_rng(0)) for one in (parts[0].problem, alone)]
    assert len(alone.rows) < len(problem.rows) or np.allclose(normals[0][1], normals[1][1])


class TestWhoDecides:
    groups = ((0,), (1,), (2, 3))

    def test_columns_that_help_no_other_decide_nothing(self):
        allowed = np.ones((4, 4), dtype=bool)
        allowed[:, 2:] = False
        found = Predictors.of(allowed, self.groups, 4)
        assert found.helping.tolist() == found.deciding.tolist() == [True, True, False, False]
        assert found.empty(np.array([[True, True, False, False], [False, True, True, True]])).tolist() == [
            True,
            False,
        ]
        pools = found.pools(np.ones((2, 4), dtype=bool))
        assert pools[0].tolist() == [True, True, False, False]
        assert pools[2].all()

    def test_findings_come_from_columns_that_know_no_more(self):
        allowed = np.ones((4, 4), dtype=bool)
        allowed[0, 2:] = False
        found = Predictors.of(allowed, self.groups, 4)
        assert not found.deciding.any()
        complete, incomplete = np.zeros((3, 4), dtype=bool), np.ones((3, 4), dtype=bool)
        assert found.pools(complete)[0].tolist() == [True, False, False, False]
        assert found.pools(incomplete)[0].all()  # imputed values of column 1 depend on all columns

    def test_columns_of_a_group_must_be_treated_alike(self):
        allowed = np.ones((4, 4), dtype=bool)
        allowed[0, 2] = False
        with pytest.raises(InvalidInput, match=r"those of the group \[2, 3\] differ"):
            Predictors.of(allowed, self.groups, 4)


WRONG = [
    ({"exclude": ["x"]}, r"exclude names an unknown column: 'x'"),
    ({"exclude": "t"}, r"exclude must be a list of columns"),
    ({"exclude": ["t", "t"]}, r"exclude must name a column once"),
    ({"predictors": ["a"]}, r"predictors must be None or a mapping"),
    ({"predictors": {"x": ["a"]}}, r"predictors names an unknown column: 'x'"),
    ({"predictors": {"a": ["x"]}}, r"predictors of column 'a' names an unknown column: 'x'"),
    ({"predictors": {"a": ["a", "b"]}}, r"must be other columns; got 'a' itself"),
    ({"predictors": {"a": "b"}}, r"predictors of column 'a' must be a list of columns"),
    ({"predictors": {"a": ["b", "b"]}}, r"predictors of column 'a' must name a column once"),
    ({"predictors": {"a": ["t"]}, "exclude": ["t"]}, r"must not be in exclude; got \['t'\]"),
    ({"exclude": ["t"], "kernel": "gaussian"}, r"got them together with kernel"),
    ({"exclude": ["t"], "solver": "ridge"}, r"got them together with solver"),
    ({"exclude": ["t"], "layout": Grid(2, 2)}, r"got them together with layout"),
    ({"exclude": ["t"], "device": "cpu"}, r"got them together with device"),
]


@pytest.mark.parametrize(("options", "message"), WRONG)
@pytest.mark.parametrize("estimator", [TableImputer, IGHImputer])
def test_wrong_options_are_refused(frame, estimator, options, message):
    with pytest.raises(InvalidInput, match=message):
        estimator(**options).fit(frame)


def test_times_are_refused(frame):
    frame = frame.assign(when=np.arange(len(frame)))
    with pytest.raises(InvalidInput, match="got them together with times"):
        TableImputer(exclude=["t"], time="when").fit(frame)


def test_a_copied_column_is_no_predictor(frame):
    named = frame.assign(name=[f"n{i}" for i in range(len(frame))])
    with pytest.raises(InvalidInput, match="'name' is of type identifier and is copied unchanged"):
        TableImputer(predictors={"a": ["name"]}).fit(named)
    assert impute(named, exclude=["name"], random_state=0).a.equals(impute(named, random_state=0).a)


def test_wide_tables_are_refused():
    X = np.random.default_rng(0).standard_normal((20, 101))
    with pytest.raises(InvalidInput, match="at most 100 columns"):
        IGHImputer(exclude=[0]).fit(X)
