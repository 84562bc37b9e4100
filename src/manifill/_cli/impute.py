"""The command `impute`: read, fill and write a table."""

import json
import math
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from rich.markup import escape
from rich.table import Table as Grid

import manifill
from manifill import _files as files
from manifill._cli.options import text_columns
from manifill._cli.watch import Interrupted, console, fit_watched, say
from manifill._estimators import TableImputer
from manifill.errors import InvalidInput, MissingDependency
from manifill.tables import Cyclic, Fills, Flag, Quantity
from manifill.tables.times import TIMES

MOST_SHOWN = 30
# Statuses that the summary explains; the others are normal endings.
_EXPLAINED = ("time_limit", "diverged", "interrupted", "nothing_missing", "only_empty_rows")


@dataclass(frozen=True)
class Request:
    """The options of one call."""

    source: Path
    output: Path
    columns: list[str]
    types: dict[str, str]
    bounds: dict[str, tuple[float | str | None, float | str | None]]
    time: str | None
    reading: dict[str, Any]
    max_sweeps: int | None
    time_limit: float | None
    seed: int
    intervals: float | None
    draws: int
    report: Path | None
    save: Path | None
    model: Path | None
    keep_last: bool
    force: bool

    @property
    def tables_of_draws(self) -> list[Path]:
        return [_numbered(self.output, i + 1) for i in range(self.draws)]


def run(request: Request, as_json: bool) -> None:
    """Read, fill and write the table, and print a summary."""
    began = monotonic()
    _check(request)
    if request.model is None:
        table = files.read(request.source, text_columns=text_columns(request.types), **request.reading)
        _check_names(request, table)
        imputer = _fitted(request, table)
        fills: Fills = imputer.completed_
    else:
        imputer = TableImputer.load(request.model)
        kinds = (Quantity, Cyclic, Flag)
        as_text = [field.name for field in imputer.fields_ if not isinstance(field.variable, kinds)]
        table = files.read(request.source, text_columns=as_text, **request.reading)
        _check_names(request, table)
        fills = imputer.transform(table)
    chosen = _only(fills, request.columns)
    _write(request, imputer, table, chosen, began)
    summary = _summary(request, imputer, table, chosen, monotonic() - began)
    if as_json:
        out = sys.stderr if request.output == files.PIPE else sys.stdout
        print(json.dumps(summary, indent=1, default=str), file=out)
    else:
        _say(summary)


def _check(request: Request) -> None:
    """Raise, before any work is done, if the request cannot be met."""
    if request.model is not None:
        names = ("types", "bounds", "time", "save", "report", "draws", "max_sweeps")
        _refuse([name for name in names if getattr(request, name)])
    if request.intervals is not None and not 0 < request.intervals < 1:
        raise InvalidInput(f"--intervals must lie between 0 and 1, such as 0.9; got {request.intervals:g}.")
    if request.intervals is not None and request.output.suffix.lower() == ".npy":
        raise InvalidInput(
            "--intervals adds named columns, which a .npy file cannot hold; write a .csv file."
        )
    if request.report is not None and request.report.suffix.lower() not in (".html", ".htm"):
        raise InvalidInput(f"--report writes an HTML page, so it must end in .html; got {request.report}.")
    absent = [name for name in ("matplotlib", "jinja2") if find_spec(name) is None]
    if request.report is not None and absent:
        raise MissingDependency(f"A report needs {' and '.join(absent)}: pip install 'manifill[plots]'.")
    tables = [path for path in (request.output, *request.tables_of_draws) if path != files.PIPE]
    others = [path for path in (request.report, request.save) if path is not None]
    files.check_distinct([*tables, *others])
    for path in tables:
        files.check_output(path)
    for path in others:
        files.check_writable(path)
    for path in (*tables, *others):
        files.check_replaceable(path, request.force)


def _fitted(request: Request, table: files.TableFile) -> TableImputer:
    imputer = TableImputer(
        request.types,
        bounds=request.bounds,
        time=request.time,
        max_sweeps="auto" if request.max_sweeps is None else request.max_sweeps,
        time_limit=request.time_limit,
        random_state=request.seed,
    )
    try:
        fit_watched(imputer, table)
    except Interrupted:
        if not request.keep_last or not hasattr(imputer, "result_"):
            raise
        say("manifill: interrupted; using the last full pass.")
    return imputer


def _write(
    request: Request, imputer: TableImputer, table: files.TableFile, fills: Fills, began: float
) -> None:
    """Write all files; the completed table last, because it may replace the input file."""
    extra = {} if request.intervals is None else _ends(request, imputer, table)
    if request.draws:
        drawn = imputer.draws(request.draws, random_state=request.seed)
        for path, one in zip(request.tables_of_draws, drawn, strict=True):
            files.write(table, _only(one, request.columns), path)
    if request.save is not None:
        imputer.save(request.save)
    if request.report is not None:
        from manifill.report import write_report

        seconds = monotonic() - began
        write_report(imputer, table, request.report, title=request.source.name, seconds=seconds)
    files.write(table, fills, request.output, extra)


def _refuse(given: list[str]) -> None:
    """Raise if options for fitting are combined with a fitted model."""
    if given:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise InvalidInput(
            f"--model uses a fitted model, so {options} cannot be given with it. Remove one or the other."
        )


def _numbered(path: Path, number: int) -> Path:
    if path == files.PIPE:
        raise InvalidInput("--draws writes several files, so --output must be a file name, not a pipe.")
    return path.with_name(f"{path.stem}-draw{number}{path.suffix}")


