import numpy as np
import pytest

from manifill._harmonics import blame_kernel, require_compatible
from manifill.errors import IncompatibleKernel, NotPositiveDefinite
from manifill.kernels import Custom, Gaussian, SelfTuning
from manifill.solvers import ConditionNumber, Count, Energy, Ridge, Spectral


@pytest.fixture
def K(rng):
    return Gaussian(1.0).gram(rng.standard_normal((30, 2)))


@pytest.fixture
def F(rng):
    return rng.standard_normal((30, 4))


def test_ridge_solves_the_ridge_system(K, F):
    factor = Ridge(0.05).factor(K)
    np.testing.assert_allclose((K + 0.05 * np.eye(30)) @ factor.coefficients(F), F, atol=1e-10)
    assert factor.report.added == pytest.approx(0.05)
    assert factor.report.jitter == 0


@pytest.mark.parametrize("solver", [Ridge(0.05), Spectral(ConditionNumber(1e-4))], ids=repr)
def test_a_constant_factor_in_the_kernel_cancels(solver, K, F):
    once = K @ solver.factor(K).coefficients(F)
    scaled = 1e3 * K @ solver.factor(1e3 * K).coefficients(F)
    np.testing.assert_allclose(once, scaled, atol=1e-8)


@pytest.mark.parametrize("solver", [Ridge(0.05), Spectral()], ids=repr)
def test_one_factor_serves_many_functions(solver, K, F):
    factor = solver.factor(K)
    together = factor.coefficients(F)
    for j in range(F.shape[1]):
        np.testing.assert_allclose(together[:, j], factor.coefficients(F[:, j]), atol=1e-12)


@pytest.mark.parametrize("solver", [Ridge(0.05), Ridge(0.0), Spectral()], ids=repr)
def test_the_matrix_is_not_changed(solver, K):
    K.flags.writeable = False
    before = K.copy()
    solver.factor(K)
    np.testing.assert_array_equal(K, before)


def test_spectral_equals_the_truncated_eigendecomposition(K, F):
    values, vectors = np.linalg.eigh(K)
    kept = values >= 1e-2 * values.max()
    expected = vectors[:, kept] @ np.diag(1 / values[kept]) @ vectors[:, kept].T @ F
    factor = Spectral(ConditionNumber(1e-2)).factor(K)
    np.testing.assert_allclose(factor.coefficients(F), expected, atol=1e-10)
    assert factor.report.kept == kept.sum()
    assert factor.report.dropped == 30 - kept.sum()
    assert factor.report.dropped_energy == pytest.approx(values[~kept].sum() / values.sum())
    assert (np.diff(factor.eigenvalues) <= 0).all()


def test_cutoff_by_count(K):
    assert Spectral(Count(5)).factor(K).report.kept == 5
    assert Spectral(Count(500)).factor(np.eye(4)).report.kept == 4


def test_cutoff_by_energy():
    K = np.diag([4.0, 3.0, 2.0, 1.0])
    kept = {share: Spectral(Energy(share)).factor(K).report.kept for share in (0.3, 0.5, 0.7, 0.9, 1.0)}
    assert kept == {0.3: 1, 0.5: 2, 0.7: 2, 0.9: 3, 1.0: 4}


def test_spectral_reports_negative_energy():
    factor = Spectral(ConditionNumber(0.0)).factor(np.diag([5.0, 3.0, -2.0]))
    assert factor.report.kept == 2
    assert factor.report.negative_energy == pytest.approx(0.2)
    assert "0.2 of it negative" in str(factor.report)


def test_spectral_of_a_zero_matrix_extends_by_zero():
    factor = Spectral().factor(np.zeros((3, 3)))
    np.testing.assert_array_equal(factor.coefficients(np.ones(3)), np.zeros(3))
    assert factor.report.kept == 0


def test_ridge_of_a_singular_matrix_adds_and_reports_jitter():
    factor = Ridge(0.0).factor(100 * np.ones((4, 4)))
    assert factor.report.jitter == pytest.approx(100 * 1e-12)
    assert factor.report.added == factor.report.jitter
    assert "jitter" in str(factor.report)


def test_ridge_refuses_an_indefinite_matrix():
    with pytest.raises(NotPositiveDefinite, match="spectral"):
        Ridge(0.1).factor(np.diag([1.0, -1.0]))


def test_a_kernel_that_is_not_psd_is_refused_and_named():
    with pytest.raises(
        IncompatibleKernel, match=r"Ridge solver needs.*SelfTuning\(k=7\) is not one.*spectral"
    ):
        require_compatible(SelfTuning(), Ridge())
    require_compatible(SelfTuning(), Spectral())
    require_compatible(Gaussian(), Ridge())


def test_a_custom_kernel_is_named_if_cholesky_fails():
    kernel = Custom(np.subtract)
    named = pytest.raises(IncompatibleKernel, match=r"Custom\(function=<ufunc 'subtract'>.*spectral")
    with named, blame_kernel(kernel, Ridge()):
        Ridge().factor(np.diag([1.0, -1.0]))
