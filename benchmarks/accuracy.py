"""How accurate the fills are: our defaults beside the tools people use, on tables."""

from collections.abc import Iterable

import numpy as np
from matplotlib.figure import Figure
from rich.table import Table

from benchmarks.contest import NOTES, OURS, TABLES, Entry, World, contest, methods
from benchmarks.results import Result
from manifill.plots import STYLES, look

MAIN = World("MCAR", 0.3)
# ExtraTrees takes hours for all of these with 500 rows.
WORLDS = tuple(World(mechanism, rate, 200) for mechanism in ("MCAR", "MAR") for rate in (0.1, 0.3, 0.5, 0.7))


def run(smoke: bool = False) -> Result:
    """RMSE at 30 % MCAR on every table, mean over seeds, with the mean rank and the time of every method."""
    if smoke:
        entries = contest(("iris",), (World("MCAR", 0.3, 40),), 1)
    else:
        entries = contest(TABLES, (MAIN,), 3, NOTES)
    names, players = _distinct(e.table for e in entries), list(methods())
    errors = _means(entries, names, players, "rmse")
    seconds = _means(entries, names, players, "seconds")
    ranks = errors.argsort(axis=1).argsort(axis=1) + 1
    table = Table(
        "table", *players, "ours / best peer", title=f"RMSE, standardised (seconds), {entries[0].world}"
    )
    ours = players.index(OURS)
    over = errors[:, ours] / np.nanmin(np.delete(errors, ours, axis=1), axis=1)
    for i, name in enumerate(names):
        best = np.nanmin(errors[i])
        cells = [
            f"[bold]{e:.3f}[/] ({s:.1f})" if e == best else f"{e:.3f} ({s:.1f})"
            for e, s in zip(errors[i], seconds[i], strict=True)
        ]
        table.add_row(_short(name), *cells, f"{over[i]:.3f}")
    table.add_row("mean RMSE", *(f"{e:.4f}" for e in errors.mean(axis=0)), f"worst {over.max():.3f}")
    mean = errors.mean(axis=0)
    table.add_row(
        "ours lower by", *("" if i == ours else f"{1 - mean[ours] / e:.1%}" for i, e in enumerate(mean)), ""
    )
    table.add_row("mean rank", *(f"{r:.2f}" for r in ranks.mean(axis=0)), "")
    table.add_row("seconds in all", *(f"{s:.0f}" for s in seconds.sum(axis=0)), "")
    return table, {"accuracy": _picture(names, players, errors)}


def run_worlds(smoke: bool = False) -> Result:
    """Mean RMSE over the tables, and mean rank, for every rate and mechanism."""
    if smoke:
        entries = contest(("iris",), (World("MCAR", 0.3, 40), World("MAR", 0.5, 40)), 1)
    else:
        entries = contest(TABLES, WORLDS, 3, NOTES)
    worlds, players = _distinct(e.world for e in entries), list(methods())
    names = _distinct(e.table for e in entries)
    title = f"Mean RMSE, standardised (mean rank), {len(names)} tables of at most {worlds[0].rows} rows"
    table = Table("holes", *players, title=title)
    for world in worlds:
        errors = _means([e for e in entries if e.world == world], names, players, "rmse")
        ranks = (errors.argsort(axis=1).argsort(axis=1) + 1).mean(axis=0)
        table.add_row(
            str(world), *(f"{e:.3f} ({r:.1f})" for e, r in zip(errors.mean(axis=0), ranks, strict=True))
        )
    return table


def run_calibration(smoke: bool = False) -> Result:
    """What `accuracy_` says beside what came out, column by column."""
    if smoke:
        entries = contest(("iris",), (World("MCAR", 0.3, 80),), 1)
    else:
        entries = [*contest(TABLES, (MAIN,), 3, NOTES), *contest(TABLES, WORLDS, 3, NOTES)]
    table = Table(
        *("holes", "columns", "correlation", "of logarithms", "mean of said / true"),
        "the truth of other holes: correlation",
        *("over the seeds: columns", "correlation", "of logarithms", "mean of said / true"),
        title="accuracy_ against the truth, in standard deviations of columns",
    )
    ours = [e for e in entries if e.method == OURS]
    lots = {
        str(world) + f", {world.rows} rows": [e for e in ours if e.world == world]
        for world in _distinct(e.world for e in ours)
    }
    lots["all"] = ours
    for name, lot in lots.items():
        cells = []
        for said, true in (_columns(lot), _columns_over_seeds(lot)):
            if cells:
                cells.append(_foretold_by_truth(lot))
            if len(said) > 1:
                straight, logs = (np.corrcoef(f(said), f(true))[0, 1] for f in (np.asarray, np.log))
                cells += [f"{len(said):,}", f"{straight:.3f}", f"{logs:.3f}", f"{np.mean(said / true):.3f}"]
        table.add_row(name, *cells)
    return table, {"calibration": _scatter(*_columns(ours))}


