"""HTML report of an imputed table: missing values, methods and accuracy."""

from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from manifill._estimators import TableImputer
from manifill._files import atomic_write
from manifill._messages import MEASURED
from manifill.plots.style import png
from manifill.report import pictures
from manifill.report.html import data_uri, render
from manifill.tables import Field, Source, inspect
from manifill.tables.accuracy import VariableAccuracy

# Maximum number of lines of a table in the report, and of cells in the table of uncertain cells.
_MAX_LINES = 60
_MAX_CELLS = 12


def write_report(
    imputer: TableImputer, table: Source, path: Path, *, title: str = "a table", seconds: float | None = None
) -> None:
    """Write the report to a file; after an error no partial file is left."""
    text = report(imputer, table, title=title, seconds=seconds)
    with atomic_write(path, "w", encoding="utf-8") as file:
        file.write(text)


def report(
    imputer: TableImputer, table: Source, *, title: str = "a table", seconds: float | None = None
) -> str:
    """Self-contained HTML report of a fitted imputer and the table it filled."""
    inner = imputer.imputer_
    found = inspect(table, {field.name: field.variable for field in imputer.fields_})
    incomplete = [field for field in imputer.fields_ if field.modelled and found.missing[field.name]]
    by_column = {one.column: one for one in imputer.accuracy_}
    accuracy = [by_column[field.name] for field in incomplete]
    ratios = [one.relative for one in accuracy if np.isfinite(one.relative)]
    return render(
        "table.html",
        title=title,
        seconds=seconds,
        version=version("manifill"),
        max_lines=_MAX_LINES,
        found=found,
        accuracy=accuracy[:_MAX_LINES],
        measured=MEASURED,
        relative=np.mean(ratios) if ratios else None,
        uncertain=_uncertain(imputer, incomplete),
        sweeps=imputer.n_sweeps_,
        status=imputer.status_.value.capitalize(),
        methods={name: weight for name, weight in inner.weights_.items() if weight},
        kernels=[str(component) for component in inner.ensemble_.components],
        fields=imputer.fields_[:_MAX_LINES],
        images=_images(imputer, table, incomplete, accuracy[:_MAX_LINES]),
    )


def _images(
    imputer: TableImputer, table: Source, incomplete: list[Field], accuracy: list[VariableAccuracy]
) -> dict[str, str | None]:
    """Figures as data URIs by name; None if there is nothing to draw."""
    inner, fitted = imputer.imputer_, imputer.result_
    missing = np.column_stack([table.column(name).missing for name in table.names])
    bars = [(str(one.column), one.relative) for one in accuracy if np.isfinite(one.relative)]
    M = np.isnan(fitted.problem.given)
    by_missing = sorted(incomplete, key=lambda one: -int(M[:, one.first].sum()))
    changes = [record.change for record in inner.trace_[1:]]
    errors = [one for one in fitted.errors_by_sweep if np.isfinite(one)]
    figures = {
        "map": pictures.missing_map(missing, [str(name) for name in table.names]),
        "accuracy": pictures.accuracy([name for name, _ in bars], [one for _, one in bars]) if bars else None,
        "importances": _importances(imputer),
        "distributions": pictures.distributions(inner.completed_, M, by_missing) if incomplete else None,
        "sweeps": pictures.sweeps(changes, errors) if changes else None,
        "rows": pictures.cloud(np.asarray(fitted.fill.Z), fitted.problem.M.mean(axis=1)),
    }
    drawn = {name: figure for name, figure in figures.items() if figure is not None}
    return dict.fromkeys(figures) | {name: data_uri(png(figure, dpi=130)) for name, figure in drawn.items()}


def _importances(imputer: TableImputer) -> Figure | None:
    """Map of the learned weights; None if there are none, or too many columns to be named."""
    found = imputer.importances_
    return pictures.importances(found) if found and 2 <= len(found) <= _MAX_LINES else None


def _uncertain(imputer: TableImputer, incomplete: list[Field]) -> list[tuple[str, ...]]:
    """Table rows for the imputed cells with the largest expected error, in standard deviations."""
    inner = imputer.imputer_
    errors = inner.errors_
    expected = np.zeros(inner.completed_.shape)
    expected[errors.problem.rows] = errors.expected
    cells: list[tuple[float, int, Field]] = []
    for field in incomplete:
        if not field.variable.chosen and field.variable.width == 1:
            worst = np.argsort(-expected[:, field.first])[:_MAX_CELLS].tolist()
            cells += [(float(expected[row, field.first]), row, field) for row in worst]
    cells = sorted((one for one in cells if one[0] > 0), key=lambda one: -one[0])[:_MAX_CELLS]
    if not cells:
        return []
    tables = (inner.completed_, *imputer.result_.intervals(0.9, imputer._limits()))
    rows: list[tuple[str, ...]] = []
    for error, row, field in cells:
        fill, low, high = (_format(field, table[row, field.columns]) for table in tables)
        rows.append((f"{row + 1:,}", str(field.name), fill, f"{low} … {high}", f"{error:.2f}"))
    return rows


def _format(field: Field, numbers: Any) -> str:
    value = field.variable.decode(np.atleast_2d(numbers))[0]
    if field.kind in ("date", "date and time"):
        moment = np.datetime64(int(value), "us")
        return str(moment.astype("M8[D]" if field.kind == "date" else "M8[m]")).replace("T", " ")
    return f"{value:.5g}" if isinstance(value, float | np.floating) else str(value)
