"""Time of each step of a run, and its arithmetic speed relative to matrix products."""

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

# Known rows of a column of the 400 faces with 70, 50, 30 and 0 % missing.
KNOWN_ROWS = (120, 200, 280, 400)
STEPS = {
    "ledger": ((Ledger, "take_out"), (Ledger, "put_back")),
    "bandwidth": ((Gaussian, "tuned"),),
    "kernel matrix": ((Gaussian, "matrix"),),
    "column solves": ((Columns, "extension"),),
}


def run(smoke: bool = False) -> Table:
    """GFLOP/s of BLAS and LAPACK, then time per step of a run and GFLOP/s of its column solves."""
    table = Table("task", "size", "threads", "seconds", "share of time", "GFLOP/s", "GFLOP/s / dgemm's")
    table.title = "Time per step"
    table.caption = (
        "Operations counted for the column solves of a block: the smaller of Σ known³/3 and "
        "rows³ + Σ missing³/3, sums over its columns."
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
    """GFLOP/s of a product of two (n, n) matrices, fastest of several."""
    A = np.random.default_rng(0).random((n, n))
    with threadpool_limits(threads, "blas"):
        return 2 * n**3 / _fastest(lambda: A @ A) / 1e9


def _factorisations(sizes: tuple[int, ...], dgemm: float) -> Iterator[list[str]]:
    """Cholesky factorisation alone (dpotrf) and with one right-hand side solved (dposv), one row per size."""
    for n in sizes:
        K = np.exp(-np.abs(np.subtract.outer(np.arange(n), np.arange(n))) / n) + np.eye(n)
        K, f = np.asfortranarray(K), np.ones((n, 1))
        routines = {"dpotrf": (lambda K=K: dpotrf(K)), "dposv": (lambda K=K, f=f: dposv(K, f))}
        for name, routine in routines.items():
            with threadpool_limits(1, "blas"):
                seconds = _fastest(routine)
            speed = n**3 / 3 / seconds / 1e9
            yield [name, str(n), "1", f"{seconds:.1e}", "", f"{speed:.1f}", f"{speed / dgemm:.0%}"]


def _fastest(function: Callable[[], object], min_seconds: float = 0.2) -> float:
    """Seconds of the fastest call, after one warm-up call, repeated until `min_seconds` have passed."""
    function()
    times = []
    while not times or sum(times) < min_seconds:
        began = time.perf_counter()
        function()
        times.append(time.perf_counter() - began)
    return min(times)


def _run(source: Source, rate: float, threads: int, dgemm: float) -> Iterator[list[str]]:
    """Time per step of six sweeps, measured on the second run, when all code is loaded."""
    X, M = source.damaged(rate)
    fill(ours(), X, M)
    with _timed_steps() as (seconds, operations):
        total = fill(ours(), X, M).seconds
    seconds["rest"] = total - sum(seconds.values())
    size = f"{X.shape[0]} × {X.shape[1]}, {rate:.0%} missing"
    yield ["six sweeps", size, str(threads), f"{total:.2f}", "100%", "", ""]
    for step, taken in seconds.items():
        speeds = ["", ""]
        if step == "column solves":
            speed = operations[0] / taken / 1e9
            speeds = [f"{speed:.1f}", f"{speed / dgemm:.0%}"]
        yield [f"  {step}", "", "", f"{taken:.2f}", f"{taken / total:.0%}", *speeds]


@contextmanager
def _timed_steps() -> Iterator[tuple[dict[str, float], list[float]]]:
    """Sum up the seconds of each step, and the operations of the column solves (list of one number)."""
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
    """Operations of the cheaper of the two ways to solve a block, which is the one used."""
    missing = columns.M.sum(axis=0, dtype=float)
    n = len(columns.M)
    return float(min(((n - missing) ** 3 / 3).sum(), (missing**3 / 3).sum() + n**3))
