"""Fitted imputers in files: arrays and JSON, nothing that runs, so that a stranger's file is safe to load.

A file is a zip archive of NumPy arrays without pickles. One of them, `manifest`, is JSON: the number of the
format, the version that wrote it, the variables, kernels and solvers by name, from a list of those we know.
"""

import dataclasses
import json
import zipfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from manifill._arrays import Array, frozen
from manifill._files import atomic_write
from manifill._fillers import Fill, Run, Status, SweepRecord
from manifill._fillers.field import FieldFill, FieldFiller
from manifill._fillers.field.stages import COLUMNS
from manifill._fillers.lags import Interpolation, LagFill, LaggedSweeper, with_lags
from manifill._fillers.sweep import Component, Ensemble, Schedule, Sweeper, SweepFill
from manifill._problem import Problem
from manifill._result import Fitted
from manifill._validation import Accuracy, ColumnAccuracy, Evidence
from manifill.errors import InvalidInput
from manifill.kernels import Cosine, Gaussian, Laplacian, Polynomial, SemiLinear, bandwidth
from manifill.layouts import Affinities, Grid, Learned
from manifill.solvers import Landmarks, Local, Ridge
from manifill.tables import Category, Cyclic, Field, Fields, Flag, Moment, Ordered, Quantity, Untouched

FORMAT = 4
"""Raised when an older manifill could not read what this one writes."""

_KNOWN = {
    known.__name__: known
    for known in (
        *(Category, Cyclic, Flag, Moment, Ordered, Quantity, Untouched),
        *(Gaussian, Laplacian, SemiLinear, Polynomial, Cosine),
        *(bandwidth.Fixed, bandwidth.MedianDistance, bandwidth.NeighborDistance, bandwidth.LogSumSlope),
        *(Ridge, Landmarks, Local),
        *(Affinities, Grid, Learned),
        *(Field, Component, Schedule, SweepRecord),
    )
}
_EVIDENCE = tuple(one.name for one in dataclasses.fields(Evidence) if one.name != "share")


def save(path: Path, fields: Fields, fitted: Fitted, tol: float) -> None:
    """Write what is needed to fill new rows, whole or not at all."""
    odd = [field.name for field in fields if not isinstance(field.name, str | int)]
    if odd:
        raise InvalidInput(
            f"Columns of a model that is saved must have text or whole numbers for names; got {odd}."
        )
    problem, evidence, layout = fitted.problem, fitted.evidence, fitted.problem.layout
    sweeper, swept = fitted.sweeper, _swept(fitted)
    manifest = {
        "format": FORMAT,
        "version": version("manifill"),
        "fields": [_to_json(field) for field in fields],
        "components": [] if sweeper is None else [_to_json(one) for one in sweeper.ensemble.components],
        "layout": "affinities" if isinstance(layout, Affinities) else _to_json(layout),
        "groups": problem.groups,
        "fills": {
            name: {"blocks": [block.tolist() for block in fill.blocks], "seed": fill.seed}
            for name, fill in swept.items()
        },
        "trace": [_to_json(record) for record in fitted.fill.trace],
        "status": fitted.fill.status.name,
        "weights": dict(fitted.weights),
        "filler_errors": dict(fitted.filler_errors),
        "max_sweeps": 1 if sweeper is None else sweeper.extension_sweeps,
        "tol": tol,
        "share": evidence.share,
    }
    accuracy = [[one.error, one.mean_error, one.held_out, one.shrinkage] for one in fitted.accuracy]
    arrays = {
        "given": problem.given,
        "weights": problem.scaling.weight,
        "bounds": problem.bounds,
        "Z": np.asarray(fitted.fill.Z),
        "accuracy": np.array(accuracy, dtype=np.float64).reshape(-1, 4),
        **{f"held_out_{name}": getattr(evidence, name) for name in _EVIDENCE},
        **{f"Z of {name}": np.asarray(fill.Z) for name, fill in swept.items()},
        **({"moments": problem.moments} if problem.moments is not None else {}),
        **({"affinities": layout.matrix} if isinstance(layout, Affinities) else {}),
        "shrinkage": fitted.ensemble.shrinkage_of(np.arange(problem.shape[1])),
    }
    text = np.frombuffer(json.dumps(manifest).encode(), dtype=np.uint8)
    with atomic_write(path, "wb") as file:
        np.savez_compressed(file, manifest=text, **arrays)


def _swept(fitted: Fitted) -> dict[str, Any]:
    """Fills of the sweeps that new rows are filled from."""
    fillers = [one for one in fitted.fillers if isinstance(one, Sweeper | LaggedSweeper)]
    fills = {filler.name: fitted.fill_of(filler) for filler in fillers}
    return {name: fill.inner if isinstance(fill, LagFill) else fill for name, fill in fills.items()}


