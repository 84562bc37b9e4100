"""What the command `impute` prints: the plan of a run, and the summary after it."""

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.markup import escape
from rich.table import Table as Grid

import manifill
from manifill._cli.watch import console, printable, say
from manifill._estimators import TableImputer
from manifill._files import tables as files
from manifill._messages import MEASURED
from manifill.tables import Fields, Fills, Moment
from manifill.tables.times import TIMES

if TYPE_CHECKING:
    from manifill._cli.impute import Request

MOST_SHOWN = 30
# Statuses that the summary explains; the others are normal endings.
_EXPLAINED = ("time_limit", "diverged", "interrupted", "nothing_missing", "only_empty_rows")
# Letters of a column's name that the summary always shows.
_NAME_WIDTH = 24


def show_plan(request: "Request", table: files.FrameFile, fields: Fields, as_json: bool) -> None:
    """Print what a run would do: types, sizes and outputs."""
    columns = []
    for field in fields:
        missing = int(table.column(field.name).missing.sum()) if field.name in table.names else 0
        wanted = field.modelled and (not request.columns or field.name in request.columns)
        fills = missing if wanted and not isinstance(field.variable, Moment) else 0
        columns.append(
            {
                "name": field.name,
                "type": field.kind,
                "because": field.reason,
                "missing": missing,
                "to_fill": fills,
            }
        )
    outputs = [{"path": str(path), "replaces": path.is_file()} for path in request.outputs]
    if as_json:
        plan = {"rows": len(table), "columns": columns, "outputs": outputs}
        print(json.dumps(plan, indent=1, default=str))
        return
    to_fill = sum(one["to_fill"] for one in columns)
    say(f"{len(table):,} rows, {len(columns)} columns; {to_fill:,} missing values would be filled.")
    grid = Grid("column", "type", "missing", "to fill", "because", box=None)
    for one in columns:
        cells = (one["name"], one["type"], f"{one['missing']:,}", f"{one['to_fill']:,}", one["because"])
        grid.add_row(*(escape(printable(cell)) for cell in cells))
    console.print(grid)
    for one in outputs:
        say(f"Would {'replace' if one['replaces'] else 'write'} {one['path']}.")
    say("Nothing was filled or written (--dry-run).")


def summary_of(
    request: "Request", imputer: TableImputer, table: files.FrameFile, fills: Fills, seconds: float
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
                "held_out": one.held_out if one else None,
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
        "measured": MEASURED if accuracy else None,
    }


def _ending(request: "Request", imputer: TableImputer) -> dict[str, Any]:
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


def say_summary(summary: dict[str, Any]) -> None:
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
            say(MEASURED)
    left = [one for one in incomplete if not one["filled"]]
    if left:
        names = ", ".join(f"{one['name']} ({one['type']}: {one['because']})" for one in left)
        say(f"Not filled: {names}.")


def _grid(columns: list[dict[str, Any]]) -> Grid:
    grid = Grid(
        *("column", "type", "missing", "typical error", "of mean or mode", "ratio", "held out"), box=None
    )
    grid.columns[-1].no_wrap = True
    # The names are not cut to make room for the other columns.
    grid.columns[0].min_width = min(max((len(str(one["name"])) for one in columns), default=1), _NAME_WIDTH)
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
        held_out = f"{one['held_out']:,}" if known else "–"
        cells = (one["type"], f"{one['missing']:,}", *errors, relative, held_out)
        grid.add_row(escape(printable(one["name"])), *cells)
    if len(columns) > len(worst):
        grid.caption = f"the {len(worst)} hardest of {len(columns)} columns"
    return grid


def _relative(one: dict[str, Any]) -> float:
    if not one["simple_error"] or one["error"] is None:
        return -math.inf
    return float(one["error"] / one["simple_error"])
