import numpy as np
import pytest
from scipy.spatial.distance import cdist

from manifill.datasets import swiss_roll
from manifill.errors import InvalidInput


def test_it_is_the_papers():
    X, position = swiss_roll(seed=0)
    assert X.shape == (250, 30)
    assert len(np.unique(position[:, 1])) == 5
    assert np.linalg.matrix_rank(X - X.mean(axis=0)) == 30  # noise leaves no linear subspace


def test_without_noise_it_is_a_rotated_roll():
    flat, _ = swiss_roll(noise=0.0, rotations=0, seed=0)
    turned, _ = swiss_roll(noise=0.0, rotations=50, seed=0)
    np.testing.assert_array_equal(flat[:, 3:], 0)
    assert np.abs(turned[:, 3:]).max() > 1
    np.testing.assert_allclose(cdist(turned, turned), cdist(flat, flat), atol=1e-6)
    assert np.linalg.matrix_rank(turned, tol=1e-6) == 3


def test_points_are_evenly_spaced_in_arc_length():
    X, position = swiss_roll(points=2000, spirals=1, noise=0.0, rotations=0)
    steps = np.linalg.norm(np.diff(X, axis=0), axis=1)
    np.testing.assert_allclose(steps, steps.mean(), rtol=1e-3)
    np.testing.assert_allclose(np.cumsum(steps), position[1:, 0] - position[0, 0], rtol=1e-3)
    radius = np.linalg.norm(X[:, :2], axis=1)
    angle = np.unwrap(np.arctan2(X[:, 1], X[:, 0]))
    np.testing.assert_allclose(radius, angle - angle[0] + radius[0], rtol=1e-6)  # r = t


def test_seed():
    np.testing.assert_array_equal(swiss_roll(seed=1)[0], swiss_roll(seed=1)[0])
    assert not np.array_equal(swiss_roll(seed=1)[0], swiss_roll(seed=2)[0])


@pytest.mark.parametrize(
    "options",
    [{"dimensions": 2}, {"points": 1}, {"spirals": 0}, {"turns": (2, 1)}, {"points": 2.5}, {"noise": np.nan}],
)
def test_bad_parameters(options):
    with pytest.raises(InvalidInput):
        swiss_roll(**options)
