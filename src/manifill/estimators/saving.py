"""Fitted imputers in files: arrays and words, nothing that runs, so that a stranger's file is safe to load.

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

from manifill.arrays import Array, frozen
from manifill.errors import InvalidInput
from manifill.files import whole
from manifill.kernels import Cosine, Gaussian, Laplacian, Polynomial, SemiLinear, bandwidth
from manifill.solvers import Landmarks, Local, Ridge
from manifill.sweep import Member, Problem, Recipe, State, Status, SweepRecord
from manifill.tables import Category, Cyclic, Field, Fields, Flag, Ordered, Quantity, Untouched
from manifill.tuning import Accuracy, Choice, ColumnAccuracy
from manifill.tuning.accuracy import Evidence

FORMAT = 2
"""Raised when an older manifill could not read what this one writes."""

_READ = (1, FORMAT)
_KNOWN = {
    known.__name__: known
    for known in (
        *(Category, Cyclic, Flag, Ordered, Quantity, Untouched),
        *(Gaussian, Laplacian, SemiLinear, Polynomial, Cosine),
        *(bandwidth.Fixed, bandwidth.MedianDistance, bandwidth.NeighborDistance, bandwidth.LogSumSlope),
        *(Ridge, Landmarks, Local),
        SweepRecord,
    )
}


def save(
    path: Path,
    fields: Fields,
    state: State,
    choice: Choice,
    recipe: Recipe,
    max_sweeps: int,
    tol: float,
    time: tuple[int, int, float] | None = None,
) -> None:
    """Write what is needed to fill new rows, whole or not at all.

    `time` is which number is the time, how many companions the others have, and what the time counts.
    """
    odd = [field.name for field in fields if not isinstance(field.name, str | int)]
    if odd:
        raise InvalidInput(
            f"Columns of a model that is saved must have words or whole numbers for names; got {odd}."
        )
    problem, evidence = state.problem, choice.evidence
    assert evidence is not None
    manifest = {
        "format": FORMAT,
        "version": version("manifill"),
        "fields": [
            {
                "name": field.name,
                "variable": _words(field.variable),
                "reason": field.reason,
                "first": field.first,
            }
            for field in fields
        ],
        "members": [
            {"kernel": _words(one.kernel), "solver": _words(one.solver), "weight": one.weight}
            for one in recipe.members
        ],
        "groups": problem.groups,
        "blocks": [block.tolist() for block in state.blocks],
        "trace": [_words(record) for record in state.trace],
        "status": state.status.name,
        "seed": state.seed,
        "max_sweeps": max_sweeps,
        "tol": tol,
        "share": choice.share,
        "time": time,
    }
    accuracy = [[one.error, one.mean_error, one.hidden, one.reliance] for one in choice.accuracy]
    arrays = {
        "given": problem.given,
        "weights": problem.scaling.weight,
        "bounds": problem.bounds,
        "Z": np.asarray(state.Z),
        "reliance": recipe.relied_on(np.arange(problem.shape[1])),
        "accuracy": np.array(accuracy, dtype=np.float64).reshape(-1, 4),
        **{f"hidden_{one.name}": getattr(evidence, one.name) for one in dataclasses.fields(evidence)},
    }
    text = np.frombuffer(json.dumps(manifest).encode(), dtype=np.uint8)
    with whole(path, "wb") as file:
        np.savez_compressed(file, manifest=text, **arrays)


def load(path: Path) -> tuple[Fields, State, Choice, Recipe, int, float, tuple[int, int, float] | None]:
    """Read what `save` wrote; refuse what it did not."""
    manifest, arrays = _read(path)
    try:
        fields = Fields(
            Field(one["name"], _value(one["variable"]), one["reason"], one["first"])
            for one in manifest["fields"]
        )
        members = tuple(
            Member(_value(one["kernel"]), _value(one["solver"]), one["weight"]) for one in manifest["members"]
        )
        recipe = Recipe(members, frozen(arrays["reliance"]))
        problem = Problem.of(
            arrays["given"], groups=manifest["groups"], bounds=arrays["bounds"], weights=arrays["weights"]
        )
        state = State(
            problem,
            frozen(arrays["Z"]),
            tuple(np.array(block, dtype=np.intp) for block in manifest["blocks"]),
            tuple(_value(record) for record in manifest["trace"]),
            Status[manifest["status"]],
            manifest["seed"],
        )
        hidden: dict[str, Any] = {}
        for one in dataclasses.fields(Evidence):
            hidden[one.name] = arrays[f"hidden_{one.name}"]
        evidence = Evidence(**hidden)
        accuracy = Accuracy(
            ColumnAccuracy(j, float(error), float(mean_error), int(hidden), float(reliance))
            for j, (error, mean_error, hidden, reliance) in enumerate(arrays["accuracy"])
        )
        choice = Choice(recipe, manifest["max_sweeps"], accuracy, share=manifest["share"], evidence=evidence)
        width = fields[-1].columns.stop
        time = None
        if manifest.get("time") is not None:
            column, companions, weight = manifest["time"]
            if not (0 <= column < width and companions in (0, 1, 3)):
                raise ValueError
            time = int(column), int(companions), float(weight)
            width += time[1] * (width - 1)
        if state.Z.shape != problem.shape or width != problem.shape[1]:
            raise ValueError
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise InvalidInput(f"{path} is damaged, or no model of manifill's; save it again.") from error
    return fields, state, choice, recipe, int(manifest["max_sweeps"]), float(manifest["tol"]), time


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Array]]:
    if not path.is_file():
        raise InvalidInput(f"There is no file {path}.")
    try:
        with np.load(path, allow_pickle=False) as archive:
            manifest = json.loads(archive["manifest"].tobytes().decode())
            form = manifest["format"]
            arrays = {name: archive[name] for name in archive.files} if form in _READ else {}
    except (OSError, ValueError, KeyError, EOFError, TypeError, AttributeError, zipfile.BadZipFile) as error:
        raise InvalidInput(f"{path} is damaged, or no model of manifill's; save it again.") from error
    if form not in _READ:
        raise InvalidInput(
            f"{path} was written by manifill {manifest.get('version')} in format {form}; this is manifill "
            f"{version('manifill')}, which reads formats up to {FORMAT}. Save the model again with this one."
        )
    return manifest, arrays


def _words(value: Any) -> Any:
    """A dataclass as its name and fields; anything else as it is, if JSON can hold it."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        name = type(value).__name__
        if name not in _KNOWN:
            raise InvalidInput(f"A model with {name} cannot be saved; there are {', '.join(sorted(_KNOWN))}.")
        return {
            "is": name,
            **{one.name: _words(getattr(value, one.name)) for one in dataclasses.fields(value)},
        }
    if isinstance(value, tuple | list):
        return {"tuple": [_words(one) for one in value]}
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise InvalidInput(f"A model with the value {value!r} of type {type(value).__name__} cannot be saved.")


def _value(words: Any) -> Any:
    """What `_words` made words of; a class by its name among those known, and no other."""
    if isinstance(words, dict) and "tuple" in words:
        return tuple(_value(one) for one in words["tuple"])
    if isinstance(words, dict):
        fields = {key: _value(value) for key, value in words.items() if key != "is"}
        return _KNOWN[words["is"]](**fields)
    return words
