"""Delimited text through `manifill impute`."""

import csv
import io
import json
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fuzz import formats, values
from fuzz.case import Case, Failure, damaged, some, some_damage
from fuzz.command import Ran, check_run, content_of
from fuzz.oracle import (
    MISSING,
    Cells,
    agrees,
    agrees_in_excel,
    check_fill,
    check_intervals,
    is_missing,
    text_rows,
)

HAS_COLUMNS = True
_TYPES = (
    "number",
    "integer",
    "boolean",
    "category",
    "ordered",
    "date",
    "cyclic:24",
    "text",
    "identifier",
    "wrong",
)
_OUTPUTS = (*("out.csv",) * 8, "out.tsv", "out.parquet", "out.feather", "out.xlsx", "out.npy", "-")


def make(rng: random.Random) -> Case:
    """A random file of a few rows and columns, with options."""
    count, width = rng.choice((1, 2, 5, 8, 12, 20, 20, 30, 40)), rng.choice((1, 2, 2, 3, 3, 4, 6))
    names, columns = values.names(rng, width), [values.cells(rng, count) for _ in range(width)]
    if rng.random() < 0.1 and width > 1:
        columns[0] = list(columns[1])
    codes = rng.choice((("",), ("",), ("",), MISSING, ("", "-999"), ("", *MISSING)))
    for column in columns:
        share = rng.choice((0, 0.1, 0.2, 0.5, 0.95, 1 / count))
        for i in range(count):
            if rng.random() < share:
                column[i] = rng.choice(codes)
    rows: list[tuple[str, ...]] = [tuple(row) for row in zip(*columns, strict=True)]
    for _ in range(rng.choice((0, 0, 0, 0, 0, 1, 3))):  # blank lines, empty and repeated rows
        rows.insert(rng.randint(0, len(rows)), rng.choice(((), rows[0], ("",) * width)))
    if rng.random() < 0.03:
        rows.append(rng.choice((rows[0][:-1], (*rows[0], "9"))))
    header = rng.random() < 0.93
    form = _form(rng, [tuple(names), *rows] if header else rows)
    case = Case("tables", (tuple(names), *rows), {**form, "header": header})
    return Case("tables", case.rows, case.form, _options(rng, case))


def _form(rng: random.Random, rows: list[tuple[str, ...]]) -> dict[str, Any]:
    text = "".join(cell for row in rows for cell in row)
    encodings = (
        ["utf-8", "utf-8", "utf-8", "utf-16"]
        + ["latin-1"] * text.isascii()
        + ["latin-1"] * (max(text, default="a") < "ÿ")
    )
    made = {
        "delimiter": rng.choice((",", ",", ",", ";", "\t", "|")),
        "quoting": rng.choice((csv.QUOTE_MINIMAL,) * 4 + (csv.QUOTE_ALL,)),
        "end": rng.choice(("\n", "\n", "\n", "\r\n", "\r\n", "\r")),
        "bom": rng.random() < 0.1,
        "encoding": rng.choice(encodings),
        "ending": rng.choice((".csv",) * 16 + (".tsv", ".tsv", ".CSV", ".txt")),
        "last": rng.random() < 0.9,
        "pipe": rng.random() < 0.05,
        "damage": some_damage(rng) if rng.random() < 0.06 else (),
        "output": rng.choice(_OUTPUTS),
    }
    if made["ending"] == ".tsv":
        made["delimiter"] = "\t"
    return made


