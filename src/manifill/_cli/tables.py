"""The commands `inspect`, `compare` and `ampute`."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

from manifill import amputation, tables
from manifill._cli import ending, options
from manifill._cli.watch import printable, progress_bar, say
from manifill._estimators import compare as compare_fills
from manifill._estimators.comparing import Comparison
from manifill._files import tables as files
from manifill._messages import listening
from manifill.errors import InvalidInput, InvalidOption
from manifill.tables import Encoding, Inspection

MOST_SHOWN = 40
_MECHANISMS = ("mcar", "mar", "mnar")


def inspect(source: Path, types: dict[str, str], reading: dict[str, Any], as_json: bool) -> None:
    """Print which values are missing."""
    table = files.read(source, types=types, **reading)
    with options.checking_options():
        found = tables.inspect(table, types)
    if as_json:
        print(json.dumps(_inspection(found), indent=1, default=str))
    else:
        _show(found)


def _inspection(found: Inspection) -> dict[str, Any]:
    return {
        "rows": found.rows,
        "cells": found.cells,
        "missing": sum(found.missing.values()),
        "complete_rows": found.complete_rows,
        "empty_rows": found.empty_rows,
        "columns": [
            {"name": one.name, "type": one.kind, "because": one.reason, "missing": found.missing[one.name]}
            for one in found.fields
        ],
        "patterns": [{"missing": list(one.columns), "rows": one.rows} for one in found.patterns],
        "likely_mcar": found.likely_mcar,
        "verdict": found.verdict,
        "relations": [vars(one) for one in found.relations],
    }


def _show(found: Inspection) -> None:
    out = Console()
    total = sum(found.missing.values())
    out.print(
        f"{found.rows:,} rows, {len(found.fields)} columns; {total:,} of {found.cells:,} values are missing "
        f"({total / max(found.cells, 1):.1%}); {found.complete_rows:,} rows are complete.",
        highlight=False,
    )
    grid = Grid("column", "type", "missing", "", "because", box=None)
    most = sorted(found.fields, key=lambda one: -found.missing[one.name])[:MOST_SHOWN]
    for one in found.fields:
        if one in most:
            share = found.missing[one.name] / found.rows
            bar = "█" * round(20 * share) or ("▏" if share else "")
            grid.add_row(
                escape(printable(one.name)),
                one.kind,
                f"{found.missing[one.name]:,} ({share:.0%})",
                bar,
                one.reason,
            )
    if len(found.fields) > MOST_SHOWN:
        grid.caption = f"the {MOST_SHOWN} of {len(found.fields)} columns with the most missing values"
    out.print(grid)
    if total:
        patterns = Grid("rows", "missing together", box=None, title="Patterns", title_justify="left")
        for pattern in found.patterns:
            names = ", ".join(map(printable, pattern.columns[:8])) + (
                ", …" if len(pattern.columns) > 8 else ""
            )
            patterns.add_row(f"{pattern.rows:,}", escape(names) or "nothing")
        out.print(patterns)
    out.print(printable(found.verdict), markup=False, highlight=False)


def compare(
    source: Path, types: dict[str, str], reading: dict[str, Any], share: float, seed: int, as_json: bool
) -> None:
    """Print which method fills held-out values best."""
    if not 0 < share <= 0.5:
        raise InvalidOption(f"--share must be above 0 and at most 0.5; got {share:g}.")
    table = files.read(source, types=types, **reading)
    with options.checking_options():
        Encoding.of(table, types)
    with progress_bar() as bar:
        task = bar.add_task("holding out known values")
        with listening(lambda line: bar.update(task, description=line)):
            found = compare_fills(table, types=types, share=share, random_state=seed)
    if as_json:
        print(json.dumps(_comparison(found), indent=1, default=str))
        return
    out = Console()
    methods = list(found.seconds)
    grid = Grid("column", "type", "held out", *methods, "in", box=None)
    for one in found.scores:
        best = min(one.errors.values())
        share_wrong = one.measure == "wrong"
        cells = [
            f"{'[bold]' if error == best else ''}{f'{error:.1%}' if share_wrong else f'{error:.4g}'}"
            for error in one.errors.values()
        ]
        measure = "wrong" if share_wrong else "RMSE"
        grid.add_row(escape(printable(one.column)), one.kind, f"{one.held_out:,}", *cells, measure)
    grid.add_section()
    grid.add_row("relative", "", "", *(f"{one:.3f}" for one in found.overall.values()))
    grid.add_row("seconds", "", "", *(f"{one:.1f}" for one in found.seconds.values()))
    out.print(grid)
    best_method = min(found.overall, key=lambda method: found.overall[method])
    out.print(f"Best over all columns: {best_method}.", highlight=False)


def _comparison(found: Comparison) -> dict[str, Any]:
    return {
        "overall": found.overall,
        "seconds": found.seconds,
        "columns": [{**vars(one)} for one in found.scores],
    }


def ampute(
    source: Path,
    output: Path,
    rate: float,
    mechanism: str,
    types: dict[str, str],
    reading: dict[str, Any],
    seed: int,
    force: bool,
) -> None:
    """Write the table with some values removed."""
    with options.checking_options():
        files.check_output(output)
        files.check_replaceable(output, force)
        if mechanism not in _MECHANISMS:
            raise InvalidInput(f"--mechanism must be one of {', '.join(_MECHANISMS)}; got {mechanism!r}.")
        if not 0 < rate < 1:
            raise InvalidInput(f"--rate must be a share between 0 and 1, such as 0.2; got {rate}.")
    files.check_space(source, [output] if output != files.PIPE else [])
    table = files.read(source, types=types, **reading)
    with options.checking_options():
        encoding = Encoding.of(table, types, None)
    fields = list(encoding)
    first = encoding.encode(table)[:, [field.first for field in fields]]
    if mechanism == "mcar":
        M = amputation.mcar(first.shape, rate, seed)
    else:
        whole = np.where(np.isnan(first), np.nanmean(first, axis=0), first)
        M = getattr(amputation, mechanism)(whole, rate, seed)
    M &= ~np.isnan(first)
    removed = {field.name: np.flatnonzero(M[:, j]) for j, field in enumerate(fields)}
    with ending.outputs():
        files.write(table.without(removed), {}, output)
    share = M.sum() / max((~np.isnan(first)).sum(), 1)
    say(f"{output}: removed {M.sum():,} values, {share:.1%} of the known values that can be filled.")
