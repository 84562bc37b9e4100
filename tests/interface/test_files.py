"""Tables in files as people have them: formats, layouts, numbers and dates."""

import csv
import datetime
import decimal
import gzip
import io
import json
import os
import sqlite3
import sys
import threading
import zipfile

import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from command import manifill

from manifill import TableImputer
from manifill._files import tables as files

ROWS = 40
TABLE = "a,b\n" + "".join(f"{i / 4},{'' if i % 7 == 0 else 2 * i}\n" for i in range(ROWS))


def impute(folder, source, output, *arguments, code=0):
    """Fill a table quickly; the result of the command."""
    fast = [] if "--model" in arguments else ["--max-sweeps", 1]
    result = manifill("impute", source, "-o", output, *fast, *arguments, folder=folder)
    assert result.returncode == code, result.stderr
    assert "Traceback" not in result.stderr
    assert code == 0 or not (folder / output).exists()
    return result


def table_of(cells, delimiter=";"):
    """A text with a column `v` of these cells, of which some are missing, and one of numbers."""
    rows = [f"{'' if i % 6 == 1 else cell}{delimiter}{i}.5" for i, cell in enumerate(cells)]
    return "\n".join([f"v{delimiter}x", *rows]) + "\n"


def filled(folder, cells, *arguments, delimiter=";"):
    """Cells of the column `v`, before and after it was filled."""
    (folder / "in.csv").write_text(table_of(cells, delimiter))
    (folder / "out.csv").unlink(missing_ok=True)
    impute(folder, "in.csv", "out.csv", *arguments)
    before, after = (
        [row[0] for row in csv.reader((folder / name).open(newline=""), delimiter=delimiter)][1:]
        for name in ("in.csv", "out.csv")
    )
    for was, now in zip(before, after, strict=True):
        assert now == was or not was
    return [now for was, now in zip(before, after, strict=True) if not was]


def reason(folder, cells, *arguments):
    """Type of the column `v`, and why."""
    (folder / "in.csv").write_text(table_of(cells))
    result = manifill("inspect", "in.csv", "--json", *arguments, folder=folder)
    assert result.returncode == 0, result.stderr
    column = json.loads(result.stdout)["columns"][0]
    return column["type"], column["because"]


DAY = datetime.date(2021, 3, 4)
DAYS = [DAY + datetime.timedelta(days=9 * i) for i in range(ROWS)]


