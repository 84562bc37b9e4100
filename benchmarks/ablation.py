"""Ablation of the model selection: the defaults with one part replaced, on the tables of `contest`."""

import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import numpy as np
from rich.progress import track
from rich.table import Table

from benchmarks.data import TABLES, removed_entries, tables
from benchmarks.knobs import plain
from manifill import IGHImputer, Sweep, _validation
from manifill import _stacking as stacking
from manifill._selection import portfolio, tuning

# Seeds of the masks. They were not used in development, and no other benchmark uses them.
SEEDS = (20, 21, 22)

DEFAULTS = "defaults"
FIXED = "no selection: one Laplacian, ridge 0.1, six sweeps from random draws"
# Variant: options of the imputer, and patches (module, attribute, replacement).
VARIANTS: dict[str, tuple[dict[str, Any], list[tuple[Any, str, Any]]]] = {
    DEFAULTS: ({}, []),
    "one kernel instead of several": ({}, [(tuning, "_max_components", lambda _problem, _solver: 1)]),
    "only the core candidates": ({}, [(portfolio, "PORTFOLIO", portfolio.CORE)]),
    "no prior on the ensemble weights": ({}, [(stacking, "_PRIOR_ENTRIES", 1e-6)]),
    "start at the column means": ({"method": Sweep(start="mean")}, []),
    "start at random draws": ({"method": Sweep(start="normal")}, []),
    "always a linear start": ({"method": Sweep(start="linear")}, []),
    "one sweep only": ({}, [(tuning, "_MIN_IMPROVEMENT", np.inf)]),
    "no shrinkage": ({}, [(_validation, "shrinkage", lambda _columns, _found, _truth, d: np.ones(d))]),
}


def run(smoke: bool = False) -> Table:
    """RMSE relative to the defaults, geometric mean over tables and seeds, with extremes; seconds."""
    names, seeds, max_rows = (("iris",), (20,), 40) if smoke else (TABLES, SEEDS, 500)
    cases = list(_cases(names, seeds, max_rows))
    outcomes = {
        case: {variant: fill(variant, *case, max_rows) for variant in (*VARIANTS, FIXED)}
        for case in track(cases, "filling", transient=True)
    }
    return report(outcomes)


def report(outcomes: dict[tuple[str, int], dict[str, tuple[float, float]]]) -> Table:
    """Summarise the outcomes: (RMSE, seconds) by (table, seed) and by variant."""
    table = Table(
        "variant",
        "RMSE / RMSE of the defaults",
        "highest on table",
        "lowest on table",
        "seconds",
        title=f"Ablation: {len({name for name, _ in outcomes})} tables, 30 % missing completely at random",
    )
    names = list(dict.fromkeys(name for name, _ in outcomes))
    for variant in (*VARIANTS, FIXED):
        ratios = {case: one[variant][0] / one[DEFAULTS][0] for case, one in outcomes.items()}
        means = {
            name: np.exp(np.mean([np.log(r) for (n, _), r in ratios.items() if n == name])) for name in names
        }
        highest, lowest = max(means, key=means.get), min(means, key=means.get)
        seconds = sum(one[variant][1] for one in outcomes.values()) / len(outcomes)
        table.add_row(
            variant,
            f"{np.exp(np.mean(np.log(list(ratios.values())))):.4f}",
            f"{highest} {means[highest] - 1:+.1%}",
            f"{lowest} {means[lowest] - 1:+.1%}",
            f"{seconds:.1f}",
        )
    return table


def fill(variant: str, name: str, seed: int, max_rows: int) -> tuple[float, float]:
    """RMSE on the missing entries, in standard deviations of the columns, and seconds."""
    ((_, X),) = tables((name,), max_rows)
    M = removed_entries(X.shape, 0.3, seed)
    options, patches = VARIANTS.get(variant, ({}, []))
    imputer = plain() if variant == FIXED else IGHImputer(random_state=0, **options)
    with warnings.catch_warnings(), ExitStack() as stack:
        warnings.simplefilter("ignore")
        for module, attribute, replacement in patches:
            stack.enter_context(patch.object(module, attribute, replacement))
        began = time.perf_counter()
        filled = imputer.fit_transform(np.where(M, np.nan, X))
    seconds = time.perf_counter() - began
    return float(np.sqrt(np.mean((((filled - X) / X.std(axis=0))[M]) ** 2))), seconds


def _cases(names: tuple[str, ...], seeds: tuple[int, ...], max_rows: int) -> Iterator[tuple[str, int]]:
    """(table, seed) for every table whose data are available."""
    for name in names:
        if any(True for _ in tables((name,), max_rows)):
            yield from ((name, seed) for seed in seeds)
