import itertools
import json
import re
import shlex
import signal
import subprocess
import sys

import numpy as np
import openpyxl
import pandas as pd
import pytest
from command import manifill

from manifill import TableImputer, __version__
from manifill._cli import main
from manifill._files import tables as files
from manifill._fillers.metric import MetricFiller

TABLE = "id,a,b,c\nr1,1.50,2,3\nr2,2,NA,6\nr3,3,6,\nr4,4,8,12\nr5,5,10,15.0\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "missing.csv").write_text(TABLE)
    return tmp_path


def test_csv_is_filled_and_known_cells_are_copied_exactly(folder):
    result = manifill("impute", "missing.csv", "-o", "filled.csv", "--skip", "id", folder=folder)
    assert result.returncode == 0, result.stderr
    before = [line.split(",") for line in TABLE.splitlines()]
    after = [line.split(",") for line in (folder / "filled.csv").read_text().splitlines()]
    for old, new in zip(before, after, strict=True):
        for was, now in zip(old, new, strict=True):
            assert now == was or was in ("NA", "")
    assert 2 < float(after[2][2]) < 6
    assert 6 < float(after[3][3]) < 15
    assert "Filled 2 missing values in 5 rows" in result.stderr
    assert result.stdout == ""


def test_same_seed_gives_the_same_file(folder):
    for name in ("one.csv", "two.csv"):
        assert (
            manifill(
                "impute", "missing.csv", "-o", name, "--skip", "id", "--seed", 3, folder=folder
            ).returncode
            == 0
        )
    assert (folder / "one.csv").read_bytes() == (folder / "two.csv").read_bytes()


def test_typical_errors_are_printed_by_column(folder):
    lines = [f"{i},{i**2}" if i % 5 else f"{i}," for i in range(40)]
    (folder / "long.csv").write_text("\n".join(["depth,pressure", *lines]))
    result = manifill("impute", "long.csv", "-o", "out.csv", folder=folder)
    for text in ("typical error", "of mean or mode", "pressure"):
        assert text in result.stderr


def test_npy_and_tsv_equal_the_python_interface(folder, curved):
    X, M = curved
    given = np.where(M, np.nan, X)
    np.save(folder / "missing.npy", given)
    assert manifill("impute", "missing.npy", "-o", "filled.npy", folder=folder).returncode == 0
    frame = pd.DataFrame(given, columns=[f"x{i}" for i in range(X.shape[1])])
    expected = TableImputer(random_state=0).fit_transform(frame).to_numpy()
    np.testing.assert_array_equal(np.load(folder / "filled.npy"), expected)
    assert manifill("impute", "missing.npy", "-o", "filled.tsv", folder=folder).returncode == 0
    np.testing.assert_array_equal(np.loadtxt(folder / "filled.tsv", delimiter="\t"), expected)


MIXED = "city,size,opened,open\n" + "".join(
    f"{'Rome' if i % 3 else 'Oslo'},{i % 3 + 0.5},2020-01-{i % 28 + 1:02},{'true' if i % 3 else 'false'}\n"
    for i in range(40)
)


def with_missing(text, every=7):
    lines = text.splitlines()
    for i in range(1, len(lines)):
        cells = lines[i].split(",")
        if i % every < len(cells):
            cells[i % every] = ""
        lines[i] = ",".join(cells)
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet", ".feather", ".xlsx"])
def test_every_format_is_read_and_written(folder, ending):
    (folder / "mixed.csv").write_text(with_missing(MIXED))
    first = manifill("impute", "mixed.csv", "-o", f"one{ending}", "--max-sweeps", 1, folder=folder)
    assert first.returncode == 0, first.stderr
    second = manifill("impute", f"one{ending}", "-o", "two.csv", "--max-sweeps", 1, folder=folder)
    assert second.returncode == 0, second.stderr
    assert "Nothing was missing" in second.stderr
    before = [line.split(",") for line in with_missing(MIXED).splitlines()]
    after = [line.split(",") for line in (folder / "two.csv").read_text().splitlines()]
    for old, new in zip(before, after, strict=True):
        for was, now in zip(old, new, strict=True):
            same = now.lower().removesuffix(" 00:00:00") == was.lower()
            assert now
            assert same or was == ""
    # Size determines city and open, which determine each other, so their fills are exact.
    complete = [line.split(",") for line in MIXED.splitlines()]
    assert [row[0] for row in after] == [row[0] for row in complete]
    assert [row[3].lower() for row in after] == [row[3] for row in complete]


