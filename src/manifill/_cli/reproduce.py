"""The paper's experiments from the command line."""

import os
import time
from pathlib import Path
from typing import Any

import typer

from manifill._cli import ending
from manifill._cli.watch import progress_bar, say
from manifill._experiments import EXPERIMENTS, Experiment, reproduce
from manifill._experiments.folder import SCALES, write_page
from manifill._experiments.page import is_synthetic
from manifill._messages import listening
from manifill.errors import DatasetNotFound, InvalidInput, MissingDependency


def run(name: str, folder: Path, scale: str, data_dir: Path | None, seed: int) -> None:
    """Run one experiment or all. Each is written when it is done; after all of them, the page is written."""
    if name != "all" and name not in EXPERIMENTS:
        raise InvalidInput(f"There is no experiment {name!r}; there are {', '.join(EXPERIMENTS)}, and all.")
    if scale not in SCALES:
        raise InvalidInput(f"--scale must be {' or '.join(SCALES)}; got {scale!r}.")
    if data_dir is not None and not data_dir.is_dir():
        raise InvalidInput(f"--data-dir must be a folder; there is no folder {data_dir}.")
    named = os.environ.get("MANIFILL_DATA")
    if data_dir is None and named and not Path(named).is_dir():
        raise InvalidInput(f"MANIFILL_DATA must name a folder; there is no folder {named}.")
    _make_folder(folder)
    chosen = list(EXPERIMENTS.values()) if name == "all" else [EXPERIMENTS[name]]
    began = time.monotonic()
    ending.explain(f"finished experiments are in {folder}")
    records = [_watched(one, folder, scale, data_dir, seed) for one in chosen]
    seconds = time.monotonic() - began
    if name == "all":
        path = write_page(records, folder)
        say(f"{path}: everything on one page, in {seconds / 60:.1f} minutes.")
    elif "why" in records[0]:
        raise typer.Exit(1)
    else:
        say(f"Written to {folder}/{name}.*")


def _make_folder(folder: Path) -> None:
    """Create the output folder, or raise before any work is done."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(
            f"--output must be a folder; {folder} cannot be made: {error.strerror}."
        ) from error
    if not os.access(folder, os.W_OK):
        raise InvalidInput(f"--output must be a folder that can be written to; {folder} cannot.")


def _watched(
    experiment: Experiment, folder: Path, scale: str, data_dir: Path | None, seed: int
) -> dict[str, Any]:
    """Run an experiment with a progress line; if it cannot run, return the reason."""
    bar = progress_bar()
    try:
        with bar:
            task = bar.add_task(experiment.title)
            with listening(lambda line: bar.update(task, description=f"{experiment.name}: {line}")):
                record = reproduce(experiment, folder, scale=scale, data_dir=data_dir, seed=seed)
    except (DatasetNotFound, MissingDependency) as missing:
        say(f"{experiment.name}: not run. {missing}")
        return {"experiment": experiment.name, "title": experiment.title, "why": str(missing)}
    say(f"{experiment.name}, {record['seconds']:.0f} s, on {record['data']}")
    synthetic = is_synthetic(record)
    for claim in record["claims"]:
        mark = "·" if synthetic else "✓" if claim["holds"] else "✗"
        line = f"  {mark} {claim['claim']} {claim['found']} {claim['reason']}"
        say(line.rstrip())
    return record
