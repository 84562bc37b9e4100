"""One fill, measured: in this process, or in one of its own, which has a peak of memory and can be stopped.

`python -m benchmarks.fills` is that other process: it reads a job from standard input and answers in JSON.
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
# Of the machine's memory, what a process of its own may take.
MOST_MEMORY = 0.8


@dataclass(frozen=True)
class Outcome:
    """What a fill took and how good it is; where it came to nothing, why.

    Attributes
    ----------
    seconds : of `fit_transform` alone.
    rmse, nrmse : on the holes, in the table's units and in standard deviations of the columns.
    peak : the most megabytes the process held, libraries and table included.
    working : the part of it that was not held before the fill.
    failure : empty where all went well.
    """

    seconds: float = math.nan
    rmse: float = math.nan
    nrmse: float = math.nan
    peak: float = math.nan
    working: float = math.nan
    failure: str = ""


def fill(imputer: Any, X: np.ndarray, M: np.ndarray, limit: float = 0) -> Outcome:
    """Fill the holes M of X; with a limit of so many seconds, SIGALRM ends the process when they are over."""
    damaged = np.where(M, np.nan, X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if limit:
            signal.setitimer(signal.ITIMER_REAL, limit)
        began = time.perf_counter()
        filled = imputer.fit_transform(damaged)
        seconds = time.perf_counter() - began
        if limit:
            signal.setitimer(signal.ITIMER_REAL, 0)
    return Outcome(seconds, rmse(X, filled, M), nrmse(X, filled, M))


def middle(outcomes: list[Outcome]) -> Outcome:
    """The one of median time."""
    return sorted(outcomes, key=lambda outcome: outcome.seconds)[len(outcomes) // 2]


def fill_apart(imputer: Any, source: Callable[[], Damaged], limit: float = 0) -> Outcome:
    """`fill` in a fresh process, which makes its table by calling `source`.

    Compiled code is loaded before the clock starts; the benchmark `cold` says what that takes. The limit of
    seconds is on the fill alone, 0 is none.
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
        return Outcome(failure=f"out of memory ({MOST_MEMORY * memory.total() / 1024:.0f} GB)")
    return Outcome(failure=escape(f"failed: {message or child.returncode}"))


def _job() -> None:
    imputer, source, limit = pickle.load(sys.stdin.buffer)
    memory.limit(MOST_MEMORY)
    X, M = source()
    if isinstance(imputer, IGHImputer):
        some = np.where(M, np.nan, X)[:1000, :256]
        clone(imputer).set_params(max_sweeps=1).fit(some)
    memory.forget_most_held()
    before = memory.held()
    outcome = fill(imputer, X, M, limit)
    peak = memory.most_held()
    print(json.dumps(asdict(replace(outcome, peak=peak, working=peak - before))))


if __name__ == "__main__":
    _job()
