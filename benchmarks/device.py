"""Time on a GPU: faces with 70 % missing, and an exact fill that takes too long on a CPU."""

import statistics
from collections.abc import Iterator
from importlib.util import find_spec

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.data import Source, curved
from benchmarks.fills import Outcome, fill
from benchmarks.knobs import plain
from benchmarks.speed import FULL, ours

RATE = 0.7


def run(smoke: bool = False) -> Table:
    """Seconds on a CUDA device; without one the table gives the reason. Smoke scale runs torch on the CPU."""
    table = Table(
        "data set", "task", "seconds", "seconds in sweeps", "RMSE, standardised", "difference from the CPU"
    )
    table.title = "On a GPU"
    reason = _unavailable(smoke)
    if reason:
        Console().print(f"device: {reason}")
        table.add_row("", reason, "", "", "", "")
        return table
    import torch

    if smoke:
        torch.set_num_threads(1)  # on a busy machine the threads of small products wait for each other
        table.title = "On the CPU with torch"
        rows = (*_faces(Source("digits", "digits", last=40, unit=16), "cpu", 1), *_exact((200, 6), "cpu"))
    else:
        table.title = f"On {torch.cuda.get_device_name()}"
        rows = (*_faces(FULL.faces, "cuda", 5), *_exact((20_000, 50), "cuda"))
    for row in rows:
        table.add_row(*row)
    return table


def _unavailable(smoke: bool) -> str:
    """Why the benchmark cannot run here, or an empty string."""
    if find_spec("torch") is None or find_spec("array_api_compat") is None:
        return "not measured: needs torch and array-api-compat (pip install 'manifill[gpu]')"
    import torch

    return "" if smoke or torch.cuda.is_available() else "not measured: torch finds no CUDA device"


def _faces(source: Source, device: str, times: int) -> Iterator[list[str]]:
    """First call, which loads the GPU libraries, then the median of `times` calls; numpy in and out."""
    if source.load() is None:
        return
    X, M = source.damaged(RATE)
    damaged = np.where(M, np.nan, X)
    name = f"{source.name} {X.shape[0]} × {X.shape[1]}, {RATE:.0%}"
    imputer = ours().set_params(device=device)
    runs = []
    for _ in range(1 + times):
        outcome = fill(imputer, X, M)
        runs.append((outcome, sum(record.seconds for record in imputer.trace_)))
    yield _row(name, "first call", *runs[0])
    warm = [outcome.seconds for outcome, _ in runs[1:]]
    sweeps = statistics.median(seconds for _, seconds in runs[1:])
    distance = np.abs(imputer.completed_ - ours().fit_transform(damaged)).max()
    median = Outcome(statistics.median(warm), nrmse=runs[-1][0].nrmse)
    yield _row(name, f"median of {times} more", median, sweeps, f"at most {distance:.1e}")


def _exact(shape: tuple[int, int], device: str) -> Iterator[list[str]]:
    X, M = curved(*shape, 0.2)
    imputer = plain(schedule="column", max_sweeps=2, tol=0, device=device)
    outcome = fill(imputer, X, M)
    sweeps = sum(record.seconds for record in imputer.trace_)
    yield _row(f"curved {shape[0]:,} × {shape[1]}, 20%", "exact solver, 2 sweeps", outcome, sweeps)


def _row(name: str, task: str, outcome: Outcome, sweeps: float, distance: str = "") -> list[str]:
    return [name, task, f"{outcome.seconds:.3f}", f"{sweeps:.3f}", f"{outcome.nrmse:.4f}", distance]
