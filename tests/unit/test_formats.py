"""Formats of text cells, against `datetime` and `decimal`."""

import datetime as dt
import itertools
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from manifill._files.columns import TextColumn, format_of
from manifill._files.dates import TimeFormat, time_formats, why_not_dates
from manifill._files.formats import FlagFormat, NumberFormat, number_formats, split_affixes

EPOCH = dt.datetime(1970, 1, 1)
MOMENTS = [
    dt.datetime(*one)
    for one in [
        *[(1970, 1, 1), (1969, 12, 31, 23, 59, 59), (2068, 2, 29, 0, 59), (1999, 12, 31, 12, 0, 1)],
        *[(2000, 2, 29, 12, 59, 59), (2024, 11, 10, 11, 30, 30), (2001, 10, 20, 1, 1, 1)],
        *[(2023, month, 9, 13, 5) for month in range(1, 13)],
    ]
]
DAYS = [
    *("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d", "%d.%m.%Y", "%d.%m.%y", "%d/%m/%Y", "%m-%d-%y"),
    *("%d %b %Y", "%d-%B-%y", "%b %d, %Y", "%B %d %Y"),
]
CLOCKS = ["", " %H:%M", " %H:%M:%S", "T%H:%M:%S", " %I:%M %p", " %I:%M:%S%p"]


def cells_of(texts):
    return pa.array(texts, pa.large_string())


def micro(moment):
    return (moment - EPOCH) // dt.timedelta(microseconds=1)


@pytest.mark.parametrize(
    "pattern", [day + clock for day in DAYS for clock in CLOCKS] + ["%H:%M", "%I:%M:%S %p"]
)
def test_times_are_read_and_written_as_by_datetime(pattern):
    texts = [one.strftime(pattern) for one in MOMENTS]
    truth = [dt.datetime.strptime(text, pattern) for text in texts]
    if "%d" not in pattern:
        truth = [dt.datetime.combine(EPOCH, one.time()) for one in truth]
    form = TimeFormat.given(pattern)
    times = form.parse(cells_of(texts))
    assert times.tolist() == [micro(one) for one in truth]
    assert form.like(cells_of(texts)).write(times) == texts
    for text in texts:
        assert form in time_formats(text)
    without_zeros = [text.replace("09", "9") for text in texts]
    if "%Y%m%d" not in pattern and "%d" in pattern:
        assert form.parse(cells_of(without_zeros)).tolist() == times.tolist()
        assert form.like(cells_of(without_zeros)).write(times[-3:]) == [
            text.replace("09", "9").replace("01:", "1:") for text in texts[-3:]
        ]


@pytest.mark.parametrize(
    ("pattern", "cells"),
    [
        (
            "%Y-%m-%d",
            ["2023-02-29", "2023-13-01", "2023-00-10", "2023-01-00", "2023-04-31", "0000-01-01", "x"],
        ),
        ("%Y-%m-%d", ["2023-01-32", "2100-02-29", "2023-1-100"]),
        ("%Y%m%d", ["18991231", "21010101", "2023113"]),
        ("%H:%M:%S", ["24:00:00", "23:60:00", "23:59:60", "1:2:03"]),
        ("%I:%M %p", ["0:30 am", "13:30 pm", "12:60 pm", "12:30 xm"]),
    ],
)
def test_times_that_do_not_exist_are_not_read(pattern, cells):
    form = TimeFormat(pattern)
    assert [cell for cell in cells if form.parse(cells_of([cell])) is not None] == []


@pytest.mark.parametrize(
    ("pattern", "cell"),
    [
        ("%Y%m%d", "19000101"),
        ("%Y%m%d", "21001231"),
        ("%Y-%m-%d", "0001-01-02"),
        ("%Y-%m-%d", "9999-12-30"),
        ("%H:%M:%S", "23:59:59"),
        ("%H:%M", "00:00"),
        ("%I:%M %p", "12:00 AM"),
        ("%I:%M %p", "01:00 AM"),
        ("%I:%M %p", "12:00 PM"),
    ],
)
def test_the_first_and_last_times_are_read(pattern, cell):
    form = TimeFormat(pattern)
    assert form.write(form.parse(cells_of([cell]))) == [cell]


