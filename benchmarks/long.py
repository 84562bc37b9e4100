"""Error of the solvers for long tables: against the exact solver where that is feasible, and beyond."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from rich.table import Table
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, SimpleImputer

from benchmarks.data import curved, removed_entries, tables
from benchmarks.fills import fill
from benchmarks.knobs import plain
from manifill import IGHImputer
from manifill.solvers import Landmarks

SETS = ("gain_letter", "california_housing_ageron", "abalone")
RATE = 0.2


def run(smoke: bool = False) -> Table:
    """RMSE and seconds on real tables that the exact solver can fill, then on a longer simulated one."""
    table = Table(
        "data set", "shape", "method", "RMSE, standardised", "RMSE / baseline's", "seconds", "remark"
    )
    table.title = f"Long tables, {RATE:.0%} MCAR"
    table.caption = (
        "The baseline is the exact solver on real tables, and the iterative imputer on the curved surface."
    )
    for row in (*_real(smoke), *_curved(smoke)):
        table.add_row(*row)
    return table


def _real(smoke: bool) -> Iterator[list[str]]:
    """Means over the seeds of the masks; the better of landmarks and local is marked."""
    seeds = range(1 if smoke else 3)
    count = {"count": 50} if smoke else {}
    solvers: dict[str, dict[str, Any]] = {
        "exact": {"solver": "ridge", "schedule": "column"},
        "landmarks": {"solver": Landmarks(**count)},
        "landmarks at random": {"solver": Landmarks(choice="random", **count)},
        "local": {"solver": "local"},
    }
    for name, X in tables(("diabetes",) if smoke else SETS, most_rows=100 if smoke else 4000):
        errors, seconds = {}, {}
        for method, options in solvers.items():
            runs = [fill(_ours(**options), X, removed_entries(X.shape, RATE, seed)) for seed in seeds]
            errors[method] = np.mean([outcome.nrmse for outcome in runs])
            seconds[method] = np.mean([outcome.seconds for outcome in runs])
        better = min("landmarks", "local", key=errors.get)
        for method, error in errors.items():
            remark = "the better of landmarks and local" if method == better else ""
            yield _row(name, X, method, error, error / errors["exact"], seconds[method], remark)


def _curved(smoke: bool) -> Iterator[list[str]]:
    """100,000 rows: peers, the default solver, and both solvers for long tables."""
    X, M = curved(200 if smoke else 100_000, 6 if smoke else 20, RATE)
    default = _ours()
    methods = {
        "iterative": IterativeImputer(random_state=0),
        "column mean": SimpleImputer(),
        "manifill, defaults": default,
        "landmarks": _ours(solver="landmarks"),
        "local": _ours(solver="local"),
    }
    baseline = None
    for method, imputer in methods.items():
        outcome = fill(imputer, X, M)
        baseline = baseline or outcome.nrmse
        remark = str(imputer.solver_) if imputer is default else ""
        yield _row("curved", X, method, outcome.nrmse, outcome.nrmse / baseline, outcome.seconds, remark)


def _ours(**options: Any) -> IGHImputer:
    return plain(**options) if options else IGHImputer(random_state=0)


def _row(
    name: str, X: np.ndarray, method: str, error: float, ratio: float, seconds: float, remark: str
) -> list[str]:
    shape = f"{X.shape[0]:,} × {X.shape[1]}"
    return [name, shape, method, f"{error:.4f}", f"{ratio:.3f}", f"{seconds:,.1f}", remark]
