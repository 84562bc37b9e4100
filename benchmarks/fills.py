"""Time and error of one fill, in this process or in a subprocess with its own memory peak and a time limit.

`python -m benchmarks.fills` is that subprocess: it reads a pickled job from standard input and prints JSON.
"""

import json
import math
import pickle
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.markup import escape
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from benchmarks import memory
from benchmarks.data import Damaged
from manifill import IGHImputer
from manifill.metrics import nrmse, rmse

ROOT = Path(__file__).parents[1]
# Share of the machine's memory that a subprocess may allocate. Set by hand, not tuned.
MAX_MEMORY = 0.8


@dataclass(frozen=True)
class Outcome:
    """Cost and error of a fill, or why it failed.

    Attributes
    ----------
    seconds : time of `fit_transform` alone, or `seconds_` of a peer that measures its own time.
    rmse, nrmse : on the missing entries, in the table's units and in standard deviations of the columns.
    peak : MB, largest resident memory of the process, libraries and table included.
    working : MB, the part of `peak` that was allocated during the fill.
    failure : reason of the failure; empty if the fill finished.
    mae : mean absolute error on the missing entries, in the table's units.
    """

    seconds: float = math.nan
    rmse: float = math.nan
    nrmse: float = math.nan
    peak: float = math.nan
    working: float = math.nan
    failure: str = ""
    mae: float = math.nan


class OutOfTime(BaseException):
    """A fill took longer than it may; not an `Exception`, so that no library catches it."""


def fill(imputer: Any, X: np.ndarray, M: np.ndarray, limit: float = 0) -> Outcome:
    """Fill the entries M of X. After `limit` seconds (0: no limit) SIGALRM comes, which ends the process."""
    damaged = np.where(M, np.nan, X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if limit:
            signal.setitimer(signal.ITIMER_REAL, limit)
        began = time.perf_counter()
        try:
            filled = imputer.fit_transform(damaged)
            seconds = getattr(imputer, "seconds_", time.perf_counter() - began)
        finally:
            if limit:
                signal.setitimer(signal.ITIMER_REAL, 0)
    absolute = float(np.abs(filled - X)[M].mean())
    return Outcome(seconds, rmse(X, filled, M), nrmse(X, filled, M), mae=absolute)


def limited(imputer: Any, X: np.ndarray, M: np.ndarray, limit: float = 0) -> Outcome:
    """`fill`, ended by an exception after `limit` seconds (0: no limit); other errors are reported too."""

    def stop(*_: Any) -> None:
        raise OutOfTime

    former = signal.signal(signal.SIGALRM, stop)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return fill(imputer, X, M, limit)
    except OutOfTime:
        return Outcome(failure=f"not finished in {limit:g} s")
    except Exception as error:  # the others go on
        return Outcome(failure=escape(f"failed: {error}"))
    finally:
        signal.signal(signal.SIGALRM, former)


def median(outcomes: list[Outcome]) -> Outcome:
    """The outcome with the median time."""
    return sorted(outcomes, key=lambda outcome: outcome.seconds)[len(outcomes) // 2]


def fill_in_subprocess(imputer: Any, source: Callable[[], Damaged], limit: float = 0) -> Outcome:
    """`fill` in a new process, which calls `source` to make its table.

    Compiled code is loaded before timing starts; the benchmark `cold` measures how long that takes. `limit`
    is in seconds and covers the fill alone; 0 means no limit.
    """
    child = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "benchmarks.fills"],
        input=pickle.dumps((imputer, source, limit)),
        capture_output=True,
        cwd=ROOT,
    )
    if child.returncode == 0:
        return Outcome(**json.loads(child.stdout))
    if child.returncode == -signal.SIGALRM:
        return Outcome(failure=f"not finished in {limit:g} s")
    message = child.stderr.decode().strip().rpartition("\n")[2]
    if child.returncode == -signal.SIGKILL or "MemoryError" in message:
        return Outcome(failure=f"out of memory ({MAX_MEMORY * memory.total() / 1024:.0f} GB)")
    return Outcome(failure=escape(f"failed: {message or child.returncode}"))


def _job() -> None:
    imputer, source, limit = pickle.load(sys.stdin.buffer)
    memory.limit(MAX_MEMORY)
    X, M = source()
    if isinstance(imputer, IGHImputer):
        sample = np.where(M, np.nan, X)[:1000, :256]
        clone(imputer).set_params(max_sweeps=1).fit(sample)  # loads compiled code
    memory.reset_peak()
    before = memory.resident()
    outcome = fill(imputer, X, M, limit)
    peak = memory.peak()
    print(json.dumps(asdict(replace(outcome, peak=peak, working=peak - before))))


if __name__ == "__main__":
    _job()
