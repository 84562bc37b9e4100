"""Error of the three efforts and of the best peers, at three sizes of tables, missing at random or not.

The tables are development sets: the kernels of the efforts were chosen on them, with other missing entries.
Results are cached, so that an interrupted run resumes where it stopped.
"""

import numpy as np
from rich.table import Table
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer

from benchmarks import contest, ours
from benchmarks.contest import Record, Scenario
from benchmarks.data import TABLES, tables
from benchmarks.results import FOLDER

NAMES = (*TABLES, "naval", "protein")
SIZES, MASKS = (500, 5000, 20_000), (51, 52, 53)
CACHE = FOLDER / "sizes.jsonl"
PEERS = ("KNN", "BayesianRidge", "HistGradientBoosting", "ExtraTrees")


def imputers(rows: int) -> dict[str, object]:
    """Our efforts and the peers; trees use all cores on long tables."""
    known = contest.methods()
    known["HistGradientBoosting"] = IterativeImputer(
        HistGradientBoostingRegressor(random_state=0), max_iter=5
    )
    if rows > 1000:
        known["ExtraTrees"].set_params(estimator__n_jobs=-1)
    return {**ours.imputers(), **{name: known[name] for name in PEERS}}


def run(smoke: bool = False, mechanisms: tuple[str, ...] = ("MCAR", "MAR")) -> Table:
    """Mean error over the tables, for each size and mechanism, and ratios to the best peer."""
    sizes, masks, cache = ((40,), (51,), None) if smoke else (SIZES, MASKS, CACHE)
    cases = [(Scenario(mechanism, 0.3, rows), rows) for rows in sizes for mechanism in mechanisms]
    records = {}
    for scenario, rows in cases:
        names = ("iris",) if smoke else long_enough(rows)
        records[scenario] = contest.contest(names, (scenario,), masks, cache, imputers(rows))
    return _table(records)


def long_enough(rows: int) -> tuple[str, ...]:
    """Tables with so many rows; all tables for the smallest size."""
    if rows == SIZES[0]:
        return NAMES
    return tuple(name for name in NAMES if any(len(X) == rows for _, X in tables((name,), rows)))


def _table(records: dict[Scenario, list[Record]]) -> Table:
    names = [*ours.imputers(), *PEERS]
    table = Table("rows", "missing", "table", *names, title="RMSE, standardised (seconds)")
    for scenario, found in records.items():
        errors = _means(found, names, "rmse")
        seconds = _means(found, names, "seconds")
        rows = f"{scenario.rows:,}", str(scenario)
        for name in errors:
            table.add_row(*rows, name, *_cells(errors[name], seconds[name]))
        mean = np.mean(list(errors.values()), axis=0)
        table.add_row(*rows, "mean", *_cells(mean, np.mean(list(seconds.values()), axis=0)))
        best = mean[len(names) - len(PEERS) :].min()
        lower = [f"{1 - error / best:.1%}" for error in mean]
        table.add_row(*rows, "lower than the best peer's mean by", *lower)
        ratios = [one / one[len(names) - len(PEERS) :].min() for one in errors.values()]
        table.add_row(*rows, "largest ratio to a table's best peer", *(f"{r:.3f}" for r in np.max(ratios, 0)))
    return table


def _means(records: list[Record], names: list[str], field: str) -> dict[str, np.ndarray]:
    """Table → mean over the masks, for each method."""
    found: dict[str, dict[str, list[float]]] = {}
    for one in records:
        found.setdefault(one.table, {}).setdefault(one.method, []).append(getattr(one, field))
    return {table: np.array([np.mean(by[name]) for name in names]) for table, by in found.items()}


def _cells(errors: np.ndarray, seconds: np.ndarray) -> list[str]:
    best = np.nanmin(errors)
    texts = [f"{error:.4f} ({second:.2f})" for error, second in zip(errors, seconds, strict=True)]
    return [f"[bold]{text}[/]" if error == best else text for text, error in zip(texts, errors, strict=True)]
