"""Parts of reading and writing files: layouts of text, headers of sheets, checks of outputs."""

import csv
import datetime as dt
import io
import json
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import openpyxl
import pyarrow as pa
import pytest

from manifill._files import checks, excel, tables
from manifill._files.databases import _chosen as chosen_table
from manifill._files.databases import split_table
from manifill._files.frame import Options, Origin, of_values, stripped
from manifill._files.text import Layout, TextReader
from manifill._files.typing import Place, Reader, missing_cells
from manifill.errors import InvalidInput, InvalidOption


def read(text, **options):
    return TextReader(text.encode() if isinstance(text, str) else text, "f.csv", **options).cells()


class TestText:
    @pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
    @pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
    @pytest.mark.parametrize("quoted", [False, True])
    def test_layouts_are_found_and_written_again(self, delimiter, newline, quoted):
        rows = [["a", "b"], ["1,;\t|", "2"], ["3", 'say "so"'], ["5", "6"]]
        file = io.StringIO(newline="")
        csv.writer(
            file,
            delimiter=delimiter,
            lineterminator=newline,
            quoting=csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL,
        ).writerows(rows)
        found = read(file.getvalue())
        assert found.layout == Layout(
            delimiter, newline=newline, quoting=csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL
        )
        assert [
            found.names,
            *map(list, zip(*(one.to_pylist() for one in found.columns), strict=True)),
        ] == rows
        again = io.StringIO(newline="")
        found.layout.write(again, found.names, [one.combine_chunks() for one in found.columns])
        assert again.getvalue() == file.getvalue()

    @pytest.mark.parametrize(
        ("text", "quoted"),
        [
            ('"a","b"\n1,2\n3,4\n', False),
            ('"a","b"\n"1","2"\n3,4\n5,6\n', False),
            ('"a","b"\n"1","2"\n"3","4"\n', True),
            ('"a"\n"1"\n', True),
        ],
    )
    def test_all_cells_are_quoted_only_if_those_of_the_file_are(self, text, quoted):
        assert read(text).layout.quoting == (csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL)

    def test_lines_are_numbered_as_in_an_editor(self):
        found = read('title\n\na,b\n1,"two\nlines"\n\n3,4\n', skip_rows=1)
        assert found.place.lines.tolist() == [5, 7]
        assert found.layout.preamble == "title\n"
        assert (found.place.line(0), Place("f").line(0), Place("f").line(6)) == ("line 5", "row 1", "row 7")

    def test_blank_lines_are_values_of_a_single_column_only(self):
        assert read("a\n1\n\n\n2\n\n3\n\n").columns[0].to_pylist() == ["1", "", "", "2", "", "3"]
        assert read("a,b\n1,2\n\n3,4\n").columns[0].to_pylist() == ["1", "3"]

    @pytest.mark.parametrize(
        ("first", "header"),
        [("a,b", True), ("1,b", True), ("1,2", False), ("1.5,NA", False), ("NA, ", False), ("1_0,2", True)],
    )
    def test_the_first_line_holds_names_if_a_cell_is_no_number(self, first, header):
        found = read(first + "\n3,4\n")
        assert found.layout.header == header
        assert found.names == (first.split(",") if header else ["x0", "x1"])
        assert len(found.columns[0]) == 2 - header
        assert read(first + "\n3,4\n", header=not header).layout.header != header

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "f.csv is empty"),
            ("a,b\n", "a header and no rows"),
            ("a,b\n1,2\n1,2,3\n", "Line 3 of f.csv has 3 cells where the first line has 2"),
            ('a,b\n1,2\n1,"2\n', "Line 3 of f.csv cannot be split"),
            (b"a,b\n1,2\n1,\xff\n", "line 3, cell 2, is not"),
            (b"\xef\xbb\xbfa,b\n\xff,2\n", "must be utf-8 text; line 2, cell 1,"),
            (
                "a,b\n1,2\n3," + "x" * 1_000_001 + "\n",
                "at most 1,000,000 characters; line 3 of f.csv, column 'b'",
            ),
            ("x" * 1_000_001 + ",b\n1,2\n", "line 1 of f.csv, column number 1, has more"),
        ],
    )
    def test_messages_name_the_place(self, text, message):
        with pytest.raises(InvalidInput, match=message):
            read(text)

    def test_lines_above_the_table_count(self):
        long = "x" * 1_000_001
        for text, message in (
            ('title\nmore\na,b\n1,2\n1,"2\n', r"Line 5 of f\.csv cannot be split"),
            ("title\nmore\na,b\n1,2\n1\n", r"Line 5 of f\.csv has 1 cells"),
            (f"title\nmore\na,b\n1,2\n1,{long}\n", r"line 5 of f\.csv, column 'b'"),
        ):
            with pytest.raises(InvalidInput, match=message):
                read(text, skip_rows=2)

    def test_cells_of_a_million_characters_are_read(self):
        assert len(read("a,b\n3," + "x" * 1_000_000 + "\n").columns[1][0].as_py()) == 1_000_000

    def test_encodings(self):
        for encoding, stored in (("utf-8-sig", "utf-8-sig"), ("utf-16", "utf-16")):
            found = read("é,b\n1,2\n".encode(encoding), encoding="UTF_8")
            assert (found.names[0], found.layout.encoding) == ("é", stored)
        found = read("é,b\n1,2\n".encode("latin-1"), encoding="latin-1")
        assert (found.names[0], found.layout.encoding) == ("é", "latin-1")

    def test_many_rows(self):
        text = "a,b\n" + "".join(f"{i},x\n" for i in range(20_001))
        found = read(text)
        assert found.columns[0].to_pylist() == [str(i) for i in range(20_001)]
        again = io.StringIO()
        found.layout.write(again, found.names, [one.combine_chunks() for one in found.columns])
        assert again.getvalue() == text

    def test_delimiters_follow_the_ending(self):
        semicolons = Layout(";")
        assert semicolons.converted(".csv", ".csv") is semicolons
        assert semicolons.converted(".csv", ".tsv").delimiter == "\t"
        assert Layout("\t").converted(".tsv", ".csv").delimiter == ","
        assert Layout("\t").converted(".csv", ".txt").delimiter == "\t"


