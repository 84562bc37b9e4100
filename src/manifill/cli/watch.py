"""Watching a run from the terminal."""

import math
from typing import Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

from manifill.arrays import Table
from manifill.estimators import IGHImputer
from manifill.progress import listening
from manifill.sweep import describe
from manifill.tuning import Accuracy

console = Console(stderr=True)


MOST_SHOWN = 20


def accuracy_in_short(accuracy: Accuracy) -> str:
    """What to expect of the fills: a line for every column, or where they are many for the worst of them."""
    known = [one for one in accuracy if math.isfinite(one.error)]
    if not known:
        return "Too little is observed to hide any of it and say how good the fills are."
    worst = sorted(known, key=lambda one: -one.relative)[:MOST_SHOWN]
    shown = Accuracy(one for one in accuracy if one in worst)
    few = "" if len(shown) == len(known) else f", the {len(shown)} worst of {len(known)} columns"
    return f"Error on known values that were hidden, beside that of the column mean{few}:\n{shown}"


def progress_bar(*columns: ProgressColumn) -> Progress:
    """A line that says how far a run is, and vanishes when it is over; none where nobody looks."""
    return Progress(
        SpinnerColumn(),
        *columns,
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


def fit_watched(imputer: IGHImputer, X: Any) -> Table:
    """`imputer.fit_transform(X)` with a progress bar."""
    bar = progress_bar(BarColumn(), MofNCompleteColumn())
    try:
        with bar:
            task = bar.add_task("looking at the table", total=None)
            with listening(lambda line: bar.update(task, description=line)):
                for state in imputer.iter_fit(X):
                    line = describe(state.trace[-1]) if state.sweep else "first sweep"
                    bar.update(task, total=imputer.max_sweeps_, completed=state.sweep, description=line)
    except KeyboardInterrupt:
        console.print("manifill: interrupted; nothing was written.")
        raise typer.Exit(130) from None
    return state.X
