"""Output files: CSV, PNG, SVG and a JSON record for every experiment, and one HTML page for all."""

import csv
import json
import platform
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from manifill._experiments.base import Experiment, Outcome
from manifill._experiments.page import page
from manifill._files import atomic_write
from manifill.errors import InvalidInput, MissingDependency

LIBRARIES = ("manifill", "numpy", "scipy", "scikit-learn", "numba", "matplotlib")
SCALES = ("smoke", "paper")


def reproduce(
    experiment: Experiment, folder: Path, *, scale: str = "paper", data_dir: Path | None = None, seed: int = 0
) -> dict[str, Any]:
    """Run an experiment, write its results into the folder and return the record."""
    if scale not in experiment.scales:
        raise InvalidInput(f"scale must be one of {', '.join(experiment.scales)}; got {scale!r}.")
    missing = [library for library in experiment.needs if find_spec(library) is None]
    if missing:
        raise MissingDependency(
            f"Experiment {experiment.name} needs {', '.join(missing)}: "
            "pip install 'manifill[plots,images,video]'."
        )
    folder.mkdir(parents=True, exist_ok=True)
    config = experiment.scales[scale]
    began = time.perf_counter()
    outcome = experiment.run(config, data_dir, seed)
    record = _record(experiment, scale, config, seed, outcome, time.perf_counter() - began)
    _write(experiment.name, outcome, record, folder)
    return record


def write_page(records: Iterable[Mapping[str, Any]], folder: Path) -> Path:
    """Write index.html, a self-contained page with the paper's claims and the results."""
    path = folder / "index.html"
    with atomic_write(path, "w", encoding="utf-8") as file:
        file.write(page(list(records), folder))
    return path


def _record(
    experiment: Experiment, scale: str, config: Any, seed: int, outcome: Outcome, seconds: float
) -> dict[str, Any]:
    """The settings needed to repeat the run, the claims with their results, and the names of the files."""
    name = experiment.name
    return {
        "experiment": name,
        "title": experiment.title,
        "where": experiment.where,
        "scale": scale,
        "configuration": asdict(config),
        "seed": seed,
        "data": outcome.data,
        "seconds": round(seconds, 2),
        "date": datetime.now().astimezone().isoformat(timespec="seconds"),
        "machine": f"{platform.machine()}, Python {platform.python_version()} on {platform.system()}",
        "versions": {library: _version(library) for library in LIBRARIES},
        "claims": [asdict(claim) for claim in outcome.claims],
        "figures": [_file(name, figure) for figure in outcome.figures],
        "extra": [_file(name, extra) for extra in outcome.extra],
    }


def _write(name: str, outcome: Outcome, record: Mapping[str, Any], folder: Path) -> None:
    with atomic_write(folder / f"{name}.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(outcome.rows[0]) if outcome.rows else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: _short(value) for key, value in row.items()} for row in outcome.rows)
    for label, figure in outcome.figures.items():
        for kind in ("png", "svg"):
            with atomic_write(folder / f"{_file(name, label)}.{kind}", "wb") as file:
                figure.savefig(
                    file,
                    format=kind,
                    bbox_inches="tight",  # do not cut off labels next to pictures
                    metadata={"Date": None} if kind == "svg" else None,
                )
    for label, write in outcome.extra.items():
        write(folder / _file(name, label))
    with atomic_write(folder / f"{name}.json", "w", encoding="utf-8") as file:
        json.dump(record, file, indent=2, ensure_ascii=False)


def _file(name: str, label: str) -> str:
    return f"{name}_{label}" if label else name


def _short(value: Any) -> Any:
    return f"{value:.6g}" if isinstance(value, float) else value


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "not installed"