@pytest.mark.parametrize(
    ("zone", "minutes"),
    [("Z", 0), ("+00:00", 0), ("+01:30", 90), ("-0345", -225), ("+05", 300), ("-11:00", -660)],
)
def test_zones_are_offsets_from_universal_time(zone, minutes):
    form = TimeFormat("%Y-%m-%d %H:%M:%S%z")
    cells = cells_of([f"2024-03-01 00:15:30{zone}"] * 2 + ["2024-03-01 00:15:30Z"])
    times = form.parse(cells)
    utc = dt.datetime(2024, 3, 1, 0, 15, 30)
    assert times.tolist() == [micro(utc - dt.timedelta(minutes=minutes))] * 2 + [micro(utc)]
    assert form.like(cells).write(times[:1]) == [f"2024-03-01 00:15:30{zone}"]


@pytest.mark.parametrize("mark", [".", ","])
def test_fractions_of_seconds_have_as_many_places_as_the_cells(mark):
    form = TimeFormat("%H:%M:%S")
    cells = cells_of([f"01:02:03{mark}5", f"01:02:03{mark}25", "01:02:04"])
    times = form.parse(cells)
    second = 3_723_000_000
    assert times.tolist() == [second + 500_000, second + 250_000, second + 1_000_000]
    like = form.like(cells)
    assert (like.places, like.mark) == (2, mark)
    assert like.write(times + 4_000) == [f"01:02:03{mark}50", f"01:02:03{mark}25", f"01:02:04{mark}00"]
    assert like.write(times + 6_000) == [f"01:02:03{mark}51", f"01:02:03{mark}26", f"01:02:04{mark}01"]
    assert form.write(times) == ["01:02:04", "01:02:03", "01:02:04"]  # half a second: to the even one
    long = cells_of(["01:02:03.123456789"])
    assert form.parse(long).tolist() == [second + 123_456]
    assert form.like(long).write(form.parse(long)) == ["01:02:03.123456"]


def test_letters_of_months_and_noon_are_kept():
    for cells in (
        ["01 JAN 2024 01:00 a.m.", "02 FEB 2024 11:00 p.m."],
        ["01 Jan 2024 01:00 AM", "02 Feb 2024 11:00 PM"],
    ):
        (form,) = time_formats(cells[0])
        like = form.like(cells_of(cells))
        assert like.write(form.parse(cells_of(cells))) == cells
    assert TimeFormat("%d %B %Y").like(cells_of(["1 may 2020"])).write(np.array([0.0])) == ["1 January 1970"]


def test_given_patterns_have_known_directives_once():
    assert TimeFormat.given("%Y-%m-%d %H:%M:%S.%f") == TimeFormat("%Y-%m-%d %H:%M:%S")
    assert TimeFormat.given("%H:%M:%S,%f") == TimeFormat("%H:%M:%S")
    for pattern in ("", "day", "%Y-%Y", "%Q", "%Y-%", "%j"):
        assert TimeFormat.given(pattern) is None
    assert TimeFormat("%d.%m.%Y").parse(cells_of(["1x2y2020"])) is None  # a point is a point


def test_what_a_time_format_holds():
    assert [
        TimeFormat(one).holds for one in ("%Y-%m-%d", "%d.%m.%y", "%H:%M", "%I:%M %p", "%d/%m/%Y %H:%M")
    ] == [*("date", "date", "time", "time", "date and time")]


