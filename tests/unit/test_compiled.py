import numpy as np
import pytest
from scipy.spatial.distance import cdist

from manifill import _compiled as compiled

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
    njit = compiled.njit

    def njit_without_cache(**options):
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return njit(**options)

    monkeypatch.setattr(compiled, "njit", njit_without_cache)
    assert compiled._compile(lambda x: x + 1)(2) == 3


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
