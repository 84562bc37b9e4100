"""How does run time grow with the number of records, and with the share that is missing?"""

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
    both,
    removed_entries,
)
from manifill.datasets import load_umist, rotating_object
from manifill.errors import DatasetNotFound, MissingDependency

KNOBS = Knobs(multiple=1.0, delta=1e-2)


@dataclass(frozen=True)
class Config:
    """Numbers of pictures, rates of missing pixels, thinning of pixels along a side, the paper's sweeps."""

    sizes: tuple[int, ...] = (25, 50, 100, 150, 200)
    rates: tuple[float, ...] = (0.02, 0.3, 0.7)
    thinning: int = 2
    sweeps: int = 1


Runs = dict[tuple[str, float, int], Fill]


def run(config: Config, data_dir: Path | None, seed: int) -> Outcome:
    """Every number of pictures at every rate."""
    images, data = _pictures(max(config.sizes), config.thinning, data_dir)
    runs: Runs = {}
    for n in config.sizes:
        X = images[np.linspace(0, len(images) - 1, n).astype(int)].reshape(n, -1)
        for rate in config.rates:
            M = removed_entries(X.shape, rate, seed)
            fills = both(KNOBS, config.sweeps, X, M, seed, f"{n} pictures, {rate:.0%} missing")
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
    except (DatasetNotFound, MissingDependency) as missing:
        images, _ = rotating_object(most, size=128 // thinning)
        return images, f"SYNTHETIC: a rendered object on a turntable, for UMIST is not here ({missing})"
    images = faces.X[:, ::thinning, ::thinning]
    pixels = images.shape[1] * images.shape[2]
    return images, f"UMIST faces, {pixels:,} pixels each (the paper: 10,304), {faces.source}"


def _seconds(runs: Runs, name: str, rate: float, sizes: tuple[int, ...]) -> Array:
    """Of a sweep of the paper's algorithm, whose number of sweeps is ours to choose; of defaults, of all."""
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


def _power(sizes: tuple[int, ...], seconds: Array) -> float:
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def _claims(runs: Runs, config: Config) -> list[Claim]:
    powers = {
        name: [_power(config.sizes, _seconds(runs, name, rate, config.sizes)) for rate in config.rates]
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
            f"It grows with the power {min(powers[PAPER]):.2f} to {max(powers[PAPER]):.2f} of the number for "
            f"the paper's algorithm, {min(powers[OURS]):.2f} to {max(powers[OURS]):.2f} for defaults.",
            bool(0.6 < np.mean(powers[PAPER]) < 1.4),
            "For many records eigenvectors must cost the cube of the number of known ones; at these sizes "
            "what every column costs anyway still counts.",
        ),
        Claim(
            "It increases with the missing rate, but hardly beyond 20 %.",
            f"{largest} pictures at {each}: {', '.join(f'{s:.1f}' for s in theirs)} s a sweep with the "
            f"paper's algorithm, {', '.join(f'{s:.1f}' for s in ours)} s in all with defaults.",
            bool(theirs[0] < min(beyond) and max(beyond) < 1.25 * min(beyond)),
            "With more values missing fewer rows are known, and what must be factored is smaller: the more "
            "is missing, the faster, where every column has a hole.",
        ),
    ]


def _figure(runs: Runs, config: Config) -> Figure:
    with plots.look():
        figure = Figure(figsize=(9.5, 4.2), layout="constrained")
        for axes, name in zip(figure.subplots(1, 2), (PAPER, OURS), strict=True):
            lines = {f"{rate:.0%}": _seconds(runs, name, rate, config.sizes) for rate in config.rates}
            label = "seconds a sweep" if name == PAPER else "seconds in all"
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
