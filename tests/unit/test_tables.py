import datetime as dt
import time

import numpy as np
import pandas as pd
import polars as pl
import pytest

import manifill
from manifill import TableImputer
from manifill._estimators.saving import FORMAT
from manifill.errors import InvalidInput
from manifill.tables import Category, Cyclic, Encoding, Frame, Ordered, Quantity, inspect


@pytest.fixture(scope="module")
def people():
    """Everything follows from one number, so that fills can be right."""
    rng = np.random.default_rng(0)
    t = rng.uniform(0, 3, 90)
    frame = pd.DataFrame(
        {
            "number": np.arange(5000, 5090),
            "height": 150 + 10 * t,
            "children": pd.array((t * 2).astype(int), dtype="Int64"),
            "smokes": pd.array(t > 1.5, dtype="boolean"),
            "town": np.array(["Rome", "Oslo", "Bern"])[t.astype(int)],
            "grade": pd.Categorical(
                np.array(["low", "mid", "high"])[t.astype(int)], ["low", "mid", "high"], ordered=True
            ),
            "born": pd.Timestamp("2000-01-01") + pd.to_timedelta(np.round(100 * t), unit="D"),
            "hour": (24 * t / 3 + 18) % 24,
            "income": np.exp(1 + 2 * t),
            "note": [f"row {i}" for i in range(90)],
        }
    )
    M = rng.random(frame.shape) < 0.15
    M[:, [0, 9]] = False
    return frame, frame.mask(M), M


@pytest.fixture(scope="module")
def fitted(people):
    return TableImputer({"hour": "cyclic:24"}, bounds={"height": (100, 250)}, random_state=0).fit(people[1])


class TestKinds:
    def test_what_columns_are_taken_for(self, fitted):
        words = {field.name: field.kind for field in fitted.fields_}
        assert words == {
            "number": "identifier",
            "height": "number",
            "children": "integer",
            "smokes": "boolean",
            "town": "category",
            "grade": "ordered",
            "born": "date and time",
            "hour": "cyclic",
            "income": "number",
            "note": "identifier",
        }
        reasons = {field.name: field.reason for field in fitted.fields_}
        assert reasons["hour"] == "you said so"
        assert "logarithm" in reasons["income"]
        assert "all values differ" in reasons["note"]
        assert str(fitted.fields_).count("\n") == 10

    def test_levels_keep_their_order(self, fitted):
        grade = next(field for field in fitted.fields_ if field.name == "grade")
        assert grade.variable == Ordered(("low", "mid", "high"))

    def test_text_and_many_levels_are_handed_through(self):
        rng = np.random.default_rng(0)
        frame = pd.DataFrame(
            {
                "x": rng.standard_normal(200),
                "words": [f"w{i % 90}" for i in range(200)],
                "mixed": [1, "a"] * 100,
            }
        )
        frame.loc[0, ["x", "words"]] = None
        filled = TableImputer(random_state=0).fit_transform(frame)
        assert filled["words"].isna().sum() == 1
        assert filled["x"].notna().all()
        assert filled["mixed"].tolist() == frame["mixed"].tolist()

    def test_whole_numbers_stay_whole_and_counts_positive(self):
        rng = np.random.default_rng(0)
        x = rng.standard_normal(100)
        frame = pd.DataFrame({"x": x, "count": np.maximum(0, np.round(3 * x))})
        frame.loc[::5, "count"] = np.nan
        imputer = TableImputer(random_state=0).fit(frame)
        filled = imputer.completed_["count"]
        assert (filled == filled.round()).all()
        low, _ = imputer.intervals(0.99)
        for table in (imputer.completed_, low, *imputer.draws(3)):
            assert table["count"].min() >= 0
            assert (table["count"] == table["count"].round()).all()

    @pytest.mark.parametrize(
        ("types", "words"),
        [
            ({"town": "number"}, "cannot be taken for number: it holds text"),
            ({"height": "colour"}, "must be one of number, integer"),
            ({"height": 3}, "or a variable from manifill.tables"),
            ({"hour": "cyclic"}, "needs its period"),
            ({"nobody": "text"}, "names columns that are not there: 'nobody'"),
            ({"grade": "ordered:low<mid"}, "'high' are not in it"),
            ({"height": "boolean"}, "cannot be taken for boolean"),
        ],
    )
    def test_kinds_that_cannot_be(self, people, types, words):
        with pytest.raises(InvalidInput, match=words):
            TableImputer(types).fit(people[1])

    @pytest.mark.parametrize("limits", [(2, 1), 5, (1, 2, 3), ("a", "b")])
    def test_bounds_that_are_none(self, people, limits):
        with pytest.raises(InvalidInput, match="Bounds of column 'height'"):
            TableImputer(bounds={"height": limits}).fit(people[1])

    def test_variables_say_it_too(self, people):
        given = {
            "town": Category(("Rome", "Oslo", "Bern")),
            "hour": Cyclic(24),
            "income": Quantity(log=False),
        }
        imputer = TableImputer(given, random_state=0, max_sweeps=1).fit(people[1])
        assert [field.variable for field in imputer.fields_ if field.name in given] == list(given.values())

    def test_numbers_can_be_categories(self):
        frame = pd.DataFrame({"code": [1.0, 7.0] * 30, "x": [0.0, 5.0] * 30})
        frame.loc[::10, "code"] = np.nan
        filled = TableImputer({"code": "category"}, random_state=0).fit_transform(frame)
        assert set(filled["code"]) == {1.0, 7.0}
        assert (filled["code"] == [1.0, 7.0] * 30).all()


