"""All methods of extending many functions with one kernel matrix give the same result."""

from types import SimpleNamespace

import numpy as np
import pytest

from manifill._threads import Workers
from manifill.errors import NotPositiveDefinite
from manifill.kernels import Gaussian, SemiLinear
from manifill.solvers import Columns, Ridge, columns, mixed
from manifill.solvers.inverse import inverse

RIDGE = 0.05


def case(rng, n, b, rate):
    X = rng.standard_normal((n, 3))
    K = SemiLinear(Gaussian(), 0.3).gram(X)
    M = rng.random((n, b)) < rate
    M[:, 1] = M[:, 0]  # columns with equal masks share a factorisation
    F = np.where(M, 0.0, np.sin(X @ rng.standard_normal((3, b))))
    return K, F, M


def direct_solution(K, F, M, ridge=RIDGE):
    C = np.zeros(F.shape)
    added = ridge * np.diagonal(K).mean()
    for j in range(F.shape[1]):
        A = np.flatnonzero(~M[:, j])
        C[A, j] = np.linalg.solve(K[np.ix_(A, A)] + added * np.eye(len(A)), F[A, j])
    return C


@pytest.mark.parametrize("rate", [0.15, 0.5, 0.8], ids="{:.0%}".format)
@pytest.mark.parametrize("min_work", [0.0, np.inf], ids=["compiled", "numpy"])
def test_extension_and_coefficients_equal_the_direct_solution(rate, min_work, rng, monkeypatch):
    monkeypatch.setattr(columns, "_MIN_COMPILED_WORK", min_work)
    K, F, M = case(rng, 90, 30, rate)
    C = direct_solution(K, F, M)
    with Workers(2):
        found, reports = Columns(F, M).coefficients(K, Ridge(RIDGE))
        extended, _ = Columns(F, M).extension(K, Ridge(RIDGE))
    np.testing.assert_allclose(found, C, atol=1e-9)
    np.testing.assert_allclose(extended[M], (K @ C)[M], atol=1e-9)
    assert reports[0].added == pytest.approx(RIDGE * np.diagonal(K).mean())
    assert reports[0].jitter == pytest.approx(0.0, abs=1e-15)
    assert reports[0].kept == round((~M).sum(axis=0).mean())


def test_the_complement_is_used_if_it_is_cheaper(rng, monkeypatch):
    monkeypatch.setattr(columns, "_MIN_COMPILED_WORK", 0.0)
    inverted = []
    monkeypatch.setattr(columns, "inverse", lambda K: inverted.append(len(K)) or inverse(K))
    for rate, expected in ((0.15, [90]), (0.8, [])):
        inverted.clear()
        K, F, M = case(rng, 90, 30, rate)
        Columns(F, M).extension(K, Ridge(RIDGE))
        assert inverted == expected


@pytest.mark.parametrize("rate", [0.2, 0.7], ids="{:.0%}".format)
def test_single_precision_is_refined_to_double(rate, rng, monkeypatch):
    monkeypatch.setattr(columns, "_MIN_MIXED_ROWS", 50)
    K, F, M = case(rng, 200, 12, rate)
    calls = []
    solve = mixed.solve
    monkeypatch.setattr(mixed, "solve", lambda *a: calls.append(solve(*a)) or calls[-1])
    with Workers(2):
        found, _ = Columns(F, M).coefficients(K, Ridge(RIDGE))
    assert calls[0] is found
    np.testing.assert_allclose(found, direct_solution(K, F, M), atol=1e-7)
    residual = np.where(M, 0.0, F - K @ found - RIDGE * np.diagonal(K).mean() * found)
    assert np.abs(residual).max() <= 1e-9 * np.abs(F).max()


