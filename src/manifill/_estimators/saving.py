"""Fitted imputers in files: arrays and JSON, nothing that is executed, so files of others are safe to load.

New rows are filled from the training rows, so the file contains the training data as numbers.

A file is a zip archive of NumPy arrays without pickles (`archive`). One array, `manifest`, is JSON text:
format number, version of manifill, and the fitted objects. Objects are stored by class name, from a fixed
list, and by their fields; arrays inside them are stored as separate members of the archive.

Why not skops: it stores module paths, so moving a class would break saved models; it cannot refuse a file
by its size before reading it; and it would be one more dependency for the same number of lines.
"""

import dataclasses
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from manifill._arrays import Array, frozen
from manifill._checks import require_number
from manifill._estimators import archive, checking
from manifill._estimators.options import as_estimate
from manifill._files import atomic_write
from manifill._fillers import Fill, Run, Status, SweepRecord
from manifill._fillers.field import FieldFill, FieldFiller
from manifill._fillers.field.stages import COLUMNS
from manifill._fillers.lags import Interpolation, LagFill, LaggedSweeper, with_lags
from manifill._fillers.metric import (
    Copies,
    MetricFill,
    MetricFiller,
    MetricSweep,
    Preset,
    Trees,
    Tuned,
    targets,
)
from manifill._fillers.sweep import Component, Ensemble, Schedule, Sweeper, SweepFill
from manifill._problem import Problem
from manifill._result import Fitted
from manifill._validation import Accuracy, ColumnAccuracy, Evidence
from manifill.errors import InvalidInput
from manifill.kernels import Cosine, Gaussian, Laplacian, Polynomial, SemiLinear, bandwidth
from manifill.layouts import Affinities, Grid, Learned
from manifill.solvers import Landmarks, Local, Ridge
from manifill.tables import Category, Cyclic, Field, Fields, Flag, Moment, Ordered, Quantity, Untouched

FORMAT = 11
"""Increased when an older manifill could not read the files of this one."""

# Most sweeps over new rows that a file may ask for.
_MAX_SWEEPS = 100_000

_KNOWN = {
    known.__name__: known
    for known in (
        *(Category, Cyclic, Flag, Moment, Ordered, Quantity, Untouched),
        *(Gaussian, Laplacian, SemiLinear, Polynomial, Cosine),
        *(bandwidth.Fixed, bandwidth.MedianDistance, bandwidth.NeighborDistance, bandwidth.LogSumSlope),
        *(Ridge, Landmarks, Local),
        *(Affinities, Grid, Learned),
        *(Field, Component, Schedule, SweepRecord, Evidence, ColumnAccuracy, Preset, Tuned, Trees),
    )
}


def save(path: Path, fields: Fields, fitted: Fitted, tol: float, notations: dict[str, Any]) -> None:
    """Write everything that filling new rows needs; the file is complete or not there."""
    invalid = [field.name for field in fields if not isinstance(field.name, str | int)]
    if invalid:
        raise InvalidInput(f"Column names must be text or whole numbers to save a model; got {invalid}.")
    problem, sweeper = fitted.problem, fitted.sweeper
    content = {
        "fields": fields,
        "problem": {
            "X": problem.given,
            "groups": problem.groups,
            "bounds": problem.bounds,
            "weights": problem.scaling.weight,
            "layout": problem.layout,
            "moments": problem.moments,
            "allowed": problem.predictors.allowed,
        },
        "rows": problem.rows,
        "Z": np.asarray(fitted.fill.Z),
        "trace": fitted.fill.trace,
        "status": fitted.fill.status.name,
        "components": () if sweeper is None else sweeper.ensemble.components,
        "shrinkage": fitted.ensemble.shrinkage_of(np.arange(problem.shape[1])),
        "fills": _sweep_fills(fitted),
        "learned": _learned(fitted),
        "weights": dict(fitted.weights),
        "filler_errors": dict(fitted.filler_errors),
        "max_sweeps": 1 if sweeper is None else sweeper.extension_sweeps,
        "tol": tol,
        "evidence": fitted.evidence,
        "accuracy": fitted.accuracy_of_means,
        "estimate": fitted.estimate,
        "notations": notations,
    }
    arrays: dict[str, Any] = {}
    manifest = {"format": FORMAT, "version": version("manifill"), "content": _to_json(content, arrays)}
    with atomic_write(path, "wb") as file:
        archive.write(file, manifest, arrays)


