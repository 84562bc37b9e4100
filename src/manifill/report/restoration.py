"""Figure and HTML page with pictures before and after restoration."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from manifill._files import atomic_write
from manifill._messages import MEASURED
from manifill.images import Restoration
from manifill.plots.style import MISSING_COLOR, look, png
from manifill.report.html import data_uri, render

_MAX_SHOWN = 6  # pictures in the figure

Pixels = npt.NDArray[Any]


def draw_preview(path: Path, values: Pixels, missing: Pixels, names: Sequence[str]) -> None:
    """Write a figure of the most damaged pictures, with the pixels treated as damaged marked below."""
    shown = _most_damaged(missing)
    given = _scaled(values[shown], *_limits(values, missing))
    rows = {"given": given, "treated as damaged": _marked(values, missing, shown)}
    _write(path, _figure(rows, [names[i] for i in shown]))


def draw_sheet(path: Path, values: Pixels, outcome: Restoration, names: Sequence[str]) -> None:
    """Write a figure of the most damaged pictures, damaged and restored."""
    _write(path, _sheet(values, outcome, names))


def write_page(
    path: Path, values: Pixels, outcome: Restoration, names: Sequence[str], summary: dict[str, Any]
) -> None:
    """Write a self-contained HTML page; after an error no partial file is left."""
    sheet = data_uri(png(_sheet(values, outcome, names)))
    text = render("pictures.html", **summary, measured=MEASURED, sheet=sheet)
    with atomic_write(path, "w", encoding="utf-8") as file:
        file.write(text)


def _sheet(values: Pixels, outcome: Restoration, names: Sequence[str]) -> Figure:
    shown = _most_damaged(outcome.missing)
    limits = _limits(values, outcome.missing)
    after = _scaled(outcome.pictures.reshape(values.shape)[shown], *limits)
    rows = {"damaged": _marked(values, outcome.missing, shown), "restored": after}
    return _figure(rows, [names[i] for i in shown])


def _most_damaged(missing: Pixels) -> list[int]:
    """Indices of the most damaged pictures, ascending; completely damaged pictures are chosen last."""
    rate = missing.reshape(len(missing), -1).mean(axis=1)
    order = np.argsort(-np.where(rate == 1, -1, rate), kind="stable")
    return sorted(int(i) for i in order[:_MAX_SHOWN])


def _marked(values: Pixels, missing: Pixels, shown: list[int]) -> Pixels:
    """Pictures scaled to 0 … 1, with damaged pixels in MISSING_COLOR."""
    scaled = _scaled(values[shown], *_limits(values, missing))
    return np.asarray(np.where(missing[shown][..., None], to_rgb(MISSING_COLOR), scaled))


def _scaled(values: Pixels, low: float, high: float) -> Pixels:
    """Values scaled to 0 … 1, of one grey or three colour channels."""
    return np.asarray(np.clip((np.nan_to_num(values[..., :3].astype(float)) - low) / (high - low), 0, 1))


def _limits(values: Pixels, missing: Pixels) -> tuple[float, float]:
    if values.dtype == np.uint8:
        return 0.0, 255.0
    known = values[~missing]
    low, high = float(np.nanmin(known)), float(np.nanmax(known))
    return low, high if high > low else low + 1


def _figure(rows: dict[str, Pixels], names: list[str]) -> Figure:
    with look():
        columns = len(names)
        height, width = next(iter(rows.values())).shape[1:3]
        side = 1.9
        figure = Figure(figsize=(side * columns + 0.4, side * height / width * len(rows) + 0.5))
        axes = figure.subplots(len(rows), columns, squeeze=False)
        for number, (line, (title, pictures)) in enumerate(zip(axes, rows.items(), strict=True)):
            for panel, picture, name in zip(line, pictures, names, strict=True):
                shown = picture if picture.shape[-1] == 3 else picture[..., 0]
                panel.imshow(shown, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
                panel.set(xticks=[], yticks=[])
                panel.grid(False)
                panel.spines[:].set_visible(False)
                if number == 0:
                    panel.set_title(name if len(name) < 22 else f"{name[:19]}…", fontsize=8)
            line[0].set_ylabel(title)
        figure.tight_layout(pad=0.4)
        return figure


def _write(path: Path, figure: Figure) -> None:
    with atomic_write(path, "wb") as file:
        file.write(png(figure))
