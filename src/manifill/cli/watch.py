"""Watching a run from the terminal."""

from typing import Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

from manifill.arrays import Table
from manifill.estimators import IGHImputer
from manifill.sweep import describe

console = Console(stderr=True)


def fit_watched(imputer: IGHImputer, X: Any) -> Table:
    """`imputer.fit_transform(X)` with a progress bar, which vanishes when the run is over."""
    bar = Progress(
        SpinnerColumn(),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    try:
        with bar:
            task = bar.add_task("first sweep", total=imputer.max_sweeps)
            for state in imputer.iter_fit(X):
                if state.sweep:
                    bar.update(task, completed=state.sweep, description=describe(state.trace[-1]))
    except KeyboardInterrupt:
        console.print("manifill: interrupted; nothing was written.")
        raise typer.Exit(130) from None
    return state.X