class TestFills:
    def test_they_are_right(self, people, fitted):
        truth, _, M = people
        filled = fitted.completed_
        for name in ("smokes", "town", "grade"):
            gone = M[:, truth.columns.get_loc(name)]
            assert (filled[name][gone] == truth[name][gone]).mean() > 0.85, name
        gone = M[:, truth.columns.get_loc("hour")]
        apart = (filled["hour"] - truth["hour"])[gone]
        assert np.abs((apart + 12) % 24 - 12).mean() < 2
        assert (filled["born"] - truth["born"]).abs().max() < pd.Timedelta(days=120)
        assert (filled["born"] == filled["born"].dt.normalize()).all()  # whole days, as observed

    def test_accuracy_in_the_columns_own_terms(self, fitted):
        accuracy = {one.column: one for one in fitted.accuracy_}
        assert accuracy["town"].measure == "wrong"
        assert accuracy["height"].measure == "error"
        assert accuracy["born"].simple_error == pytest.approx(87, rel=0.4)  # days
        assert all(one.relative < 0.7 for one in accuracy.values())
        assert "share that is wrong" in str(fitted.accuracy_)

    def test_new_rows(self, people, fitted):
        _, given, _ = people
        new = given.iloc[:5].drop(columns="note")
        filled = fitted.transform(new)
        assert list(filled) == list(new)
        assert filled.notna().all().all()
        with pytest.raises(InvalidInput, match="'town'"):
            fitted.transform(new.drop(columns="town"))

    def test_no_rows_at_all(self, people, fitted):
        assert len(fitted.transform(people[1].head(0))) == 0

    def test_a_level_never_seen_is_kept(self, people, fitted):
        new = people[1].iloc[:2].copy()
        new["town"] = ["Paris", None]
        assert fitted.transform(new)["town"].tolist()[0] == "Paris"

    def test_probabilities(self, people, fitted):
        shares = fitted.probabilities("town")
        assert set(shares) == {"Rome", "Oslo", "Bern"}
        np.testing.assert_allclose(shares.sum(axis=1), 1)
        known = people[1]["town"].notna()
        assert (shares.to_numpy()[known].max(axis=1) > 0.999).all()
        with pytest.raises(InvalidInput, match="Probabilities are of categories"):
            fitted.probabilities("height")

    def test_deviations(self, people, fitted):
        deviations = fitted.deviations()
        _, given, M = people
        for name in deviations:
            gone = M[:, given.columns.get_loc(name)]
            assert (deviations[name][~gone] == 0).all()
            assert (deviations[name][gone] >= 0).all()
        assert deviations["height"][M[:, 1]].mean() < 5

    def test_intervals_hold_their_order_and_bounds(self, people, fitted):
        low, high = fitted.intervals(0.9)
        for name in ("height", "income", "born", "children"):
            assert (low[name] <= high[name]).all()
        assert low["height"].min() >= 100
        assert low["income"].min() > 0
        assert (low["grade"] <= high["grade"]).all()

    def test_all_libraries_agree(self, people):
        _, given, _ = people
        plain = given[["height", "income", "town"]]
        one = TableImputer(random_state=0).fit_transform(plain)
        two = TableImputer(random_state=0).fit_transform(pl.from_pandas(plain)).to_pandas()
        pd.testing.assert_frame_equal(one, two, check_dtype=False)

    def test_the_door(self, people):
        _, given, _ = people
        filled = manifill.impute(given[["height", "town"]], random_state=0)
        assert filled.notna().all().all()

    @pytest.mark.parametrize(
        ("frame", "words"),
        [
            (pd.DataFrame({"a": []}), "must have rows"),
            (pd.DataFrame({"a": [None, None]}), "must have a column with observed values"),
            (pd.DataFrame([[1, 2]], columns=["a", "a"]), "Column names must differ"),
            ("a table", "must be a pandas or polars DataFrame"),
            (pd.DataFrame({"a": [1.0, np.inf]}), "column 'a' contains infinity: inf in row 1"),
        ],
    )
    def test_what_is_no_table(self, frame, words):
        with pytest.raises(InvalidInput, match=words):
            TableImputer().fit(frame)

    def test_nothing_missing_nothing_changed(self):
        frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "x"]})
        pd.testing.assert_frame_equal(TableImputer().fit_transform(frame), frame)

    def test_rows_without_anything(self):
        frame = pd.DataFrame({"a": [1.0, 2.0, None, 4.0] * 5, "b": ["x", "x", None, "y"] * 5})
        filled = TableImputer(random_state=0).fit_transform(frame)
        assert filled.notna().all().all()


