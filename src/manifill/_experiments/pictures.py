"""Functions shared by the experiments with pictures."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from manifill import plots
from manifill._arrays import Array, Mask
from manifill._experiments.base import OURS, PAPER, Fill


def stages(X: Array, M: Mask, fills: Mapping[str, Fill], shape: tuple[int, ...]) -> dict[str, Array]:
    """Original, damaged and both restored versions of `X` (n, pixels), each (n, height, width), by title."""
    tables = {
        "original": X,
        f"damaged, {M.mean():.0%} missing": np.where(M, np.nan, X),
        f"restored, {PAPER}": fills[PAPER].filled,
        f"restored, {OURS}": fills[OURS].filled,
    }
    return {title: np.asarray(table).reshape(len(X), *shape) for title, table in tables.items()}


def quality(fills: Mapping[str, Fill], rate: float, **more: Any) -> list[dict[str, Any]]:
    """One CSV line per method: RMSE, PSNR, sweeps, seconds."""
    return [
        {
            **more,
            "method": name,
            "missing": rate,
            "RMSE": one.errors[-1],
            "PSNR": psnr(one.errors[-1]),
            "sweeps of the final run": len(one.errors) - 1,
            "seconds": one.seconds,
        }
        for name, one in fills.items()
    ]


def psnr(error: float) -> float:
    """Peak signal-to-noise ratio in decibels of an RMSE, for pixels from 0 to 1."""
    return float(-20 * np.log10(max(error, 1e-12)))


def strips(shown: Mapping[str, Array], count: int, width: float = 10.0) -> Figure:
    """Figure with one strip of `count` evenly chosen pictures for each stage (n, height, width)."""
    n, tall, broad = next(iter(shown.values())).shape
    chosen = np.linspace(0, n - 1, min(count, n)).astype(int)
    margin = 1.3
    height = (width - margin) / len(chosen) * tall / broad
    with plots.look():
        figure = Figure(figsize=(width, len(shown) * (height + 0.08)), layout="constrained")
        for axes, (title, images) in zip(figure.subplots(len(shown), 1), shown.items(), strict=True):
            plots.mosaic(
                axes, images[chosen], columns=len(chosen), limits=(0, 1), missing_color="black", gap=2
            )
            label = title.replace(", ", ",\n").replace("paper's ", "paper's\n")
            axes.set_ylabel(label, rotation=0, ha="right", va="center")
    return figure
