"""The paper's experiments from the command line."""

import time
from pathlib import Path
from typing import Any

import typer

from manifill.cli.watch import console, progress_bar
from manifill.errors import DatasetNotFound, InvalidInput, MissingDependency
from manifill.experiments import EXPERIMENTS, Experiment, reproduce
from manifill.experiments.folder import SCALES, write_page
from manifill.progress import listening


def run(name: str, folder: Path, scale: str, data_dir: Path | None, seed: int) -> None:
    """One experiment or all, each written as soon as it is done, and with all of them the page."""
    if name != "all" and name not in EXPERIMENTS:
        raise InvalidInput(f"There is no experiment {name!r}; there are {', '.join(EXPERIMENTS)}, and all.")
    if scale not in SCALES:
        raise InvalidInput(f"--scale must be {' or '.join(SCALES)}; got {scale!r}.")
    if data_dir is not None and not data_dir.is_dir():
        raise InvalidInput(f"--data-dir must be a folder; there is no folder {data_dir}.")
    if folder.exists() and not folder.is_dir():
        raise InvalidInput(f"--output must be a folder; {folder} is a file.")
    chosen = list(EXPERIMENTS.values()) if name == "all" else [EXPERIMENTS[name]]
    began = time.monotonic()
    try:
        records = [_watched(one, folder, scale, data_dir, seed) for one in chosen]
    except KeyboardInterrupt:
        console.print("manifill: interrupted; the experiments that were done are written.")
        raise typer.Exit(130) from None
    seconds = time.monotonic() - began
    if name == "all":
        path = write_page(records, folder)
        console.print(f"{path}: everything on one page, in {seconds / 60:.1f} minutes.", markup=False)
    elif "why" in records[0]:
        raise typer.Exit(1)


def _watched(
    experiment: Experiment, folder: Path, scale: str, data_dir: Path | None, seed: int
) -> dict[str, Any]:
    """An experiment with a line that says how far it is; where it cannot be run, why."""
    bar = progress_bar()
    try:
        with bar:
            task = bar.add_task(experiment.title)
            with listening(lambda line: bar.update(task, description=f"{experiment.name}: {line}")):
                record = reproduce(experiment, folder, scale=scale, data_dir=data_dir, seed=seed)
    except (DatasetNotFound, MissingDependency) as missing:
        console.print(f"{experiment.name}: not run. {missing}", markup=False, highlight=False, soft_wrap=True)
        return {"experiment": experiment.name, "title": experiment.title, "why": str(missing)}
    console.print(f"{experiment.name}, {record['seconds']:.0f} s, on {record['data']}", markup=False)
    for claim in record["claims"]:
        mark = "✓" if claim["holds"] else "✗"
        line = f"  {mark} {claim['claim']} {claim['found']} {claim['reason']}"
        console.print(line.rstrip(), markup=False, highlight=False, soft_wrap=True)
    return record
