"""What a graphics card brings: faces at 70 % missing, and an exact fill too long for a processor."""

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
    """Seconds on the device; without a card the table says so. Smoke scale is torch on the processor."""
    table = Table("set", "what", "seconds", "of it sweeps", "RMSE, standardised", "from the processor's fill")
    table.title = "On a device"
    missing = _what_is_missing(smoke)
    if missing:
        Console().print(f"device: {missing}")
        table.add_row("", missing, "", "", "", "")
        return table
    import torch

    if smoke:
        torch.set_num_threads(1)  # on a busy machine, small products in two threads wait for each other
        table.title = "On torch's processor"
        rows = (*_faces(Source("digits", "digits", last=40, unit=16), "cpu", 1), *_exact((200, 6), "cpu"))
    else:
        table.title = f"On {torch.cuda.get_device_name()}"
        rows = (*_faces(FULL.faces, "cuda", 5), *_exact((20_000, 50), "cuda"))
    for row in rows:
        table.add_row(*row)
    return table


def _what_is_missing(smoke: bool) -> str:
    if find_spec("torch") is None or find_spec("array_api_compat") is None:
        return "not measured: it needs torch and array-api-compat (pip install 'manifill[gpu]')"
    import torch

    return "" if smoke or torch.cuda.is_available() else "not measured: torch finds no CUDA card here"


def _faces(source: Source, device: str, times: int) -> Iterator[list[str]]:
    """The first call, which loads the card's libraries, then the median of some; from numpy to numpy."""
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
    middle = Outcome(statistics.median(warm), nrmse=runs[-1][0].nrmse)
    yield _row(name, f"median of {times} more", middle, sweeps, f"{distance:.1e} at most")


def _exact(shape: tuple[int, int], device: str) -> Iterator[list[str]]:
    X, M = curved(*shape, 0.2)
    imputer = plain(schedule="column", max_sweeps=2, tol=0, device=device)
    outcome = fill(imputer, X, M)
    sweeps = sum(record.seconds for record in imputer.trace_)
    yield _row(f"curved {shape[0]:,} × {shape[1]}, 20%", "all pairs of rows, 2 sweeps", outcome, sweeps)


def _row(name: str, what: str, outcome: Outcome, sweeps: float, distance: str = "") -> list[str]:
    return [name, what, f"{outcome.seconds:.3f}", f"{sweeps:.3f}", f"{outcome.nrmse:.4f}", distance]
