"""Writes results: per benchmark a Markdown page, a CSV file and figures, with machine and versions."""

import csv
import hashlib
import os
import platform
import subprocess
from collections.abc import Collection, Mapping
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from matplotlib.figure import Figure
from rich.table import Table
from rich.text import Text
from threadpoolctl import threadpool_info

from benchmarks import memory

ROOT = Path(__file__).parents[1]
FOLDER = Path(__file__).parent / "results"
LIBRARIES = ("manifill", "numpy", "scipy", "scikit-learn", "numba", "torch")

Figures = Mapping[str, Figure]
Result = Table | tuple[Table, Figures]
"""Result of a benchmark: a table, or a table and figures by file name."""


def parts(result: Result) -> tuple[Table, Figures]:
    """The table and the figures of a result."""
    return (result, {}) if isinstance(result, Table) else result


def write(name: str, result: Result, folder: Path, smoke: bool = False) -> None:
    """Write NAME.md, NAME.csv and a PNG per figure to the folder, which is created if necessary."""
    table, figures = parts(result)
    folder.mkdir(parents=True, exist_ok=True)
    for file, figure in figures.items():
        figure.savefig(folder / f"{file}.png")
    header, rows = _cells(table)
    with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([[cell.plain.strip() for cell in row] for row in (header, *rows)])
    lines = [f"# {name}", ""]
    if smoke:
        lines += [
            "**Smoke scale: tiny data, to check that it runs. The numbers are meaningless.**",
            "",
        ]
    lines += [f"- {fact}: {value}" for fact, value in environment().items()]
    lines += ["", *markdown(table)]
    lines += [line for file in figures for line in ("", f"![{file}]({file}.png)")]
    (folder / f"{name}.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def environment() -> dict[str, str]:
    """Date, machine, versions of the libraries, and commit."""
    return {
        "date": datetime.now().astimezone().isoformat(" ", "seconds"),
        "machine": f"{_processor()}, {os.cpu_count()} cores, {memory.total() / 1024:.0f} GB",
        "Python": f"{platform.python_version()} on {platform.system()}",
        "libraries": ", ".join(f"{name} {number}" for name in LIBRARIES if (number := _version(name))),
        "BLAS": ", ".join(sorted({_blas(library) for library in threadpool_info()} - {""})),
        "commit": _commit(),
    }


def markdown(table: Table) -> list[str]:
    """Lines of the table in Markdown, with its title and caption."""
    header, rows = _cells(table)
    lines = [f"**{_text(table.title).plain}**", ""] if table.title else []
    lines += [_markdown_row(header), "|---" * len(header) + "|", *map(_markdown_row, rows)]
    return lines + (["", _text(table.caption).plain] if table.caption else [])


def _cells(table: Table) -> tuple[list[Text], list[list[Text]]]:
    header = [_text(column.header) for column in table.columns]
    columns = [[_text(cell) for cell in column.cells] for column in table.columns]
    return header, [list(row) for row in zip(*columns, strict=True)]


def _text(cell: object) -> Text:
    return cell if isinstance(cell, Text) else Text.from_markup(str(cell or ""))


def _markdown_row(cells: list[Text]) -> str:
    return "| " + " | ".join(map(_markdown_cell, cells)) + " |"


def _markdown_cell(cell: Text) -> str:
    """A cell in Markdown, bold if it is bold in rich."""
    plain = cell.plain.strip().replace("|", "\\|").replace("\n", " ")
    return f"**{plain}**" if plain and any(span.style == "bold" for span in cell.spans) else plain


def _processor() -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.is_file() else []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _blas(library: dict[str, object]) -> str:
    if library["user_api"] != "blas":
        return ""
    return (
        f"{library['internal_api']} {library['version']} for {library.get('architecture', 'this machine')}, "
        f"{library['num_threads']} threads"
    )


def source_hash(folder: str, without: Collection[str] = ()) -> str:
    """Hash of the Python files in a folder, without some of its packages."""
    digest = hashlib.sha1(usedforsecurity=False)
    for path in sorted((ROOT / folder).rglob("*.py")):
        if path.relative_to(ROOT / folder).parts[0] not in without:
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _commit() -> str:
    try:
        commit = _git("rev-parse", "--short", "HEAD")
        return f"{commit}, with uncommitted changes" if _git("status", "--porcelain") else commit
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()