def load(path: Path) -> tuple[Fields, Fitted, float]:
    """Read what `save` wrote; refuse what it did not."""
    manifest, arrays = _read(path)
    try:
        fields = Fields(_from_json(one) for one in manifest["fields"])
        fitted = _fitted(manifest, arrays)
        width = fields[-1].columns.stop
        if np.shape(fitted.fill.Z) != fitted.problem.shape or width != fitted.problem.shape[1]:
            raise ValueError
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise InvalidInput(f"{path} is damaged, or no model of manifill's; save it again.") from error
    return fields, fitted, float(manifest["tol"])


def _fitted(manifest: dict[str, Any], arrays: dict[str, Array]) -> Fitted:
    layout = Affinities(arrays["affinities"]) if "affinities" in arrays else _from_json(manifest["layout"])
    problem = Problem.of(
        arrays["given"],
        groups=manifest["groups"],
        bounds=arrays["bounds"],
        weights=arrays["weights"],
        layout=layout,
        moments=arrays.get("moments"),
    )
    trace, status = tuple(_from_json(one) for one in manifest["trace"]), Status[manifest["status"]]
    fill = Fill(problem, frozen(arrays["Z"]), trace, status)
    fillers: list[Any] = []
    fills: dict[str, Fill] = {}
    if manifest["components"]:
        ensemble = Ensemble(
            tuple(_from_json(one) for one in manifest["components"]), frozen(arrays["shrinkage"])
        )
        sweeper = Sweeper(ensemble, tol=manifest["tol"], max_sweeps=manifest["max_sweeps"])
        lagged = [LaggedSweeper(sweeper)] if LaggedSweeper.name in manifest["fills"] else []
        fillers = [*([] if problem.moments is None else [Interpolation()]), sweeper, *lagged]
        for name, one in manifest["fills"].items():
            of = with_lags(problem) if name == LaggedSweeper.name else problem
            blocks = tuple(np.array(block, dtype=np.intp) for block in one["blocks"])
            Z = frozen(arrays[f"Z of {name}"])
            swept = SweepFill(of, Z, trace, status, name, blocks, one["seed"])
            if Z.shape != of.shape:
                raise ValueError
            fills[name] = swept if of is problem else LagFill(problem, Z[:, : problem.shape[1]], inner=swept)
    else:
        fillers = [FieldFiller((COLUMNS,))]
        fills = {COLUMNS.name: FieldFill(problem, fill.Z, trace, status)}
    held_out: dict[str, Any] = {name: arrays[f"held_out_{name}"] for name in _EVIDENCE}
    evidence = Evidence(**held_out, share=manifest["share"])
    accuracy = Accuracy(
        ColumnAccuracy(j, float(error), float(mean_error), int(count), float(shrinkage))
        for j, (error, mean_error, count, shrinkage) in enumerate(arrays["accuracy"])
    )
    judged = evidence, accuracy
    weights, errors = manifest["weights"], manifest["filler_errors"]
    return Fitted(problem, fill, weights, errors, tuple(fillers), fills, None, Run(), 0, judged)


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Array]]:
    if not path.is_file():
        raise InvalidInput(f"There is no file {path}.")
    try:
        with np.load(path, allow_pickle=False) as archive:
            manifest = json.loads(archive["manifest"].tobytes().decode())
            form = manifest["format"]
            arrays = {name: archive[name] for name in archive.files} if form == FORMAT else {}
    except (OSError, ValueError, KeyError, EOFError, TypeError, AttributeError, zipfile.BadZipFile) as error:
        raise InvalidInput(f"{path} is damaged, or no model of manifill's; save it again.") from error
    if form != FORMAT:
        raise InvalidInput(
            f"{path} was written by manifill {manifest.get('version')} in format {form}; this is manifill "
            f"{version('manifill')}, which reads format {FORMAT}. Save the model again with this one."
        )
    return manifest, arrays


def _to_json(value: Any) -> Any:
    """A dataclass as its name and fields; anything else as it is, if JSON can hold it."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        name = type(value).__name__
        if name not in _KNOWN:
            raise InvalidInput(f"A model with {name} cannot be saved; there are {', '.join(sorted(_KNOWN))}.")
        return {
            "is": name,
            **{one.name: _to_json(getattr(value, one.name)) for one in dataclasses.fields(value)},
        }
    if isinstance(value, tuple | list):
        return {"tuple": [_to_json(one) for one in value]}
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise InvalidInput(f"A model with the value {value!r} of type {type(value).__name__} cannot be saved.")


def _from_json(data: Any) -> Any:
    """The value that `_to_json` wrote; a class by its name among those known, and no other."""
    if isinstance(data, dict) and "tuple" in data:
        return tuple(_from_json(one) for one in data["tuple"])
    if isinstance(data, dict):
        fields = {key: _from_json(value) for key, value in data.items() if key != "is"}
        return _KNOWN[data["is"]](**fields)
    return data
