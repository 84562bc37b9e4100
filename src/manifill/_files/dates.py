"""Formats of dates and times in text cells, and which of them suit a column."""

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from manifill._arrays import Array, Mask
from manifill.tables.times import DAY, FIRST_TIME, LAST_TIME, moment
from manifill.tables.variables import Plain

_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_SHORT = [name[:3] for name in _MONTHS]
DIRECTIVES = {
    "Y": r"(?P<Y>\d{4})",
    "y": r"(?P<y>\d{2})",
    "m": r"(?P<m>\d{1,2})",
    "d": r"(?P<d>\d{1,2})",
    "b": rf"(?P<b>(?i:{'|'.join(_SHORT)}))",
    "B": rf"(?P<B>(?i:{'|'.join(_MONTHS)}))",
    "H": r"(?P<H>\d{1,2})",
    "I": r"(?P<I>\d{1,2})",
    "M": r"(?P<M>\d{2})",
    "S": r"(?P<S>\d{2})(?:[.,](?P<f>\d{1,9}))?",
    "p": r"(?P<p>(?i:[ap]\.?m\.?))",
    "z": r"(?P<z>Z|[+-]\d{2}(?::?\d{2})?)",
}
# Years of days that are written as whole numbers, such as 20200131.
_YEARS = (1900, 2100)


@dataclass(frozen=True)
class TimeFormat:
    """Dates and times by a pattern as of `strptime`; seconds may have a fraction.

    Parameters
    ----------
    pattern : directives of `DIRECTIVES`; `.%f` is implied.
    padded : True if days, months and hours below 10 have a leading zero.
    places : digits of the fraction of a second; `mark`: the separator before it.
    zone : text of the time zone; `noon`: text of PM; `upper`: names of months in capital letters.
    """

    pattern: str
    padded: bool = True
    places: int = 0
    mark: str = "."
    zone: str = "Z"
    noon: str = "PM"
    upper: bool = False

    @classmethod
    def given(cls, pattern: str) -> "TimeFormat | None":
        """The format of a pattern that the user gave; None if a directive is not supported."""
        pattern = pattern.replace(".%f", "").replace(",%f", "")
        letters = re.findall(r"%(.?)", pattern)
        distinct = len(set(letters)) == len(letters) and letters
        return cls(pattern) if distinct and set(letters) <= set(DIRECTIVES) else None

    @property
    def holds(self) -> str:
        has_date, has_time = (any(f"%{one}" in self.pattern for one in some) for some in ("Yyd", "HI"))
        return "date and time" if has_date and has_time else "date" if has_date else "time"

    @property
    def _regex(self) -> str:
        literal = re.sub(r"[.\\^$*+?(){}|\[\]]", r"\\\g<0>", self.pattern)
        form = re.sub("%(.)", lambda found: DIRECTIVES[found[1]], literal)
        return f"^{form.replace('{1,2}', '{2}') if '%Y%m' in self.pattern else form}$"

    def parse(self, cells: Any) -> Array | None:
        """Times in microseconds (of a zone: in UTC); None if a cell is not a time in this format."""
        exact = self.microseconds(cells)
        return None if exact is None else exact.astype(np.float64)

    def microseconds(self, cells: Any) -> npt.NDArray[np.int64] | None:
        """The same, exact: floats miss single microseconds after the year 2255."""
        found = pc.extract_regex(cells, self._regex)
        if found.null_count:
            return None
        parts = dict(zip((one.name for one in found.type), found.flatten(), strict=True))
        days, valid = _days(parts)
        if "%Y%m%d" in self.pattern and "Y" in parts:
            years = _integers(parts["Y"])
            valid &= (years >= _YEARS[0]) & (years <= _YEARS[1])
        hours, minutes, seconds = (_integers(parts.get(one), len(days)) for one in ("H", "M", "S"))
        if "I" in parts:
            hours = _integers(parts["I"])
            valid &= (hours >= 1) & (hours <= 12)
            afternoon = pc.match_substring(parts["p"], "p", ignore_case=True) if "p" in parts else None
            hours = hours % 12 + (0 if afternoon is None else 12 * np.asarray(afternoon))
        valid &= (hours < 24) & (minutes < 60) & (seconds < 60)
        if not valid.all():
            return None
        micro = _integers(_six_digits(parts.get("f")), len(days))
        total = ((hours * 60 + minutes - _offsets(parts.get("z"), len(days))) * 60 + seconds) * 1_000_000
        return np.asarray(days * int(DAY) + total + micro, dtype=np.int64)

    def like(self, cells: Any) -> "TimeFormat":
        """The format with leading zeros, fractions, zone and capital letters as in these cells."""
        parts = pc.extract_regex(cells, self._regex)
        texts = {one.name: parts.field(one.name) for one in parts.type}
        small = [pc.min(pc.utf8_length(texts[one])).as_py() for one in "mdHI" if one in texts]
        name = next((texts[one] for one in "bB" if one in texts), None)
        places = pc.max(pc.utf8_length(texts["f"])).as_py() if "f" in texts else 0
        return replace(
            self,
            padded=not small or min(small) > 1,
            places=min(places, 6),
            mark="," if places and pc.any(pc.match_substring_regex(cells, r":\d\d,\d")).as_py() else ".",
            zone=_common(texts.get("z"), "Z"),
            noon=_common(texts.get("p"), "PM"),
            upper=name is not None and bool(pc.all(pc.utf8_is_upper(name)).as_py()),
        )

    def write(self, values: Plain) -> list[str]:
        offset = float(_offsets(pa.array([self.zone]), 1)[0]) * 60e6 if "%z" in self.pattern else 0.0
        # Rounded to the written fraction; what is cut off would always make times earlier.
        unit = 10 ** (6 - self.places)
        shifted = [min(max(value + offset, FIRST_TIME), LAST_TIME) for value in values.tolist()]  # not ±∞
        return [self._written(moment(round(value / unit) * unit)) for value in shifted]

    def _written(self, time: datetime.datetime) -> str:
        digits = "02" if self.padded else ""
        fraction = f"{self.mark}{time.microsecond:06}"[: self.places + 1] if self.places else ""
        name = _MONTHS[time.month - 1].upper() if self.upper else _MONTHS[time.month - 1]
        noon = self.noon.translate(str.maketrans("pP", "aA") if time.hour < 12 else str.maketrans("aA", "pP"))
        texts = {
            "Y": f"{time.year:04}",
            "y": f"{time.year % 100:02}",
            "m": f"{time.month:{digits}}",
            "d": f"{time.day:{digits}}",
            "b": name[:3],
            "B": name,
            "H": f"{time.hour:{digits}}",
            "I": f"{(time.hour - 1) % 12 + 1:{digits}}",
            "M": f"{time.minute:02}",
            "S": f"{time.second:02}{fraction}",
            "p": noon,
            "z": self.zone,
        }
        return re.sub("%(.)", lambda found: texts[found[1]], self.pattern)


