"""Formats of text cells: numbers, dates and times, booleans.

A format reads the distinct cells of a column at once (`parse`), and writes values as cells (`write`).
"""

import math
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from manifill._arrays import Array, Mask
from manifill.tables.variables import Plain

# Separators of thousands: the character → those that count as the same, as a regular expression.
GROUPS = {"": "", ",": ",", ".": r"\.", " ": "[ \u00a0\u2009\u202f]", "'": "['’]"}
_SYMBOLS = r"US\$|R\$|[$€£¥₹₽₩₺₴₪฿]|kr|zł"
_CODES = "USD|EUR|GBP|JPY|CHF|CNY|INR|AUD|CAD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|BRL|MXN|ZAR|RUB|KRW|TRY|SGD|HKD"
_AFFIXED = (
    rf"^(?P<sign>[+-]?)(?P<prefix>(?:(?:{_SYMBOLS}|{_CODES})[ \x{{a0}}]?)?)"
    r"(?P<body>[+-]?[\d.,](?:[\d.,'’ \x{a0}\x{2009}\x{202f}]*[\d.,])?(?:[eE][+-]?\d+)?)"
    rf"(?P<suffix>(?:[ \x{{a0}}\x{{202f}}]?(?:%|‰|{_SYMBOLS}|{_CODES}))?)$"
)


class Format(Protocol):
    """How the cells of a column are written."""

    @property
    def holds(self) -> str:
        """What the column holds; see `SourceColumn`."""
        ...

    def write(self, values: Plain) -> list[str]:
        """Values as cells."""
        ...


@dataclass(frozen=True)
class NumberFormat:
    """Numbers, such as 1234.5, 1.234,5, 12 % or $5.

    Parameters
    ----------
    decimal, group : decimal separator, and separator of thousands; `mark`: the group character to write.
    prefix, suffix : currency or percent sign, with its space.
    whole : True if no cell has a decimal separator or an exponent.
    digits : decimal places of written numbers.
    """

    decimal: str = "."
    group: str = ""
    prefix: str = ""
    suffix: str = ""
    whole: bool = False
    digits: int = 6
    mark: str = ""

    @property
    def holds(self) -> str:
        return "integer" if self.whole else "number"

    def matches(self, cells: Any) -> Mask:
        """Which cells, without prefix and suffix, have this format."""
        point, group = re.escape(self.decimal), GROUPS[self.group]
        whole = rf"(?:\d+|[1-9]\d{{0,2}}(?:{group}\d{{3}})+)" if group else r"\d+"
        form = rf"^[+-]?(?:(?:{whole}(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?|(?i:inf|infinity))$"
        return np.asarray(pc.match_substring_regex(cells, form))

    def parse(self, cells: Any) -> Array:
        """Numbers in cells that have this format."""
        return np.asarray(pc.cast(self._plain(cells), pa.float64()))

    def integers(self, cells: Any) -> Any:
        """The cells as 64-bit integers; None if one does not fit."""
        try:
            return np.asarray(pc.cast(self._plain(cells), pa.int64()))
        except pa.ArrowInvalid:
            return None

    def like(self, cells: Any, values: Array) -> "NumberFormat":
        """The format with decimal places as suit these cells and their values."""
        whole = not pc.any(pc.match_substring_regex(cells, rf"[{self.decimal}eE]")).as_py()
        if self.prefix or self.suffix:
            places = pc.extract_regex(cells, rf"{re.escape(self.decimal)}(?P<places>\d*)")
            found = pc.max(pc.utf8_length(places.field("places"))).as_py()
            return replace(self, whole=whole, digits=found or 0)
        span = min(float(values.max()) - float(values.min()), sys.float_info.max)
        size = span or float(np.abs(values).max()) or 1.0
        # The last decimal place is about a millionth of the range of the column.
        return replace(self, whole=whole, digits=max(0, min(300, 6 - math.floor(math.log10(size)))))

    def write(self, values: Plain) -> list[str]:
        return [self._written(value) for value in values.tolist()]

    def _written(self, value: float) -> str:
        fixed = bool(self.prefix or self.suffix)
        if self.whole:
            text = f"{round(value):,}"
        elif fixed:
            text = f"{value:,.{self.digits}f}"
        elif self.group:
            text = re.sub(r"(\.\d+?)0+$", r"\1", f"{value:,.{max(self.digits, 1)}f}")
        else:
            text = repr(round(value, self.digits))
        text = text.translate({ord(","): self.mark or self.group, ord("."): self.decimal})
        sign = "-" if text.startswith("-") else ""
        return sign + self.prefix + text.removeprefix("-") + self.suffix

    def _plain(self, cells: Any) -> Any:
        """The cells as Python and pyarrow write numbers."""
        if self.group:
            cells = pc.replace_substring_regex(cells, GROUPS[self.group], "")
        if self.decimal != ".":
            cells = pc.replace_substring(cells, self.decimal, ".")
        return pc.utf8_ltrim(cells, "+")


def number_formats() -> Iterator[NumberFormat]:
    """All combinations of a decimal separator and a separator of thousands."""
    for point in (".", ","):
        for group in GROUPS:
            if group != point:
                yield NumberFormat(point, group)


def split_affixes(cells: Any) -> tuple[Any, Any, Any]:
    """Cells without currency and percent signs, and these signs before and behind; null where no number."""
    found = pc.extract_regex(cells, _AFFIXED)
    body = pc.binary_join_element_wise(found.field("sign"), found.field("body"), pa.scalar("", cells.type))
    valid = found.is_valid()
    return tuple(pc.if_else(valid, one, None) for one in (body, found.field("prefix"), found.field("suffix")))


@dataclass(frozen=True)
class FlagFormat:
    """True and false, as the cells of the column write them."""

    true: str = "true"
    false: str = "false"
    holds: str = "boolean"

    @classmethod
    def of(cls, labels: list[str]) -> "FlagFormat | None":
        """The format of these cells; None if one is neither true nor false."""
        if not labels or not {label.lower() for label in labels} <= {"true", "false"}:
            return None
        written = {label.lower(): label for label in reversed(labels)}
        style = str.upper if labels[0].isupper() else str.title if labels[0][0].isupper() else str.lower
        return cls(*(written.get(word, style(word)) for word in ("true", "false")))

    def write(self, values: Plain) -> list[str]:
        return [self.true if value else self.false for value in values.tolist()]
