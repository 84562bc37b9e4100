import datetime as dt
import json
import time

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import manifill
from manifill import TableImputer
from manifill._estimators.saving import FORMAT
from manifill.errors import InvalidInput, UnfinishedWarning
from manifill.tables import Category, Cyclic, Encoding, Frame, Ordered, Quantity, inspect


@pytest.fixture(scope="module")
def people():
    """A frame whose columns follow from one number, the same with missing entries, and their mask."""
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
    def test_kinds_and_reasons_are_inferred(self, fitted):
        kinds = {field.name: field.kind for field in fitted.fields_}
        assert kinds == {
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
        assert reasons["hour"] == "declared in types"
        assert "logarithm" in reasons["income"]
        assert "all values differ" in reasons["note"]
        assert str(fitted.fields_).count("\n") == 10

    def test_levels_keep_their_order(self, fitted):
        grade = next(field for field in fitted.fields_ if field.name == "grade")
        assert grade.variable == Ordered(("low", "mid", "high"))

    def test_text_and_many_levels_are_left_unchanged(self):
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

    def test_integers_stay_integers_and_counts_non_negative(self):
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
        ("types", "message"),
        [
            ({"town": "number"}, "cannot be treated as number: it holds text"),
            ({"height": "colour"}, "must be one of number, integer"),
            ({"height": 3}, "or a variable from manifill.tables"),
            ({"hour": "cyclic"}, "needs its period"),
            ({"absent": "text"}, "names unknown columns: 'absent'"),
            ({"grade": "ordered:low<mid"}, "not listed: 'high'"),
            ({"height": "boolean"}, "cannot be treated as boolean"),
        ],
    )
    def test_invalid_types_are_refused(self, people, types, message):
        with pytest.raises(InvalidInput, match=message):
            TableImputer(types).fit(people[1])

    @pytest.mark.parametrize(
        ("values", "expected"),
        [(["10", "9.5", "9"], ("9", "9.5", "10")), (["b", "a", "10"], ("10", "a", "b"))],
    )
    def test_ordered_texts_that_are_numbers_are_in_the_order_of_the_numbers(self, values, expected):
        frame = pd.DataFrame({"size": values * 10, "x": np.arange(30.0)})
        frame.loc[4, "size"] = None
        imputer = TableImputer({"size": "ordered"}, random_state=0).fit(frame)
        assert imputer.fields_[0].variable.levels == expected

    @pytest.mark.parametrize("limits", [(2, 1), 5, (1, 2, 3), ("a", "b")])
    def test_invalid_bounds_are_refused(self, people, limits):
        with pytest.raises(InvalidInput, match="Bounds of column 'height'"):
            TableImputer(bounds={"height": limits}).fit(people[1])

    def test_types_can_be_variable_objects(self, people):
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
    def test_imputed_values_are_close_to_the_truth(self, people, fitted):
        truth, _, M = people
        filled = fitted.completed_
        for name in ("smokes", "town", "grade"):
            missing = M[:, truth.columns.get_loc(name)]
            assert (filled[name][missing] == truth[name][missing]).mean() > 0.85, name
        missing = M[:, truth.columns.get_loc("hour")]
        difference = (filled["hour"] - truth["hour"])[missing]
        assert np.abs((difference + 12) % 24 - 12).mean() < 2
        assert (filled["born"] - truth["born"]).abs().max() < pd.Timedelta(days=120)
        assert (filled["born"] == filled["born"].dt.normalize()).all()  # whole days, as observed

    def test_accuracy_is_in_the_units_of_the_column(self, fitted):
        accuracy = {one.column: one for one in fitted.accuracy_}
        assert accuracy["town"].measure == "wrong"
        assert accuracy["height"].measure == "error"
        assert accuracy["born"].simple_error == pytest.approx(87, rel=0.4)  # days
        assert all(one.relative < 0.7 for one in accuracy.values())
        assert "share that is wrong" in str(fitted.accuracy_)

    def test_new_rows_are_filled(self, people, fitted):
        _, given, _ = people
        new = given.iloc[:5].drop(columns="note")
        filled = fitted.transform(new)
        assert list(filled) == list(new)
        assert filled.notna().all().all()
        with pytest.raises(InvalidInput, match="'town'"):
            fitted.transform(new.drop(columns="town"))

    def test_table_without_rows_is_transformed(self, people, fitted):
        assert len(fitted.transform(people[1].head(0))) == 0

    def test_unknown_level_in_new_rows_is_kept(self, people, fitted):
        new = people[1].iloc[:2].copy()
        new["town"] = ["Paris", None]
        assert fitted.transform(new)["town"].tolist()[0] == "Paris"

    def test_probabilities_sum_to_one(self, people, fitted):
        shares = fitted.probabilities("town")
        assert set(shares) == {"Rome", "Oslo", "Bern"}
        np.testing.assert_allclose(shares.sum(axis=1), 1)
        known = people[1]["town"].notna()
        assert (shares.to_numpy()[known].max(axis=1) > 0.999).all()
        with pytest.raises(InvalidInput, match="Probabilities exist for categorical"):
            fitted.probabilities("height")

    def test_deviations_are_zero_where_observed(self, people, fitted):
        deviations = fitted.deviations()
        _, given, M = people
        for name in deviations:
            missing = M[:, given.columns.get_loc(name)]
            assert (deviations[name][~missing] == 0).all()
            assert (deviations[name][missing] >= 0).all()
        assert deviations["height"][M[:, 1]].mean() < 5

    def test_intervals_are_ordered_and_within_bounds(self, people, fitted):
        low, high = fitted.intervals(0.9)
        for name in ("height", "income", "born", "children"):
            assert (low[name] <= high[name]).all()
        assert low["height"].min() >= 100
        assert low["income"].min() > 0
        assert (low["grade"] <= high["grade"]).all()

    def test_pandas_and_polars_agree(self, people):
        _, given, _ = people
        plain = given[["height", "income", "town"]]
        one = TableImputer(random_state=0).fit_transform(plain)
        two = TableImputer(random_state=0).fit_transform(pl.from_pandas(plain)).to_pandas()
        pd.testing.assert_frame_equal(one, two, check_dtype=False)

    def test_impute_fills_a_frame(self, people):
        _, given, _ = people
        filled = manifill.impute(given[["height", "town"]], random_state=0)
        assert filled.notna().all().all()

    @pytest.mark.parametrize(
        ("frame", "message"),
        [
            (pd.DataFrame({"a": []}), "must have rows"),
            (pd.DataFrame({"a": [None, None]}), "must have a column with observed values"),
            (pd.DataFrame([[1, 2]], columns=["a", "a"]), "Column names must differ"),
            ("a table", "must be a pandas or polars DataFrame"),
            (pd.DataFrame({"a": [1.0, np.inf]}), "column 'a' contains infinity: inf in row 1"),
        ],
    )
    def test_invalid_tables_are_refused(self, frame, message):
        with pytest.raises(InvalidInput, match=message):
            TableImputer().fit(frame)

    def test_complete_table_is_unchanged(self):
        frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "x"]})
        pd.testing.assert_frame_equal(TableImputer().fit_transform(frame), frame)

    def test_rows_without_observed_values_are_filled(self):
        frame = pd.DataFrame({"a": [1.0, 2.0, None, 4.0] * 5, "b": ["x", "x", None, "y"] * 5})
        filled = TableImputer(random_state=0).fit_transform(frame)
        assert filled.notna().all().all()


