import csv
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

from benchmarks.__main__ import BENCHMARKS
from benchmarks.data import curved
from benchmarks.fills import fill_apart
from sklearn.impute import KNNImputer

ROOT = Path(__file__).parents[2]


def benchmarks(*arguments):
    environment = {k: v for k, v in os.environ.items() if k != "MANIFILL_DATA"} | {"COLUMNS": "200"}
    # One thread: with the other tests beside it, products shared by two would wait for each other.
    environment |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )


def test_benchmarks_run_and_write_at_smoke_scale_without_the_data_folder(tmp_path):
    result = benchmarks("--smoke", "--results", str(tmp_path / "results"))
    assert result.returncode == 0, result.stderr
    for word in ("Swiss roll", "Block schedule", "KNN", "manifill", "Growth", "Cold starts"):
        assert word in result.stdout
    for word in ("failed", "not finished", "out of memory"):
        assert word not in result.stdout
    written = {path.name for path in (tmp_path / "results").iterdir()}
    expected = {f"{name}.{kind}" for name in BENCHMARKS for kind in ("md", "csv")}
    pictures = ("accuracy", "calibration", "gallery_pictures", "growth_columns", "growth_rows", "surface")
    assert written == expected | {f"{name}.png" for name in pictures}
    for name in BENCHMARKS:
        page = (tmp_path / "results" / f"{name}.md").read_text(encoding="utf-8")
        for word in (f"# {name}", "Smoke scale", "- date: ", "- machine: ", "- commit: ", "numpy"):
            assert word in page
        with (tmp_path / "results" / f"{name}.csv").open(newline="", encoding="utf-8") as file:
            header, *rows = csv.reader(file)
        assert rows
        assert all(len(row) == len(header) for row in rows)
        assert "| " + " | ".join(header) + " |" in page


def test_a_fill_that_takes_too_long_is_ended_and_said_so():
    outcome = fill_apart(KNNImputer(), partial(curved, 2000, 20, 0.2), limit=0.01)
    assert outcome.failure == "not finished in 0.01 s"


def test_results_go_to_an_ignored_folder():
    checked = subprocess.run(["git", "check-ignore", "-q", "benchmarks/results/smoke/cold.md"], cwd=ROOT)
    assert checked.returncode in (0, 128)  # 128: not a git checkout, as in the source distribution


def test_unknown_benchmark():
    result = benchmarks("nothing")
    assert result.returncode == 2
    assert "no benchmark nothing" in result.stderr


def test_help_says_how_long_it_takes():
    result = benchmarks("--help")
    assert result.returncode == 0
    assert "about three hours" in " ".join(result.stdout.split())
