"""Arguments that the commands for tables share."""

from pathlib import Path
from typing import Annotated

import typer

from manifill._cli.options import CHOICE, INPUT, TEXT
from manifill._files import tables as files

Source = Annotated[
    Path,
    typer.Argument(
        metavar="IN",
        help=f"The table: {', '.join(files.FORMATS)}; text also packed as .gz, .zst or .zip; "
        "data.db::people for a table of a database; a folder of parquet files; or - for standard input.",
        show_default=False,
    ),
]
Output = Annotated[
    Path,
    typer.Option(
        "--output",
        "-o",
        metavar="OUT",
        help="File to write. Its ending chooses the format; - is csv text to standard output.",
    ),
]
Missing = Annotated[
    str,
    typer.Option(
        metavar="LIST",
        help="Texts that mean 'missing', separated by commas. They replace the default list. Empty cells are "
        "always missing.",
        rich_help_panel=TEXT,
    ),
]
Types = Annotated[
    str,
    typer.Option(
        metavar="LIST",
        help='Types of columns that were inferred wrongly: "zip=category,hour=cyclic:24,note=text". Types: '
        "number, integer, boolean, category, ordered, date, date:FORMAT such as date:%d/%m/%Y, "
        "cyclic:PERIOD, text, identifier.",
        rich_help_panel=INPUT,
    ),
]
Predictors = Annotated[
    str,
    typer.Option(
        metavar="LIST",
        help='Columns that may be used to fill a column: "age=height,weight,income=age". "age=" is none. '
        "Default: all others.",
        rich_help_panel=CHOICE,
    ),
]
Exclude = Annotated[
    str,
    typer.Option(
        metavar="LIST",
        help="Columns that are filled, but not used to fill others, separated by commas, such as the target "
        "of a later prediction.",
        rich_help_panel=CHOICE,
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Does the first line hold column names? Default: yes, unless all its cells are numbers.",
        rich_help_panel=TEXT,
    ),
]
Encoding = Annotated[
    str, typer.Option(metavar="NAME", help="Character encoding, such as latin-1.", rich_help_panel=TEXT)
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        metavar="CHAR",
        help="Character between cells, or 'tab'. Default: found in the first line.",
        rich_help_panel=TEXT,
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option(
        metavar="CHAR",
        help="Decimal separator, . or a comma, where numbers such as 4,189 can be read in two ways.",
        rich_help_panel=TEXT,
    ),
]
Sheet = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Sheet of a workbook, by name or number. Default: the first.",
        rich_help_panel=TEXT,
    ),
]
SkipRows = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=0,
        help="Lines above the header of a text file or a sheet. In a sheet they are found if not given.",
        rich_help_panel=TEXT,
    ),
]
DEFAULT_MISSING = ",".join(files.MISSING[1:])