class TestLimits:
    """Imputed values fit the type of the column."""

    @pytest.mark.parametrize("dtype", ["Int8", "UInt8", "Int64", "UInt64"])
    def test_integers_at_the_limit_of_their_dtype(self, dtype):
        highest = np.iinfo(dtype.lower()).max
        values = [int(highest) - i % 3 for i in range(40)]
        frame = pd.DataFrame({"x": np.arange(40.0) % 3, "n": pd.array([None, *values[1:]], dtype=dtype)})
        imputer = TableImputer(random_state=0).fit(frame)
        for table in (imputer.completed_, *imputer.intervals(0.99), *imputer.draws(2)):
            assert table["n"].dtype == dtype
            assert table["n"].tolist()[1:] == values[1:]

    def test_dates_at_the_limit_of_their_dtype(self):
        days = pd.Series([pd.Timestamp.max.floor("D") - pd.Timedelta(days=i) for i in range(30)]).astype(
            "M8[ns]"
        )
        frame = pd.DataFrame({"day": days.mask(np.arange(30) % 5 == 0), "x": np.arange(30.0)})
        imputer = TableImputer({"x": "number"}, random_state=0).fit(frame)
        for table in (imputer.completed_, *imputer.intervals(0.99), *imputer.draws(1)):
            assert table["day"].notna().all()

    @pytest.mark.parametrize(
        ("types", "bounds", "message"),
        [
            ({}, {"town": (0, 1)}, "Bounds are for numbers and dates; column 'town'"),
            ({"hour": "cyclic:24"}, {"hour": (0, 5)}, "column 'hour' is of the kind cyclic"),
            ({}, {"children": (1.2, 1.8)}, "none lies between 1.2 and 1.8"),
            ({"born": "category"}, {}, "cannot be treated as category"),
            ({"smokes": "number"}, {}, "cannot be treated as number"),
            ({"town": Quantity()}, {}, "cannot be treated as number"),
            ("abc", {}, "types must be a mapping"),
            ({}, [1], "bounds must be 'observed', None, a pair, or a mapping"),
        ],
    )
    def test_incompatible_types_and_bounds_are_refused(self, people, types, bounds, message):
        with pytest.raises(InvalidInput, match=message):
            TableImputer(types, bounds=bounds).fit(people[1])

    def test_new_rows_of_another_type_are_refused(self, people, fitted):
        new = people[1].iloc[:3]
        for changes in ({"born": [1, 2, 3]}, {"height": "tall"}):
            with pytest.raises(InvalidInput, match=f"column '{next(iter(changes))}' was treated as"):
                fitted.transform(new.assign(**changes))


