import os
import subprocess
import sys
import threading
import time

import joblib
import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits

from manifill import IGHImputer, _draws
from manifill._threads import Workers, n_workers, product, share, share_rows, symmetric_product
from manifill.errors import InvalidInput
from manifill.layouts import Grid


def blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


@pytest.fixture(autouse=True)
def two_blas_threads():
    """Set BLAS to two threads, as on a machine with two cores; tests are run with one."""
    before = blas_threads()
    set_blas_threads([2] * len(before))
    assert blas_threads() == [2] * len(before)
    yield
    set_blas_threads(before)


def set_blas_threads(numbers):
    libraries = ThreadpoolController().select(user_api="blas").lib_controllers
    for library, number in zip(libraries, numbers, strict=True):
        library.set_num_threads(number)
        getattr(library, "clear_controlling_thread", lambda: None)()


def test_blas_is_limited_to_one_thread_and_restored():
    before = blas_threads()
    with Workers(2):
        assert set(blas_threads()) == {1}
    assert blas_threads() == before


def test_blas_threads_are_restored_after_an_error():
    before = blas_threads()
    with pytest.raises(ZeroDivisionError), Workers(2):
        share(lambda task: 1 // task, [1, 0])
    assert blas_threads() == before
    assert n_workers() == 1


def test_the_number_of_threads_follows_n_jobs_blas_and_joblib():
    assert Workers(3).count == 3
    assert Workers(-1).count == joblib.cpu_count()
    with threadpool_limits(1, user_api="blas"):
        assert Workers().count == 1
    with joblib.parallel_config("threading", n_jobs=2):
        assert Workers().count == 2
    inside = joblib.Parallel(2, prefer="threads")(joblib.delayed(lambda: Workers().count)() for _ in range(2))
    assert inside == [1, 1]


@pytest.mark.parametrize("main_was_first", [False, True])
def test_overlapping_workers_restore_the_blas_threads(main_was_first):
    if main_was_first:  # other threads must be able to set limits afterwards
        with Workers(2):
            pass
    before, n_threads = blas_threads(), Workers().count
    main_entered, first_entered = threading.Event(), threading.Event()
    seen = []

    def first():
        with Workers(2):
            seen.append(set(blas_threads()))
            first_entered.set()
            main_entered.wait(60)

    thread = threading.Thread(target=first)
    thread.start()
    assert first_entered.wait(60)
    workers = Workers()
    assert workers.count == n_threads  # not 1, the present limit of BLAS
    with workers:
        main_entered.set()
        thread.join()
        assert set(blas_threads()) == {1}
    assert blas_threads() == before
    assert seen == [{1}]


@pytest.mark.parametrize("n_jobs", [0, 1.5, "two", True])
def test_invalid_numbers_of_threads_are_refused(n_jobs):
    with pytest.raises(InvalidInput, match="n_jobs must be None or a whole number other than 0"):
        Workers(n_jobs)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_results_come_in_the_order_of_the_tasks(n_jobs):
    with Workers(n_jobs):
        assert share(lambda task: task**2, range(20)) == [task**2 for task in range(20)]
    assert share(str, [1, 2]) == ["1", "2"]  # without Workers


@pytest.mark.parametrize(("n", "width"), [(1, 1), (7, 10**6), (5000, 300), (0, 4)])
def test_every_row_is_processed_once(n, width):
    seen = np.zeros(n, dtype=int)

    def count(rows):
        seen[rows] += 1

    with Workers(2):
        share_rows(count, n, width)
    assert (seen == 1).all()


def test_products_equal_numpy(rng):
    A, B = rng.standard_normal((300, 200)), rng.standard_normal((200, 60))
    with Workers(2):
        together = product(A, B)
        np.testing.assert_allclose(together, A @ B, atol=1e-12)
        np.testing.assert_allclose(symmetric_product(A, A.T), A @ A.T, atol=1e-12)
        np.testing.assert_allclose(symmetric_product(A[:3], A[:3].T), A[:3] @ A[:3].T, atol=1e-12)
    with Workers(1):
        np.testing.assert_array_equal(product(A, B), together)


class TestDrawsOnABusyMachine:
    @pytest.mark.parametrize("kind", ["table", "field"])
    def test_blas_has_one_thread_while_a_table_is_drawn(self, kind, rng, monkeypatch):
        X = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 6)) + 0.1 * rng.normal(size=(60, 6))
        X[rng.random(X.shape) < 0.2] = np.nan
        imputer = IGHImputer(random_state=0, layout=None if kind == "table" else Grid(2, 3)).fit(X)
        assert (imputer.result_._field is not None) == (kind == "field")
        seen = []
        for name in ("_with_residuals", "_chain", "_rescaled"):
            monkeypatch.setattr(_draws, name, watched(getattr(_draws, name), seen))
        imputer.draws(1)
        assert seen
        assert set(seen) == {1}

    @pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="needs two cores")
    def test_two_busy_processes_slow_draws_by_at_most_3(self, rng):
        X = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 6)) + 0.3 * rng.normal(size=(200, 6))
        X[rng.random(X.shape) < 0.2] = np.nan
        imputer = IGHImputer(random_state=0).fit(X)
        imputer.draws(1)
        idle = fastest(lambda: imputer.draws(2))
        busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
        try:
            slowed = fastest(lambda: imputer.draws(2))
        finally:
            for process in busy:
                process.kill()
                process.wait()
        assert slowed < 3 * idle


def watched(function, seen):
    def call(*arguments):
        seen.extend(blas_threads())
        return function(*arguments)

    return call


def fastest(function, times=5):
    durations = []
    for _ in range(times):
        began = time.monotonic()
        function()
        durations.append(time.monotonic() - began)
    return min(durations)
