"""Points evenly spaced on a circle: the kernel matrix is circulant, its spectrum known in closed form."""

import numpy as np
import pytest
from scipy.special import ive

from manifill import GeometricHarmonics
from manifill.kernels import Gaussian, SelfTuning
from manifill.solvers import ConditionNumber, Count, Spectral

N, SIGMA = 120, 0.5
T = 2 * np.pi * np.arange(N) / N
CIRCLE = np.column_stack([np.cos(T), np.sin(T)])


def expected(frequency):
    """Eigenvalue of exp(−½‖x − y‖²/σ²) at a frequency: ‖x − y‖² = 2 − 2cos θ makes it a Bessel function."""
    return N * ive(frequency, 1 / SIGMA**2)


def test_eigenvalues_are_bessel_functions():
    model = GeometricHarmonics(Gaussian(SIGMA), solver=Spectral(Count(13))).fit(CIRCLE, T)
    frequencies = [0, *np.repeat(np.arange(1, 7), 2)]
    np.testing.assert_allclose(model.eigenvalues_, [expected(m) for m in frequencies], rtol=1e-10)


@pytest.mark.parametrize("kernel", [Gaussian(SIGMA), SelfTuning(5)], ids=repr)
def test_eigenvalues_are_the_fourier_transform_of_a_row(kernel):
    K = kernel.gram(CIRCLE)
    spectrum = np.sort(np.fft.fft(K[0]).real)[::-1]
    factor = Spectral(ConditionNumber(0.0)).factor(K)
    np.testing.assert_allclose(factor.eigenvalues, spectrum[: factor.report.kept], atol=1e-9)


@pytest.mark.parametrize("frequency", [1, 2, 5])
def test_harmonics_extend_sines_to_points_between(frequency):
    model = GeometricHarmonics(Gaussian(SIGMA), solver=Spectral(Count(13)), center=False)
    model.fit(CIRCLE, np.sin(frequency * T))
    between = T + np.pi / N
    points = np.column_stack([np.cos(between), np.sin(between)])
    np.testing.assert_allclose(model.predict(points), np.sin(frequency * between), atol=1e-9)


def test_frequency_beyond_the_cutoff_is_extended_by_zero():
    model = GeometricHarmonics(Gaussian(SIGMA), solver=Spectral(Count(13)), center=False)
    model.fit(CIRCLE, np.sin(9 * T))
    np.testing.assert_allclose(model.predict(CIRCLE), 0, atol=1e-9)


def test_extension_off_the_circle_equals_the_formula():
    """At radius ρ the extension of sin(mθ) is exp(−(1−ρ)²/2σ²)·ive(m, ρ/σ²)/ive(m, 1/σ²)·sin(mθ)."""
    model = GeometricHarmonics(Gaussian(SIGMA), solver=Spectral(Count(13)), center=False)
    model.fit(CIRCLE, np.sin(2 * T))
    radius = 1.7
    factor = np.exp(-((1 - radius) ** 2) / (2 * SIGMA**2)) * ive(2, radius / SIGMA**2) / ive(2, 1 / SIGMA**2)
    np.testing.assert_allclose(model.predict(radius * CIRCLE), factor * np.sin(2 * T), atol=1e-9)
