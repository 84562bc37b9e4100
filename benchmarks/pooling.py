"""Multiple imputation on simulated data: coverage of the pooled confidence intervals."""

from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
import pandas as pd
from rich.progress import track
from rich.table import Table

from manifill import TableImputer, pool

TRUTH = np.array([1.0, 1.0, 0.5])
"""Coefficients of y = 1 + x + z/2 + noise; x and z have correlation 0.5."""
MECHANISMS = ("MCAR", "MAR")


def simulated(mechanism: str, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A table (n, 3) of x, z and y, and the mask of its missing entries.

    MCAR: a fifth of all entries. MAR: two fifths of x, with a probability that grows with z, and a fifth of y
    completely at random.
    """
    rng = np.random.default_rng(seed)
    x = rng.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], n)
    X = np.column_stack([x, x @ TRUTH[1:] + TRUTH[0] + rng.standard_normal(n)])
    M = rng.random(X.shape) < 0.2
    if mechanism == "MAR":
        M[:, 0] = rng.random(n) < 1 / (1 + np.exp(0.5 - x[:, 1]))
        M[:, 1] = False
    M[M.all(axis=1), 0] = False
    return X, M


def regression(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients of y on 1, x and z by least squares, and their standard errors."""
    D = np.column_stack([np.ones(len(X)), X[:, :2]])
    G = np.linalg.inv(D.T @ D)
    b = G @ D.T @ X[:, 2]
    variance = ((X[:, 2] - D @ b) ** 2).sum() / (len(X) - 3)
    return b, np.sqrt(variance * np.diag(G))


def repetition(mechanism: str, n: int, m: int, seed: int) -> dict[str, np.ndarray]:
    """For one data set: do pooled and single-fill intervals cover the truth; estimates, standard errors."""
    X, M = simulated(mechanism, n, seed)
    frame = pd.DataFrame(np.where(M, np.nan, X), columns=["x", "z", "y"])
    imputer = TableImputer(random_state=seed, n_jobs=1).fit(frame)
    fits = [regression(table.to_numpy()) for table in imputer.draws(m, random_state=seed)]
    pooled = pool([b for b, _ in fits], [e for _, e in fits], df=n - 3)
    low, high = pooled.interval(0.95).T
    b, e = regression(imputer.completed_.to_numpy())
    single = np.abs(b - TRUTH) <= 1.96 * e
    return {
        "held": (low <= TRUTH) & (high >= TRUTH),
        "single": single,
        "estimate": pooled.estimate,
        "error": pooled.error,
    }


def run(smoke: bool = False) -> Table:
    """Coverage of 95 % intervals over many data sets, for each coefficient, pooled and with a single fill."""
    count, n, m = (4, 60, 3) if smoke else (500, 150, 10)
    table = Table(
        "missing",
        "coefficient",
        "coverage",
        "bias",
        "standard deviation",
        "mean standard error",
        "coverage, single fill",
    )
    for mechanism in MECHANISMS:
        with ProcessPoolExecutor(2) as executor:
            runs = executor.map(partial(repetition, mechanism, n, m), range(count))
            found = list(track(runs, mechanism, total=count, transient=True))
        values = {key: np.array([one[key] for one in found]) for key in found[0]}
        for i, name in enumerate(("1", "x", "z")):
            estimates = values["estimate"][:, i]
            table.add_row(
                mechanism,
                name,
                f"{values['held'][:, i].mean():.1%}",
                f"{estimates.mean() - TRUTH[i]:+.3f}",
                f"{estimates.std():.3f}",
                f"{values['error'][:, i].mean():.3f}",
                f"{values['single'][:, i].mean():.1%}",
            )
    return table
