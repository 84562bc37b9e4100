import numpy as np
import pytest
from scipy.spatial.distance import cdist

from manifill import _compiled as compiled
from manifill._compiled import loops

FORMULAS = {
    compiled.ABSOLUTE: lambda X, Y: cdist(X, Y, "cityblock"),
    compiled.SQUARED: lambda X, Y: cdist(X, Y, "sqeuclidean"),
    compiled.PRODUCT: lambda X, Y: X @ Y.T,
}


@pytest.mark.parametrize("kind", FORMULAS)
@pytest.mark.parametrize("d", [1, 3, 4, 7, 8])
def test_totals_equal_their_formulas(kind, d, rng):
    rows = rng.standard_normal((30, d))
    expected = FORMULAS[kind](rows, rows)
    between = np.empty((30, 30))
    compiled.totals_between(kind, rows, np.ascontiguousarray(rows.T), between)
    np.testing.assert_allclose(between, expected, atol=1e-12)

    sets = rng.integers(30, size=(5, 6))
    within = np.empty((5, 21))
    compiled.totals_within(kind, rows, sets, within)
    i, j = np.tril_indices(6)
    np.testing.assert_allclose(within, expected[sets[:, i], sets[:, j]], atol=1e-12)

    queries = rng.integers(30, size=5)
    across = np.empty((5, 6))
    compiled.totals_across(kind, rows, queries, sets, across)
    np.testing.assert_allclose(across, expected[queries[:, None], sets], atol=1e-12)


def test_code_is_compiled_without_a_writeable_cache_folder(monkeypatch):
    njit = loops.njit

    def njit_without_cache(**options):
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return njit(**options)

    monkeypatch.setattr(loops, "njit", njit_without_cache)
    assert loops.compile_loop(lambda x: x + 1)(2) == 3


@pytest.mark.parametrize(
    ("m", "cells", "searched"), [(5, 1, 1), (400, 1, 1), (3000, 1, 1), (400, 8, 8), (400, 8, 6)]
)
def test_nearest_rows_are_those_of_all_distances(m, cells, searched):
    """In single precision; if some cells are searched, most of the neighbours are found."""
    rng = np.random.default_rng(0)
    rows = np.sort(rng.random((m, 5)).astype(np.float32), axis=0)  # cells are parts of a curve
    queries = rows[rng.integers(m, size=30)] + 0.01 * rng.random((30, 5)).astype(np.float32)
    extra = 0.1 * rng.random(m).astype(np.float32)
    left_out = np.where(np.arange(30) < 20, rng.integers(m, size=30), -1)
    distances = np.abs(queries[:, None] - rows).sum(axis=2) + extra
    distances[np.arange(20), left_out[:20]] = np.inf
    first = np.arange(0, m + 1, m // cells)
    centres = np.ascontiguousarray(np.add.reduceat(rows, first[:-1]).T / (m // cells))
    near, found = np.empty((30, 8), dtype=np.intp), np.empty((30, 8), dtype=np.float32)
    columns = np.ascontiguousarray(rows.T)
    compiled.nearest(queries, columns, extra, first, centres, searched, left_out, near, found)
    expected = np.sort(distances, axis=1)[:, : near.shape[1]]
    if searched == cells:
        k = expected.shape[1]
        np.testing.assert_allclose(found[:, :k], expected, atol=1e-5)
        some = near[:, :k] >= 0
        np.testing.assert_allclose(
            np.take_along_axis(distances, np.maximum(near[:, :k], 0), axis=1)[some],
            found[:, :k][some],
            atol=1e-5,
        )
        assert ((near < 0) == np.isinf(found)).all()
    else:
        assert np.mean(found <= expected[:, -1:] + 1e-5) > 0.8


def test_values_from_near_rows_are_those_of_kernel_ridge_regression(rng):
    rows, extra, f = rng.random((40, 3)), 0.1 * rng.random(40), rng.standard_normal((40, 2))
    near = np.array([rng.permutation(40)[:7] for _ in range(6)])
    near[5, 4:] = -1
    distance = rng.random((6, 7))
    counts, bandwidths, ridges = np.array([7, 3]), np.array([0.8, 2.0]), np.array([0.1, 0.5])
    values = np.empty((6, 2, 2))
    compiled.from_near_rows(rows, extra, near, distance, f, counts, bandwidths, ridges, values)
    for i in range(6):
        for e in range(2):
            own = near[i, : counts[e]]
            own = own[own >= 0]
            D = np.abs(rows[own][:, None] - rows[own]).sum(axis=2) + extra[own] + extra[own][:, None]
            np.fill_diagonal(D, 0.0)
            K = np.exp(-D / bandwidths[e]) + ridges[e] * np.eye(len(own))
            expected = np.exp(-distance[i, : len(own)] / bandwidths[e]) @ np.linalg.solve(K, f[own])
            np.testing.assert_allclose(values[i, e], expected, atol=1e-10)


def test_single_precision_factor_solves_the_system(rng):
    A = rng.standard_normal((40, 40))
    K = A @ A.T
    rows = np.flatnonzero(rng.random(40) < 0.6)
    factor = np.empty((len(rows), len(rows)), dtype=np.float32)
    assert compiled.factor_single(K, rows, 40.0, factor) == 0
    f = rng.standard_normal((3, len(rows)))
    solved = f.astype(np.float32)
    compiled.solve_single(factor, solved)
    exact = np.linalg.solve(K[np.ix_(rows, rows)] + 40 * np.eye(len(rows)), f.T).T
    np.testing.assert_allclose(solved, exact, atol=1e-5)
    assert compiled.factor_single(-K, rows, 0.0, factor) != 0
