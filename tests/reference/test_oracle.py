"""The product's column schedule with the spectral solver is the paper's algorithm, at every sweep."""

import numpy as np
import pytest

import paper
from manifill.amputation import mcar
from manifill.datasets import swiss_roll
from manifill.kernels import Gaussian, Laplacian, MedianDistance
from manifill.solvers import ConditionNumber, Spectral
from manifill.sweep import FixedOrder, NormalStart, Problem, RandomOrder, SweepLimit, sweeps

SWEEPS = 4


class Recorded:
    """An order that remembers what it chose."""

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
    return swiss_roll(spirals=2, points=n // 2, dimensions=d, seed=rng)[0]


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
@pytest.mark.parametrize("order", [RandomOrder(), FixedOrder()], ids=["random", "fixed"])
@pytest.mark.parametrize(
    ("kernel", "reference"),
    [
        (Gaussian, {"kernel": paper.gaussian, "distance": paper.distance_l2}),
        (Laplacian, {"kernel": paper.laplacian, "distance": paper.distance_l1}),
    ],
    ids=["gaussian", "laplacian"],
)
def test_every_sweep_agrees_with_the_paper(
    table, n, d, rate, seed, multiple, delta, order, kernel, reference
):
    X = table(n, d, np.random.default_rng(seed))
    M = mcar(X.shape, rate, seed)
    M[:2] = False  # every column keeps values, and every row something
    problem = Problem.of(np.where(M, np.nan, X))
    recorded = Recorded(order)
    states = list(
        sweeps(
            problem,
            kernel=kernel(MedianDistance(multiple)),
            solver=Spectral(ConditionNumber(delta)),
            start=NormalStart(),
            order=recorded,
            stopping=[SweepLimit(SWEEPS)],
            rng=seed,
        )
    )
    oracle = paper.iterate(states[0].Z, problem.M, recorded.seen, multiple=multiple, delta=delta, **reference)
    moved = 0.0
    for ours, theirs in zip(states[1:], oracle, strict=True):
        np.testing.assert_allclose(ours.Z, theirs, rtol=0, atol=1e-8)
        moved = max(moved, np.abs(theirs - states[0].Z).max())
    assert moved > 0.1  # the oracle did something
