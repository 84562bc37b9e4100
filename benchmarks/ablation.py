"""Ablation of the default: one part of it left out, on the tables of `contest`."""

import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
from rich.progress import track
from rich.table import Table

from benchmarks.data import TABLES, removed_entries, tables
from benchmarks.knobs import plain
from manifill import IGHImputer
from manifill import _stacking as stacking
from manifill._estimators import options
from manifill._fillers.metric import EFFORTS, Effort, filler
from manifill._fillers.metric.preset import NEAR, TWO
from manifill._selection import by_column

# Seeds of the masks. They were not used in development, and no other benchmark uses them.
SEEDS = (20, 23, 24)

DEFAULTS = "defaults"
FIXED = "nothing chosen: one Laplacian for all columns, ridge 0.1, six sweeps from random draws"
Patch = tuple[Any, str, Any]


def _changed(**changes: Any) -> list[Patch]:
    """Patch the preset of the balanced effort."""
    short = replace(EFFORTS["balanced"].short, **changes)
    return [(options, "EFFORTS", {"balanced": Effort(short, short)})]


def _equal(_slopes: np.ndarray, _groups: Any, allowed: np.ndarray) -> np.ndarray:
    return allowed.astype(float)


TUNED = EFFORTS["balanced"].short.finish[1:]

# Variant: patches (module, attribute, replacement).
VARIANTS: dict[str, list[Patch]] = {
    DEFAULTS: [],
    "all predictors count alike": [*_changed(finish=TWO[1:]), (filler, "learned_weights", _equal)],
    "no tuned kernel": _changed(finish=TWO[1:]),
    "no second kernel in the last sweep": _changed(finish=TUNED),
    "two kernels in all sweeps": _changed(first=TWO, rest=TWO, finish=TUNED),
    "nearest rows in the last sweep too": _changed(finish=(TWO[1], *NEAR, *TUNED)),
    "one sweep": _changed(most=1),
    "four folds instead of eight": _changed(folds=4),
    "the same weights of kernels for all columns": [(stacking, "_PRIOR_ENTRIES_OF_GROUP", 1e12)],
    "no shrinkage": [(by_column, "shrinkage", lambda _columns, _found, _truth, d, *_: np.ones(d))],
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
    imputer = plain() if variant == FIXED else IGHImputer(random_state=0)
    with warnings.catch_warnings(), ExitStack() as stack:
        warnings.simplefilter("ignore")
        for module, attribute, replacement in VARIANTS.get(variant, []):
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
