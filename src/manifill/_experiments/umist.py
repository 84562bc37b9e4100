"""UMIST faces: the sequence of one person turning the head, damaged and restored."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from manifill._arrays import Array, Mask, Table
from manifill._experiments import base
from manifill._experiments.pictures import psnr, quality, stages, strips
from manifill.datasets import load_umist, rotating_object
from manifill.errors import DatasetNotFound, MissingDependency

KNOBS = base.Knobs(multiple=1.0, delta=1e-2)


@dataclass(frozen=True)
class Config:
    """Configuration of the experiment."""

    rate: float = 0.7  # share of missing pixels
    full: bool = True  # 112 × 92 pixels instead of 28 × 23
    shown: int = 6  # pictures in the figure
    sweeps: int = 5  # of the paper's algorithm


def run(config: Config, data_dir: Path | None, seed: int) -> base.Outcome:
    """Remove and restore pixels of the person with the most pictures."""
    images, data, why = _sequence(config.full, data_dir)
    X = images.reshape(len(images), -1)
    M = base.removed_entries(X.shape, config.rate, seed)
    fills = base.fill_both(KNOBS, config.sweeps, X, M, seed, f"UMIST, {config.rate:.0%} missing")
    shown = stages(X, M, fills, images.shape[1:])
    elsewhere, at_borders = _edges(X, M, fills[base.OURS].filled, images.shape[1:])
    errors = {name: one.errors[-1] for name, one in fills.items()}
    means = base.error_of_means(X, M)
    return base.Outcome(
        rows=quality(fills, config.rate),
        figures={"": strips(shown, config.shown)},
        claims=[
            base.Claim(
                "Damaged pictures of one person are restored from the person's other pictures.",
                f"{len(X)} pictures at {config.rate:.0%}: {base.compared(fills)}; "
                f"PSNR {psnr(errors[base.PAPER]):.1f} dB with the paper's algorithm, "
                f"{psnr(errors[base.OURS]):.1f} dB with defaults. RMSE of the pixel means: {means:.4g}.",
                bool(max(errors.values()) < 0.8 * means),
                why,
            ),
            base.Claim(
                "Borders between very dark and very light regions are difficult to restore.",
                f"RMSE {at_borders:.4f} at the 10 % of the pixels with the steepest brightness gradient, "
                f"{elsewhere:.4f} elsewhere.",
                bool(at_borders > 1.3 * elsewhere),
            ),
        ],
        data=data,
    )


def _sequence(full: bool, data_dir: Path | None) -> tuple[Array, str, str]:
    try:
        faces = load_umist(data_dir, full=full)
    except (DatasetNotFound, MissingDependency) as error:
        images, _ = rotating_object(30, size=64 if full else 24, step=3.0)
        return images, "SYNTHETIC: a rendered object that turns; UMIST was not found", str(error)
    person = int(np.bincount(faces.y).argmax())
    images = faces.X[faces.y == person]
    why = "" if len(images) >= 30 else f"The paper has 30 pictures of its person; here are {len(images)}."
    size = f"{images.shape[1]} × {images.shape[2]}"
    return images, f"UMIST faces, person {person}, {len(images)} × {size} pixels, {faces.source}", why


def _edges(X: Array, M: Mask, filled: Table, shape: tuple[int, ...]) -> tuple[float, float]:
    """RMSE on missing pixels outside and inside the 10 % of the pixels with the steepest gradient."""
    down, right = np.gradient(X.reshape(-1, *shape), axis=(1, 2))
    slope = np.hypot(down, right).reshape(X.shape)
    steep = slope > np.quantile(slope, 0.9)
    squared_error = (filled - X) ** 2
    elsewhere, at_borders = (float(np.sqrt(squared_error[M & where].mean())) for where in (~steep, steep))
    return elsewhere, at_borders


EXPERIMENT = base.Experiment(
    "umist",
    "UMIST: one person's sequence",
    "§3.2.1, figure 5",
    {"paper": Config(), "smoke": Config(full=False, sweeps=3)},
    run,
)
