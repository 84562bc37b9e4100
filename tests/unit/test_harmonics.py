import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.model_selection import GridSearchCV, KFold

from manifill import GeometricHarmonics
from manifill.errors import IncompatibleKernel, InvalidInput
from manifill.kernels import Gaussian, Precomputed
from manifill.solvers import ConditionNumber, Count, Ridge, Spectral


@pytest.fixture
def circle():
    t = np.linspace(0, 2 * np.pi, 90, endpoint=False)
    return t, np.column_stack([np.cos(t), np.sin(t)])


def test_full_rank_reproduces_the_function_on_the_known_rows(rng):
    X, F = rng.standard_normal((25, 3)), rng.standard_normal((25, 2))
    for solver in (Spectral(ConditionNumber(0.0)), Ridge(0.0)):
        model = GeometricHarmonics(Gaussian(0.5), solver=solver).fit(X, F)
        np.testing.assert_allclose(model.predict(X), F, atol=1e-9)


def test_harmonics_are_the_eigenvectors_on_known_rows_and_extend_them(circle):
    _, X = circle
    model = GeometricHarmonics(Gaussian(0.5), solver=Spectral(Count(9))).fit(X[::2], X[::2, 0])
    np.testing.assert_allclose(model.harmonics(X[::2]), model.eigenvectors_, atol=1e-10)
    np.testing.assert_allclose(model.eigenvectors_.T @ model.eigenvectors_, np.eye(9), atol=1e-12)
    assert model.harmonics(X).shape == (90, 9)
    # the definition, equation (3) of the paper
    K = Gaussian(0.5).gram(X[::2], X)
    np.testing.assert_allclose(model.harmonics(X), K @ model.eigenvectors_ / model.eigenvalues_, atol=1e-10)


def test_prediction_is_the_sum_over_harmonics(circle):
    t, X = circle
    f = np.sin(2 * t[::3])
    model = GeometricHarmonics(solver=Spectral(Count(12)), center=False).fit(X[::3], f)
    expected = model.harmonics(X) @ (model.eigenvectors_.T @ f)
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-10)


def test_far_away_the_mean_is_predicted_or_0_without_centring(rng):
    X = rng.standard_normal((30, 2))
    y = 5 + X[:, 0]
    far = np.full((1, 2), 1e3)
    assert GeometricHarmonics().fit(X, y).predict(far)[0] == pytest.approx(y.mean())
    assert GeometricHarmonics(center=False).fit(X, y).predict(far)[0] == pytest.approx(0)


def test_several_functions_together_equal_each_alone(circle):
    t, X = circle
    F = np.column_stack([np.sin(t), np.cos(4 * t), t])
    together = GeometricHarmonics().fit(X[::2], F[::2]).predict(X)
    alone = [GeometricHarmonics().fit(X[::2], f[::2]).predict(X) for f in F.T]
    np.testing.assert_allclose(together, np.column_stack(alone), atol=1e-9)


