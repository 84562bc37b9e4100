"""The picture of the README: the table, the sensor log and the pictures of `manifill example`, filled."""

import tempfile
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from rich.table import Table

from benchmarks.results import Result
from manifill import TableImputer, images
from manifill._cli import example
from manifill._media import read_pictures
from manifill.metrics import psnr, rmse
from manifill.plots import MISSING_COLOR, STYLES, look, mosaic

SHOWN = "concave_points"
HOURS = slice(480, 600)


def run(smoke: bool = False) -> Result:
    """A figure with three panels, and their scores."""
    table = Table("example", "score", "manifill", "column mean", title="The README's picture")
    with tempfile.TemporaryDirectory() as temporary, look():
        folder = Path(temporary)
        example.run(folder, force=True)
        figure = Figure(figsize=(13, 3.4), layout="constrained")
        left, middle, right = figure.subplots(1, 3, width_ratios=(1, 2, 1.75))
        limit = {"time_limit": 2.0} if smoke else {}
        _scatter(left, folder, table, limit)
        _log(middle, folder, table, limit)
        _cars(right, folder, table, 6 if smoke else 36)
    return table, {"overview": figure}


def _scatter(axes: Axes, folder: Path, table: Table, limit: dict[str, float]) -> None:
    """True against filled values of one column of the tumours."""
    truth, frame = (pd.read_csv(folder / f"tumours{end}.csv") for end in ("-complete", ""))
    filled = TableImputer(random_state=0, **limit).fit_transform(frame)
    missing = frame[SHOWN].isna()
    x, y = truth[SHOWN][missing], filled[SHOWN][missing]
    axes.plot([0, x.max()], [0, x.max()], color="0.6", lw=1)
    axes.axhline(frame[SHOWN].mean(), color=MISSING_COLOR, ls="--", label="column mean")
    axes.plot(x, y, ".", color=STYLES[0][0], ms=5, label="manifill")
    axes.set(xlabel="true value", ylabel="filled value", title="A table: tumours, concave points")
    axes.legend(loc="upper left")
    mean = np.full(len(x), frame[SHOWN].mean())
    table.add_row(SHOWN, "RMSE", f"{_rms(y - x):.4f}", f"{_rms(mean - x):.4f}")


def _log(axes: Axes, folder: Path, table: Table, limit: dict[str, float]) -> None:
    """Outages of the weather station, with 90 % intervals and the truth."""
    truth, frame = (
        pd.read_csv(folder / f"station{end}.csv", parse_dates=["time"]) for end in ("-complete", "")
    )
    imputer = TableImputer(time="time", random_state=0, **limit)
    filled = imputer.fit_transform(frame)
    low, high = imputer.intervals(0.9)
    days = np.arange(len(frame)) / 24
    name, missing = "temperature", frame["temperature"].isna()
    filled_or_next = missing | missing.shift(1, fill_value=False) | missing.shift(-1, fill_value=False)
    shade = {"where": filled_or_next[HOURS], "color": STYLES[0][0], "alpha": 0.25, "lw": 0}
    axes.fill_between(days[HOURS], low[name][HOURS], high[name][HOURS], **shade, label="90 % interval")
    axes.plot(
        days[HOURS],
        truth[name].where(filled_or_next)[HOURS],
        color=MISSING_COLOR,
        lw=1.2,
        ls="--",
        zorder=5,
        label="truth",
    )
    axes.plot(
        days[HOURS], filled[name].where(filled_or_next)[HOURS], color=STYLES[0][0], lw=2, label="manifill"
    )
    axes.plot(days[HOURS], frame[name][HOURS], color="0.25", lw=1.2, label="measured")
    axes.set(xlabel="day", ylabel="temperature, °C", title="A sensor log with outages of many hours")
    axes.set_ylim(top=axes.get_ylim()[1] + 4)
    axes.legend(loc="upper center", ncols=4, fontsize=9, handlelength=1.5)
    error = (filled[name] - truth[name])[missing]
    mean = (frame[name].mean() - truth[name])[missing]
    table.add_row("temperature", "RMSE, °C", f"{_rms(error):.2f}", f"{_rms(mean):.2f}")
    inside = (low[name] <= truth[name]) & (truth[name] <= high[name])
    table.add_row("temperature", "within 90 % intervals", f"{inside[missing].mean():.0%}", "")


def _cars(axes: Axes, folder: Path, table: Table, n: int) -> None:
    """Damaged pictures, restored, and the truth."""
    damaged, masks, truth = (
        read_pictures(folder / name).values[:n, ..., 0] for name in ("damaged", "masks", "complete")
    )
    missing = masks > 0
    restored = images.restore(damaged, missing, random_state=0)
    shown = np.linspace(1, n - 1, 4).astype(int)
    stages = np.concatenate([np.where(missing, np.nan, damaged)[shown], restored[shown], truth[shown]])
    mosaic(axes, stages, columns=4, limits=(0, 255), gap=3)
    axes.set(title="Pictures: damaged, manifill, truth")
    means = np.where(missing, np.nanmean(np.where(missing, np.nan, damaged), axis=0), damaged)
    scores = [psnr(truth / 255, one / 255, missing) for one in (restored, means)]
    table.add_row("pictures", "PSNR, dB", *(f"{score:.1f}" for score in scores))
    assert rmse(truth, restored, ~missing) == 0


def _rms(errors: npt.ArrayLike) -> float:
    return float(np.sqrt(np.mean(np.asarray(errors) ** 2)))