def _columns(entries: list[Entry]) -> tuple[np.ndarray, np.ndarray]:
    """Said and true error of all columns with enough holes to know the latter."""
    said = np.array([value for e in entries for value in e.said])
    true = np.array([value for e in entries for value in e.true])
    known = np.isfinite(said) & np.isfinite(true) & (true > 0) & (said > 0)
    return said[known], true[known]


def _foretold_by_truth(entries: list[Entry]) -> str:
    """How well the true error of a column with other holes would have foretold its true error."""
    truth = {(e.table, e.world, e.seed): np.array(e.true) for e in entries}
    pairs = [
        np.column_stack([one, truth[name, world, other]])
        for (name, world, seed), one in truth.items()
        for other in range(3)
        if other != seed and (name, world, other) in truth
    ]
    both = np.concatenate(pairs) if pairs else np.empty((0, 2))
    both = both[np.isfinite(both).all(axis=1)]
    return f"{np.corrcoef(both.T)[0, 1]:.3f}" if len(both) > 1 else "–"


def _columns_over_seeds(entries: list[Entry]) -> tuple[np.ndarray, np.ndarray]:
    """The same, root mean squares over the seeds: what is left is less a matter of chance."""
    squares: dict[tuple, list[tuple[float, float]]] = {}
    for e in entries:
        for j, (said, true) in enumerate(zip(e.said, e.true, strict=True)):
            if np.isfinite([said, true]).all() and said > 0 and true > 0:
                squares.setdefault((e.table, e.world, j), []).append((said**2, true**2))
    both = np.sqrt([np.mean(pairs, axis=0) for pairs in squares.values()]).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def _means(entries: list[Entry], names: list[str], players: list[str], field: str) -> np.ndarray:
    """(names, players): the mean over seeds."""
    values: dict[tuple[str, str], list[float]] = {}
    for e in entries:
        values.setdefault((e.table, e.method), []).append(getattr(e, field))
    return np.array([[np.mean(values.get((n, p), [np.nan])) for p in players] for n in names])


def _distinct(values: Iterable) -> list:
    return list(dict.fromkeys(values))


def _short(name: str) -> str:
    return name.removesuffix("_hourly_normals_1981_2010").removesuffix("_ageron")


def _picture(names: list[str], players: list[str], errors: np.ndarray) -> Figure:
    """A line for every table: the error of every method over ours; to the right of 1 we are better."""
    with look():
        figure = Figure(figsize=(8, 0.34 * len(names) + 1.6), layout="constrained")
        axes = figure.subplots()
        ours = errors[:, players.index(OURS)]
        peers = [p for p in players if p != OURS]
        for player, (color, marker, _) in zip(peers, (*STYLES, ("0.6", "x", "-")), strict=False):
            ratio = errors[:, players.index(player)] / ours
            axes.plot(ratio, np.arange(len(names)), marker, color=color, label=player, ls="none")
        axes.axvline(1.0, color="0.3", lw=1)
        axes.set(yticks=np.arange(len(names)), yticklabels=[_short(n) for n in names], xscale="log")
        axes.set_xlabel("error of the peer over ours: right of the line ours is smaller")
        axes.set_xticks([0.9, 1, 1.2, 1.5, 2, 3], ["0.9", "1", "1.2", "1.5", "2", "3"])
        axes.minorticks_off()
        axes.invert_yaxis()
        figure.legend(loc="outside lower center", ncols=3)
    return figure


def _scatter(said: np.ndarray, true: np.ndarray) -> Figure:
    with look():
        figure = Figure(figsize=(5, 5), layout="constrained")
        axes = figure.subplots()
        axes.plot([0, 1.5], [0, 1.5], color="0.3", lw=1)
        axes.plot(true, said, ".", color=STYLES[0][0], alpha=0.25, mew=0)
        axes.set(
            xlabel="true error of a column, standard deviations", ylabel="what accuracy_ says", aspect="equal"
        )
        axes.set(xlim=(0, 1.5), ylim=(0, 1.5))
    return figure
