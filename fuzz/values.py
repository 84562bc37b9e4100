"""Random values and names of columns."""

import datetime
import decimal
import random
from collections.abc import Callable
from typing import Any

UTC = datetime.UTC
WORDS = (
    "red",
    "green",
    "blue",
    "a",
    "b",
    "Ünïcode",
    "中文",
    "yes",
    "no",
    "M",
    "F",
    "it's",
    'say "x"',
    "a,b",
    "x;y",
    "=1+1",
)
NAMES = (
    *(
        "a",
        "b",
        "value",
        "name",
        "id",
        "row id",
        "completed",
        "like",
        "names",
        "column",
        "index",
        "a_low",
        "a_high",
    ),
    *(
        "price, net",
        "a=b",
        "a:b",
        " padded ",
        'quo"te',
        "it's",
        "größe",
        "数据",
        "tab\tbed",
        "two\nlines",
        "\x1b[31mred",
    ),
    *(
        "",
        " ",
        "NA",
        "nan",
        "1",
        "3.5",
        "2020-01-01",
        "-",
        "--json",
        "x0",
        "x1",
        "[bold]",
        "{x}",
        "%s",
        "a" * 300,
    ),
)
DATE_FORMATS = (
    *(
        "%Y-%m-%d",
        "%d.%m.%Y",
        "%d/%m/%Y",
        "%m/%d/%Y",
        "%Y/%m/%d",
        "%Y%m%d",
        "%d %b %Y",
        "%B %d, %Y",
        "%y-%m-%d",
    ),
    *("%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S.%f", "%Y-%m-%dT%H:%M:%SZ", "%d/%m/%Y %H:%M"),
    *("%Y-%m-%dT%H:%M:%S+01:00", "%H:%M", "%H:%M:%S", "%I:%M %p", "%Y-%m", "%Y"),
)


def names(rng: random.Random, count: int) -> list[str]:
    """Names of columns, mostly plain; sometimes one is repeated."""
    if rng.random() < 0.4:
        return [f"c{i}" for i in range(count)]
    found = rng.sample(NAMES, count)
    if rng.random() < 0.05 and count > 1:
        found[0] = found[-1]
    return found


# Plain values: a function of the random numbers makes the function that makes one value.


def numbers(rng: random.Random) -> Callable[[], float]:
    """Floats of one size, which may be extreme."""
    size = 10.0 ** rng.choice((0, 0, 0, 0, 3, -3, 15, -12, 100, -100, 300, -300))
    shift = rng.choice((0, 0, 0, 1, 1e6)) * size
    return lambda: shift + size * rng.gauss(0, 1)


def integers(rng: random.Random, low: int = -(2**63), high: int = 2**63 - 1) -> Callable[[], int]:
    """Whole numbers within the limits of a type."""
    low, high = rng.choice([(0, 1), (0, 9), (1, 5000), (-9, 9), (low, high), (2**53 - 5, 2**53 + 5)])
    low, high = (min(max(one, -(2**63)), 2**63 - 1) for one in (low, high))
    return lambda: rng.randint(low, high)


def moments(rng: random.Random) -> Callable[[], datetime.datetime]:
    """Dates with times, from a few days or from centuries."""
    span = rng.choice((3600, 86400 * 30, 86400 * 365 * 30, 86400 * 365 * 500))
    step = rng.choice((86400, 3600, 1, 1e-3))
    start = datetime.datetime(rng.choice((1970, 2001, 2024)), rng.randint(1, 12), rng.randint(1, 28))
    return lambda: start + datetime.timedelta(seconds=round(rng.uniform(0, span) / step) * step)


def decimals(rng: random.Random) -> Callable[[], decimal.Decimal]:
    """Decimal numbers with two places."""
    size = 10 ** rng.choice((1, 3, 7))
    return lambda: decimal.Decimal(round(rng.gauss(0, size) * 100)).scaleb(-2)


def labels(rng: random.Random) -> Callable[[], str]:
    """Words of a small list."""
    words = rng.sample(WORDS, rng.randint(1, 5))
    return lambda: rng.choice(words)


def texts(rng: random.Random) -> Callable[[], str]:
    """Texts that differ, a few of them long or with control characters."""
    odd = rng.choice((0, 0, 0.1))
    return lambda: (
        rng.choice(("x" * 40_000, "a\x01b", "bell\x07", "a\rb", "a\nb", "\ufeff", "😀", "\u202e", "'", '"'))
        if rng.random() < odd
        else "".join(rng.choices("abcdefgh ,;.'", k=rng.randint(1, 12)))
    )


