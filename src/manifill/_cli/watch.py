"""Progress bars in the terminal."""

from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from manifill._estimators import IGHImputer, TableImputer
from manifill._messages import listening

console = Console(stderr=True)


def printable(text: object) -> str:
    """Text with its control characters escaped: a terminal would obey them."""
    return "".join(one if one.isprintable() or one == "\n" else ascii(one)[1:-1] for one in str(text))


def say(text: str) -> None:
    """Print a line to standard error; only a terminal wraps it."""
    console.print(printable(text), markup=False, highlight=False, soft_wrap=not console.is_terminal)


def progress_bar(*columns: ProgressColumn) -> Progress:
    """A progress bar that disappears when the run ends; silent when the output is not a terminal."""
    return Progress(
        SpinnerColumn(),
        *columns,
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


def fit_watched(imputer: IGHImputer | TableImputer, X: Any) -> Any:
    """`imputer.fit_transform(X)` with a progress bar."""
    bar = progress_bar(BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with bar:
        task = bar.add_task("reading the table", total=None)
        with listening(lambda line: bar.update(task, description=line)):
            for state in imputer.iter_fit(X):
                total = imputer.max_sweeps_ if state.sweep else None
                bar.update(task, total=total, completed=state.sweep, description=str(state))
    return state.X
