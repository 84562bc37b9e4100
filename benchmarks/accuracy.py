"""Accuracy on tables: the defaults of manifill against common imputers, and calibration of `accuracy_`."""

from collections.abc import Iterable

import numpy as np
from matplotlib.figure import Figure
from rich.table import Table

from benchmarks.contest import CACHE, OURS, Record, Scenario, contest, methods
from benchmarks.data import REPORT, TABLES
from benchmarks.results import Result
from manifill.plots import STYLES, look

MAIN = Scenario("MCAR", 0.3)
# 200 rows: with 500, ExtraTrees takes hours for all scenarios.
SCENARIOS = tuple(
    Scenario(mechanism, rate, 200) for mechanism in ("MCAR", "MAR") for rate in (0.1, 0.3, 0.5, 0.7)
)


def run(smoke: bool = False) -> Result:
    """RMSE at 30 % MCAR on the development tables (mean over seeds), mean rank and time of every method."""
    table, errors = _comparison(("iris",) if smoke else TABLES, smoke)
    names = [str(cell) for cell in table.columns[0].cells][: len(errors)]
    return table, {"accuracy": _picture(names, list(methods()), errors)}


def run_report(smoke: bool = False) -> Result:
    """The same on the report tables, on which nothing was chosen."""
    return _comparison(("macrodata",) if smoke else REPORT, smoke)[0]


def _comparison(tables: tuple[str, ...], smoke: bool) -> tuple[Table, np.ndarray]:
    if smoke:
        records = contest(tables, (Scenario("MCAR", 0.3, 40),), range(1))
    else:
        records = contest(tables, (MAIN,), range(3), CACHE)
    names, imputers = _distinct(e.table for e in records), list(methods())
    skipped = [name for name in tables if name not in names]
    errors = _means(records, names, imputers, "rmse")
    seconds = _means(records, names, imputers, "seconds")
    ranks = errors.argsort(axis=1).argsort(axis=1) + 1
    table = Table(
        "table",
        *imputers,
        "manifill / best peer",
        title=f"RMSE, standardised (seconds), {records[0].scenario}",
    )
    ours = imputers.index(OURS)
    ratios = errors[:, ours] / np.nanmin(np.delete(errors, ours, axis=1), axis=1)
    for i, name in enumerate(names):
        best = np.nanmin(errors[i])
        cells = [
            f"[bold]{e:.3f}[/] ({s:.1f})" if e == best else f"{e:.3f} ({s:.1f})"
            for e, s in zip(errors[i], seconds[i], strict=True)
        ]
        table.add_row(_short(name), *cells, f"{ratios[i]:.3f}")
    table.add_row("mean RMSE", *(f"{e:.4f}" for e in errors.mean(axis=0)), f"worst {ratios.max():.3f}")
    mean = errors.mean(axis=0)
    table.add_row(
        "manifill lower by",
        *("" if i == ours else f"{1 - mean[ours] / e:.1%}" for i, e in enumerate(mean)),
        "",
    )
    table.add_row("mean rank", *(f"{r:.2f}" for r in ranks.mean(axis=0)), "")
    table.add_row("seconds in total", *(f"{s:.0f}" for s in seconds.sum(axis=0)), "")
    if skipped:
        table.caption = f"Not found in MANIFILL_DATA, so skipped: {', '.join(skipped)}"
    return table, errors


def run_scenarios(smoke: bool = False) -> Result:
    """Mean RMSE over the tables and mean rank, for every mechanism and share of missing entries."""
    if smoke:
        records = contest(("iris",), (Scenario("MCAR", 0.3, 40), Scenario("MAR", 0.5, 40)), range(1))
    else:
        records = contest(TABLES, SCENARIOS, range(3), CACHE)
    scenarios, imputers = _distinct(e.scenario for e in records), list(methods())
    names = _distinct(e.table for e in records)
    title = f"Mean RMSE, standardised (mean rank), {len(names)} tables of at most {scenarios[0].rows} rows"
    table = Table("missing entries", *imputers, title=title)
    for scenario in scenarios:
        errors = _means([e for e in records if e.scenario == scenario], names, imputers, "rmse")
        ranks = (errors.argsort(axis=1).argsort(axis=1) + 1).mean(axis=0)
        table.add_row(
            str(scenario), *(f"{e:.3f} ({r:.1f})" for e, r in zip(errors.mean(axis=0), ranks, strict=True))
        )
    return table


