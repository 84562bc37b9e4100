"""Fast algorithms equal the direct computation, exactly or in a limit."""

import numpy as np
import pytest

from manifill._fillers.sweep import Ledger, Schedule, SweepLimit, sweeps
from manifill._problem import Problem
from manifill.kernels import (
    Cosine,
    Custom,
    Gaussian,
    Laplacian,
    Pairs,
    Polynomial,
    SelfTuning,
    SemiLinear,
)
from manifill.solvers import ConditionNumber, Landmarks, Local, Ridge, Spectral

KERNELS = [Gaussian(), Laplacian(), SemiLinear(Laplacian(), 0.5), SelfTuning(3), Polynomial(), Cosine()]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("block", [[2], [0, 3, 4], list(range(17))], ids=len)
@pytest.mark.parametrize("square", [True, False], ids=["known rows", "new rows"])
def test_ledger_equals_recomputed_pairs(kernel, block, square, rng):
    left, right = rng.standard_normal((20, 18)), rng.standard_normal((9, 18))
    known = left if square else right
    ledger = Ledger(kernel.statistics, left, None if square else right)
    tuned = kernel.tuned(Pairs.of(known, statistics=kernel.statistics))
    for _ in range(3):  # take out and put back with other values
        rest = [j for j in range(18) if j not in block]
        now = ledger.left[:, rest]
        recomputed = Pairs.of(now, None if square else right[:, rest], statistics=kernel.statistics)
        pairs = ledger.take_out(np.array(block))
        assert pairs.n_columns == len(rest)
        np.testing.assert_allclose(tuned(pairs), tuned(recomputed), atol=1e-12)
        np.testing.assert_allclose(tuned.diagonal(pairs), tuned.diagonal(recomputed), atol=1e-12)
        ledger.put_back(np.array(block), rng.standard_normal((20, len(block))))


@pytest.mark.parametrize("kernel", [Gaussian(), Laplacian(), SemiLinear(), SelfTuning(3)], ids=repr)
def test_without_any_column_all_affinities_are_one(kernel, rng):
    """Rounding errors of the subtraction must not count as distance."""
    ledger = Ledger(kernel.statistics, rng.standard_normal((40, 18)))
    pairs = ledger.take_out(np.arange(18))
    np.testing.assert_allclose(kernel.tuned(pairs)(pairs), 1.0, atol=1e-12)


def test_cosine_is_zero_for_rows_that_are_zero_without_the_block(rng):
    X = np.zeros((6, 20))
    X[:, :18] = rng.standard_normal((6, 18))
    X[:3, 18] = 1.0
    pairs = Ledger(Cosine.statistics, X).take_out(np.arange(18))
    expected = np.outer(X[:, 18], X[:, 18])
    np.testing.assert_allclose(Cosine()(pairs), expected, atol=1e-9)


def test_ledger_of_a_kernel_without_statistics_returns_the_rows(rng):
    X = rng.standard_normal((5, 4))
    ledger = Ledger((), X)
    pairs = ledger.take_out(np.array([1, 2]))
    np.testing.assert_array_equal(pairs.left, X[:, [0, 3]])
    ledger.put_back(np.array([1, 2]), np.zeros((5, 2)))
    np.testing.assert_array_equal(ledger.take_out(np.array([0])).left[:, :2], np.zeros((5, 2)))


def last_fill(problem, **options):
    options = {"kernel": Gaussian(), "rng": 0, "stopping": [SweepLimit(3)], **options}
    *_, state = sweeps(problem, **options)
    return state.Z


@pytest.fixture
def problem(curved):
    X, M = curved
    return Problem.of(np.where(M, np.nan, X)[::2])


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_sweeps_with_the_ledger_equal_sweeps_with_recomputed_kernels(kernel, problem):
    """The same kernel as a `Custom` function of rows, for which the ledger has no statistics."""

    def direct(X, Y):
        return kernel.gram(X) if X is Y else kernel.gram(Y, X)

    solver = Spectral(ConditionNumber(1e-3))
    np.testing.assert_allclose(
        last_fill(problem, kernel=kernel, solver=solver),
        last_fill(problem, kernel=Custom(direct), solver=solver),
        atol=1e-8,
    )