def test_standard_input_and_output(folder):
    result = manifill("impute", "-", "-o", "-", "--max-sweeps", 1, folder=folder, input=with_missing(MIXED))
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert len(lines) == 41
    assert all(all(line.split(",")) for line in lines)
    empty = manifill("impute", "-", "-o", "-", folder=folder, input="")
    assert "standard input is empty" in empty.stderr


def test_intervals_draws_types_bounds_and_columns(folder):
    (folder / "mixed.csv").write_text(with_missing(MIXED))
    result = manifill(
        *("impute", "mixed.csv", "-o", "out.csv", "--intervals", 0.8, "--draws", 2, "--max-sweeps", 1),
        *("--types", "opened=text", "--bounds", "size=0:9", "--columns", "size,city"),
        folder=folder,
    )
    assert result.returncode == 0, result.stderr
    frame = pd.read_csv(folder / "out.csv")
    assert list(frame) == ["city", "size", "opened", "open", "size_low", "size_high"]
    assert frame["opened"].isna().sum() == frame["open"].isna().sum() > 0  # not in --columns
    assert frame[["city", "size"]].notna().all().all()
    missing = pd.read_csv(folder / "mixed.csv")["size"].isna()
    assert (frame["size_low"].notna() == missing).all()
    assert (frame["size_low"] <= frame["size"])[missing].all()
    one, two = (pd.read_csv(folder / f"out-draw{i}.csv") for i in (1, 2))
    assert one["size"].notna().all()
    assert not one.equals(two)


def test_saved_model_fills_new_rows(folder):
    (folder / "mixed.csv").write_text(with_missing(MIXED))
    (folder / "new.csv").write_text("city,size,opened,open\nOslo,,2020-01-03,\n,1.5,,true\n")
    saved = manifill("impute", "mixed.csv", "-o", "out.csv", "--save", "m.model", folder=folder)
    assert saved.returncode == 0, saved.stderr
    result = manifill("impute", "new.csv", "-o", "new-out.csv", "--model", "m.model", folder=folder)
    assert result.returncode == 0, result.stderr
    first, second = (folder / "new-out.csv").read_text().splitlines()[1:]
    assert first.startswith("Oslo,0.")
    assert first.endswith(",false")
    assert second.startswith("Rome,1.5,2020-01-")
    (folder / "bad.model").write_bytes(b"not a model")
    bad = manifill("impute", "new.csv", "-o", "x.csv", "--model", "bad.model", folder=folder)
    assert bad.returncode == 1
    assert "no model of manifill" in bad.stderr
    assert "Traceback" not in bad.stderr


def test_integers_too_long_for_floats_are_kept_exactly(folder):
    rows = [f"{9007199254740995 + 2 * i},{i % 4}" for i in range(30)]
    (folder / "codes.csv").write_text("\n".join(["code,x", *rows, "9007199254741995,"]))
    result = manifill("impute", "codes.csv", "-o", "out.parquet", folder=folder)
    assert result.returncode == 0, result.stderr
    codes = pd.read_parquet(folder / "out.parquet")["code"].astype(str).tolist()
    assert codes[:30] == [row.split(",")[0] for row in rows]


def test_input_file_can_be_replaced_by_the_output(folder):
    (folder / "mixed.csv").write_bytes(with_missing(MIXED).replace("Oslo", "Ærø").encode("latin-1"))
    result = manifill(
        *("impute", "mixed.csv", "-o", "mixed.csv", "--force", "--encoding", "latin-1", "--draws", 1),
        *("--intervals", 0.9, "--max-sweeps", 1),
        folder=folder,
    )
    assert result.returncode == 0, result.stderr
    assert "Ærø" in (folder / "mixed-draw1.csv").read_text(encoding="latin-1")
    assert "size_low" in (folder / "mixed.csv").read_text(encoding="latin-1")


