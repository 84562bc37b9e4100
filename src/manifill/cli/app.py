"""`manifill`: fill tables from the command line."""

import sys
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

import manifill
from manifill import files
from manifill.cli.watch import accuracy_in_short, console, fit_watched
from manifill.errors import InvalidInput, ManifillError, MissingDependency
from manifill.estimators import IGHImputer

app = typer.Typer(no_args_is_help=True, add_completion=True, pretty_exceptions_enable=False)


@app.callback(invoke_without_command=True)
def about(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    """Fill the holes in data, by iterated geometric harmonics."""
    if version:
        print(f"manifill {manifill.__version__}")
        raise typer.Exit


@app.command()
def impute(
    source: Annotated[Path, typer.Argument(metavar="IN", help="Table of numbers: .csv, .tsv or .npy.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Completed table: .csv, .tsv or .npy.")],
    kernel: Annotated[str, typer.Option(help="auto, gaussian, laplacian, semilinear, …")] = "auto",
    solver: Annotated[str, typer.Option(help="auto, ridge, spectral, landmarks or local.")] = "auto",
    max_sweeps: Annotated[
        int | None, typer.Option(help="Most sweeps over the columns; default: as many as help.")
    ] = None,
    time_limit: Annotated[float | None, typer.Option(help="Most seconds.")] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same result.")] = 0,
    missing_values: Annotated[
        str,
        typer.Option(
            help="Cells that stand for a missing value, with commas between; replaces the default list. "
            "Empty cells always do."
        ),
    ] = ",".join(files.MISSING[1:]),
    skip: Annotated[
        list[str] | None, typer.Option(help="Column to hand through untouched; may be repeated.")
    ] = None,
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="Does the first line hold names? Default: unless all of it is numbers.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the output if it exists.")] = False,
) -> None:
    """Fill the missing values of a table of numbers.

    Example: manifill impute holes.csv -o filled.csv --missing-values "NA,-999"
    """
    files.check_output(output)
    if output.exists() and not force:
        raise InvalidInput(f"{output} exists already; use --force to replace it.")
    table = files.read(source, missing=("", *missing_values.split(",")), skip=skip or (), header=header)
    imputer = IGHImputer(
        kernel,
        solver=solver,
        max_sweeps="auto" if max_sweeps is None else max_sweeps,
        time_limit=time_limit,
        random_state=seed,
    )
    missing = np.isnan(table.X)
    empty = np.asarray(missing.all(axis=0))
    if empty.all():
        raise InvalidInput(f"{source} has no observed number at all; there is nothing to fill from.")
    filled = table.X.copy()
    filled[:, ~empty] = fit_watched(imputer, table.X[:, ~empty])
    files.write(table.filled(filled), output)
    holes = int(missing[:, ~empty].sum())
    summary = f"{output}: filled {holes:,} of {table.X.size:,} values, sweeps: {imputer.n_sweeps_}."
    console.print(summary, markup=False)
    console.print(f"{imputer.status_.value.capitalize()}.")
    kept = [name for name, none in zip(table.columns, empty, strict=True) if not none]
    console.print(accuracy_in_short(imputer.accuracy_.named(kept)), markup=False, highlight=False)
    if empty.any():
        names = [name for name, none in zip(table.columns, empty, strict=True) if none]
        console.print(f"Left empty, since nothing was observed there: {', '.join(names)}", markup=False)


@app.command()
def demo(
    picture: Annotated[Path, typer.Option(help="Where to draw before and after.")] = Path("demo.png"),
    no_picture: Annotated[bool, typer.Option("--no-picture", help="Numbers only.")] = False,
) -> None:
    """Remove half the pixels of handwritten digits, fill them, and show how well that went."""
    from manifill.cli import demo as digits  # its data and peers take a while to import

    digits.run(None if no_picture else picture)


@app.command()
def reproduce(
    name: Annotated[str, typer.Argument(help="An experiment of the paper, or all.")],
    scale: Annotated[
        str,
        typer.Option(
            help="paper: the paper's sets, some with fewer pixels; smoke: two minutes, to see it run."
        ),
    ] = "paper",
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for numbers and figures.")] = Path(
        "reproduction"
    ),
    data_dir: Annotated[
        Path | None, typer.Option(help="Folder with the public data sets; default: MANIFILL_DATA.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same result.")] = 0,
) -> None:
    """Run the experiments of the paper: numbers, figures, and with "all" a page that compares.

    Experiments: swiss_roll, olivetti, umist, coil, weather, convergence, runtime, video.

    Example: manifill reproduce all --scale smoke
    """
    if find_spec("matplotlib") is None:
        raise MissingDependency("Drawing figures needs matplotlib: pip install 'manifill[plots]'.")
    from manifill.cli import reproduce as experiments

    experiments.run(name, output, scale, data_dir, seed)


def run() -> None:
    """Run the command line, and say in a line what cannot be done."""
    warnings.showwarning = lambda message, *_: console.print(f"manifill: {message}", markup=False)
    try:
        app()
    except (ManifillError, OSError) as error:
        console.print(f"manifill: {error}", style="red", markup=False, highlight=False, soft_wrap=True)
        sys.exit(1)
