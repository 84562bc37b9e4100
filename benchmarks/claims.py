"""Are claimed errors and intervals true? Synthetic tables, values missing (completely) at random.

claimed / true : `accuracy_` error over the RMS error of the imputed values, in standard deviations of the
    column; both as root mean squares over seeds and columns.
coverage : share of the missing values inside their 90 % intervals, over all seeds and columns.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from rich.progress import track
from rich.table import Table

from manifill import TableImputer

MECHANISMS = ("MCAR", "MAR")
LEVEL = 0.9


def tables(seed: int, n: int = 500) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield name and complete table; all values in columns of floats are numbers to be imputed."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, 3))
    loadings = np.array([[1, 0.8, 0.5, 0.2], [0, 0.6, 0.3, 0.4], [0, 0, 0.8, 0.9]])
    yield "gauss", pd.DataFrame(z @ loadings, columns=list("abcd"))
    income = np.exp(10 + 0.5 * z[:, 0] + 0.7 * z[:, 1])
    spending = np.exp(8 + 0.4 * z[:, 0] + 0.5 * z[:, 1] + 0.4 * z[:, 2])
    yield "lognormal", pd.DataFrame({"age": 40 + 10 * z[:, 0], "income": income, "spending": spending})
    angle = 6 * rng.random(n)
    curve = np.column_stack([np.sin(angle), np.cos(angle), np.sin(2 * angle)]) + 0.1 * z
    yield "circle", pd.DataFrame(curve, columns=list("xyz"))
    yield "independent", pd.DataFrame(rng.standard_normal((n, 4)), columns=list("abcd"))
    kind = rng.integers(0, 3, n)
    labels = np.array(["u", "v", "w"])[kind]
    yield "mixture", pd.DataFrame({"kind": labels, "up": 3 * kind + z[:, 0], "down": z[:, 1] - 2 * kind})
    z = rng.standard_normal((n, 4))
    yield "two columns", pd.DataFrame({"x": z[:, 0], "y": 0.9 * z[:, 0] + 0.44 * z[:, 1]})
    third = 0.5 * z[:, 0] - 0.5 * z[:, 1] + 0.7 * z[:, 2]
    yield "three columns", pd.DataFrame({"x": z[:, 0], "y": 0.8 * z[:, 0] + 0.6 * z[:, 1], "z": third})
    likely = 2 / (1 + np.exp(-z[:, 0]))
    yield (
        "discrete",
        pd.DataFrame(
            {
                "x": z[:, 0],
                "99 % zeros": np.where(rng.random(n) < 0.01 * likely, np.exp(1 + z[:, 2]), 0.0),
                "93 % zeros": np.where(rng.random(n) < 0.07 * likely, np.exp(1 + z[:, 2]), 0.0),
                "0 to 3": np.clip(np.round(1.2 + 0.7 * z[:, 0] + 0.6 * z[:, 1]), 0, 3),
                "half steps": np.round(z[:, 0] + z[:, 3]) / 2,
                "exponential": rng.exponential(size=n) * np.exp(0.5 * z[:, 0]),
            }
        ),
    )


def removed(table: pd.DataFrame, mechanism: str, seed: int) -> pd.DataFrame:
    """A mask, True for about 30 % of the numbers and 20 % of the labels.

    MCAR: completely at random. MAR: the first column of numbers stays complete, and the probability grows
    with its rank from .01 to .59.
    """
    rng = np.random.default_rng([seed, 1])
    numbers = [name for name in table if table[name].dtype.kind == "f"]
    rank = table[numbers[0]].rank().to_numpy() / len(table)
    by_rank = 0.6 / (1 + np.exp(-8 * (rank - 0.5)))
    mask = {}
    for name in table:
        rate: Any = 0.3 if name in numbers else 0.2
        if mechanism == "MAR" and name in numbers:
            rate = 0.0 if name == numbers[0] else by_rank
        mask[name] = rng.random(len(table)) < rate
    return pd.DataFrame(mask, index=table.index)


def claims(table: pd.DataFrame, mask: pd.DataFrame) -> list[dict[str, Any]]:
    """Claimed and true error, missing values and those inside intervals, of each column of numbers."""
    imputer = TableImputer(random_state=0).fit(table.mask(mask))
    claimed = {one.column: one.error for one in imputer.accuracy_}
    filled, (low, high) = imputer.completed_, imputer.intervals(LEVEL)
    found = []
    for name in table:
        missing = mask[name].to_numpy()
        if table[name].dtype.kind != "f" or not missing.any() or table[name].nunique() < 2:
            continue  # a column that is constant by chance has no error to claim
        truth, std = table[name].to_numpy()[missing], float(table[name].std())
        values, lower, upper = (one[name].to_numpy(float)[missing] for one in (filled, low, high))
        found.append(
            {
                "column": name,
                "claimed": claimed[name] / std,
                "true": float(np.sqrt(np.mean((values - truth) ** 2))) / std,
                "inside": int(((lower <= truth) & (truth <= upper)).sum()),
                "missing": int(missing.sum()),
            }
        )
    return found


def figures(seeds: Sequence[int] = range(20), n: int = 500) -> dict[str, dict[str, dict[str, Any]]]:
    """Mechanism → table → claimed / true error, coverage, and the coverage of each column."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for seed in track(seeds, "claims", transient=True):
        for name, table in tables(seed, n):
            for mechanism in MECHANISMS:
                found.setdefault((mechanism, name), []).extend(claims(table, removed(table, mechanism, seed)))
    pooled: dict[str, dict[str, dict[str, Any]]] = {mechanism: {} for mechanism in MECHANISMS}
    for (mechanism, name), rows in found.items():
        columns = list(dict.fromkeys(row["column"] for row in rows))
        each = {column: [row for row in rows if row["column"] == column] for column in columns}
        pooled[mechanism][name] = {
            "claimed_over_true": _rms(rows, "claimed") / _rms(rows, "true"),
            "coverage": _coverage(rows),
            "coverage_by_column": {column: _coverage(own) for column, own in each.items()},
        }
    return pooled


def _rms(rows: list[dict[str, Any]], key: str) -> float:
    return float(np.sqrt(np.mean([row[key] ** 2 for row in rows])))


def _coverage(rows: list[dict[str, Any]]) -> float:
    return sum(row["inside"] for row in rows) / sum(row["missing"] for row in rows)


def run(smoke: bool = False) -> Table:
    """Claimed over true error and coverage of 90 % intervals, MCAR and MAR, pooled over twenty seeds."""
    found = figures(range(1), 60) if smoke else figures()
    table = Table("missing", "table", "claimed / true error", "coverage at 90%", "lowest and highest column")
    for mechanism, by_table in found.items():
        for name, one in by_table.items():
            columns = one["coverage_by_column"].values()
            table.add_row(
                *(mechanism, name, f"{one['claimed_over_true']:.2f}", f"{one['coverage']:.1%}"),
                f"{min(columns):.1%} to {max(columns):.1%}",
            )
    return table
