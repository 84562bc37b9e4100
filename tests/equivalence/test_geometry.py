"""The Gaussian field equals dense conditioning, and in special cases kriging and geometric harmonics."""

import numpy as np
import pytest

from manifill import GeometricHarmonics, IGHImputer, _selection
from manifill._axes import along, channels, cosines, eigenvectors, separate
from manifill._fillers import Run
from manifill._fillers.field import Field, fill_stages
from manifill._fillers.field.stages import COLUMNS
from manifill._problem import Problem
from manifill._threads import Workers
from manifill.kernels import Gaussian
from manifill.layouts import Affinities, Distances, Grid, Learned, Points
from manifill.solvers import Ridge


def gaussian_kernel(rng, n, width=1.0):
    points = rng.standard_normal((n, 2))
    return np.exp(-((points[:, None] - points[None]) ** 2).sum(axis=2) / width)


def axes_of(name, rng):
    rows = {"similar": eigenvectors(gaussian_kernel(rng, 9)), "time": cosines(9), "separate": separate(9)}
    columns = {
        "grid": (cosines(5), cosines(4), channels(1)),
        "colour": (cosines(4), cosines(3), channels(3)),
        "sensors": (eigenvectors(gaussian_kernel(rng, 11)),),
        "line": (cosines(12),),
    }
    row, column = name.split("-")
    return (rows[row], *columns[column])


def dense_basis(axes):
    basis = np.ones((1, 1))
    for axis in axes:
        basis = np.kron(basis, np.eye(axis.size) if axis.basis is None else axis.basis)
    return basis


def conditioned(axes, T, Y, M):
    """Conditional mean x_m = C_mo C_oo⁻¹ x_o and covariance, from the dense covariance matrix C."""
    basis = dense_basis(axes)
    C = (basis * np.broadcast_to(T, Y.shape).ravel()) @ basis.T
    m = M.ravel()
    x = Y.ravel().copy()
    x[m] = C[np.ix_(m, ~m)] @ np.linalg.solve(C[np.ix_(~m, ~m)], x[~m])
    posterior = C[np.ix_(m, m)] - C[np.ix_(m, ~m)] @ np.linalg.solve(C[np.ix_(~m, ~m)], C[np.ix_(~m, m)])
    return x.reshape(Y.shape), posterior


def random_problem(axes, seed):
    rng = np.random.default_rng(seed)
    shape = tuple(axis.size for axis in axes)
    rows = 1 if axes[0].basis is None else shape[0]
    T = rng.uniform(0.05, 4.0, (rows, *shape[1:]))
    M = rng.random(shape) < 0.4
    return T, np.where(M, 0.0, rng.standard_normal(shape)), M


@pytest.mark.parametrize("rows", ["similar", "time", "separate"])
@pytest.mark.parametrize("columns", ["grid", "colour", "sensors", "line"])
def test_field_equals_dense_conditioning(rows, columns):
    axes = axes_of(f"{rows}-{columns}", np.random.default_rng(0))
    T, Y, M = random_problem(axes, 1)
    field = Field(axes, M, np.float64)
    expected, _ = conditioned(axes, T, Y, M)
    np.testing.assert_allclose((Y + field.mean(Y, T, 1e-12))[M], expected[M], rtol=0, atol=1e-8)


def test_field_equals_dense_conditioning_with_missing_blocks():
    axes = axes_of("time-grid", np.random.default_rng(0))
    T, Y, M = random_problem(axes, 2)
    for block in (np.s_[4], np.s_[:, 1:3, 1:3], np.s_[:, :, 2]):
        M = np.zeros(Y.shape, bool)
        M[block] = True
        known = np.where(M, 0.0, np.random.default_rng(3).standard_normal(Y.shape))
        expected, _ = conditioned(axes, T, known, M)
        found = known + Field(axes, M, np.float64).mean(known, T, 1e-12)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)


def test_deviations_have_the_conditional_covariance():
    axes = axes_of("similar-line", np.random.default_rng(0))
    T, Y, M = random_problem(axes, 4)
    _, posterior = conditioned(axes, T, Y, M)
    field, rng = Field(axes, M, np.float64), np.random.default_rng(5)
    drawn = np.stack([field.deviation(T, rng, 1e-6)[M] for _ in range(2000)])
    size = np.sqrt(np.outer(np.diag(posterior), np.diag(posterior)))
    assert np.abs((drawn.T @ drawn / 2000 - posterior) / size).max() < 0.15