def _sweep_fills(fitted: Fitted) -> dict[str, Any]:
    """Name → fill, blocks and seed of the sweeps from which new rows are filled."""
    fills = {}
    for filler in fitted.fillers:
        if isinstance(filler, Sweeper | LaggedSweeper):
            fill = fitted.fill_of(filler)
            swept: Any = fill.inner if isinstance(fill, LagFill) else fill
            fills[filler.name] = {"Z": np.asarray(swept.Z), "blocks": swept.blocks, "seed": swept.seed}
    return fills


def _learned(fitted: Fitted) -> dict[str, Any] | None:
    """What the sweeps with learned metrics need to fill new rows; None if there are none."""
    filler, fill = fitted.fillers[0], fitted.fills.get(MetricFiller.name)
    if not isinstance(filler, MetricFiller) or not isinstance(fill, MetricFill) or not fill.sweeps:
        return None
    copies = fill.sweeps[0].copies
    return {
        "preset": filler.preset,
        "rows": copies.rows,
        "fold": copies.fold,
        "sweeps": [
            (
                *(one.members, one.centres, one.copies.hidden, one.copies.completed),
                *(one.weights, one.strength, one.errors, one.shares),
            )
            for one in fill.sweeps
        ],
    }


Loaded = tuple[Fields, Fitted, float, dict[str, Any]]
"""Columns, fitted objects, tolerance, and how values of columns are written."""


def load(path: Path, max_bytes: int) -> Loaded:
    """Read a file that `save` wrote; raise `InvalidInput` for any other.

    `max_bytes` limits the memory of what is read, since a small archive can unpack to any size.
    """
    require_number("max_bytes", max_bytes, least=1, whole=True)
    if not path.is_file():
        raise InvalidInput(f"There is no file {path}.")
    try:
        manifest, arrays = archive.read(path, max_bytes, partial(_check_format, path))
        content = _from_json(manifest["content"], arrays)
        del manifest, arrays
        return _loaded(content)
    except archive.Refused as error:
        raise InvalidInput(str(error)) from None
    except MemoryError:
        raise InvalidInput(f"There is not enough memory to load {path}.") from None
    except Exception as error:  # a damaged file can fail anywhere: zlib, JSON, NumPy, our own checks
        raise InvalidInput(f"{path} is damaged, or no model of manifill's; save it again.") from error


def _loaded(content: dict[str, Any]) -> Loaded:
    fields, notations = Fields(content["fields"]), content.get("notations", {})
    tol, max_sweeps = content["tol"], content["max_sweeps"]
    require_number("tol", tol, least=0)
    require_number("max_sweeps", max_sweeps, least=1, most=_MAX_SWEEPS, whole=True)
    checking.check_fields(fields, content["problem"]["X"])
    checking.check_notations(fields, notations)
    fitted = _fitted(content)
    checking.check_fitted(fitted, fields)
    return fields, fitted, float(tol), notations


def _fitted(content: dict[str, Any]) -> Fitted:
    given = content.pop("problem")
    rows, groups = content["rows"], tuple(tuple(group) for group in given["groups"])
    problem = Problem.of(given.pop("X"), order=(rows, groups), **given)
    complete = sorted(column for group in groups for column in group) == list(range(problem.shape[1]))
    if not complete or not np.array_equal(np.sort(rows), np.sort(problem.rows)):
        raise ValueError("order of rows and groups")
    trace, status = content["trace"], Status[content["status"]]
    fill = Fill(problem, frozen(content["Z"]), trace, status)
    fillers: list[Any] = [FieldFiller((COLUMNS,))]
    fills: dict[str, Fill] = {COLUMNS.name: FieldFill(problem, fill.Z, trace, status)}
    if content["components"]:
        ensemble = Ensemble(content["components"], frozen(content["shrinkage"]))
        sweeper = Sweeper(ensemble, tol=content["tol"], max_sweeps=content["max_sweeps"])
        lagged = [LaggedSweeper(sweeper)] if LaggedSweeper.name in content["fills"] else []
        fillers = [*([] if problem.moments is None else [Interpolation()]), sweeper, *lagged]
        fills = {name: _fill_of(problem, name, one, fill) for name, one in content["fills"].items()}
    elif content["learned"] is not None:
        preset, fill = content["learned"]["preset"], _metric_fill(fill, content)
        fillers, fills = [MetricFiller(preset, tol=content["tol"])], {MetricFiller.name: fill}
    judged = content["evidence"], Accuracy(content["accuracy"])
    weights, errors = content["weights"], content["filler_errors"]
    estimate = as_estimate(content["estimate"])
    return Fitted(problem, fill, weights, errors, tuple(fillers), fills, None, Run(), 0, judged, estimate)


