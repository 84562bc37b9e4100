"""Diffusion maps of training points and of new points."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from manifill import DiffusionMap
from manifill.datasets import circle, swiss_roll, torus
from manifill.errors import InvalidInput
from manifill.kernels import MedianDistance


class TestNewPoints:
    def test_training_points_are_mapped_to_their_embedding(self):
        X, _ = swiss_roll(random_state=0)
        model = DiffusionMap(3).fit(X)
        np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-9)

    def test_points_between_neighbours_are_mapped_between_them(self):
        X, _ = circle(100, even=True)
        model = DiffusionMap(2, bandwidth=0.3).fit(X)
        between = np.pi / 100 + 2 * np.pi * np.arange(100) / 100
        Y = model.transform(np.column_stack([np.cos(between), np.sin(between)]))
        middle = (model.embedding_ + np.roll(model.embedding_, -1, axis=0)) / 2
        np.testing.assert_allclose(Y, middle, atol=2e-3)

    def test_with_nearest_neighbours_training_points_are_mapped_near_their_embedding(self):
        X, _ = torus(800, random_state=0)
        model = DiffusionMap(2, n_neighbors=40, random_state=0).fit(X)
        std = model.embedding_.std(axis=0)
        assert (np.abs(model.transform(X) - model.embedding_) < 0.25 * std).all()

    def test_a_point_far_from_all_training_points_is_refused(self):
        X, _ = circle(50, random_state=0)
        with pytest.raises(InvalidInput, match="too far"):
            DiffusionMap(2, bandwidth=0.3).fit(X).transform([[1e4, 0.0]])


class TestSparse:
    def test_with_all_neighbours_the_map_equals_the_dense_one(self):
        X, _ = torus(120, random_state=0)
        dense = DiffusionMap(3, bandwidth=0.8, n_neighbors=None).fit(X)
        sparse = DiffusionMap(3, bandwidth=0.8, n_neighbors=119, random_state=0).fit(X)
        np.testing.assert_allclose(sparse.eigenvalues_, dense.eigenvalues_, rtol=1e-6)
        np.testing.assert_allclose(np.abs(sparse.embedding_), np.abs(dense.embedding_), atol=1e-5)

    def test_many_points_are_connected_to_nearest_neighbours(self):
        X, _ = circle(4000, random_state=0)
        model = DiffusionMap(2, random_state=0).fit(X)
        assert model.n_neighbors_ == 64
        radius = np.hypot(*model.eigenvectors_.T)
        assert radius.std() < 0.25 * radius.mean()


class TestParameters:
    def test_the_same_seed_gives_the_same_map(self):
        X, _ = torus(200, random_state=1)
        one, two = (DiffusionMap(3, n_neighbors=30, random_state=3).fit_transform(X) for _ in range(2))
        np.testing.assert_array_equal(one, two)

    def test_a_swiss_roll_is_unrolled(self):
        """The first coordinate follows the spiral, which no linear map can do."""
        X, position = swiss_roll(noise=0.02, points=100, spirals=8, random_state=0)
        Y = DiffusionMap(2).fit_transform(X)
        assert abs(spearmanr(Y[:, 0], position[:, 0]).statistic) > 0.95

    def test_bandwidth_may_be_a_rule(self):
        X, _ = circle(60, random_state=0)
        median = DiffusionMap(2, bandwidth=MedianDistance(0.2)).fit(X).bandwidth_
        assert median == pytest.approx(0.2 * np.median(np.linalg.norm(X[:, None] - X, axis=2)), rel=0.05)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"n_components": 0}, "n_components"),
            ({"bandwidth": "large"}, "bandwidth"),
            ({"bandwidth": -1.0}, "must be a finite number"),
            ({"time": -1}, "time"),
            ({"alpha": "x"}, "alpha"),
            ({"n_neighbors": "few"}, "n_neighbors"),
            ({"n_components": 59}, "at least 61 points"),
        ],
    )
    def test_invalid_parameters_are_named(self, options, message):
        X, _ = circle(60, random_state=0)
        with pytest.raises(InvalidInput, match=message):
            DiffusionMap(**options).fit(X)

    def test_missing_values_are_refused(self):
        X, _ = circle(60, random_state=0)
        X[3, 1] = np.nan
        with pytest.raises(ValueError, match="IGHImputer fills"):
            DiffusionMap().fit(X)
