"""Every experiment of the paper at smoke scale. Full scale: `manifill reproduce all`."""

import csv
import json

import numpy as np
import pytest
from markupsafe import escape
from matplotlib.image import imread

from manifill._experiments import EXPERIMENTS, reproduce
from manifill._experiments.base import OURS, PAPER, Fill
from manifill._experiments.convergence import sweeps_to_final_error, sweeps_to_small_change
from manifill._experiments.folder import write_page
from manifill.datasets import public
from manifill.errors import DatasetNotFound, InvalidInput

NEEDS_DATA = {"olivetti"}

# On one worker, so that each experiment runs only once for all tests.
pytestmark = pytest.mark.xdist_group("experiments")


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """Records of the experiments run so far, by name, and the folder of their files."""
    return {}, tmp_path_factory.mktemp("reproduction")


def record_of(name, done, data_folder=None):
    records, folder = done
    if name not in records:
        records[name] = reproduce(EXPERIMENTS[name], folder, scale="smoke", data_dir=data_folder)
    return records[name], folder


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_experiment_writes_numbers_figures_and_a_record(name, done, data_folder):
    record, folder = record_of(name, done, data_folder)
    assert json.loads((folder / f"{name}.json").read_text()) == json.loads(json.dumps(record))
    with (folder / f"{name}.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["method"] for row in rows} == {PAPER, OURS}
    for figure in record["figures"]:
        picture = imread(folder / f"{figure}.png")
        assert picture[..., :3].std() > 0.02, "the picture is empty"
        assert (folder / f"{figure}.svg").read_text().startswith("<?xml")
    for extra in record["extra"]:
        assert (folder / extra).stat().st_size > 1000
    assert record["claims"]
    assert record["seed"] == 0
    assert record["versions"]["numpy"] == np.__version__
    assert not list(folder.glob(".*"))


@pytest.mark.parametrize("name", ["swiss_roll", "umist", "coil"])
def test_first_claim_of_the_paper_holds_at_smoke_scale(name, done, data_folder):
    record, _ = record_of(name, done, data_folder)
    assert record["claims"][0]["holds"], record["claims"][0]["found"]


def test_defaults_are_more_accurate_than_the_papers_algorithm(done, data_folder):
    for name, column in (("olivetti", "RMSE"), ("video", "RMSE"), ("umist", "RMSE")):
        _, folder = record_of(name, done, data_folder)
        with (folder / f"{name}.csv").open() as file:
            rows = list(csv.DictReader(file))
        errors = {
            method: np.mean([float(row[column]) for row in rows if row["method"] == method])
            for method in (PAPER, OURS)
        }
        assert errors[OURS] < errors[PAPER], name


def test_page_shows_claims_pictures_and_experiments_not_run(done, data_folder):
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
def test_without_data_it_uses_synthetic_data_or_raises(name, tmp_path, monkeypatch):
    def not_found(file, folder):
        raise DatasetNotFound(f"{file.title} is needed; get {file.address}.")

    monkeypatch.delenv("MANIFILL_DATA", raising=False)
    monkeypatch.setattr(public, "_downloaded", not_found)
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


def test_unknown_scale_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="smoke"):
        reproduce(EXPERIMENTS["umist"], tmp_path, scale="large")


def test_number_of_sweeps_to_convergence():
    fast = Fill(
        np.zeros(1), np.zeros(1), np.array([8.0, 2.0, 1.0, 1.02, 1.0]), np.array([1, 0.5, 0.01, 0.1]), 0.0
    )
    assert sweeps_to_small_change(fast) == 3
    assert sweeps_to_final_error(fast) == 2
    slow = Fill(np.zeros(1), np.zeros(1), np.array([1.0, 0.9, 0.8, 0.7]), np.array([1, 1, 1]), 0.0)
    assert sweeps_to_final_error(slow) == 3
