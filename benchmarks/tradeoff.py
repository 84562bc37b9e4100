"""Error against time of manifill and other imputers, at three sizes of tables, in one process.

The benchmark writes docs/benchmarks/tradeoff.md and its picture.
"""

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from rich.progress import track
from rich.table import Table
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer
from threadpoolctl import threadpool_limits

from benchmarks import contest, ours, results
from benchmarks.data import TABLES, curved, removed_entries, tables
from benchmarks.fills import Outcome, limited
from benchmarks.guests import Mice, RecursiveFeatureMachine
from benchmarks.plots import tradeoff

RATE = 0.3
PAGE = results.ROOT / "docs" / "benchmarks" / "tradeoff.md"
COMMAND = "python -m benchmarks tradeoff"
# Without digits: with its 64 columns, trees take minutes for each fill.
NAMES = (*(name for name in TABLES if name != "digits"), "naval", "protein")
LONG = 40_000  # rows from which the simulated table takes part
# Rows up to which peers run with one thread: they are slower with two. Set by hand, not tuned.
SHORT = 1000

TEXT = """# Error against time

One run, all methods in one process on the same missing entries, {rate:.0%} missing completely at
random. A point is the mean over the tables of one size: seconds per table across, on a logarithmic
scale, and RMSE on the missing entries in standard deviations of the columns upwards. Lower and
further left is better.

![Error against time]({picture}.png)

The tables are development sets with at least as many rows, of which that many are drawn; from
{long:,} rows on there is also a simulated one: `sin(z W + b) + 0.1 ε` with 20 columns, z uniform in
(−2, 2)³. The code of all methods is loaded before the time is taken. manifill uses all cores; the
other methods use one thread up to {short:,} rows, with which they are faster, and all cores above.

All methods get standardised columns.

- KNN: scikit-learn's `KNNImputer`.
- BayesianRidge, ExtraTrees (100 trees, `min_samples_leaf=2`, `max_features=0.5`),
  HistGradientBoosting: regressors of scikit-learn's `IterativeImputer`; the last two in five
  rounds.
- Random forest: as in missForest, 100 trees, the square root of the number of features at each
  split, leaves of at least five rows; five rounds of `IterativeImputer`.
- mice: R's package, predictive mean matching, five imputations, averaged; the time of `mice()`
  alone.
- xRFM: the package `xrfm` with its defaults as regressor of `IterativeImputer`, three rounds.

mice and xRFM take part if they are installed (Debian's package `r-cran-mice`; `pip install xrfm`).
"""


@dataclass(frozen=True)
class Size:
    """Number of rows, number of masks, and seconds that one fill may take."""

    rows: int
    masks: int = 1
    limit: float = 600


SIZES = (Size(500, masks=3), Size(5000), Size(40_000, limit=1800))

Measured = dict[tuple[int, str], dict[str, list[Outcome]]]
"""(rows, table) → method → one outcome per mask."""


def methods(rows: int) -> dict[str, Any]:
    """Imputers by name. On tables of more than `SHORT` rows trees use all cores."""
    known, jobs = contest.methods(), -1 if rows > SHORT else None
    forest = RandomForestRegressor(100, max_features="sqrt", min_samples_leaf=5, n_jobs=jobs, random_state=0)
    peers = {
        **ours.imputers(),
        "KNN": known["KNN"],
        "BayesianRidge": known["BayesianRidge"],
        "HistGradientBoosting": IterativeImputer(
            HistGradientBoostingRegressor(random_state=0), max_iter=5, random_state=0
        ),
        "ExtraTrees": known["ExtraTrees"].set_params(estimator__n_jobs=jobs),
        "random forest": IterativeImputer(forest, max_iter=5, random_state=0),
    }
    if Mice.installed():
        peers["mice"] = Mice()
    if find_spec("xrfm"):
        import xrfm  # noqa: F401  # takes seconds, which are not to be counted

        peers["xRFM"] = IterativeImputer(RecursiveFeatureMachine(), max_iter=3, random_state=0)
    return peers


def absent() -> list[str]:
    """Methods that are left out because they are not installed, with what would install them."""
    hints = {"mice": "R with its package mice", "xRFM": "the Python package xrfm"}
    return [f"{name} (needs {hint})" for name, hint in hints.items() if name not in methods(0)]


def run(
    smoke: bool = False, sizes: tuple[Size, ...] = SIZES, names: tuple[str, ...] = NAMES
) -> results.Result:
    """Errors and seconds of all methods, and the picture; unless `smoke`, the page in docs is written."""
    facts = {**results.environment(), "other load at the start": f"{os.getloadavg()[0]:.1f} processes"}
    if smoke:
        sizes, names = (Size(40, limit=60),), ("iris",)
    measured = measure(sizes, names)
    table, figure = _table(measured), tradeoff(panels(measured), "seconds per table")
    if not smoke:
        facts |= {"masks": "; ".join(f"{size.rows:,} rows: {size.masks}" for size in sizes)}
        if (sizes, names) != (SIZES, NAMES):
            facts |= {"part of the benchmark only": "the sizes and tables below"}
        PAGE.write_text(page(table, facts), encoding="utf-8")
        figure.savefig(PAGE.with_suffix(".png"))
    return table, {"tradeoff": figure}


