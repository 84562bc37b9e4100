"""Every experiment of the paper at smoke scale; in full: `manifill reproduce all`."""

import csv
import json

import numpy as np
import pytest
from markupsafe import escape
from matplotlib.image import imread

from manifill._experiments import EXPERIMENTS, reproduce
from manifill._experiments.base import OURS, PAPER, Fill
from manifill._experiments.convergence import arrived, settled
from manifill._experiments.folder import write_page
from manifill.datasets import public
from manifill.errors import DatasetNotFound, InvalidInput

NEEDS_DATA = {"olivetti"}

# On one worker, so that an experiment is run once for all the tests that look at it.
pytestmark = pytest.mark.xdist_group("experiments")


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """Records of the experiments that were run, by name; each is run when first asked for."""
    return {}, tmp_path_factory.mktemp("reproduction")


def record_of(name, done, data_folder=None):
    records, folder = done
    if name not in records:
        records[name] = reproduce(EXPERIMENTS[name], folder, scale="smoke", data_dir=data_folder)
    return records[name], folder


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_it_runs_and_leaves_numbers_figures_and_a_record(name, done, data_folder):
    record, folder = record_of(name, done, data_folder)
    assert json.loads((folder / f"{name}.json").read_text()) == json.loads(json.dumps(record))
    with (folder / f"{name}.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["method"] for row in rows} == {PAPER, OURS}
    for figure in record["figures"]:
        picture = imread(folder / f"{figure}.png")
        assert picture[..., :3].std() > 0.02, "an empty picture"
        assert (folder / f"{figure}.svg").read_text().startswith("<?xml")
    for extra in record["extra"]:
        assert (folder / extra).stat().st_size > 1000
    assert record["claims"]
    assert record["seed"] == 0
    assert record["versions"]["numpy"] == np.__version__
    assert not list(folder.glob(".*"))


@pytest.mark.parametrize("name", ["swiss_roll", "umist", "coil"])
def test_at_smoke_scale_the_papers_claims_hold_already(name, done, data_folder):
    record, _ = record_of(name, done, data_folder)
    assert record["claims"][0]["holds"], record["claims"][0]["found"]


def test_defaults_do_better_than_the_papers_algorithm(done, data_folder):
    for name, column in (("olivetti", "RMSE"), ("video", "RMSE"), ("umist", "RMSE")):
        _, folder = record_of(name, done, data_folder)
        with (folder / f"{name}.csv").open() as file:
            rows = list(csv.DictReader(file))
        errors = {
            who: np.mean([float(r[column]) for r in rows if r["method"] == who]) for who in (PAPER, OURS)
        }
        assert errors[OURS] < errors[PAPER], name


def test_the_page_shows_claims_pictures_and_what_was_not_run(done, data_folder):
    record, folder = record_of("umist", done, data_folder)
    missing = {"experiment": "olivetti", "title": "Olivetti <faces>", "why": "no data"}
    text = write_page([record, missing], folder).read_text()
    for claim in record["claims"]:
        assert escape(claim["claim"]) in text
    assert text.count("data:image/png;base64,") == len(record["figures"])
    assert "Not run: no data" in text
    assert "Olivetti &lt;faces&gt;" in text
    assert "Smoke scale" in text


@pytest.mark.parametrize("name", sorted(set(EXPERIMENTS) - {"swiss_roll", "convergence"}))
def test_without_data_it_runs_on_synthetic_ones_or_says_what_is_needed(name, tmp_path, monkeypatch):
    def nowhere(file, folder):
        raise DatasetNotFound(f"{file.title} is needed; get {file.address}.")

    monkeypatch.delenv("MANIFILL_DATA", raising=False)
    monkeypatch.setattr(public, "_downloaded", nowhere)
    experiment = EXPERIMENTS[name]
    if name in NEEDS_DATA:
        with pytest.raises(DatasetNotFound, match="is needed"):
            reproduce(experiment, tmp_path, scale="smoke")
        return
    record = reproduce(experiment, tmp_path, scale="smoke")
    assert record["data"].startswith("SYNTHETIC")


def test_the_same_seed_gives_the_same_numbers(tmp_path):
    numbers = []
    for name in ("one", "two"):
        reproduce(EXPERIMENTS["umist"], tmp_path / name, scale="smoke", seed=5)
        with (tmp_path / name / "umist.csv").open() as file:
            numbers.append([row["RMSE"] for row in csv.DictReader(file)])
    assert numbers[0] == numbers[1]


def test_a_scale_that_does_not_exist(tmp_path):
    with pytest.raises(InvalidInput, match="smoke"):
        reproduce(EXPERIMENTS["umist"], tmp_path, scale="large")


def test_when_a_run_has_settled():
    one = Fill(
        np.zeros(1), np.zeros(1), np.array([8.0, 2.0, 1.0, 1.02, 1.0]), np.array([1, 0.5, 0.01, 0.1]), 0.0
    )
    assert settled(one) == 3
    assert arrived(one) == 2
    nothing_learned = Fill(np.zeros(1), np.zeros(1), np.array([1.0, 0.9, 0.8, 0.7]), np.array([1, 1, 1]), 0.0)
    assert arrived(nothing_learned) == 3
