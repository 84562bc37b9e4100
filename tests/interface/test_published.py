"""The pages of published tables and of error against time, and the cache of fills."""

import math
import time

import numpy as np
import pytest
from benchmarks import ours, published, tradeoff
from benchmarks.cache import Cache
from benchmarks.data import DEVELOPMENT, REPORT
from benchmarks.fills import Outcome, fill
from benchmarks.plots import tradeoff as drawn
from sklearn.impute import KNNImputer, SimpleImputer

FACTS = {"date": "today", "commit": "abc1234", "libraries": "numpy"}


@pytest.fixture
def scores():
    """Errors of manifill as if it had filled yacht with two masks, at .1 and .2."""
    case = published.Case("GRAPE", "yacht", 0.3, "manifill, balanced")
    return {case: [{"MAE": 0.1, "RMSE": 0.3}, {"MAE": 0.2, "RMSE": 0.3}]}


def test_masks_of_grape_are_those_of_its_generator():
    torch = pytest.importorskip("torch")
    for seed in (0, 4):
        torch.manual_seed(seed)
        known = (torch.FloatTensor(308 * 6, 1).uniform_() < 0.7).numpy().reshape(308, 6)
        np.testing.assert_array_equal(published.grape_mask((308, 6), 0.3, seed), ~known)


def test_column_mean_has_the_errors_that_grape_printed(data_folder):
    grape, _ = published.benchmarks()
    for label in ("concrete", "wine", "yacht"):
        X = grape.scaled(label)
        outcomes = [fill(SimpleImputer(), X, published.grape_mask(X.shape, 0.3, seed)) for seed in range(5)]
        for table in grape.tables[:2]:
            printed = table.errors["mean"][table.sets.index(label)]
            found = np.mean([getattr(outcome, table.metric.lower()) for outcome in outcomes])
            assert f"{found:.4f}" == str(printed)


def test_published_tables_are_complete_and_of_listed_sets():
    for benchmark in published.benchmarks():
        assert {one["file"] for one in benchmark.data.values()} <= {*DEVELOPMENT, *REPORT}
        for table in benchmark.tables:
            assert set(table.sets) <= set(benchmark.data)
            assert all(len(errors) == len(table.sets) for errors in table.errors.values())


def test_tables_are_scaled_as_published():
    _, newimp = published.benchmarks()
    X = newimp.scaled("BCD")
    assert X.shape == (569, 30)
    np.testing.assert_allclose(X.std(axis=0), 1)


def test_page_has_published_numbers_as_printed_beside_ours(scores):
    text = published.page(scores, FACTS)
    for line in (
        "- command: `python -m benchmarks published`",
        "- commit: abc1234",
        "| mean | 0.1807 | **0.2487** | 0.2310 | 0.0910 | 0.0980 | 0.2124 |",  # digits as printed
        "| manifill, balanced | – | – | – | – | – | **0.1500 ± 0.0707** |",  # the lowest error is bold
        "| manifill, balanced | – | – | – | – | – | 0.3000 ± 0.0000 |",
        "| GRAPE | MAE | 30% | yacht* | 0.1513 | GRAPE | – | **0.991** | – | – | – | – |",
        "| GRAPE | RMSE | 30% | yacht* | 0.2446 | kNN (k = 50) | – | 1.226 | – | – | – | – |",
        "| MAE | BT | BCD* | CC* | IS* | PK* |",  # blood is not a development set
        "Not filled in this run, so without an error of manifill: BT, BCD, CC, IS, PK.",
    ):
        assert line in text.splitlines()


def test_failed_fills_are_named_and_never_the_lowest(scores):
    (found,) = scores.values()
    found.append({"MAE": math.nan, "RMSE": math.nan, "failure": "failed: no memory"})
    lines = published.page(scores, FACTS).splitlines()
    assert "| manifill, balanced | – | – | – | – | – | 0.1500 ± 0.0707 (1 of 3 failed) |" in lines
    assert "| GRAPE | **0.0895** | 0.2494 | **0.0085** | – | **0.0628** | **0.1513** |" in lines
    assert "- Failed: manifill, balanced on yacht, 30% missing, seed 2. failed: no memory" in lines


def test_efforts_and_median_are_compared():
    assert list(ours.imputers()) == ["manifill, fast", "manifill, balanced", "manifill, best"]
    medians = ours.imputers(medians=True)
    assert len(medians) == 6
    assert medians["manifill, best, median"].estimate == "median"
    assert medians["manifill, best, median"].effort == "best"


def test_cached_results_are_read_again(tmp_path):
    path = tmp_path / "results" / "fills.jsonl"
    Cache(path)["iris", 0.3, ["MCAR", 1]] = {"MAE": 0.5}
    cache = Cache(path)
    assert ("iris", 0.3, ["MCAR", 2]) not in cache
    assert cache["iris", 0.3, ["MCAR", 1]] == {"MAE": 0.5}


class Slow(KNNImputer):
    def fit_transform(self, X):
        time.sleep(10)


def test_methods_over_the_time_limit_are_stopped_and_not_run_on_longer_tables(monkeypatch):
    methods = {ours.OURS: SimpleImputer(), "slow": Slow()}
    monkeypatch.setattr(tradeoff, "_warm_up", lambda: None)
    monkeypatch.setattr(tradeoff, "methods", lambda _: methods)
    began = time.perf_counter()
    measured = tradeoff.measure((tradeoff.Size(40, 2, limit=0.05), tradeoff.Size(60)), ("iris",))
    assert time.perf_counter() - began < 5
    failures = [one.failure for case in measured.values() for one in case["slow"]]
    assert failures == ["not finished in 0.05 s", "not finished in 0.05 s", "out of time with 40 rows"]
    points, note = tradeoff.panels(measured)["60 rows, 1 table"]
    assert list(points) == [ours.OURS]
    assert note == "not finished: slow"


def test_means_of_error_and_time_need_every_table():
    fast, slow = Outcome(seconds=1, nrmse=0.5), Outcome(seconds=3, nrmse=0.7)
    assert tradeoff._mean([[fast], [slow]]) == pytest.approx((2, 0.6))
    assert math.isnan(tradeoff._mean([[fast], [Outcome(failure="failed")]])[0])


def test_labels_of_close_points_do_not_overlap():
    points = {"manifill": (1.0, 0.5), "ExtraTrees": (1.05, 0.501), "KNN": (1.1, 0.5), "mice": (9.0, 0.9)}
    (axes,) = drawn({"500 rows": (points, "")}, "seconds").axes
    texts = [text for text in axes.texts if text.get_text()]
    assert [text.get_text() for text in texts] == list(points)
    for text in texts:
        text.arrow_patch = None  # the box of the words alone
    boxes = [text.get_window_extent() for text in texts]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