def test_ridge_and_spectral_agree_without_regularisation(problem):
    kernel = Laplacian()  # well-conditioned: nothing to regularise
    ridge = last_fill(problem, kernel=kernel, solver=Ridge(0.0))
    spectral = last_fill(problem, kernel=kernel, solver=Spectral(ConditionNumber(0.0)))
    np.testing.assert_allclose(ridge, spectral, atol=1e-7)


def test_columns_missing_in_the_same_rows_share_a_factor_with_the_same_fill(rng):
    t = np.linspace(0, 4, 60)
    X = np.sin(np.outer(t, np.linspace(1, 2, 12)))
    X[rng.choice(60, 15, replace=False)[:, None], [1, 4, 7]] = np.nan
    sizes = []

    class Counting:
        needs_psd = True

        def factor(self, K, scale=None):
            sizes.append(len(K))
            return Ridge(0.01).factor(K, scale)

    def fill(columns):
        group = [[1, 4, 7]]
        table = X.copy()
        others = [j for j in (1, 4, 7) if j not in columns]
        table[:, others] = np.nan_to_num(X[:, others])  # complete, but still taken out with the group
        problem = Problem.of(table, groups=group)
        return problem.restore(last_fill(problem, solver=Counting(), stopping=[SweepLimit(1)]))

    together = fill([1, 4, 7])
    assert sizes == [45]
    for column in (1, 4, 7):
        np.testing.assert_allclose(together[:, column], fill([column])[:, column], atol=1e-12)
    assert sizes == [45] * 4


@pytest.mark.parametrize("kernel", [k for k in KERNELS if k.psd], ids=repr)
@pytest.mark.parametrize(
    "solver", [Landmarks(90, 0.05), Landmarks(90, 0.05, choice="random"), Local(90, 0.05)]
)
def test_solvers_for_long_tables_equal_the_exact_solver_with_all_rows(kernel, solver, rng):
    X = np.sin(rng.random((90, 2)) @ rng.standard_normal((2, 7)) * 2)
    X[rng.random(X.shape) < 0.25] = np.nan
    problem = Problem.of(X)
    exact, long = (
        last_fill(problem, kernel=kernel, solver=one, stopping=[SweepLimit(2)])
        for one in (Ridge(0.05), solver)
    )
    np.testing.assert_allclose(long, exact, atol=1e-6)


def test_recomputed_landmark_pairs_equal_those_in_the_ledger(rng, monkeypatch):
    X = np.sin(rng.random((120, 2)) @ rng.standard_normal((2, 9)) * 2)
    X[rng.random(X.shape) < 0.25] = np.nan
    fills = []
    for max_pairs, chunk in ((2**25, 2**22), (0, 500)):
        monkeypatch.setattr("manifill._fillers.sweep.landmarks._MAX_LEDGER_PAIRS", max_pairs)
        monkeypatch.setattr("manifill._fillers.sweep.landmarks._CHUNK", chunk)
        solver = Landmarks(30)
        fills.append(last_fill(Problem.of(X), kernel=SemiLinear(), solver=solver, stopping=[SweepLimit(3)]))
    np.testing.assert_allclose(*fills, atol=1e-9)


def test_threads_do_not_change_the_fill(rng):
    X = np.sin(rng.random((320, 3)) @ rng.standard_normal((3, 60)) * 2)
    X[rng.random(X.shape) < 0.3] = np.nan
    fills = [
        last_fill(
            Problem.of(X),
            kernel=SemiLinear(Laplacian()),
            solver=Ridge(),
            schedule=Schedule(12),
            n_jobs=n_jobs,
        )
        for n_jobs in (1, 2)
    ]
    np.testing.assert_allclose(*fills, atol=1e-12)
