"""The solvers for long tables, `Landmarks` and `Local`."""

import pickle
import re

import numpy as np
import pytest

from manifill import GeometricHarmonics, IGHImputer, Sweep
from manifill._estimators import options
from manifill._fillers import Run
from manifill._fillers.sweep import Ensemble, Sweeper
from manifill._fillers.sweep.local import LocalSweeps
from manifill._problem import Problem
from manifill.errors import IncompatibleKernel, InvalidInput
from manifill.kernels import Custom, Gaussian, SelfTuning, SemiLinear
from manifill.metrics import nrmse
from manifill.solvers import Landmarks, Local, NormalEquations, Ridge, Spectral

SOLVERS = [Landmarks(60), Local(15)]


@pytest.fixture
def surface(rng):
    X = np.sin(rng.random((250, 2)) @ rng.standard_normal((2, 7)) * 3)
    M = rng.random(X.shape) < 0.2
    return X, M, np.where(M, np.nan, X)


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
class TestBothSolvers:
    def test_the_error_is_small_and_observed_values_are_unchanged(self, solver, surface):
        X, M, damaged = surface
        filled = IGHImputer(solver=solver, random_state=0).fit_transform(damaged)
        assert nrmse(X, filled, M) < 0.35  # 1 with column means
        np.testing.assert_array_equal(filled[~M], X[~M])

    def test_the_fill_does_not_depend_on_the_number_of_threads(self, solver, surface):
        fills = [
            IGHImputer(solver=solver, random_state=3, n_jobs=n_jobs, max_sweeps=2).fit_transform(surface[2])
            for n_jobs in (1, 2)
        ]
        np.testing.assert_array_equal(*fills)

    def test_a_new_row_does_not_depend_on_the_other_new_rows(self, solver, surface):
        X, M, damaged = surface
        imputer = IGHImputer(solver=solver, random_state=0).fit(damaged[:180])
        together = imputer.transform(damaged[180:])
        assert nrmse(X[180:], together, M[180:]) < 0.35
        for i in (0, 31, 69):
            alone = imputer.transform(damaged[180 + i : 181 + i])
            np.testing.assert_allclose(alone[0], together[i], atol=1e-9)

    def test_a_pickled_copy_gives_identical_results(self, solver, surface):
        imputer = IGHImputer(solver=solver, random_state=0, max_sweeps=1).fit(surface[2])
        filled = imputer.transform(surface[2][:5])
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(imputer)).transform(surface[2][:5]), filled)

    def test_blocks_groups_bounds_and_constant_columns(self, solver, surface):
        damaged = surface[2].copy()
        damaged[:, 3] = np.where(np.isnan(damaged[:, 3]), np.nan, 7.0)
        imputer = IGHImputer(
            solver=solver,
            method=Sweep(schedule=3),
            groups=[[0, 1]],
            bounds={2: (-0.1, 0.1)},
            random_state=0,
            max_sweeps=2,
        )
        filled = imputer.fit_transform(damaged)
        missing = np.isnan(damaged)
        assert (filled[:, 3] == 7.0).all()
        assert np.abs(filled[missing[:, 2], 2]).max() <= 0.1
        new = imputer.transform(damaged[:9])
        assert (new[:, 3] == 7.0).all()
        assert np.abs(new[missing[:9, 2], 2]).max(initial=0) <= 0.1

    def test_a_column_known_in_few_rows_is_filled(self, solver, surface):
        X, _, damaged = surface
        damaged[20:, 5] = np.nan
        filled = IGHImputer(solver=solver, random_state=0, max_sweeps=3).fit_transform(damaged)
        assert np.isfinite(filled).all()
        assert np.corrcoef(filled[20:, 5], X[20:, 5])[0, 1] > 0.5

    def test_a_time_limit_can_end_the_first_sweep(self, solver, surface):
        with pytest.warns(UserWarning, match="Not even the first sweep"):
            imputer = IGHImputer(solver=solver, time_limit=1e-9).fit(surface[2])
        assert imputer.status_.name == "TIME_LIMIT"

    def test_kernels_that_are_not_psd_and_geometric_harmonics_are_refused(self, solver, surface):
        with pytest.raises(IncompatibleKernel, match=f"The {type(solver).__name__} solver needs a positive"):
            IGHImputer(SelfTuning(), solver=solver).fit(surface[2])
        with pytest.raises(InvalidInput, match="in IGHImputer only; GeometricHarmonics needs 'ridge'"):
            GeometricHarmonics(solver=solver).fit(surface[0], surface[0][:, 0])

    def test_devices_are_refused(self, solver, surface):
        pytest.importorskip("torch", reason="needs torch: pip install 'manifill[gpu]'")
        with pytest.raises(InvalidInput, match="On a device columns are extended by the ridge solver"):
            IGHImputer(solver=solver, device="cpu").fit(surface[2])


def test_a_row_without_known_rows_nearby_does_not_change_the_fill_of_others(rng):
    X = rng.standard_normal((900, 4))
    X[:, 2] = np.sin(X[:, 0]) + X[:, 1]
    X[::10, 2] = np.nan
    X[X[:, 0] > 1.5, 2] = np.nan
    imputer = IGHImputer("gaussian", solver=Local(k=20), random_state=0, max_sweeps=1).fit(X)
    new = rng.standard_normal((60, 4))
    new = np.where(np.arange(4) == 2, np.nan, new[new[:, 0] < 1])
    isolated = np.array([[3.5, 0.0, np.nan, 0.0]])
    together = imputer.transform(np.vstack([new, isolated]))[:-1]
    np.testing.assert_array_equal(together, imputer.transform(new))


