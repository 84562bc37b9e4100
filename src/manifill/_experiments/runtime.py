"""Run time against the number of records and the share of missing entries."""

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
from manifill.datasets import load_umist, rotating_object
from manifill.errors import DatasetNotFound, MissingDependency

KNOBS = Knobs(multiple=1.0, delta=1e-2)


@dataclass(frozen=True)
class Config:
    """Configuration of the experiment."""

    sizes: tuple[int, ...] = (25, 50, 100, 150, 200)  # numbers of pictures
    rates: tuple[float, ...] = (0.02, 0.3, 0.7)  # shares of missing pixels
    thinning: int = 2  # subsampling step of the pixels, along each side
    sweeps: int = 1  # of the paper's algorithm


Runs = dict[tuple[str, float, int], Fill]


def run(config: Config, data_dir: Path | None, seed: int) -> Outcome:
    """Run every number of pictures at every rate."""
    images, data = _pictures(max(config.sizes), config.thinning, data_dir)
    runs: Runs = {}
    for n in config.sizes:
        X = images[np.linspace(0, len(images) - 1, n).astype(int)].reshape(n, -1)
        for rate in config.rates:
            M = removed_entries(X.shape, rate, seed)
            fills = fill_both(KNOBS, config.sweeps, X, M, seed, f"{n} pictures, {rate:.0%} missing")
            for name, one in fills.items():
                runs[name, rate, n] = one
    return Outcome(
        rows=_rows(runs),
        figures={"": _figure(runs, config)},
        claims=_claims(runs, config),
        data=data,
    )


def _pictures(most: int, thinning: int, data_dir: Path | None) -> tuple[Array, str]:
    try:
        faces = load_umist(data_dir, full=True)
    except (DatasetNotFound, MissingDependency) as error:
        images, _ = rotating_object(most, size=128 // thinning)
        return images, f"SYNTHETIC: a rendered object on a turntable; UMIST was not found ({error})"
    images = faces.X[:, ::thinning, ::thinning]
    pixels = images.shape[1] * images.shape[2]
    return images, f"UMIST faces, {pixels:,} pixels each (the paper: 10,304), {faces.source}"


def _seconds(runs: Runs, name: str, rate: float, sizes: tuple[int, ...]) -> Array:
    """Seconds per sweep of the paper's algorithm, whose number of sweeps is set here; total with defaults."""
    each = (runs[name, rate, n] for n in sizes)
    return np.array([one.seconds / (len(one.changes) if name == PAPER else 1) for one in each])


def _rows(runs: Runs) -> list[dict[str, Any]]:
    return [
        {
            "method": name,
            "missing": rate,
            "pictures": n,
            "sweeps": len(one.changes),
            "seconds": one.seconds,
            "RMSE": one.errors[-1],
        }
        for (name, rate, n), one in runs.items()
    ]


def _exponent(sizes: tuple[int, ...], seconds: Array) -> float:
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def _claims(runs: Runs, config: Config) -> list[Claim]:
    exponents = {
        name: [_exponent(config.sizes, _seconds(runs, name, rate, config.sizes)) for rate in config.rates]
        for name in (PAPER, OURS)
    }
    largest = max(config.sizes)
    theirs, ours = (
        [float(_seconds(runs, name, rate, (largest,))[0]) for rate in config.rates] for name in (PAPER, OURS)
    )
    beyond = [seconds for seconds, rate in zip(theirs, config.rates, strict=True) if rate > 0.2]
    each = ", ".join(f"{rate:.0%}" for rate in config.rates)
    return [
        Claim(
            "Run time increases approximately linearly with the number of records.",
            f"It grows as nᵃ with a = {min(exponents[PAPER]):.2f} to {max(exponents[PAPER]):.2f} for the "
            f"paper's algorithm, {min(exponents[OURS]):.2f} to {max(exponents[OURS]):.2f} for defaults.",
            bool(0.6 < np.mean(exponents[PAPER]) < 1.4),
            "Eigenvectors cost the cube of the number of observed rows, which dominates for many records; at "
            "these sizes the fixed cost per column still matters.",
        ),
        Claim(
            "Run time increases with the missing rate, but hardly beyond 20 %.",
            f"{largest} pictures at {each}: {', '.join(f'{s:.1f}' for s in theirs)} s per sweep with the "
            f"paper's algorithm, {', '.join(f'{s:.1f}' for s in ours)} s in total with defaults.",
            bool(theirs[0] < min(beyond) and max(beyond) < 1.25 * min(beyond)),
            "With more missing entries, each column has fewer observed rows and a smaller matrix to factor. "
            "Run time therefore falls once every column has a missing entry.",
        ),
    ]


def _figure(runs: Runs, config: Config) -> Figure:
    with plots.look():
        figure = Figure(figsize=(9.5, 4.2), layout="constrained")
        for axes, name in zip(figure.subplots(1, 2), (PAPER, OURS), strict=True):
            lines = {f"{rate:.0%}": _seconds(runs, name, rate, config.sizes) for rate in config.rates}
            label = "seconds per sweep" if name == PAPER else "seconds in total"
            plots.series(axes, config.sizes, lines, xlabel="pictures", ylabel=label, ylim=(0, None))
            axes.set_title(name)
            if axes.get_legend():
                axes.get_legend().set_title("missing")
    return figure


EXPERIMENT = Experiment(
    "runtime",
    "Run time against number of records and missing rate",
    "§4.1, figure 9",
    {"paper": Config(), "smoke": Config((10, 20), (0.2, 0.5), thinning=8, sweeps=1)},
    run,
)