class TestLimits:
    """What a type cannot hold is not written into it."""

    @pytest.mark.parametrize("dtype", ["Int8", "UInt8", "Int64", "UInt64"])
    def test_whole_numbers_at_the_end_of_their_type(self, dtype):
        most = np.iinfo(dtype.lower()).max
        values = [int(most) - i % 3 for i in range(40)]
        frame = pd.DataFrame({"x": np.arange(40.0) % 3, "n": pd.array([None, *values[1:]], dtype=dtype)})
        imputer = TableImputer(random_state=0).fit(frame)
        for table in (imputer.completed_, *imputer.intervals(0.99), *imputer.draws(2)):
            assert table["n"].dtype == dtype
            assert table["n"].tolist()[1:] == values[1:]

    def test_dates_at_the_end_of_time(self):
        days = pd.Series([pd.Timestamp.max.floor("D") - pd.Timedelta(days=i) for i in range(30)]).astype(
            "M8[ns]"
        )
        frame = pd.DataFrame({"day": days.mask(np.arange(30) % 5 == 0), "x": np.arange(30.0)})
        imputer = TableImputer({"x": "number"}, random_state=0).fit(frame)
        for table in (imputer.completed_, *imputer.intervals(0.99), *imputer.draws(1)):
            assert table["day"].notna().all()

    @pytest.mark.parametrize(
        ("types", "bounds", "words"),
        [
            ({}, {"town": (0, 1)}, "Bounds are for numbers and dates; column 'town'"),
            ({"hour": "cyclic:24"}, {"hour": (0, 5)}, "column 'hour' is of the kind cyclic"),
            ({}, {"children": (1.2, 1.8)}, "between 1.2 and 1.8 there is none"),
            ({"born": "category"}, {}, "cannot be taken for category"),
            ({"smokes": "number"}, {}, "cannot be taken for number"),
            ({"town": Quantity()}, {}, "cannot be taken for quantity"),
            ("abc", {}, "types must be a mapping"),
            ({}, [1], "bounds must be 'observed', None, a pair, or a mapping"),
        ],
    )
    def test_what_cannot_be_held_is_refused(self, people, types, bounds, words):
        with pytest.raises(InvalidInput, match=words):
            TableImputer(types, bounds=bounds).fit(people[1])

    def test_new_rows_of_another_type_are_refused(self, people, fitted):
        new = people[1].iloc[:3]
        for changes in ({"born": np.nan}, {"born": [1, 2, 3]}, {"height": "tall"}):
            with pytest.raises(InvalidInput, match=f"column '{next(iter(changes))}' was taken for"):
                fitted.transform(new.assign(**changes))