def test_candidate_rows_are_distinct(rng):
    X = np.column_stack([rng.standard_normal((300, 2)), np.full(300, np.nan)])
    X[:40, 2] = 1.0 + rng.random(40)
    problem = Problem.of(X)
    method = LocalSweeps(problem, (np.array([2]),), Ensemble.of(Gaussian(), Local(5)))
    near = rng.permuted(np.tile(np.arange(300), (50, 1)), axis=1)[:, :20]
    candidates = method.with_fallback(near, 2)
    too_few = (~problem.M[near, 2]).sum(axis=1) < 5
    assert too_few.any()
    assert not too_few.all()
    for before, after, extended in zip(near, candidates, too_few, strict=True):
        rows = after[after >= 0]
        assert len(set(rows)) == len(rows)
        assert set(before) <= set(rows)
        assert extended or set(before) == set(rows)


def test_local_equals_ridge_if_k_exceeds_the_number_of_known_rows(rng):
    X = np.column_stack([np.linspace(0, 1, 4200), np.linspace(0, 1, 4200) ** 2, np.full(4200, np.nan)])
    X[:210, 2] = np.linspace(2, 3, 210)
    local = IGHImputer("gaussian", solver=Local(k=600), random_state=0, max_sweeps=1, bounds=None).fit(X)
    ridge = IGHImputer("gaussian", solver=Ridge(), random_state=0, max_sweeps=1, bounds=None).fit(X)
    np.testing.assert_allclose(local.completed_, ridge.completed_, atol=1e-2)


def test_spread_landmarks_are_distinct_rows(rng):
    X = np.repeat(rng.standard_normal((5, 4)), 20, axis=0)
    X[::9, 0] = np.nan
    problem = Problem.of(X)
    spread, random = (
        Sweeper(Ensemble.of(Gaussian(), solver), max_sweeps=1)
        for solver in (Landmarks(50), Landmarks(50, choice="random"))
    )
    numbers = []
    for sweeper in (spread, random):
        *_, fill = sweeper.steps(problem, np.random.default_rng(0), Run(), None)
        numbers.append(len(sweeper.extension(fill, Run()).fitted.centres))
    assert numbers[0] < 50  # all other rows equal a landmark
    assert numbers[1] == 50


def test_landmarks_accept_custom_kernels(surface):
    X, M, damaged = surface

    def cauchy(A, B):
        return 1 / (1 + ((A[:, None] - B[None]) ** 2).sum(axis=2) / 10)

    kernel = Custom(cauchy, psd=True)
    filled = IGHImputer(kernel, solver=Landmarks(40), random_state=0, max_sweeps=2).fit_transform(damaged)
    assert nrmse(X, filled, M) < 0.5
    with pytest.raises(IncompatibleKernel, match="Local solver needs a kernel of sums over columns"):
        IGHImputer(kernel, solver="local").fit(damaged)


def test_normal_equations_that_rounding_makes_indefinite_are_solved():
    equations = NormalEquations(6)
    equations.products = np.diag([2e4, 1e3, 1e2, 10.0, 1.0, -3e-3])
    equations.projections = np.array([2e4, 1e3, 1e2, 10.0, 1.0, 0.0])
    coefficients, report = equations.solve(np.eye(6), 1e-3)
    np.testing.assert_allclose(coefficients[:4], 1, rtol=0.01)
    assert report.added < 0.1


def test_redundant_landmarks_are_dropped_and_reported(rng):
    K = Gaussian(1.0).gram(np.repeat(rng.standard_normal((4, 2)), 2, axis=0))
    equations = NormalEquations(8)
    equations.products, equations.projections = K.T @ K, K.T @ np.ones(8)
    coefficients, report = equations.solve(K, 0.1)
    assert (report.kept, report.dropped) == (4, 4)
    exact = K @ np.linalg.solve(K + 0.1 * np.eye(8), np.ones(8))
    np.testing.assert_allclose(K @ coefficients, exact, atol=1e-8)


class TestAutomaticChoice:
    @pytest.mark.parametrize(
        ("n", "d", "expected", "reason"),
        [
            (4000, 20, Ridge, "few enough for all pairs"),
            (4001, 20, Local, r"all pairs of 4,001 rows .* 0\.6 GB; with 20 columns each entry"),
            (4001, 301, Ridge, "few enough for all pairs"),
            (8001, 301, Landmarks, "with 301 columns landmarks"),
            (1_000_000, 5, Landmarks, r"40,000\.0 GB; with 5 columns landmarks"),
        ],
    )
    def test_solver_and_its_reason_depend_on_the_shape(self, n, d, expected, reason):
        solver = options.as_solver("auto", SemiLinear(), (n, d))
        assert type(solver) is expected
        assert re.search(reason, str(solver))
        assert solver == expected()  # the reason does not affect equality

    def test_the_reason_is_on_the_fitted_imputer(self, surface):
        assert "known rows are few enough" in str(IGHImputer(max_sweeps=1).fit(surface[2]).solver_)
        assert str(IGHImputer(solver="ridge", max_sweeps=1).fit(surface[2]).solver_) == "Ridge(ridge=0.1)"

    def test_kernels_that_are_not_psd_are_refused_for_many_rows(self):
        assert type(options.as_solver("auto", SelfTuning(), (5000, 9))) is Spectral
        with pytest.raises(InvalidInput, match=r"only solver='spectral' can use it.*40,000 GB.*psd=True"):
            options.as_solver("auto", SelfTuning(), (1_000_000, 9))