def test_intervals_have_the_type_of_their_column(folder):
    (folder / "mixed.csv").write_text(with_missing(MIXED))
    result = manifill("impute", "mixed.csv", "-o", "a.parquet", "--intervals", 0.9, folder=folder)
    assert result.returncode == 0, result.stderr
    frame = pd.read_parquet(folder / "a.parquet")
    assert frame["size_low"].dtype == float
    frame[list(frame)[:4]].to_parquet(folder / "b.parquet")
    manifill("ampute", "b.parquet", "-o", "c.parquet", folder=folder)
    again = manifill("impute", "c.parquet", "-o", "d.csv", "--intervals", 0.9, folder=folder)
    assert again.returncode == 0, again.stderr
    ends = pd.read_csv(folder / "d.csv")["opened_low"].dropna()
    assert len(ends)
    assert ends.str.fullmatch(r"\d{4}-\d\d-\d\d").all()


def test_names_like_markup_work_and_conflicting_names_are_refused(folder):
    (folder / "odd.csv").write_text("[red]a,[/b]\n" + "".join(f"{i * i},{i % 5 or ''}\n" for i in range(30)))
    for command in (["impute", "odd.csv", "-o", "out.csv"], ["inspect", "odd.csv"], ["compare", "odd.csv"]):
        assert manifill(*command, folder=folder).returncode == 0
    (folder / "low.csv").write_text("a,a_low\n" + "".join(f"{i % 7 or ''},{i}\n" for i in range(30)))
    taken = manifill("impute", "low.csv", "-o", "x.csv", "--intervals", 0.9, folder=folder)
    assert "'a_low', which exists already" in taken.stderr
    same = manifill("impute", "odd.csv", "-o", "y.csv", "--save", "y.csv", folder=folder)
    assert "its own name" in same.stderr


def test_saved_model_keeps_categories_that_look_like_numbers(folder):
    rows = "".join(f"{i % 3},{i % 3 * 10 + 0.5}\n" for i in range(60))
    (folder / "zip.csv").write_text("zip,x\n" + rows + ",20.5\n")
    first = ["impute", "zip.csv", "-o", "out.csv", "--types", "zip=category", "--save", "m.model"]
    assert manifill(*first, folder=folder).returncode == 0
    (folder / "new.csv").write_text("zip,x\n,0.5\n1,\n")
    result = manifill("impute", "new.csv", "-o", "new-out.csv", "--model", "m.model", folder=folder)
    assert result.returncode == 0, result.stderr
    assert (folder / "new-out.csv").read_text().splitlines()[1] == "0,0.5"


def test_json_output_of_impute_inspect_and_compare(folder):
    (folder / "mixed.csv").write_text(with_missing(MIXED))
    result = manifill("impute", "mixed.csv", "-o", "out.csv", "--json", "--max-sweeps", 1, folder=folder)
    summary = json.loads(result.stdout)
    assert summary["rows"] == 40
    assert summary["filled"] == sum(column["missing"] for column in summary["columns"])
    assert {column["type"] for column in summary["columns"]} == {"category", "number", "date", "boolean"}
    inspected = json.loads(manifill("inspect", "mixed.csv", "--json", folder=folder).stdout)
    assert inspected["missing"] == summary["filled"]
    assert inspected["likely_mcar"] is True
    compared = json.loads(manifill("compare", "mixed.csv", "--json", folder=folder).stdout)
    assert compared["overall"]["manifill"] < compared["overall"]["simple"]


def test_inspect_reports_values_not_missing_at_random(folder):
    rows = [f"{i},{'' if i > 60 else i % 7}" for i in range(100)]
    (folder / "late.csv").write_text("\n".join(["hour,load", *rows]))
    text = manifill("inspect", "late.csv", "--types", "hour=integer", folder=folder).stdout
    assert "not missing completely at random: where load is missing, hour is larger" in text


