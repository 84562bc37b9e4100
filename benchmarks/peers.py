"""Error and time of manifill's defaults and of common imputers, on the same missing entries."""

import time
import warnings

import numpy as np
from rich.table import Table
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer

from benchmarks.data import tables
from manifill import IGHImputer
from manifill.amputation import mcar
from manifill.metrics import nrmse

RATE = 0.3


def methods(d: int) -> dict[str, object]:
    """Imputers by name; above 100 columns the iterative one uses 50 predictors per column."""
    return {
        "column mean": SimpleImputer(),
        "KNN": KNNImputer(weights="distance"),
        "iterative": IterativeImputer(n_nearest_features=50 if d > 100 else None, max_iter=5, random_state=0),
        "manifill": IGHImputer(random_state=0),
    }


def run(smoke: bool = False) -> Table:
    """RMSE on the missing entries in standard deviations, and seconds, for every data set and method."""
    names = ("diabetes",) if smoke else None
    table = Table(
        "data set", "shape", *methods(0), title=f"RMSE, standardised (seconds), {RATE:.0%} MCAR, one seed"
    )
    for name, X in tables(names, most_rows=100 if smoke else 500):
        M = mcar(X.shape, RATE, 1)
        damaged = np.where(M, np.nan, X)
        cells = []
        for imputer in methods(X.shape[1]).values():
            began = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                filled = imputer.fit_transform(damaged)
            cells.append((nrmse(X, filled, M), time.perf_counter() - began))
        best = min(error for error, _ in cells)
        texts = [f"{error:.3f} ({seconds:.1f})" for error, seconds in cells]
        marked = [f"[bold]{t}[/]" if e == best else t for t, (e, _) in zip(texts, cells, strict=True)]
        table.add_row(name, f"{X.shape[0]} × {X.shape[1]}", *marked)
    return table