class TestSheets:
    @pytest.mark.parametrize(
        ("rows", "header"),
        [
            ([["a", "b"], [1, 2]], 0),
            ([["title", None, None], ["a", "b", "c"], [1, 2, 3]], 1),
            ([["title", None], ["a", "b"], [1, 2]], 1),
            ([[None, None, None], ["a", "b", "c"], [1, None, 3]], 1),
            ([["a", "b", None], [1, 2, 3]], 0),  # the last column has no name
            ([["title", None, None, None], ["a", "b", "c", None], [1, 2, 3, 4]], 1),
            ([["a", None, None, "d"], [1, 2, 3, 4]], 0),
            ([["a", None, None, None, "e"], ["b", "c", "d", "e", "f"], [1, 2, 3, 4, 5]], 1),
            ([["a", None], [1, None]], 0),
        ],
    )
    def test_the_row_of_names(self, rows, header):
        assert excel._header(rows, range(len(rows[0]))) == header

    def test_the_table_of_a_sheet(self):
        rows = [["title"], [None, "a", None, "c"], [None, 1, "x"], [None, None, None, 2.5], [None, None], []]
        origin = Origin(Path("f.xlsx"))
        table = excel._table(rows, b"data", "Data", Options(), origin)
        assert (table.names, len(table)) == (["a", "column 3", "c"], 2)
        assert table.column("a").missing.tolist() == [False, True]
        place = origin.workbook
        assert (place.header, place.first, place.sheet, place.texts) == (1, 1, "Data", {"column 3"})
        for empty in ([], [["a"]], [[None], [None]]):
            with pytest.raises(InvalidInput, match="has no rows below its first line"):
                excel._table(empty, None, "Data", Options(), Origin(Path("f.xlsx")))
        below = excel._table([["1", "2"], ["a", "b"], [5, 6]], None, "Data", Options(skip_rows=1), Origin())
        assert (below.names, len(below)) == (["a", "b"], 1)

    def test_sheets_by_name_and_number(self):
        names = ["Data", "2", "Other"]
        for sheet, found in ((None, "Data"), ("Other", "Other"), ("2", "2"), ("1", "Data"), ("3", "Other")):
            assert excel._chosen(names, sheet, Path("f.xlsx")) == found
        for sheet in ("0", "4", "x", "-1"):
            with pytest.raises(InvalidInput, match="its sheets are Data, 2, Other"):
                excel._chosen(names, sheet, Path("f.xlsx"))

    def test_cells_that_mean_a_missing_value(self):
        book = openpyxl.Workbook()
        cells = [book.active.cell(1, 2 + i, value) for i, value in enumerate((" ", "x", 0, None))]
        assert [excel._value(cell) for cell in cells] == [None, "x", 0, None]
        error = book.active.cell(1, 1)
        error.value, error.data_type = "#N/A", "e"
        assert excel._value(error) is None
        values = [" ", "#N/A", "x", 3.0, 3.5, 2.0**53, -(2.0**53) + 1]
        found = [excel._calamine_value(one) for one in values]
        assert found == [None, None, "x", 3, 3.5, 2.0**53, -(2**53) + 1]
        assert [type(one) for one in found[3:]] == [int, float, float, int]

    def test_limits_of_the_format(self):
        def table(rows, columns):
            names = [f"x{i}" for i in range(columns)]

            class Table(SimpleNamespace):
                def __len__(self):
                    return rows

            return Table(names=names, origin=Origin(Path("f.csv")))

        excel.check_excel(table(1_048_575, 16_384), Path("g.xlsx"))
        for shape in ((1_048_576, 1), (1, 16_385)):
            with pytest.raises(InvalidInput, match=r"at most 1,048,575 rows and 16,384 columns"):
                excel.check_excel(table(*shape), Path("g.xlsx"))
        excel.check_text("a", ["x" * 32_767, None, "tab\tline\n"])
        for text, problem in (("x" * 32_768, "32,768 characters"), ("a\x07", "a control character")):
            with pytest.raises(InvalidInput, match=f"column 'a' has {problem}"):
                excel.check_text("a", [text])

    def test_times_with_a_zone_and_formulas_are_written_as_text(self):
        cell = openpyxl.Workbook().active.cell(1, 1)
        zoned = dt.datetime(2024, 1, 2, 3, 4, tzinfo=dt.UTC)
        for value, found, kind in (
            (zoned, "2024-01-02T03:04:00+00:00", "s"),
            ("=1+1", "=1+1", "s"),
            (1.5, 1.5, "n"),
            (dt.date(2024, 1, 2), dt.date(2024, 1, 2), "d"),
            (b"x", "b'x'", "s"),
        ):
            excel._cell(cell, value)
            assert (cell.value, cell.data_type) == (found, kind)