class TestEncoding:
    def test_dummy_columns_of_a_category_weigh_as_one_column(self):
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
    def test_decode_inverts_encode(self, variable, values):
        plain = np.array(values, dtype=object if isinstance(values[0], str) else float)
        back = variable.decode(variable.encode(plain))
        if isinstance(values[0], str):
            assert back.tolist() == values
        else:
            np.testing.assert_allclose(back.astype(float), values, atol=1e-9)


def objects(people):
    """An array of objects with columns of floats, strings and integers; None where missing."""
    truth, _, _ = people
    columns = truth["height"].tolist(), truth["town"].tolist(), truth["children"].tolist()
    cells = np.array(list(zip(*columns, strict=True)), dtype=object)
    cells[np.random.default_rng(0).random(cells.shape) < 0.15] = None
    return cells


class TestArrays:
    """Arrays and lists: the result is an array."""

    @pytest.mark.parametrize("dtype", ["float64", "float32"])
    def test_float_arrays_are_filled(self, curved, dtype):
        X, M = curved
        given = np.where(M, np.nan, X).astype(dtype)
        imputer = TableImputer(random_state=0)
        filled = imputer.fit_transform(given)
        assert type(filled) is np.ndarray
        assert filled.dtype == dtype
        assert np.isfinite(filled).all()
        np.testing.assert_array_equal(filled[~M], given[~M])
        assert np.abs((filled - X) / X.std(axis=0))[M].mean() < 0.2
        np.testing.assert_array_equal(np.isnan(given), M)  # the input is not modified
        for table in (*imputer.intervals(0.9), *imputer.draws(2), imputer.deviations()):
            assert type(table) is np.ndarray
            assert table.shape == X.shape
            assert np.isfinite(table).all()

    @pytest.mark.parametrize("dtype", ["int64", "uint8", "bool"])
    def test_integer_arrays_are_copied(self, dtype):
        X = np.random.default_rng(0).integers(0, 9, (30, 3)).astype(dtype)
        filled = TableImputer(random_state=0).fit_transform(X)
        assert filled.dtype == dtype
        np.testing.assert_array_equal(filled, X)
        assert filled is not X

    def test_object_arrays_are_filled(self, people):
        given = objects(people)
        missing = given == None  # noqa: E711
        imputer = TableImputer(random_state=0)
        filled = imputer.fit_transform(given)
        assert [field.kind for field in imputer.fields_] == ["number", "category", "integer"]
        assert filled.dtype == object
        assert all(after is before for after, before in zip(filled[~missing], given[~missing], strict=True))
        assert (filled != None).all()  # noqa: E711
        assert set(filled[:, 1]) == {"Rome", "Oslo", "Bern"}
        assert all(value == round(value) for value in filled[:, 2])
        truth = people[0]["town"].to_numpy()
        assert (filled[:, 1] == truth)[missing[:, 1]].mean() > 0.85
        np.testing.assert_allclose(imputer.probabilities("x1").sum(axis=1), 1)

    def test_lists_and_arrays_agree(self, curved, people):
        X, M = curved
        numbers = np.where(M, np.nan, X)
        for given in (numbers, objects(people)):
            expected = TableImputer(random_state=0).fit_transform(given)
            filled = TableImputer(random_state=0).fit_transform(given.tolist())
            assert type(filled) is np.ndarray
            assert filled.dtype == given.dtype
            np.testing.assert_array_equal(filled, expected)
            np.testing.assert_array_equal(manifill.impute(given.tolist(), random_state=0), expected)

    def test_masked_entries_are_missing(self, curved):
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

    def test_new_rows_are_filled(self, curved, recwarn):
        X, M = curved
        given = np.where(M, np.nan, X)
        imputer = TableImputer(random_state=0).fit(given)
        some = imputer.transform(given[:7])
        assert type(some) is np.ndarray
        np.testing.assert_array_equal(some[~M[:7]], X[:7][~M[:7]])
        assert np.isfinite(some).all()
        assert not [str(one.message) for one in recwarn]

    def test_time_can_be_a_column_of_an_array(self):
        t = np.arange(60.0)
        X = np.column_stack([np.where(t % 7 == 4, np.nan, np.sin(t / 9)), np.cos(t / 9), t])
        filled = TableImputer(time="x2", random_state=0).fit_transform(X)
        np.testing.assert_array_equal(filled[:, 1:], X[:, 1:])
        assert np.abs(filled[:, 0] - np.sin(t / 9)).max() < 0.1