class TestNumbers:
    @pytest.mark.parametrize(
        ("cells", "form"),
        [
            ([f"{1000 + 37 * i:,}.5" for i in range(ROWS)], r"\d,\d{3}\.\d+"),
            ([f"{1000 + 37 * i:,}".replace(",", ".") + ",25" for i in range(ROWS)], r"\d\.\d{3},\d+"),
            ([f"{10**6 + 37 * i:,}".replace(",", " ") for i in range(ROWS)], r"\d \d{3} \d{3}"),
            ([f"{1000 + 37 * i:,}".replace(",", "\u202f") for i in range(ROWS)], "\\d\u202f\\d{3}"),
            ([f"{1000 + 37 * i:,}".replace(",", "'") for i in range(ROWS)], r"\d'\d{3}"),
            ([f"{i / 10 + 3:.1f}%" for i in range(ROWS)], r"\d\.\d%"),
            ([f"{i + 3} %" for i in range(ROWS)], r"\d+ %"),
            ([f"${i + 3}" for i in range(ROWS)], r"\$\d+"),
            ([f"€ {i + 3},50" for i in range(ROWS)], r"€ \d+,\d\d"),
            ([f"{i + 3} EUR" for i in range(ROWS)], r"\d+ EUR"),
            ([f"{'-' if i % 2 else ''}$1,{i + 100}.25" for i in range(ROWS)], r"-?\$(1,)?\d+\.\d\d"),
        ],
    )
    def test_fills_have_the_format_of_their_column(self, tmp_path, cells, form):
        found = pd.Series(filled(tmp_path, cells))
        assert len(found) == 7
        assert found.str.fullmatch(form).all(), found.tolist()

    def test_thousands_are_read_as_such(self, tmp_path):
        cells = [f"{1000 + 100 * i:,}.0" for i in range(ROWS)]
        for i, text in zip(range(1, ROWS, 6), filled(tmp_path, cells), strict=True):
            assert abs(float(text.replace(",", "")) - (1000 + 100 * i)) < 600

    def test_percent_and_currency_stay_text_in_typed_files(self, tmp_path):
        (tmp_path / "in.csv").write_text(table_of([f"{i + 3}%" for i in range(ROWS)]))
        impute(tmp_path, "in.csv", "out.parquet", "--intervals", 0.9)
        frame = pd.read_parquet(tmp_path / "out.parquet")
        assert frame["v"].str.fullmatch(r"\d+%").all()
        assert frame["v_low"].dropna().str.fullmatch(r"\d+%").all()

    @pytest.mark.parametrize("delimiter", [";", "\t", "|"])
    def test_numbers_that_can_be_read_in_two_ways_are_refused(self, tmp_path, delimiter):
        cells = [f"{i % 9 + 1},{189 + i}" if i % 3 else f"{600 + i}" for i in range(ROWS)]
        (tmp_path / "in.csv").write_text(table_of(cells, delimiter))
        result = impute(tmp_path, "in.csv", "out.csv", code=2)
        for text in ("'v'", "'3,191' is 3191", "or 3.191", "--decimal .", "--decimal ,", '--types "v=text"'):
            assert text in result.stderr
        assert result.stderr.count("\n") == 1
        assert min(float(one.replace(",", "")) for one in filled(tmp_path, cells, "--decimal", ".")) > 500
        assert max(float(one.replace(",", ".")) for one in filled(tmp_path, cells, "--decimal", ",")) < 700

    def test_a_complete_column_that_is_ambiguous_is_refused_too(self, tmp_path):
        rows = "".join(f"{i % 9 + 1},{189 + i};{'' if i % 5 == 0 else i}\n" for i in range(ROWS))
        (tmp_path / "in.csv").write_text("v;x\n" + rows)
        impute(tmp_path, "in.csv", "out.csv", code=2)
        impute(tmp_path, "in.csv", "out.csv", "--skip", "v")

    def test_points_are_ambiguous_beside_decimal_commas(self, tmp_path):
        rows = "".join(f"{i % 9 + 1}.{189 + i};{'' if i % 5 == 0 else f'{i},5'}\n" for i in range(ROWS))
        (tmp_path / "in.csv").write_text("v;x\n" + rows)
        assert "'1.189' is 1189" in impute(tmp_path, "in.csv", "out.csv", code=2).stderr
        impute(tmp_path, "in.csv", "out.csv", "--decimal", ",")
        (tmp_path / "in.csv").write_text("v;x\n" + "".join(f"{i}.;{i % 5 or ''},5\n" for i in range(ROWS)))
        impute(tmp_path, "in.csv", "same.csv")

    def test_decimal_point_and_comma_in_one_column_are_refused(self, tmp_path):
        (tmp_path / "in.csv").write_text(table_of([f"{i},5" if i % 2 else f"{i}.25" for i in range(ROWS)]))
        assert "one decimal separator; column 'v'" in impute(tmp_path, "in.csv", "out.csv", code=2).stderr

    @pytest.mark.parametrize("cell", ["1e400", "1,5e400"])
    def test_numbers_too_large_are_refused(self, tmp_path, cell):
        (tmp_path / "in.csv").write_text(table_of([cell, *(f"{i},5" for i in range(ROWS))]))
        assert "line 2 of in.csv, column 'v'" in impute(tmp_path, "in.csv", "out.csv", code=1).stderr

    def test_the_largest_range_of_numbers_is_read(self, tmp_path):
        filled(tmp_path, [["-1.5e308", "1.5e308", "2.5"][i % 3] for i in range(ROWS)])

    def test_integers_of_more_than_64_bits_are_kept_exactly(self, tmp_path):
        cells = [f"{10**20 + i:,}".replace(",", " ") for i in range(ROWS)]
        (tmp_path / "in.csv").write_text(table_of(cells))
        impute(tmp_path, "in.csv", "grouped.parquet")
        (tmp_path / "in.csv").write_text(table_of([cell.replace(" ", "") for cell in cells]))
        impute(tmp_path, "in.csv", "asked.parquet", "--types", "v=integer")
        for name in ("grouped", "asked"):
            after = pd.read_parquet(tmp_path / f"{name}.parquet")["v"].str.replace(" ", "").map(int)
            assert all(after[i] == 10**20 + i for i in range(ROWS) if i % 6 != 1)
            assert after.between(10**20 - 10**6, 10**20 + 10**6).all()
        refused = impute(tmp_path, "in.csv", "out.npy", "--types", "v=integer", code=2)
        assert "2^53" in refused.stderr

    def test_several_ambiguous_columns_are_named_at_once(self, tmp_path):
        rows = "".join(f"{i % 9 + 1},{189 + i};{i % 9 + 1},{589 + i};{i % 7 or ''}\n" for i in range(ROWS))
        (tmp_path / "in.csv").write_text("v;w;x\n" + rows)
        assert "The same holds for 'w'" in impute(tmp_path, "in.csv", "out.csv", code=2).stderr

    def test_some_leading_zeros_make_a_column_of_codes(self, tmp_path):
        cells = ["90210", "10001", "02134", "60601"] * 10
        assert set(filled(tmp_path, cells)) <= set(cells)
        assert reason(tmp_path, cells) == (
            "category",
            "codes: whole numbers with leading zeros; 4 different values in 33 rows",
        )
        unique = [f"{i * 2500:05}" for i in range(ROWS)]
        assert filled(tmp_path, unique) == [""] * 7
        assert reason(tmp_path, unique)[0] == "identifier"
        assert reason(tmp_path, unique, "--types", "v=integer")[0] == "integer"

    def test_cells_that_are_no_numbers_are_explained_with_both_types(self, tmp_path):
        (tmp_path / "in.csv").write_text(table_of([*map(str, range(ROWS - 1)), "12A"]))
        result = impute(tmp_path, "in.csv", "out.csv", code=1)
        assert "line 41 is '12A'" in result.stderr
        assert '--types "v=category"' in result.stderr
        assert '--types "v=text"' in result.stderr