class TestOutputs:
    @pytest.mark.parametrize(
        ("size", "text"),
        [(0, "0.0 kB"), (999, "1.0 kB"), (1_000, "1.0 kB"), (999_999, "1,000.0 kB"), (1_000_000, "1.0 MB")]
        + [(2_500_000_000, "2.5 GB"), (7_000_000_000_000, "7,000.0 GB")],
    )
    def test_sizes_in_words(self, size, text):
        assert checks._bytes(size) == text

    def test_space_for_every_output(self, tmp_path, monkeypatch):
        source = tmp_path / "in.csv"
        source.write_bytes(b"x" * 1000)
        folder = tmp_path / "parts"
        folder.mkdir()
        for i in range(2):
            (folder / f"{i}.parquet").write_bytes(b"x" * 500)
        outputs = [tmp_path / "a.csv", tmp_path / "b.csv"]
        for free, enough in ((2000, True), (1999, False)):
            monkeypatch.setattr(checks.shutil, "disk_usage", lambda _, free=free: SimpleNamespace(free=free))
            for one in (source, folder):
                if enough:
                    checks.check_space(one, outputs)
                else:
                    with pytest.raises(
                        InvalidInput, match=r"2 files .* needs about 2\.0 kB.* has 2\.0 kB free"
                    ):
                        checks.check_space(one, outputs)
                checks.check_space(one, [outputs[0], Path("/dev/null")])  # a device needs none
                checks.check_space(one, [folder])

    def test_outputs_must_be_new_distinct_and_in_a_folder(self, tmp_path):
        there = tmp_path / "a.csv"
        checks.check_replaceable(there, force=False)
        there.write_text("")
        checks.check_replaceable(there, force=True)
        with pytest.raises(InvalidInput, match="use --force"):
            checks.check_replaceable(there, force=False)
        checks.check_writable(there)
        for path, message in ((tmp_path, "is a folder"), (tmp_path / "no" / "a.csv", "There is no folder")):
            with pytest.raises(InvalidInput, match=message):
                checks.check_writable(path)
        checks.check_distinct([there, tmp_path / "b.csv"])
        with pytest.raises(InvalidInput, match="Every file needs its own name"):
            checks.check_distinct([there, tmp_path / "x" / ".." / "a.csv"])

    def test_endings(self):
        for name, ending in (
            *[
                ("a.csv", ".csv"),
                ("a.CSV.gz", ".csv.gz"),
                ("a.b.csv", ".csv"),
                ("a.xlsx.gz", ".gz"),
                ("a", ""),
            ],
            *[("a.tar.zip", ".zip"), ("a.jsonl.zst", ".jsonl.zst"), ("a.2020.parquet", ".parquet")],
        ):
            assert tables.ending_of(Path(name)) == ending