class TestOptions:
    def test_bounds_are_the_observed_range_unless_none(self, curved):
        X, M = curved
        given = np.where(M, np.nan, X)
        assert TableImputer().bounds == "observed"
        lowest, highest = np.nanmin(given, axis=0), np.nanmax(given, axis=0)
        for bounds in ({}, {"bounds": "observed"}, {"bounds": {}}):
            imputer = TableImputer(random_state=0, **bounds).fit(given)
            np.testing.assert_array_equal(imputer.result_.problem.bounds, [lowest, highest])
            filled = imputer.completed_
            assert ((lowest <= filled) & (filled <= highest)).all()
        unbounded = TableImputer(bounds=None, random_state=0).fit(given)
        assert np.isinf(unbounded.result_.problem.bounds).all()
        assert np.isinf(unbounded.imputer_.bounds).all()

    def test_without_bounds_fills_extrapolate(self):
        """The largest values of a linear column are missing; bounds limit fills to the observed ones."""
        t = np.linspace(0, 1, 60)
        given = np.column_stack([t, 2 * t, 3 * t, 4 * t])
        given[-6:, 3] = np.nan
        options = {"kernel": "polynomial", "solver": "ridge", "random_state": 0}
        bounded = TableImputer(bounds="observed", **options).fit_transform(given)
        unbounded = TableImputer(bounds=None, **options).fit_transform(given)
        highest = np.nanmax(given[:, 3])
        assert bounded[-6:, 3].max() <= highest < unbounded[-6:, 3].max()

    def test_kernel_and_solver_are_passed_on(self, curved):
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
        assert time is None or "held-out entries" in err  # logged before the first step
        manifill.impute(frame, time=time, random_state=0, verbose=True)
        again = [line.partition(":")[0] for line in capsys.readouterr().err.splitlines()]
        assert again == written

    @pytest.mark.parametrize("data", [np.zeros((3, 2)), pd.DataFrame({"a": [1.0, None]})])
    def test_error_for_an_unknown_option_names_impute(self, data):
        with pytest.raises(TypeError, match=r"^impute\(\) got an unexpected keyword argument 'foo'"):
            manifill.impute(data, foo=1)