class TestDates:
    def test_ambiguous_numbers_and_dates_are_named_together(self, tmp_path):
        (tmp_path / "in.csv").write_text("day;price\n1/2/2020;4,189\n3/4/2020;\n5/6/2020;1,111\n;2,222\n")
        text = impute(tmp_path, "in.csv", "out.csv", code=2).stderr
        assert "--decimal ," in text
        assert '--types "day=date:%d/%m/%Y"' in text

    @pytest.mark.parametrize(
        ("form", "pattern"),
        [
            ("%Y%m%d", r"20\d{6}"),
            ("%d/%m/%Y", r"\d\d/\d\d/20\d\d"),
            ("%m/%d/%Y", r"\d\d/\d\d/20\d\d"),
            ("%d.%m.%Y", r"\d\d\.\d\d\.20\d\d"),
            ("%d %b %Y", r"\d\d [A-Z][a-z]{2} 20\d\d"),
            ("%d %B %Y", r"\d\d [A-Z][a-z]+ 20\d\d"),
            ("%b %d, %Y", r"[A-Z][a-z]{2} \d\d, 20\d\d"),
            ("%d-%b-%Y", r"\d\d-[A-Z][a-z]{2}-20\d\d"),
            ("%Y-%m-%dT%H:%M:%SZ", r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ"),
            ("%Y-%m-%d %H:%M:%S+01:00", r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d\+01:00"),
            ("%Y-%m-%d %H:%M:%S.250", r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}"),
            ("%m/%d/%Y %I:%M %p", r"\d\d/\d\d/20\d\d \d\d:\d\d [AP]M"),
        ],
    )
    def test_fills_have_the_format_of_their_column(self, tmp_path, form, pattern):
        cells = [
            datetime.datetime.combine(day, datetime.time(day.day % 24, 30)).strftime(form) for day in DAYS
        ]
        found = filled(tmp_path, cells)
        assert pd.Series(found).str.fullmatch(pattern).all(), found
        for text in found:
            datetime.datetime.strptime(text, form.replace(".250", ".%f"))  # it exists
        assert reason(tmp_path, cells)[0] in ("date", "date and time")

    def test_days_without_leading_zeros_stay_so(self, tmp_path):
        cells = [f"{day.day} {day:%b} {day.year}" for day in [DAYS[0]] * 20 + DAYS[:20]]
        found = filled(tmp_path, cells)
        assert all(found)
        assert not any(text.startswith("0") for text in found)

    def test_whole_numbers_that_are_days_say_so(self, tmp_path):
        kind, because = reason(tmp_path, [f"{day:%Y%m%d}" for day in DAYS])
        assert kind == "date"
        assert "yyyymmdd" in because
        assert reason(tmp_path, [f"{day:%Y%m%d}" for day in DAYS], "--types", "v=integer")[0] == "integer"

    def test_day_and_month_that_can_be_exchanged_are_refused(self, tmp_path):
        cells = [f"{i % 12 + 1}/{i % 11 + 1}/2020" for i in range(ROWS)]
        (tmp_path / "in.csv").write_text(table_of(cells))
        result = impute(tmp_path, "in.csv", "out.csv", code=2)
        for text in ("'v'", "'12/1/2020' is 2020-01-12 or 2020-12-01", "v=date:%d/%m/%Y", "v=date:%m/%d/%Y"):
            assert text in result.stderr
        filled(tmp_path, cells, "--types", "v=date:%d/%m/%Y")
        kinds = [reason(tmp_path, cells, "--types", f"v=date:{one}")[0] for one in ("%d/%m/%Y", "%m/%d/%Y")]
        assert kinds == ["date", "date"]

    def test_a_format_that_does_not_fit_is_refused(self, tmp_path):
        (tmp_path / "in.csv").write_text(table_of([f"{day:%d/%m/%Y}" for day in DAYS]))
        result = impute(tmp_path, "in.csv", "out.csv", "--types", "v=date:%m/%d/%Y", code=1)
        assert "must be dates in the format '%m/%d/%Y'; line 4 is '22/03/2021'" in result.stderr
        assert "got '%Q'" in impute(tmp_path, "in.csv", "out.csv", "--types", "v=date:%Q", code=1).stderr

    @pytest.mark.parametrize(
        ("cells", "because"),
        [
            (
                [f"{day:%d %b %Y}" if i % 2 else f"{day}" for i, day in enumerate(DAYS)],
                "dates in more than one format: '2021-03-04', '31 Mar 2021'",
            ),
            ([f"{day} 10:00 CET" for day in DAYS], "times with the name of a zone, 'CET'"),
            (
                ["2021-03-04", *[f"{DAY + datetime.timedelta(days=i)}" for i in range(400)], "2021-02-30"],
                "dates, but '2021-02-30' is none",
            ),
            ([f"{i}%" if i % 2 else f"${i}" for i in range(ROWS)], "amounts in more than one form: "),
        ],
    )
    def test_why_a_column_is_not_read_is_said(self, tmp_path, cells, because):
        kind, found = reason(tmp_path, cells)
        assert kind in ("text", "identifier")
        assert because in found

    def test_a_model_takes_the_format_of_dates(self, tmp_path):
        (tmp_path / "in.csv").write_text(table_of([f"{day}" for day in DAYS]))
        impute(tmp_path, "in.csv", "out.csv", "--save", "m.model")
        (tmp_path / "new.csv").write_text("v;x\n1/2/2021;\n;3.5\n")
        impute(tmp_path, "new.csv", "new-out.csv", "--model", "m.model", code=2)
        impute(tmp_path, "new.csv", "new-out.csv", "--model", "m.model", "--types", "v=date:%m/%d/%Y")
        assert "/2021;3.5" in (tmp_path / "new-out.csv").read_text()


class TestLayoutOfText:
    def test_a_file_of_one_blank_line_is_refused(self, tmp_path):
        for text in ("\t", " ", "\n\n", "\r\n \t"):
            (tmp_path / "in.csv").write_text(text, newline="")
            assert (
                manifill("impute", "in.csv", "-o", "out.csv", "--no-header", folder=tmp_path).returncode == 1
            )
        assert not (tmp_path / "out.csv").exists()

    @pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-8-sig", "utf-8"])
    @pytest.mark.parametrize(("newline", "delimiter"), [("\n", "\t"), ("\r\n", ";"), ("\r\n", ",")])
    def test_it_is_kept(self, tmp_path, encoding, newline, delimiter):
        text = TABLE.replace("a,b", " é , b").replace(",", delimiter).replace("\n", newline)
        (tmp_path / "in.csv").write_bytes(text.encode(encoding))
        given = ["--encoding", encoding] if encoding == "latin-1" else []
        impute(tmp_path, "in.csv", "out.csv", *given, "--columns", "b")
        after = (tmp_path / "out.csv").read_bytes()
        assert after.startswith(text.encode(encoding)[:8])
        assert after.decode(encoding).count(newline) == after.decode(encoding).count("\n") == ROWS + 1
        assert f"{delimiter}{newline}" not in after.decode(encoding)

    def test_quotation_marks_around_all_cells_are_kept(self, tmp_path):
        rows = [line.split(",") for line in TABLE.splitlines()]
        text = "".join(",".join(f'"{cell}"' for cell in row) + "\n" for row in rows)
        (tmp_path / "in.csv").write_text(text)
        impute(tmp_path, "in.csv", "out.csv")
        lines = (tmp_path / "out.csv").read_text().splitlines()
        assert lines[2] == text.splitlines()[2]
        assert all(line.count('"') == 4 for line in lines)

    def test_a_file_without_header_gets_none_with_intervals(self, tmp_path):
        (tmp_path / "in.csv").write_text(TABLE.partition("\n")[2])
        impute(tmp_path, "in.csv", "out.csv", "--intervals", 0.9)
        rows = list(csv.reader((tmp_path / "out.csv").open()))
        assert len(rows) == ROWS
        assert {len(row) for row in rows} == {4}
        assert rows[0][0] == "0.0"
        assert all(row[2:] == ["", ""] for i, row in enumerate(rows) if i % 7)

    def test_lines_above_the_table_are_kept(self, tmp_path):
        (tmp_path / "in.csv").write_text("made by,a tool\n2026\n" + TABLE)
        impute(tmp_path, "in.csv", "out.csv", "--skip-rows", 2)
        lines = (tmp_path / "out.csv").read_text().splitlines()
        assert lines[:3] == ["made by,a tool", "2026", "a,b"]
        (tmp_path / "bad.csv").write_text("made by,a tool\n2026\n" + TABLE + "1,2,3\n")
        result = impute(tmp_path, "bad.csv", "no.csv", "--skip-rows", 2, code=1)
        assert f"Line {ROWS + 4} of bad.csv has 3 cells" in result.stderr

    def test_tabs_come_out_of_a_pipe_as_they_went_in(self, tmp_path):
        result = manifill("impute", "-", "-o", "-", folder=tmp_path, input=TABLE.replace(",", "\t"))
        assert result.returncode == 0, result.stderr
        assert result.stdout.startswith("a\tb\n0.0\t")

    def test_a_tsv_file_becomes_a_csv_file_with_commas(self, tmp_path):
        (tmp_path / "in.tsv").write_text(TABLE.replace(",", "\t"))
        impute(tmp_path, "in.tsv", "out.csv")
        impute(tmp_path, "out.csv", "two.tsv")
        assert (tmp_path / "out.csv").read_text().startswith("a,b\n")
        assert (tmp_path / "two.tsv").read_text().startswith("a\tb\n")

    def test_spaces_around_names_stay_and_need_not_be_typed(self, tmp_path):
        (tmp_path / "in.csv").write_text(TABLE.replace("a,b", " a , b"))
        impute(tmp_path, "in.csv", "out.csv", "--types", "b=number", "--bounds", "b=0:")
        impute(tmp_path, "in.csv", "out.parquet")
        assert (tmp_path / "out.csv").read_text().startswith(" a , b\n")
        assert pa.parquet.read_table(tmp_path / "out.parquet").column_names == [" a ", " b"]

    def test_closed_standard_output_is_refused(self, tmp_path, monkeypatch):
        (tmp_path / "in.csv").write_text(TABLE)
        table = files.read(tmp_path / "in.csv")
        monkeypatch.setattr(sys, "stdout", None)
        with pytest.raises(files.InvalidInput, match="Standard output is closed"):
            files.write(table, {}, files.PIPE)


def known_cells_unchanged(frame):
    """True if the table is TABLE with its missing cells filled."""
    before = pd.read_csv(io.StringIO(TABLE))
    known = before.notna()
    after = frame[["a", "b"]].astype(float)
    return bool(after.notna().all().all() and (after.where(known) - before).abs().max().max() == 0)


class TestInputs:
    @pytest.fixture
    @staticmethod
    def folder(tmp_path):
        (tmp_path / "in.csv").write_text(TABLE)
        return tmp_path

    @pytest.mark.parametrize("ending", [".csv.gz", ".csv.zst", ".txt", ".json", ".jsonl", ".ndjson.gz"])
    def test_written_and_read_again(self, folder, ending):
        impute(folder, "in.csv", f"one{ending}")
        impute(folder, f"one{ending}", "two.csv")
        assert known_cells_unchanged(pd.read_csv(folder / "two.csv"))
        impute(folder, "in.csv", f"draw{ending}", "--draws", 1)
        assert (folder / f"draw-draw1{ending}").exists()

    def test_packed_text(self, folder):
        (folder / "a.csv.gz").write_bytes(gzip.compress(TABLE.encode()))
        impute(folder, "a.csv.gz", "out.csv.gz")
        assert known_cells_unchanged(pd.read_csv(folder / "out.csv.gz"))
        with zipfile.ZipFile(folder / "b.csv.zip", "w") as file:
            file.writestr("in.csv", TABLE)
        impute(folder, "b.csv.zip", "b.csv")
        with zipfile.ZipFile(folder / "b.csv.zip", "a") as file:
            file.writestr("more.csv", TABLE)
        assert "it holds in.csv, more.csv" in impute(folder, "b.csv.zip", "c.csv", code=1).stderr
        for name in ("d.csv.gz", "d.csv.zst", "d.csv.zip"):
            (folder / name).write_bytes(b"nothing of the kind")
            assert f"{name} cannot be unpacked" in impute(folder, name, "d.csv", code=1).stderr

    def test_json_records_keep_what_is_not_filled(self, folder):
        records = [
            {"name": f"n{i % 3}", "more": {"deep": [i]}, "x": i, "when": f"2020-01-{i % 28 + 1:02}"}
            for i in range(ROWS)
        ]
        for i in range(0, ROWS, 5):
            records[i]["x"] = None
            del records[i]["when"]
        (folder / "in.json").write_text(json.dumps(records))
        impute(folder, "in.json", "out.json")
        for before, after in zip(records, json.loads((folder / "out.json").read_text()), strict=True):
            assert after["more"] == before["more"]
            assert isinstance(after["x"], int | float)
            assert after["when"].startswith("2020-01-")
            assert all(after[name] == value for name, value in before.items() if value is not None)
        (folder / "columns.json").write_text(json.dumps({"a": [1, None, 3, 4], "b": [2.5, 4, 6, None]}))
        impute(folder, "columns.json", "columns.csv")
        for text in ("{", "[1, 2]", '{"a": [1], "b": []}', "[]"):
            (folder / "bad.json").write_text(text)
            assert "bad.json" in impute(folder, "bad.json", "no.csv", code=1).stderr

    def test_databases(self, folder):
        frame = pd.read_csv(folder / "in.csv")
        with sqlite3.connect(folder / "one.db") as base:
            frame.assign(day=[f"{day}" for day in DAYS]).to_sql("people", base, index=False)
        impute(folder, "one.db", "out.csv")
        assert known_cells_unchanged(pd.read_csv(folder / "out.csv"))
        with sqlite3.connect(folder / "one.db") as base:
            frame.to_sql("more", base, index=False)
        assert "holds the tables more, people" in impute(folder, "one.db", "no.csv", code=1).stderr
        assert "no table x" in impute(folder, "one.db::x", "no.csv", code=1).stderr
        impute(folder, "one.db::people", "two.csv")
        assert (folder / "two.csv").read_text() == (folder / "out.csv").read_text()
        import duckdb

        with duckdb.connect(str(folder / "in.duckdb")) as base:
            base.execute(f"CREATE TABLE t AS SELECT * FROM '{folder / 'in.csv'}'")
        impute(folder, "in.duckdb", "three.csv")
        assert known_cells_unchanged(pd.read_csv(folder / "three.csv"))
        (folder / "bad.db").write_bytes(b"SQLite format 3\x00 and no more")
        (folder / "bad.duckdb").write_bytes(b"no database")
        for name in ("bad.db", "bad.duckdb"):
            assert name in impute(folder, name, "no.csv", code=1).stderr
        assert "read only" in impute(folder, "in.csv", "out.sqlite", code=2).stderr

    def test_a_folder_of_parquet_files_is_one_table(self, folder):
        frame = pd.read_csv(folder / "in.csv")
        (folder / "parts").mkdir()
        frame[:20].to_parquet(folder / "parts" / "a.parquet")
        frame[20:].to_parquet(folder / "parts" / "b.parquet")
        impute(folder, "parts", "out.csv")
        assert known_cells_unchanged(pd.read_csv(folder / "out.csv"))

    @pytest.mark.parametrize("name", ["pipe", "pipe.csv", "pipe.parquet"])
    def test_named_pipes(self, folder, name):
        os.mkfifo(folder / name)
        buffer = io.BytesIO()
        pd.read_csv(folder / "in.csv").to_parquet(buffer)
        data = buffer.getvalue() if name.endswith("parquet") else TABLE.encode()
        thread = threading.Thread(target=lambda: (folder / name).write_bytes(data), daemon=True)
        thread.start()
        impute(folder, name, "out.csv")
        thread.join(30)
        assert known_cells_unchanged(pd.read_csv(folder / "out.csv"))

    def test_addresses_and_unknown_endings_are_explained(self, folder):
        address = impute(folder, "https://example.com/x.csv", "no.csv", code=1).stderr
        assert "download" in address
        (folder / "in.doc").write_text(TABLE)
        listed = impute(folder, "in.doc", "no.csv", code=1).stderr
        for ending in (".csv", ".ods", ".sqlite", ".jsonl", ".gz"):
            assert ending in listed
        assert ".ods files are read only" in impute(folder, "in.csv", "out.ods", code=2).stderr


def workbook(path, *rows, sheet="Data", before=0):
    book = openpyxl.Workbook()
    book.active.title = sheet
    for _ in range(before):
        book.create_sheet("Notes", 0).append(["nothing here"])
    for row in rows:
        book[sheet].append(row)
    book.save(path)
    return book


SHEET = [["a", "b"], *([i / 4, None if i % 7 == 0 else 2 * i] for i in range(ROWS))]


class TestSheets:
    def test_other_sheets_formats_and_mixed_cells_are_kept(self, tmp_path):
        book = openpyxl.Workbook()
        data = book.active
        data.title = "Data"
        rows = [[i, None if i % 7 == 0 else 2.5 * i, [1, "one", True, DAY][i % 4]] for i in range(ROWS)]
        for row in [["a", "b", "mixed"], *rows]:
            data.append(row)
        data["D1"], data["D2"] = "sum", "=SUM(A2:A9)"
        data.column_dimensions["A"].width = 33
        data["B3"].number_format = "0.00"
        data["B3"].font = openpyxl.styles.Font(bold=True)
        budget = book.create_sheet("Budget 2026")
        budget["A1"] = "keep"
        budget.merge_cells("A1:C1")
        book.save(tmp_path / "book.xlsx")
        self._compute(tmp_path / "book.xlsx", "D2", 36)
        result = impute(tmp_path, "book.xlsx", "out.xlsx", "--intervals", 0.9)
        assert result.returncode == 0
        manifill("impute", "book.xlsx", "-o", "book.xlsx", "--force", "--max-sweeps", 1, folder=tmp_path)
        for name in ("out.xlsx", "book.xlsx"):
            after = openpyxl.load_workbook(tmp_path / name)
            assert after.sheetnames == ["Data", "Budget 2026"]
            assert "A1:C1" in map(str, after["Budget 2026"].merged_cells.ranges)
            sheet = after["Data"]
            assert sheet.column_dimensions["A"].width == 33
            assert sheet["B3"].font.bold
            assert sheet["D2"].value == "=SUM(A2:A9)"
            for i, row in enumerate(rows):
                cells = [cell.value for cell in sheet[i + 2][:3]]
                assert cells[0] == row[0]
                assert isinstance(cells[1], int | float)
                assert row[1] is None or cells[1] == row[1]
                mixed = cells[2].date() if isinstance(cells[2], datetime.datetime) else cells[2]
                assert (type(mixed), mixed) == (type(row[2]), row[2])
        sheet = openpyxl.load_workbook(tmp_path / "out.xlsx")["Data"]
        assert [sheet.cell(1, j).value for j in (5, 6)] == ["b_low", "b_high"]
        assert sheet.cell(2, 5).value <= sheet["B2"].value <= sheet.cell(2, 6).value

    @staticmethod
    def _compute(path, place, value):
        """Store a value for a formula, as Excel does."""
        with zipfile.ZipFile(path) as file:
            parts = {name: file.read(name) for name in file.namelist()}
        name = "xl/worksheets/sheet1.xml"
        parts[name] = parts[name].replace(b"</f><v></v>", f"</f><v>{value}</v>".encode())
        parts[name] = parts[name].replace(b"</f><v />", f"</f><v>{value}</v>".encode())
        assert f"<v>{value}</v>".encode() in parts[name]
        with zipfile.ZipFile(path, "w") as file:
            for one, content in parts.items():
                file.writestr(one, content)

    def test_values_of_formulas_are_read(self, tmp_path):
        rows = [["a", "b", "c"], *([i, None if i % 7 == 0 else 2 * i, i % 3] for i in range(ROWS))]
        rows[3][2] = "=1+1"
        workbook(tmp_path / "in.xlsx", *rows)
        message = impute(tmp_path, "in.xlsx", "out.csv", code=1).stderr
        assert "C4 of in.xlsx holds a formula, '=1+1', without its value" in message
        self._compute(tmp_path / "in.xlsx", "C4", 2)
        impute(tmp_path, "in.xlsx", "out.csv")
        assert (tmp_path / "out.csv").read_text().splitlines()[3].endswith(",2")

    def test_sheets_are_chosen_by_name_or_number(self, tmp_path):
        workbook(tmp_path / "in.xlsx", *SHEET, before=1)
        for sheet in ("Data", "2"):
            impute(tmp_path, "in.xlsx", f"{sheet}.csv", "--sheet", sheet)
            assert known_cells_unchanged(pd.read_csv(tmp_path / f"{sheet}.csv"))
        assert "--sheet" in impute(tmp_path, "in.xlsx", "no.csv", code=1).stderr
        missing = impute(tmp_path, "in.xlsx", "no.csv", "--sheet", "Dta", code=1)
        assert "has no sheet 'Dta'; its sheets are Notes, Data" in missing.stderr

    def test_values_are_removed_from_a_sheet_and_the_others_stay(self, tmp_path):
        workbook(tmp_path / "in.xlsx", *([i, 2 * i] if i else ["a", "b"] for i in range(ROWS)), before=1)
        result = manifill("ampute", "in.xlsx", "-o", "out.xlsx", "--sheet", "Data", folder=tmp_path)
        assert result.returncode == 0, result.stderr
        after = openpyxl.load_workbook(tmp_path / "out.xlsx")
        assert after.sheetnames == ["Notes", "Data"]
        assert 1 <= sum(cell.value is None for row in after["Data"] for cell in row) < ROWS

    def test_options_of_other_files_are_refused(self, tmp_path):
        (tmp_path / "in.csv").write_text(TABLE)
        impute(tmp_path, "in.csv", "in.parquet")
        assert "--sheet is for" in impute(tmp_path, "in.csv", "x.csv", "--sheet", "1", code=1).stderr
        assert "--skip-rows is" in impute(tmp_path, "in.parquet", "x.csv", "--skip-rows", 1, code=1).stderr

    def test_titles_above_the_table_are_found_and_kept(self, tmp_path):
        shifted = [[None, *row] for row in SHEET]
        workbook(tmp_path / "in.xlsx", ["Sales of 2026"], [], [None, "in euros"], *shifted)
        impute(tmp_path, "in.xlsx", "out.csv")
        assert known_cells_unchanged(pd.read_csv(tmp_path / "out.csv"))
        impute(tmp_path, "in.xlsx", "out.xlsx")
        sheet = openpyxl.load_workbook(tmp_path / "out.xlsx").active
        assert sheet["A1"].value == "Sales of 2026"
        assert sheet["C5"].value is not None
        impute(tmp_path, "in.xlsx", "skip.csv", "--skip-rows", 3)
        assert (tmp_path / "skip.csv").read_text() == (tmp_path / "out.csv").read_text()

    def test_a_column_without_name_does_not_hide_the_header(self, tmp_path):
        frame = pd.read_csv(io.StringIO(TABLE))
        frame.to_excel(tmp_path / "in.xlsx")
        impute(tmp_path, "in.xlsx", "out.csv")
        assert known_cells_unchanged(pd.read_csv(tmp_path / "out.csv"))

    def test_the_last_column_may_have_no_name(self, tmp_path):
        rows = [["a" if i % 2 else None, 2.0 * i, datetime.date(2020, 1, 1 + i)] for i in range(20)]
        workbook(tmp_path / "in.xlsx", ["Sales", None, None], ["kind", "x", None], *rows)
        impute(tmp_path, "in.xlsx", "out.csv")
        filled = pd.read_csv(tmp_path / "out.csv")
        assert list(filled) == ["kind", "x", "column 3"]
        assert len(filled) == len(rows)

    def test_charts_are_not_lost_in_place(self, tmp_path):
        book = workbook(tmp_path / "in.xlsx", *SHEET)
        chart = openpyxl.chart.LineChart()
        chart.add_data(openpyxl.chart.Reference(book.active, min_col=1, min_row=1, max_row=9))
        book.active.add_chart(chart, "E5")
        book.save(tmp_path / "in.xlsx")
        before = (tmp_path / "in.xlsx").read_bytes()
        result = manifill("impute", "in.xlsx", "-o", "in.xlsx", "--force", folder=tmp_path)
        assert result.returncode == 2
        assert "holds charts, which would be lost" in result.stderr
        assert (tmp_path / "in.xlsx").read_bytes() == before

    def test_texts_in_sheets_are_read_like_text_files(self, tmp_path):
        rows = [[f"{i}%" if i % 5 else "NA", i] for i in range(ROWS)]
        workbook(tmp_path / "in.xlsx", ["p", "x"], *rows)
        impute(tmp_path, "in.xlsx", "out.xlsx")
        cells = [row[0].value for row in openpyxl.load_workbook(tmp_path / "out.xlsx").active][1:]
        assert all(cell.endswith("%") for cell in cells)

    def test_open_document(self, tmp_path):
        def cell(value):
            if value is None:
                return "<table:table-cell/>"
            kind = "string" if isinstance(value, str) else "float"
            number = "" if kind == "string" else f' office:value="{value}"'
            text = f"<text:p>{value}</text:p>"
            return f'<table:table-cell office:value-type="{kind}"{number}>{text}</table:table-cell>'

        rows = ["".join(map(cell, row)) for row in SHEET]
        content = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
        spaces = " ".join(
            f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
            for name in ("office", "table", "text")
        )
        with zipfile.ZipFile(tmp_path / "in.ods", "w") as file:
            file.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
            file.writestr("META-INF/manifest.xml", "<manifest/>")
            file.writestr(
                "content.xml",
                f'<?xml version="1.0"?><office:document-content {spaces}><office:body><office:spreadsheet>'
                f'<table:table table:name="Data">{content}</table:table></office:spreadsheet></office:body>'
                "</office:document-content>",
            )
        impute(tmp_path, "in.ods", "out.csv")
        assert known_cells_unchanged(pd.read_csv(tmp_path / "out.csv"))
        (tmp_path / "bad.ods").write_bytes(b"none")
        assert "bad.ods cannot be read" in impute(tmp_path, "bad.ods", "no.csv", code=1).stderr


class TestTypedFiles:
    """Values of parquet and feather files that Python or pyarrow have no ordinary type for."""

    def test_times_after_9999_and_of_unknown_zones(self, tmp_path):
        days = [None if i % 7 == 0 else i * 86_400_000_000 for i in range(ROWS)]
        late = pa.array([None if day is None else day + 3 * 10**17 for day in days]).cast(pa.timestamp("us"))
        table = pa.table(
            {
                "late": late,
                "date": late.cast(pa.date32()),
                "zone": pa.array(days).cast(pa.timestamp("us", "Nowhere/City")),
                "view": pa.array([None if i % 5 == 0 else "ab"[i % 2] for i in range(ROWS)]).cast(
                    pa.string_view()
                ),
                "x": np.arange(ROWS) / 2,
            }
        )
        # pyarrow 21 to 24 crash if they compress views of strings with missing values.
        pa.feather.write_feather(table, tmp_path / "in.feather", compression="uncompressed")
        impute(tmp_path, "in.feather", "out.feather")
        after = pa.feather.read_table(tmp_path / "out.feather")
        for name in table.column_names:
            assert after[name].null_count == 0
            known = table[name].is_valid()
            kind = pa.string() if name == "view" else pa.int32() if name == "date" else pa.int64()
            if name != "x":
                before, now = (one[name].cast(kind).filter(known) for one in (table, after))
                assert before.equals(now)
        assert after.schema.field("late").type == pa.timestamp("us")
        impute(tmp_path, "in.feather", "out.csv")
        assert "11476" in (tmp_path / "out.csv").read_text()

    def test_infinite_intervals_of_times_end_with_the_calendar(self, tmp_path):
        """Five rows in time: no entry can be held out, so nothing is known about the errors."""
        days = ["2001-07-28T23:00", "2001-08-13T13:00", "2001-07-27T03:00", "", "2001-07-23T12:00"]
        (tmp_path / "in.csv").write_text("t,x\n" + "".join(f"{i % 2},{day}\n" for i, day in enumerate(days)))
        impute(tmp_path, "in.csv", "out.csv", "--intervals", "0.5", "--time", "t")
        table = pd.read_csv(tmp_path / "out.csv", dtype=str)
        assert table["x_low"][3][:4] < "2001" < table["x_high"][3][:4]

    def test_infinite_intervals_of_arrow_times_are_times_of_python(self):
        moments = [datetime.datetime(2007, 2, 2, 2, 58, 32), datetime.datetime(2013, 10, 8, 9, 57, 16), None]
        zoned = pa.array(moments, pa.timestamp("ms", "America/New_York"))
        frame = pa.table({"t": [5.0, 16.0, -5.0], "x": zoned})
        low, high = TableImputer(time="t").fit(frame).intervals(0.9)
        assert low["x"].to_pylist()[2].year <= 2 < 9999 <= high["x"].to_pylist()[2].year

    @pytest.mark.parametrize("zone", ["", "Z"])
    def test_microseconds_of_late_times_written_as_text(self, tmp_path, zone):
        moments = [f"24{i:02}-06-06 11:03:53.8560{i:02}{zone}" for i in range(ROWS)]
        cells = "".join(f"{moment},{i if i % 5 else ''}\n" for i, moment in enumerate(moments))
        (tmp_path / "in.csv").write_text("t,x\n" + cells)
        for output in ("out.json", "out.parquet"):
            impute(tmp_path, "in.csv", output)
        read = [one["t"].replace("+00:00", "Z") for one in json.loads((tmp_path / "out.json").read_text())]
        assert read == moments
        assert pa.parquet.read_table(tmp_path / "out.parquet")["t"].cast(pa.string()).to_pylist() == moments

    def test_long_decimals_and_integers_of_128_bits(self):
        values = [None if i % 7 == 0 else 10**30 + i * 10**28 for i in range(ROWS)]
        exact = [None if value is None else decimal.Decimal(value) for value in values]
        x = np.arange(ROWS) / 2
        arrow = pa.table({"a": pa.array(exact, pa.decimal128(38, 0)), "x": x})
        polars = pl.DataFrame({"a": pl.Series(values, dtype=pl.Int128), "x": x})
        for table in (arrow, polars):
            filled = TableImputer(random_state=0, max_sweeps=1).fit_transform(table)["a"]
            after = filled.to_pylist() if table is arrow else filled.to_list()
            assert all(10**30 <= now <= 1.5 * 10**30 for now in after)
            assert all(was in (None, now) for was, now in zip(values, after, strict=True))

    def test_names_that_occur_twice(self, tmp_path):
        table = pa.Table.from_arrays([pa.array([1.0, 2.0]), pa.array([1.0, None])], ["a", "a"])
        pa.parquet.write_table(table, tmp_path / "in.parquet")
        result = impute(tmp_path, "in.parquet", "out.csv", code=1)
        assert "Column names must differ; in.parquet repeats ['a']" in result.stderr

    def test_damaged_feather_files(self, tmp_path):
        table = pa.table({"ünïcödé": [1.0, None, 3.0] * 9, "b": ["wörd", "y", None] * 9})
        zone = pa.array([0, None, 3] * 9, pa.timestamp("s", tz="Europe/Zürich"))
        table = table.append_column("t", zone)
        pa.feather.write_feather(table, tmp_path / "in.feather", compression="uncompressed")
        data = (tmp_path / "in.feather").read_bytes()
        for word in ("ünïcödé", "wörd", "Zürich"):
            (tmp_path / "in.feather").write_bytes(data.replace(word.encode(), b"\xff" * len(word.encode())))
            message = impute(tmp_path, "in.feather", "out.csv", code=1).stderr
            assert "in.feather cannot be read as a feather file" in message


def test_long_tables_take_little_memory(tmp_path):
    rows = 50_000
    numbers = np.random.default_rng(0).standard_normal((rows, 8)).round(4)
    pd.DataFrame(numbers, columns=list("abcdefgh")).to_csv(tmp_path / "in.csv", index=False)
    before = pa.total_allocated_bytes()
    table = files.read(tmp_path / "in.csv")
    np.testing.assert_array_equal(table.column("d").plain(), numbers[:, 3])
    cells = pa.total_allocated_bytes() - before
    assert cells < 4 * (tmp_path / "in.csv").stat().st_size


def test_damaged_archives_and_intervals_of_large_integers(tmp_path):
    packed = gzip.compress(TABLE.encode())
    (tmp_path / "bad.csv.gz").write_bytes(packed[:30] + b"\xff\xff\xff" + packed[33:])
    assert "cannot be unpacked" in impute(tmp_path, "bad.csv.gz", "out.csv", code=1).stderr
    values = pa.array([2**64 - 1 - i if i % 5 else None for i in range(30)], pa.uint64())
    pyarrow.feather.write_feather(
        pa.table({"x": values, "y": [float(i) for i in range(30)]}), tmp_path / "in.feather"
    )
    impute(tmp_path, "in.feather", "out.parquet", "--intervals", "0.9")
    assert pyarrow.parquet.read_table(tmp_path / "out.parquet")["x"].null_count == 0