def test_ridge_mean_and_std_equal_those_of_a_gaussian_process(rng):
    X, new = rng.uniform(-2, 2, (40, 2)), rng.uniform(-3, 3, (15, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(40)
    noise = 0.05
    ours = GeometricHarmonics(Gaussian(0.8), solver=Ridge(noise)).fit(X, y)
    theirs = GaussianProcessRegressor(RBF(0.8), alpha=noise, optimizer=None).fit(X, y - y.mean())
    mean, std = ours.predict(new, return_std=True)
    their_mean, their_std = theirs.predict(new, return_std=True)
    np.testing.assert_allclose(mean - y.mean(), their_mean, atol=1e-10)
    centred = y - y.mean()
    amplitude = np.sqrt(centred @ np.linalg.solve(Gaussian(0.8).gram(X) + noise * np.eye(40), centred) / 40)
    np.testing.assert_allclose(std, amplitude * np.sqrt(their_std**2 + noise), atol=1e-10)


@pytest.mark.parametrize("solver", [Ridge(0.04), Spectral(ConditionNumber(1e-2)), Spectral()], ids=repr)
def test_90_percent_intervals_from_std_have_their_nominal_coverage(solver, rng):
    inside = total = 0
    for _ in range(20):
        X = rng.uniform(-2, 2, (140, 2))
        K = Gaussian(0.9).gram(X)
        latent = np.linalg.cholesky(K + 1e-10 * np.eye(140)) @ rng.standard_normal(140)
        y = 3 * (latent + 0.2 * rng.standard_normal(140))
        model = GeometricHarmonics(Gaussian(0.9), solver=solver).fit(X[:100], y[:100])
        mean, std = model.predict(X[100:], return_std=True)
        inside += (np.abs(mean - y[100:]) < 1.645 * std).sum()
        total += 40
    assert 0.86 < inside / total < 0.95


def test_spectral_std_equals_its_formula(rng):
    X, F = rng.uniform(-2, 2, (30, 2)), rng.standard_normal((30, 3))
    new = rng.uniform(-2, 2, (7, 2))
    model = GeometricHarmonics(Gaussian(0.9), solver=Spectral(Count(8)), center=False).fit(X, F)
    psi, values, Psi = model.eigenvectors_, model.eigenvalues_, model.harmonics(new)
    _, std = model.predict(new, return_std=True)
    for m, f in enumerate(F.T):
        amplitude = np.mean((psi.T @ f) ** 2 / values)
        noise = np.sum((f - psi @ psi.T @ f) ** 2) / (30 - 8)
        expected = amplitude * (1 - Psi**2 @ values) + noise * (1 + (Psi**2).sum(axis=1))
        np.testing.assert_allclose(std[:, m] ** 2, expected, rtol=1e-8)


def test_std_grows_away_from_known_rows(circle):
    t, X = circle
    model = GeometricHarmonics(Gaussian(0.3)).fit(X, np.sin(t))
    _, near = model.predict(X, return_std=True)
    _, far = model.predict(3 * X, return_std=True)
    assert near.max() < 0.2 * far.min()
    _, both = GeometricHarmonics().fit(X, np.column_stack([t, t])).predict(X, return_std=True)
    assert both.shape == (90, 2)


def test_precomputed_equals_computed(circle):
    t, X = circle
    known = np.arange(90) % 4 > 0
    direct = GeometricHarmonics(Gaussian(0.4)).fit(X[known], np.sin(t[known])).predict(X)
    model = GeometricHarmonics("precomputed").fit(Gaussian(0.4).gram(X[known]), np.sin(t[known]))
    np.testing.assert_allclose(model.predict(Gaussian(0.4).gram(X[known], X)), direct, atol=1e-12)
    with pytest.raises(IncompatibleKernel, match="return_std"):
        model.predict(Gaussian(0.4).gram(X[known], X), return_std=True)
    with pytest.raises(InvalidInput, match="square"):
        GeometricHarmonics(Precomputed()).fit(X, t)


def test_a_kernel_function_gives_the_result_of_the_kernel(circle):
    t, X = circle
    ours = GeometricHarmonics(Gaussian(0.4)).fit(X[::2], np.sin(t[::2]))
    theirs = GeometricHarmonics(lambda A, B: Gaussian(0.4).gram(B, A)).fit(X[::2], np.sin(t[::2]))
    for expected, found in zip(
        ours.predict(X, return_std=True), theirs.predict(X, return_std=True), strict=True
    ):
        np.testing.assert_allclose(expected, found, atol=1e-10)


def test_self_tuning_works_with_the_spectral_solver_only(circle):
    t, X = circle
    model = GeometricHarmonics("self_tuning").fit(X[::2], np.sin(t[::2]))
    assert model.score(X, np.sin(t)) > 0.99
    with pytest.raises(IncompatibleKernel, match="SelfTuning"):
        GeometricHarmonics("self_tuning", solver="ridge").fit(X, t)


def test_eigenvectors_need_the_spectral_solver(circle):
    t, X = circle
    model = GeometricHarmonics(solver="ridge").fit(X, t)
    assert not hasattr(model, "eigenvalues_")
    with pytest.raises(InvalidInput, match="spectral"):
        model.harmonics(X)


def test_later_changes_of_the_rows_do_not_affect_the_model(circle):
    t, X = circle
    rows = X.copy()
    model = GeometricHarmonics().fit(rows, np.sin(t))
    before = model.predict(X)
    rows[:] = 0
    np.testing.assert_array_equal(model.predict(X), before)


def test_a_large_offset_of_the_rows_does_not_change_predictions(rng):
    X = rng.standard_normal((80, 12))
    y = X[:, 0]
    expected = GeometricHarmonics().fit(X[:60], y[:60]).predict(X[60:])
    shifted = GeometricHarmonics().fit(X[:60] + 1e7, y[:60]).predict(X[60:] + 1e7)
    np.testing.assert_allclose(shifted, expected, atol=1e-5)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[1.0], [np.inf]], [1.0, 2.0], "column x0 is inf in row 1"),
        ([[1.0, 2.0], [3.0, np.nan]], [1.0, 2.0], "column x1 is nan in row 1"),
        ([["a"], [1.0]], [1.0, 2.0], "column x0 is 'a' in row 0"),
        ([[1e200], [2e200]], [1.0, 2.0], "X must be in units"),
        ([[1e-200], [2e-200]], [1.0, 2.0], "X must be in units"),
        ([[1.0], [2.0]], [1e200, 1.0], "y must be in units"),
    ],
)
def test_invalid_values_are_named(X, y, message):
    with pytest.raises(InvalidInput, match=message):
        GeometricHarmonics().fit(X, y)


def test_a_kernel_that_overflows_is_named(rng):
    X, y = rng.standard_normal((30, 3)), rng.standard_normal(30)
    with pytest.raises(InvalidInput, match="units in which Polynomial"):
        GeometricHarmonics("polynomial").fit(1e90 * X, y)
    with pytest.raises(InvalidInput, match="units in which Polynomial"):
        GeometricHarmonics("polynomial").fit(X, y).predict(1e95 * X, return_std=True)


def test_invalid_parameters_are_named(circle):
    t, X = circle
    for options, message in (
        ({"center": "no"}, "center must be"),
        ({"kernel": 3}, "kernel must be"),
        ({"solver": Ridge}, "solver must be"),
    ):
        with pytest.raises(InvalidInput, match=message):
            GeometricHarmonics(**options).fit(X, t)
    with pytest.raises(InvalidInput, match="symmetric"):
        GeometricHarmonics("precomputed").fit(np.arange(9.0).reshape(3, 3), [1, 2, 3])
    with pytest.raises(NotFittedError):
        _ = GeometricHarmonics().report_


def test_grid_search(circle):
    t, X = circle
    grid = {"kernel": [Gaussian(0.01), Gaussian(0.5)], "solver": ["ridge", "spectral"]}
    search = GridSearchCV(GeometricHarmonics(), grid, cv=KFold(3, shuffle=True, random_state=0)).fit(
        X, np.sin(7 * t + X[:, 0])
    )
    assert search.best_params_["kernel"] == Gaussian(0.5)
