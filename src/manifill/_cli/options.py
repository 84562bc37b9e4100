"""Options that several commands share, and the parsing of their texts."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from manifill.errors import InvalidInput, InvalidOption

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


# An item of a list: NAME or NAME=VALUE. Quotes keep commas, = and spaces; "" is a quote within quotes.
_ITEM = re.compile(r'\s*("(?:[^"]|"")*"|[^",=]*)\s*(?:=\s*("(?:[^"]|"")*"|[^",]*)\s*)?(?:,|$)')


def _items(text: str, option: str) -> list[tuple[str, str | None]]:
    """Names and values of a list such as 'age=0:120,"name, with comma"=text'; None for no value."""
    found, place = [], 0
    while place < len(text):
        match = _ITEM.match(text, place)
        if match is None:
            raise InvalidOption(
                f"{option} must be a list separated by commas; {text[place:]!r} cannot be read. Put names "
                """with commas, = or quotes into double quotes, such as '"a, b"'; write a quote twice."""
            )
        name, value = match.groups()
        if name.strip() or value:
            found.append((_unquoted(name), None if value is None else _unquoted(value)))
        place = match.end()
    return found


def _unquoted(text: str) -> str:
    text = text.strip()
    quoted = len(text) > 1 and text[0] == text[-1] == '"'
    return text[1:-1].replace('""', '"') if quoted else text


def names(text: str, option: str) -> list[str]:
    """Names separated by commas."""
    items = _items(text, option)
    if any(value is not None for _, value in items):
        raise InvalidOption(
            f"{option} must be a list of names; got {text!r}. Put names with = into double quotes, such as "
            """'"a=b"'."""
        )
    return [name for name, _ in items]


def types(text: str) -> dict[str, str]:
    """Column → type, from text such as "zip=category,hour=cyclic:24"."""
    return dict(_pairs(text, "--types", "zip=category,note=text"))


def predictors(text: str) -> dict[str, list[str]]:
    """Column → columns that may help to fill it, from text such as "a=b,c,d=e"; "a=" for none."""
    found: dict[str, list[str]] = {}
    column = None
    for name, value in _items(text, "--predictors"):
        if value is not None and name in found:
            raise InvalidOption(f"--predictors must name a column once; {name!r} is there several times.")
        if value is None and column is None:
            raise InvalidOption(
                f'--predictors must be a list like "age=height,weight"; got {name!r} without =.'
            )
        if value is None:
            found[str(column)].append(name)
        else:
            column, found[name] = name, [value] if value else []
    return found


def bounds(text: str) -> dict[str, tuple[Bound, Bound]]:
    """Column → (lowest, highest), from text such as "age=0:120,price=0:" or "start=08:00..17:30"."""
    found: dict[str, tuple[Bound, Bound]] = {}
    for name, limits in _pairs(text, "--bounds", "age=0:120,price=0:"):
        low, mark, high = limits.partition("..") if ".." in limits else limits.partition(":")
        if not mark or (mark == ":" and ":" in high):
            raise InvalidOption(
                f'--bounds of {name!r} must be lowest:highest, such as "{name}=0:100", or lowest..highest, '
                f'such as "{name}=08:00..17:30"; got {limits!r}.'
            )
        found[name] = _bound(low), _bound(high)
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
        raise InvalidOption(f"--delimiter must be one character, or tab; got {delimiter!r}.")
    try:
        "".encode(encoding)
    except (LookupError, UnicodeError):
        raise InvalidOption(
            f"--encoding must be a known encoding, such as utf-8 or latin-1; got {encoding!r}."
        ) from None
    if decimal not in (None, ".", ","):
        raise InvalidOption(f"--decimal must be . or a comma; got {decimal!r}.")
    return {
        "missing": ("", *names(missing, "--missing-values")),
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
    items = _items(text, option)
    for name, value in items:
        if not name or not value:
            raise InvalidOption(f'{option} must be a list like "{example}"; got {name!r} without a value.')
    return [(name, str(value)) for name, value in items]


@contextmanager
def checking_options() -> Iterator[None]:
    """Errors of the block are mistakes in the options; parameters in messages get the names of options."""
    try:
        yield
    except InvalidInput as error:
        raise InvalidOption(_PARAMETER.sub(_as_option, str(error))) from error


_PARAMETER = re.compile(r"^(types|bounds|predictors|exclude|time_limit|time|max_sweeps|share)\b")


def _as_option(match: re.Match[str]) -> str:
    return "--" + match[1].replace("_", "-")
