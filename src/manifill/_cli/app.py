"""The commands of `manifill` and their options."""

import sys
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal

import typer

import manifill
from manifill._cli import media, options
from manifill._cli.arguments import (
    DEFAULT_MISSING,
    Decimal,
    Delimiter,
    Encoding,
    Exclude,
    Header,
    Missing,
    Output,
    Predictors,
    Sheet,
    SkipRows,
    Source,
    Types,
)
from manifill._cli.ending import EXIT_CODES
from manifill._cli.options import CHOICE, INPUT, MORE, RUN, Force, Json, Seed
from manifill._cli.watch import console, printable, say
from manifill.errors import InvalidOption, ManifillError, MissingDependency

app = typer.Typer(
    no_args_is_help=True, add_completion=True, pretty_exceptions_enable=False, epilog=EXIT_CODES
)


@app.callback(invoke_without_command=True)
def about(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    """Fill missing values in tables, sensor logs, pictures and video, and measure how well it went.

    New here? `manifill example` writes small files to try; `manifill COMMAND --help` explains a command.
    """
    if version:
        print(f"manifill {manifill.__version__}")
        raise typer.Exit


@app.command()
def impute(
    source: Source,
    output: Output,
    columns: Annotated[
        str,
        typer.Option(
            metavar="LIST",
            help="Fill only these columns, separated by commas. The others still serve as predictors.",
            rich_help_panel=CHOICE,
        ),
    ] = "",
    skip: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Copy this column unchanged and do not use it as a predictor. Can be repeated.",
            rich_help_panel=CHOICE,
        ),
    ] = None,
    bounds: Annotated[
        str,
        typer.Option(
            metavar="LIST",
            help='Smallest and largest value to fill in: "age=0:120,price=0:,start=08:00..17:30". Default: '
            "the range of the known values.",
            rich_help_panel=CHOICE,
        ),
    ] = "",
    predictors: Predictors = "",
    exclude: Exclude = "",
    types: Types = "",
    time: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Column with the date, time or number at which each row was measured. Values shortly before "
            "and after then count too. Rows may be in any order.",
            rich_help_panel=INPUT,
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Fill new rows with a model that --save wrote, instead of learning from this table.",
            rich_help_panel=INPUT,
        ),
    ] = None,
    missing_values: Missing = DEFAULT_MISSING,
    header: Header = None,
    encoding: Encoding = "utf-8",
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    sheet: Sheet = None,
    skip_rows: SkipRows = 0,
    intervals: Annotated[
        float | None,
        typer.Option(
            metavar="LEVEL",
            help="Add columns NAME_low and NAME_high. With 0.9, about 90 % of the true values lie between "
            "them.",
            rich_help_panel=MORE,
        ),
    ] = None,
    draws: Annotated[
        int,
        typer.Option(
            metavar="M",
            min=0,
            help="Also write M completed tables with values drawn at random, OUT-draw1, OUT-draw2, …, for "
            "multiple imputation.",
            rich_help_panel=MORE,
        ),
    ] = 0,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="HTML", help="Write a page with pictures of what was filled.", rich_help_panel=MORE
        ),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Save the fitted model, to fill new rows later.", rich_help_panel=MORE
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Stop after this time, in seconds.", rich_help_panel=RUN),
    ] = None,
    effort: Annotated[
        Literal["fast", "balanced", "best"] | None,
        typer.Option(
            help="How much time to spend: fast, balanced (the default) or best.", rich_help_panel=RUN
        ),
    ] = None,
    estimate: Annotated[
        Literal["mean", "median"] | None,
        typer.Option(
            help="What fills missing numbers: mean (the default) for small squared errors, median for small "
            "absolute errors.",
            rich_help_panel=CHOICE,
        ),
    ] = None,
    max_sweeps: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="At most N passes over all columns.",
            rich_help_panel=RUN,
        ),
    ] = None,
    seed: Seed = 0,
    keep_last: Annotated[
        bool,
        typer.Option(
            "--keep-last", help="After Ctrl-C, write the result of the last full pass.", rich_help_panel=RUN
        ),
    ] = False,
    force: Force = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Check the options, print types, sizes and outputs, and stop before anything is filled.",
            rich_help_panel=RUN,
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Fill the missing values of a table: numbers, categories and dates.

    Known cells are written as they were read. Text columns are copied. To measure the error, some known
    values are held out, filled like missing ones, and compared with the truth, column by column.

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
    request = filling.Request(
        source=source,
        output=output,
        columns=options.names(columns, "--columns"),
        types=kinds,
        bounds=options.bounds(bounds),
        predictors=options.predictors(predictors),
        exclude=options.names(exclude, "--exclude"),
        time=time,
        reading=options.reading(missing_values, header, encoding, delimiter, decimal, sheet, skip_rows),
        effort=effort,
        estimate=estimate,
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
        dry_run=dry_run,
    )
    filling.run(request, as_json)