class TestTyping:
    def column(self, cells, kind="", **options):
        return Reader(Place("f.csv"), ("", "NA"), **options).column(
            "x", pa.array(cells, pa.large_string()), kind
        )

    def test_missing_cells(self):
        cells = pa.array([" NA ", "", "nan", "-NaN", "+nan", "x", None, "na"], pa.large_string())
        trimmed, missing = missing_cells(cells, ["NA"])
        assert missing.tolist() == [True, True, True, True, True, False, True, False]
        assert trimmed[0].as_py() == "NA"

    @pytest.mark.parametrize(
        ("cells", "holds", "numbers"),
        [
            (["1", "2"], "integer", [1, 2]),
            (["1.5", "2"], "number", [1.5, 2]),
            (["1,5", "2"], "number", [1.5, 2]),
            (["1 234", "2"], "integer", [1234, 2]),
            (["20240131", "20240201"], "date", None),
            (["20240131", "20241301"], "integer", [20240131, 20241301]),
            (["2024013", "2024020"], "integer", [2024013, 2024020]),
            (["01", "2"], "label", None),
            (["0", "-0.5"], "number", [0, -0.5]),
            (["5 %", "7.5 %"], "number", [5, 7.5]),
            (["true", "FALSE"], "boolean", [1, 0]),
            (["a", "b"], "label", None),
            ([str(2**53), "1"], "integer", [2**53, 1]),
            ([str(2**53 + 2), "1"], "label", None),
            (["$5", "€5"], "label", None),
        ],
    )
    def test_what_cells_hold(self, cells, holds, numbers):
        found = self.column([*cells, "NA"])
        assert found.holds == holds
        assert found.missing.tolist() == [False, False, True]
        if numbers is not None:
            assert found.numbers[:2].tolist() == numbers
            assert np.isnan(found.numbers[2])
        if holds == "label":
            assert [found.labels[code] for code in found.codes[:2]] == cells
            assert found.codes[2] == -1

    def test_notes_say_why(self):
        notes = {
            ("01", "2"): "codes: whole numbers with leading zeros",
            (str(2**53 + 2), "1"): "whole numbers too long to be exact",
            ("$5", "€5"): "amounts in more than one form: '$5', '€5'",
            ("20240131", "20240201"): "whole numbers that are all days",
        }
        for cells, note in notes.items():
            assert note in self.column(list(cells)).note

    def test_one_invalid_cell_in_ten_is_an_error_and_more_are_text(self):
        numbers = [f"{i}.5" for i in range(9)]
        with pytest.raises(InvalidInput, match=r"holds numbers, but row 10 is 'x'\. Use"):
            self.column([*numbers, "x"])
        with pytest.raises(InvalidInput, match="row 3 is 'x', and 1 more cells are not numbers"):
            self.column(["1", "2", "x", *numbers, *numbers, "y"])
        assert self.column([*numbers[:8], "x"]).holds == "label"
        with pytest.raises(InvalidInput, match="row 10 is '7 %'"):
            self.column([*(f"${one}" for one in numbers), "7 %"])
        long = "x" * 41
        with pytest.raises(InvalidInput, match=r"is 'xxxxxxxxxxxxxxxxxxxx'… \(41 characters\)"):
            self.column([*numbers, long])
        with pytest.raises(InvalidInput, match=f"is '{long[:40]}'"):
            self.column([*numbers, long[:40]])

    @pytest.mark.parametrize("cells", [["1", "NA", "1e999"], ["1,5", "NA", "1e999"], ["$1", "NA", "$1e999"]])
    def test_infinite_numbers_are_refused_with_their_row(self, cells):
        with pytest.raises(InvalidInput, match=r"Numbers must be finite; row 3 of f\.csv, column 'x'"):
            self.column(cells)

    def test_numbers_and_dates_in_two_ways(self):
        with pytest.raises(
            InvalidOption, match=r"'1,234' is 1234 if ',' .* or 1\.234 if .*--decimal \. for the first"
        ):
            self.column(["1,234", "5,678"])
        for decimal, value in ((".", 1234), (",", 1.234)):
            assert self.column(["1,234", "5,678"], decimal=decimal).numbers[0] == value
        for decimal, value in ((".", 1.234), (",", 1234)):
            assert self.column(["1.234", "5.678"], decimal=decimal).numbers[0] == value
        with pytest.raises(InvalidOption, match=r"has '1\.5' and '2,5'"):
            self.column(["7", "1.5", "2,5"])
        with pytest.raises(InvalidOption, match="'01/02/2024' is 2024-02-01 or 2024-01-02"):
            self.column(["01/02/2024", "03/04/2024"])
        assert self.column(["01/02/2024", "13/04/2024"]).holds == "date"

    def test_given_kinds(self):
        assert self.column(["01", "2"], "number").numbers.tolist() == [1, 2]
        assert self.column(["1", "2"], "text").holds == "label"
        assert self.column(["2024-01-02", "2024-02-03"], "date").holds == "date"
        assert self.column(["20240131", "20240201"], "integer").holds == "integer"
        found = self.column(["2/1/2024", "NA"], "date:%d/%m/%Y")
        assert dt.datetime.fromtimestamp(found.numbers[0] / 1e6, dt.UTC).month == 1
        with pytest.raises(InvalidInput, match="format '%d/%m/%Y'; row 3 is '13/13/2024'"):
            self.column(["1/1/2024", "NA", "13/13/2024"], "date:%d/%m/%Y")
        with pytest.raises(InvalidInput, match="each once"):
            self.column(["1"], "date:%Q")