class TestOutput:
    """The type of the result, as set by scikit-learn's `set_output`."""

    @pytest.fixture(scope="class")
    @staticmethod
    def frame():
        t = np.linspace(0, 6, 40)
        frame = pd.DataFrame({"x0": np.sin(t), "x1": np.cos(t), "x2": t})
        frame = frame.mask(np.random.default_rng(0).random(frame.shape) < 0.2)
        return frame.set_axis([f"r{i}" for i in range(40)])

    @pytest.mark.parametrize("library", ["pandas", "polars", "array", "list"])
    @pytest.mark.parametrize("wanted", ["pandas", "polars", "default"])
    def test_output_has_the_requested_type(self, frame, library, wanted):
        given = {
            "pandas": frame,
            "polars": pl.from_pandas(frame),
            "array": frame.to_numpy(),
            "list": frame.to_numpy().tolist(),
        }[library]
        types = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "array": np.ndarray, "list": np.ndarray}
        imputer = TableImputer(random_state=0).set_output(transform=wanted)
        plain = TableImputer(random_state=0).fit_transform(frame)
        filled = imputer.fit_transform(given)
        assert type(filled) is types[library if wanted == "default" else wanted]
        np.testing.assert_array_equal(np.asarray(filled, dtype=float), plain.to_numpy())
        assert imputer.get_feature_names_out().tolist() == ["x0", "x1", "x2"]
        if wanted != "default":
            assert list(filled.columns) == ["x0", "x1", "x2"]
        if library == "pandas" and wanted != "polars":
            pd.testing.assert_index_equal(filled.index, frame.index)
        new = imputer.transform(given)
        assert type(new) is type(filled)
        assert not np.isnan(np.asarray(new, dtype=float)).any()

    def test_column_dtypes_are_kept(self, people):
        _, given, _ = people
        filled = TableImputer(random_state=0).set_output(transform="pandas").fit_transform(given)
        pd.testing.assert_series_equal(filled.dtypes, given.dtypes)

    def test_feature_names_are_the_column_names(self, people, fitted):
        assert fitted.get_feature_names_out().tolist() == list(people[1].columns)
        assert fitted.n_features_in_ == len(people[1].columns)
        assert TableImputer(random_state=0).fit(objects(people)).get_feature_names_out().tolist() == [
            "x0",
            "x1",
            "x2",
        ]