@pytest.mark.parametrize("mechanism", ["mcar", "mar", "mnar"])
def test_ampute_removes_values(folder, mechanism):
    (folder / "complete.csv").write_text(MIXED)
    result = manifill(
        "ampute", "complete.csv", "-o", "damaged.csv", "--rate", 0.3, "--mechanism", mechanism, folder=folder
    )
    assert result.returncode == 0, result.stderr
    before, after = (pd.read_csv(folder / name, dtype=str) for name in ("complete.csv", "damaged.csv"))
    assert 0.15 < after.isna().mean().mean() < 0.45
    assert (after.isna() | (after == before)).all().all()


def test_texts_of_missing_values_can_be_given(folder):
    (folder / "codes.csv").write_text("a,b\n1,-999\n2,4\nx,6\n4,8\n")
    result = manifill("impute", "codes.csv", "-o", "out.csv", "--missing-values", "-999,x", folder=folder)
    assert result.returncode == 0, result.stderr
    assert "-999" not in (folder / "out.csv").read_text()


def test_file_without_header_is_written_without_header(folder):
    (folder / "plain.csv").write_text("1,2\n2,\n3,6\n")
    assert manifill("impute", "plain.csv", "-o", "out.csv", folder=folder).returncode == 0
    assert (folder / "out.csv").read_text().splitlines()[0] == "1,2"


def test_header_can_be_given(folder):
    (folder / "years.csv").write_text("2020,2021\n1,2\n,3\n4,5\n")
    assert manifill("impute", "years.csv", "-o", "out.csv", "--header", folder=folder).returncode == 0
    first, *rows = (folder / "out.csv").read_text().splitlines()
    assert first == "2020,2021"
    assert float(rows[1].split(",")[0]) < 10
    assert manifill("impute", "years.csv", "-o", "two.csv", "--no-header", folder=folder).returncode == 0
    assert float((folder / "two.csv").read_text().splitlines()[2].split(",")[0]) > 10


def test_blank_lines_of_a_single_column_are_missing_values(folder):
    (folder / "one.csv").write_text("a\n1\n\n3\n\n\n")
    assert manifill("impute", "one.csv", "-o", "out.csv", folder=folder).returncode == 0
    assert (folder / "out.csv").read_text() == "a\n1\n2\n3\n"


def test_too_short_time_limit_gives_the_column_means(folder):
    result = manifill(
        "impute", "missing.csv", "-o", "out.csv", "--skip", "id", "--time-limit", "1e-9", folder=folder
    )
    assert result.returncode == 0
    assert (folder / "out.csv").read_text().splitlines()[2].split(",")[2] == "6"  # the mean 6.5 as an integer


def test_text_columns_cannot_be_written_as_npy(folder):
    result = manifill("impute", "missing.csv", "-o", "out.npy", folder=folder)
    assert result.returncode == 2
    assert "numbers only" in result.stderr
    assert not (folder / "out.npy").exists()


def test_output_to_a_symbolic_link_replaces_its_target(folder):
    (folder / "real.csv").write_text("old")
    (folder / "link.csv").symlink_to(folder / "real.csv")
    manifill("impute", "missing.csv", "-o", "link.csv", "--skip", "id", "--force", folder=folder)
    assert (folder / "link.csv").is_symlink()
    assert (folder / "real.csv").read_text().startswith("id,a,b,c")


