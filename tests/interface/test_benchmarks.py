import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def benchmarks(*arguments):
    environment = {k: v for k, v in os.environ.items() if k != "MANIFILL_DATA"} | {"COLUMNS": "200"}
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )


def test_benchmarks_run_at_smoke_scale_without_the_data_folder():
    result = benchmarks("--smoke")
    assert result.returncode == 0, result.stderr
    for word in ("Swiss roll", "Block schedule", "KNN", "manifill"):
        assert word in result.stdout


def test_unknown_benchmark():
    result = benchmarks("speed")
    assert result.returncode == 2
    assert "no benchmark speed" in result.stderr