class TestInspection:
    def test_patterns_and_missing_entries_are_counted(self):
        frame = pd.DataFrame({"a": [1, None, None, 4], "b": [1.0, None, None, 4], "c": ["x", "y", "x", None]})
        found = inspect(Frame(frame))
        assert found.missing == {"a": 2, "b": 2, "c": 1}
        assert found.complete_rows == 1
        assert found.patterns[0].columns == ("a", "b")
        assert found.patterns[0].rows == 2

    def test_mcar_is_distinguished_from_dependence_on_a_column(self):
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
    def test_manifill_has_a_smaller_error_than_iterative_on_a_circle(self):
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

    def test_file_contains_no_pickle(self, fitted, tmp_path):
        fitted.save(tmp_path / "m.model")
        with np.load(tmp_path / "m.model", allow_pickle=False) as archive:
            assert all(archive[name].dtype != object for name in archive.files)

    def test_other_formats_and_damaged_files_are_refused(self, fitted, tmp_path):
        fitted.save(tmp_path / "m.model")
        with np.load(tmp_path / "m.model") as archive:
            arrays = {name: archive[name] for name in archive.files}
        text = arrays["manifest"].tobytes().decode()

        def write(**changes):
            with (tmp_path / "x.model").open("wb") as file:
                np.savez(file, **{**arrays, **changes})
            return tmp_path / "x.model"

        newer = np.frombuffer(text.replace(f'"format": {FORMAT}', '"format": 99').encode(), np.uint8)
        with pytest.raises(InvalidInput, match="in format 99; this is manifill"):
            TableImputer.load(write(manifest=newer))
        forged = np.frombuffer(text.replace('"class": "Category"', '"class": "system"').encode(), np.uint8)
        with pytest.raises(InvalidInput, match="no model of manifill"):
            TableImputer.load(write(manifest=forged))
        key = json.loads(text)["content"]["dict"]["Z"]["array"]
        with pytest.raises(InvalidInput, match="no model of manifill"):
            TableImputer.load(write(**{key: arrays[key][:3]}))
        (tmp_path / "half.model").write_bytes((tmp_path / "m.model").read_bytes()[:500])
        for name in ("half.model", "none.model"):
            with pytest.raises(InvalidInput, match=name):
                TableImputer.load(tmp_path / name)

    def test_files_larger_than_max_bytes_are_refused(self, fitted, tmp_path):
        fitted.save(tmp_path / "m.model")
        with pytest.raises(InvalidInput, match="at most 1,000 bytes of memory"):
            TableImputer.load(tmp_path / "m.model", max_bytes=1000)
        loaded = TableImputer.load(tmp_path / "m.model", max_bytes=10**8)
        assert loaded.n_features_in_ == fitted.n_features_in_


def weight_of_added_fillers(imputer):
    """Total weight of all fillers but the sweep, which ignores row times."""
    return sum(weight for name, weight in imputer.imputer_.weights_.items() if name != "sweep")


