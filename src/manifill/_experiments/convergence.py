"""Number of sweeps until convergence, against the share of missing entries."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from manifill import plots
from manifill._arrays import Array
from manifill._experiments.base import (
    OURS,
    PAPER,
    Claim,
    Experiment,
    Fill,
    Knobs,
    Outcome,
    fill_both,
    removed_entries,
)
from manifill.datasets import swiss_roll

KNOBS = Knobs(multiple=4.0, delta=1e-4)
# Change of the imputed values, in standard deviations, below which a sweep counts as converged.
# Set by hand, not tuned.
SMALL_CHANGE = 0.02
# Largest distance from the final error at convergence, as a share of the total reduction of the error.
# Set by hand, not tuned.
ERROR_MARGIN = 0.05


@dataclass(frozen=True)
class Config:
    """Shares of missing entries, runs per share, and sweep limit of the paper's algorithm."""

    rates: tuple[float, ...] = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
    seeds: int = 3
    sweeps: int = 15


Runs = dict[tuple[str, float], list[Fill]]


def run(config: Config, data_dir: Path | None, seed: int) -> Outcome:
    """Run every rate with every seed."""
    runs: Runs = {}
    for rate in config.rates:
        for i in range(config.seeds):
            X, _ = swiss_roll(random_state=seed + i)
            M = removed_entries(X.shape, rate, seed + i)
            for name, one in fill_both(KNOBS, config.sweeps, X, M, seed + i, f"{rate:.0%} missing").items():
                runs.setdefault((name, rate), []).append(one)
    return Outcome(
        rows=_rows(runs),
        figures={"": _figure(runs, config.rates)},
        claims=_claims(runs, config.rates),
        data="the paper's swiss roll, made by manifill",
    )


def sweeps_to_small_change(one: Fill) -> int:
    """First sweep with a change below SMALL_CHANGE, or the last sweep."""
    converged = np.flatnonzero(one.changes < SMALL_CHANGE)
    return int(converged[0]) + 1 if converged.size else len(one.changes)


def sweeps_to_final_error(one: Fill) -> int:
    """First sweep from which the error differs from the final one by at most ERROR_MARGIN × its reduction."""
    reduction = max(float(one.errors[0] - one.errors[-1]), 0.0)
    distant = np.flatnonzero(np.abs(one.errors - one.errors[-1]) > ERROR_MARGIN * reduction)
    return int(distant[-1]) + 1 if distant.size else 0


def _mean(runs: Runs, name: str, rates: tuple[float, ...], count: Any) -> Array:
    return np.array([np.mean([count(one) for one in runs[name, rate]]) for rate in rates])


def _rows(runs: Runs) -> list[dict[str, Any]]:
    return [
        {
            "method": name,
            "missing": rate,
            "sweeps until the fill hardly moves": float(
                np.mean([sweeps_to_small_change(one) for one in fills])
            ),
            "sweeps until 95 % of the loss of error": float(
                np.mean([sweeps_to_final_error(one) for one in fills])
            ),
            "sweeps made": float(np.mean([len(one.changes) for one in fills])),
            "RMSE": float(np.mean([one.errors[-1] for one in fills])),
            "runs": len(fills),
        }
        for (name, rate), fills in runs.items()
    ]


def _claims(runs: Runs, rates: tuple[float, ...]) -> list[Claim]:
    sweeps = _mean(runs, PAPER, rates, sweeps_to_final_error)
    correlation = float(np.corrcoef(rates, sweeps)[0, 1]) if len(rates) > 2 else float("nan")
    ours = _mean(runs, OURS, rates, lambda one: len(one.changes))
    each = ", ".join(f"{s:.1f} at {rate:.0%}" for s, rate in zip(sweeps, rates, strict=True))
    late = ", ".join(f"{rate:.0%}" for s, rate in zip(sweeps, rates, strict=True) if s > 10)
    return [
        Claim(
            "The iteration stabilises after 2 to 10 iterations, with 4 being sufficient in many cases.",
            f"Sweeps until 95 % of the reduction of the error is reached: {each} missing; with defaults "
            f"{ours.min():.0f} to {ours.max():.0f} sweeps are run.",
            bool(sweeps.max() <= 10),
            f"It takes longer at {late}: few of the 30 values of a row are observed." if late else "",
        ),
        Claim(
            "More missing values take more iterations, about linearly.",
            f"Correlation of rate and sweeps: {correlation:.2f}.",
            bool(correlation > 0.8),
        ),
    ]


def _figure(runs: Runs, rates: tuple[float, ...]) -> Figure:
    with plots.look():
        figure = Figure(figsize=(9.5, 4.8), layout="constrained")
        left, right = figure.subplots(1, 2)
        counts = {
            f"{PAPER}: 95 % of the reduction of the error": _mean(runs, PAPER, rates, sweeps_to_final_error),
            f"{PAPER}: change below {SMALL_CHANGE}": _mean(runs, PAPER, rates, sweeps_to_small_change),
            f"{OURS}: sweeps run": _mean(runs, OURS, rates, lambda one: len(one.changes)),
        }
        plots.series(left, rates, counts, xlabel="share missing", ylabel="sweeps", ylim=(0, None))
        left.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14))  # below the axes
        errors = {name: _mean(runs, name, rates, lambda one: one.errors[-1]) for name in (PAPER, OURS)}
        plots.series(
            right, rates, errors, xlabel="share missing", ylabel="RMSE on missing entries", ylim=(0, None)
        )
    return figure


EXPERIMENT = Experiment(
    "convergence",
    "Convergence: number of sweeps against missing rate",
    "§3.3",
    {"paper": Config(), "smoke": Config((0.2, 0.5, 0.7), seeds=1, sweeps=12)},
    run,
)