class TestEncoding:
    def test_a_category_counts_as_one_number(self):
        frame = Frame(pd.DataFrame({"kind": list("aabbccdd") * 5, "x": np.arange(40.0)}))
        encoding = Encoding.of(frame, None, None)
        X = encoding.encode(frame)
        weights = np.array(encoding.weights(X))
        assert encoding.groups == [[0, 1, 2, 3]]
        assert (weights[:4] ** 2).sum() == pytest.approx(1)

    @pytest.mark.parametrize(
        ("variable", "values"),
        [
            (Quantity(), [1.5, -2.0]),
            (Quantity(log=True), [0.5, 100.0]),
            (Quantity(log=True, offset=3.0), [0.0, 7.0]),
            (Cyclic(24), [0.0, 23.5]),
            (Cyclic(12, 1.0, 1.0), [1.0, 12.0]),
            (Category(("a", "b", "c")), ["c", "a"]),
            (Ordered(("low", "high")), ["high", "low"]),
        ],
    )
    def test_values_come_back(self, variable, values):
        plain = np.array(values, dtype=object if isinstance(values[0], str) else float)
        back = variable.decode(variable.encode(plain))
        if isinstance(values[0], str):
            assert back.tolist() == values
        else:
            np.testing.assert_allclose(back.astype(float), values, atol=1e-9)


def objects(people):
    """Numbers, words and whole numbers in one array of objects, None where missing."""
    truth, _, _ = people
    columns = truth["height"].tolist(), truth["town"].tolist(), truth["children"].tolist()
    cells = np.array(list(zip(*columns, strict=True)), dtype=object)
    cells[np.random.default_rng(0).random(cells.shape) < 0.15] = None
    return cells


class TestArrays:
    """Array in, array out."""

    @pytest.mark.parametrize("dtype", ["float64", "float32"])
    def test_floats(self, curved, dtype):
        X, M = curved
        given = np.where(M, np.nan, X).astype(dtype)
        imputer = TableImputer(random_state=0)
        filled = imputer.fit_transform(given)
        assert type(filled) is np.ndarray
        assert filled.dtype == dtype
        assert np.isfinite(filled).all()
        np.testing.assert_array_equal(filled[~M], given[~M])
        assert np.abs((filled - X) / X.std(axis=0))[M].mean() < 0.2
        np.testing.assert_array_equal(np.isnan(given), M)  # what is given is not written to
        for table in (*imputer.intervals(0.9), *imputer.draws(2), imputer.deviations()):
            assert type(table) is np.ndarray
            assert table.shape == X.shape
            assert np.isfinite(table).all()

    @pytest.mark.parametrize("dtype", ["int64", "uint8", "bool"])
    def test_whole_numbers_of_which_none_can_be_missing(self, dtype):
        X = np.random.default_rng(0).integers(0, 9, (30, 3)).astype(dtype)
        filled = TableImputer(random_state=0).fit_transform(X)
        assert filled.dtype == dtype
        np.testing.assert_array_equal(filled, X)
        assert filled is not X

    def test_objects(self, people):
        given = objects(people)
        gone = given == None  # noqa: E711
        imputer = TableImputer(random_state=0)
        filled = imputer.fit_transform(given)
        assert [field.kind for field in imputer.fields_] == ["number", "category", "integer"]
        assert filled.dtype == object
        assert all(after is before for after, before in zip(filled[~gone], given[~gone], strict=True))
        assert (filled != None).all()  # noqa: E711
        assert set(filled[:, 1]) == {"Rome", "Oslo", "Bern"}
        assert all(value == round(value) for value in filled[:, 2])
        truth = people[0]["town"].to_numpy()
        assert (filled[:, 1] == truth)[gone[:, 1]].mean() > 0.85
        np.testing.assert_allclose(imputer.probabilities("x1").sum(axis=1), 1)

    def test_lists_of_lists(self, curved, people):
        X, M = curved
        numbers = np.where(M, np.nan, X)
        for given in (numbers, objects(people)):
            expected = TableImputer(random_state=0).fit_transform(given)
            filled = TableImputer(random_state=0).fit_transform(given.tolist())
            assert type(filled) is np.ndarray
            assert filled.dtype == given.dtype
            np.testing.assert_array_equal(filled, expected)
            np.testing.assert_array_equal(manifill.impute(given.tolist(), random_state=0), expected)

    def test_masked_arrays(self, curved):
        X, M = curved
        expected = TableImputer(random_state=0).fit_transform(np.where(M, np.nan, X))
        filled = TableImputer(random_state=0).fit_transform(np.ma.array(X, mask=M))
        np.testing.assert_array_equal(np.asarray(filled, dtype=float), expected)

    def test_frames_and_arrays_agree(self, curved):
        X, M = curved
        given = np.where(M, np.nan, X)
        frame = pd.DataFrame(given, columns=[f"x{i}" for i in range(X.shape[1])])
        expected = TableImputer(random_state=0).fit_transform(frame).to_numpy()
        np.testing.assert_array_equal(TableImputer(random_state=0).fit_transform(given), expected)

    def test_new_rows(self, curved, recwarn):
        X, M = curved
        given = np.where(M, np.nan, X)
        imputer = TableImputer(random_state=0).fit(given)
        some = imputer.transform(given[:7])
        assert type(some) is np.ndarray
        np.testing.assert_array_equal(some[~M[:7]], X[:7][~M[:7]])
        assert np.isfinite(some).all()
        assert not [str(one.message) for one in recwarn]

    def test_a_column_of_an_array_can_be_the_time(self):
        t = np.arange(60.0)
        X = np.column_stack([np.where(t % 7 == 4, np.nan, np.sin(t / 9)), np.cos(t / 9), t])
        filled = TableImputer(time="x2", random_state=0).fit_transform(X)
        np.testing.assert_array_equal(filled[:, 1:], X[:, 1:])
        assert np.abs(filled[:, 0] - np.sin(t / 9)).max() < 0.1


