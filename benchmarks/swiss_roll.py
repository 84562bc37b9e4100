"""The paper's swiss roll: error after every sweep, from a random start."""

import numpy as np
from rich.table import Table

from manifill._fillers.sweep import SweepLimit, sweeps
from manifill._problem import Problem
from manifill.amputation import mcar
from manifill.datasets import swiss_roll
from manifill.kernels import Gaussian, MedianDistance
from manifill.solvers import ConditionNumber, Ridge, Spectral

KERNEL = Gaussian(MedianDistance(4.0))
SOLVERS = {"spectral 1e-4": Spectral(ConditionNumber(1e-4)), "ridge 1e-4": Ridge(1e-4)}
RATES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)


def errors(rate: float, solver: Spectral | Ridge, seed: int, n_sweeps: int) -> list[float]:
    """The paper's error at the start and after every sweep; column schedule, random order."""
    X, _ = swiss_roll(random_state=seed)
    damaged = np.where(mcar(X.shape, rate, seed), np.nan, X)
    run = sweeps(
        Problem.of(damaged), kernel=KERNEL, solver=solver, stopping=[SweepLimit(n_sweeps)], rng=seed, truth=X
    )
    *_, last = run
    return [record.error for record in last.trace]


def run(smoke: bool = False) -> Table:
    """Mean error over seeds at the start, after 1 to 5 and 10 sweeps, and the reduction within 5."""
    seeds, n_sweeps = (range(1), 5) if smoke else (range(5), 10)
    shown = [0, 1, 2, 3, 4, 5] + ([] if smoke else [10])
    columns = (
        "solver",
        "missing",
        *(f"sweep {s}" if s else "start" for s in shown),
        "reduction in 5 sweeps",
        "reduction, worst seed",
    )
    table = Table(*columns, title=f"Swiss roll 250 × 30, paper's error, {KERNEL}, {len(seeds)} seeds")
    for name, solver in SOLVERS.items():
        for rate in RATES[4:5] if smoke else RATES:
            runs = np.array([errors(rate, solver, seed, n_sweeps) for seed in seeds])
            reductions = runs[:, 0] / runs[:, 5]
            means = [f"{runs[:, s].mean():.3f}" for s in shown]
            table.add_row(
                name, f"{rate:.0%}", *means, f"{reductions.mean():.1f}×", f"{reductions.min():.1f}×"
            )
    return table
