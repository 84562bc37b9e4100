"""Convert string options to kernel, solver, start, order and schedule objects."""

import difflib
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

import manifill.kernels as kernels
from manifill._checks import complaint, is_option, require_number
from manifill._fillers import sweep
from manifill._fillers.metric import EFFORTS, Preset
from manifill.errors import InvalidInput
from manifill.solvers import AnySolver, Landmarks, Local, Ridge, Solver, Spectral

Option = TypeVar("Option")


@dataclass(frozen=True, eq=False)
class Sweep:
    """Options of the sweeps over the columns, for `IGHImputer(method=Sweep(...))`.

    Parameters
    ----------
    schedule : {"auto", "column", "block"} or int, default="auto"
        Number of columns imputed together. They share one kernel matrix, computed from the other columns.
        "column" is one column, as in the paper; "block" is a size chosen by the table's shape. "auto" uses
        blocks on wide tables, where this hardly changes the error.
    start : {"auto", "mean", "linear", "normal"} or array of the shape of X, default="auto"
        Start values of the missing entries. "mean" is the column mean, "linear" the conditional mean under a
        multivariate normal distribution, "normal" a draw from the column's normal distribution, as in the
        paper. "auto" chooses "mean" or "linear" on held-out entries; it is "mean" for more than 100 columns,
        or if `kernel` and `solver` are given (docs/guide/choosing.md).
    order : {"random", "fixed", "missingness"}, default="random"
        Order in which a sweep visits the columns.
    column_weights : mapping, list or None, default=None
        Weights (> 0) of the columns in the similarity of rows, such as `{"age": 2}`. Columns not named have
        weight 1.
    """

    schedule: Any = "auto"
    start: Any = "auto"
    order: Any = "random"
    column_weights: Any = None


KERNELS: Mapping[str, Callable[[], kernels.Kernel]] = {
    # Best of twelve candidates, averaged over eleven data sets with 30 % missing: docs/notes/defaults.md.
    "auto": lambda: kernels.SemiLinear(kernels.Laplacian(), weight=0.3),
    "gaussian": kernels.Gaussian,
    "laplacian": kernels.Laplacian,
    "semilinear": lambda: kernels.SemiLinear(kernels.Gaussian()),
    "self_tuning": kernels.SelfTuning,
    "polynomial": kernels.Polynomial,
    "cosine": kernels.Cosine,
    "precomputed": kernels.Precomputed,
}
SOLVERS: Mapping[str, Callable[[], AnySolver]] = {
    "ridge": Ridge,
    "spectral": Spectral,
    "landmarks": Landmarks,
    "local": Local,
}
# Rows up to which solver="auto" uses all pairs of rows: half a minute for 20 columns on two cores.
EXACT_ROWS = 4000
# Columns up to which longer tables use `Landmarks`. `Landmarks` had the smaller error on tables of 8 and 9
# columns, `Local` on tables of 16 and 20 (docs/benchmarks/speed.md).
NARROW_COLUMNS = 10
# Columns beyond which `Local` takes longer than all pairs of 8,000 rows, because it computes many distances.
# Set by hand; the timings are not recorded.
WIDE_COLUMNS = 300
STARTS: Mapping[str, Callable[[], sweep.Start | None]] = {
    "auto": lambda: None,
    "mean": lambda: sweep.mean_start,
    "linear": sweep.LinearStart,
    "normal": lambda: sweep.normal_start,
}
ORDERS: Mapping[str, Callable[[], sweep.Order]] = {
    "random": lambda: sweep.random_order,
    "fixed": lambda: sweep.fixed_order,
    "missingness": lambda: sweep.missingness_order,
}


