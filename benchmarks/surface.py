"""Error on held-out entries over bandwidth and ridge: the best pair differs between data sets."""

import numpy as np
from matplotlib.figure import Figure
from rich.table import Table

from benchmarks.data import removed_entries, tables
from benchmarks.results import Result
from manifill._fillers import Run
from manifill._fillers.sweep import Ensemble, Sweeper
from manifill._problem import Problem
from manifill._selection.screening import Screening
from manifill.kernels import Gaussian, Laplacian, MedianDistance, SemiLinear
from manifill.plots import error_surface, look
from manifill.solvers import Ridge

SETS = (
    ("concrete", "concrete strength, 500 × 9", Laplacian),
    ("noaa_jfk_hourly_normals_1981_2010", "weather, 500 × 23", Laplacian),
    ("umist28x23", "faces, 500 × 644", Gaussian),
)
MULTIPLES = 2.0 ** np.arange(-3, 5)
RIDGES = 10.0 ** np.arange(-4, 0.6, 0.5)


def run(smoke: bool = False) -> Result:
    """Best bandwidth and ridge of every data set, lowest and highest error, and the error surfaces."""
    sets = (("iris", "iris, 60 × 4", Laplacian),) if smoke else SETS
    multiples, ridges = (MULTIPLES[::4], RIDGES[::5]) if smoke else (MULTIPLES, RIDGES)
    surfaces = {}
    for name, title, base in sets:
        for _, X in tables((name,), most_rows=60 if smoke else 500):
            surfaces[title] = _surface(X, base, multiples, ridges)
    table = Table(
        "data set",
        "best bandwidth (median distances)",
        "best ridge",
        "lowest error",
        "highest error",
        title="Error on held-out entries, standardised, 30 % missing",
    )
    for title, errors in surfaces.items():
        i, j = np.unravel_index(np.nanargmin(errors), errors.shape)
        table.add_row(
            title, f"{multiples[i]:g}", f"{ridges[j]:.2g}", f"{errors[i, j]:.3f}", f"{np.nanmax(errors):.3f}"
        )
    return (table, {"surface": _picture(surfaces, multiples, ridges)}) if surfaces else table


def _surface(X: np.ndarray, base: type, multiples: np.ndarray, ridges: np.ndarray) -> np.ndarray:
    """(multiples, ridges): error on held-out entries after two sweeps."""
    problem = Problem.of(np.where(removed_entries(X.shape, 0.3, 0), np.nan, X))
    pairs = []
    for multiple in multiples:
        radial = base(MedianDistance(float(multiple)))
        kernel = SemiLinear(radial, 0.3) if base is Laplacian else radial
        pairs += [(kernel, Ridge(float(ridge))) for ridge in ridges]
    wide = X.shape[1] > 512
    first = (
        (Gaussian(MedianDistance(2.0)), Ridge(0.01)) if wide else (SemiLinear(Laplacian(), 0.3), Ridge(0.1))
    )
    screening = Screening(problem, Sweeper(Ensemble.of(*first)), Run(), wide, np.random.default_rng(0))
    screening.screen(pairs)
    errors = {(trial.kernel, trial.solver): trial.error for trial in screening.trials(np.zeros(len(pairs)))}
    return np.array([errors[pair] for pair in pairs]).reshape(len(multiples), len(ridges))


def _picture(surfaces: dict[str, np.ndarray], multiples: np.ndarray, ridges: np.ndarray) -> Figure:
    with look():
        figure = Figure(figsize=(4.2 * len(surfaces), 4), layout="constrained")
        row = figure.subplots(1, len(surfaces), squeeze=False)[0]
        for axes, (title, errors) in zip(row, surfaces.items(), strict=True):
            filled = error_surface(axes, ridges, multiples, errors)
            axes.set_title(title)
        row[0].set_ylabel("bandwidth, in median distances")
        figure.colorbar(filled, ax=figure.axes, label="error above the best, percent")
    return figure