def _options(rng: random.Random, case: Case) -> tuple[tuple[str, ...], ...]:
    names = list(case.rows[0]) if case.form["header"] else [f"x{i}" for i in range(len(case.rows[0]))]

    def name() -> str:
        return rng.choice(names).strip() if rng.random() < 0.95 else "absent"

    def bound() -> str:
        return rng.choice(
            (f"{name()}=0:100", f"{name()}=-1:", f"{name()}=:2030-01-01", f"{name()}=9:1", f"{name()}=x")
        )

    first = "".join(case.rows[0] if case.form["header"] else case.rows[1])
    ambiguous = len(names) == 1 or any(mark in first for mark in ",;\t|\r\n")
    foreign = case.form["encoding"] != "utf-8" and rng.random() < 0.9
    return some(
        rng,
        [
            (float(ambiguous), lambda: ("--delimiter", case.form["delimiter"])),
            (float(foreign), lambda: ("--encoding", case.form["encoding"])),
            (0.0 if case.form["header"] else 0.7, lambda: ("--no-header",)),
            (0.05 if case.form["header"] else 0.0, lambda: ("--header",)),
            (0.9, lambda: ("--json",)),
            (0.15, lambda: ("--types", f"{name()}={rng.choice(_TYPES)}")),
            (0.08, lambda: ("--bounds", bound())),
            (0.08, lambda: ("--columns", rng.choice((name(), f"{name()},{name()}")))),
            (0.06, lambda: ("--skip", name())),
            (0.15, lambda: ("--intervals", rng.choice(("0.9", "0.5", "0.9", "1.5")))),
            (0.12, lambda: ("--draws", rng.choice(("1", "2")))),
            (0.06, lambda: ("--time", name())),
            (0.08, lambda: ("--missing-values", rng.choice(("-999", "NA,-", "", "0,x")))),
            (0.1, lambda: ("--max-sweeps", rng.choice(("1", "3")))),
            (0.1, lambda: ("--seed", str(rng.randint(0, 99)))),
            (0.04, lambda: ("--save", "saved.model")),
            (0.01, lambda: ("--report", "report.html")),
        ],
    )


def content(case: Case) -> bytes:
    """The bytes of the file."""
    form = case.form
    end, encoding = form.get("end", "\n"), form.get("encoding", "utf-8")
    lines = [_line(row, form) for row in (case.rows if form.get("header", True) else case.rows[1:])]
    text = end.join(lines) + (end if form.get("last", True) else "")
    bom = "\ufeff" if form.get("bom") and encoding == "utf-8" else ""
    return damaged((bom + text).encode(encoding), form.get("damage", ()))


def _line(row: tuple[str, ...], form: dict[str, Any]) -> str:
    text, quoting = io.StringIO(newline=""), form.get("quoting", csv.QUOTE_MINIMAL)
    csv.writer(text, delimiter=form.get("delimiter", ","), quoting=quoting, lineterminator="\r\n").writerow(
        row
    )
    return text.getvalue().removesuffix("\r\n")


def command(case: Case) -> tuple[dict[str, bytes], list[str], bytes]:
    """Input files, arguments of the command, and standard input."""
    made, source = content(case), f"in{case.form.get('ending', '.csv')}"
    arguments = ["impute", "-" if case.form.get("pipe") else source, "-o", case.form.get("output", "out.csv")]
    arguments += [part for option in case.options for part in option]
    return ({}, arguments, made) if case.form.get("pipe") else ({source: made}, arguments, b"")


def outputs(case: Case) -> list[str]:
    """The files that a run without errors writes."""
    output, draws = case.form.get("output", "out.csv"), int(case.option("--draws") or 0)
    ending = Path(output).suffix
    found = [case.option(name) for name in ("--save", "--report")]
    return [one for one in found if one] + (
        [] if output == "-" else [output, *(f"out-draw{i + 1}{ending}" for i in range(draws))]
    )


def check(case: Case, folder: Path, run: Any, again: bool) -> None:
    """Run the command and check the result; `again`: a second run must give the same files."""
    files, arguments, given = command(case)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    before = content_of(folder)
    ran = run(arguments, folder, given)
    check_run(ran, folder, before, outputs(case))
    _check_result(case, ran, folder)
    if again:
        check_repeats(folder, before, run, arguments, given, ran)


def check_repeats(
    folder: Path, before: dict[str, bytes], run: Any, arguments: list[str], given: bytes, ran: Ran
) -> None:
    """Raise Failure unless a second run writes the same files."""
    second = folder.parent / f"{folder.name}-again"
    for name, data in before.items():
        (second / name).parent.mkdir(parents=True, exist_ok=True)
        (second / name).write_bytes(data)
    second.mkdir(exist_ok=True)
    repeated = run(arguments, second, given)
    first, last = (
        {name: formats.stable(name, data) for name, data in content_of(one).items()}
        for one in (folder, second)
    )
    if first != last or ("-" in arguments and ran.out != repeated.out and "--json" not in arguments):
        raise Failure("not repeatable", [name for name in first if first[name] != last.get(name)])


