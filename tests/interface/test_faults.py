"""A small part of `python -m faults`: kills at random moments, and failing writes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the faults are injected on Linux only")


@pytest.mark.parametrize(
    ("arguments", "least"),
    [(["kills", "--cases", "12"], 12), (["writes", "--job", "impute csv", "--stride", "20"], 15)],
)
def test_no_fault_damages_the_output_files(tmp_path, arguments, least):
    command = [sys.executable, "-m", "faults", *arguments, "--json", tmp_path / "found.json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["violations"] == []
    assert sum(found["counts"].values()) >= least