def test_values_of_one_kind_keep_it_and_others_are_text():
    day, time = dt.date(2024, 1, 2), dt.datetime(2024, 1, 2, 3)
    columns = {
        "integer": [1, None, 2],
        "number": [1, 2.5, None],
        "boolean": [True, None, False],
        "date and time": [day, time, None],
        "date": [day, None, day],
        "label": ["x", "y", None],
        "mixed": [1, "x", None],
        "large": [2**70, None, 1],
    }
    table = of_values(list(columns), list(columns.values()), Options(), Origin())
    for name in ("integer", "number", "boolean", "date", "date and time"):
        assert table.column(name).holds == name
        assert not table.is_text(name)
    for name in ("label", "mixed", "large"):
        assert table.is_text(name)
    for name, values in columns.items():
        assert table.column(name).missing.tolist() == [one is None for one in values]


def test_names_without_spaces_unless_two_would_be_the_same():
    assert stripped([" a", "b "]) == ["a", "b"]
    assert stripped([" a", "a"]) == [" a", "a"]


def test_tables_of_databases():
    assert split_table(Path("d/data.db::people")) == (Path("d/data.db"), "people")
    for path in (Path("data.db"), Path("data.csv::x")):
        assert split_table(path) == (path, "")
    path = Path("f.db")
    assert chosen_table(path, "", [("a",)]) == '"a"'
    assert chosen_table(path, 'b"c', [("a",), ('b"c',)]) == '"b""c"'
    for table, rows, message in (
        ("", [("b",), ("a",)], r"the tables a, b; name one, as in f\.db::a"),
        ("x", [("a",)], "the tables a, and no table x; name"),
        ("", [], r"no tables; name one, as in f\.db::people"),
    ):
        with pytest.raises(InvalidInput, match=message):
            chosen_table(path, table, rows)


