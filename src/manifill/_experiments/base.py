"""What an experiment is, and the two who take part in each."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from manifill._arrays import Array, Mask, Table
from manifill._estimators import IGHImputer, Sweep
from manifill.amputation import mcar
from manifill.kernels import Gaussian, MedianDistance
from manifill.metrics import rmse
from manifill.solvers import ConditionNumber, Spectral

_log = logging.getLogger(__name__)

PAPER, OURS = "the paper's algorithm", "manifill"

Measure = Callable[[Any, Any, Mask], float]
"""(truth, fill, holes) → error."""


@dataclass(frozen=True)
class Claim:
    """A claim of the paper's beside what came out.

    Attributes
    ----------
    claim : in the paper's sense.
    found : what came out, with its numbers.
    holds : does it?
    reason : why not, or what is to be said besides.
    """

    claim: str
    found: str
    holds: bool
    reason: str = ""


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came out of an experiment.

    Attributes
    ----------
    rows : the numbers, a mapping from names for every line of the CSV.
    figures : by name, matplotlib's; the empty name is that of the experiment.
    claims : the paper's, beside ours.
    data : what it was run on.
    extra : more files, by name, each written by a function of its path.
    """

    rows: Sequence[Mapping[str, Any]]
    figures: Mapping[str, Any]
    claims: Sequence[Claim]
    data: str
    extra: Mapping[str, Callable[[Path], None]] = field(default_factory=dict)


@dataclass(frozen=True)
class Experiment:
    """One of the paper's experiments.

    Attributes
    ----------
    name, title : in a word and in a line.
    where : in the paper.
    scales : what to run at "paper" and at "smoke" scale.
    run : (configuration, data folder, seed) → outcome.
    needs : optional libraries without which its files cannot be written.
    """

    name: str
    title: str
    where: str
    scales: Mapping[str, Any]
    run: Callable[[Any, Path | None, int], Outcome]
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Knobs:
    """What the paper's algorithm is given: it chose by experiment, and so did we, once for each set.

    Attributes
    ----------
    multiple : bandwidth in median distances.
    delta : eigenvalues below this share of the largest are cut off.
    """

    multiple: float
    delta: float

    def imputer(self, sweeps: int, seed: int) -> IGHImputer:
        """The algorithm as the paper has it: random start, one column at a time, eigenvectors, no bounds."""
        return IGHImputer(
            Gaussian(MedianDistance(self.multiple)),
            solver=Spectral(ConditionNumber(self.delta)),
            method=Sweep(schedule="column", start="normal"),
            bounds=None,
            tol=0.0,
            max_sweeps=sweeps,
            random_state=seed,
        )


@dataclass(frozen=True, eq=False)
class Fill:
    """How a table was filled.

    Attributes
    ----------
    start, filled : the table before the first sweep and after the last.
    errors : (sweeps + 1,), before the first sweep and after each. With defaults these are sweeps of the final
        run, and a large table's has the fill of the validation run to start from.
    changes : (sweeps,), by how much each sweep moved the fill, in standard deviations.
    seconds : in all, choosing included.
    """

    start: Table
    filled: Table
    errors: Array
    changes: Array
    seconds: float


def fill(imputer: IGHImputer, X: Array, M: Mask, measure: Measure = rmse, what: str = "") -> Fill:
    """Remove what is True in `M` from `X` (n, d), and watch how it is filled."""
    began = time.perf_counter()
    watching = 0.0
    errors: list[float] = []
    start: Table | None = None
    for state in imputer.iter_fit(np.where(M, np.nan, X)):
        looked = time.perf_counter()
        completed = state.X
        start = completed if start is None else start
        if len(errors) <= state.sweep:
            errors.append(measure(X, completed, M))
        if what:
            _log.info("%s, sweep %d", what, state.sweep)
        watching += time.perf_counter() - looked
    if start is None:
        raise AssertionError("a run has a start")
    changes = np.array([record.change for record in state.trace[1:]])
    return Fill(start, completed, np.array(errors), changes, time.perf_counter() - began - watching)


def both(
    knobs: Knobs, sweeps: int, X: Array, M: Mask, seed: int, what: str, measure: Measure = rmse
) -> dict[str, Fill]:
    """The paper's algorithm and our defaults on the same holes."""
    contenders = {PAPER: knobs.imputer(sweeps, seed), OURS: IGHImputer(random_state=seed)}
    return {name: fill(imputer, X, M, measure, f"{what}: {name}") for name, imputer in contenders.items()}


def errors_of(fills: Sequence[Fill]) -> Array:
    """(runs, sweeps + 1); a run that ended earlier stays where it is."""
    longest = max(len(one.errors) for one in fills)
    return np.array([np.pad(one.errors, (0, longest - len(one.errors)), "edge") for one in fills])


def deviation(errors: Array) -> Array:
    """(sweeps + 1,), the standard deviation over the runs; NaN where there is one run only."""
    return errors.std(axis=0) if len(errors) > 1 else np.full(errors.shape[1], np.nan)


def sweep_rows(runs: Mapping[tuple[str, float], Sequence[Fill]], error: str) -> list[dict[str, Any]]:
    """A line for every method, rate and sweep: mean and standard deviation of the error over the runs."""
    rows = []
    for (name, rate), fills in runs.items():
        errors = errors_of(fills)
        for sweep, (mean, std) in enumerate(zip(errors.mean(axis=0), deviation(errors), strict=True)):
            line = {"method": name, "missing": rate, "sweep": sweep, error: mean, "standard deviation": std}
            seconds = float(np.mean([one.seconds for one in fills]))
            rows.append({**line, "runs": len(fills), "seconds a run": seconds})
    return rows


def removed_entries(shape: tuple[int, int], rate: float, seed: int) -> Mask:
    """Missing completely at random, but for one value of each row and column that would have lost all.

    What is nowhere observed cannot be known: of eight pictures at 70 % that is one pixel in twenty.
    """
    M = mcar(shape, rate, seed)
    rng = np.random.default_rng([seed, 1])
    rows, columns = np.flatnonzero(M.all(axis=1)), np.flatnonzero(M.all(axis=0))
    M[rows, rng.integers(shape[1], size=len(rows))] = False
    M[rng.integers(shape[0], size=len(columns)), columns] = False
    return M


def error_of_means(X: Array, M: Mask) -> float:
    """What the column means achieve on the holes."""
    means = np.mean(X, axis=0, where=~M)
    return rmse(X, np.where(M, means, X), M)


def gain(fills: Mapping[str, Fill]) -> str:
    """How much lower our error is than that of the paper's algorithm, and in how much of its time."""
    theirs, ours = fills[PAPER], fills[OURS]
    return (
        f"error {ours.errors[-1]:.4g} for {theirs.errors[-1]:.4g}, "
        f"{ours.seconds:.1f} s for {theirs.seconds:.1f} s"
    )
