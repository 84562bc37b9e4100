"""The paper's experiments from the command line; what they give is tested in tests/paper."""

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
def nowhere(tmp_path):
    """An environment in which nothing can be fetched, and an empty cache."""
    return {"MANIFILL_CACHE": str(tmp_path / "cache"), "HTTPS_PROXY": "http://127.0.0.1:1"}


def test_an_experiment_is_run_written_and_said(tmp_path, nowhere):
    result = manifill("umist", "--scale", "smoke", "-o", "out", "--seed", 3, folder=tmp_path, **nowhere)
    assert result.returncode == 0, result.stderr
    assert "SYNTHETIC" in result.stderr
    assert "  · " in result.stderr  # a claim of the paper is not judged by made-up data
    assert "✓" not in result.stderr
    record = json.loads((tmp_path / "out" / "umist.json").read_text())
    assert (record["seed"], record["scale"]) == (3, "smoke")
    assert {path.suffix for path in (tmp_path / "out").iterdir()} == {".csv", ".json", ".png", ".svg"}


def test_what_cannot_be_run_says_what_is_needed(tmp_path, nowhere):
    result = manifill("olivetti", "--scale", "smoke", folder=tmp_path, **nowhere)
    assert result.returncode == 1
    assert "not run" in result.stderr
    assert "MANIFILL_DATA" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["faces"], ["'faces'", "swiss_roll", "video", "all"]),
        (["umist", "--scale", "huge"], ["--scale", "smoke", "paper"]),
        (["umist", "--data-dir", "not/there"], ["--data-dir", "not/there"]),
    ],
)
def test_bad_words_get_a_clear_answer(arguments, words, tmp_path):
    result = manifill(*arguments, folder=tmp_path)
    assert result.returncode == 1
    for word in words:
        assert word in result.stderr
    assert "Traceback" not in result.stderr


def test_help_names_every_experiment(tmp_path):
    from manifill._experiments import EXPERIMENTS

    text = manifill("--help", folder=tmp_path).stdout
    assert all(name in text for name in EXPERIMENTS)
