"""The paper's experiments from the command line; their results are tested in tests/paper."""

import json
import os
import subprocess
import sys

import pytest


def manifill(*arguments, folder, **environment):
    without_data = {k: v for k, v in os.environ.items() if k != "MANIFILL_DATA"}
    return subprocess.run(
        [sys.executable, "-m", "manifill", "reproduce", *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**without_data, "COLUMNS": "300", **environment},
    )


@pytest.fixture
def offline(tmp_path):
    """Environment variables: no network, empty cache."""
    return {"MANIFILL_CACHE": str(tmp_path / "cache"), "HTTPS_PROXY": "http://127.0.0.1:1"}


def test_experiment_writes_files_and_prints_claims(tmp_path, offline):
    result = manifill("umist", "--scale", "smoke", "-o", "out", "--seed", 3, folder=tmp_path, **offline)
    assert result.returncode == 0, result.stderr
    assert "SYNTHETIC" in result.stderr
    assert "  · " in result.stderr  # claims are not judged on synthetic data
    assert "✓" not in result.stderr
    record = json.loads((tmp_path / "out" / "umist.json").read_text())
    assert (record["seed"], record["scale"]) == (3, "smoke")
    assert {path.suffix for path in (tmp_path / "out").iterdir()} == {".csv", ".json", ".png", ".svg"}


def test_message_names_the_missing_data(tmp_path, offline):
    result = manifill("olivetti", "--scale", "smoke", folder=tmp_path, **offline)
    assert result.returncode == 1
    assert "not run" in result.stderr
    assert "MANIFILL_DATA" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["faces"], ["'faces'", "swiss_roll", "video", "all"]),
        (["umist", "--scale", "huge"], ["--scale", "smoke", "paper"]),
        (["umist", "--data-dir", "not/there"], ["--data-dir", "not/there"]),
    ],
)
def test_invalid_arguments_are_refused(arguments, parts, tmp_path):
    result = manifill(*arguments, folder=tmp_path)
    assert result.returncode == 1
    for part in parts:
        assert part in result.stderr
    assert "Traceback" not in result.stderr


def test_help_names_every_experiment(tmp_path):
    from manifill._experiments import EXPERIMENTS

    text = manifill("--help", folder=tmp_path).stdout
    assert all(name in text for name in EXPERIMENTS)