@pytest.mark.parametrize(
    "ending", [".csv", ".tsv", ".parquet", ".feather", ".json", ".jsonl", ".xlsx", ".csv.gz", ".csv.zst"]
)
def test_fills_and_additional_columns_have_the_form_of_their_column(tmp_path, ending):
    source, output = tmp_path / "in.csv", tmp_path / f"out{ending}"
    source.write_text("x;day\n1,25;01.02.2024\n;13.02.2024\n3,5;\n")
    table = tables.read(source)
    day = (dt.datetime(2024, 2, 20) - dt.datetime(1970, 1, 1)) / dt.timedelta(microseconds=1)
    fills = {"x": (np.array([1]), np.array([2.5])), "day": (np.array([2]), np.array([day]))}
    extra = {
        "x_low": ("x", np.array([1]), np.array([1.5])),
        "day_low": ("day", np.array([2]), np.array([day])),
    }
    tables.write(table, fills, output, extra)
    again = tables.read(output)
    assert again.names == ["x", "day", "x_low", "day_low"]
    assert again.column("x").plain().tolist() == [1.25, 2.5, 3.5]
    assert again.column("x_low").plain()[1] == 1.5
    assert again.column("x_low").missing.tolist() == [True, False, True]
    assert again.column("day").missing.tolist() == [False] * 3
    assert again.column("day_low").missing.tolist() == [True, True, False]
    if ending == ".csv":
        cells = "x;day;x_low;day_low\n1,25;01.02.2024;;\n2,5;13.02.2024;1,5;\n3,5;20.02.2024;;20.02.2024\n"
        assert output.read_text() == cells
    elif ending == ".json":
        assert output.read_text().startswith('[\n {\n  "x": 1.25,\n')
        assert output.read_text().endswith("]\n")
    elif ending in (".parquet", ".feather"):
        assert not any(again.is_text(name) for name in again.names)
        assert again.column("day_low").holds == "date"
    source.write_text("x\n1\n")
    with pytest.raises(InvalidInput, match="was changed while it was being filled"):
        tables.write(table, fills, output, extra)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("out.ods", r"\.ods files are read only"),
        ("out.db", r"\.db files are read only"),
        ("out.csv.zip", r"must end in one of .* packed as \.gz or \.zst"),
        ("out.doc", "must end in one of"),
        ("no/out.csv", "There is no folder"),
    ],
)
def test_outputs_that_cannot_be_written(tmp_path, name, message):
    with pytest.raises(InvalidInput, match=message):
        tables.check_output(tmp_path / name)
    tables.check_output(tmp_path / "out.csv.gz")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("http://x/y.csv", {}, "Files are not downloaded"),
        ("no.csv", {}, "There is no file"),
        ("no.doc", {}, r"must end in one of .* packed as \.gz, \.zst or \.zip"),
        (".", {}, "is a folder"),
        ("a.csv", {"sheet": "1"}, "--sheet is for spreadsheets"),
        ("a.json", {"skip_rows": 1}, "--skip-rows is for text files and spreadsheets"),
        ("broken.csv.gz", {}, "cannot be unpacked"),
    ],
)
def test_inputs_that_cannot_be_read(tmp_path, monkeypatch, name, options, message):
    monkeypatch.chdir(tmp_path)
    for one in ("a.csv", "a.json", "broken.csv.gz"):
        Path(one).write_text("a\n1\n")
    with pytest.raises(InvalidInput, match=message):
        tables.read(Path(name), **options)


def test_whole_numbers_that_other_formats_would_round_are_refused(tmp_path):
    source = tmp_path / "in.csv"
    for number, fits in ((2**53, True), (-(2**53) - 1, False), (2**64, False)):
        source.write_text(f"n\n{number}\n1\n")
        table = tables.read(source, types={"n": "integer"})
        tables.check_fits(table, Path("out.parquet"))
        for output in (Path("out.xlsx"), Path("out.npy")):
            if fits:
                tables.check_fits(table, output)
            else:
                with pytest.raises(InvalidInput, match="whole numbers above 2"):
                    tables.check_fits(table, output)
    source.write_text("n,t\n1,a\n2,b\n")
    with pytest.raises(InvalidInput, match="can hold numbers only; column 't'"):
        tables.check_fits(tables.read(source), Path("out.npy"))