def test_empty_columns_are_left_empty_and_reported(folder):
    (folder / "empty.csv").write_text("a,nothing,b\n1,,2\n2,,\n3,,6\n")
    result = manifill("impute", "empty.csv", "-o", "out.csv", folder=folder)
    assert result.returncode == 0, result.stderr
    assert "Not filled: nothing (empty: no observed values" in result.stderr
    assert (folder / "out.csv").read_text().splitlines()[1] == "1,,2"


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        (TABLE, ["--skip", "name"], "names unknown columns: 'name'"),
        (TABLE, ["--columns", "z"], "--columns names ['z']"),
        (TABLE, ["--types", "a"], '--types must be a list like "zip=category'),
        (TABLE, ["--types", "a=colour"], "must be one of number, integer"),
        (TABLE, ["--types", "id=number"], "cannot be treated as number"),
        (TABLE, ["--bounds", "a=5"], '"a=0:100"'),
        (TABLE, ["--bounds", "a=9:1"], "Bounds of column 'a'"),
        (TABLE, ["--intervals", "90"], "--intervals must lie between 0 and 1"),
        (TABLE, ["--encoding", "morse"], "--encoding must be a known encoding"),
        (TABLE, ["--delimiter", "ab"], "--delimiter must be one character"),
        ("a,b\n1,2\n3\n", [], "Line 3 of in.csv has 1 cells where the first line has 2"),
        ("", [], "is empty"),
        ("a,b\n", [], "has a header and no rows"),
        ("a,a\n1,2\n", [], "repeats ['a']"),
        ("a,b\n1,inf\n2,3\n", [], "line 2 of in.csv, column 'b', is 'inf'"),
        ("a,b\n,\n", [], "must have a column with observed values"),
        ('a,b\n"1,2\n', [], "quotation mark that is not closed"),
        ("a,b\n" + "1,2\n" * 30 + "1,=2+3\n", [], "holds numbers, but line 32 is '=2+3'"),
        (
            "a,b\n" + "1,2\n" * 30 + "oops,2\n",
            [],
            "Column 'a' of in.csv holds numbers, but line 32 is 'oops'",
        ),
        ("a,b\n1,2\n3," + "9" * 400 + "\n", [], "column 'b', is '99999999999999999999'… (400 characters"),
        ("a,b\n1,2\n3," + "9" * 2_000_000 + "\n", [], "line 3 of in.csv, column 'b', has more"),
    ],
)
def test_invalid_files_and_options_are_refused(folder, text, arguments, message):
    (folder / "in.csv").write_text(text)
    result = manifill("impute", "in.csv", "-o", "out.csv", *arguments, folder=folder)
    assert message in result.stderr
    assert result.returncode == (2 if arguments else 1)
    assert "Traceback" not in result.stderr
    assert sorted(p.name for p in folder.iterdir()) == ["in.csv", "missing.csv"]


def test_semicolons_and_decimal_commas_are_kept(folder):
    (folder / "eu.csv").write_text("a;b\n" + "".join(f"{i},5;{2 * i},5\n" for i in range(30)) + ";9,5\n")
    result = manifill("impute", "eu.csv", "-o", "out.csv", folder=folder)
    assert result.returncode == 0, result.stderr
    *rows, last = (folder / "out.csv").read_text().splitlines()
    assert rows[1] == "0,5;0,5"
    filled, known = last.split(";")
    assert known == "9,5"
    assert 3.5 < float(filled.replace(",", ".")) < 6


def test_codes_with_leading_zeros_are_categories(folder):
    (folder / "zip.csv").write_text(
        "zip,x\n" + "".join(f"0{i % 4}{i % 4},{i % 4}\n" for i in range(40)) + ",2\n"
    )
    result = manifill("impute", "zip.csv", "-o", "out.csv", folder=folder)
    assert result.returncode == 0, result.stderr
    assert (folder / "out.csv").read_text().splitlines()[-1] == "022,2"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["impute", "nowhere.csv", "-o", "out.csv"], 1, "no file nowhere.csv"),
        (["impute", "missing.csv", "-o", "out.doc"], 2, "out.doc must end in one of .csv, .tsv, .parquet"),
        (["impute", "missing.csv", "-o", "there/out.csv"], 2, "no folder there"),
        (["impute", "missing.csv", "-o", "missing.csv"], 2, "exists already; use --force"),
        (["impute", "[/x].csv", "-o", "out.csv"], 1, "no file [/x].csv"),
        (["impute", "missing.csv", "-o", "folder.csv", "--force"], 2, "is a folder"),
        (["demo", "--picture", "there/x.png"], 1, "folder that exists"),
        (["demo", "--picture", "x.zzz"], 1, "must end in .png"),
        (["impute", "folder.csv", "-o", "out.csv"], 1, "is a folder"),
        (["impute", "missing.csv", "-o", "-", "--draws", "2"], 2, "not a pipe"),
        (["impute", "missing.csv", "-o", "out.csv", "--max-sweeps", "0"], 2, "--max-sweeps"),
        (
            ["impute", "missing.csv", "-o", "out.csv", "--model", "m", "--draws", "2"],
            2,
            "--draws cannot be given with it",
        ),
        (["ampute", "missing.csv", "-o", "out.csv", "--rate", "2"], 2, "--rate must be a share"),
        (["ampute", "missing.csv", "-o", "out.csv", "--mechanism", "magic"], 2, "--mechanism must be one of"),
        (["compare", "missing.csv", "--share", "0.9"], 2, "--share must be"),
        (["impute", "missing.csv"], 2, "--output"),
        (["imptue"], 2, "imptue"),
    ],
)
def test_invalid_paths_and_usage_are_refused(folder, arguments, code, message):
    (folder / "folder.csv").mkdir()
    result = manifill(*arguments, folder=folder)
    assert result.returncode == code
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert (folder / "missing.csv").read_text() == TABLE


