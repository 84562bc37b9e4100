"""Options that several commands share, and the parsing of their texts."""

from typing import Annotated, Any

import typer

from manifill.errors import InvalidInput

# Headings of option groups in the help texts.
INPUT, CHOICE, TEXT = "What the table holds", "What is filled", "Text files and sheets"
MORE, RUN = "More output", "Running"

Json = Annotated[
    bool, typer.Option("--json", help="Print the summary as JSON, for programs.", rich_help_panel=RUN)
]
Seed = Annotated[
    int,
    typer.Option(
        metavar="N", min=0, help="Random seed: the same seed gives the same result.", rich_help_panel=RUN
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace existing files.", rich_help_panel=RUN)]
Bound = float | str | None


def names(text: str) -> list[str]:
    """Names separated by commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def types(text: str) -> dict[str, str]:
    """Column → type, from text such as "zip=category,hour=cyclic:24"."""
    return dict(_pairs(text, "--types", "zip=category,note=text"))


def bounds(text: str) -> dict[str, tuple[Bound, Bound]]:
    """Column → (lowest, highest), from text such as "age=0:120,price=0:" or "born=2020-01-01:"."""
    found: dict[str, tuple[Bound, Bound]] = {}
    for name, limits in _pairs(text, "--bounds", "age=0:120,price=0:"):
        if limits.count(":") != 1:
            raise InvalidInput(
                f'--bounds of {name!r} must be lowest:highest, such as "{name}=0:100"; got {limits!r}.'
            )
        low, high = (_bound(one) for one in limits.split(":"))
        found[name] = low, high
    return found


def reading(
    missing: str,
    header: bool | None,
    encoding: str,
    delimiter: str | None,
    decimal: str | None,
    sheet: str | None,
    skip_rows: int,
) -> dict[str, Any]:
    """Keyword arguments for `files.read`."""
    mark = {"tab": "\t", "\\t": "\t"}.get(delimiter or "", delimiter)
    if mark is not None and len(mark) != 1:
        raise InvalidInput(f"--delimiter must be one character, or tab; got {delimiter!r}.")
    try:
        "".encode(encoding)
    except (LookupError, UnicodeError):
        raise InvalidInput(
            f"--encoding must be a known encoding, such as utf-8 or latin-1; got {encoding!r}."
        ) from None
    if decimal not in (None, ".", ","):
        raise InvalidInput(f"--decimal must be . or a comma; got {decimal!r}.")
    return {
        "missing": ("", *missing.split(",")),
        "header": header,
        "encoding": encoding,
        "delimiter": mark,
        "decimal": decimal,
        "sheet": sheet,
        "skip_rows": skip_rows,
    }


def _bound(text: str) -> Bound:
    text = text.strip()
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        return text  # a date


def _pairs(text: str, option: str, example: str) -> list[tuple[str, str]]:
    found = []
    for part in names(text):
        name, mark, value = part.partition("=")
        if not mark or not name.strip() or not value.strip():
            raise InvalidInput(f'{option} must be a list like "{example}"; got {part!r}.')
        found.append((name.strip(), value.strip()))
    return found