class TestOptions:
    def test_bounds_are_the_range_observed_unless_they_are_none(self, curved):
        X, M = curved
        given = np.where(M, np.nan, X)
        assert TableImputer().bounds == "observed"
        lowest, highest = np.nanmin(given, axis=0), np.nanmax(given, axis=0)
        for bounds in ({}, {"bounds": "observed"}, {"bounds": {}}):
            imputer = TableImputer(random_state=0, **bounds).fit(given)
            np.testing.assert_array_equal(imputer.result_.problem.bounds, [lowest, highest])
            filled = imputer.completed_
            assert ((lowest <= filled) & (filled <= highest)).all()
        free = TableImputer(bounds=None, random_state=0).fit(given)
        assert np.isinf(free.result_.problem.bounds).all()
        assert np.isinf(free.imputer_.bounds).all()

    def test_without_bounds_fills_go_on_where_the_data_do(self):
        """The largest values of a line are missing: only without bounds are they beyond the others."""
        t = np.linspace(0, 1, 60)
        given = np.column_stack([t, 2 * t, 3 * t, 4 * t])
        given[-6:, 3] = np.nan
        options = {"kernel": "polynomial", "solver": "ridge", "random_state": 0}
        held = TableImputer(bounds="observed", **options).fit_transform(given)
        free = TableImputer(bounds=None, **options).fit_transform(given)
        most = np.nanmax(given[:, 3])
        assert held[-6:, 3].max() <= most < free[-6:, 3].max()

    def test_kernel_and_solver_are_those_of_the_imputer_of_numbers(self, curved):
        X, M = curved
        given = np.where(M, np.nan, X)
        imputer = TableImputer(kernel="gaussian", solver="spectral", max_sweeps=2, random_state=0).fit(given)
        assert type(imputer.kernel_).__name__ == "Gaussian"
        assert type(imputer.solver_).__name__ == "Spectral"
        assert imputer.n_sweeps_ == 2

    @pytest.mark.parametrize("time", [None, "when"])
    def test_verbose_writes_a_line_for_every_step(self, capsys, time):
        t = np.linspace(0, 6, 40)
        frame = pd.DataFrame({"a": np.sin(t), "b": np.cos(t), "c": t})
        frame = frame.mask(np.random.default_rng(0).random(frame.shape) < 0.2).assign(when=np.arange(40.0))
        steps = [
            str(fill).partition(":")[0]
            for fill in TableImputer(time=time, random_state=0).iter_fit(frame)
            if fill.sweep > 0
        ]
        assert steps
        quiet = capsys.readouterr()
        assert quiet.out == quiet.err == ""
        TableImputer(time=time, random_state=0, verbose=True).fit(frame)
        out, err = capsys.readouterr()
        assert out == ""
        written = [line.partition(":")[0] for line in err.splitlines()]
        assert [line for line in written if line in steps] == steps
        assert "held-out entries" in err  # what happens before the first step, too
        manifill.impute(frame, time=time, random_state=0, verbose=True)
        again = [line.partition(":")[0] for line in capsys.readouterr().err.splitlines()]
        assert again == written

    @pytest.mark.parametrize("data", [np.zeros((3, 2)), pd.DataFrame({"a": [1.0, None]})])
    def test_what_is_no_option_is_refused_in_the_name_of_impute(self, data):
        with pytest.raises(TypeError, match=r"^impute\(\) got an unexpected keyword argument 'foo'"):
            manifill.impute(data, foo=1)


