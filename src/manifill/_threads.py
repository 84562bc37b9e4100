"""Threads that share the work between rows and columns, each with one BLAS thread.

Many small factorisations are up to six times slower with several BLAS threads than with one thread each,
side by side; and where anything else keeps the cores busy, BLAS threads that wait for each other made large
ones up to thirty times slower. So while a sweep runs BLAS is held to one thread and the work is shared out
here; afterwards everything is as it was.
"""

import numbers
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from functools import cached_property
from itertools import pairwise
from typing import Any, Self, TypeVar

import joblib
import numpy as np
from threadpoolctl import ThreadpoolController

from manifill._checks import complaint

Task = TypeVar("Task")
Result = TypeVar("Result")

# Numbers a pass over pairs holds at a time: half a megabyte, so that it stays in a core's own cache.
_CACHED = 65_536
# Multiplications that one thread does before another is awake.
_SMALL_PRODUCT = 1_000_000
_PIECES = 4


class _Blas:
    """The threads of BLAS, one process-wide setting: the first to hold it saves it, the last restores it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holders = 0
        self._owing = False

    @cached_property
    def _libraries(self) -> ThreadpoolController:
        return ThreadpoolController().select(user_api="blas")

    @property
    def n_threads(self) -> int:
        """How many BLAS may use, when nobody holds it."""
        with self._lock:
            return self._saved if self._holders or self._owed() else self._current()

    def hold(self) -> None:
        """One thread from now on."""
        with self._lock:
            if self._holders == 0 and not self._owed():
                self._saved = self._current()
                self._limit = self._libraries.limit(limits=1)
                self._let_others_set()
            self._holders += 1

    def release(self) -> None:
        """As it was, unless another still holds it."""
        with self._lock:
            self._holders -= 1
            if self._holders == 0:
                self._restore()

    def _owed(self) -> bool:
        """Is BLAS still at one thread, since another thread had control of it when it was released?"""
        if self._owing:
            self._restore()
        return self._owing

    def _restore(self) -> None:
        self._limit.restore_original_limits()
        self._let_others_set()
        self._owing = self._current() < self._saved

    def _let_others_set(self) -> None:
        """Give up control: threadpoolctl from 3.8 ignores all threads but the last that set OpenBLAS.

        The last to release it need not be the first that held it.
        """
        for library in self._libraries.lib_controllers:
            give_up = getattr(library, "clear_controlling_thread", None)
            if give_up is not None:
                give_up()

    def _current(self) -> int:
        return max((library["num_threads"] for library in self._libraries.info()), default=1)


_blas = _Blas()


class Workers:
    """As many threads as asked for, at work inside a `with` statement.

    Parameters
    ----------
    n_jobs : as in joblib: a number of threads, -1 for all cores. None is what `joblib.parallel_config` says,
        and otherwise the number of threads that BLAS may use (`OMP_NUM_THREADS`, `threadpool_limits`).
    """

    def __init__(self, n_jobs: int | None = None) -> None:
        whole = isinstance(n_jobs, numbers.Integral) and not isinstance(n_jobs, bool)
        if n_jobs is not None and not (whole and n_jobs != 0):
            raise complaint("n_jobs", "None or a whole number other than 0", n_jobs)
        self.n_jobs = n_jobs

    @cached_property
    def count(self) -> int:
        """The number of threads."""
        agreed = joblib.effective_n_jobs(self.n_jobs)
        if self.n_jobs is None and agreed == 1 and not _joblib_says_one():
            agreed = _blas.n_threads
        return int(agreed)

    def __enter__(self) -> Self:
        self._pool = ThreadPoolExecutor(self.count) if self.count > 1 else None
        _blas.hold()
        self._token = _at_work.set(self)
        return self

    def __exit__(self, *exception: object) -> None:
        _at_work.reset(self._token)
        _blas.release()
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def each(self, function: Callable[[Task], Result], tasks: Iterable[Task]) -> list[Result]:
        """The function of every task, in their order."""
        run = map if self._pool is None else self._pool.map
        return list(run(function, tasks))


_at_work: ContextVar[Workers | None] = ContextVar("workers", default=None)


def share(function: Callable[[Task], Result], tasks: Iterable[Task]) -> list[Result]:
    """The function of every task, in their order, by the workers at work or else one after the other."""
    workers = _at_work.get()
    return [function(task) for task in tasks] if workers is None else workers.each(function, tasks)


def share_rows(function: Callable[[slice], None], n: int, width: int) -> None:
    """Call the function with slices of n rows, each small enough that `width` numbers a row stay in cache."""
    size = max(1, _CACHED // max(1, width))
    slices = [slice(first, min(first + size, n)) for first in range(0, n, size)]

    def run(some: list[slice]) -> None:
        for rows in some:
            function(rows)

    lots = min(len(slices), 2 * n_workers())  # few tasks: handing one over costs as much as a small slice
    share(run, [slices[lot::lots] for lot in range(lots)])


def _joblib_says_one() -> bool:
    """Has somebody asked for one job, by `parallel_config` or by running us in a job of theirs?"""
    backend, n_jobs = joblib.parallel.get_active_backend()
    asked = getattr(joblib.parallel._backend, "config", None)
    return bool(backend.nesting_level) or (n_jobs == 1 and asked is not None and asked.get("n_jobs") == 1)


def n_workers() -> int:
    """How many threads `share` would use."""
    workers = _at_work.get()
    return 1 if workers is None else workers.count


def symmetric_product(A: Any, B: Any) -> Any:
    """A @ B where that is symmetric: five eighths of the work, shared out."""
    C = np.empty((len(A), len(A)), dtype=np.result_type(A, B))
    tiles = list(pairwise(np.linspace(0, len(A), 5).astype(int).tolist()))

    def write(tile: tuple[int, int]) -> None:
        first, last = tile
        C[first:last, :last] = A[first:last] @ B[:, :last]

    share(write, reversed(tiles))  # the longest first
    for first, last in tiles:
        C[:first, first:last] = C[first:last, :first].T
    return C


def product(A: Any, B: Any) -> Any:
    """A @ B, its rows shared out; tensors are left to their own device."""
    if not isinstance(A, np.ndarray) or A.size * B.shape[1] < _SMALL_PRODUCT:
        return A @ B
    C = np.empty((len(A), B.shape[1]), dtype=np.result_type(A, B))
    # The same pieces whatever the number of threads, so that the roundings are the same too.
    cuts = np.linspace(0, len(A), _PIECES + 1).astype(int).tolist()
    share(lambda rows: np.matmul(A[rows[0] : rows[1]], B, out=C[rows[0] : rows[1]]), pairwise(cuts))
    return C
