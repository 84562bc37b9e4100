"""The package's column schedule with the spectral solver equals the paper's algorithm at every sweep."""

import numpy as np
import pytest

import paper
from manifill._fillers.sweep import SweepLimit, fixed_order, random_order, sweeps
from manifill._problem import Problem
from manifill.amputation import mcar
from manifill.datasets import swiss_roll
from manifill.kernels import Gaussian, Laplacian, MedianDistance
from manifill.solvers import ConditionNumber, Spectral

REFERENCE = {
    Gaussian: {"kernel": paper.gaussian, "distance": paper.distance_l2},
    Laplacian: {"kernel": paper.laplacian, "distance": paper.distance_l1},
}


class Recorded:
    """A column order that records the orders it returned."""

    def __init__(self, order):
        self.order, self.seen = order, []

    def __call__(self, blocks, problem, rng):
        chosen = self.order(blocks, problem, rng)
        self.seen.append([int(block[0]) for block in chosen])
        return chosen


def curve(n, d, rng):
    t = np.sort(rng.uniform(0, 5, n))
    X = np.column_stack([np.sin((1 + k / 3) * t + k) for k in range(d)])
    return X * np.geomspace(1, 1e3, d) + 0.01 * rng.standard_normal(X.shape)


def roll(n, d, rng):
    return swiss_roll(spirals=2, points=n // 2, dimensions=d, random_state=rng)[0]


def check_agreement(X, M, seed, *, order=None, kernel=Gaussian, multiple=1.0, delta=1e-3, n_sweeps=4):
    """Compare start and every sweep of package and transcription, with the same mask, draws and orders."""
    recorded = Recorded(order or random_order)
    states = list(
        sweeps(
            Problem.of(np.where(M, np.nan, X)),
            kernel=kernel(MedianDistance(multiple)),
            solver=Spectral(ConditionNumber(delta)),
            order=recorded,
            stopping=[SweepLimit(n_sweeps)],
            rng=seed,
        )
    )
    draws = np.random.default_rng(seed).spawn(3)[0].standard_normal(X.shape)
    start = paper.start(X, M, draws)
    std = X.std(axis=0)
    np.testing.assert_allclose(states[0].X / std, start / std, rtol=0, atol=1e-8)
    oracle = paper.iterate(start, M, recorded.seen, multiple=multiple, delta=delta, **REFERENCE[kernel])
    for ours, theirs in zip(states[1:], oracle, strict=True):
        np.testing.assert_allclose(ours.X / std, theirs / std, rtol=0, atol=1e-8)
    assert np.abs(theirs - start).max() > 0.1 * std.min()  # the oracle changed the start


def removed_entries(shape, rate, seed):
    M = mcar(shape, rate, seed)
    M[:2] = False  # every column keeps values
    M[M.all(axis=1), 0] = False  # every row keeps a value
    return M


@pytest.mark.parametrize(
    ("table", "n", "d", "rate", "seed", "multiple", "delta"),
    [
        (curve, 25, 3, 0.1, 0, 1.0, 1e-3),
        (curve, 40, 4, 0.3, 1, 2.0, 1e-4),
        (curve, 12, 9, 0.5, 2, 1.0, 1e-2),
        (curve, 30, 2, 0.2, 3, 0.5, 1e-2),
        (roll, 40, 6, 0.5, 4, 4.0, 1e-4),
        (roll, 24, 12, 0.7, 5, 2.0, 1e-3),
    ],
)
@pytest.mark.parametrize("order", [random_order, fixed_order], ids=["random", "fixed"])
@pytest.mark.parametrize("kernel", [Gaussian, Laplacian])
def test_every_sweep_agrees_with_the_paper(table, n, d, rate, seed, multiple, delta, order, kernel):
    X = table(n, d, np.random.default_rng(seed))
    check_agreement(
        X,
        removed_entries(X.shape, rate, seed),
        seed,
        order=order,
        kernel=kernel,
        multiple=multiple,
        delta=delta,
    )


def test_longer_table_agrees_with_the_paper(rng):
    X = curve(300, 3, rng)
    check_agreement(X, removed_entries(X.shape, 0.2, 0), seed=0, n_sweeps=1)
