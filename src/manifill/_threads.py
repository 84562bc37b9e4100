"""A thread pool for work on rows and columns; while it runs, BLAS uses one thread per call.

Many small factorisations are up to six times slower with several BLAS threads than side by side in our own
threads. On a busy machine, BLAS threads that wait for each other made large factorisations up to thirty
times slower (docs/notes/speed.md). So BLAS is limited to one thread while a sweep runs, and then restored.
"""

import numbers
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from functools import cached_property
from itertools import pairwise
from typing import Self, TypeVar

import joblib
import numpy as np
from threadpoolctl import ThreadpoolController

from manifill._arrays import Tensor
from manifill._checks import complaint

Task = TypeVar("Task")
Result = TypeVar("Result")

# Numbers that a pass over pairs of rows handles at a time: 0.5 MB, which fits into the cache of one core.
_CACHED = 65_536
# Multiplications below which a product is computed in one thread, and number of pieces of a larger one.
_SMALL_PRODUCT = 1_000_000
_PIECES = 4


class _Blas:
    """The number of BLAS threads, a process-wide setting: the first holder saves it, the last restores it.

    threadpoolctl alone does not count holders: of two fits that overlap in two threads, the second would
    restore the limit that the first had set.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._holders = 0

    @cached_property
    def _libraries(self) -> ThreadpoolController:
        return ThreadpoolController().select(user_api="blas")

    @property
    def n_threads(self) -> int:
        """How many threads BLAS uses while it is not limited by `hold`."""
        with self._lock:
            if self._holders:
                return self._saved
            return max((library["num_threads"] for library in self._libraries.info()), default=1)

    def hold(self) -> None:
        """Limit BLAS to one thread."""
        with self._lock:
            if self._holders == 0:
                self._saved = self.n_threads
                self._limit = self._libraries.limit(limits=1)
                self._release_control()
            self._holders += 1

    def release(self) -> None:
        """Restore the number of threads, unless another holder still limits it."""
        with self._lock:
            self._holders -= 1
            if self._holders == 0:
                self._limit.restore_original_limits()
                self._release_control()

    def _release_control(self) -> None:
        """Let other threads set limits too; from 3.8 on, threadpoolctl listens to one thread at a time."""
        for library in self._libraries.lib_controllers:
            if hasattr(library, "clear_controlling_thread"):
                library.clear_controlling_thread()


_blas = _Blas()


class Workers:
    """A thread pool, active inside a `with` statement.

    Parameters
    ----------
    n_jobs : as in joblib: a number of threads, or -1 for all cores. With None it is the number set by
        `joblib.parallel_config`, 1 inside a job of joblib's, and otherwise the number of threads that BLAS
        may use (`OMP_NUM_THREADS`, `threadpool_limits`).
    """

    def __init__(self, n_jobs: int | None = None) -> None:
        whole = isinstance(n_jobs, numbers.Integral) and not isinstance(n_jobs, bool)
        if n_jobs is not None and not (whole and n_jobs != 0):
            raise complaint("n_jobs", "None or a whole number other than 0", n_jobs)
        self.n_jobs = n_jobs

    @cached_property
    def count(self) -> int:
        """The number of threads."""
        count = joblib.effective_n_jobs(self.n_jobs)
        inside_a_job = joblib.parallel.get_active_backend()[0].nesting_level
        if self.n_jobs is None and count == 1 and not inside_a_job:
            count = _blas.n_threads
        return int(count)

    def __enter__(self) -> Self:
        self._pool = ThreadPoolExecutor(self.count) if self.count > 1 else None
        _blas.hold()
        self._token = _active.set(self)
        return self

    def __exit__(self, *exception: object) -> None:
        _active.reset(self._token)
        _blas.release()
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def each(self, function: Callable[[Task], Result], tasks: Iterable[Task]) -> list[Result]:
        """Apply the function to every task; results in the order of the tasks."""
        run = map if self._pool is None else self._pool.map
        return list(run(function, tasks))


_active: ContextVar[Workers | None] = ContextVar("workers", default=None)


def share(function: Callable[[Task], Result], tasks: Iterable[Task]) -> list[Result]:
    """Apply the function to every task in the active `Workers`, or one after the other if there are none."""
    workers = _active.get()
    return [function(task) for task in tasks] if workers is None else workers.each(function, tasks)


def share_rows(function: Callable[[slice], None], n: int, width: int) -> None:
    """Call the function with slices of n rows, so short that `width` numbers per row stay in the cache."""
    size = max(1, _CACHED // max(1, width))
    slices = [slice(first, min(first + size, n)) for first in range(0, n, size)]

    def run(some: list[slice]) -> None:
        for rows in some:
            function(rows)

    n_tasks = min(len(slices), 2 * n_workers())  # few: starting a task costs as much as a small slice
    share(run, [slices[i::n_tasks] for i in range(n_tasks)])


def n_workers() -> int:
    """How many threads `share` uses."""
    workers = _active.get()
    return 1 if workers is None else workers.count


def symmetric_product(A: Tensor, B: Tensor) -> Tensor:
    """A @ B for a symmetric product: only 5/8 of it are computed, in threads."""
    C = np.empty((len(A), len(A)), dtype=np.result_type(A, B))
    tiles = list(pairwise(np.linspace(0, len(A), 5).astype(int).tolist()))

    def write(tile: tuple[int, int]) -> None:
        first, last = tile
        C[first:last, :last] = A[first:last] @ B[:, :last]

    share(write, reversed(tiles))  # the longest first
    for first, last in tiles:
        C[:first, first:last] = C[first:last, :first].T
    return C


def product(A: Tensor, B: Tensor) -> Tensor:
    """A @ B, with the rows of A shared among threads; tensors are multiplied on their device."""
    if not isinstance(A, np.ndarray) or A.size * B.shape[1] < _SMALL_PRODUCT:
        return A @ B
    C = np.empty((len(A), B.shape[1]), dtype=np.result_type(A, B))
    # The same pieces for any number of threads, so that rounding is the same too.
    cuts = np.linspace(0, len(A), _PIECES + 1).astype(int).tolist()
    share(lambda rows: np.matmul(A[rows[0] : rows[1]], B, out=C[rows[0] : rows[1]]), pairwise(cuts))
    return C
