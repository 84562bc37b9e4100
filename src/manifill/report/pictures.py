"""Figures of the report of a table."""

import math
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from manifill import plots
from manifill._arrays import Array, Mask
from manifill._estimators import DiffusionMap
from manifill._fillers.metric import Importances
from manifill.tables import Category, Field, Flag, Ordered, Quantity

# Maximum number of rows in the map of missing values, points in the diffusion map, and histograms.
_MAX_MAP_ROWS = 800
_MAX_POINTS = 600
_MAX_COLUMNS = 12


def missing_map(M: Mask, names: list[str]) -> Figure:
    """Map of the missing values; long tables are subsampled to at most _MAX_MAP_ROWS rows."""
    step = max(1, math.ceil(len(M) / _MAX_MAP_ROWS))
    with plots.look():
        figure = Figure(figsize=(max(4.0, min(9.0, 0.32 * len(names) + 2)), 4.2), layout="constrained")
        axes = figure.subplots()
        plots.missingness(axes, M[::step], [_label(name) for name in names])
        axes.set(title="" if step == 1 else f"1 row in {step} shown")
    return figure


def sweeps(changes: list[float], errors: list[float]) -> Figure:
    """Change of the imputed values in each sweep, and error on held-out entries if it was measured."""
    with plots.look():
        figure = Figure(figsize=(7.5, 2.8), layout="constrained")
        left, right = figure.subplots(1, 2)
        plots.series(left, np.arange(1, len(changes) + 1), {"change": changes}, xlabel="sweep")
        left.set(ylabel="change, in standard deviations", ylim=(0, None))
        left.xaxis.get_major_locator().set_params(integer=True)
        if errors:
            plots.series(right, np.arange(1, len(errors) + 1), {"error": errors}, xlabel="sweep")
            right.set(ylabel="error on held-out values", ylim=(0, None))
            right.xaxis.get_major_locator().set_params(integer=True)
        else:
            right.set_visible(False)
    return figure


def importances(found: Importances) -> Figure:
    """Map of which column tells about which."""
    size = 3.5 + 0.3 * len(found)
    with plots.look():
        figure = Figure(figsize=(min(9.0, size + 1.5), min(9.0, size)), layout="constrained")
        axes = figure.subplots()
        plots.importances(axes, found)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_ticklabels([_label(one.get_text(), most=20) for one in axis.get_ticklabels()])
    return figure


def accuracy(names: list[str], relative: list[float]) -> Figure:
    """Error of each column, divided by the error of its mean or most frequent value."""
    with plots.look():
        figure = Figure(figsize=(7.5, 0.6 + 0.27 * len(names)), layout="constrained")
        axes = figure.subplots()
        rows = np.arange(len(names))[::-1]
        axes.barh(
            rows, np.minimum(relative, 1.2), color=["#0072B2" if one < 1 else "#D55E00" for one in relative]
        )
        axes.axvline(1, color="black", lw=1, ls="--")
        axes.set_yticks(rows, [_label(name) for name in names])
        axes.set(xlim=(0, 1.25), xlabel="error / error of the mean or mode (dashed: no better)")
        axes.grid(axis="y", visible=False)
    return figure


def distributions(X: Array, M: Mask, fields: list[Field]) -> Figure:
    """Distributions of the observed and the imputed values of each column."""
    shown = fields[:_MAX_COLUMNS]
    across = min(3, len(shown))
    down = math.ceil(len(shown) / across)
    with plots.look(**{"font.size": 8.5}):
        figure = Figure(figsize=(3.1 * across, 2.1 * down + 0.3), layout="constrained")
        grid = np.atleast_1d(figure.subplots(down, across)).ravel()
        for axes, field in zip(grid, shown, strict=False):
            missing = M[:, field.first]
            _distribution(axes, field, X[~missing][:, field.columns], X[missing][:, field.columns])
            axes.set_title(_label(str(field.name)), fontsize=9)
        for axes in grid[len(shown) :]:
            axes.set_visible(False)
        grid[0].legend(fontsize=7.5)
    return figure


def _label(name: str, most: int = 40) -> str:
    """A name as it is, not as a formula, and short enough to leave room for the picture beside it."""
    return (name if len(name) <= most else name[:most] + "…").replace("$", r"\$")


def _distribution(axes: Any, field: Field, observed: Array, filled: Array) -> None:
    variable = field.variable
    styles = {"observed": ("0.75", None), "filled": ("#D55E00", None)}
    if isinstance(variable, Category | Flag | Ordered):
        levels = [str(level) for level in variable.levels]
        order = {level: i for i, level in enumerate(levels)}
        for k, (name, numbers) in enumerate((("observed", observed), ("filled", filled))):
            values = [order[str(value)] for value in variable.decode(numbers).tolist()]
            share = np.bincount(values, minlength=len(levels)) / max(len(values), 1)
            axes.bar(np.arange(len(levels)) + 0.4 * k - 0.2, share, 0.4, color=styles[name][0], label=name)
        short = [_label(level, 8) for level in levels]
        if len(levels) <= 8:
            axes.set_xticks(range(len(levels)), short, rotation=30 if len(levels) > 3 else 0)
        else:
            axes.set_xticks([])
        axes.set_ylabel("share")
        return
    scale = 86_400e6 if field.kind in ("date", "date and time") else 1.0
    first = variable.decode(observed).astype(float) / scale
    second = variable.decode(filled).astype(float) / scale
    both = np.concatenate([first, second])
    skewed = isinstance(variable, Quantity) and variable.log and both.min() > 0
    edges = (
        np.geomspace(both.min(), both.max(), 25) if skewed else np.linspace(both.min(), both.max() or 1, 25)
    )
    if edges[0] == edges[-1]:
        edges = np.array([edges[0] - 0.5, edges[0] + 0.5])
    for name, data in (("observed", first), ("filled", second)):
        weights = np.full(len(data), 1 / max(len(data), 1))
        step = name == "filled"
        axes.hist(
            data,
            edges,
            weights=weights,
            color=styles[name][0],
            label=name,
            histtype="step" if step else "stepfilled",
            lw=1.6,
        )
    if skewed:
        axes.set_xscale("log")
    if scale != 1.0:
        axes.xaxis.set_major_locator(_few_ticks())
        axes.xaxis.set_major_formatter(lambda day, _: str(np.datetime64(int(day), "D")))
    axes.set_ylabel("share")


def _few_ticks() -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(3)


def cloud(Z: Array, missing: Array) -> Figure | None:
    """Diffusion map of the rows, coloured by the share of imputed values; None if it cannot be computed."""
    chosen = np.linspace(0, len(Z) - 1, min(len(Z), _MAX_POINTS)).astype(int)
    sample = Z[chosen]
    if len(sample) < 10 or len(np.unique(sample.round(9), axis=0)) < 10:
        return None
    try:
        Y = DiffusionMap(n_components=2, alpha=1.0).fit_transform(sample)
    except ValueError:
        return None
    with plots.look():
        figure = Figure(figsize=(6.2, 4.4), layout="constrained")
        axes = figure.subplots()
        points = axes.scatter(Y[:, 0], Y[:, 1], c=missing[chosen], cmap="cividis_r", s=14, vmin=0)
        figure.colorbar(points, ax=axes, label="share of imputed values in the row")
        axes.set(
            xlabel="first diffusion coordinate", ylabel="second diffusion coordinate", xticks=[], yticks=[]
        )
    return figure
