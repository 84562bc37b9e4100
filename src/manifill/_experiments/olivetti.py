"""Olivetti faces with 70 % of the pixels missing: are the people recognisable after restoration?"""

from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from manifill import plots
from manifill._arrays import Array
from manifill._experiments import base
from manifill._experiments.pictures import psnr, quality, stages, strips
from manifill.datasets import load_olivetti

KNOBS = base.Knobs(multiple=2.0, delta=3e-4)


@dataclass(frozen=True)
class Config:
    """Configuration of the experiment."""

    rate: float = 0.7  # share of missing pixels
    pictures: int = 400
    thinning: int = 1  # subsampling step of the pixels, along each side
    sweeps: int = 5  # of the paper's algorithm


def run(config: Config, data_dir: Path | None, seed: int) -> base.Outcome:
    """Remove pixels from all pictures and restore them with both methods."""
    faces = load_olivetti(data_dir)
    images = faces.X[: config.pictures, :: config.thinning, :: config.thinning]
    X = images.reshape(len(images), -1)
    M = base.removed_entries(X.shape, config.rate, seed)
    fills = base.fill_both(KNOBS, config.sweeps, X, M, seed, f"Olivetti, {config.rate:.0%} missing")
    shown = stages(X, M, fills, images.shape[1:])
    mean = base.error_of_means(X, M)
    best = fills[base.OURS].errors[-1]
    claims = [
        base.Claim(
            f"With {config.rate:.0%} of the pixels deleted the people in the photos are recognisable.",
            f"RMSE {fills[base.PAPER].errors[-1]:.4f} with the paper's algorithm, {best:.4f} with defaults "
            f"({psnr(best):.1f} dB), {mean:.4f} with the column means; see the mosaics.",
            bool(max(one.errors[-1] for one in fills.values()) < 0.6 * mean),
            "Pixels of a picture are imputed only from the other pictures, as in the paper; methods that use "
            "neighbouring pixels do better on scattered missing pixels.",
        )
    ]
    return base.Outcome(
        rows=quality(fills, config.rate),
        figures={"": strips(shown, 10), "whole": _mosaics(shown)},
        claims=claims,
        data=f"{len(images)} Olivetti faces of {images.shape[1]} × {images.shape[2]} pixels, {faces.source}",
    )


def _mosaics(shown: dict[str, Array]) -> Figure:
    with plots.look():
        figure = Figure(figsize=(12, 12.6), layout="constrained")
        plots.before_after(figure.subplots(2, 2).ravel(), shown, limits=(0, 1), missing_color="black")
    return figure


EXPERIMENT = base.Experiment(
    "olivetti",
    "Olivetti faces, 70 % of the pixels missing",
    "§3.2.1, figures 2 to 4",
    {"paper": Config(), "smoke": Config(pictures=120, thinning=4, sweeps=3)},
    run,
)