class TestTime:
    def test_time_column_reduces_the_error(self):
        """Values of random walks can only be predicted from rows nearby in time."""
        rng = np.random.default_rng(0)
        walk = rng.standard_normal((200, 2)).cumsum(axis=0)
        truth = pd.DataFrame({"a": walk[:, 0], "b": walk[:, 1], "noise": rng.standard_normal(200)})
        frame = truth.mask(rng.random(truth.shape) < 0.2).assign(step=range(200))
        error = {}
        for column in (None, "step"):
            imputer = TableImputer(time=column, random_state=0).fit(frame)
            error[column] = float(np.sqrt(((imputer.completed_["a"] - truth["a"]) ** 2).mean()))
        assert weight_of_added_fillers(imputer) > 0
        assert error["step"] < 0.5 * error[None]
        late = imputer.transform(frame.iloc[::-1])  # rows are filled independently, in any order
        np.testing.assert_allclose(late.iloc[::-1], imputer.transform(frame))
        assert np.sqrt(((imputer.transform(frame)["a"] - truth["a"]) ** 2).mean()) < 0.5 * error[None]

    def test_expected_error_in_long_gaps_is_close_to_the_true_error(self):
        """Single held-out entries would have neighbours in time; entries in the gaps have none."""
        rng = np.random.default_rng(1)
        truth = pd.DataFrame(rng.standard_normal((300, 3)).cumsum(axis=0), columns=list("abc"))
        gaps = np.zeros(truth.shape, dtype=bool)
        for column in gaps.T:
            for first in rng.integers(300, size=4):
                column[first : first + 20] = True
        frame = truth.mask(gaps).assign(step=np.arange(300.0))
        imputer = TableImputer(time="step", random_state=0).fit(frame)
        errors = ((imputer.completed_[list("abc")] - truth).to_numpy() / truth.std().to_numpy())[gaps]
        stated = {one.column: one.error for one in imputer.accuracy_}
        expected = np.sqrt(np.mean([(stated[name] / truth[name].std()) ** 2 for name in "abc"]))
        assert expected == pytest.approx(np.sqrt(np.mean(errors**2)), rel=0.5)

    def test_expected_error_of_noise_is_not_too_small(self):
        expected, errors = [], []
        for seed in range(3):
            rng = np.random.default_rng(seed)
            truth = pd.DataFrame(rng.standard_normal((120, 3)), columns=list("abc"))
            frame = truth.mask(rng.random(truth.shape) < 0.15)
            imputer = TableImputer(time="step", random_state=0).fit(frame.assign(step=range(120)))
            expected += [one.error for one in imputer.accuracy_ if one.column != "step"]
            errors.append((imputer.completed_[list("abc")] - truth).to_numpy()[frame.isna()])
        true_error = np.sqrt(np.mean(np.concatenate(errors) ** 2))
        assert np.sqrt(np.mean(np.square(expected))) > 0.85 * true_error

    def test_time_limit_holds_for_the_entire_fit(self, recwarn):
        """Without a limit this fit takes several seconds."""
        rng = np.random.default_rng(0)
        frame = pd.DataFrame(rng.standard_normal((600, 8)).cumsum(axis=0), columns=list("abcdefgh"))
        frame = frame.mask(rng.random(frame.shape) < 0.2).assign(t=np.arange(600.0))
        began = time.monotonic()
        imputer = TableImputer(time="t", time_limit=1, random_state=0).fit(frame)
        assert time.monotonic() - began < 2.5
        unfinished = [one for one in recwarn if issubclass(one.category, UnfinishedWarning)]
        assert bool(unfinished) == (imputer.n_sweeps_ == 0)

    def test_skewed_times_are_not_transformed(self):
        t = np.exp(np.linspace(0, 8, 60))
        x = np.where(np.arange(60) % 5 == 0, np.nan, np.sin(t / 100))
        frame = pd.DataFrame({"t": t, "x": x, "y": np.random.default_rng(0).standard_normal(60)})
        imputer = TableImputer(time="t", random_state=0).fit(frame)
        np.testing.assert_array_equal(imputer.result_.problem.moments, t)

    def test_unknown_time_is_refused_in_a_table_of_one_column(self):
        with pytest.raises(InvalidInput, match="time must name a column"):
            TableImputer(time="absent").fit(pd.DataFrame({"x": [1.0, None, 3.0, 4.0]}))

    def test_loaded_model_with_lag_features_fills_the_same(self, tmp_path):
        rng = np.random.default_rng(2)
        frame = pd.DataFrame(rng.standard_normal((120, 2)).cumsum(axis=0), columns=["a", "b"])
        frame = frame.mask(rng.random(frame.shape) < 0.2).assign(
            day=pd.date_range("2026-01-01", periods=120, freq="h"), kind=["x", "y"] * 60
        )
        imputer = TableImputer(time="day", random_state=0).fit(frame)
        assert weight_of_added_fillers(imputer) > 0
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

    @pytest.mark.parametrize("column", ["absent", "text", "gaps"])
    def test_invalid_time_columns_are_refused(self, column):
        frame = pd.DataFrame({"x": [1.0, None, 3.0], "text": ["a", "b", "a"], "gaps": [1.0, 2.0, None]})
        with pytest.raises(InvalidInput, match=r"time must name a column.*Suitable columns: day"):
            TableImputer(time=column).fit(frame.assign(day=[1.0, 2.5, 3.25]))


def test_bounds_of_dates_can_be_strings():
    days = [dt.date(2020, 1, 1) + dt.timedelta(days=i) for i in range(30)]
    frame = pl.DataFrame({"day": [None, *days[1:]], "x": list(range(30))})
    bounds = {"day": ("2020-01-20", "2020-01-25")}
    filled = TableImputer({"x": "number"}, bounds=bounds, random_state=0).fit_transform(frame)
    assert filled["day"][0] == dt.date(2020, 1, 20)