def _fill_of(problem: Problem, name: str, saved: dict[str, Any], fill: Fill) -> Fill:
    """The fill of a sweep; one with lag features also has their columns."""
    swept_problem = with_lags(problem) if name == LaggedSweeper.name else problem
    Z = frozen(saved["Z"])
    checking.check_table(Z, swept_problem.shape)
    checking.check_blocks(saved["blocks"], swept_problem)
    require_number("seed", saved["seed"], least=0, whole=True)
    swept = SweepFill(swept_problem, Z, fill.trace, fill.status, name, saved["blocks"], saved["seed"])
    return swept if swept_problem is problem else LagFill(problem, Z[:, : problem.shape[1]], inner=swept)


def _metric_fill(fill: Fill, content: dict[str, Any]) -> MetricFill:
    """The fill by learned metrics; its regressions are computed when first needed."""
    problem, saved = fill.problem, content["learned"]
    checking.check_learned(saved, problem)
    rows, fold, shrinkage = saved["rows"], saved["fold"], frozen(content["shrinkage"])
    checking.check_table(shrinkage, problem.shape[1:])
    sweeps = tuple(
        MetricSweep(members, centres, Copies(fill.Z, rows, completed, hidden, fold), *numbers)
        for members, centres, hidden, completed, *numbers in saved["sweeps"]
    )
    return MetricFill(
        *(problem, fill.Z, fill.trace, fill.status, MetricFiller.name),
        groups=targets(problem),
        sweeps=sweeps,
        shrinkage=shrinkage,
    )


def _check_format(path: Path, manifest: Any) -> None:
    form = manifest["format"]
    if form != FORMAT:
        raise archive.Refused(
            f"{path} was written by manifill {manifest.get('version')} in format {form}; this is manifill "
            f"{version('manifill')}, which reads format {FORMAT}. Save the model again with it."
        )


def _to_json(value: Any, arrays: dict[str, Array]) -> Any:
    """A value as JSON data; arrays in it are added to `arrays` and stored by their key."""
    if isinstance(value, np.ndarray):
        key = next((key for key, one in arrays.items() if one is value), f"array{len(arrays)}")
        arrays[key] = value
        return {"array": key}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        name = type(value).__name__
        if name not in _KNOWN:
            raise InvalidInput(f"A model with {name} cannot be saved; only {', '.join(sorted(_KNOWN))} can.")
        values = {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}
        return {"class": name, "fields": {key: _to_json(one, arrays) for key, one in values.items()}}
    if isinstance(value, dict):
        return {"dict": {key: _to_json(one, arrays) for key, one in value.items()}}
    if isinstance(value, tuple | list):
        return {"tuple": [_to_json(one, arrays) for one in value]}
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise InvalidInput(f"A model with the value {value!r} of type {type(value).__name__} cannot be saved.")


def _from_json(data: Any, arrays: dict[str, Array]) -> Any:
    """The value that `_to_json` wrote; classes only from the list of known ones."""
    if not isinstance(data, dict):
        return data
    if "array" in data:
        return arrays[data["array"]]
    if "class" in data:
        fields = {key: _from_json(one, arrays) for key, one in data["fields"].items()}
        known = _KNOWN[data["class"]]
        checking.check_types(known, fields)
        return known(**fields)
    if "dict" in data:
        return {key: _from_json(one, arrays) for key, one in data["dict"].items()}
    return tuple(_from_json(one, arrays) for one in data["tuple"])
