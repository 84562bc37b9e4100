"""Sensor series (traffic, air quality): manifill with and without column layout and row times, and peers."""

import time
import warnings
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
from rich.table import Table
from sklearn.impute import KNNImputer

from benchmarks.data import load
from benchmarks.picture_peers import interpolated
from manifill import IGHImputer, TableImputer
from manifill.amputation import mcar
from manifill.layouts import Learned
from manifill.metrics import rmse

OURS = "manifill, learned layout, row times"


def sets(smoke: bool = False) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Name, table (times, sensors) with its original missing entries, and the mask of removed entries."""
    if smoke:
        phase = np.random.default_rng(0).uniform(0, 6, 4)
        X = np.sin(np.arange(80)[:, None] / 8 + phase)
        yield "waves, scattered 30%", X, mcar(X.shape, 0.3, 0)
        yield "waves, runs 20%", X, runs(X, 0.2, 12, 0)
        return
    if (traffic := load("metr_la_week")) is not None:
        yield "METR-LA, scattered 30%", traffic["X"], mcar(traffic["X"].shape, 0.3, 0)
        yield "METR-LA, runs 20%", traffic["X"], runs(traffic["X"], 0.2, 12, 0)
    if (air := load("air_quality_uci")) is not None:
        X = air["X"][:3000]
        yield "air quality, scattered 30%", X, mcar(X.shape, 0.3, 0) & ~np.isnan(X)
        yield "air quality, runs 20%", X, runs(X, 0.2, 24, 0)


def runs(X: np.ndarray, rate: float, longest: int, seed: int) -> np.ndarray:
    """Mask of a share of the observed values of each column, in runs of 1 to `longest` rows."""
    rng = np.random.default_rng(seed)
    removed = np.zeros(X.shape, dtype=bool)
    for column, seen in zip(removed.T, ~np.isnan(X).T, strict=True):
        while (column & seen).sum() < rate * seen.sum():
            first = rng.integers(len(X))
            column[first : first + rng.integers(1, longest + 1)] = True
    return removed & ~np.isnan(X)


def methods() -> dict[str, Callable[[np.ndarray], np.ndarray]]:
    """Methods by name."""
    ours = IGHImputer(layout=Learned(), times="even", random_state=0)
    return {
        OURS: ours.fit_transform,
        "manifill, TableImputer(time=)": _with_time,
        "manifill, rows only": lambda X: IGHImputer(random_state=0).fit_transform(X),
        "linear in time": interpolated,
        "KNN": lambda X: KNNImputer().fit_transform(X),
    }


def _with_time(X: np.ndarray) -> np.ndarray:
    """What `manifill impute --time` does."""
    frame = pd.DataFrame(X).assign(time=np.arange(len(X)))
    return TableImputer(time="time", random_state=0).fit_transform(frame).drop(columns="time").to_numpy()


def run(smoke: bool = False) -> Table:
    """RMSE on the removed entries, in standard deviations of the observed values per column, and seconds."""
    fills = methods()
    table = Table("data set", "shape", *fills, title="Sensors: RMSE, standardised (seconds)")
    table.caption = "Runs: 1 to 12 (air quality: 24) rows of a column. Only removed entries are scored."
    if not smoke:  # load compiled code before timing starts
        _, X, removed = next(sets(smoke=True))
        for fill in fills.values():
            fill(np.where(removed, np.nan, X))
    for name, X, removed in sets(smoke):
        outcomes = [_filled(fill, X, removed) for fill in fills.values()]
        best = min(error for error, _ in outcomes)
        texts = [f"{error:.4f} ({seconds:.1f})" for error, seconds in outcomes]
        marked = [f"[bold]{t}[/]" if e == best else t for t, (e, _) in zip(texts, outcomes, strict=True)]
        table.add_row(name, f"{X.shape[0]} × {X.shape[1]}", *marked)
    if not table.row_count:
        table.add_row("no data: set MANIFILL_DATA to the folder of the data sets")
    return table


def _filled(fill: Callable[[np.ndarray], np.ndarray], X: np.ndarray, M: np.ndarray) -> tuple[float, float]:
    damaged = np.where(M, np.nan, X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.perf_counter()
        filled = fill(damaged)
        seconds = time.perf_counter() - began
    std = np.nanstd(damaged, axis=0)
    return rmse(X / std, filled / std, M), seconds