def run_calibration(smoke: bool = False) -> Result:
    """Error of each column as claimed by `accuracy_`, against its true error."""
    if smoke:
        records = contest(("iris",), (Scenario("MCAR", 0.3, 80),), range(1))
    else:
        records = [*contest(TABLES, (MAIN,), range(3), CACHE), *contest(TABLES, SCENARIOS, range(3), CACHE)]
    table = Table(
        *("missing entries", "columns", "correlation", "correlation of logs", "mean of claimed / true error"),
        "true errors of two masks: correlation",
        *(
            "averaged over seeds: columns",
            "correlation",
            "correlation of logs",
            "mean of claimed / true error",
        ),
        title="Claimed error (accuracy_) against true error, in standard deviations of the columns",
    )
    ours = [e for e in records if e.method == OURS]
    groups = {
        str(scenario) + f", {scenario.rows} rows": [e for e in ours if e.scenario == scenario]
        for scenario in _distinct(e.scenario for e in ours)
    }
    groups["all"] = ours
    for name, group in groups.items():
        cells = []
        for claimed, true in (_per_column(group), _per_column_over_seeds(group)):
            if cells:
                cells.append(_mask_correlation(group))
            if len(claimed) > 1:
                linear, logarithmic = (np.corrcoef(f(claimed), f(true))[0, 1] for f in (np.asarray, np.log))
                cells += [
                    f"{len(claimed):,}",
                    f"{linear:.3f}",
                    f"{logarithmic:.3f}",
                    f"{np.mean(claimed / true):.3f}",
                ]
        table.add_row(name, *cells)
    return table, {"calibration": _scatter(*_per_column(ours))}


def _per_column(records: list[Record]) -> tuple[np.ndarray, np.ndarray]:
    """Claimed and true error of every column that has enough missing entries to measure the latter."""
    claimed = np.array([value for e in records for value in e.claimed])
    true = np.array([value for e in records for value in e.true])
    known = np.isfinite(claimed) & np.isfinite(true) & (true > 0) & (claimed > 0)
    return claimed[known], true[known]


def _mask_correlation(records: list[Record]) -> str:
    """Correlation between true errors of the same column under two masks: a reference for `accuracy_`."""
    truth = {(e.table, e.scenario, e.seed): np.array(e.true) for e in records}
    pairs = [
        np.column_stack([one, truth[name, scenario, other]])
        for (name, scenario, seed), one in truth.items()
        for other in range(3)
        if other != seed and (name, scenario, other) in truth
    ]
    both = np.concatenate(pairs) if pairs else np.empty((0, 2))
    both = both[np.isfinite(both).all(axis=1)]
    return f"{np.corrcoef(both.T)[0, 1]:.3f}" if len(both) > 1 else "–"


def _per_column_over_seeds(records: list[Record]) -> tuple[np.ndarray, np.ndarray]:
    """`_per_column` as root mean squares over the seeds, which reduces the sampling noise."""
    squares: dict[tuple, list[tuple[float, float]]] = {}
    for e in records:
        for j, (claimed, true) in enumerate(zip(e.claimed, e.true, strict=True)):
            if np.isfinite([claimed, true]).all() and claimed > 0 and true > 0:
                squares.setdefault((e.table, e.scenario, j), []).append((claimed**2, true**2))
    both = np.sqrt([np.mean(pairs, axis=0) for pairs in squares.values()]).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def _means(records: list[Record], names: list[str], imputers: list[str], field: str) -> np.ndarray:
    """(names, imputers): mean of a field over the seeds."""
    values: dict[tuple[str, str], list[float]] = {}
    for e in records:
        values.setdefault((e.table, e.method), []).append(getattr(e, field))
    return np.array([[np.mean(values.get((n, p), [np.nan])) for p in imputers] for n in names])


def _distinct(values: Iterable) -> list:
    return list(dict.fromkeys(values))


def _short(name: str) -> str:
    return name.removesuffix("_hourly_normals_1981_2010").removesuffix("_ageron")


def _picture(names: list[str], imputers: list[str], errors: np.ndarray) -> Figure:
    """One line per table: error of every peer / error of manifill; above 1 manifill is better."""
    with look():
        figure = Figure(figsize=(8, 0.34 * len(names) + 1.6), layout="constrained")
        axes = figure.subplots()
        ours = errors[:, imputers.index(OURS)]
        peers = [p for p in imputers if p != OURS]
        for imputer, (color, marker, _) in zip(peers, (*STYLES, ("0.6", "x", "-")), strict=False):
            ratio = errors[:, imputers.index(imputer)] / ours
            axes.plot(ratio, np.arange(len(names)), marker, color=color, label=imputer, ls="none")
        axes.axvline(1.0, color="0.3", lw=1)
        axes.set(yticks=np.arange(len(names)), yticklabels=[_short(n) for n in names], xscale="log")
        axes.set_xlabel("error of the peer / error of manifill (above 1: manifill is better)")
        axes.set_xticks([0.9, 1, 1.2, 1.5, 2, 3], ["0.9", "1", "1.2", "1.5", "2", "3"])
        axes.minorticks_off()
        axes.invert_yaxis()
        figure.legend(loc="outside lower center", ncols=3)
    return figure


def _scatter(claimed: np.ndarray, true: np.ndarray) -> Figure:
    with look():
        figure = Figure(figsize=(5, 5), layout="constrained")
        axes = figure.subplots()
        axes.plot([0, 1.5], [0, 1.5], color="0.3", lw=1)
        axes.plot(true, claimed, ".", color=STYLES[0][0], alpha=0.25, mew=0)
        axes.set(
            xlabel="true error of a column, standard deviations",
            ylabel="claimed error (accuracy_)",
            aspect="equal",
        )
        axes.set(xlim=(0, 1.5), ylim=(0, 1.5))
    return figure
