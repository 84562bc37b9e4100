"""What the columns of text files hold: inferred from all distinct cells of a column at once."""

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from manifill._arrays import Array, Mask
from manifill._files.columns import TextColumn
from manifill._files.dates import DIRECTIVES, TimeFormat, time_formats, why_not_dates
from manifill._files.formats import GROUPS, FlagFormat, Format, NumberFormat, number_formats, split_affixes
from manifill.errors import InvalidInput, InvalidOption
from manifill.tables.times import moment

# Maximum number of distinct labels of a column; a column with more is text.
_MAX_DISTINCT = 100_000
# Maximum number of ways in which true and false are written in a column.
_MAX_FLAGS = 10
# Share of cells that are not numbers up to which a column counts as numeric with invalid cells, which is an
# error; above it the column is text. Set by hand, not tuned.
_MAX_INVALID_SHARE = 0.1
# Up to here a float represents every integer exactly.
_MAX_EXACT = 2**53
_LABELS = ("text", "identifier", "category", "ordered", "skip")
_NUMBERS = ("number", "integer", "cyclic")


@dataclass(frozen=True)
class Place:
    """Where a column comes from, for messages: the file, and the line of every row."""

    file: str
    lines: npt.NDArray[np.int64] | None = None

    def line(self, row: int) -> str:
        return f"row {row + 1}" if self.lines is None else f"line {self.lines[row]}"


def missing_cells(cells: Any, codes: Collection[str]) -> tuple[Any, Mask]:
    """Cells without the spaces around them, and which of them mean a missing value."""
    trimmed = pc.utf8_trim_whitespace(cells)
    texts = sorted({code.strip() for code in codes} | {""})
    absent = pc.is_in(trimmed, pa.array(texts, trimmed.type), skip_nulls=False)
    not_a_number = pc.is_in(pc.utf8_lower(trimmed), pa.array(["nan", "-nan", "+nan"], trimmed.type))
    missing = pc.or_(pc.or_(absent, not_a_number), pc.is_null(trimmed))
    return trimmed, np.asarray(missing.to_numpy(zero_copy_only=False), dtype=np.bool_)


