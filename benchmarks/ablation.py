"""What each part of choosing buys: the defaults with one part taken away, on the tables of the contest."""

import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import numpy as np
from rich.progress import track
from rich.table import Table

from benchmarks.contest import TABLES
from benchmarks.data import removed_entries, tables
from benchmarks.knobs import plain
from manifill import IGHImputer, Sweep, _validation
from manifill._selection import portfolio, tuning
from manifill._validation import stacking

# Holes that nothing was tried on, and that no other benchmark scores.
SEEDS = (20, 21, 22)

WHOLE = "all of it"
FIXED = "nothing chosen: one Laplacian, ridge .1, six sweeps from random draws"
# The name of a part's absence, what the imputer is told, and what is patched in its modules.
WITHOUT: dict[str, tuple[dict[str, Any], list[tuple[Any, str, Any]]]] = {
    WHOLE: ({}, []),
    "one kernel instead of several": ({}, [(tuning, "_max_components", lambda problem, solver: 1)]),
    "the core of the portfolio only": ({}, [(portfolio, "PORTFOLIO", portfolio.CORE)]),
    "no prior of the weights": ({}, [(stacking, "_PRIOR_ENTRIES", 1e-6)]),
    "start at the column means": ({"method": Sweep(start="mean")}, []),
    "start at random draws": ({"method": Sweep(start="normal")}, []),
    "linear start always": ({"method": Sweep(start="linear")}, []),
    "one sweep over the columns, no more": ({}, [(tuning, "_MIN_IMPROVEMENT", np.inf)]),
    "no shrinkage": ({}, [(_validation, "shrinkage", lambda columns, found, truth, d: np.ones(d))]),
}


def run(smoke: bool = False) -> Table:
    """RMSE relative to the whole, geometric mean over tables and seeds; where it hurts most; seconds."""
    names, seeds, most_rows = (("iris",), (20,), 40) if smoke else (TABLES, SEEDS, 500)
    cases = list(_cases(names, seeds, most_rows))
    outcomes = {
        case: {variant: fill(variant, *case, most_rows) for variant in (*WITHOUT, FIXED)}
        for case in track(cases, "filling", transient=True)
    }
    return report(outcomes)


def report(outcomes: dict[tuple[str, int], dict[str, tuple[float, float]]]) -> Table:
    """The table of outcomes, (error, seconds) of every variant for every case."""
    table = Table(
        "instead",
        "RMSE over that of all of it",
        "largest gain of the part",
        "largest loss",
        "seconds",
        title=f"Ablation: {len({name for name, _ in outcomes})} tables, 30 % missing at random",
    )
    names = list(dict.fromkeys(name for name, _ in outcomes))
    for variant in (*WITHOUT, FIXED):
        ratios = {case: one[variant][0] / one[WHOLE][0] for case, one in outcomes.items()}
        means = {
            name: np.exp(np.mean([np.log(r) for (n, _), r in ratios.items() if n == name])) for name in names
        }
        most, least = max(means, key=means.get), min(means, key=means.get)
        seconds = sum(one[variant][1] for one in outcomes.values()) / len(outcomes)
        table.add_row(
            variant,
            f"{np.exp(np.mean(np.log(list(ratios.values())))):.4f}",
            f"{most} {means[most] - 1:+.1%}",
            f"{least} {means[least] - 1:+.1%}",
            f"{seconds:.1f}",
        )
    return table


def fill(variant: str, name: str, seed: int, most_rows: int) -> tuple[float, float]:
    """Standardised RMSE on the holes, and seconds."""
    ((_, X),) = tables((name,), most_rows)
    M = removed_entries(X.shape, 0.3, seed)
    options, patches = WITHOUT.get(variant, ({}, []))
    imputer = plain() if variant == FIXED else IGHImputer(random_state=0, **options)
    with warnings.catch_warnings(), ExitStack() as stack:
        warnings.simplefilter("ignore")
        for where, what, instead in patches:
            stack.enter_context(patch.object(where, what, instead))
        began = time.perf_counter()
        filled = imputer.fit_transform(np.where(M, np.nan, X))
    seconds = time.perf_counter() - began
    return float(np.sqrt(np.mean((((filled - X) / X.std(axis=0))[M]) ** 2))), seconds


def _cases(names: tuple[str, ...], seeds: tuple[int, ...], most_rows: int) -> Iterator[tuple[str, int]]:
    """Tables that are there, with every seed."""
    for name in names:
        if any(True for _ in tables((name,), most_rows)):
            yield from ((name, seed) for seed in seeds)
