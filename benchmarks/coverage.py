"""Coverage of prediction intervals: share of the missing values that lie inside."""

import numpy as np
from rich.progress import track
from rich.table import Table

from benchmarks.data import TABLES, removed_entries, tables
from manifill import IGHImputer

LEVELS = (0.5, 0.9, 0.95)
RATE = 0.3


def covered(X: np.ndarray, seed: int) -> tuple[list[float], float]:
    """Coverage at each level, and mean width of the 90 % intervals in standard deviations."""
    M = removed_entries(X.shape, RATE, seed)
    imputer = IGHImputer(random_state=0).fit(np.where(M, np.nan, X))
    shares, width = [], 0.0
    for level in LEVELS:
        low, high = imputer.intervals(level)
        shares.append(float(((low <= X) & (high >= X))[M].mean()))
        if level == 0.9:
            width = float(((high - low) / X.std(axis=0))[M].mean())
    return shares, width


def run(smoke: bool = False) -> Table:
    """Coverage at each level and width in standard deviations for every table, means over three masks."""
    names, seeds = (TABLES[:2], 1) if smoke else (TABLES, 3)
    table = Table("table", *(f"coverage at {level:.0%}" for level in LEVELS), "width at 90%")
    found = []
    for name, X in track(list(tables(names, most_rows=60 if smoke else 500)), "intervals", transient=True):
        each = [covered(X, seed) for seed in range(seeds)]
        shares = np.mean([shares for shares, _ in each], axis=0)
        found.append([*shares, float(np.mean([width for _, width in each]))])
        table.add_row(name, *(f"{one:.1%}" for one in shares), f"{found[-1][-1]:.2f}")
    mean, lowest = np.mean(found, axis=0), np.min(found, axis=0)
    table.add_row("mean", *(f"{one:.1%}" for one in mean[:-1]), f"{mean[-1]:.2f}")
    table.add_row("lowest", *(f"{one:.1%}" for one in lowest[:-1]), "")
    return table
