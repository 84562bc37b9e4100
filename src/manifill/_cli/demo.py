"""The demo: handwritten digits with half of their pixels removed, filled by manifill and two other tools."""

import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table as Grid
from sklearn.datasets import load_digits
from sklearn.impute import KNNImputer, SimpleImputer

from manifill._arrays import Array, Mask
from manifill._cli import ending
from manifill._cli.watch import console, fit_watched, say
from manifill._estimators import IGHImputer
from manifill._files import atomic_write
from manifill.amputation import mcar
from manifill.errors import InvalidInput, MissingDependency
from manifill.metrics import rmse

RATE = 0.5
SEED = 0


def run(picture: Path | None) -> None:
    """Damage 300 digits, fill them, compare the error with that of two common tools, and draw the result."""
    if picture is not None:
        _check_picture(picture)
    digits = load_digits().data[:300] / 16
    X = digits[:, digits.max(axis=0) > 0]
    M = mcar(X.shape, RATE, SEED)
    damaged = np.where(M, np.nan, X)
    console.print(f"{len(X)} handwritten digits, {M.mean():.0%} of their pixels removed at random.")

    imputer = IGHImputer(random_state=SEED)

    methods: dict[str, Callable[[Array], Any]] = {
        "column mean": SimpleImputer().fit_transform,
        "KNNImputer": KNNImputer(weights="distance").fit_transform,
        "manifill": partial(fit_watched, imputer),
    }
    grid = Grid("method", "RMSE on the removed pixels", "seconds")
    filled: Any = None
    for name, method in methods.items():
        began = time.perf_counter()
        filled = method(damaged)
        grid.add_row(name, f"{rmse(X, filled, M):.4f}", f"{time.perf_counter() - began:.1f}")
    console.print(grid)
    if picture is not None:
        whole = np.zeros((3, *digits.shape))
        whole[:, :, digits.max(axis=0) > 0] = [X, damaged, filled]
        with ending.outputs():
            _draw(whole.reshape(3, -1, 8, 8), M, picture)
        say(f"Before and after: {picture}")


def _check_picture(picture: Path) -> None:
    """Raise, before any work is done, if the picture cannot be drawn."""
    if picture.suffix.lower() not in (".png", ".svg", ".pdf", ".jpg") or not picture.parent.is_dir():
        raise InvalidInput(f"{picture} must end in .png, .svg, .pdf or .jpg and lie in a folder that exists.")
    if find_spec("matplotlib") is None:
        raise MissingDependency(
            "Drawing the demo needs matplotlib: pip install 'manifill[plots]', or use --no-picture."
        )


def _draw(stages: Array, M: Mask, picture: Path) -> None:
    from matplotlib.figure import Figure

    from manifill import plots

    shown = 14
    with plots.look():
        figure = Figure(figsize=(shown * 0.75, 3.0), layout="constrained")
        names = ("original", "damaged", "filled")
        for axes, images, name in zip(figure.subplots(3, 1), stages, names, strict=True):
            plots.mosaic(axes, images[:shown], columns=shown, limits=(0, 1), cmap="gray_r")
            axes.set_ylabel(name, fontsize=12)
        figure.suptitle(f"{M.mean():.0%} of the pixels removed (orange), then filled by manifill")
        with atomic_write(picture, "wb") as file:
            figure.savefig(file, format=picture.suffix[1:].lower(), dpi=150)
