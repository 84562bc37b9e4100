"""A video clip with 70 % of its pixels gone, restored frame by frame from the other frames."""

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from manifill._arrays import Array
from manifill._experiments import base
from manifill._experiments.pictures import psnr, quality, stages, strips
from manifill.datasets import rotating_object

KNOBS = base.Knobs(multiple=1.0, delta=1e-2)
CLIP = "video_escalator.npz"


@dataclass(frozen=True)
class Config:
    """Rate of missing pixels, every how many-th frame and pixel, frames drawn, the paper's sweeps."""

    rate: float = 0.7
    frame_thinning: int = 1
    thinning: int = 1
    shown: int = 4
    sweeps: int = 3


def run(config: Config, data_dir: Path | None, seed: int) -> base.Outcome:
    """The clip, damaged and restored by both."""
    frames, data, why = _clip(config, data_dir)
    X = frames.reshape(len(frames), -1)
    M = base.removed_entries(X.shape, config.rate, seed)
    fills = base.both(KNOBS, config.sweeps, X, M, seed, f"video, {config.rate:.0%} missing")
    shown = stages(X, M, fills, frames.shape[1:])
    errors = {name: one.errors[-1] for name, one in fills.items()}
    means = base.error_of_means(X, M)
    return base.Outcome(
        rows=quality(fills, config.rate),
        figures={"": strips(shown, config.shown)},
        claims=[
            base.Claim(
                "Video, with its many similar frames, can be reconstructed.",
                f"{len(X)} frames at {config.rate:.0%}: {base.gain(fills)}; "
                f"{psnr(errors[base.PAPER]):.1f} and {psnr(errors[base.OURS]):.1f} dB. "
                f"Pixel means: {means:.4g}.",
                bool(max(errors.values()) < 0.8 * means),
                why,
            )
        ],
        data=data,
        extra={_name(): partial(_write, shown)},
    )


def _clip(config: Config, data_dir: Path | None) -> tuple[Array, str, str]:
    folder = data_dir or os.environ.get("MANIFILL_DATA")
    path = Path(folder, CLIP) if folder else None
    if path is None or not path.is_file():
        frames, _ = rotating_object(120, size=96, step=3.0)
        thinned = frames[:: config.frame_thinning, :: config.thinning, :: config.thinning]
        why = f"{CLIP} of the LRSLibrary is not in the data folder."
        return thinned, "SYNTHETIC: a rendered toy car on a turntable", why
    with np.load(path) as parts:
        frames = parts["X"] / 255.0
    thinned = frames[:: config.frame_thinning, :: config.thinning, :: config.thinning]
    return thinned, f"an escalator, {len(thinned)} frames of {thinned[0].shape} pixels, {path}", ""


def _name() -> str:
    """A film where there is something to make it with, and else a moving picture."""
    try:
        import av  # noqa: F401
    except ImportError:
        return "clip.gif"
    return "clip.mp4"


def _write(shown: dict[str, Array], path: Path) -> None:
    """Damaged, restored with defaults, and original, beside one another."""
    import imageio.v3 as imageio

    original, damaged, _, ours = shown.values()
    beside = np.concatenate([np.nan_to_num(damaged), np.clip(ours, 0, 1), original], axis=2)
    height, width = beside.shape[1] // 2 * 2, beside.shape[2] // 2 * 2  # films want even numbers
    grey = np.round(255 * beside[:, :height, :width]).astype(np.uint8)
    frames = np.repeat(grey[..., None], 3, axis=3)
    if path.suffix == ".mp4":
        imageio.imwrite(path, frames, plugin="pyav", codec="libx264", fps=20)
    else:
        imageio.imwrite(path, frames, duration=50, loop=0)


EXPERIMENT = base.Experiment(
    "video",
    "Video: a clip damaged and restored",
    "§1.1",
    {"paper": Config(), "smoke": Config(frame_thinning=4, thinning=4, sweeps=2)},
    run,
    needs=("imageio",),
)