def measure(sizes: tuple[Size, ...], names: tuple[str, ...]) -> Measured:
    """Fill all tables with all methods. A method that ran out of time is not run on longer tables."""
    measured: Measured = {}
    slow: dict[str, int] = {}
    _warm_up()
    for size in sizes:
        for name, X in track(list(_tables(size.rows, names)), f"{size.rows:,} rows", transient=True):
            outcomes: dict[str, list[Outcome]] = {}
            for seed in range(size.masks):
                M = removed_entries(X.shape, RATE, seed)
                for method, imputer in methods(size.rows).items():
                    if slow.get(method, size.rows) < size.rows:
                        outcome = Outcome(failure=f"out of time with {slow[method]:,} rows")
                    else:
                        one_thread = size.rows <= SHORT and not method.startswith(ours.OURS)
                        with threadpool_limits(1 if one_thread else None, user_api="openmp"):
                            outcome = limited(imputer, X, M, size.limit)
                    if outcome.failure.startswith("not finished"):
                        slow[method] = min(size.rows, slow.get(method, size.rows))
                    outcomes.setdefault(method, []).append(outcome)
            measured[size.rows, name] = outcomes
    return measured


def _warm_up() -> None:
    """Load the code of all methods before timing starts; mice takes its own time, without that."""
    ours.warm_up()
    X = np.random.default_rng(0).normal(size=(40, 3))
    for imputer in methods(0).values():
        if not isinstance(imputer, Mice):
            limited(imputer, X, removed_entries(X.shape, RATE, 0), limit=10)


def _tables(rows: int, names: tuple[str, ...]) -> Iterator[tuple[str, np.ndarray]]:
    for name, X in tables(names, most_rows=rows):
        if len(X) == rows:
            yield name, (X - X.mean(axis=0)) / X.std(axis=0)
    if rows >= LONG:
        yield "simulated", curved(rows, 20, RATE, uniform=True)[0]


def panels(measured: Measured) -> dict[str, tuple[dict[str, tuple[float, float]], str]]:
    """Title → points (seconds, error) by method, and a note about methods without a point."""
    found = {}
    for rows in dict.fromkeys(rows for rows, _ in measured):
        cases = [outcomes for (n, _), outcomes in measured.items() if n == rows]
        points = {method: _mean([outcomes[method] for outcomes in cases]) for method in cases[0]}
        missing = [method for method, (seconds, _) in points.items() if math.isnan(seconds)]
        note = f"not finished: {', '.join(missing)}" if missing else ""
        shown = {method: point for method, point in points.items() if method not in missing}
        count = f"{len(cases)} table{'s' if len(cases) > 1 else ''}"
        found[f"{rows:,} rows, {count}"] = (shown, note)
    return found


def _mean(cases: list[list[Outcome]]) -> tuple[float, float]:
    """Seconds and error, mean over the tables of means over the masks; NaN if one fill failed."""
    seconds = [np.mean([outcome.seconds for outcome in outcomes]) for outcomes in cases]
    errors = [np.mean([outcome.nrmse for outcome in outcomes]) for outcomes in cases]
    return float(np.mean(seconds)), float(np.mean(errors))


def _table(measured: Measured) -> Table:
    """One row per size and table, and one of means per size: error (seconds), or why there is none."""
    names = list(next(iter(measured.values())))
    table = Table("rows", "table", *names, title=f"RMSE, standardised (seconds), {RATE:.0%} MCAR")
    for rows in dict.fromkeys(rows for rows, _ in measured):
        cases = {name: outcomes for (n, name), outcomes in measured.items() if n == rows}
        for name, outcomes in cases.items():
            table.add_row(f"{rows:,}", name, *_cells({m: [outcomes[m]] for m in names}))
        table.add_row(f"{rows:,}", "mean", *_cells({m: [one[m] for one in cases.values()] for m in names}))
    left_out = f"Not installed, so left out: {', '.join(absent())}. " if absent() else ""
    table.caption = f"{left_out}The lowest error of a row is bold."
    return table


def _cells(outcomes: Mapping[str, list[list[Outcome]]]) -> list[str]:
    points = {method: _mean(cases) for method, cases in outcomes.items()}
    best = np.nanmin([error for _, error in points.values()])
    cells = []
    for method, (seconds, error) in points.items():
        failures = [one.failure for case in outcomes[method] for one in case if one.failure]
        text = failures[0] if failures else f"{error:.3f} ({seconds:.2f})"
        cells.append(f"[bold]{text}[/]" if error == best else text)
    return cells


def page(table: Table, facts: Mapping[str, str]) -> str:
    """The page in Markdown. `facts`: date, machine, versions and commit."""
    lines = [TEXT.format(rate=RATE, picture=PAGE.stem, long=LONG, short=SHORT), f"- command: `{COMMAND}`"]
    lines += [f"- {fact}: {value}" for fact, value in facts.items()]
    return "\n".join([*lines, "", *results.markdown(table), ""])
