"""Learned weights of predictors where it is known which of them matter: Friedman's function.

y = 10 sin(π x₁ x₂) + 20 (x₃ − ½)² + 10 x₄ + 5 x₅ + ε with ten independent predictors, uniform in (0, 1),
and ε normal. The weight of a predictor should be in proportion to the root mean square of ∂y/∂x.
"""

import numpy as np
from matplotlib.figure import Figure
from rich.table import Table

from benchmarks.results import Result
from manifill import IGHImputer
from manifill.plots import STYLES, look

PREDICTORS = 10


def friedman(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The table (n, 11), y last, and the root mean square slopes of y (10,) over the rows."""
    rng = np.random.default_rng(seed)
    x, noise = rng.random((n, PREDICTORS)), rng.standard_normal(n)
    product = np.pi * x[:, 0] * x[:, 1]
    y = 10 * np.sin(product) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4] + noise
    slopes = np.zeros((n, PREDICTORS))
    slopes[:, 0] = 10 * np.pi * x[:, 1] * np.cos(product)
    slopes[:, 1] = 10 * np.pi * x[:, 0] * np.cos(product)
    slopes[:, 2] = 40 * (x[:, 2] - 0.5)
    slopes[:, 3], slopes[:, 4] = 10, 5
    return np.column_stack([x, y]), np.sqrt(np.mean(slopes**2, axis=0))


def run(smoke: bool = False) -> Result:
    """Shares of the predictors in the weights of y, mean of ten tables, and in the true slopes."""
    sizes, seeds = ((60,), (0,)) if smoke else ((200, 1000), range(10))
    shares = {}
    for n in sizes:
        found = []
        for seed in seeds:
            X, slopes = friedman(n, seed)
            X[np.random.default_rng(seed + 100).random(X.shape) < 0.2] = np.nan
            weights = IGHImputer(random_state=0).fit(X).importances_.table()[-1, :PREDICTORS]
            found.append(weights)
        shares[f"learned from {n:,} rows"] = np.mean(found, axis=0)
    shares["true slopes"] = slopes / slopes.sum()
    names = [f"x{j + 1}" for j in range(PREDICTORS)]
    table = Table("share", *names, title="Friedman's function: weights of the predictors of y, 20 % missing")
    for name, one in shares.items():
        table.add_row(name, *(f"{share:.3f}" for share in one))
    return table, {"weights": _bars(names, shares)}


def _bars(names: list[str], shares: dict[str, np.ndarray]) -> Figure:
    with look():
        figure = Figure(figsize=(8, 3.4), layout="constrained")
        axes = figure.subplots()
        width = 0.8 / len(shares)
        for i, ((name, one), (color, _, _)) in enumerate(zip(shares.items(), STYLES, strict=False)):
            axes.bar(
                np.arange(len(one)) + (i - (len(shares) - 1) / 2) * width, one, width, color=color, label=name
            )
        axes.set(
            ylabel="share of the weights",
            title="Which predictors matter: 10 sin(π x1 x2) + 20 (x3 − ½)² + 10 x4 + 5 x5",
        )
        axes.set_xticks(np.arange(len(names)), names)
        axes.set_axisbelow(True)
        axes.legend()
    return figure