def test_arrays_have_no_names(tmp_path):
    np.save(tmp_path / "in.npy", np.array([[1.5, np.nan], [2.5, 4.0]]))
    table = tables.read(tmp_path / "in.npy")
    assert table.names == ["x0", "x1"]
    fills = {"x1": (np.array([0]), np.array([3.0]))}
    tables.write(table, fills, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == "1.5,3.0\n2.5,4.0\n"
    tables.write(table, fills, tmp_path / "out.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), [[1.5, 3.0], [2.5, 4.0]])
    for wrong in (
        np.zeros(3),
        np.zeros((2, 2), np.longdouble),
        np.zeros((2, 2), complex),
        np.zeros((1, 1, 1)),
    ):
        np.save(tmp_path / "wrong.npy", wrong)
        with pytest.raises(InvalidInput, match="must hold numbers in two dimensions"):
            tables.read(tmp_path / "wrong.npy")


def test_fills_of_a_workbook_are_texts_or_numbers_like_their_column(tmp_path):
    book = openpyxl.Workbook()
    for row in (["text", "number", "mixed"], ["1,5", 1.5, 1], ["2,5", None, "x"], [None, 2.5, None]):
        book.active.append(row)
    book.active["B2"].number_format = "0.00"
    book.save(tmp_path / "in.xlsx")
    table = tables.read(tmp_path / "in.xlsx")
    fills = {"text": (np.array([2]), np.array([2.0])), "number": (np.array([1]), np.array([2.0]))}
    tables.write(
        table, fills, tmp_path / "out.xlsx", {"number_low": ("number", np.array([1]), np.array([1.0]))}
    )
    sheet = openpyxl.load_workbook(tmp_path / "out.xlsx").active
    assert [[cell.value for cell in row] for row in sheet.iter_rows()] == [
        ["text", "number", "mixed", "number_low"],
        ["1,5", 1.5, 1, None],
        ["2,5", 2, "x", 1],
        ["2,0", 2.5, None, None],
    ]
    assert sheet["B3"].number_format == "0.00"


def test_archives_of_one_file_with_folders_and_hidden_copies(tmp_path):
    path = tmp_path / "in.csv.zip"
    for names, message in (
        (["data/", "data/in.csv", "__MACOSX/._in.csv"], None),
        (["in.csv", "other.csv"], "must hold one file; it holds in.csv, other.csv"),
        (["data/"], "must hold one file; it holds none"),
    ):
        with zipfile.ZipFile(path, "w") as archive:
            for name in names:
                archive.writestr(name, "" if name.endswith("/") else "a,b\n1,2\n")
        if message is None:
            assert tables.read(path).names == ["a", "b"]
        else:
            with pytest.raises(InvalidInput, match=message):
                tables.read(path)


def test_an_input_that_changes_while_the_output_is_written_is_noticed(tmp_path, monkeypatch):
    source, output = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("a\n1\n\n3\n")
    table = tables.read(source)
    write_text = tables._write_text
    monkeypatch.setattr(
        tables, "_write_text", lambda *given: (write_text(*given), source.write_text("a\n1\n\n3\n4\n"))
    )
    with pytest.raises(InvalidInput, match="was changed while it was being filled"):
        tables.write(table, {"a": (np.array([1]), np.array([2.0]))}, output)
    assert not output.exists()


def test_points_beside_decimal_commas_must_be_settled(tmp_path):
    source = tmp_path / "in.csv"
    source.write_text("a;b\n1,5;1.234\n2,5;5.678\n")
    with pytest.raises(InvalidOption, match=r"'1\.234' is 1234 if .* or 1\.234 if"):
        tables.read(source)
    assert tables.read(source, decimal=",").column("b").numbers.tolist() == [1234, 5678]
    assert tables.read(source, types={"b": "number"}).column("b").numbers.tolist() == [1.234, 5.678]
    source.write_text("a;b\n1.5;1.234\n2.5;5.678\n")
    assert tables.read(source).column("b").numbers.tolist() == [1.234, 5.678]


def test_fills_of_json_records_are_numbers_or_texts_like_the_others(tmp_path):
    source, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    records = [
        {"n": 1.5, "t": "1,5", "m": 1, "l": "x"},
        {"n": None},
        {"n": 2, "t": "2,5", "m": "2", "l": "y"},
    ]
    source.write_text("".join(json.dumps(one) + "\n" for one in records))
    fills = {name: (np.array([1]), np.array([2.5])) for name in ("n", "t", "m")}
    tables.write(tables.read(source), fills | {"l": (np.array([1]), np.array(["y"], object))}, output)
    found = [json.loads(line) for line in output.read_text().splitlines()]
    assert found[::2] == records[::2]
    assert (found[1]["n"], found[1]["t"], found[1]["m"], found[1]["l"]) == (2.5, "2,5", 2.5, "y")
