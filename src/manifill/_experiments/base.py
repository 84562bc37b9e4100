"""Types shared by the experiments, and the two methods that each experiment compares."""

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
"""(truth, filled table, mask of the missing entries) → error."""


@dataclass(frozen=True)
class Claim:
    """A claim of the paper and the result found here.

    Attributes
    ----------
    claim : the claim, in the sense of the paper.
    found : the result, with its numbers.
    holds : whether the result supports the claim.
    reason : why it does not, or a remark.
    """

    claim: str
    found: str
    holds: bool
    reason: str = ""


@dataclass(frozen=True, eq=False)
class Outcome:
    """Results of an experiment.

    Attributes
    ----------
    rows : lines of the CSV file, each a mapping from column name to value.
    figures : matplotlib figures by name; the empty name stands for the experiment's own name.
    claims : the claims of the paper with the results.
    data : description of the data set.
    extra : further files by name; each value is a function that writes the file to a given path.
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
    name, title : short identifier, and a title of one line.
    where : sections and figures of the paper.
    scales : configuration at "paper" and at "smoke" scale.
    run : (configuration, data folder, seed) → outcome.
    needs : optional libraries needed to write the files.
    """

    name: str
    title: str
    where: str
    scales: Mapping[str, Any]
    run: Callable[[Any, Path | None, int], Outcome]
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Knobs:
    """Hyperparameters of the paper's algorithm.

    The paper chose them by experiment. The values here were also chosen by experiment, once per data set.

    Attributes
    ----------
    multiple : bandwidth of the Gaussian kernel, in median distances between rows.
    delta : eigenvalues below delta × the largest eigenvalue are cut off.
    """

    multiple: float
    delta: float

    def imputer(self, sweeps: int, seed: int) -> IGHImputer:
        """The algorithm of the paper: random start, one column at a time, eigenvectors, no bounds."""
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
    """Result of filling a table.

    Attributes
    ----------
    start, filled : the table before the first sweep and after the last.
    errors : (sweeps + 1,), error before the first sweep and after each sweep. With manifill's defaults these
        are the sweeps of the final run; on a large table it starts from the fill of the validation run.
    changes : (sweeps,), change of the imputed values in each sweep, in standard deviations.
    seconds : total run time, with model selection and without the measuring of errors.
    """

    start: Table
    filled: Table
    errors: Array
    changes: Array
    seconds: float


def fill(imputer: IGHImputer, X: Array, M: Mask, measure: Measure = rmse, label: str = "") -> Fill:
    """Remove the entries of `X` (n, d) where `M` is True, fill them, and measure the error of each sweep."""
    began = time.perf_counter()
    measuring = 0.0
    errors: list[float] = []
    start: Table | None = None
    for state in imputer.iter_fit(np.where(M, np.nan, X)):
        paused = time.perf_counter()
        completed = state.X
        start = completed if start is None else start
        if len(errors) <= state.sweep:
            errors.append(measure(X, completed, M))
        if label:
            _log.info("%s, sweep %d", label, state.sweep)
        measuring += time.perf_counter() - paused
    if start is None:
        raise AssertionError("iter_fit yielded no state")
    changes = np.array([record.change for record in state.trace[1:]])
    return Fill(start, completed, np.array(errors), changes, time.perf_counter() - began - measuring)


def fill_both(
    knobs: Knobs, sweeps: int, X: Array, M: Mask, seed: int, label: str, measure: Measure = rmse
) -> dict[str, Fill]:
    """Fill the same missing entries with the paper's algorithm and with manifill's defaults."""
    imputers = {PAPER: knobs.imputer(sweeps, seed), OURS: IGHImputer(random_state=seed)}
    return {name: fill(imputer, X, M, measure, f"{label}: {name}") for name, imputer in imputers.items()}


def errors_of(fills: Sequence[Fill]) -> Array:
    """Errors (runs, sweeps + 1); a shorter run is padded with its last error."""
    longest = max(len(one.errors) for one in fills)
    return np.array([np.pad(one.errors, (0, longest - len(one.errors)), "edge") for one in fills])


def deviation(errors: Array) -> Array:
    """Standard deviation (sweeps + 1,) over the runs; NaN for a single run."""
    return errors.std(axis=0) if len(errors) > 1 else np.full(errors.shape[1], np.nan)


def sweep_rows(runs: Mapping[tuple[str, float], Sequence[Fill]], error: str) -> list[dict[str, Any]]:
    """One line per method, rate and sweep: mean and standard deviation of the error over the runs."""
    rows = []
    for (name, rate), fills in runs.items():
        errors = errors_of(fills)
        for sweep, (mean, std) in enumerate(zip(errors.mean(axis=0), deviation(errors), strict=True)):
            line = {"method": name, "missing": rate, "sweep": sweep, error: mean, "standard deviation": std}
            seconds = float(np.mean([one.seconds for one in fills]))
            rows.append({**line, "runs": len(fills), "seconds a run": seconds})
    return rows


def removed_entries(shape: tuple[int, int], rate: float, seed: int) -> Mask:
    """Mask of entries removed completely at random; every row and column keeps at least one entry.

    A column without observed entries cannot be imputed. Among eight pictures with 70 % missing, that would be
    0.7⁸ ≈ 6 % of the pixels.
    """
    M = mcar(shape, rate, seed)
    rng = np.random.default_rng([seed, 1])
    rows, columns = np.flatnonzero(M.all(axis=1)), np.flatnonzero(M.all(axis=0))
    M[rows, rng.integers(shape[1], size=len(rows))] = False
    M[rng.integers(shape[0], size=len(columns)), columns] = False
    return M


def error_of_means(X: Array, M: Mask) -> float:
    """RMSE of the column means on the missing entries."""
    means = np.mean(X, axis=0, where=~M)
    return rmse(X, np.where(M, means, X), M)


def compared(fills: Mapping[str, Fill]) -> str:
    """Text with the final errors and run times of both methods."""
    theirs, ours = fills[PAPER], fills[OURS]
    return (
        f"RMSE {ours.errors[-1]:.4g} with defaults, {theirs.errors[-1]:.4g} with the paper's algorithm, "
        f"in {ours.seconds:.1f} s and {theirs.seconds:.1f} s"
    )
