"""The command `impute`: read, fill and write a table."""

import json
import math
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import Any

from manifill._cli import ending
from manifill._cli.options import checking_options
from manifill._cli.summary import say_summary, show_plan, summary_of
from manifill._cli.watch import fit_watched, say
from manifill._estimators import TableImputer
from manifill._estimators.predictors import require_default_method
from manifill._files import tables as files
from manifill.errors import InvalidInput, MissingDependency
from manifill.tables import Cyclic, Fills, Flag, Moment, Quantity


@dataclass(frozen=True)
class Request:
    """The options of one call."""

    source: Path
    output: Path
    columns: list[str]
    types: dict[str, str]
    bounds: dict[str, tuple[float | str | None, float | str | None]]
    predictors: dict[str, list[str]]
    exclude: list[str]
    time: str | None
    reading: dict[str, Any]
    effort: str | None
    estimate: str | None
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
    dry_run: bool

    @property
    def tables_of_draws(self) -> list[Path]:
        return [_numbered(self.output, i + 1) for i in range(self.draws)]

    @property
    def outputs(self) -> list[Path]:
        return [
            path
            for path in (self.output, *self.tables_of_draws, self.report, self.save)
            if path not in (None, files.PIPE)
        ]


def run(request: Request, as_json: bool) -> None:
    """Read, fill and write the table, and print a summary."""
    began = monotonic()
    with checking_options():
        _check(request)
        files.check_output(request.output)
    files.check_space(request.source, request.outputs)
    loaded = None if request.model is None else TableImputer.load(request.model)
    imputer, types = loaded or _unfitted(request), request.types
    if loaded:
        kinds = (Quantity, Cyclic, Flag, Moment)
        as_text = [field.name for field in loaded.fields_ if not isinstance(field.variable, kinds)]
        types = {**dict.fromkeys(as_text, "text"), **request.types}
    table = files.read(request.source, types=types, **request.reading)
    with checking_options():
        _check_table(request, table)
        fields = loaded.fields_ if loaded else imputer.encoding_of(table).fields
    if request.dry_run:
        show_plan(request, table, fields, as_json)
        return
    fills: Fills = loaded.transform(table) if loaded else _fitted(imputer, request, table).completed_
    chosen = _only(fills, request.columns)
    _write(request, imputer, table, chosen, began)
    summary = summary_of(request, imputer, table, chosen, monotonic() - began)
    if as_json:
        out = sys.stderr if request.output == files.PIPE else sys.stdout
        print(json.dumps(summary, indent=1, default=str), file=out)
    else:
        say_summary(summary)


def _check(request: Request) -> None:
    """Raise, before any work is done, if the request cannot be met."""
    if request.model is not None:
        fit_only = ("bounds", "predictors", "exclude", "time", "effort", "estimate", "max_sweeps")
        names = (*fit_only, "save", "report", "draws")
        formats = all(kind.startswith("date:") for kind in request.types.values())
        _refuse([*([] if formats else ["types"]), *(name for name in names if getattr(request, name))])
    if request.time is not None and (request.predictors or request.exclude):
        require_default_method(["--time"])
    if request.intervals is not None and not 0 < request.intervals < 1:
        raise InvalidInput(f"--intervals must lie between 0 and 1, such as 0.9; got {request.intervals:g}.")
    if request.intervals is not None and request.output.suffix.lower() == ".npy":
        raise InvalidInput(
            "--intervals adds named columns, which a .npy file cannot hold; write a .csv file."
        )
    if request.time_limit is not None and not 0 < request.time_limit < math.inf:
        raise InvalidInput(f"--time-limit must be a number of seconds above 0; got {request.time_limit:g}.")
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


def _unfitted(request: Request) -> TableImputer:
    return TableImputer(
        request.types,
        bounds=request.bounds,
        predictors=request.predictors,
        exclude=request.exclude,
        time=request.time,
        effort=request.effort or "balanced",
        estimate=request.estimate or "mean",
        max_sweeps="auto" if request.max_sweeps is None else request.max_sweeps,
        time_limit=request.time_limit,
        random_state=request.seed,
    )


def _fitted(imputer: TableImputer, request: Request, table: files.FrameFile) -> TableImputer:
    try:
        fit_watched(imputer, table)
    except KeyboardInterrupt:
        if not request.keep_last or not hasattr(imputer, "result_"):
            raise
        ending.go_on()
        say("manifill: interrupted; using the last full pass.")
    return imputer


def _write(
    request: Request, imputer: TableImputer, table: files.FrameFile, fills: Fills, began: float
) -> None:
    """Write all files; they appear together, or none does."""
    extra = {} if request.intervals is None else _ends(request, imputer, table)
    with ending.outputs():
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
    suffix = path.name[len(path.name) - len(files.ending_of(path)) :]
    return path.with_name(f"{path.name.removesuffix(suffix)}-draw{number}{suffix}")


def _check_table(request: Request, table: files.FrameFile) -> None:
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


def _ends(request: Request, imputer: TableImputer, table: files.FrameFile) -> files.Extra:
    """Two extra columns per filled column: the interval limits, empty where the value is known."""
    low, high = imputer.intervals(request.intervals or 0.9, None if request.model is None else table)
    extra: files.Extra = {}
    for name in low:
        for end, fills in (("low", low), ("high", high)):
            extra[f"{name}_{end}"] = (name, *fills[name])
    return extra
