"""Converts string options to kernel, solver, start, order and schedule objects."""

import difflib
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

import manifill.kernels as kernels
from manifill._checks import complaint, is_option, require_number
from manifill._fillers import sweep
from manifill.errors import InvalidInput
from manifill.solvers import AnySolver, Landmarks, Local, Ridge, Solver, Spectral

Option = TypeVar("Option")


@dataclass(frozen=True, eq=False)
class Sweep:
    """Options of the sweep, for `IGHImputer(method=Sweep(...))`.

    Parameters
    ----------
    schedule : {"auto", "column", "block"} or int, default="auto"
        How many columns are left out together: one, as in the paper, or a block that shares one kernel
        matrix. "auto" takes blocks on wide data, where that does not change the error.
    start : {"auto", "mean", "linear", "normal"} or array of the shape of X, default="auto"
        First values of the missing entries: the column mean, a linear guess, or draws around the mean as in
        the paper. "auto" takes the mean or the linear guess, as held-out entries say; the mean where the
        table has over 100 columns, or nothing else is chosen (docs/choosing.md).
    order : {"random", "fixed", "missingness"}, default="random"
        In which order each sweep visits the columns.
    column_weights : mapping or list, or None, default=None
        What columns count when rows are compared: `{"age": 2}`; those not named count 1. Above 0.
    """

    schedule: Any = "auto"
    start: Any = "auto"
    order: Any = "random"
    column_weights: Any = None


KERNELS: Mapping[str, Callable[[], kernels.Kernel]] = {
    # Best on average of twelve candidates on eleven sets at 30 % missing: docs/measurements.md.
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
# Up to here all pairs of rows are looked at: half a minute for twenty columns on two cores. Beyond, near rows
# did better on tables of 16 and 20 columns, landmarks on those of 8 and 9 (docs/speed.md).
EXACT_ROWS = 4000
FEW_COLUMNS = 10
# Beyond, the many small systems of near rows cost more than all pairs of 8,000 rows: distances take long.
MANY_COLUMNS = 300
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
    if given not in known:
        close = difflib.get_close_matches(given.lower(), known, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise InvalidInput(
            f"{name} must be one of {', '.join(map(repr, known))}, or {also}; got {given!r}.{hint}"
        )
    return known[given]()


def as_kernel(value: object) -> kernels.Kernel:
    """A word, a kernel, or a function of two arrays of rows → a kernel."""
    if isinstance(value, kernels.Kernel):
        return value
    if isinstance(value, str):
        return _look_up("kernel", value, KERNELS, "a kernel from manifill.kernels, or a function")
    if callable(value) and not isinstance(value, type):
        return kernels.Custom(value)
    raise complaint("kernel", "a word, a kernel from manifill.kernels, or a function", value)


def as_factoring_solver(value: object, kernel: kernels.Kernel) -> Solver:
    """A word or a solver that factors a kernel matrix → that solver."""
    solver = as_solver(value, kernel, (0, 0))
    if is_option(value, "auto"):
        solver = Ridge() if kernel.psd else Spectral()
    if isinstance(solver, Landmarks | Local):
        raise InvalidInput(
            f"solver={value!r} fills long tables and serves IGHImputer; to extend a function use 'ridge' or "
            "'spectral'."
        )
    return solver


def as_solver(
    value: object, kernel: kernels.Kernel, shape: tuple[int, int], device_memory: float = 0.0
) -> AnySolver:
    """A word or a solver → a solver; "auto" is the one that suits the kernel and the shape of the table.

    `device_memory` is the memory of the device to work on, in bytes; 0 where there is none.
    """
    if isinstance(value, str):
        known = {"auto": lambda: _solver_for(kernel, *shape, device_memory), **SOLVERS}
        return _look_up("solver", value, known, "a solver from manifill.solvers")
    factors = callable(getattr(value, "factor", None)) or isinstance(value, Landmarks | Local)
    if not isinstance(value, type) and factors and hasattr(value, "needs_psd"):
        return value  # type: ignore[return-value]
    raise complaint(
        "solver", f"one of {', '.join(map(repr, SOLVERS))} or a solver of manifill.solvers", value
    )


def _solver_for(kernel: kernels.Kernel, n: int, d: int, device_memory: float) -> AnySolver:
    """Exact as long as that is quick; beyond, linear in the rows, and never more memory than there is."""
    gigabytes = 8 * 5 * n**2 / 1e9  # some five matrices of all pairs
    if kernel.psd and kernel.additive and 1e9 * gigabytes < 0.8 * device_memory:
        return Ridge(why=f"all pairs of {n:,} rows fit on the device")
    if n <= (EXACT_ROWS if d <= MANY_COLUMNS else 2 * EXACT_ROWS) or (not kernel.psd and gigabytes <= 2):
        if kernel.psd:
            return Ridge(why=f"{n:,} rows are few enough for all pairs of rows")
        return Spectral(why=f"{kernel!r} is not known to be positive semi-definite")
    if not kernel.psd:
        raise InvalidInput(
            f"{kernel!r} is not known to be positive semi-definite, so only solver='spectral' can use it, "
            f"and for {n:,} rows that takes {gigabytes:,.0f} GB and very long. Use another kernel, or name "
            "the solver to have it all the same; a function that is positive semi-definite can be passed as "
            "manifill.kernels.Custom(function, psd=True)."
        )
    many = f"all pairs of {n:,} rows would take long, and {gigabytes:,.1f} GB"
    if FEW_COLUMNS < d <= MANY_COLUMNS and kernel.additive:
        return Local(why=f"{many}; with {d} columns each entry is filled from its near rows")
    return Landmarks(why=f"{many}; with {d} columns landmarks stand for them")


def as_schedule(value: object, n: int, d: int) -> sweep.Schedule:
    """A word, a number of columns, or a schedule → a schedule."""
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
    """A word, a table, or a start → a start; None for one to choose."""
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
    """A word or an order → an order."""
    if isinstance(value, str):
        return _look_up("order", value, ORDERS, "an order from manifill.sweep")
    if callable(value) and not isinstance(value, type):
        return value
    raise complaint("order", "'random', 'fixed' or 'missingness'", value)


def as_sweep(value: object) -> Sweep:
    """None or options of the sweep → options of the sweep."""
    if value is None:
        return Sweep()
    if isinstance(value, Sweep):
        return value
    raise complaint("method", "None or a Sweep, such as Sweep(start='normal')", value)


def as_max_sweeps(value: object, chosen: bool) -> int:
    """A number, or "auto": at most 10 where the number is chosen on held-out entries, else 6."""
    if is_option(value, "auto"):
        return 10 if chosen else 6
    if isinstance(value, str):
        raise complaint("max_sweeps", "'auto' or a whole number ≥ 1", value)
    require_number("max_sweeps", value, least=1, whole=True)
    return int(value)  # type: ignore[call-overload, no-any-return]