class TestOutput:
    """What scikit-learn's `set_output` asks for."""

    @pytest.fixture(scope="class")
    @staticmethod
    def frame():
        t = np.linspace(0, 6, 40)
        frame = pd.DataFrame({"x0": np.sin(t), "x1": np.cos(t), "x2": t})
        frame = frame.mask(np.random.default_rng(0).random(frame.shape) < 0.2)
        return frame.set_axis([f"r{i}" for i in range(40)])

    @pytest.mark.parametrize("library", ["pandas", "polars", "array", "list"])
    @pytest.mark.parametrize("wanted", ["pandas", "polars", "default"])
    def test_every_kind_of_table_comes_out_as_asked_for(self, frame, library, wanted):
        given = {
            "pandas": frame,
            "polars": pl.from_pandas(frame),
            "array": frame.to_numpy(),
            "list": frame.to_numpy().tolist(),
        }[library]
        kinds = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "array": np.ndarray, "list": np.ndarray}
        imputer = TableImputer(random_state=0).set_output(transform=wanted)
        plain = TableImputer(random_state=0).fit_transform(frame)
        filled = imputer.fit_transform(given)
        assert type(filled) is kinds[library if wanted == "default" else wanted]
        np.testing.assert_array_equal(np.asarray(filled, dtype=float), plain.to_numpy())
        assert imputer.get_feature_names_out().tolist() == ["x0", "x1", "x2"]
        if wanted != "default":
            assert list(filled.columns) == ["x0", "x1", "x2"]
        if library == "pandas" and wanted != "polars":
            pd.testing.assert_index_equal(filled.index, frame.index)
        new = imputer.transform(given)
        assert type(new) is type(filled)
        assert not np.isnan(np.asarray(new, dtype=float)).any()

    def test_types_of_columns_stay(self, people):
        _, given, _ = people
        filled = TableImputer(random_state=0).set_output(transform="pandas").fit_transform(given)
        pd.testing.assert_series_equal(filled.dtypes, given.dtypes)

    def test_names_of_columns_that_come_out(self, people, fitted):
        assert fitted.get_feature_names_out().tolist() == list(people[1].columns)
        assert fitted.n_features_in_ == len(people[1].columns)
        assert TableImputer(random_state=0).fit(objects(people)).get_feature_names_out().tolist() == [
            "x0",
            "x1",
            "x2",
        ]


class TestInspection:
    def test_patterns_and_counts(self):
        frame = pd.DataFrame({"a": [1, None, None, 4], "b": [1.0, None, None, 4], "c": ["x", "y", "x", None]})
        found = inspect(Frame(frame))
        assert found.missing == {"a": 2, "b": 2, "c": 1}
        assert found.complete_rows == 1
        assert found.patterns[0].columns == ("a", "b")
        assert found.patterns[0].rows == 2

    def test_random_holes_look_random_and_others_do_not(self):
        rng = np.random.default_rng(3)
        X = rng.standard_normal((300, 4))
        frame = pd.DataFrame(np.where(rng.random(X.shape) < 0.2, np.nan, X), columns=list("abcd"))
        assert inspect(Frame(frame)).likely_mcar is True
        frame.loc[X[:, 0] > 0.5, "b"] = np.nan
        found = inspect(Frame(frame))
        assert found.likely_mcar is False
        assert (found.relations[0].column, found.relations[0].other) == ("b", "a")
        assert inspect(Frame(pd.DataFrame({"a": [1.0, 2.0]}))).verdict == "Nothing is missing."


class TestComparison:
    def test_the_best_is_found(self):
        t = np.linspace(0, 6, 80)
        frame = pd.DataFrame({"s": np.sin(t), "c": np.cos(t), "kind": np.where(np.sin(t) > 0, "up", "down")})
        comparison = manifill.compare(frame, random_state=0)
        assert list(comparison.seconds) == ["manifill", "neighbours", "iterative", "simple"]
        assert comparison.overall["manifill"] < comparison.overall["iterative"]
        assert {one.measure for one in comparison.scores} == {"error", "wrong"}
        assert "relative" in str(comparison)