@pytest.mark.parametrize(
    ("n", "ridge", "expected"),
    [
        *[(1000, 0.01, True), (1000, 0.0025, True), (1000, 0.0023, False), (4000, 0.01, True)],
        *[(4000, 0.009, False), (7000, 1.0, True), (8000, 1.0, False)],
    ],
)
def test_single_precision_needs_a_ridge_above_its_rounding_and_half_a_gigabyte(n, ridge, expected):
    """The smaller of the two ways, with the known or the missing rows, must fit."""

    def sets(*sizes):
        return SimpleNamespace(sizes=np.array(sizes))

    half = sets(n // 2, n // 2)
    assert mixed.is_applicable(n, ridge, half, sets(n, n)) == expected
    assert mixed.is_applicable(n, ridge, sets(n, n), half) == expected


def test_single_precision_is_not_used_with_a_small_ridge(rng, monkeypatch):
    monkeypatch.setattr(columns, "_MIN_MIXED_ROWS", 50)
    monkeypatch.setattr(mixed, "solve", lambda *a: pytest.fail("factored in single precision"))
    K, F, M = case(rng, 200, 6, 0.5)
    found, _ = Columns(F, M).coefficients(K, Ridge(1e-5))
    np.testing.assert_allclose(found, direct_solution(K, F, M, 1e-5), atol=1e-6)


def test_refinement_that_does_not_converge_returns_none(rng):
    K, F, M = case(rng, 200, 6, 0.5)
    found = Columns(F, M)
    assert mixed.solve(K, F, M, found.known, found.missing, 1e-13) is None


@pytest.mark.parametrize("rate", [0.1, 0.7], ids="{:.0%}".format)
def test_factors_that_fail_in_single_precision_give_none(rate, rng, monkeypatch):
    K, F, M = case(rng, 60, 6, rate)
    found = Columns(F, M)
    assert mixed.solve(K, F, M, found.known, found.missing, 0.1) is not None
    assert mixed.solve(-K, F, M, found.known, found.missing, 0.1) is None
    monkeypatch.setattr(mixed, "_factors", lambda *_: None)
    assert mixed.solve(K, F, M, found.known, found.missing, 0.1) is None


def test_a_matrix_that_is_not_positive_definite_is_refused(rng, monkeypatch):
    monkeypatch.setattr(columns, "_MIN_COMPILED_WORK", 0.0)
    K, F, M = case(rng, 60, 4, 0.6)
    with pytest.raises(NotPositiveDefinite, match=r"known rows with .* added to the diagonal are not"):
        Columns(F, M).extension(-K, Ridge(0.0))


def test_columns_without_missing_entries(rng, monkeypatch, capfd):
    monkeypatch.setattr(columns, "_MIN_COMPILED_WORK", 0.0)
    K, F, M = case(rng, 90, 30, 0.15)
    M[:, 5:9] = False
    F = np.where(M, 0.0, rng.standard_normal(F.shape))
    for min_rows in (1000, 50):  # double precision, then refined single precision
        monkeypatch.setattr(columns, "_MIN_MIXED_ROWS", min_rows)
        found, _ = Columns(F, M).coefficients(K, Ridge(RIDGE))
        np.testing.assert_allclose(found, direct_solution(K, F, M), atol=1e-7)
    assert "illegal value" not in "".join(capfd.readouterr())  # an error message of LAPACK


def test_jitter_required_by_rounding_is_added_and_reported(monkeypatch):
    monkeypatch.setattr(columns, "_MIN_COMPILED_WORK", 0.0)
    K = np.ones((30, 30))
    M = np.zeros((30, 2), dtype=bool)
    M[20:, 0] = M[25:, 1] = True
    _, reports = Columns(np.where(M, 0.0, 1.0), M).coefficients(K, Ridge(0.0))
    assert reports[0].jitter > 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [5, 700, 1301])
def test_inverse_is_none_unless_positive_definite(n, dtype, rng):
    A = rng.standard_normal((n, n)).astype(dtype)
    K = A @ A.T / n + np.eye(n, dtype=dtype)
    with Workers(2):
        P = inverse(K)
    assert P.dtype == dtype
    np.testing.assert_allclose(P @ K, np.eye(n), atol=1e-3 if dtype == np.float32 else 1e-11)
    assert inverse(-K) is None
    K[-1, -1] = -1.0
    assert inverse(K) is None


def test_the_direct_method_is_used_if_the_inverse_is_indefinite(rng, monkeypatch):
    monkeypatch.setattr(columns, "_MIN_COMPILED_WORK", 0.0)
    K, F, M = case(rng, 90, 30, 0.15)
    expected, _ = Columns(F, M).extension(K, Ridge(RIDGE))
    monkeypatch.setattr(columns, "inverse", lambda K: -inverse(K))
    extended, _ = Columns(F, M).extension(K, Ridge(RIDGE))
    np.testing.assert_allclose(extended[M], expected[M], atol=1e-9)