def _check_names(request: Request, table: files.TableFile) -> None:
    """Raise, before the fit, if options name columns that do not exist, or intervals need a name in use."""
    files.check_fits(table, request.output)
    names = table.names
    unknown = [name for name in request.columns if name not in names]
    if unknown:
        raise InvalidInput(
            f"--columns names {unknown}, which do not exist; the columns are {', '.join(map(str, names))}."
        )
    taken = [f"{name}_{end}" for name in names for end in ("low", "high") if f"{name}_{end}" in names]
    if request.intervals is not None and taken:
        raise InvalidInput(f"--intervals adds a column {taken[0]!r}, which exists already; rename it.")


def _only(fills: Fills, columns: list[str]) -> Fills:
    """The fills of the columns in `columns`; all fills if that is empty."""
    return {name: fill for name, fill in fills.items() if not columns or name in columns}


def _ends(request: Request, imputer: TableImputer, table: files.TableFile) -> files.Extra:
    """Two extra columns per filled column: the interval limits, empty where the value is known."""
    low, high = imputer.intervals(request.intervals or 0.9, None if request.model is None else table)
    extra: files.Extra = {}
    for name in low:
        for end, fills in (("low", low), ("high", high)):
            extra[f"{name}_{end}"] = (name, *fills[name])
    return extra


def _summary(
    request: Request, imputer: TableImputer, table: files.TableFile, fills: Fills, seconds: float
) -> dict[str, Any]:
    accuracy = {one.column: one for one in imputer.accuracy_}
    columns = []

    def skipped(name: Any) -> bool:
        return bool(request.columns) and name not in request.columns

    for field in imputer.fields_:
        column = table.column(field.name) if field.name in table.names else None
        one = accuracy.get(field.name)
        columns.append(
            {
                "name": field.name,
                "type": field.kind,
                "because": "not in --columns" if skipped(field.name) else field.reason,
                "missing": 0 if column is None else int(column.missing.sum()),
                "filled": len(fills[field.name][0]) if field.name in fills else 0,
                "measure": one.measure if one else None,
                "error": _finite(one.error) if one else None,
                "simple_error": _finite(one.simple_error) if one else None,
            }
        )
    return {
        "manifill": manifill.__version__,
        "output": str(request.output),
        "draws": [str(path) for path in request.tables_of_draws],
        "rows": len(table),
        "filled": sum(len(rows) for rows, _ in fills.values()),
        **_ending(request, imputer),
        "seed": request.seed,
        "seconds": round(seconds, 2),
        "columns": columns,
    }


def _ending(request: Request, imputer: TableImputer) -> dict[str, Any]:
    """How the fit ended; with a model there was none."""
    if request.model is not None:
        explanation = "the rows were filled with a saved model"
        return {"model": str(request.model), "sweeps": None, "status": "model", "explanation": explanation}
    status = imputer.status_
    return {
        "model": None,
        "sweeps": imputer.n_sweeps_,
        "status": status.name.lower(),
        "explanation": status.value,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _say(summary: dict[str, Any]) -> None:
    """Print the summary for people: what was done, how well, and the columns."""
    text = f"Filled {summary['filled']:,} missing values in {summary['rows']:,} rows and wrote "
    text += f"{summary['output']} ({summary['seconds']:.1f} s)."
    incomplete = [one for one in summary["columns"] if one["missing"]]
    ratios = [_relative(one) for one in incomplete if one["filled"] and math.isfinite(_relative(one))]
    if ratios:
        change = 1 - sum(ratios) / len(ratios)
        text += " Tested on known values that were held out"
        text += " when the model was fitted" if summary["model"] else ""
        text += ", the error is on average "
        text += f"{abs(change):.0%} {'below' if change >= 0 else 'above'} that of filling each column with "
        text += "its mean or most frequent value."
    say(text)
    if summary["status"] in _EXPLAINED and not (incomplete and summary["status"] == "nothing_missing"):
        say(f"{summary['explanation'].capitalize()}.")
    for path in summary["draws"]:
        say(f"{path}: a completed table with drawn values")
    if incomplete:
        console.print(_grid(incomplete))
        if ratios:
            say("If the missing values differ from the known ones, their errors are larger than measured.")
    left = [one for one in incomplete if not one["filled"]]
    if left:
        names = ", ".join(f"{one['name']} ({one['type']}: {one['because']})" for one in left)
        say(f"Not filled: {names}.")


def _grid(columns: list[dict[str, Any]]) -> Grid:
    grid = Grid("column", "type", "missing", "typical error", "of mean or mode", "ratio", box=None)
    worst = sorted(columns, key=lambda one: -_relative(one))[:MOST_SHOWN]
    for one in columns:
        if one not in worst:
            continue
        known = one["error"] is not None
        form = (
            "{:.1%} wrong"
            if one["measure"] == "wrong"
            else "{:.4g} days"
            if one["type"] in TIMES
            else "{:.4g}"
        )
        errors = [form.format(one[key]) if known else "–" for key in ("error", "simple_error")]
        relative = f"{_relative(one):.2f}" if known and np.isfinite(_relative(one)) else "–"
        grid.add_row(escape(str(one["name"])), one["type"], f"{one['missing']:,}", *errors, relative)
    if len(columns) > len(worst):
        grid.caption = f"the {len(worst)} hardest of {len(columns)} columns"
    return grid


def _relative(one: dict[str, Any]) -> float:
    if not one["simple_error"] or one["error"] is None:
        return -math.inf
    return float(one["error"] / one["simple_error"])
