import numpy as np
import pytest
from scipy.spatial.distance import cdist

from manifill.datasets import circle, moving_blob, rotating_object, swiss_roll, torus
from manifill.errors import InvalidInput


def test_default_swiss_roll_is_that_of_the_paper():
    X, position = swiss_roll(random_state=0)
    assert X.shape == (250, 30)
    assert len(np.unique(position[:, 1])) == 5
    assert np.linalg.matrix_rank(X - X.mean(axis=0)) == 30  # noise fills all dimensions


def test_roll_without_noise_is_rotated_rigidly():
    flat, _ = swiss_roll(noise=0.0, rotations=0, random_state=0)
    turned, _ = swiss_roll(noise=0.0, rotations=50, random_state=0)
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


def test_seed_determines_the_points():
    np.testing.assert_array_equal(swiss_roll(random_state=1)[0], swiss_roll(random_state=1)[0])
    assert not np.array_equal(swiss_roll(random_state=1)[0], swiss_roll(random_state=2)[0])


@pytest.mark.parametrize(
    "options",
    [{"dimensions": 2}, {"points": 1}, {"spirals": 0}, {"turns": (2, 1)}, {"points": 2.5}, {"noise": np.nan}],
)
def test_invalid_parameters_are_refused(options):
    with pytest.raises(InvalidInput):
        swiss_roll(**options)


class TestManifolds:
    def test_circle_has_the_returned_angles(self):
        X, angle = circle(50, random_state=0)
        np.testing.assert_allclose(X, np.column_stack([np.cos(angle), np.sin(angle)]))
        _, angle = circle(8, even=True)
        np.testing.assert_allclose(np.diff(angle), np.pi / 4)

    def test_torus_is_uniform_in_area(self):
        X, angles = torus(20_000, radii=(2, 1), random_state=0)
        ring = np.hypot(X[:, 0], X[:, 1]) - 2
        np.testing.assert_allclose(np.hypot(ring, X[:, 2]), 1.0)
        outside = np.cos(angles[:, 1]) > 0
        assert outside.mean() == pytest.approx(0.5 + 1 / (2 * np.pi), abs=0.01)

    @pytest.mark.parametrize("make", [circle, torus, moving_blob, rotating_object])
    def test_invalid_numbers_of_points_are_refused(self, make):
        with pytest.raises(InvalidInput, match="n must be"):
            make(0)


class TestPictures:
    def test_blob_is_at_its_position(self):
        X, position = moving_blob(20, size=40, width=0.1, random_state=0)
        pixel = (np.arange(40) + 0.5) / 40
        weight = X / X.sum(axis=(1, 2), keepdims=True)
        down = (weight.sum(axis=2) * pixel).sum(axis=1)
        np.testing.assert_allclose(down, position[:, 0], atol=0.01)

    def test_views_are_periodic_and_most_similar_to_adjacent_ones(self):
        X, angle = rotating_object(48, size=32)
        again, _ = rotating_object(2, size=32, step=360.0)
        np.testing.assert_allclose(again[1], X[0], atol=1e-9)
        assert X.min() == 0
        assert 0.8 < X.max() <= 1
        distances = cdist(X.reshape(48, -1), X.reshape(48, -1)) + np.diag(np.full(48, np.inf))
        steps = (distances.argmin(axis=1) - np.arange(48)) % 48
        assert set(steps.tolist()) <= {1, 47}
        assert angle[1] == 7.5