class Reader:
    """Infers what a column of text cells holds.

    Parameters
    ----------
    place : where the column comes from.
    codes : cells that mean a missing value.
    decimal : decimal separator to prefer; None: it must follow from the cells.
    """

    def __init__(self, place: Place, codes: Collection[str], decimal: str | None = None) -> None:
        self._place, self._codes, self._decimal = place, codes, decimal

    def column(self, name: str, cells: Any, kind: str = "") -> TextColumn:
        """The column; `kind` is its type as in --types, empty if it is to be inferred."""
        trimmed, missing = missing_cells(cells, self._codes)
        known = trimmed.filter(pa.array(~missing)) if missing.any() else trimmed
        column = TextColumn(name, missing)
        if not len(known):
            return replace(column, codes=np.full(len(missing), -1))
        base, _, detail = kind.partition(":")
        if base not in _LABELS and not (base == "date" and detail):
            fast = self._plain_numbers(column, known, base)
            if fast is not None:
                return fast
        encoded = (_whole(known)).dictionary_encode()
        distinct, indices = encoded.dictionary, np.asarray(encoded.indices)
        column.codes = np.full(len(missing), -1)
        column.codes[~missing] = indices
        found = None
        if base == "date" and detail:
            found = self._given_dates(column, distinct, detail)
        elif base not in _LABELS:
            found = self._formatted(column, distinct, np.bincount(indices), base)
        return found or self._labels(column, distinct)

    def _plain_numbers(self, column: TextColumn, known: Any, kind: str) -> TextColumn | None:
        """Numbers as programs write them; None if there are other cells, or whole numbers that are codes."""
        try:
            numbers = np.asarray(pc.cast(known, pa.float64()).to_numpy(zero_copy_only=False))
        except pa.ArrowInvalid:
            return None
        if np.isinf(numbers).any():
            i = int(np.flatnonzero(np.isinf(numbers))[0])
            raise self._infinite(column.name, int(np.flatnonzero(~column.missing)[i]), known[i].as_py())
        form = NumberFormat().like(known, numbers)
        if self._decimal == "," and not form.whole:
            return None
        asked = kind in _NUMBERS
        if form.whole and not asked:
            if kind != "boolean" and (dates := self._days(column, known)) is not None:
                return dates
            if pc.any(pc.match_substring_regex(known, r"^[+-]?0\d")).as_py():
                column.note = "codes: whole numbers with leading zeros"
                return None
        exact = form.integers(known) if form.whole else None
        if form.whole and not asked and np.abs(numbers).max() > _MAX_EXACT:
            column.note = "whole numbers too long to be exact as numbers"
            column.exact = None if exact is None else _spread(exact, column.missing, 0)
            return None
        if exact is not None:
            column.exact = _spread(exact, column.missing, 0)
        return _numeric(column, form, _spread(numbers, column.missing, np.nan))

    def _days(self, column: TextColumn, known: Any) -> TextColumn | None:
        """Whole numbers that are all days, such as 20200131."""
        if pc.any(pc.not_equal(pc.utf8_length(known), 8)).as_py():
            return None
        form = TimeFormat("%Y%m%d")
        days = form.parse(_whole(known))
        if days is None:
            return None
        column.note = "whole numbers that are all days, written yyyymmdd"
        return _numeric(column, form, _spread(days, column.missing, np.nan))

    def _formatted(self, column: TextColumn, distinct: Any, counts: Any, kind: str) -> TextColumn | None:
        """The column as numbers, dates or booleans; None if it is neither."""
        if column.note:
            return None  # whole numbers that are codes
        if kind in ("", *_NUMBERS) and (found := self._numbers(column, distinct, counts)) is not None:
            return found
        if kind in _NUMBERS:
            return None
        labels = distinct.to_pylist() if len(distinct) <= _MAX_FLAGS else []
        form = FlagFormat.of(labels)
        if form is not None:
            values = np.array([label.lower() == "true" for label in labels], dtype=np.float64)
            return _numeric(column, form, _looked_up(values, column.codes))
        return self._dates(column, distinct)

    def _numbers(self, column: TextColumn, distinct: Any, counts: Array) -> TextColumn | None:
        """Numbers with separators of thousands, decimal commas, percent or currency signs."""
        bodies, *affixes = split_affixes(distinct)
        if 2 * counts[np.asarray(bodies.is_valid())].sum() < counts.sum():
            return None
        signs = np.array(["|".join(one) for one in zip(*(_trimmed(one) for one in affixes), strict=True)])
        main = max(dict.fromkeys(signs.tolist()), key=lambda sign: counts[signs == sign].sum())
        if pc.any(pc.match_substring_regex(bodies, r"^[+-]?0\d+$")).as_py():
            column.note = "codes: whole numbers with leading zeros"
            return None
        prefix, suffix = (one.filter(pa.array(signs == main))[0].as_py() or "" for one in affixes)
        formats = [replace(one, prefix=prefix, suffix=suffix) for one in number_formats()]
        fits = {one: one.matches(bodies.fill_null("")) & (signs == main) for one in formats}
        complete = [one for one in formats if fits[one].all()]
        if self._decimal:  # it settles what can be read in two ways; other columns may have another one
            complete = [one for one in complete if one.decimal == self._decimal] or complete
        if complete:
            return self._settled(column, complete, bodies)
        self._require_one_decimal(column, fits, distinct)
        best = max(fits.values(), key=lambda mask: counts[mask].sum())
        invalid = counts[~best].sum()
        if invalid <= _MAX_INVALID_SHARE * counts.sum():
            raise self._invalid(column, distinct, best, int(invalid))
        if len(set(signs.tolist()) - {"|"}) and best.any() and bodies.null_count == 0:
            first, other = (distinct[int(np.flatnonzero(one)[0])].as_py() for one in (best, ~best))
            column.note = f"amounts in more than one form: {first!r}, {other!r}"
        return None

    def _settled(self, column: TextColumn, complete: list[NumberFormat], bodies: Any) -> TextColumn:
        """The column read by the first of these formats, all of which fit; refused if they disagree."""
        readings = [(one, one.parse(bodies)) for one in complete]
        first, values = readings[0]
        if np.isinf(values).any():
            i = int(np.flatnonzero(np.isinf(values))[0])
            raise self._infinite(column.name, int(np.flatnonzero(column.codes == i)[0]), bodies[i].as_py())
        plain = first.decimal == "." and not first.group
        for _, different in [] if plain or self._decimal else readings[1:]:
            if not np.array_equal(values, different):
                i = int(np.flatnonzero(values != different)[0])
                cell = first.prefix + bodies[i].as_py() + first.suffix
                raise self._ambiguous_number(column.name, cell, values[i], different[i])
        form = first.like(bodies, values)
        if form.group:  # the very character that the cells have
            marks = pc.extract_regex(bodies, rf"\d(?P<mark>{GROUPS[form.group]})\d").drop_null()
            form = replace(form, mark=marks.field("mark")[0].as_py() if len(marks) else form.group)
        if form.whole and (exact := form.integers(bodies)) is not None:
            column.exact = _looked_up(exact, column.codes, 0)
        return _numeric(column, form, _looked_up(values, column.codes))

    def _require_one_decimal(self, column: TextColumn, fits: dict[NumberFormat, Mask], distinct: Any) -> None:
        """Refuse a column in which some numbers have a decimal point and others a decimal comma."""
        either = {one.decimal: mask for one, mask in fits.items() if not one.group}
        if len(either) < 2 or not (either["."] | either[","]).all():
            return
        point, comma = (
            distinct[int(np.flatnonzero(either[one] & ~either[other])[0])].as_py()
            for one, other in ((".", ","), (",", "."))
        )
        raise InvalidOption(
            f"Numbers of a column must have one decimal separator; column {column.name!r} of "
            f"{self._place.file} has {point!r} and {comma!r}. Correct the file, or give "
            f'--types "{column.name}=text" to copy the column unchanged.'
        )

    def check_point(self, column: TextColumn, cells: Any) -> None:
        """Refuse numbers such as 1.234 where other columns have decimal commas: the point may be either."""
        form = column.format
        if not isinstance(form, NumberFormat) or (form.decimal, form.group, form.whole) != (".", "", False):
            return
        known = split_affixes(_whole(pc.utf8_trim_whitespace(cells).filter(pa.array(~column.missing))))[0]
        other = replace(form, decimal=",", group=".")
        if known.null_count or not other.matches(known).all():
            return
        one, two = other.parse(known), form.parse(known)
        for i in np.flatnonzero(one != two)[:1].tolist():
            raise self._ambiguous_number(column.name, known[i].as_py(), one[i], two[i])

    def _ambiguous_number(self, name: str, cell: str, one: float, two: float) -> InvalidOption:
        mark = "," if "," in cell else "."
        thousands, decimal = sorted((one, two), key=abs, reverse=True)
        return InvalidOption(
            f"Column {name!r} of {self._place.file} can be read in two ways: {cell!r} is {thousands:.15g} if "
            f"{mark!r} separates thousands, or {decimal:.15g} if it is the decimal separator. Give "
            f"--decimal {'.' if mark == ',' else ','} for the first, --decimal {mark} for the second, or "
            f'--types "{name}=text" to copy the column unchanged.'
        )

    def _given_dates(self, column: TextColumn, distinct: Any, pattern: str) -> TextColumn:
        """Dates and times in the format that the user gave."""
        form = TimeFormat.given(pattern)
        if form is None:
            raise InvalidInput(
                f"Formats of dates may have {', '.join('%' + one for one in DIRECTIVES)} and %f, each once; "
                f"got {pattern!r} for column {column.name!r}."
            )
        times = form.parse(distinct)
        if times is None:
            cell = next(one for one in distinct if form.parse(pa.array([one])) is None).as_py()
            row = int(np.flatnonzero(column.codes == distinct.index(cell).as_py())[0])
            raise InvalidInput(
                f"Cells of column {column.name!r} of {self._place.file} must be dates in the format "
                f"{pattern!r}; {self._place.line(row)} is {_shortened(cell)}. Correct the cell or the format."
            )
        return _numeric(column, form.like(distinct), _looked_up(times, column.codes))

    def _dates(self, column: TextColumn, distinct: Any) -> TextColumn | None:
        """The column as dates or times; None if no format fits all cells."""
        readings = [(form, form.parse(distinct)) for form in time_formats(distinct[0].as_py())]
        fitting = [(form, times) for form, times in readings if times is not None]
        if not fitting:
            column.note = column.note or why_not_dates(distinct[:_MAX_DISTINCT].to_pylist())
            return None
        (form, times), *others = fitting
        for other, different in others:
            if not np.array_equal(times, different):
                i = int(np.flatnonzero(times != different)[0])
                one, two = (f"{moment(value[i]):%Y-%m-%d}" for value in (times, different))
                raise InvalidOption(
                    f"Column {column.name!r} of {self._place.file} can be read in two ways: "
                    f"{distinct[i].as_py()!r} is {one} or {two}. Give "
                    f'--types "{column.name}=date:{form.pattern}" or '
                    f'--types "{column.name}=date:{other.pattern}", or --types "{column.name}=text" to copy '
                    "the column unchanged."
                )
        return _numeric(column, form.like(distinct), _looked_up(times, column.codes))

    def _labels(self, column: TextColumn, distinct: Any) -> TextColumn:
        if len(distinct) > _MAX_DISTINCT:
            note = column.note or f"text, with more than {_MAX_DISTINCT:,} different values"
            return replace(column, holds="other", codes=None, note=note)
        return replace(column, labels=distinct.to_pylist())

    def _infinite(self, name: str, row: int, cell: str) -> InvalidInput:
        return InvalidInput(
            f"Numbers must be finite; {self._place.line(row)} of {self._place.file}, column {name!r}, "
            f"is {_shortened(cell)}, which is infinite or too large. Correct the cell."
        )

    def _invalid(self, column: TextColumn, distinct: Any, valid: Mask, invalid: int) -> InvalidInput:
        assert column.codes is not None
        row = int(np.flatnonzero(np.append(~valid, False)[column.codes])[0])
        cell = distinct[int(column.codes[row])].as_py()
        others = f", and {invalid - 1:,} more cells are not numbers" if invalid > 1 else ""
        return InvalidInput(
            f"Column {column.name!r} of {self._place.file} holds numbers, but {self._place.line(row)} is "
            f'{_shortened(cell)}{others}. Use --missing-values "…,{cell[:20]}" if this means a missing '
            f'value, --types "{column.name}=category" if the numbers are codes, or '
            f'--types "{column.name}=text" to copy the column unchanged; or correct the file.'
        )


def _numeric(column: TextColumn, form: Format, numbers: Array) -> TextColumn:
    """The column with numbers, times or booleans."""
    return replace(column, holds=form.holds, format=form, numbers=numbers, codes=None)


def _spread(known: Any, missing: Mask, default: float) -> Any:
    """Values of the known cells in their rows, and the default elsewhere."""
    values = np.full(len(missing), default, dtype=known.dtype)
    values[~missing] = known
    return values


def _looked_up(values: Any, codes: Any, default: float = math.nan) -> Any:
    """Value of each cell, given those of the distinct cells; codes of -1 get the default."""
    return np.append(values, np.array([default], dtype=values.dtype))[codes]


def _whole(array: Any) -> Any:
    """An array in one piece."""
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _trimmed(texts: Any) -> list[str]:
    return [(text or "").strip() for text in texts.to_pylist()]


def _shortened(cell: str) -> str:
    return repr(cell) if len(cell) <= 40 else f"{cell[:20]!r}… ({len(cell):,} characters)"