def test_variances_constant_over_columns_give_geometric_harmonics():
    rng = np.random.default_rng(6)
    rows, d, ridge = rng.standard_normal((30, 3)), 6, 1e-2
    M = rng.random((30, d)) < 0.4
    values = np.column_stack([np.sin(rows @ rng.standard_normal(3)) for _ in range(d)])
    K = np.exp(-((rows[:, None] - rows[None]) ** 2).sum(axis=2) / (2 * 2.0**2))
    axis = eigenvectors(K)
    lambdas = np.linalg.eigvalsh(K)[::-1]
    T = np.broadcast_to((lambdas + ridge)[:, None], (30, d))
    Y = np.where(M, 0.0, values)
    found = Y + Field((axis, cosines(d)), M, np.float64).mean(Y, T, 1e-13)
    for column in range(d):
        known = ~M[:, column]
        extension = GeometricHarmonics(kernel=Gaussian(2.0), solver=Ridge(ridge), center=False)
        extension.fit(rows[known], values[known, column])
        np.testing.assert_allclose(found[~known, column], extension.predict(rows[~known]), rtol=0, atol=1e-7)


def test_variances_constant_over_rows_give_kriging_of_each_row():
    axes = (cosines(7), cosines(6), cosines(5), channels(1))
    rng = np.random.default_rng(7)
    spectrum = rng.uniform(0.1, 3, (1, 6, 5, 1))
    M = rng.random((7, 6, 5, 1)) < 0.4
    Y = np.where(M, 0.0, rng.standard_normal(M.shape))
    found = Y + Field(axes, M, np.float64).mean(Y, np.broadcast_to(spectrum, M.shape), 1e-12)
    basis = np.kron(axes[1].basis, axes[2].basis)
    C = (basis * spectrum.ravel()) @ basis.T
    for i in range(7):
        m, y = M[i].ravel(), Y[i].ravel()
        expected = C[np.ix_(m, ~m)] @ np.linalg.solve(C[np.ix_(~m, ~m)], y[~m])
        np.testing.assert_allclose(found[i].ravel()[m], expected, rtol=0, atol=1e-8)


def test_eigenvalues_as_variances_give_kriging_with_the_kernel_of_points():
    rng = np.random.default_rng(8)
    layout = Points(rng.random((12, 2)), scale=0.5)
    K = np.asarray(layout.kernel)
    (axis,) = layout.axes(np.zeros((1, 12)), np.zeros((1, 12), bool))
    M = rng.random((4, 12)) < 0.5
    Y = np.where(M, 0.0, rng.standard_normal(M.shape))
    T = np.linalg.eigvalsh(K)[::-1][None]
    found = Y + Field((separate(4), axis), M, np.float64).mean(Y, T, 1e-13)
    for i in range(4):
        m = M[i]
        expected = K[np.ix_(m, ~m)] @ np.linalg.solve(K[np.ix_(~m, ~m)], Y[i, ~m])
        np.testing.assert_allclose(found[i, m], expected, rtol=0, atol=1e-8)


def test_tensors_and_arrays_give_the_same_mean():
    pytest.importorskip("torch")
    for name in ("similar-colour", "time-grid", "similar-sensors"):
        axes = axes_of(name, np.random.default_rng(0))
        T, Y, M = random_problem(axes, 9)
        with_arrays, with_tensors = Field(axes, M, np.float64), Field(axes, M, np.float64, "cpu")
        expected = with_arrays.mean(Y, T, 1e-12)
        found = with_tensors.mean(with_tensors.placed(Y), with_tensors.placed(T), 1e-12)
        np.testing.assert_allclose(found.numpy(), expected, rtol=0, atol=1e-9)


def test_harmonics_are_orthonormal_and_products_do_not_depend_on_threads():
    rng = np.random.default_rng(10)
    for axis in (cosines(13), channels(3), eigenvectors(gaussian_kernel(rng, 8))):
        np.testing.assert_allclose(axis.basis.T @ axis.basis, np.eye(axis.size), atol=1e-12)
        np.testing.assert_allclose(axis.averages.sum(axis=1), 1)
        np.testing.assert_allclose(axis.interpolation.sum(axis=1), 1)
    V, A = rng.standard_normal((50, 40, 30, 2)), rng.standard_normal((40, 40))
    alone = along(A, V, 1)
    with Workers(2):
        np.testing.assert_array_equal(along(A, V, 1), alone)
    np.testing.assert_allclose(alone, np.einsum("ij,njwc->niwc", A, V), atol=1e-10)