# Formats of days. Day first and month first are both tried; a column that fits both is ambiguous.
_DAYS = (
    *("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d", "%d.%m.%Y", "%d.%m.%y"),
    *("%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%d/%m/%y", "%m/%d/%y", "%d-%m-%y", "%m-%d-%y"),
    *(f"%d{mark}%{name}{mark}%{year}" for mark in " -/" for name in "bB" for year in "Yy"),
    *(f"%{name} %d{mark} %Y" for mark in (",", "") for name in "bB"),
)
_SHAPE = re.compile(
    r"(?P<day>.*?)(?:(?P<gap>(?:^|T|,?\s+))(?P<time>\d{1,2}:\d{2}(?P<seconds>:\d{2}(?:[.,]\d{1,9})?)?"
    r"(?P<noon>\s?[AaPp]\.?[Mm]\.?)?)(?P<zone>\s?(?:Z|[+-]\d{2}(?::?\d{2})?))?)?"
)
_ZONE_NAME = re.compile(r".*\d:\d\d(?::\d\d(?:\.\d+)?)?\s*\[?(?P<zone>[A-Z]{2,5}|[A-Z][a-z]+/[A-Za-z_/]+)\]?")
# Distinct cells that are looked at to say why a column is not read as dates, and the share that must look so.
_SAMPLE, _MIN_SHARE = 200, 0.9


def time_formats(cell: str) -> list[TimeFormat]:
    """Formats that a cell has; none if it is neither a date nor a time."""
    found = _SHAPE.fullmatch(cell)
    if found is None:
        return []
    clock = ""
    if found["time"]:
        noon, zone = ((found[one] or "") for one in ("noon", "zone"))
        clock = ("%I" if noon else "%H") + ":%M" + (":%S" if found["seconds"] else "")
        clock += noon[: len(noon) - len(noon.lstrip())] + "%p" if noon else ""
        clock += zone[: len(zone) - len(zone.lstrip())] + "%z" if zone else ""
    days = _DAYS if found["day"] else [""]
    formats = [TimeFormat(day + (found["gap"] or "") + clock) for day in days if day or clock]
    return [one for one in formats if one.parse(pa.array([cell], pa.large_string())) is not None]


