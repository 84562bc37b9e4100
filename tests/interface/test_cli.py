import itertools
import os
import subprocess
import sys

import numpy as np
import pytest

from manifill import IGHImputer, __version__, files
from manifill.cli import main
from manifill.sweep import sweeps

HOLES = "id,a,b,c\nr1,1.50,2,3\nr2,2,NA,6\nr3,3,6,\nr4,4,8,12\nr5,5,10,15.0\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "holes.csv").write_text(HOLES)
    return tmp_path


def manifill(*arguments, folder, **options):
    return subprocess.run(
        [sys.executable, "-m", "manifill", *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "300"},
        **options,
    )


def test_it_fills_a_csv_and_keeps_what_was_there_letter_by_letter(folder):
    result = manifill("impute", "holes.csv", "-o", "filled.csv", "--skip", "id", folder=folder)
    assert result.returncode == 0, result.stderr
    before = [line.split(",") for line in HOLES.splitlines()]
    after = [line.split(",") for line in (folder / "filled.csv").read_text().splitlines()]
    for old, new in zip(before, after, strict=True):
        for was, now in zip(old, new, strict=True):
            assert now == was or was in ("NA", "")
    assert 2 < float(after[2][2]) < 6
    assert 6 < float(after[3][3]) < 15
    assert "filled 2 of 15 values" in result.stderr
    assert result.stdout == ""


def test_same_seed_same_file(folder):
    for name in ("one.csv", "two.csv"):
        assert (
            manifill("impute", "holes.csv", "-o", name, "--skip", "id", "--seed", 3, folder=folder).returncode
            == 0
        )
    assert (folder / "one.csv").read_bytes() == (folder / "two.csv").read_bytes()


def test_the_error_to_expect_is_said_by_name(folder):
    lines = [f"{i},{i**2}" if i % 5 else f"{i}," for i in range(40)]
    (folder / "long.csv").write_text("\n".join(["depth,pressure", *lines]))
    result = manifill("impute", "long.csv", "-o", "out.csv", folder=folder)
    for word in ("of mean", "depth", "pressure"):
        assert word in result.stderr
    few = manifill("impute", "holes.csv", "-o", "few.csv", "--skip", "id", folder=folder)
    assert "Too little is observed" in few.stderr


def test_npy_and_tsv(folder, curved, all_candidates):
    X, M = curved
    np.save(folder / "holes.npy", np.where(M, np.nan, X))
    assert manifill("impute", "holes.npy", "-o", "filled.npy", folder=folder).returncode == 0
    expected = IGHImputer(random_state=0).fit_transform(np.where(M, np.nan, X))
    np.testing.assert_array_equal(np.load(folder / "filled.npy"), expected)
    assert manifill("impute", "holes.npy", "-o", "filled.tsv", folder=folder).returncode == 0
    np.testing.assert_array_equal(np.loadtxt(folder / "filled.tsv", delimiter="\t"), expected)


def test_missing_values_can_be_named(folder):
    (folder / "codes.csv").write_text("a,b\n1,-999\n2,4\nx,6\n4,8\n")
    result = manifill("impute", "codes.csv", "-o", "out.csv", "--missing-values", "-999,x", folder=folder)
    assert result.returncode == 0, result.stderr
    assert "-999" not in (folder / "out.csv").read_text()


def test_a_file_without_header_stays_without(folder):
    (folder / "plain.csv").write_text("1,2\n2,\n3,6\n")
    assert manifill("impute", "plain.csv", "-o", "out.csv", folder=folder).returncode == 0
    assert (folder / "out.csv").read_text().splitlines()[0] == "1,2"


def test_whether_there_is_a_header_can_be_said(folder):
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
    assert (folder / "out.csv").read_text() == "a\n1\n2.0\n3\n"


def test_a_time_limit_too_short_gives_the_means(folder):
    result = manifill(
        "impute", "holes.csv", "-o", "out.csv", "--skip", "id", "--time-limit", "1e-9", folder=folder
    )
    assert result.returncode == 0
    assert float((folder / "out.csv").read_text().splitlines()[2].split(",")[2]) == pytest.approx(
        (2 + 6 + 8 + 10) / 4
    )


def test_skipped_columns_do_not_vanish(folder):
    result = manifill("impute", "holes.csv", "-o", "out.npy", "--skip", "id", folder=folder)
    assert result.returncode == 1
    assert "numbers only" in result.stderr
    np.save(folder / "a.npy", np.ones((2, 2)))
    assert "no names" in manifill("impute", "a.npy", "-o", "out.npy", "--skip", "id", folder=folder).stderr


def test_a_link_is_written_through(folder):
    (folder / "real.csv").write_text("old")
    (folder / "link.csv").symlink_to(folder / "real.csv")
    manifill("impute", "holes.csv", "-o", "link.csv", "--skip", "id", "--force", folder=folder)
    assert (folder / "link.csv").is_symlink()
    assert (folder / "real.csv").read_text().startswith("id,a,b,c")