def test_why_text_is_not_read_as_dates():
    days = [f"2024-01-{day:02}" for day in range(1, 21)]
    assert why_not_dates(["a", "b"]) == ""
    assert "'x' is none" in why_not_dates([*days, "x"])
    assert why_not_dates([*days[:5], "x", "y"]) == ""
    assert why_not_dates([*days[:9], "x"]) != ""  # nine tenths look like dates
    assert why_not_dates([*days[:8], "x"]) == ""
    assert "more than one format: '2024-01-01', '01.02.2024'" in why_not_dates([*days, "01.02.2024"])
    zones = [f"{day} 10:00 CET" for day in days]
    assert "the name of a zone, 'CET'" in why_not_dates(zones)
    assert "the name of a zone" in why_not_dates([*zones[:9], "x"])
    assert why_not_dates([*zones[:8], "x"]) == ""


def test_the_one_text_among_many_dates_is_found():
    many = [str(dt.date(2020, 1, 1) + dt.timedelta(days=k)) for k in range(220)]
    assert "'none' is none" in why_not_dates([*many[:207], "none", *many[207:]])


NUMBERS = [0.0, 7.0, -7.0, 999.0, 1000.0, -1234.5, 1234567.25, 0.5]


@pytest.mark.parametrize("form", list(number_formats()), ids=lambda form: f"{form.decimal}{form.group}")
def test_numbers_are_read_as_they_are_written(form):
    cells = cells_of(form.write(np.array(NUMBERS)))
    assert form.matches(cells).all()
    assert form.parse(cells).tolist() == NUMBERS
    whole = replace(form, whole=True)
    assert whole.integers(cells_of(whole.write(np.array(NUMBERS[:5])))).tolist() == [
        int(one) for one in NUMBERS[:5]
    ]
    assert whole.integers(cells_of(["9" * 19])) is None
    wrong = [
        f"1{form.group or ' '}23",
        f"12{form.group or ' '}3456",
        "1e",
        "--1",
        "",
        f"0{form.group or ' '}123",
    ]
    assert not form.matches(cells_of(wrong)).any()


def test_decimal_places_are_a_millionth_of_the_range():
    form = NumberFormat()
    for low, high, digits in [
        (0, 1, 6),
        (0, 9.9, 6),
        (0, 10, 5),
        (5, 5, 6),
        (-20.5, -20.5, 5),
        (0, 0, 6),
        (0, 1e9, 0),
    ]:
        values = np.array([low, high], dtype=float)
        assert form.like(cells_of(["1.5", "2"]), values).digits == digits
    assert form.like(cells_of(["1", "2"]), values).whole
    assert not form.like(cells_of(["1e3"]), values).whole
    assert form.like(cells_of(["1.5"]), np.array([-1e308, 1e308])).digits == 0
    assert form.like(cells_of(["1.5"]), np.array([0, 5e-324])).digits == 300
    dollars = replace(form, prefix="$")
    assert [dollars.like(cells_of(one), values).digits for one in (["1.50", "2"], ["1", "2"])] == [2, 0]
    assert dollars.write(np.array([-1234.5, 2.0])) == ["-$1,234.500000".replace(",", ""), "$2.000000"]


def test_currency_and_percent_signs_are_split_off():
    cells = ["$5", "-$1,000.5", "5 %", "7€", "EUR 3", "x", "5 apples"]
    bodies, prefixes, suffixes = (part.to_pylist() for part in split_affixes(cells_of(cells)))
    assert bodies == ["5", "-1,000.5", "5", "7", "3", None, None]
    assert prefixes == ["$", "$", "", "", "EUR ", None, None]
    assert suffixes == ["", "", " %", "€", "", None, None]


def test_flags_keep_their_letters():
    for cells in itertools.chain(
        (["TRUE", "FALSE"], ["true", "false"], ["True", "False"], ["tRUE", "false"])
    ):
        assert FlagFormat.of(cells).write(np.array([1.0, 0.0])) == cells
    assert FlagFormat.of(["FALSE"]).write(np.array([1.0])) == ["TRUE"]
    assert FlagFormat.of(["False"]).write(np.array([1.0])) == ["True"]
    assert FlagFormat.of(["false"]).write(np.array([1.0])) == ["true"]
    assert FlagFormat.of(["true", "no"]) is None
    assert FlagFormat.of([]) is None


