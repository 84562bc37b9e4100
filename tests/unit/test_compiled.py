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
def test_totals(kind, d, rng):
    rows = rng.standard_normal((30, d))
    expected = FORMULAS[kind](rows, rows)
    between = np.empty((30, 30))
    compiled.totals_between(kind, rows, np.ascontiguousarray(rows.T), between)
    np.testing.assert_allclose(between, expected, atol=1e-12)

    members = rng.integers(30, size=(5, 6))
    within = np.empty((5, 21))
    compiled.totals_within(kind, rows, members, within)
    i, j = np.tril_indices(6)
    np.testing.assert_allclose(within, expected[members[:, i], members[:, j]], atol=1e-12)

    queries = rng.integers(30, size=5)
    across = np.empty((5, 6))
    compiled.totals_across(kind, rows, queries, members, across)
    np.testing.assert_allclose(across, expected[queries[:, None], members], atol=1e-12)


def test_without_a_folder_to_write_to_code_is_compiled_all_the_same(monkeypatch):
    njit = compiled.njit

    def nowhere(**options):
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return njit(**options)

    monkeypatch.setattr(compiled, "njit", nowhere)
    assert compiled._compile(lambda x: x + 1)(2) == 3


def test_single_precision_factor(rng):
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


def test_exponentials_are_those_of_the_library():
    total = np.concatenate([[0.0, 1e-300, 707.9], np.geomspace(1e-9, 700, 20_000)])[None]
    found = np.empty_like(total)
    compiled.exponentials(-1.0, total, found)
    np.testing.assert_allclose(found, np.exp(-total), rtol=4e-16)
    assert found[0, 0] == 1.0
    compiled.exponentials(-2.0, np.full((1, 3), np.inf), found[:, :3])
    assert (found[0, :3] == 0).all()
