import csv
import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

from benchmarks.__main__ import BENCHMARKS
from benchmarks.data import DEVELOPMENT, FILES, PICTURES_AND_SENSORS_FOR_REPORTS, REPORT, TABLES, curved
from benchmarks.fills import fill_in_subprocess
from sklearn.impute import KNNImputer

ROOT = Path(__file__).parents[2]


def benchmarks(*arguments):
    environment = {k: v for k, v in os.environ.items() if k != "MANIFILL_DATA"} | {"COLUMNS": "200"}
    # One thread, because other tests run at the same time.
    environment |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )


def test_every_benchmark_runs_at_smoke_scale_without_data(tmp_path):
    result = benchmarks("--smoke", "--results", str(tmp_path / "results"))
    assert result.returncode == 0, result.stderr
    for text in ("Swiss roll", "Block schedule", "KNN", "manifill", "Growth", "Cold starts"):
        assert text in result.stdout
    for text in ("failed", "not finished", "out of memory"):
        assert text not in result.stdout
    written = {path.name for path in (tmp_path / "results").iterdir()}
    expected = {f"{name}.{suffix}" for name in BENCHMARKS for suffix in ("md", "csv")}
    pictures = (
        "accuracy",
        "calibration",
        "gallery_pictures",
        "growth_columns",
        "growth_rows",
        "overview",
        "surface",
        "tradeoff",
        "weights",
    )
    assert written == expected | {f"{name}.png" for name in pictures}
    for name in BENCHMARKS:
        page = (tmp_path / "results" / f"{name}.md").read_text(encoding="utf-8")
        for text in (f"# {name}", "Smoke scale", "- date: ", "- machine: ", "- commit: ", "numpy"):
            assert text in page
        with (tmp_path / "results" / f"{name}.csv").open(newline="", encoding="utf-8") as file:
            header, *rows = csv.reader(file)
        assert rows
        assert all(len(row) == len(header) for row in rows)
        assert "| " + " | ".join(header) + " |" in page


def test_fill_over_the_time_limit_is_stopped_and_reported():
    outcome = fill_in_subprocess(KNNImputer(), partial(curved, 2000, 20, 0.2), limit=0.01)
    assert outcome.failure == "not finished in 0.01 s"


def test_git_ignores_the_results_folder():
    checked = subprocess.run(["git", "check-ignore", "-q", "benchmarks/results/smoke/cold.md"], cwd=ROOT)
    assert checked.returncode in (0, 128)  # 128: not a git checkout, as in the source distribution


def test_unknown_benchmark_is_refused():
    result = benchmarks("nothing")
    assert result.returncode == 2
    assert "no benchmark nothing" in result.stderr


def test_development_and_report_sets_are_separate():
    assert not set(DEVELOPMENT) & {*REPORT, *PICTURES_AND_SENSORS_FOR_REPORTS}
    assert set(TABLES) | set(FILES) <= set(DEVELOPMENT)
    text = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "benchmarks").glob("*.py"))
    loaded = set(re.findall(r'load(?:ed)?\("(\w+)"\)', text))
    assert len(loaded) > 5
    assert loaded <= {*DEVELOPMENT, *REPORT, *PICTURES_AND_SENSORS_FOR_REPORTS}