def test_wrong_encoding_and_damaged_files_are_refused(folder):
    (folder / "latin.csv").write_bytes("a,street\n1,x\n2,stra\xdfe\n".encode("latin-1"))
    wrong = manifill("impute", "latin.csv", "-o", "out.csv", folder=folder)
    assert "line 3, cell 2, is not" in wrong.stderr
    assert "--encoding latin-1" in wrong.stderr
    right = manifill("impute", "latin.csv", "-o", "out.csv", "--encoding", "latin-1", folder=folder)
    assert right.returncode == 0, right.stderr
    np.save(folder / "objects.npy", np.array([[object()]]), allow_pickle=True)
    for name, content in (
        ("objects.npy", None),
        ("broken.npy", b"\x93NUMPY\x01\x00v\x00{garbage" + b" " * 200),
        ("empty.npy", b""),
        ("broken.parquet", b"PAR1 no"),
        ("broken.feather", b"no"),
        ("broken.xlsx", b"PK no"),
    ):
        if content is not None:
            (folder / name).write_bytes(content)
        result = manifill("impute", name, "-o", "x.csv", folder=folder)
        assert result.returncode == 1
        assert name in result.stderr
        assert "Traceback" not in result.stderr
    np.save(folder / "cube.npy", np.ones((2, 2, 2)))
    assert "shape (2, 2, 2)" in manifill("impute", "cube.npy", "-o", "x.csv", folder=folder).stderr
    book = openpyxl.Workbook()
    book.active.append(["a", "b"])
    book.active.append([1, "=1+1"])
    book.save(folder / "formula.xlsx")
    formula = manifill("impute", "formula.xlsx", "-o", "x.csv", folder=folder).stderr
    assert "B2 of formula.xlsx holds a formula" in formula
    assert not (folder / "x.csv").exists()


def test_texts_like_formulas_stay_texts(folder):
    (folder / "f.csv").write_text("x,note\n" + "".join(f"{i},=SUM(A1:A{i})\n" for i in range(1, 9)) + ",=2\n")
    result = manifill("impute", "f.csv", "-o", "f.xlsx", folder=folder)
    assert result.returncode == 0, result.stderr
    cell = openpyxl.load_workbook(folder / "f.xlsx").active["B2"]
    assert (cell.value, cell.data_type) == ("=SUM(A1:A1)", "s")


def test_force_replaces_the_output(folder):
    (folder / "out.csv").write_text("old")
    assert (
        manifill(
            "impute", "missing.csv", "-o", "out.csv", "--skip", "id", "--force", folder=folder
        ).returncode
        == 0
    )
    assert (folder / "out.csv").read_text().startswith("id,a,b,c\nr1,1.50")


def test_interrupted_run_writes_nothing(folder, monkeypatch, capsys):
    steps = MetricFiller.steps

    def interrupted(*arguments):
        yield from itertools.islice(steps(*arguments), 2)
        raise KeyboardInterrupt

    monkeypatch.setattr(MetricFiller, "steps", interrupted)
    monkeypatch.setattr(sys, "argv", ["manifill", "impute", "missing.csv", "-o", "out.csv", "--skip", "id"])
    monkeypatch.chdir(folder)
    with pytest.raises(SystemExit) as ending:
        main()
    assert ending.value.code == 130
    assert "interrupted; nothing was written" in capsys.readouterr().err
    assert [p.name for p in folder.iterdir()] == ["missing.csv"]


