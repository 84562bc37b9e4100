"""Columns of text cells: what they hold is inferred from all their distinct cells at once."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from manifill._arrays import Array, Mask
from manifill._files.dates import TimeFormat
from manifill._files.formats import GROUPS, FlagFormat, Format, NumberFormat
from manifill.tables.variables import Plain

_ARROW = {"number": pa.float64(), "integer": pa.int64(), "boolean": pa.bool_(), "time": pa.time64("us")}
_EXACT = 2.0**53
"""Floats up to this number represent all integers."""


@dataclass(eq=False)
class TextColumn:
    """A column of text cells; see `SourceColumn`.

    Attributes
    ----------
    format : how its cells are written; None for labels.
    numbers : (n,), numbers or times; None for labels.
    codes : (n,), index of each cell in `labels`, -1 where missing; None for numbers.
    labels : distinct cells; empty for numbers.
    exact : (n,), whole numbers as 64-bit integers, 0 where missing; None if cells are not.
    """

    name: str
    missing: Mask
    holds: str = "label"
    format: Format | None = None
    numbers: Array | None = None
    codes: npt.NDArray[np.int64] | None = None
    labels: list[str] = field(default_factory=list)
    exact: npt.NDArray[np.int64] | None = None
    note: str = ""
    declared: bool = False

    @property
    def type_name(self) -> str:
        return "text" if self.holds in ("label", "other") else self.holds

    def plain(self) -> Plain:
        if self.numbers is not None:
            return np.where(self.missing, np.nan, self.numbers)
        values = np.empty(len(self.missing), dtype=object)
        if self.codes is not None:
            labels = np.array([*self.labels, None], dtype=object)
            values[:] = labels[np.where(self.missing, -1, self.codes)]
        return values

    def levels(self) -> tuple[Any, ...]:
        plain = self.plain()[~self.missing]
        return tuple(np.unique(plain).tolist() if self.numbers is not None else sorted(set(plain.tolist())))

    def written(self, values: Plain) -> list[str]:
        """Values as cells of the column."""
        return [str(value) for value in values.tolist()] if self.format is None else self.format.write(values)

    @property
    def notation(self) -> dict[str, Any] | None:
        """How its cells are written, as plain values for `format_of`; None for labels."""
        return None if self.format is None else {"format": type(self.format).__name__, **asdict(self.format)}  # type: ignore[call-overload]

    def adopt(self, notation: Mapping[str, Any]) -> None:
        """Write values as another column was written, if this one has no observed value to tell."""
        form = format_of(notation)
        if self.missing.all() and type(self.format) is type(form):
            self.format, self.holds = form, form.holds

    def empty_as(self, kind: str) -> "TextColumn":
        """The column, of which nothing is known, as one of this kind."""
        patterns = {"date": "%Y-%m-%d", "date and time": "%Y-%m-%d %H:%M:%S", "time": "%H:%M:%S"}
        form: Format | None = None
        if kind in patterns:
            form = TimeFormat(patterns[kind])
        elif kind in ("number", "cyclic", "integer"):
            form = NumberFormat(whole=kind == "integer")
        elif kind == "boolean":
            form = FlagFormat()
        if form is None:
            return self
        n = len(self.missing)
        zeros = np.zeros(n, dtype=np.int64) if kind == "integer" else None
        return TextColumn(self.name, self.missing, form.holds, form, np.full(n, np.nan), exact=zeros)

    @property
    def _as_cells(self) -> bool:
        """True if typed files hold the cells: labels, numbers with a sign of currency, very long integers."""
        signs = isinstance(self.format, NumberFormat) and (self.format.prefix or self.format.suffix)
        too_long = self.holds == "integer" and self.exact is None  # 2^63 or more
        return bool(signs) or too_long or (self.exact is None and self.numbers is None)

    def arrow(self, cells: Any) -> Any:
        """The column as a typed pyarrow array; `cells` are its text cells."""
        if self._as_cells:
            return pc.if_else(pa.array(self.missing), None, cells)
        if self.exact is not None:
            return pa.array(self.exact, pa.int64(), mask=self.missing)
        assert self.numbers is not None
        known = np.where(self.missing, 0, self.numbers)
        if self.holds in ("date", "date and time"):
            times = pa.array(self._microseconds(cells, known), pa.int64(), mask=self.missing)
            zone = None
            if isinstance(self.format, TimeFormat) and "%z" in self.format.pattern:
                zone = self.format.zone if re.fullmatch(r"[+-]\d\d:\d\d", self.format.zone) else "UTC"
            moments = times.cast(pa.timestamp("us", zone))
            return moments.cast(pa.date32()) if self.holds == "date" else moments
        if self.holds == "time":
            return pa.array(known.astype(np.int64), pa.int64(), mask=self.missing).cast(_ARROW["time"])
        kind = _ARROW[self.holds]
        return pa.array(known.astype(kind.to_pandas_dtype()), kind, mask=self.missing)

    def _microseconds(self, cells: Any, known: Array) -> npt.NDArray[np.int64]:
        """Times in microseconds, 0 where missing; `known` are the same as floats."""
        rounded = known.astype(np.int64)
        if isinstance(self.format, TimeFormat) and np.abs(known).max(initial=0.0) > _EXACT:
            texts = pc.utf8_trim_whitespace(cells.filter(pa.array(~self.missing)))
            exact = self.format.microseconds(texts.combine_chunks())
            if exact is not None:
                rounded[~self.missing] = exact
        return rounded

    def arrow_values(self, values: Plain) -> Plain:
        """Imputed values for the array of `arrow`."""
        if self._as_cells:
            return np.array(self.written(values), dtype=object)
        return np.array([int(one) for one in values], dtype=object) if self.numbers is None else values


_FORMATS: dict[str, Any] = {
    "NumberFormat": NumberFormat(),
    "FlagFormat": FlagFormat(),
    "TimeFormat": TimeFormat("%Y"),
}


def format_of(notation: Mapping[str, Any]) -> Format:
    """The format that `TextColumn.notation` describes; ValueError if it describes none."""
    values = dict(notation)
    example = _FORMATS.get(values.pop("format", ""))
    if example is None or set(values) != set(asdict(example)):
        raise ValueError("a format of cells")
    for name, default in asdict(example).items():
        value = values[name]
        fits = len(value) <= 100 if isinstance(value, str) else 0 <= value <= 300
        if type(value) is not type(default) or not fits:
            raise ValueError(f"{name} of a format of cells")
    form: Format = type(example)(**values)
    if isinstance(form, TimeFormat) and TimeFormat.given(form.pattern) is None:
        raise ValueError("the pattern of a format of times")
    if isinstance(form, NumberFormat) and (form.decimal not in (".", ",") or form.group not in GROUPS):
        raise ValueError("the separators of a format of numbers")
    return form