class TestSaving:
    def test_a_loaded_model_fills_the_same(self, people, fitted, tmp_path):
        fitted.save(tmp_path / "people.model")
        loaded = TableImputer.load(tmp_path / "people.model")
        new = people[1].iloc[:10]
        pd.testing.assert_frame_equal(loaded.transform(new), fitted.transform(new))
        assert str(loaded.accuracy_) == str(fitted.accuracy_)
        assert loaded.status_ == fitted.status_
        with pytest.raises(InvalidInput, match="has no table of its own"):
            loaded.completed_  # noqa: B018

    def test_there_is_no_pickle_in_it(self, fitted, tmp_path):
        fitted.save(tmp_path / "m.model")
        with np.load(tmp_path / "m.model", allow_pickle=False) as archive:
            assert all(archive[name].dtype != object for name in archive.files)

    def test_other_formats_and_damage_are_refused(self, fitted, tmp_path):
        fitted.save(tmp_path / "m.model")
        with np.load(tmp_path / "m.model") as archive:
            arrays = {name: archive[name] for name in archive.files}
        text = arrays["manifest"].tobytes().decode()

        def written(**changes):
            with (tmp_path / "x.model").open("wb") as file:
                np.savez(file, **{**arrays, **changes})
            return tmp_path / "x.model"

        newer = np.frombuffer(text.replace(f'"format": {FORMAT}', '"format": 99').encode(), np.uint8)
        with pytest.raises(InvalidInput, match="in format 99; this is manifill"):
            TableImputer.load(written(manifest=newer))
        evil = np.frombuffer(text.replace('"is": "Category"', '"is": "system"').encode(), np.uint8)
        with pytest.raises(InvalidInput, match="no model of manifill"):
            TableImputer.load(written(manifest=evil))
        with pytest.raises(InvalidInput, match="no model of manifill"):
            TableImputer.load(written(Z=arrays["Z"][:3]))
        (tmp_path / "half.model").write_bytes((tmp_path / "m.model").read_bytes()[:500])
        for name in ("half.model", "none.model"):
            with pytest.raises(InvalidInput, match=name):
                TableImputer.load(tmp_path / name)


def in_time(imputer):
    """The weight of the fillers that know when rows were measured."""
    return sum(weight for name, weight in imputer.imputer_.weights_.items() if name != "sweep")