@pytest.mark.parametrize("keep", [False, True])
def test_interrupted_run_writes_the_last_full_sweep_only_with_keep_last(folder, monkeypatch, keep):
    def interrupted(fill):
        if fill.sweep > 0:
            raise KeyboardInterrupt
        return "start"

    (folder / "mixed.csv").write_text(with_missing(MIXED))
    monkeypatch.setattr("manifill._fillers.base.Fill.__str__", interrupted)  # called after the first sweep
    more = ["--keep-last"] if keep else []
    result = manifill("impute", "mixed.csv", "-o", "out.csv", *more, folder=folder)
    assert result.returncode == (0 if keep else 130)
    assert "interrupted" in result.stderr
    assert (folder / "out.csv").exists() == keep


def test_a_failing_write_leaves_no_file(folder, monkeypatch):
    table = files.read(folder / "missing.csv")
    monkeypatch.setattr("csv.writer", None)
    with pytest.raises(TypeError):
        files.write(table, {}, folder / "out.csv")
    assert [p.name for p in folder.iterdir()] == ["missing.csv"]


def test_version_and_help(folder):
    assert manifill("--version", folder=folder).stdout.strip() == f"manifill {__version__}"
    text = manifill("impute", "--help", folder=folder).stdout
    assert "manifill impute people.csv -o filled.csv" in text


def test_examples_in_help_texts_run(folder):
    """Run every command shown in a help text, in order, on files with the names used there."""
    people = "name,age,zip,height\n" + "".join(
        f"p{i},{'' if i % 5 == 0 else 20 + i % 30},{i % 3},{'NA' if i % 7 == 0 else 150 + i % 30}\n"
        for i in range(60)
    )
    (folder / "people.csv").write_text(people)
    (folder / "new.csv").write_text(people[:200].rsplit("\n", 1)[0] + "\n")
    (folder / "complete.csv").write_text(MIXED)
    for name in ("impute", "inspect", "compare", "ampute", "example"):
        text = manifill(name, "--help", folder=folder).stdout
        commands = re.findall(r"manifill \w+ .*|cat \w+.*", text.replace("│", ""))
        examples = [command.strip() for command in commands if "[OPTIONS]" not in command]
        assert examples, text
        for example in examples:
            arguments = shlex.split(example.rpartition("|")[2].partition(">")[0])
            more = ["--force"] if " -o " in example and "-o -" not in example else []
            done = manifill(*arguments[1:], *more, folder=folder, input=people)
            assert done.returncode == 0, (example, done.stderr)


def test_a_killed_run_leaves_no_file(folder):
    """The process is killed while it writes; the output has a temporary name until it is complete."""
    rows = "".join(f"{i},{'' if i % 9 == 0 else i % 17}\n" for i in range(3000))
    (folder / "long.csv").write_text("a,b\n" + rows)
    code = (
        "import os, signal, sys; import csv; from manifill._cli import main; writer = csv.writer\n"
        "class Deadly:\n"
        "    def __init__(self, *a, **k): self.w = writer(*a, **k); self.n = 0\n"
        "    def writerow(self, row):\n"
        "        self.w.writerow(row); self.n += 1\n"
        "        if self.n == 1000: os.kill(os.getpid(), signal.SIGKILL)\n"
        "csv.writer = Deadly\n"
        "sys.argv = ['manifill', 'impute', 'long.csv', '-o', 'out.csv', '--max-sweeps', '1']; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert not (folder / "out.csv").exists()


def test_demo_writes_a_picture_and_beats_other_methods(folder):
    result = manifill("demo", "--picture", "picture.png", folder=folder)
    assert result.returncode == 0, result.stderr
    assert (folder / "picture.png").read_bytes().startswith(b"\x89PNG")
    rows = {
        line.split("│")[1].strip(): line.split("│")[2] for line in result.stderr.splitlines() if "│" in line
    }
    assert float(rows["manifill"]) < float(rows["KNNImputer"]) < float(rows["column mean"])
