"""Where the time of a run goes, and how near its arithmetic comes to what the machine can do."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import numpy as np
from rich.table import Table
from scipy.linalg.lapack import dposv, dpotrf
from threadpoolctl import threadpool_limits

from benchmarks.data import Source
from benchmarks.fills import fill
from benchmarks.speed import FULL, SMOKE, ours
from manifill._fillers.sweep import Ledger
from manifill._threads import Workers
from manifill.kernels import Gaussian
from manifill.solvers import Columns

KNOWN_ROWS = (120, 200, 280, 400)
STEPS = {
    "ledger": ((Ledger, "take_out"), (Ledger, "put_back")),
    "bandwidth": ((Gaussian, "tuned"),),
    "kernel matrix": ((Gaussian, "matrix"),),
    "column solves": ((Columns, "extension"),),
}


def run(smoke: bool = False) -> Table:
    """GFLOP/s of BLAS and LAPACK alone, then the shares of a run and the GFLOP/s of its column solves."""
    table = Table("what", "size", "threads", "seconds", "share", "GFLOP/s", "of dgemm")
    table.title = "Where the time goes"
    table.caption = (
        "Operations of the column solves: min(known, missing)³/3 for every column, and rows³ for every block "
        "that goes by the complement."
    )
    threads = Workers().count
    speeds = {}
    for count in sorted({1, threads}):
        speeds[count] = _product(300 if smoke else 2000, count)
        table.add_row("dgemm", "300" if smoke else "2000", str(count), "", "", f"{speeds[count]:.1f}", "")
    for row in _factorisations(KNOWN_ROWS[:1] if smoke else KNOWN_ROWS, speeds[1]):
        table.add_row(*row)
    scale = SMOKE if smoke else FULL
    if scale.faces.load() is not None:
        for rate in scale.rates:
            for row in _run(scale.faces, rate, threads, speeds[threads]):
                table.add_row(*row)
    return table


def _product(n: int, threads: int) -> float:
    """GFLOP/s of a product of two matrices, the best of some."""
    A = np.random.default_rng(0).random((n, n))
    with threadpool_limits(threads, "blas"):
        return 2 * n**3 / _best(lambda: A @ A) / 1e9


def _factorisations(sizes: tuple[int, ...], dgemm: float) -> Iterator[list[str]]:
    """Cholesky alone and with one right side solved, for as many rows as a column may have known."""
    for n in sizes:
        K = np.exp(-np.abs(np.subtract.outer(np.arange(n), np.arange(n))) / n) + np.eye(n)
        K, f = np.asfortranarray(K), np.ones((n, 1))
        routines = {"dpotrf": (lambda K=K: dpotrf(K)), "dposv": (lambda K=K, f=f: dposv(K, f))}
        for name, routine in routines.items():
            with threadpool_limits(1, "blas"):
                seconds = _best(routine)
            speed = n**3 / 3 / seconds / 1e9
            yield [name, str(n), "1", f"{seconds:.1e}", "", f"{speed:.1f}", f"{speed / dgemm:.0%}"]


def _best(function: Callable[[], object], patience: float = 0.2) -> float:
    """Seconds of the fastest of many calls, the first of which does not count."""
    function()
    times = []
    while not times or sum(times) < patience:
        began = time.perf_counter()
        function()
        times.append(time.perf_counter() - began)
    return min(times)


def _run(source: Source, rate: float, threads: int, dgemm: float) -> Iterator[list[str]]:
    """The steps of six sweeps, timed the second time, when everything is loaded."""
    X, M = source.damaged(rate)
    fill(ours(), X, M)
    with _timed_steps() as (seconds, operations):
        whole = fill(ours(), X, M).seconds
    seconds["rest"] = whole - sum(seconds.values())
    size = f"{X.shape[0]} × {X.shape[1]}, {rate:.0%} missing"
    yield ["six sweeps", size, str(threads), f"{whole:.2f}", "100%", "", ""]
    for step, taken in seconds.items():
        speeds = ["", ""]
        if step == "column solves":
            speed = operations[0] / taken / 1e9
            speeds = [f"{speed:.1f}", f"{speed / dgemm:.0%}"]
        yield [f"  {step}", "", "", f"{taken:.2f}", f"{taken / whole:.0%}", *speeds]


@contextmanager
def _timed_steps() -> Iterator[tuple[dict[str, float], list[float]]]:
    """While it holds, seconds are added up step by step, and operations of column solves in a list of one."""
    seconds: dict[str, float] = defaultdict(float)
    operations = [0.0]

    def timed(step: str, method: Callable[..., object]) -> Callable[..., object]:
        def run(self: object, *arguments: object, **options: object) -> object:
            began = time.perf_counter()
            result = method(self, *arguments, **options)
            seconds[step] += time.perf_counter() - began
            if isinstance(self, Columns):
                operations[0] += _operations(self)
            return result

        return run

    with ExitStack() as wrapped:
        for step, methods in STEPS.items():
            for owner, name in methods:
                wrapped.enter_context(patch.object(owner, name, timed(step, getattr(owner, name))))
        yield seconds, operations


def _operations(columns: Columns) -> float:
    """What the cheaper of the two ways takes, which is the one that is taken."""
    missing = columns.M.sum(axis=0, dtype=float)
    n = len(columns.M)
    return float(min(((n - missing) ** 3 / 3).sum(), (missing**3 / 3).sum() + n**3))