def _check_result(case: Case, ran: Ran, folder: Path) -> None:
    form, output = case.form, case.form.get("output", "out.csv")
    try:
        rows = text_rows(content(case), form.get("delimiter", ","), form.get("encoding", "utf-8"))
    except (csv.Error, UnicodeError) as error:
        raise Failure("broken text accepted", error) from error
    if len({len(row) for row in rows}) > 1:
        if form.get("damage") and _has_other_delimiter(case):
            return  # damage has made another delimiter the only one that fits
        raise Failure("lines of different length accepted", {len(row) for row in rows})
    summary = None
    if case.option("--json") is not None:
        summary = json.loads(ran.err if output == "-" else ran.out)
    header = _has_header(case, rows, summary, ran.err)
    codes = case.option("--missing-values")
    known = MISSING if codes is None else codes.split(",")
    for name in ["-"] if output == "-" else [one for one in outputs(case) if one.startswith("out")]:
        data = ran.out if name == "-" else (folder / name).read_bytes()
        _check_output(case, rows, header, name, data, summary, ran.err, known)


def _has_header(case: Case, rows: list[list[str]], summary: dict[str, Any] | None, said: str) -> bool:
    """Was the first line taken for names? It is what the options say."""
    asked = (
        False
        if case.option("--no-header") is not None
        else True
        if case.option("--header") is not None
        else None
    )
    told = re.search(r"missing values in ([\d,]+) rows", said)
    count = int(told[1].replace(",", "")) if summary is None and told else (summary or {"rows": -1})["rows"]
    header = bool(count == len(rows) - 1)
    if (not header and count != len(rows)) or (asked is not None and header != asked):
        raise Failure("rows", f"{count} in the summary, {len(rows)} lines in the file")
    return header


def _check_output(
    case: Case,
    rows: list[list[str]],
    header: bool,
    name: str,
    data: bytes,
    summary: dict[str, Any] | None,
    said: str,
    codes: list[str] | tuple[str, ...],
) -> None:
    """Check one output file, in each delimiter and encoding that it may have; one of them must pass."""
    failures, text = [], name == "-" or Path(name).suffix in formats.TEXT
    for names, found in formats.readings(name, data, case.form, header):
        try:
            if header and Path(name).suffix != ".npy" and names[: len(rows[0])] != rows[0]:
                raise Failure("names of columns", f"{rows[0]} became {names}")
            chosen = [one.strip() for one in (case.option("--columns") or "").split(",") if one.strip()]
            if name.endswith(".xlsx"):
                found = _with_empty_end(found, rows[int(header) :], codes)
            check_fill(
                rows[int(header) :],
                found,
                None if summary is None else summary["columns"],
                chosen=chosen,
                missing=lambda cell: is_missing(cell, codes),
                same=None if text else agrees_in_excel if name.endswith(".xlsx") else agrees,
                named=said,
            )
            if name in ("-", "out" + Path(name).suffix) and len(names) > len(rows[0]):
                check_intervals(names, found, len(rows[0]))
            return
        except Failure as failure:
            failures.append(failure)
    raise failures[0] if failures else Failure("unreadable output", name)


def _with_empty_end(found: Cells, before: list[list[str]], codes: Sequence[str]) -> Cells:
    """The rows of a sheet, and the empty rows at the end of the table, which a sheet does not show."""
    lost = before[len(found) :]
    if all(is_missing(cell, codes) for row in lost for cell in row):
        found = [*found, *[[None] * len(found[0]) for _ in lost if found]]
    return found


def _has_other_delimiter(case: Case) -> bool:
    """Have all lines the same number of cells with another delimiter?"""
    for delimiter in set(",;\t|") - {case.form.get("delimiter", ",")}:
        try:
            rows = text_rows(content(case), delimiter, case.form.get("encoding", "utf-8"))
        except (csv.Error, UnicodeError):
            continue
        if len({len(row) for row in rows}) == 1:
            return True
    return False
