"""The page: words and tables around the pictures."""

from collections.abc import Iterable, Sequence
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from manifill._estimators import TableImputer
from manifill._files import whole
from manifill.report import pictures
from manifill.tables import Field, Inspection, Source, inspect
from manifill.tables.accuracy import VariableAccuracy

STYLE = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { font: 16px/1.55 system-ui, sans-serif; color: #1b1b1b; margin: 0 auto; max-width: 60rem;
  padding: 1.5rem 1rem; }
h1 { font-size: 1.7rem; margin: 0 0 .3rem; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 2.4rem 0 .5rem; }
p.lead { font-size: 1.1rem; }
p.note { color: #555; font-size: .92rem; }
.facts { display: flex; flex-wrap: wrap; gap: .6rem; padding: 0; list-style: none; margin: 1rem 0; }
.facts li { background: #f5f5f2; border-radius: .4rem; padding: .5rem .9rem; }
.facts b { display: block; font-size: 1.25rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { text-align: left; padding: .3rem .7rem .3rem 0; border-bottom: 1px solid #e4e4e4;
  vertical-align: top; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.bar { background: #e07b39; height: .6rem; min-width: 1px; display: inline-block; }
img { max-width: 100%; height: auto; display: block; margin: .8rem auto; }
code { overflow-wrap: anywhere; }
.bad { color: #a63c00; } .good { color: #006b4f; }
@media print {
  body { max-width: none; font-size: 11pt; } h2 { break-after: avoid; } img, tr { break-inside: avoid; }
}
"""
_MOST_ROWS = 60
_LEAST_CERTAIN = 12


def write_report(
    imputer: TableImputer, table: Source, path: Path, *, title: str = "a table", seconds: float | None = None
) -> None:
    """Write the report, whole or not at all."""
    text = report(imputer, table, title=title, seconds=seconds)
    with whole(path, "w", encoding="utf-8") as file:
        file.write(text)


def report(
    imputer: TableImputer, table: Source, *, title: str = "a table", seconds: float | None = None
) -> str:
    """A self-contained HTML page about a fitted imputer and the table it filled."""
    found = inspect(table, {field.name: field.variable for field in imputer.fields_})
    total = sum(found.missing.values())
    gaps = [field for field in imputer.fields_ if field.modelled and found.missing[field.name]]
    accuracy = {one.column: one for one in imputer.accuracy_}
    facts = [
        (f"{found.rows:,} × {len(found.fields)}", "rows and columns"),
        (f"{total:,}", f"missing values ({total / max(found.cells, 1):.1%})"),
        (f"{found.complete_rows:,}", "complete rows"),
        (f"{imputer.n_sweeps_}", "sweeps"),
    ]
    if seconds is not None:
        facts.append((f"{seconds:.1f} s", "time"))
    boxes = "".join(f"<li><b>{escape(number)}</b>{escape(what)}</li>" for number, what in facts)
    relative = [accuracy[field.name].relative for field in gaps]
    known = [one for one in relative if np.isfinite(one)]
    lead = (
        f"On values that were known and hidden, fills have on average {np.mean(known):.0%} of the error of a "
        "simple fill by the mean or most frequent value."
        if known
        else "Too little is known to hide any of it and say how good the fills are."
    )
    parts = [
        f"<h1>{escape(title)}, completed</h1>",
        f'<p class="lead">{lead}</p><ul class="facts">{boxes}</ul>',
        _missing(found, table),
        _accuracy(gaps, accuracy),
        _distributions(imputer, gaps),
        _uncertain(imputer, gaps),
        _done(imputer),
        _rows(imputer),
        f'<p class="note">Made by manifill {version("manifill")}. All of this page is in this file; it loads '
        "nothing.</p>",
    ]
    body = "\n".join(part for part in parts if part)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="icon" href="data:,">'
        f"<title>{escape(title)}, completed</title><style>{STYLE}</style></head>\n"
        f"<body>{body}</body></html>\n"
    )


def _grid(heads: str, rows: Iterable[Sequence[str]]) -> str:
    """A table; heads with commas between, those of numbers with a # before them. Cells are HTML."""
    names = [head.strip() for head in heads.split(",")]
    classes = [' class="number"' if name.startswith("#") else "" for name in names]
    first = "".join(f"<th{kind}>{name.lstrip('#')}</th>" for name, kind in zip(names, classes, strict=True))
    lines = (
        "".join(f"<td{kind}>{cell}</td>" for cell, kind in zip(row, classes, strict=True)) for row in rows
    )
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f'<div class="wide"><table><tr>{first}</tr>{body}</table></div>'


def _missing(found: Inspection, table: Source) -> str:
    """What was missing: columns, map, patterns, and why."""
    rows = []
    for field in found.fields[:_MOST_ROWS]:
        count = found.missing[field.name]
        share = count / max(found.rows, 1)
        bar = f'<span class="bar" style="width:{100 * share:.1f}px"></span>' if share else ""
        rows.append((escape(str(field.name)), f"{count:,}", f"{share:.1%}", bar))
    hidden = len(found.fields) - _MOST_ROWS
    more = f'<p class="note">{hidden} columns more.</p>' if hidden > 0 else ""
    names = list(table.names)
    M = np.column_stack([table.column(name).missing for name in names])
    holes = pictures.embedded(pictures.holes(M, [str(name) for name in names]), "map of missing values")
    patterns = [(f"{one.rows:,}", _listed(one.columns)) for one in found.patterns]
    return f"""<h2>What was missing</h2>
{_grid("column, #missing, #share, ", rows)}{more}
{holes}<p class="note">A line for each row; orange is missing.</p>
<p>{escape(found.verdict)}</p>
{_grid("#rows, missing together", patterns)}"""


def _listed(columns: Sequence[Any]) -> str:
    text = ", ".join(map(str, columns[:10])) or "nothing"
    return escape(text) + (" …" if len(columns) > 10 else "")


def _accuracy(gaps: list[Field], accuracy: dict[Any, VariableAccuracy]) -> str:
    """How well each column is filled."""
    shown = [accuracy[field.name] for field in gaps][:_MOST_ROWS]
    if not shown:
        return ""
    rows = []
    for one in shown:
        share = one.measure == "wrong"
        error, simple = (f"{v:.1%} wrong" if share else f"{v:.4g}" for v in (one.error, one.simple_error))
        relative = f"{one.relative:.2f}" if np.isfinite(one.relative) else "–"
        colour = "good" if one.relative < 1 else "bad"
        rows.append(
            (
                escape(str(one.column)),
                escape(one.kind),
                error,
                simple,
                f'<span class="{colour}">{relative}</span>',
            )
        )
    drawn = [one for one in shown if np.isfinite(one.relative)]
    picture = ""
    if drawn:
        figure = pictures.accuracy([str(one.column) for one in drawn], [one.relative for one in drawn])
        picture = pictures.embedded(figure, "error of each column relative to the simple fill")
    return f"""<h2>How well it is filled</h2>
<p>Known values were hidden, filled, and compared with the truth. The simple fill is the mean, or the most
frequent value. At 1 nothing was learned, and the simple fill is what the column got. Dates are in days.</p>
{picture}{_grid("column, type, #error to expect, #of the simple fill, #relative", rows)}"""


def _distributions(imputer: TableImputer, gaps: list[Field]) -> str:
    if not gaps:
        return ""
    inner = imputer.imputer_
    M = np.isnan(imputer.result_.problem.given)
    most = sorted(gaps, key=lambda one: -int(M[:, one.first].sum()))
    picture = pictures.embedded(pictures.distributions(inner.completed_, M, most), "distributions")
    return f"""<h2>Observed and filled values</h2>{picture}
<p class="note">Fills are what is expected, so they scatter less than values do; draws (multiple imputation)
scatter as much. Where values are not missing at random the two should differ.</p>"""


def _uncertain(imputer: TableImputer, gaps: list[Field]) -> str:
    """The cells that are least certain, in units of their column's spread."""
    inner = imputer.imputer_
    errors = inner.errors_
    spread = np.zeros(inner.completed_.shape)
    spread[errors.problem.rows] = errors.expected
    cells: list[tuple[float, int, Field]] = []
    for field in gaps:
        if not field.variable.chosen and field.variable.width == 1:
            worst = np.argsort(-spread[:, field.first])[:_LEAST_CERTAIN].tolist()
            cells += [(float(spread[row, field.first]), row, field) for row in worst]
    cells = sorted((one for one in cells if one[0] > 0), key=lambda one: -one[0])[:_LEAST_CERTAIN]
    if not cells:
        return ""
    ends = (inner.completed_, *imputer.result_.intervals(0.9, imputer._limits()))
    rows = []
    for size, row, field in cells:
        fill, low, high = (_shown(field, table[row, field.columns]) for table in ends)
        rows.append((f"{row + 1:,}", escape(str(field.name)), fill, f"{low} … {high}", f"{size:.2f}"))
    heads = "#row, column, #fill, #90 % interval, #error to expect in standard deviations"
    return f"<h2>The least certain cells</h2>{_grid(heads, rows)}"


def _shown(field: Field, numbers: Any) -> str:
    value = field.variable.decode(np.atleast_2d(numbers))[0]
    if field.word in ("date", "date and time"):
        moment = np.datetime64(int(value), "us")
        return str(moment.astype("M8[D]" if field.word == "date" else "M8[m]")).replace("T", " ")
    return f"{value:.5g}" if isinstance(value, float | np.floating) else escape(str(value))


def _done(imputer: TableImputer) -> str:
    """What was done and chosen."""
    inner = imputer.imputer_
    changes = [record.change for record in inner.trace_[1:]]
    errors = [] if inner.tuning_ is None else [one for one in inner.tuning_.errors if np.isfinite(one)]
    picture = ""
    if changes:
        picture = pictures.embedded(pictures.sweeps(changes, errors), "change and error of each sweep")
    kinds = [
        (escape(str(field.name)), escape(field.word), escape(field.reason))
        for field in imputer.fields_[:_MOST_ROWS]
    ]
    methods = "".join(
        f"{escape(name)}: {weight:.2f}<br>" for name, weight in inner.weights_.items() if weight
    )
    kernels = "<br>".join(escape(str(component)) for component in inner.ensemble_.components)
    return f"""<h2>What was done</h2>
<p>{escape(imputer.status_.value.capitalize())}. Methods and their weights:<br><code>{methods}</code>
Kernels between rows, with weights chosen on held-out values:<br><code>{kernels}</code></p>
{picture}{_grid("column, taken for, because", kinds)}"""


def _rows(imputer: TableImputer) -> str:
    fitted = imputer.result_
    figure = pictures.cloud(np.asarray(fitted.fill.Z), fitted.problem.M.mean(axis=1))
    if figure is None:
        return ""
    return f"""<h2>The rows</h2>{pictures.embedded(figure, "rows in their diffusion map")}
<p class="note">Each point is a row of the completed table, near those that are like it.</p>"""
