"""RMSE of fixed kernels, ridge penalties and bounds: the basis of `knobs.plain`."""

import numpy as np
from rich.table import Table

from benchmarks.data import FILES, tables
from manifill import IGHImputer
from manifill.amputation import mcar
from manifill.kernels import Gaussian, Laplacian, MedianDistance, SemiLinear
from manifill.metrics import nrmse
from manifill.solvers import ConditionNumber, Ridge, Spectral


def _mixed(base: Gaussian | Laplacian) -> SemiLinear:
    return SemiLinear(base, weight=0.3)


CANDIDATES = {
    "Laplacian + .3 linear, ridge .1": {"kernel": _mixed(Laplacian()), "solver": Ridge(0.1)},
    "  the same without bounds": {"kernel": _mixed(Laplacian()), "solver": Ridge(0.1), "bounds": None},
    "  the same, ridge .01": {"kernel": _mixed(Laplacian()), "solver": Ridge(0.01)},
    "  the same, ½ median, ridge .03": {
        "kernel": _mixed(Laplacian(MedianDistance(0.5))),
        "solver": Ridge(0.03),
    },
    "Laplacian, ridge .1": {"kernel": Laplacian(), "solver": Ridge(0.1)},
    "Gaussian + .3 linear, ridge .1": {"kernel": _mixed(Gaussian()), "solver": Ridge(0.1)},
    "Gaussian, ridge .1": {"kernel": Gaussian(), "solver": Ridge(0.1)},
    "Gaussian, ridge .01": {"kernel": Gaussian(), "solver": Ridge(0.01)},
    "Gaussian, 2 median, ridge .01": {"kernel": Gaussian(MedianDistance(2)), "solver": Ridge(0.01)},
    "Gaussian, spectral 1e-2": {"kernel": Gaussian(), "solver": Spectral(ConditionNumber(1e-2))},
    "Gaussian, spectral 1e-3": {"kernel": Gaussian(), "solver": Spectral(ConditionNumber(1e-3))},
    "Gaussian, spectral 1e-4": {"kernel": Gaussian(), "solver": Spectral(ConditionNumber(1e-4))},
}


def run(smoke: bool = False) -> Table:
    """RMSE of every candidate on every data set, and its mean excess over the best one per data set."""
    names = ("diabetes",) if smoke else ("digits", "diabetes", *FILES)
    candidates = dict(list(CANDIDATES.items())[:2]) if smoke else CANDIDATES
    sets = list(tables(names, most_rows=60 if smoke else 300))
    errors = np.empty((len(candidates), len(sets)))
    for j, (_, X) in enumerate(sets):
        M = mcar(X.shape, 0.3, 5)
        damaged = np.where(M, np.nan, X)
        for i, options in enumerate(candidates.values()):
            filled = IGHImputer(**options, max_sweeps=5, random_state=0).fit_transform(damaged)
            errors[i, j] = nrmse(X, filled, M)
    excess = (errors / errors.min(axis=0)).mean(axis=1) - 1
    table = Table(title="Fixed settings: RMSE, standardised, 30 % MCAR")
    table.add_column("candidate", no_wrap=True)
    for name in [*(name[:6] for name, _ in sets), "mean excess"]:
        table.add_column(name)
    for name, row, mean in zip(candidates, errors, excess, strict=True):
        table.add_row(name, *(f"{error:.3f}" for error in row), f"{mean:.1%}")
    return table
