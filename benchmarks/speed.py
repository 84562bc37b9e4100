"""Seconds on pictures and sensors, ours beside what people use and beside the paper as it is written."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from rich.table import Table
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer

from benchmarks.data import Source
from benchmarks.fills import Outcome, fill, fill_apart, middle
from benchmarks.knobs import plain
from benchmarks.literal import seconds_a_column
from benchmarks.svd import IterativeSVD
from manifill import IGHImputer, Sweep
from manifill.kernels import Gaussian, MedianDistance
from manifill.solvers import Ridge

SWEEPS = 6
COLUMNS = (
    "set",
    "shape",
    "missing",
    "method",
    "seconds",
    "÷ manifill's",
    "RMSE",
    "standardised",
    "peak MB",
    "remark",
)


@dataclass(frozen=True)
class Scale:
    """What is measured, and how long it may take.

    Attributes
    ----------
    faces, wide, sensors : the sets; None leaves a part out.
    rates : missing shares of the faces; the first is the one that slower methods are tried at.
    times : runs of which the median counts.
    limit : seconds for each of the slower peers.
    columns, pairs : how much of the literal transcription is timed.
    """

    faces: Source
    wide: tuple[Source, ...]
    sensors: Source | None
    rates: tuple[float, ...] = (0.7, 0.5, 0.3)
    times: int = 3
    limit: float = 120
    columns: int = 2
    pairs: int = 300


FULL = Scale(
    faces=Source("olivetti", "olivetti64", unit=255),
    wide=(
        Source("umist", "umist112x92_part", unit=255),
        Source("coil car", "coil20_128", first=144, last=216, unit=255),
    ),
    sensors=Source("metr-la", "metr_la_week"),
)
SMOKE = Scale(
    faces=Source("digits", "digits", last=100, unit=16),
    wide=(),
    sensors=None,
    rates=(0.5,),
    times=1,
    limit=30,
    columns=1,
    pairs=20,
)


def run(smoke: bool = False) -> Table:
    """Seconds, times those of ours, error and memory; sets whose file is not there are passed over."""
    scale = SMOKE if smoke else FULL
    table = Table(*COLUMNS, title="Speed, on holes missing completely at random")
    table.caption = (
        "RMSE in the set's own units (pixels from 0 to 1), then in standard deviations of the columns. "
        "Peaks are those of a process of its own, libraries and table included."
    )
    for part in (_faces, _wide, _sensors):
        for row in part(scale):
            table.add_row(*row)
    if not table.row_count:
        table.add_row("none: MANIFILL_DATA must name the folder of the sets")
    return table


def ours(schedule: str = "auto") -> IGHImputer:
    """Six sweeps with the kernel and ridge that suit these faces."""
    return IGHImputer(
        Gaussian(MedianDistance(16)),
        solver=Ridge(2e-4),
        method=Sweep(schedule=schedule),
        tol=0,
        max_sweeps=SWEEPS,
        random_state=0,
    )


def _faces(scale: Scale) -> Iterator[list[str]]:
    """Ours and KNN by turns, so that both see the machine in the same moods; once the slower ones."""
    if scale.faces.load() is None:
        return
    for rate in scale.rates:
        X, M = scale.faces.damaged(rate)
        rounds = [(fill(ours(), X, M), fill(KNNImputer(n_neighbors=5), X, M)) for _ in range(scale.times)]
        mine, knn = (middle(list(outcomes)) for outcomes in zip(*rounds, strict=True))
        row = partial(_row, scale.faces.name, X.shape, rate, baseline=mine.seconds)
        yield row("manifill", mine, remark=f"median of {scale.times}")
        yield row("KNN, 5 rows", knn, remark=f"median of {scale.times}")
        if rate == scale.rates[0]:
            yield from _slower(scale, X, M, rate, mine)


def _slower(scale: Scale, X: np.ndarray, M: np.ndarray, rate: float, mine: Outcome) -> Iterator[list[str]]:
    """What is measured once: slower peers, the paper as it is written, and single columns."""
    row = partial(_row, scale.faces.name, X.shape, rate, baseline=mine.seconds)
    source = partial(scale.faces.damaged, rate)
    peers = {
        "iterative, 50 columns, 3 rounds": IterativeImputer(
            n_nearest_features=min(50, X.shape[1]), max_iter=3, random_state=0
        ),
        "SVD of rank 40, repeated": IterativeSVD(rank=min(40, min(X.shape) // 2)),
    }
    for name, peer in peers.items():
        outcome = fill_apart(peer, source, scale.limit)
        yield row(name, outcome, remark=outcome.failure)
    a_column = seconds_a_column(X, M, scale.columns, scale.pairs)
    yield row(
        "the paper's loops, literally",
        Outcome(seconds=a_column * int(M.any(axis=0).sum()) * SWEEPS),
        remark=f"extrapolated from {a_column:.3g} s a column, itself from {scale.pairs} pairs of rows",
    )
    single = fill(ours("column"), X, M)
    excess = f"error of blocks against single columns {mine.rmse / single.rmse - 1:+.2%}"
    yield row("manifill, single columns", single, remark=excess)


def _wide(scale: Scale) -> Iterator[list[str]]:
    for source in scale.wide:
        if (X := source.load()) is not None:
            outcome = fill_apart(_defaults(), partial(source.damaged, 0.5))
            yield _row(source.name, X.shape, 0.5, "manifill, knobs fixed", outcome, remark=outcome.failure)


def _sensors(scale: Scale) -> Iterator[list[str]]:
    if scale.sensors is None or scale.sensors.load() is None:
        return
    X, M = scale.sensors.damaged(0.3)
    mine = fill(_defaults(), X, M)
    row = partial(_row, scale.sensors.name, X.shape, 0.3, baseline=mine.seconds)
    yield row("manifill, knobs fixed", mine)
    yield row("KNN, 5 rows", fill(KNNImputer(n_neighbors=5), X, M))


def _defaults() -> IGHImputer:
    return plain(max_sweeps=SWEEPS, tol=0)


def _row(
    name: str,
    shape: tuple[int, int],
    rate: float,
    method: str,
    outcome: Outcome,
    baseline: float = np.nan,
    remark: str = "",
) -> list[str]:
    numbers = (
        f"{outcome.seconds:,.2f}",
        f"{outcome.seconds / baseline:,.1f}",
        f"{outcome.rmse:.4f}",
        f"{outcome.nrmse:.3f}",
        f"{outcome.peak:,.0f}",
    )
    shown = ["" if number == "nan" else number for number in numbers]
    return [name, f"{shape[0]} × {shape[1]}", f"{rate:.0%}", method, *shown, remark]