def _then(make: Callable[[], Any], change: Callable[[Any], Any]) -> Callable[[], Any]:
    return lambda: change(make())


PLAIN: dict[str, Callable[[random.Random], Callable[[], Any]]] = {
    "number": numbers,
    "integer": integers,
    "boolean": lambda rng: lambda: rng.random() < 0.5,
    "label": labels,
    "text": texts,
    "moment": moments,
    "date": lambda rng: _then(moments(rng), lambda moment: moment.date()),
    "time": lambda rng: _then(moments(rng), lambda moment: moment.time()),
    "duration": lambda rng: _then(
        numbers(rng), lambda value: datetime.timedelta(seconds=round(max(-1e6, min(value, 1e6)), 3))
    ),
    "decimal": decimals,
    "list": lambda rng: lambda: [rng.randint(0, 9)] * rng.randint(0, 3),
    "struct": lambda rng: lambda: {"p": rng.randint(0, 9)},
    "bytes": lambda rng: lambda: rng.choice((b"", b"x", b"\xff\x00")),
    "mixed": lambda rng: lambda: rng.choice((1, 2.5, "x", True, datetime.date(2020, 1, 1))),
    "complex": lambda rng: lambda: complex(rng.randint(0, 9), 1),
}
"""Family of a value → what makes a maker of such values."""


def cells(rng: random.Random, count: int) -> list[str]:
    """A column of text cells in one of many notations."""
    notation = rng.choice(list(_NOTATIONS))
    make = _NOTATIONS[notation](rng)
    found = [make() for _ in range(count)]
    if rng.random() < 0.08:  # one cell of another kind
        found[rng.randrange(count)] = rng.choice(
            ("x", "inf", "-", "1e999", "12abc", "0x10", "1_000", "٣", "NaN", "0.1.2")
        )
    return found


def _formatted(
    make: Callable[[random.Random], Callable[[], Any]], form: str
) -> Callable[..., Callable[[], str]]:
    def maker(rng: random.Random) -> Callable[[], str]:
        value = make(rng)
        return lambda: form.format(value())

    return maker


def _small(rng: random.Random) -> Callable[[], float]:
    return lambda: rng.gauss(50, 20)


def _dates(rng: random.Random) -> Callable[[], str]:
    form, make = rng.choice(DATE_FORMATS), moments(rng)
    return lambda: make().strftime(form)


def _booleans(rng: random.Random) -> Callable[[], str]:
    pair = rng.choice(
        (("true", "false"), ("True", "False"), ("TRUE", "FALSE"), ("yes", "no"), ("0", "1"), ("T", "F"))
    )
    return lambda: rng.choice(pair)


def _constant(rng: random.Random) -> Callable[[], str]:
    value = rng.choice(("1", "0", "x", "2.50", "2020-01-01", "1e300", "true", "0000"))
    return lambda: value


_NOTATIONS: dict[str, Callable[[random.Random], Callable[[], str]]] = {
    "number": _formatted(numbers, "{!r}"),
    "two places": _formatted(_small, "{:.2f}"),
    "rounded": _formatted(_small, "{:.0f}"),
    "exponent": _formatted(numbers, "{:.3e}"),
    "integer": _formatted(integers, "{}"),
    "many digits": _formatted(lambda rng: lambda: 2**70 + rng.randint(0, 2**40), "{}"),
    "signed": _formatted(_small, "{:+.1f}"),
    "padded": _formatted(_small, " {:.1f} "),
    "percent": _formatted(_small, "{:.1f}%"),
    "currency": _formatted(_small, "${:.2f}"),
    "thousands": _formatted(lambda rng: lambda: rng.randint(0, 99_999), "{:,}"),
    "decimal comma": lambda rng: _then(_small(rng), lambda value: f"{value:.2f}".replace(".", ",")),
    "leading zeros": _formatted(lambda rng: lambda: rng.randint(0, 99_999), "{:05}"),
    "dates": _dates,
    "moments": _dates,
    "booleans": _booleans,
    "labels": labels,
    "words": labels,
    "texts": texts,
    "constant": _constant,
    "empty": lambda _: lambda: "",
    "mixed": lambda rng: lambda: rng.choice(("1", "2.5", "x", "true", "2020-01-01", "-7")),
}
