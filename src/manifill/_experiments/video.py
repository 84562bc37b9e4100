"""A video clip with 70 % of its pixels missing; each frame is restored from the other frames."""

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from manifill._arrays import Array
from manifill._experiments import base
from manifill._experiments.pictures import psnr, quality, stages, strips
from manifill._media import write_clip
from manifill.datasets import rotating_object

KNOBS = base.Knobs(multiple=1.0, delta=1e-2)
CLIP = "video_escalator.npz"


@dataclass(frozen=True)
class Config:
    """Configuration of the experiment."""

    rate: float = 0.7  # share of missing pixels
    frame_thinning: int = 1  # subsampling step of the frames
    thinning: int = 1  # subsampling step of the pixels, along each side
    shown: int = 4  # frames in the figure
    sweeps: int = 3  # of the paper's algorithm


def run(config: Config, data_dir: Path | None, seed: int) -> base.Outcome:
    """Remove pixels from the clip and restore them with both methods."""
    frames, data, why = _clip(config, data_dir)
    X = frames.reshape(len(frames), -1)
    M = base.removed_entries(X.shape, config.rate, seed)
    fills = base.fill_both(KNOBS, config.sweeps, X, M, seed, f"video, {config.rate:.0%} missing")
    shown = stages(X, M, fills, frames.shape[1:])
    errors = {name: one.errors[-1] for name, one in fills.items()}
    means = base.error_of_means(X, M)
    return base.Outcome(
        rows=quality(fills, config.rate),
        figures={"": strips(shown, config.shown)},
        claims=[
            base.Claim(
                "Video, with its many similar frames, can be reconstructed.",
                f"{len(X)} frames at {config.rate:.0%}: {base.compared(fills)}; "
                f"PSNR {psnr(errors[base.PAPER]):.1f} dB with the paper's algorithm, "
                f"{psnr(errors[base.OURS]):.1f} dB with defaults. RMSE of the pixel means: {means:.4g}.",
                bool(max(errors.values()) < 0.8 * means),
                why,
            )
        ],
        data=data,
        extra={"clip.mp4": partial(_write, shown)},
    )


def _clip(config: Config, data_dir: Path | None) -> tuple[Array, str, str]:
    folder = data_dir or os.environ.get("MANIFILL_DATA")
    path = Path(folder, CLIP) if folder else None
    if path is None or not path.is_file():
        frames, _ = rotating_object(120, size=96, step=3.0)
        thinned = frames[:: config.frame_thinning, :: config.thinning, :: config.thinning]
        why = f"{CLIP} of the LRSLibrary was not found in the data folder."
        return thinned, "SYNTHETIC: a rendered toy car on a turntable", why
    with np.load(path) as parts:
        frames = parts["X"] / 255.0
    thinned = frames[:: config.frame_thinning, :: config.thinning, :: config.thinning]
    return thinned, f"an escalator, {len(thinned)} frames of {thinned[0].shape} pixels, {path}", ""


def _write(shown: dict[str, Array], path: Path) -> None:
    """Write the damaged, restored (with defaults) and original frames side by side."""
    original, damaged, _, ours = shown.values()
    joined = np.concatenate([np.nan_to_num(damaged), np.clip(ours, 0, 1), original], axis=2)
    write_clip(path, np.round(255 * joined).astype(np.uint8))


EXPERIMENT = base.Experiment(
    "video",
    "Video: a clip damaged and restored",
    "§1.1",
    {"paper": Config(), "smoke": Config(frame_thinning=4, thinning=4, sweeps=2)},
    run,
    needs=("av",),
)