@pytest.mark.parametrize(
    "form", [NumberFormat(",", ".", "$"), FlagFormat("T", "F"), TimeFormat("%H:%M", places=3)]
)
def test_formats_are_stored_as_plain_values(form):
    column = TextColumn("x", np.zeros(2, bool), format=form)
    assert format_of(column.notation) == form


@pytest.mark.parametrize(
    "change",
    [
        *(
            {"format": "Other"},
            {"decimal": ";"},
            {"group": "x"},
            {"digits": -1},
            {"digits": 301},
            {"digits": 2.0},
        ),
        *({"prefix": "x" * 101}, {"whole": 1}, {"more": 1}),
    ],
)
def test_stored_formats_are_checked(change):
    notation = TextColumn("x", np.zeros(2, bool), format=NumberFormat()).notation
    assert format_of({**notation, "prefix": "x" * 100, "digits": 300}).digits == 300
    with pytest.raises(ValueError, match=r"of cells|of numbers"):
        format_of({**notation, **change})


def test_stored_patterns_are_checked():
    notation = TextColumn("x", np.zeros(2, bool), format=TimeFormat("%H:%M")).notation
    with pytest.raises(ValueError, match="pattern"):
        format_of({**notation, "pattern": "%H:%H"})


@pytest.mark.parametrize(("zone", "stored"), [("+01:00", "+01:00"), ("Z", "UTC"), ("-0300", "UTC")])
def test_times_of_a_zone_are_typed_with_it(zone, stored):
    texts = [f"2024-03-01 10:00{zone}", ""]
    form = TimeFormat("%Y-%m-%d %H:%M%z", zone=zone)
    times = np.append(form.parse(cells_of(texts[:1])), 0.0)
    column = TextColumn("x", np.array([False, True]), form.holds, form, times)
    assert column.arrow(cells_of(texts)).type == pa.timestamp("us", stored)
    assert column.arrow(cells_of(texts)).null_count == 1


def test_columns_of_cells_as_plain_values():
    missing = np.array([False, True, False])
    labels = TextColumn("x", missing, codes=np.array([1, -1, 0]), labels=["b", "a"])
    assert labels.plain().tolist() == ["a", None, "b"]
    assert (labels.levels(), labels.type_name, labels.notation) == (("a", "b"), "text", None)
    assert labels.written(np.array(["c"], dtype=object)) == ["c"]
    numbers = TextColumn("x", missing, "number", NumberFormat(), np.array([2.5, 0.0, 1.0]))
    np.testing.assert_array_equal(numbers.plain(), [2.5, np.nan, 1.0])
    assert (numbers.levels(), numbers.type_name) == ((1.0, 2.5), "number")
    assert numbers.arrow(None).to_pylist() == [2.5, None, 1.0]
    empty = TextColumn("x", np.ones(3, bool))
    kinds = {"date": "date", "date and time": "date and time", "time": "time", "number": "number"}
    kinds |= {"cyclic": "number", "integer": "integer", "boolean": "boolean", "category": "label"}
    for kind, holds in kinds.items():
        made = empty.empty_as(kind)
        assert made.holds == holds
        assert (made.exact is not None) == (kind == "integer")
        if made.format is not None:
            assert made.arrow(None).null_count == 3
    german = NumberFormat(",", ".")
    column = empty.empty_as("number")
    column.adopt(TextColumn("y", missing, format=german).notation)
    assert column.format == german
    numbers.adopt(TextColumn("y", missing, format=german).notation)
    assert numbers.format == NumberFormat()  # it has values of its own
    column.adopt(TextColumn("y", missing, format=FlagFormat()).notation)
    assert column.format == german
