"""COIL-20's toy car: error and run time for eight pictures at increasing angular distance."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from manifill import plots
from manifill._arrays import Array
from manifill._experiments.base import (
    OURS,
    PAPER,
    Claim,
    Experiment,
    Fill,
    Knobs,
    Outcome,
    fill_both,
    removed_entries,
)
from manifill.datasets import load_coil20, rotating_object
from manifill.errors import DatasetNotFound, MissingDependency

KNOBS = Knobs(multiple=1.0, delta=1e-2)
TOY_CAR = 3  # number of the object in COIL-20, as in the paper
PICTURES = 8  # pictures per run, as in the paper


@dataclass(frozen=True)
class Config:
    """Configuration of the experiment."""

    rates: tuple[float, ...] = (0.05, 0.3, 0.7)  # shares of missing pixels
    sparsities: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7, 8, 9)  # distance between pictures, in steps of 5°
    beginnings: int = 1  # first pictures, evenly spaced; one run for each
    thinning: int = 4  # subsampling step of the pixels, along each side
    sweeps: int = 3  # of the paper's algorithm


Runs = dict[tuple[str, float, int], list[Fill]]


def run(config: Config, data_dir: Path | None, seed: int) -> Outcome:
    """Run every sparsity at every rate."""
    views, data = _load_views(config.thinning, data_dir)
    runs: Runs = {}
    for rate in config.rates:
        for sparsity in config.sparsities:
            for i in range(config.beginnings):
                first = (72 // config.beginnings) * i
                images = views[(first + sparsity * np.arange(PICTURES)) % 72]
                X = images.reshape(PICTURES, -1)
                M = removed_entries(X.shape, rate, seed + i)
                label = f"sparsity {sparsity}, {rate:.0%} missing"
                for name, one in fill_both(KNOBS, config.sweeps, X, M, seed + i, label).items():
                    runs.setdefault((name, rate, sparsity), []).append(one)
    return Outcome(
        rows=_rows(runs),
        figures={"": _figure(runs, config, views)},
        claims=_claims(runs, config),
        data=data,
    )


def _load_views(thinning: int, data_dir: Path | None) -> tuple[Array, str]:
    """72 pictures, 5° apart, and the description of the data."""
    try:
        car = load_coil20(data_dir, object=TOY_CAR)
    except (DatasetNotFound, MissingDependency) as error:
        images, _ = rotating_object(72, size=128 // thinning)
        return images, f"SYNTHETIC: a rendered toy car on a turntable; COIL-20 was not found ({error})"
    images = car.X[:, ::thinning, ::thinning]
    size = f"{images.shape[1]} × {images.shape[2]}"
    which = "" if thinning == 1 else f" (one in {thinning} of 128 along each side)"
    return images, f"COIL-20, object {TOY_CAR}, pictures of {size} pixels{which}, {car.source}"


def _errors(runs: Runs, config: Config, name: str, rate: float) -> Array:
    return np.array([np.mean([one.errors[-1] for one in runs[name, rate, s]]) for s in config.sparsities])


def _seconds(runs: Runs, config: Config, name: str, rate: float) -> Array:
    return np.array([np.mean([one.seconds for one in runs[name, rate, s]]) for s in config.sparsities])


def _rows(runs: Runs) -> list[dict[str, Any]]:
    return [
        {
            "method": name,
            "missing": rate,
            "sparsity": sparsity,
            "RMSE": float(np.mean([one.errors[-1] for one in fills])),
            "seconds": float(np.mean([one.seconds for one in fills])),
            "runs": len(fills),
        }
        for (name, rate, sparsity), fills in runs.items()
    ]


def _claims(runs: Runs, config: Config) -> list[Claim]:
    found, rises = [], []
    seconds = []
    for name in (PAPER, OURS):
        curve = np.mean([_errors(runs, config, name, rate) for rate in config.rates], axis=0)
        at = dict(zip(config.sparsities, curve, strict=True))
        rises.append(at[3] > 1.2 * at[1] and at[max(at)] - at[3] < 0.5 * (at[3] - at[1]))
        found.append(f"{name}: {at[1]:.4f}, {at[3]:.4f}, {at[max(at)]:.4f}")
        seconds.append([float(_seconds(runs, config, name, rate).mean()) for rate in config.rates])
    each = ", ".join(f"{rate:.0%}" for rate in config.rates)
    claims = [
        Claim(
            "The error rises sharply from sparsity 1 to 3 and changes little beyond 3.",
            f"RMSE at sparsity 1, 3 and {max(config.sparsities)}, mean over the rates: {'; '.join(found)}.",
            all(rises),
        )
    ]
    if min(config.rates) < 0.1:
        claims.append(
            Claim(
                "Run time drops sharply as the missing rate tends to 0.",
                f"Seconds at {each}: {', '.join(f'{s:.2f}' for s in seconds[0])} with the paper's algorithm, "
                f"{', '.join(f'{s:.2f}' for s in seconds[1])} with defaults.",
                seconds[0][0] < 0.75 * max(seconds[0]),
                "Columns without missing entries are skipped. "
                "With eight pictures, few columns are complete from 20 % missing on.",
            )
        )
    return claims


def _figure(runs: Runs, config: Config, views: Array) -> Figure:
    with plots.look():
        figure = Figure(figsize=(10, 6.2), layout="constrained")
        parts: Any = figure.subfigures(2, 1, height_ratios=(1, 2.6))
        top, bottom = parts
        strip = views[3 * np.arange(PICTURES)]
        plots.mosaic(top.subplots(), strip, columns=PICTURES, limits=(0, 1))
        top.suptitle("eight pictures at sparsity 3: 15° apart", fontsize=10)
        left, right = bottom.subplots(1, 2)
        errors, seconds = {}, {}
        for name in (PAPER, OURS):
            for rate in config.rates:
                errors[f"{name}, {rate:.0%}"] = _errors(runs, config, name, rate)
                seconds[f"{name}, {rate:.0%}"] = _seconds(runs, config, name, rate)
        label = "sparsity (steps of 5°)"
        plots.series(left, config.sparsities, errors, xlabel=label, ylabel="RMSE on the removed pixels")
        plots.series(right, config.sparsities, seconds, xlabel=label, ylabel="seconds", yscale="log")
        left.get_legend().remove()
        right.get_legend().remove()
        bottom.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


EXPERIMENT = Experiment(
    "coil",
    "COIL-20 toy car: error and run time against sparsity",
    "§3.2.1 and §4.1, figure 6",
    {"paper": Config(), "smoke": Config((0.5,), (1, 3, 9), beginnings=1, thinning=8, sweeps=2)},
    run,
)
