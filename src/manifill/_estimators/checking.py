"""Checks of the parts of a saved model: types, shapes and ranges, so that a model that loads also works.

They raise any exception; `saving.load` turns all of them into one message.
"""

import dataclasses
import types
from collections.abc import Mapping
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from manifill._fillers import SweepRecord
from manifill._fillers.metric import Preset, Trees, Tuned, in_order, number_of_copies, targets
from manifill._problem import Problem
from manifill._result import Fitted
from manifill._validation import ColumnAccuracy, Evidence
from manifill.kernels import Kernel, Laplacian, SemiLinear
from manifill.kernels.bandwidth import Bandwidth, Fixed, LogSumSlope, MedianDistance, NeighborDistance
from manifill.solvers import Landmarks, Local, Ridge
from manifill.solvers.base import Solver
from manifill.tables import Category, Cyclic, Field, Fields, Flag, Moment, Ordered, Quantity, Untouched
from manifill.tables.times import TIMES
from manifill.tables.variables import Variable

_VARIABLES = (Category, Cyclic, Flag, Moment, Ordered, Quantity, Untouched)
_KINDS: dict[Any, tuple[type, ...]] = {
    Bandwidth: (Fixed, MedianDistance, NeighborDistance, LogSumSlope),
    Kernel: (Kernel,),
    Solver: (Ridge,),
    Landmarks: (Landmarks,),
    Local: (Local,),
    Variable: _VARIABLES,
}
_SCALARS = (bool, int, float, str, type(None))
# More than any table has, and few enough to count.
_MAX_BINS = 10_000
# Standardised values lie within 1e6, see `Scaling.standardise`.
_MAX_STANDARDISED = 1e7
# Ridges, weights of linear parts and multiples of bandwidths are smaller.
_MAX_SETTING = 1e6
# Parameters of kernels and solvers that users give are smaller: squares of larger ones overflow.
_MAX_PARAMETER = 1e50
# Rows, folds and centres of a preset are fewer.
_MAX_PRESET = 1_000_000
# Trees of a fold, and iterations, are fewer.
_MAX_TREES = 1000
# Held-out values and weights are smaller, see `hold_out`.
_MAX_HELD_OUT = 1e14


def check_types(known: type, fields: Mapping[str, Any]) -> None:
    """Raise TypeError if a value of a class cannot be what the class declares."""
    hints = get_type_hints(known)
    for field in dataclasses.fields(known):
        if field.name in fields and not _fits(fields[field.name], hints[field.name]):
            raise TypeError(field.name)