@app.command()
def inspect(
    source: Source,
    types: Types = "",
    missing_values: Missing = DEFAULT_MISSING,
    header: Header = None,
    encoding: Encoding = "utf-8",
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    sheet: Sheet = None,
    skip_rows: SkipRows = 0,
    as_json: Json = False,
) -> None:
    """Show which values of a table are missing, in which patterns, and whether at random.

    Examples
    --------
      manifill inspect people.csv

      manifill inspect people.csv --json
    """
    from manifill._cli import tables

    kinds = options.types(types)
    tables.inspect(
        source,
        kinds,
        options.reading(missing_values, header, encoding, delimiter, decimal, sheet, skip_rows),
        as_json,
    )


@app.command()
def compare(
    source: Source,
    share: Annotated[
        float, typer.Option(metavar="SHARE", help="Share of the known values to hold out, 0 to 0.5.")
    ] = 0.1,
    types: Types = "",
    missing_values: Missing = DEFAULT_MISSING,
    header: Header = None,
    encoding: Encoding = "utf-8",
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    sheet: Sheet = None,
    skip_rows: SkipRows = 0,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Compare imputers on your table: which fills held-out values best?

    manifill, scikit-learn's KNNImputer ("neighbours") and IterativeImputer ("iterative"), and the column mean
    or most frequent value ("simple").

    Examples
    --------
      manifill compare people.csv

      manifill compare people.csv --share 0.2 --json
    """
    from manifill._cli import tables

    kinds = options.types(types)
    reading = options.reading(missing_values, header, encoding, delimiter, decimal, sheet, skip_rows)
    tables.compare(source, kinds, reading, share, seed, as_json)


@app.command()
def ampute(
    source: Source,
    output: Output,
    rate: Annotated[
        float, typer.Option(metavar="SHARE", help="Share of the known values to remove, 0 to 1.")
    ] = 0.2,
    mechanism: Annotated[
        str,
        typer.Option(
            help="Which values are removed. mcar: completely at random; mar: depending on other columns; "
            "mnar: depending on the value itself."
        ),
    ] = "mcar",
    types: Types = "",
    missing_values: Missing = DEFAULT_MISSING,
    header: Header = None,
    encoding: Encoding = "utf-8",
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    sheet: Sheet = None,
    skip_rows: SkipRows = 0,
    seed: Seed = 0,
    force: Force = False,
) -> None:
    """Remove values from a table, to test how well they are filled.

    Examples
    --------
      manifill ampute complete.csv -o damaged.csv --rate 0.3

      manifill ampute complete.csv -o damaged.csv --mechanism mar --seed 1
    """
    from manifill._cli import tables

    reading = options.reading(missing_values, header, encoding, delimiter, decimal, sheet, skip_rows)
    tables.ampute(source, output, rate, mechanism, options.types(types), reading, seed, force)


app.command()(media.images)
app.command()(media.video)


@app.command()
def example(
    folder: Annotated[Path, typer.Argument(help="Folder to write to; it is created.")] = Path("example"),
    force: Force = False,
) -> None:
    """Write small example files: a table, a sensor log, damaged pictures with masks, a damaged clip.

    Their complete versions are written too, so that you can compare a fill with the truth.

    Examples
    --------
      manifill example

      manifill impute example/tumours.csv -o filled.csv
    """
    from manifill._cli import example as files_to_try

    files_to_try.run(folder, force)


@app.command()
def demo(
    picture: Annotated[Path, typer.Option(metavar="PNG", help="Picture to draw.")] = Path("demo.png"),
    no_picture: Annotated[bool, typer.Option("--no-picture", help="Print the numbers only.")] = False,
) -> None:
    """Remove half the pixels of handwritten digits, fill them, and compare with two other tools."""
    from manifill._cli import demo as digits  # its data and peers take a while to import

    digits.run(None if no_picture else picture)


@app.command()
def reproduce(
    name: Annotated[str, typer.Argument(help="An experiment of the paper, or all.")],
    scale: Annotated[
        str,
        typer.Option(help="paper: the paper's data sets; smoke: small ones, two minutes for all."),
    ] = "paper",
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Folder for numbers and figures.")
    ] = Path("reproduction"),
    data_dir: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder with the public data sets. Default: MANIFILL_DATA."),
    ] = None,
    seed: Seed = 0,
) -> None:
    """Run the experiments of the paper: numbers, figures, and with "all" a page that compares claims.

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
    """Run the command line; errors become one line on standard error."""
    warnings.showwarning = lambda message, *_: say(f"manifill: {message}")
    try:
        app()
    except (ManifillError, OSError) as error:
        text = str(error)
        if isinstance(error, OSError) and error.strerror:
            text = f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
        text = printable(f"manifill: {text}")
        console.print(text, style="red", markup=False, highlight=False, soft_wrap=True)
        sys.exit(2 if isinstance(error, InvalidOption) else 1)