def why_not_dates(labels: Sequence[str]) -> str:
    """Why a column of text is not read as dates and times; empty if it does not look like them."""
    sample = labels[:_SAMPLE]
    zones = [found["zone"] for label in sample if (found := _ZONE_NAME.fullmatch(label))]
    if len(zones) >= _MIN_SHARE * len(sample):
        return f"times with the name of a zone, {zones[0]!r}; write its offset, such as +01:00"
    formats = {label: time_formats(label) for label in sample}
    if not any(formats.values()) or sum(map(bool, formats.values())) < _MIN_SHARE * len(sample):
        return ""
    first, patterns = next((label, some) for label, some in formats.items() if some)
    other = next((label for label, some in formats.items() if not set(some) & set(patterns)), None)
    if other is None:
        other = _first_other(labels, patterns[0])
    if not time_formats(other):
        return f"dates, but {other!r} is none"
    return f"dates in more than one format: {first!r}, {other!r}"


def _first_other(labels: Sequence[str], form: TimeFormat) -> str:
    """The first label that does not have this format, of which there is one; found by bisection."""
    cells = pa.array(labels, pa.large_string())
    fits, fails = 0, len(cells)
    while fails - fits > 1:
        middle = (fits + fails) // 2
        if form.parse(cells[:middle]) is None:
            fails = middle
        else:
            fits = middle
    return str(cells[fails - 1])


def _days(parts: dict[str, Any]) -> tuple[npt.NDArray[np.int64], Mask]:
    """Days since 1970, 0 without a date, and whether they exist."""
    n = len(next(iter(parts.values())))
    if "d" not in parts:
        return np.zeros(n, dtype=np.int64), np.ones(n, dtype=np.bool_)
    if "y" in parts:
        years = _integers(parts["y"])
        years = years + np.where(years < 69, 2000, 1900)  # as POSIX has it
    else:
        years = _integers(parts["Y"])
    names = next((parts[one] for one in "bB" if one in parts), None)
    if names is None:
        months = _integers(parts["m"])
    else:
        lowered = pc.utf8_lower(pc.utf8_slice_codeunits(names, 0, 3))
        options = pa.array([name.lower() for name in _SHORT], lowered.type)
        months = np.asarray(pc.index_in(lowered, options)).astype(np.int64) + 1
    days = _integers(parts["d"])
    valid = (years >= 1) & (months >= 1) & (months <= 12) & (days >= 1) & (days <= 31)
    first = ((years - 1970) * 12 + months - 1).astype("datetime64[M]")
    found = first.astype("datetime64[D]") + (days - 1)
    return found.astype(np.int64), valid & (found.astype("datetime64[M]") == first)


def _integers(texts: Any, n: int = 0) -> npt.NDArray[np.int64]:
    """Digits as integers; n zeros without texts."""
    return np.zeros(n, dtype=np.int64) if texts is None else np.asarray(pc.cast(texts, pa.int64()))


def _six_digits(fractions: Any) -> Any:
    """Fractions of a second as microseconds; an empty fraction is 0."""
    if fractions is None:
        return None
    return pc.utf8_slice_codeunits(pc.utf8_rpad(fractions, 6, "0"), 0, 6)


def _offsets(zones: Any, n: int) -> npt.NDArray[np.int64]:
    """Offsets from UTC in minutes."""
    if zones is None:
        return np.zeros(n, dtype=np.int64)
    found = []
    for zone in zones.dictionary_encode().dictionary.to_pylist():
        digits = re.sub(r"\D", "", zone).ljust(4, "0")
        found.append((int(digits[:2]) * 60 + int(digits[2:])) * (-1 if zone[0] == "-" else 1))
    offsets: npt.NDArray[np.int64] = np.array(found, dtype=np.int64)[
        np.asarray(zones.dictionary_encode().indices)
    ]
    return offsets


def _common(texts: Any, default: str) -> str:
    """The most frequent text."""
    if texts is None:
        return default
    counts = texts.value_counts()
    found: str = counts.field("values")[int(np.argmax(np.asarray(counts.field("counts"))))].as_py()
    return found
