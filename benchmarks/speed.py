"""Time on pictures and sensors: manifill, common imputers, and the paper's algorithm as printed."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from rich.table import Table
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer

from benchmarks.data import Source
from benchmarks.fills import Outcome, fill, fill_in_subprocess, median
from benchmarks.knobs import plain
from benchmarks.literal import seconds_per_column
from benchmarks.svd import IterativeSVD
from manifill import IGHImputer, Sweep
from manifill.kernels import Gaussian, MedianDistance
from manifill.solvers import Ridge

SWEEPS = 6
COLUMNS = (
    "data set",
    "shape",
    "missing",
    "method",
    "seconds",
    "seconds / manifill's",
    "RMSE",
    "RMSE, standardised",
    "peak MB",
    "remark",
)


@dataclass(frozen=True)
class Scale:
    """Data sets, and how much time the measurement may take.

    Attributes
    ----------
    faces, wide, sensors : data sets; None skips that part.
    rates : shares of missing entries of the faces; slower methods run at the first one only.
    times : number of runs, of which the median is reported.
    limit : seconds allowed for each of the slower peers.
    columns, pairs : numbers of columns and pairs of rows on which the paper's loops are timed.
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
    """Seconds, their ratio to manifill's, error and memory; data sets without a file are skipped."""
    scale = SMOKE if smoke else FULL
    table = Table(*COLUMNS, title="Speed, entries missing completely at random")
    table.caption = (
        "RMSE in the data set's units (pixels from 0 to 1), then in standard deviations of the columns. "
        "Peaks are those of a separate process, libraries and table included."
    )
    for part in (_faces, _wide, _sensors):
        for row in part(scale):
            table.add_row(*row)
    if not table.row_count:
        table.add_row("no data: set MANIFILL_DATA to the folder of the data sets")
    return table


def ours(schedule: str = "auto") -> IGHImputer:
    """Six sweeps with bandwidth and ridge set by hand for these faces."""
    return IGHImputer(
        Gaussian(MedianDistance(16)),
        solver=Ridge(2e-4),
        method=Sweep(schedule=schedule),
        tol=0,
        max_sweeps=SWEEPS,
        random_state=0,
    )


def _faces(scale: Scale) -> Iterator[list[str]]:
    """Ours and KNN in alternation, so that both run under the same load; slower methods once."""
    if scale.faces.load() is None:
        return
    for rate in scale.rates:
        X, M = scale.faces.damaged(rate)
        rounds = [(fill(ours(), X, M), fill(KNNImputer(n_neighbors=5), X, M)) for _ in range(scale.times)]
        mine, knn = (median(list(outcomes)) for outcomes in zip(*rounds, strict=True))
        row = partial(_row, scale.faces.name, X.shape, rate, baseline=mine.seconds)
        yield row("manifill", mine, remark=f"median of {scale.times}")
        yield row("KNN, 5 rows", knn, remark=f"median of {scale.times}")
        if rate == scale.rates[0]:
            yield from _slower(scale, X, M, rate, mine)


def _slower(scale: Scale, X: np.ndarray, M: np.ndarray, rate: float, mine: Outcome) -> Iterator[list[str]]:
    """Methods that run once: slower peers, the paper's algorithm as printed, and single columns."""
    row = partial(_row, scale.faces.name, X.shape, rate, baseline=mine.seconds)
    source = partial(scale.faces.damaged, rate)
    peers = {
        "iterative, 50 columns, 3 rounds": IterativeImputer(
            n_nearest_features=min(50, X.shape[1]), max_iter=3, random_state=0
        ),
        "iterated SVD, rank 40": IterativeSVD(rank=min(40, min(X.shape) // 2)),
    }
    for name, peer in peers.items():
        outcome = fill_in_subprocess(peer, source, scale.limit)
        yield row(name, outcome, remark=outcome.failure)
    per_column = seconds_per_column(X, M, scale.columns, scale.pairs)
    yield row(
        "the paper's loops as printed",
        Outcome(seconds=per_column * int(M.any(axis=0).sum()) * SWEEPS),
        remark=f"extrapolated from {per_column:.3g} s per column, itself from {scale.pairs} pairs of rows",
    )
    single = fill(ours("column"), X, M)
    excess = f"error of blocks relative to single columns {mine.rmse / single.rmse - 1:+.2%}"
    yield row("manifill, single columns", single, remark=excess)


def _wide(scale: Scale) -> Iterator[list[str]]:
    for source in scale.wide:
        if (X := source.load()) is not None:
            outcome = fill_in_subprocess(_fixed(), partial(source.damaged, 0.5))
            yield _row(source.name, X.shape, 0.5, "manifill, fixed settings", outcome, remark=outcome.failure)


def _sensors(scale: Scale) -> Iterator[list[str]]:
    if scale.sensors is None or scale.sensors.load() is None:
        return
    X, M = scale.sensors.damaged(0.3)
    mine = fill(_fixed(), X, M)
    row = partial(_row, scale.sensors.name, X.shape, 0.3, baseline=mine.seconds)
    yield row("manifill, fixed settings", mine)
    yield row("KNN, 5 rows", fill(KNNImputer(n_neighbors=5), X, M))


def _fixed() -> IGHImputer:
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
