"""Spectra of random walks on a circle, an interval and a sphere, compared with their closed forms."""

import numpy as np
import pytest
from scipy.special import ive, spherical_in

from manifill import DiffusionMap
from manifill.datasets import circle


def test_eigenvalues_on_an_evenly_sampled_circle_are_ratios_of_bessel_functions():
    X, _ = circle(150, even=True)
    sigma = 0.4
    model = DiffusionMap(8, bandwidth=sigma).fit(X)
    expected = ive(np.repeat(np.arange(1, 5), 2), 1 / sigma**2) / ive(0, 1 / sigma**2)
    np.testing.assert_allclose(model.eigenvalues_, expected, rtol=1e-9)


def test_with_alpha_one_the_laplacian_of_a_circle_does_not_depend_on_density():
    angle = np.linspace(0, 2 * np.pi, 1200, endpoint=False)
    angle += 0.6 * np.sin(angle)  # four times as dense on one side as on the other
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    corrected = DiffusionMap(6, bandwidth=0.1, alpha=1.0).fit(X)
    np.testing.assert_allclose(corrected.laplacian_, [1, 1, 4, 4, 9, 9], rtol=0.02)
    uncorrected = DiffusionMap(6, bandwidth=0.1, alpha=0.0).fit(X)
    assert np.abs(uncorrected.laplacian_ / [1, 1, 4, 4, 9, 9] - 1).max() > 0.1


def test_eigenvectors_on_an_interval_are_cosines():
    x = np.linspace(0, 1, 1200)
    expected = (np.pi * np.arange(1, 5)) ** 2
    coarse, model = (DiffusionMap(4, bandwidth=sigma).fit(x[:, None]) for sigma in (0.03, 0.01))
    np.testing.assert_allclose(model.laplacian_, expected, rtol=0.025)
    # The remaining error comes from the ends of the interval and shrinks with the bandwidth.
    ratio = (coarse.laplacian_ - expected) / (model.laplacian_ - expected)
    assert (ratio[:2] > 2).all()
    for k in range(4):
        assert abs(np.corrcoef(model.eigenvectors_[:, k], np.cos((k + 1) * np.pi * x))[0, 1]) > 0.999


def test_eigenvalues_on_a_sphere_have_the_multiplicities_of_spherical_harmonics():
    n, sigma = 2500, 0.35
    height = 1 - (2 * np.arange(n) + 1) / n
    turn = np.pi * (1 + 5**0.5) * np.arange(n)
    X = np.column_stack(
        [np.sqrt(1 - height**2) * np.cos(turn), np.sqrt(1 - height**2) * np.sin(turn), height]
    )
    model = DiffusionMap(8, bandwidth=sigma, n_neighbors=None).fit(X)
    degrees = np.repeat([1, 2], [3, 5])
    expected = spherical_in(degrees, 1 / sigma**2) / spherical_in(0, 1 / sigma**2)  # Funk–Hecke formula
    np.testing.assert_allclose(model.eigenvalues_, expected, rtol=2e-3)
    np.testing.assert_allclose(model.laplacian_, degrees * (degrees + 1), rtol=0.1)


@pytest.mark.parametrize("neighbors", [None, 60])
def test_embedding_is_scaled_by_the_eigenvalues_to_the_power_of_time(neighbors):
    X, _ = circle(300, even=True)
    once, thrice = (DiffusionMap(4, bandwidth=0.2, time=t, n_neighbors=neighbors).fit(X) for t in (1, 3))
    np.testing.assert_allclose(
        np.abs(thrice.embedding_).max(axis=0),
        np.abs(once.embedding_).max(axis=0) * once.eigenvalues_**2,
        rtol=1e-6,
    )