class TestTime:
    def test_rows_near_in_time_count(self):
        """A random walk: only time tells."""
        rng = np.random.default_rng(0)
        walk = rng.standard_normal((200, 2)).cumsum(axis=0)
        truth = pd.DataFrame({"a": walk[:, 0], "b": walk[:, 1], "noise": rng.standard_normal(200)})
        frame = truth.mask(rng.random(truth.shape) < 0.2).assign(step=range(200))
        error = {}
        for column in (None, "step"):
            imputer = TableImputer(time=column, random_state=0).fit(frame)
            error[column] = float(np.sqrt(((imputer.completed_["a"] - truth["a"]) ** 2).mean()))
        assert in_time(imputer) > 0
        assert error["step"] < 0.5 * error[None]
        late = imputer.transform(frame.iloc[::-1])  # each row on its own, in any order
        np.testing.assert_allclose(late.iloc[::-1], imputer.transform(frame))
        assert np.sqrt(((imputer.transform(frame)["a"] - truth["a"]) ** 2).mean()) < 0.5 * error[None]

    def test_gaps_of_many_rows_are_expected_honestly(self):
        """Single entries that are held out have neighbours in time; those in the gaps do not."""
        rng = np.random.default_rng(1)
        truth = pd.DataFrame(rng.standard_normal((300, 3)).cumsum(axis=0), columns=list("abc"))
        gaps = np.zeros(truth.shape, dtype=bool)
        for column in gaps.T:
            for first in rng.integers(300, size=4):
                column[first : first + 20] = True
        frame = truth.mask(gaps).assign(step=np.arange(300.0))
        imputer = TableImputer(time="step", random_state=0).fit(frame)
        off = ((imputer.completed_[list("abc")] - truth).to_numpy() / truth.std().to_numpy())[gaps]
        said = {one.column: one.error for one in imputer.accuracy_}
        expected = np.sqrt(np.mean([(said[name] / truth[name].std()) ** 2 for name in "abc"]))
        assert expected == pytest.approx(np.sqrt(np.mean(off**2)), rel=0.5)

    def test_noise_is_not_taken_for_more_than_it_is(self):
        said, found = [], []
        for seed in range(3):
            rng = np.random.default_rng(seed)
            truth = pd.DataFrame(rng.standard_normal((120, 3)), columns=list("abc"))
            frame = truth.mask(rng.random(truth.shape) < 0.15)
            imputer = TableImputer(time="step", random_state=0).fit(frame.assign(step=range(120)))
            said += [one.error for one in imputer.accuracy_ if one.column != "step"]
            found.append((imputer.completed_[list("abc")] - truth).to_numpy()[frame.isna()])
        true_error = np.sqrt(np.mean(np.concatenate(found) ** 2))
        assert np.sqrt(np.mean(np.square(said))) > 0.85 * true_error

    def test_a_limit_of_time_is_that_of_all_and_trials_do_not_warn(self, recwarn):
        """Without a limit this takes some seconds."""
        rng = np.random.default_rng(0)
        frame = pd.DataFrame(rng.standard_normal((600, 8)).cumsum(axis=0), columns=list("abcdefgh"))
        frame = frame.mask(rng.random(frame.shape) < 0.2).assign(t=np.arange(600.0))
        began = time.monotonic()
        imputer = TableImputer(time="t", time_limit=1, random_state=0).fit(frame)
        assert time.monotonic() - began < 2.5
        assert imputer.imputer_.time_limit == 1
        assert imputer.n_sweeps_ == 0 or not [one for one in recwarn if "Unfinished" in str(one.category)]

    def test_a_time_that_spreads_out_is_taken_as_it_is(self):
        t = np.exp(np.linspace(0, 8, 60))
        x = np.where(np.arange(60) % 5 == 0, np.nan, np.sin(t / 100))
        frame = pd.DataFrame({"t": t, "x": x, "y": np.random.default_rng(0).standard_normal(60)})
        imputer = TableImputer(time="t", random_state=0).fit(frame)
        np.testing.assert_array_equal(imputer.result_.problem.moments, t)

    def test_a_time_that_is_not_there_is_refused_beside_one_column_too(self):
        with pytest.raises(InvalidInput, match="time must name a column"):
            TableImputer(time="nobody").fit(pd.DataFrame({"x": [1.0, None, 3.0, 4.0]}))

    def test_a_model_with_lag_features_goes_through_a_file(self, tmp_path):
        rng = np.random.default_rng(2)
        frame = pd.DataFrame(rng.standard_normal((120, 2)).cumsum(axis=0), columns=["a", "b"])
        frame = frame.mask(rng.random(frame.shape) < 0.2).assign(
            day=pd.date_range("2026-01-01", periods=120, freq="h"), kind=["x", "y"] * 60
        )
        imputer = TableImputer(time="day", random_state=0).fit(frame)
        assert in_time(imputer) > 0
        imputer.save(tmp_path / "m.model")
        again = TableImputer.load(tmp_path / "m.model")
        assert again.imputer_.weights_ == imputer.imputer_.weights_
        new = frame.iloc[40:50]
        pd.testing.assert_frame_equal(again.transform(new), imputer.transform(new))
        unknown = new.assign(day=new["day"].mask(new.index == 42))
        assert again.transform(unknown)[["a", "b"]].notna().all(axis=None)
        low, _ = imputer.intervals()
        assert list(low.columns) == list(frame.columns)
        assert len(imputer.draws(2)) == 2

    @pytest.mark.parametrize("column", ["nobody", "word", "gaps"])
    def test_what_is_no_time(self, column):
        frame = pd.DataFrame({"x": [1.0, None, 3.0], "word": ["a", "b", "a"], "gaps": [1.0, 2.0, None]})
        with pytest.raises(InvalidInput, match=r"time must name a column.*These could: day"):
            TableImputer(time=column).fit(frame.assign(day=[1.0, 2.5, 3.25]))


def test_dates_of_bounds():
    days = [dt.date(2020, 1, 1) + dt.timedelta(days=i) for i in range(30)]
    frame = pl.DataFrame({"day": [None, *days[1:]], "x": list(range(30))})
    bounds = {"day": ("2020-01-20", "2020-01-25")}
    filled = TableImputer({"x": "number"}, bounds=bounds, random_state=0).fit_transform(frame)
    assert filled["day"][0] == dt.date(2020, 1, 20)
