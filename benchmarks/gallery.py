"""Figures of damaged pictures, a common inpainting method, manifill and the truth."""

from collections.abc import Callable

import numpy as np
from matplotlib.figure import Figure
from rich.table import Table

from benchmarks.data import load
from benchmarks.picture_peers import biharmonic, linear_in_time, restored_pictures, restored_video
from benchmarks.pictures import dropped, logo
from benchmarks.results import Result
from manifill.amputation import blocks, lines, mcar
from manifill.datasets import rotating_object
from manifill.metrics import rmse
from manifill.plots.mosaics import mosaic
from manifill.plots.style import look

Damage = tuple[np.ndarray, list[int]]
"""A mask (n, h, w), and the indices of the pictures to show."""


def run(smoke: bool = False) -> Result:
    """A figure of faces and one of video, and a table of their scores."""
    table = Table(
        "data set", "damage", "baseline, dB", "manifill, dB", title="Gallery: PSNR on missing pixels"
    )
    faces, film = load("olivetti64"), load("video_escalator")
    if smoke or faces is None or film is None:
        X = rotating_object(16, size=16)[0]
        kinds = {"scattered 70%": (mcar(X.shape, 0.7, 1), [0, 5, 10])}
        return table, {"gallery_pictures": _figure(X, kinds, restored_pictures, biharmonic, "objects", table)}
    X = faces["X"] / 255.0
    shown = [5, 118, 207, 291]
    kinds = {
        "scattered 70%": (mcar(X.shape, 0.7, 1), shown),
        "blocks 24 × 24": (blocks(X.shape, 24, 1), shown),
        "lines 20%": (lines(X.shape, 0.2, 1), shown),
    }
    figures = {"gallery_pictures": _figure(X, kinds, restored_pictures, biharmonic, "faces", table)}
    V = film["X"] / 255.0
    missing = dropped(V.shape, 0.1, 1)
    first_dropped = np.flatnonzero(missing.all(axis=(1, 2)))[:1].tolist()
    kinds = {
        "scattered 70%": (mcar(V.shape, 0.7, 1), [40]),
        "dropped frames": (missing, first_dropped),
        "logo 32 × 32": (logo(V.shape, 32, 1), [40]),
    }
    figures["gallery_video"] = _figure(V, kinds, restored_video, _video_baseline, "escalator", table)
    return table, figures


def _video_baseline(stack: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Linear interpolation in time; biharmonic inpainting if every pixel is always or never missing."""
    filled = linear_in_time(stack, mask)
    if filled is None:
        filled = biharmonic(stack, mask)
    assert filled is not None
    return filled


def _figure(
    X: np.ndarray,
    kinds: dict[str, Damage],
    ours: Callable[[np.ndarray, np.ndarray], np.ndarray],
    peer: Callable[[np.ndarray, np.ndarray], np.ndarray | None],
    name: str,
    table: Table,
) -> Figure:
    height, width = X.shape[1:]
    n = max(len(shown) for _, shown in kinds.values())
    across = 2 if n > 2 else 1
    aspect = -(-n // across) * height / (across * width)
    with look():
        figure = Figure(figsize=(10, (10 / 4 * aspect + 0.3) * len(kinds)), dpi=150)
        grid = figure.subplots(len(kinds), 4, squeeze=False)
        for row, (title, (mask, shown)) in zip(grid, kinds.items(), strict=True):
            damaged = np.where(mask, np.nan, X)
            theirs, found = peer(damaged, mask), ours(damaged, mask)
            assert theirs is not None
            scores = [-20 * np.log10(rmse(X, np.clip(fill, 0, 1), mask)) for fill in (theirs, found)]
            table.add_row(name, title, *(f"{score:.2f}" for score in scores))
            columns = {
                title: damaged,
                f"baseline: {scores[0]:.1f} dB": theirs,
                f"manifill: {scores[1]:.1f} dB": found,
                "truth": X,
            }
            for axes, (heading, pictures) in zip(row, columns.items(), strict=True):
                mosaic(axes, pictures[shown], columns=across, limits=(0.0, 1.0))
                axes.set_title(heading, fontsize=9)
        figure.tight_layout(pad=0.5)
    return figure