def test_learned_variances_are_close_to_the_true_variances():
    """Data are drawn from smoothly varying variances, and 30 % of the entries are removed."""
    axes = (separate(400), cosines(32), cosines(32), channels(1))
    roughness = axes[1].roughness[None, :, None, None] + axes[2].roughness[None, None, :, None]
    truth = (0.2 + roughness) ** -1.5
    truth /= truth.mean()
    rng = np.random.default_rng(11)
    field = Field(
        axes, np.zeros((400, 32, 32, 1), bool) | (np.arange(32) == 0)[None, :, None, None], np.float64
    )
    X = field.values(np.sqrt(truth) * rng.standard_normal((400, 32, 32, 1)))
    X[rng.random(X.shape) < 0.3] = np.nan
    problem = Problem.of(X.reshape(400, -1), layout=Grid(32, 32))
    (filled,) = fill_stages(problem, (COLUMNS,), rng, Run())
    ratio = filled.variances * float(problem.scaling.deviation[0]) ** 2 / truth
    assert 0.8 < np.exp(np.log(ratio).mean()) < 1.25
    assert np.abs(np.log(ratio)).mean() < 0.2


def face_like(n=40, size=20, seed=0):
    """(n, size, size), smooth pictures of a bump at random positions on a curve."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:size, :size] / size
    t = rng.uniform(0, 1, n)[:, None, None]
    return np.exp(-((x - 0.2 - 0.6 * t) ** 2 + (y - 0.5 - 0.3 * np.sin(6 * t)) ** 2) / 0.03) + 0.3 * x


def test_grid_layout_halves_the_error():
    X = face_like().reshape(40, -1)
    M = np.random.default_rng(1).random(X.shape) < 0.5
    damaged = np.where(M, np.nan, X)
    with_grid = IGHImputer(layout=Grid(20, 20), random_state=0).fit_transform(damaged)
    rows_only = IGHImputer("gaussian", random_state=0).fit_transform(damaged)
    np.testing.assert_array_equal(with_grid[~M], X[~M])
    assert np.abs(with_grid - X)[M].mean() < 0.5 * np.abs(rows_only - X)[M].mean()


def test_wrong_layout_increases_the_error_by_at_most_five_percent():
    """The layout declares the columns unrelated, so the fill must rely on similar rows."""
    X = face_like(n=60, size=12).reshape(60, -1)[:, np.random.default_rng(2).permutation(144)]
    M = np.random.default_rng(3).random(X.shape) < 0.3
    damaged = np.where(M, np.nan, X)
    wrong = IGHImputer(layout=Affinities(np.eye(144)), random_state=0).fit_transform(damaged)
    rows_only = IGHImputer(random_state=0).fit_transform(damaged)
    rmse = lambda filled: np.sqrt(np.mean(((filled - X) / X.std(axis=0))[M] ** 2))  # in standard deviations
    assert rmse(wrong) < 1.05 * rmse(rows_only)


def test_distances_and_points_give_the_same_kernel():
    points = np.random.default_rng(4).random((7, 2))
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    np.testing.assert_allclose(Points(points).kernel, Distances(distances).kernel)
    np.testing.assert_allclose(
        Points(points).kernel, np.exp(-distances / np.median(distances[distances > 0]))
    )


def test_times_and_learned_layout_are_better_than_interpolation_of_sensors(monkeypatch):
    rng = np.random.default_rng(5)
    t = np.arange(300)
    common = np.cumsum(rng.standard_normal((300, 3)), axis=0) / 4
    X = common @ rng.standard_normal((3, 12)) + 0.1 * rng.standard_normal((300, 12)) + np.sin(t / 9)[:, None]
    M = rng.random(X.shape) < 0.3
    M[100] = True  # a time without any measurement
    imputer = IGHImputer(layout=Learned(), times="even", random_state=0)
    blends, weigh = [], _selection.weigh
    monkeypatch.setattr(
        _selection, "weigh", lambda *arguments: blends.append(weigh(*arguments)) or blends[-1]
    )
    both = imputer.fit_transform(np.where(M, np.nan, X))
    line = X.copy()
    for j in range(12):
        line[M[:, j], j] = np.interp(t[M[:, j]], t[~M[:, j]], X[~M[:, j], j])
    np.testing.assert_array_equal(both[~M], X[~M])
    rmse = lambda filled: np.sqrt(np.mean((filled - X)[M] ** 2))
    assert rmse(both) < 0.9 * rmse(line)
    assert np.abs(both[100] - X[100]).mean() < 1.5 * np.abs(line[100] - X[100]).mean()
    estimated = blends[0].error
    assert 0.6 * rmse(both) < estimated < 1.6 * rmse(both)
    low, high = imputer.intervals(0.9)
    assert 0.8 < ((low <= X) & (high >= X))[M].mean() < 0.98
