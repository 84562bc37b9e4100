"""Filling a table from the command line."""

import json
import math
import sys
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from rich.markup import escape
from rich.table import Table as Grid

import manifill
from manifill import files
from manifill.checks import require_number
from manifill.cli.watch import Interrupted, console, fit_watched
from manifill.cli.words import of_words
from manifill.errors import InvalidInput, MissingDependency
from manifill.estimators import TableImputer
from manifill.tables import Cyclic, Fills, Flag, Quantity

MOST_SHOWN = 30


def run(
    source: Path,
    output: Path,
    *,
    columns: list[str],
    types: dict[str, str],
    bounds: dict[str, tuple[float | str | None, float | str | None]],
    time: str | None,
    reading: dict[str, Any],
    max_sweeps: int | None,
    time_limit: float | None,
    seed: int,
    intervals: float | None,
    draws: int,
    report: Path | None,
    save: Path | None,
    model: Path | None,
    keep_last: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Read, fill, write, and say what was done."""
    began = monotonic()
    if model is not None:
        given = {"--types": types, "--bounds": bounds, "--time": time, "--save": save, "--report": report}
        _refuse({**given, "--draws": draws, "--intervals": intervals, "--max-sweeps": max_sweeps})
    if intervals is not None:
        require_number("--intervals", intervals, above=0, below=1)
    if report is not None and find_spec("matplotlib") is None:
        raise MissingDependency("A report needs matplotlib: pip install 'manifill[plots]'.")
    tables_of_draws = [_numbered(output, i + 1) for i in range(draws)]
    named = [
        path for path in (output, *tables_of_draws, report, save) if path is not None and path != files.PIPE
    ]
    if len({path.resolve() for path in named}) < len(named):
        raise InvalidInput(f"Every file needs a name of its own; got {', '.join(map(str, named))}.")
    for path in (output, *tables_of_draws, *(path for path in (report, save) if path is not None)):
        _check(path, force, table=path not in (report, save))
    if model is not None:
        imputer = TableImputer.load(model)
        words = [
            field.name
            for field in imputer.fields_
            if not isinstance(field.variable, Quantity | Cyclic | Flag)
        ]
        table = files.read(source, words=words, **reading)
        fills: Fills = imputer.transform(table)
        extra: files.Extra = {}
    else:
        table = files.read(source, words=of_words(types), **reading)
        imputer = TableImputer(
            types,
            bounds=bounds,
            time=time,
            max_sweeps="auto" if max_sweeps is None else max_sweeps,
            time_limit=time_limit,
            random_state=seed,
        )
        try:
            fit_watched(imputer, table)
        except Interrupted:
            if not keep_last or not hasattr(imputer.imputer_, "_model"):
                raise
            console.print("manifill: interrupted; going on with the last full sweep.")
        fills = imputer.completed_
        extra = {} if intervals is None else _ends(imputer, table, intervals)
    chosen = _only(fills, columns, table.names)
    if draws:
        for path, drawn in zip(tables_of_draws, imputer.draws(draws, seed=seed), strict=True):
            files.write(table, _only(drawn, columns, table.names), path)
    if save is not None:
        imputer.save(save)
    if report is not None:
        from manifill.report import write_report

        write_report(imputer, table, report, title=source.name, seconds=monotonic() - began)
    files.write(table, chosen, output, extra)  # the last: it may replace the file that is read
    summary = _summary(imputer, table, chosen, output, tables_of_draws, model, monotonic() - began, seed)
    if as_json:
        out = sys.stderr if output == files.PIPE else sys.stdout
        print(json.dumps(summary, indent=1, default=str), file=out)
    else:
        _say(summary)


def _refuse(options: dict[str, Any]) -> None:
    """Refuse options that belong to fitting where a model is fitted already."""
    given = [name for name, value in options.items() if value]
    if given:
        raise InvalidInput(
            f"--model fills new rows with what was fitted; {', '.join(given)} cannot change that."
        )


def _check(path: Path, force: bool, table: bool) -> None:
    """Refuse, before any work is done, what cannot be written."""
    if path == files.PIPE:
        return
    if table:
        files.check_output(path)
    else:
        files.check_writable(path)
    if path.exists() and not force:
        raise InvalidInput(f"{path} exists already; use --force to replace it.")


def _numbered(path: Path, number: int) -> Path:
    if path == files.PIPE:
        raise InvalidInput("--draws writes several files; --output must name the first of them, not a pipe.")
    return path.with_name(f"{path.stem}-draw{number}{path.suffix}")


def _only(fills: Fills, columns: list[str], names: list[Any]) -> Fills:
    """Fills of the columns asked for; of all where none is named."""
    unknown = [name for name in columns if name not in names]
    if unknown:
        raise InvalidInput(
            f"--columns names {unknown}, which are not there; there are {', '.join(map(str, names))}."
        )
    return {name: fill for name, fill in fills.items() if not columns or name in columns}


def _ends(imputer: TableImputer, table: files.TableFile, level: float) -> files.Extra:
    """Two columns more for every column filled: the ends of its intervals, empty where a value is known."""
    low, high = imputer.intervals(level)
    extra: files.Extra = {}
    for name in low:
        for end, fills in (("low", low), ("high", high)):
            label = f"{name}_{end}"
            if label in table.names:
                raise InvalidInput(f"--intervals adds a column {label!r}, which is there already; rename it.")
            extra[label] = (name, *fills[name])
    return extra


def _summary(
    imputer: TableImputer,
    table: files.TableFile,
    fills: Fills,
    output: Path,
    drawn: list[Path],
    model: Path | None,
    seconds: float,
    seed: int,
) -> dict[str, Any]:
    accuracy = {one.column: one for one in imputer.accuracy_} if model is None else {}
    columns = []
    for field in imputer.fields_:
        column = table.column(field.name) if field.name in table.names else None
        one = accuracy.get(field.name)
        columns.append(
            {
                "name": field.name,
                "type": field.word,
                "because": field.reason,
                "missing": 0 if column is None else int(column.missing.sum()),
                "filled": len(fills[field.name][0]) if field.name in fills else 0,
                "measure": one.measure if one else None,
                "error": _finite(one.error) if one else None,
                "simple_error": _finite(one.simple_error) if one else None,
            }
        )
    return {
        "manifill": manifill.__version__,
        "output": str(output),
        "draws": [str(path) for path in drawn],
        "rows": len(table),
        "filled": sum(len(rows) for rows, _ in fills.values()),
        "sweeps": imputer.n_sweeps_,
        "status": imputer.status_.name.lower(),
        "explanation": imputer.status_.value,
        "seed": seed,
        "seconds": round(seconds, 2),
        "columns": columns,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _say(summary: dict[str, Any]) -> None:
    """The summary for people."""
    said = f"{summary['output']}: filled {summary['filled']:,} values in {summary['rows']:,} rows"
    said += f", {summary['seconds']:.1f} s. {summary['explanation'].capitalize()}."
    console.print(said, markup=False, highlight=False)
    for path in summary["draws"]:
        console.print(f"{path}: a completed table, drawn", markup=False, highlight=False)
    with_gaps = [one for one in summary["columns"] if one["missing"]]
    if with_gaps:
        console.print(_grid(with_gaps))
    left = [one for one in with_gaps if not one["filled"]]
    if left:
        names = ", ".join(f"{one['name']} ({one['type']}: {one['because']})" for one in left)
        console.print(f"Left as they are: {names}.", markup=False, highlight=False)


def _grid(columns: list[dict[str, Any]]) -> Grid:
    grid = Grid("column", "type", "missing", "error to expect", "of the simple fill", "relative", box=None)
    worst = sorted(columns, key=lambda one: -_relative(one))[:MOST_SHOWN]
    for one in columns:
        if one not in worst:
            continue
        known = one["error"] is not None
        share = one["measure"] == "wrong"
        errors = (
            [f"{one[key]:.1%} wrong" if share else f"{one[key]:.4g}" for key in ("error", "simple_error")]
            if known
            else ["–", "–"]
        )
        relative = f"{_relative(one):.2f}" if known and np.isfinite(_relative(one)) else "–"
        grid.add_row(escape(str(one["name"])), one["type"], f"{one['missing']:,}", *errors, relative)
    if len(columns) > len(worst):
        grid.caption = f"the {len(worst)} hardest of {len(columns)} columns"
    return grid


def _relative(one: dict[str, Any]) -> float:
    if not one["simple_error"] or one["error"] is None:
        return -math.inf
    return float(one["error"] / one["simple_error"])