def _look_up(name: str, given: str, known: Mapping[str, Callable[[], Option]], also: str) -> Option:
    """The object for a string option; `also` describes the other accepted values in the error message."""
    if given not in known:
        close = difflib.get_close_matches(given.lower(), known, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise InvalidInput(
            f"{name} must be one of {', '.join(map(repr, known))}, or {also}; got {given!r}.{hint}"
        )
    return known[given]()


def as_kernel(value: object) -> kernels.Kernel:
    """String, kernel, or function of two arrays of rows → kernel."""
    if isinstance(value, kernels.Kernel):
        return value
    if isinstance(value, str):
        return _look_up("kernel", value, KERNELS, "a kernel from manifill.kernels, or a function")
    if callable(value) and not isinstance(value, type):
        return kernels.Custom(value)
    raise complaint("kernel", "a string, a kernel from manifill.kernels, or a function", value)


def as_factoring_solver(value: object, kernel: kernels.Kernel) -> Solver:
    """String or solver → solver that factors a kernel matrix, for `GeometricHarmonics`."""
    solver = as_solver(value, kernel, (0, 0))
    if is_option(value, "auto"):
        solver = Ridge() if kernel.psd else Spectral()
    if isinstance(solver, Landmarks | Local):
        raise InvalidInput(
            f"solver={value!r} is for long tables in IGHImputer only; GeometricHarmonics needs 'ridge' or "
            "'spectral'."
        )
    return solver


def as_solver(
    value: object, kernel: kernels.Kernel, shape: tuple[int, int], device_memory: float = 0.0
) -> AnySolver:
    """String or solver → solver; "auto" chooses by the kernel and the shape (n, d) of the table.

    `device_memory` is the free memory of the GPU in bytes; 0 without a GPU.
    """
    if isinstance(value, str):
        known = {"auto": lambda: _solver_for(kernel, *shape, device_memory), **SOLVERS}
        return _look_up("solver", value, known, "a solver from manifill.solvers")
    factors = callable(getattr(value, "factor", None)) or isinstance(value, Landmarks | Local)
    if not isinstance(value, type) and factors and hasattr(value, "needs_psd"):
        return value  # type: ignore[return-value]
    raise complaint(
        "solver", f"one of {', '.join(map(repr, SOLVERS))} or a solver from manifill.solvers", value
    )


def _solver_for(kernel: kernels.Kernel, n: int, d: int, device_memory: float) -> AnySolver:
    """All pairs of rows if that is fast and fits into memory, else a solver of linear cost in the rows."""
    gigabytes = 8 * 5 * n**2 / 1e9  # about five (n, n) matrices of float64
    if kernel.psd and kernel.additive and 1e9 * gigabytes < 0.8 * device_memory:
        return Ridge(why=f"all pairs of {n:,} rows fit on the device")
    if n <= (EXACT_ROWS if d <= WIDE_COLUMNS else 2 * EXACT_ROWS) or (not kernel.psd and gigabytes <= 2):
        if kernel.psd:
            return Ridge(why=f"{n:,} rows are few enough for all pairs of rows")
        return Spectral(why=f"{kernel!r} is not known to be positive semi-definite")
    if not kernel.psd:
        raise InvalidInput(
            f"{kernel!r} is not known to be positive semi-definite, so only solver='spectral' can use it, "
            f"and for {n:,} rows that takes {gigabytes:,.0f} GB and very long. Use another kernel, or set "
            "solver='spectral' to run it anyway. If your function is positive semi-definite, pass "
            "manifill.kernels.Custom(function, psd=True)."
        )
    reason = f"all pairs of {n:,} rows would be slow and take {gigabytes:,.1f} GB"
    if NARROW_COLUMNS < d <= WIDE_COLUMNS and kernel.additive:
        return Local(why=f"{reason}; with {d} columns each entry is imputed from its nearest rows")
    return Landmarks(why=f"{reason}; with {d} columns landmarks are used instead")


def as_schedule(value: object, n: int, d: int) -> sweep.Schedule:
    """String, number of columns, or schedule → schedule."""
    if isinstance(value, sweep.Schedule):
        return value
    if isinstance(value, numbers.Integral) and not isinstance(value, bool) and int(value) >= 1:
        return sweep.Schedule(columns=int(value))
    if isinstance(value, str):
        known: dict[str, Callable[[], sweep.Schedule]] = {
            "auto": lambda: sweep.Schedule.auto(d, n),
            "column": sweep.Schedule,
            "block": lambda: sweep.Schedule(columns=max(2, sweep.Schedule.auto(d, n).columns)),
        }
        return _look_up("schedule", value, known, "a number of columns per block")
    raise complaint("schedule", "'auto', 'column', 'block' or a whole number ≥ 1", value)


def as_start(value: object) -> sweep.Start | None:
    """String, table, or start function → start function; None for "auto"."""
    if isinstance(value, str):
        return _look_up("start", value, STARTS, "a completed table of the shape of the data")
    if callable(value) and not isinstance(value, type):
        return value
    if value is None or isinstance(value, bool | numbers.Number):
        raise complaint("start", f"{', '.join(map(repr, STARTS))} or a completed table", value)
    try:
        return sweep.GivenStart(np.asarray(value, dtype=np.float64))
    except (TypeError, ValueError):
        raise complaint(
            "start", f"{', '.join(map(repr, STARTS))} or a completed table of numbers", value
        ) from None


def as_order(value: object) -> sweep.Order:
    """String or order function → order function."""
    if isinstance(value, str):
        return _look_up("order", value, ORDERS, "a function")
    if callable(value) and not isinstance(value, type):
        return value
    raise complaint("order", "'random', 'fixed' or 'missingness'", value)


def as_sweep(value: object) -> Sweep:
    """`Sweep` or None → `Sweep`."""
    if value is None:
        return Sweep()
    if isinstance(value, Sweep):
        return value
    raise complaint("method", "None or a Sweep, such as Sweep(start='normal')", value)


def as_estimate(estimate: object) -> str:
    """What missing values are filled with: mean or median."""
    if not isinstance(estimate, str) or estimate not in ("mean", "median"):
        raise complaint("estimate", "'mean' or 'median'", estimate)
    return estimate


def as_preset(effort: object, max_sweeps: object, n_rows: int) -> Preset:
    """Effort, number of sweeps, rows of the table → the preset with at most so many sweeps."""
    if not isinstance(effort, str) or effort not in EFFORTS:
        raise complaint("effort", "'fast', 'balanced' or 'best'", effort)
    preset = EFFORTS[effort].preset(n_rows)
    most = preset.most if is_option(max_sweeps, "auto") else as_max_sweeps(max_sweeps, True)
    return replace(preset, most=min(most, preset.most))


def as_max_sweeps(value: object, chosen: bool) -> int:
    """Int or "auto" → int; "auto" is 10 if the number is then chosen on held-out entries (`chosen`), else 6.

    The 6 was measured (docs/notes/defaults.md); the 10 was set by hand, not tuned.
    """
    if is_option(value, "auto"):
        return 10 if chosen else 6
    if isinstance(value, str):
        raise complaint("max_sweeps", "'auto' or a whole number ≥ 1", value)
    require_number("max_sweeps", value, least=1, whole=True)
    return int(value)  # type: ignore[call-overload, no-any-return]