class TestWhatAFrameCarriesAlong:
    def test_names_of_column_levels(self):
        columns = pd.MultiIndex.from_tuples([("a", "x"), ("a", "y"), ("b", "x")], names=["place", "quantity"])
        frame = pd.DataFrame(np.outer(np.arange(30.0), [1, 2, 3]), columns=columns)
        frame.iloc[4, 1] = np.nan
        filled = TableImputer(random_state=0).fit_transform(frame)
        assert filled.columns.names == ["place", "quantity"]
        pd.testing.assert_index_equal(filled.columns, columns)
        assert not filled.isna().any().any()

    def test_subclasses_and_attributes(self):
        class Survey(pd.DataFrame):
            @property
            def _constructor(self):
                return Survey

        frame = Survey({"x": [1.0, None, 3, 4, 5], "y": [2.0, 4, 6, None, 10]})
        frame.attrs["source"] = "census"
        filled = TableImputer(random_state=0).fit_transform(frame)
        assert type(filled) is Survey
        assert filled.attrs == {"source": "census"}

    def test_metadata_of_arrow_fields(self):
        fields = [pa.field("x", pa.float64(), metadata={"unit": "kg"}), pa.field("y", pa.float64())]
        schema = pa.schema(fields, metadata={"origin": "scale 3"})
        table = pa.table({"x": [1.0, None, 3, 4, 5], "y": [2.0, 4, 6, None, 10]}, schema=schema)
        filled = TableImputer(random_state=0).fit_transform(table)
        assert filled.schema.equals(schema, check_metadata=True)
        assert filled["x"].null_count == 0


@pytest.mark.parametrize("limits", [(0, None), (None, 50), (None, None)])
def test_integers_may_have_bounds_on_one_side(limits):
    frame = pd.DataFrame({"a": range(1, 13), "b": [*(i * i for i in range(1, 12)), None]}).astype(
        {"b": "Int64"}
    )
    filled = TableImputer(bounds={"b": limits}, random_state=0).fit_transform(frame)
    assert filled["b"].notna().all()
    assert limits[1] is None or filled["b"].iloc[-1] <= limits[1]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_new_rows_may_declare_fewer_categories(library):
    labels, numbers = ["p", "q"] * 8, [1.0, 9.0] * 8

    def made(labels, numbers):
        if library == "pandas":
            return pd.DataFrame({"k": pd.Categorical(labels), "x": numbers})
        if library == "polars":
            kind = pl.Enum(sorted({one for one in labels if one}))
            return pl.DataFrame({"k": pl.Series(labels, dtype=kind), "x": numbers})
        return pa.table({"k": pa.array(labels).dictionary_encode(), "x": numbers})

    imputer = TableImputer(random_state=0).fit(made(labels, numbers))
    found = imputer.transform(made(["p", None], [1.0, 9.0]))
    assert list(found["k"].to_pylist() if library == "pyarrow" else found["k"]) == ["p", "q"]


def test_new_rows_without_a_value_of_a_numeric_category():
    frame = pl.DataFrame({"k": [1, 2] * 8, "x": [1.0, 9.0] * 8})
    imputer = TableImputer({"k": "category"}, random_state=0).fit(frame)
    assert imputer.transform(pl.DataFrame({"k": [None], "x": [9.0]}))["k"].to_list() == [2]


def test_a_column_named_none_keeps_its_name():
    frame = pd.DataFrame([[1.0], [None], [3.0]], columns=[None])
    assert TableImputer(random_state=0).fit_transform(frame).columns.tolist() == [None]


def test_huge_numbers_do_not_overflow_when_types_are_inferred():
    values = 1e306 + 1e300 * np.arange(24.0)
    values[3] = np.nan
    filled = TableImputer(random_state=0).fit_transform(pd.DataFrame({"a": values, "b": np.arange(24.0)}))
    assert np.isfinite(filled["a"]).all()


def test_relations_of_huge_numbers_do_not_overflow():
    numbers = np.arange(60.0)
    frame = pd.DataFrame({"a": 1e300 * (numbers % 7), "b": np.where(numbers % 7 > 4, np.nan, numbers)})
    found = inspect(Frame(frame))
    assert [one.other for one in found.relations] == ["a"]
