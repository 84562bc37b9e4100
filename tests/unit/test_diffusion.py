"""Diffusion maps: the same for the same points, and new points in their places."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from manifill import DiffusionMap
from manifill.datasets import circle, swiss_roll, torus
from manifill.errors import InvalidInput
from manifill.kernels import MedianDistance


class TestNewPoints:
    def test_points_of_the_fit_are_sent_to_where_they_are(self):
        X, _ = swiss_roll(random_state=0)
        model = DiffusionMap(3).fit(X)
        np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-9)

    def test_points_between_go_between(self):
        X, _ = circle(100, even=True)
        model = DiffusionMap(2, bandwidth=0.3).fit(X)
        between = np.pi / 100 + 2 * np.pi * np.arange(100) / 100
        Y = model.transform(np.column_stack([np.cos(between), np.sin(between)]))
        middle = (model.embedding_ + np.roll(model.embedding_, -1, axis=0)) / 2
        np.testing.assert_allclose(Y, middle, atol=2e-3)

    def test_with_neighbours_only_nearly_so(self):
        X, _ = torus(800, random_state=0)
        model = DiffusionMap(2, n_neighbors=40, random_state=0).fit(X)
        spread = model.embedding_.std(axis=0)
        assert (np.abs(model.transform(X) - model.embedding_) < 0.25 * spread).all()

    def test_a_point_far_from_all_is_refused(self):
        X, _ = circle(50, random_state=0)
        with pytest.raises(InvalidInput, match="too far"):
            DiffusionMap(2, bandwidth=0.3).fit(X).transform([[1e4, 0.0]])


class TestSparse:
    def test_with_all_neighbours_it_is_the_same_map(self):
        X, _ = torus(120, random_state=0)
        dense = DiffusionMap(3, bandwidth=0.8, n_neighbors=None).fit(X)
        sparse = DiffusionMap(3, bandwidth=0.8, n_neighbors=119, random_state=0).fit(X)
        np.testing.assert_allclose(sparse.eigenvalues_, dense.eigenvalues_, rtol=1e-6)
        np.testing.assert_allclose(np.abs(sparse.embedding_), np.abs(dense.embedding_), atol=1e-5)

    def test_many_points_are_joined_to_near_ones(self):
        X, _ = circle(4000, random_state=0)
        model = DiffusionMap(2, random_state=0).fit(X)
        assert model.n_neighbors_ == 64
        radius = np.hypot(*model.eigenvectors_.T)
        assert radius.std() < 0.25 * radius.mean()


class TestChoices:
    def test_the_same_seed_gives_the_same_map(self):
        X, _ = torus(200, random_state=1)
        one, two = (DiffusionMap(3, n_neighbors=30, random_state=3).fit_transform(X) for _ in range(2))
        np.testing.assert_array_equal(one, two)

    def test_a_roll_is_unrolled(self):
        """The slowest mode runs along the spiral, which no linear map finds."""
        X, position = swiss_roll(noise=0.02, points=100, spirals=8, random_state=0)
        Y = DiffusionMap(2).fit_transform(X)
        assert abs(spearmanr(Y[:, 0], position[:, 0]).statistic) > 0.95

    def test_bandwidth_may_be_a_rule(self):
        X, _ = circle(60, random_state=0)
        median = DiffusionMap(2, bandwidth=MedianDistance(0.2)).fit(X).bandwidth_
        assert median == pytest.approx(0.2 * np.median(np.linalg.norm(X[:, None] - X, axis=2)), rel=0.05)

    @pytest.mark.parametrize(
        ("options", "complaint"),
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
    def test_bad_options_get_a_clear_answer(self, options, complaint):
        X, _ = circle(60, random_state=0)
        with pytest.raises(InvalidInput, match=complaint):
            DiffusionMap(**options).fit(X)

    def test_holes_are_named(self):
        X, _ = circle(60, random_state=0)
        X[3, 1] = np.nan
        with pytest.raises(ValueError, match="IGHImputer fills"):
            DiffusionMap().fit(X)
