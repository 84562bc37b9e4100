"""`manifill`: fill tables from the command line."""

import sys
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

import manifill
from manifill import _files as files
from manifill._cli import media, options
from manifill._cli.options import Force, Json, Seed
from manifill._cli.watch import Interrupted, console
from manifill.errors import ManifillError, MissingDependency

app = typer.Typer(no_args_is_help=True, add_completion=True, pretty_exceptions_enable=False)


@app.callback(invoke_without_command=True)
def about(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    """Fill the holes in data, by iterated geometric harmonics."""
    if version:
        print(f"manifill {manifill.__version__}")
        raise typer.Exit


Source = Annotated[
    Path,
    typer.Argument(
        metavar="IN", help=f"Table: {', '.join(files.FORMATS)}, or - for csv from a pipe.", show_default=False
    ),
]
Output = Annotated[
    Path,
    typer.Option(
        "--output", "-o", metavar="OUT", help="Completed table; its ending tells the format, - is a pipe."
    ),
]
Missing = Annotated[
    str,
    typer.Option(
        metavar="LIST",
        help="Cells of text files that stand for a missing value, commas between; replaces the default list. "
        "Empty cells always do.",
    ),
]
Types = Annotated[
    str,
    typer.Option(
        metavar="LIST",
        help='What columns are, where it is not as inferred: "zip=category,hour=cyclic:24,note=text".',
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header", help="Does the first line hold names? Default: unless all of it is numbers."
    ),
]
Encoding = Annotated[str, typer.Option(metavar="NAME", help="Encoding of text files, such as latin-1.")]
Delimiter = Annotated[
    str | None,
    typer.Option(metavar="MARK", help="Between cells of text files; default: as the first line has."),
]
DEFAULT_MISSING = ",".join(files.MISSING[1:])


@app.command()
def impute(
    source: Source,
    output: Output,
    columns: Annotated[
        str, typer.Option(metavar="LIST", help="Fill these columns only, commas between; all are looked at.")
    ] = "",
    types: Types = "",
    bounds: Annotated[
        str,
        typer.Option(metavar="LIST", help='Lowest and highest fill: "age=0:120,price=0:"; else as observed.'),
    ] = "",
    missing_values: Missing = DEFAULT_MISSING,
    skip: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Column to hand through untouched; may be repeated."),
    ] = None,
    intervals: Annotated[
        float | None,
        typer.Option(
            metavar="LEVEL", help="Add columns NAME_low and NAME_high: 0.9 holds nine of ten values."
        ),
    ] = None,
    draws: Annotated[
        int,
        typer.Option(
            metavar="M", min=0, help="Also write M tables drawn at random, OUT-draw1, …: multiple imputation."
        ),
    ] = 0,
    report: Annotated[
        Path | None, typer.Option(metavar="HTML", help="Write a page that shows what was missing and done.")
    ] = None,
    save: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Save the fitted model, to fill new rows later.")
    ] = None,
    model: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Fill with a saved model, each row on its own.")
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Column of dates or numbers: what is before and after counts too."),
    ] = None,
    max_sweeps: Annotated[
        int | None, typer.Option(min=1, help="Most sweeps over the columns; default: as many as help.")
    ] = None,
    time_limit: Annotated[float | None, typer.Option(metavar="SECONDS", help="Most seconds.")] = None,
    seed: Seed = 0,
    header: Header = None,
    encoding: Encoding = "utf-8",
    delimiter: Delimiter = None,
    keep_last: Annotated[
        bool, typer.Option("--keep-last", help="After Ctrl-C write the fill of the last full sweep.")
    ] = False,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Fill the missing values of a table: numbers, categories, dates; text is handed through.

    Cells that are not missing go out as they came in. Says how well each column was filled, measured on
    values that were known and hidden.

    Examples
    --------
      manifill impute people.csv -o filled.csv

      manifill impute people.csv -o filled.parquet --types "zip=category" --bounds "age=0:120" --intervals 0.9

      manifill impute people.csv -o filled.csv --missing-values "NA,-999" --report report.html

      manifill impute people.csv -o filled.csv --save people.model

      manifill impute new.csv -o new-filled.csv --model people.model

      cat people.csv | manifill impute - -o - > filled.csv
    """
    from manifill._cli import impute as filling

    kinds = {**options.types(types), **dict.fromkeys(skip or (), "text")}
    try:
        request = filling.Request(
            source=source,
            output=output,
            columns=options.names(columns),
            types=kinds,
            bounds=options.bounds(bounds),
            time=time,
            reading=options.reading(missing_values, header, encoding, delimiter),
            max_sweeps=max_sweeps,
            time_limit=time_limit,
            seed=seed,
            intervals=intervals,
            draws=draws,
            report=report,
            save=save,
            model=model,
            keep_last=keep_last,
            force=force,
        )
        filling.run(request, as_json)
    except Interrupted:
        console.print("manifill: interrupted; nothing was written.")
        raise typer.Exit(130) from None


@app.command()
def inspect(
    source: Source,
    types: Types = "",
    missing_values: Missing = DEFAULT_MISSING,
    header: Header = None,
    encoding: Encoding = "utf-8",
    delimiter: Delimiter = None,
    as_json: Json = False,
) -> None:
    """Show what is missing of a table, in which patterns, and whether it is likely missing at random.

    Examples
    --------
      manifill inspect people.csv

      manifill inspect people.csv --json
    """
    from manifill._cli import tables

    kinds = options.types(types)
    tables.inspect(source, kinds, options.reading(missing_values, header, encoding, delimiter), as_json)


@app.command()
def compare(
    source: Source,
    types: Types = "",
    share: Annotated[float, typer.Option(help="Share of the known values that is hidden.")] = 0.1,
    missing_values: Missing = DEFAULT_MISSING,
    seed: Seed = 0,
    header: Header = None,
    encoding: Encoding = "utf-8",
    delimiter: Delimiter = None,
    as_json: Json = False,
) -> None:
    """Hide known values of your table and see who fills them best: manifill, neighbours, iterative, simple.

    Examples
    --------
      manifill compare people.csv

      manifill compare people.csv --share 0.2 --json
    """
    from manifill._cli import tables

    kinds = options.types(types)
    reading = options.reading(missing_values, header, encoding, delimiter)
    tables.compare(source, kinds, reading, share, seed, as_json)


@app.command()
def ampute(
    source: Source,
    output: Output,
    rate: Annotated[float, typer.Option(help="Share of the known values that is removed.")] = 0.2,
    mechanism: Annotated[
        str,
        typer.Option(
            help="mcar: anywhere; mar: depending on other columns; mnar: depending on the value itself."
        ),
    ] = "mcar",
    missing_values: Missing = DEFAULT_MISSING,
    seed: Seed = 0,
    header: Header = None,
    encoding: Encoding = "utf-8",
    delimiter: Delimiter = None,
    force: Force = False,
) -> None:
    """Make holes in a table, to try how well they are filled.

    Examples
    --------
      manifill ampute whole.csv -o holes.csv --rate 0.3

      manifill ampute whole.csv -o holes.csv --mechanism mar --seed 1
    """
    from manifill._cli import tables

    reading = options.reading(missing_values, header, encoding, delimiter)
    tables.ampute(source, output, rate, mechanism, reading, seed, force)


app.command()(media.images)
app.command()(media.video)


@app.command()
def demo(
    picture: Annotated[Path, typer.Option(help="Where to draw before and after.")] = Path("demo.png"),
    no_picture: Annotated[bool, typer.Option("--no-picture", help="Numbers only.")] = False,
) -> None:
    """Remove half the pixels of handwritten digits, fill them, and show how well that went."""
    from manifill._cli import demo as digits  # its data and peers take a while to import

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
    absent = [name for name in ("matplotlib", "jinja2") if find_spec(name) is None]
    if absent:
        raise MissingDependency(
            f"Figures and the page need {' and '.join(absent)}: pip install 'manifill[plots]'."
        )
    from manifill._cli import reproduce as experiments

    experiments.run(name, output, scale, data_dir, seed)


def run() -> None:
    """Run the command line, and say in a line what cannot be done."""
    warnings.showwarning = lambda message, *_: console.print(f"manifill: {message}", markup=False)
    try:
        app()
    except (ManifillError, OSError) as error:
        console.print(f"manifill: {error}", style="red", markup=False, highlight=False, soft_wrap=True)
        sys.exit(1)