def _fits(value: Any, hint: Any) -> bool:
    """Does a value have a declared type? Types other than scalars, unions and tuples are not looked at."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(_fits(value, part) for part in parts)
    if origin is tuple:
        repeated = len(parts) == 2 and parts[1] is Ellipsis
        each = [parts[0]] * len(value) if isinstance(value, tuple) and repeated else parts
        return isinstance(value, tuple) and len(value) == len(each) and all(map(_fits, value, each))
    if origin is np.ndarray:
        return isinstance(value, np.ndarray) and value.ndim == 1
    if hint in (int, float):
        return isinstance(value, int | hint) and not isinstance(value, bool)
    if hint in (bool, str, type(None)):
        return isinstance(value, hint)
    if hint in _KINDS:
        return isinstance(value, _KINDS[hint])
    return hint is Any or not isinstance(value, _SCALARS)


def check_fields(fields: Fields, X: Any) -> None:
    """Raise if the columns do not belong to the encoded table."""
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind != "f" or X.shape[1] < 1:
        raise ValueError("no table")
    first, names = 0, set()
    for field in fields:
        if not isinstance(field, Field) or not isinstance(field.variable, _VARIABLES) or field.first != first:
            raise ValueError("the columns do not follow each other")
        step, offset, start = (getattr(field.variable, name, 0.0) for name in ("step", "offset", "first"))
        if not (step == 0 or 1e-100 < step < np.inf) or not (0 <= offset < np.inf and np.isfinite(start)):
            raise ValueError("numbers of a column")
        if not 0 < getattr(field.variable, "period", 1.0) < np.inf:
            raise ValueError("period")
        levels = getattr(field.variable, "levels", ("one",))
        if (
            not levels
            or len(set(levels)) < len(levels)
            or not all(isinstance(one, _SCALARS) for one in levels)
        ):
            raise ValueError("levels")
        if isinstance(field.variable, Moment) and field.kind not in (*TIMES, "integer", "number"):
            raise ValueError("times")
        if not isinstance(field.name, str | int):
            raise TypeError("names")
        names.add((type(field.name), field.name))
        first += field.variable.width
    if first != X.shape[1] or len(names) < len(fields):
        raise ValueError("the columns do not belong to the table")


def check_notations(fields: Fields, notations: Mapping[str, Any]) -> None:
    """Raise if what says how values are written is not as `TextColumn.notation` has it."""
    if notations == {}:
        return
    from manifill._files.columns import format_of  # imports pyarrow

    names = {field.name for field in fields}
    for name, one in notations.items():
        if name not in names:
            raise ValueError("notation")
        format_of(one)


def check_table(Z: Any, shape: tuple[int, ...]) -> None:
    """Raise unless Z is a table of this shape in standardised units."""
    if not isinstance(Z, np.ndarray) or Z.shape != shape or Z.dtype.kind != "f":
        raise ValueError("a table")
    if not (-_MAX_STANDARDISED <= Z.min(initial=0.0) <= Z.max(initial=0.0) <= _MAX_STANDARDISED):  # nor NaN
        raise ValueError("values of a table")


def check_blocks(blocks: Any, problem: Problem) -> None:
    """Raise unless every block is an array of columns, and no column is in two."""
    for block in blocks:
        if not isinstance(block, np.ndarray) or block.ndim != 1 or block.dtype.kind != "i" or not block.size:
            raise ValueError("blocks")
    columns = np.concatenate([np.zeros(0, dtype=np.intp), *blocks])
    if len(np.unique(columns)) < len(columns) or not _within(columns, problem.shape[1]):
        raise ValueError("blocks")


def check_fitted(fitted: Fitted, fields: Fields) -> None:
    """Raise if the parts of a fitted model do not belong together."""
    problem = fitted.problem
    check_table(fitted.fill.Z, problem.shape)
    if not ((problem.scaling.weight > 1e-9) & (problem.scaling.weight < 1e9)).all():
        raise ValueError("weights of columns")
    _check_evidence(fitted.evidence, *problem.shape)
    if not fitted.fill.trace or not all(isinstance(one, SweepRecord) for one in fitted.fill.trace):
        raise ValueError("trace")
    if not all(isinstance(one, ColumnAccuracy) for one in fitted.accuracy):
        raise ValueError("accuracy")
    if len(fitted.accuracy) != problem.shape[1] or (fitted.sweeper is not None and not fitted.fills):
        raise ValueError("accuracy or fills")
    if (problem.moments is None) == any(isinstance(field.variable, Moment) for field in fields):
        raise ValueError("times")
    for component in fitted.ensemble.components:
        if not isinstance(component.kernel, Kernel) or not 0 < component.weight < _MAX_PARAMETER:
            raise ValueError("components")
        _check_parameters(component.kernel)
        _check_parameters(component.solver)
    check_table(np.asarray(fitted.ensemble.shrinkage_of(np.arange(problem.shape[1]))), problem.shape[1:])
    for numbers in (fitted.weights, fitted.filler_errors):
        if not all(isinstance(one, float | int) for one in numbers.values()):
            raise TypeError("weights")


def _check_parameters(part: Any) -> None:
    """Raise if a number in a kernel or solver, or in their parts, is too large to compute with."""
    for field in dataclasses.fields(part):
        value = getattr(part, field.name)
        if dataclasses.is_dataclass(value):
            _check_parameters(value)
        elif isinstance(value, float) and not abs(value) < _MAX_PARAMETER:
            raise ValueError("parameters")


def check_learned(saved: Mapping[str, Any], problem: Problem) -> None:
    """Raise unless these are sweeps with learned metrics over the problem."""
    preset, rows, fold = saved["preset"], saved["rows"], saved["fold"]
    groups, (n, d) = targets(problem), problem.shape
    if not isinstance(preset, Preset) or not 0 < len(saved["sweeps"]) <= preset.most:
        raise ValueError("sweeps")
    limits = (preset.most, preset.folds, preset.rows, preset.exact, preset.fitted)
    limits += (preset.centres, preset.finish_centres, *(one[1] for one in saved["sweeps"]))
    if not all(isinstance(one, int) for one in limits) or min(limits) < 1 or max(limits) > _MAX_PRESET:
        raise ValueError("limits of a preset")
    for members in (preset.first, preset.rest, preset.finish, *(one[0] for one in saved["sweeps"])):
        for member in members:
            require_member(member)
    for indices, shape, limit in ((rows, None, n), (fold + 1, (d,), preset.folds + 1)):
        if indices.dtype.kind != "i" or indices.ndim != 1 or not _within(indices, limit):
            raise ValueError("rows or folds")
        if shape is not None and indices.shape != shape:
            raise ValueError("folds")
    if not np.array_equal(np.unique(rows), rows) or any(min(fold[list(group)]) < 0 for group in groups):
        raise ValueError("rows or folds")
    for members, _, hidden, completed, weights, strength, errors, shares in saved["sweeps"]:
        check_table(completed, (len(rows), d))
        check_table(hidden, (number_of_copies(problem, fold), len(rows), d))
        check_table(weights, (len(groups), d))
        check_table(strength, (len(groups), d))
        check_table(errors, (d,))
        check_table(shares, (len(groups), len(members)))
        own = any(weights[i, ~problem.predictors.of_group(group)].any() for i, group in enumerate(groups))
        negative = any((one < 0).any() for one in (weights, strength, errors, shares))
        if not members or members != in_order(members) or negative or own:
            raise ValueError("weights of a metric")


def require_member(member: Any) -> None:
    """Raise unless this is a member of a sweep with learned metrics."""
    if isinstance(member, Trees):
        if not (0 < member.number <= _MAX_TREES and member.leaf > 0 and 0 < member.share <= 1):
            raise ValueError("trees")
    elif isinstance(member, Tuned):
        inside = 0 <= member.linear < _MAX_SETTING and 0 < member.ridge < _MAX_SETTING
        if not (inside and 0 < member.iterations < _MAX_TREES):
            raise ValueError("a tuned kernel")
    else:
        _require_component(member)


def _require_component(component: Any) -> None:
    kernel, solver = component.kernel, component.solver
    near = isinstance(solver, Local) and isinstance(kernel, Laplacian) and 0 < solver.k <= _MAX_PRESET
    if not near and not (isinstance(solver, Ridge) and isinstance(kernel, SemiLinear)):
        raise ValueError("a component")
    bandwidth = kernel.bandwidth if near else kernel.base.bandwidth
    if not isinstance(bandwidth, MedianDistance) or not (near or 0 <= kernel.weight < _MAX_SETTING):
        raise ValueError("a component")
    if not (0 < bandwidth.multiple < _MAX_SETTING and 0 < solver.ridge < _MAX_SETTING):
        raise ValueError("a component")


def _check_evidence(evidence: Evidence, n: int, d: int) -> None:
    positions = (evidence.rows, evidence.columns, evidence.place, evidence.sets)
    each = (*positions, evidence.found, evidence.truth, evidence.weight)
    finite = all((np.abs(one) < _MAX_HELD_OUT).all() for one in (*each, evidence.shrinkage))
    if len({one.shape for one in each}) > 1 or evidence.shrinkage.shape != (d,) or not finite:
        raise ValueError("evidence")
    limits = (n, d, _MAX_BINS, max(1, len(evidence.sets)))
    if not all(
        one.dtype.kind == "i" and _within(one, limit) for one, limit in zip(positions, limits, strict=True)
    ):
        raise ValueError("positions of held-out entries")
    if (evidence.weight < 0).any() or not 0 <= evidence.share < 1:
        raise ValueError("weights of held-out entries")


def _within(indices: Any, limit: int) -> bool:
    return bool(((indices >= 0) & (indices < limit)).all())