def test_empty_columns_are_left_empty_and_named(folder):
    (folder / "empty.csv").write_text("a,nothing,b\n1,,2\n2,,\n3,,6\n")
    result = manifill("impute", "empty.csv", "-o", "out.csv", folder=folder)
    assert result.returncode == 0, result.stderr
    assert "nothing was observed there: nothing" in result.stderr
    assert (folder / "out.csv").read_text().splitlines()[1] == "1,,2"


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        (HOLES, [], "line 2 of in.csv, column 'id', is 'r1'"),
        (HOLES, ["--skip", "name"], "no column ['name'] to skip"),
        ("a,b\n1,2\n3\n", [], "Line 3 of in.csv has 1 cells where the first line has 2"),
        ("", [], "is empty"),
        ("a,b\n", [], "has a header and no rows"),
        ("a,a\n1,2\n", [], "repeats ['a']"),
        ("a,b\n1,inf\n", [], "line 2 of in.csv, column 'b', is 'inf'"),
        ("a,b\n,\n", [], "no observed number"),
        ('a,b\n"1,2\n', [], "cannot be read as a table"),
        ("a;b\n1;2,5\n", [], "separated by semicolons"),
        ("[/m],b\nx,1\n", [], "column '[/m]', is 'x'"),
        ("a,b\nNA,-999\n", ["--missing-values", "-999"], '--missing-values "-999,NA"'),
        ("a\n1\n\n", ["--kernel", "gauss"], "kernel must be one of"),
        ("a\n1\n", ["--max-sweeps", "0"], "max_sweeps must be"),
    ],
)
def test_bad_files_and_options(folder, text, arguments, message):
    (folder / "in.csv").write_text(text)
    result = manifill("impute", "in.csv", "-o", "out.csv", *arguments, folder=folder)
    assert result.returncode == 1
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert sorted(p.name for p in folder.iterdir()) == ["holes.csv", "in.csv"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["impute", "nowhere.csv", "-o", "out.csv"], 1, "no file nowhere.csv"),
        (["impute", "holes.csv", "-o", "out.xlsx"], 1, "out.xlsx must end in one of .csv, .tsv, .npy"),
        (["impute", "holes.csv", "-o", "there/out.csv"], 1, "no folder there"),
        (["impute", "holes.csv", "-o", "holes.csv"], 1, "exists already; use --force"),
        (["impute", "[/x].csv", "-o", "out.csv"], 1, "no file [/x].csv"),
        (["impute", "holes.csv", "-o", "folder.csv", "--force"], 1, "cannot be written"),
        (["demo", "--picture", "there/x.png"], 1, "folder that exists"),
        (["demo", "--picture", "x.zzz"], 1, "must end in .png"),
        (["impute", "holes.csv"], 2, "--output"),
        (["imptue"], 2, "imptue"),
    ],
)
def test_bad_paths_and_usage(folder, arguments, code, message):
    (folder / "folder.csv").mkdir()
    result = manifill(*arguments, folder=folder)
    assert result.returncode == code
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert (folder / "holes.csv").read_text() == HOLES


def test_wrong_encoding_and_wrong_array(folder):
    (folder / "latin.csv").write_bytes("stra\xdfe\n1\n".encode("latin-1"))
    assert "UTF-8" in manifill("impute", "latin.csv", "-o", "out.csv", folder=folder).stderr
    np.save(folder / "objects.npy", np.array([[object()]]), allow_pickle=True)
    result = manifill("impute", "objects.npy", "-o", "out.csv", folder=folder)
    assert result.returncode == 1
    assert "array of numbers" in result.stderr
    np.save(folder / "whole.npy", np.array([[2**60 + 1, 1], [3, 4]]))
    assert "float64 cannot hold" in manifill("impute", "whole.npy", "-o", "out.npy", folder=folder).stderr
    (folder / "broken.npy").write_bytes(b"\x93NUMPY\x01\x00v\x00{garbage" + b" " * 200)
    assert "array of numbers" in manifill("impute", "broken.npy", "-o", "out.npy", folder=folder).stderr
    (folder / "empty.npy").touch()
    assert "array of numbers" in manifill("impute", "empty.npy", "-o", "out.csv", folder=folder).stderr


def test_force_replaces(folder):
    (folder / "out.csv").write_text("old")
    assert (
        manifill("impute", "holes.csv", "-o", "out.csv", "--skip", "id", "--force", folder=folder).returncode
        == 0
    )
    assert (folder / "out.csv").read_text().startswith("id,a,b,c\nr1,1.50")


def test_interrupting_writes_nothing(folder, monkeypatch, capsys):
    def interrupted(problem, **options):
        yield from itertools.islice(sweeps(problem, **options), 2)
        raise KeyboardInterrupt

    monkeypatch.setattr("manifill.tuning.plan.sweeps", interrupted)
    monkeypatch.setattr(sys, "argv", ["manifill", "impute", "holes.csv", "-o", "out.csv", "--skip", "id"])
    monkeypatch.chdir(folder)
    with pytest.raises(SystemExit) as ending:
        main()
    assert ending.value.code == 130
    assert "interrupted; nothing was written" in capsys.readouterr().err
    assert [p.name for p in folder.iterdir()] == ["holes.csv"]


def test_a_failing_write_leaves_no_file(folder, monkeypatch):
    table = files.read(folder / "holes.csv", skip=["id"])
    monkeypatch.setattr("csv.writer", None)
    with pytest.raises(TypeError):
        files.write(table, folder / "out.csv")
    assert [p.name for p in folder.iterdir()] == ["holes.csv"]


def test_version_and_help(folder):
    assert manifill("--version", folder=folder).stdout.strip() == f"manifill {__version__}"
    text = manifill("impute", "--help", folder=folder).stdout
    assert "manifill impute holes.csv -o filled.csv" in text


def test_demo(folder):
    result = manifill("demo", "--picture", "picture.png", folder=folder)
    assert result.returncode == 0, result.stderr
    assert (folder / "picture.png").read_bytes().startswith(b"\x89PNG")
    rows = {
        line.split("│")[1].strip(): line.split("│")[2] for line in result.stderr.splitlines() if "│" in line
    }
    assert float(rows["manifill"]) < float(rows["KNNImputer"]) < float(rows["column mean"])
