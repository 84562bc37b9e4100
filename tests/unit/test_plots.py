"""Plots: the given data are drawn on the axes."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from manifill import plots
from manifill.errors import InvalidInput


@pytest.fixture
def axes():
    return Figure().subplots()


def test_missingness_shows_missing_entries(axes, rng):
    X = rng.random((30, 4))
    X[X < 0.3] = np.nan
    plots.missingness(axes, X, ["a", "b", "c", "d"])
    np.testing.assert_array_equal(axes.images[0].get_array(), np.isnan(X))
    assert [label.get_text() for label in axes.get_xticklabels()] == ["a", "b", "c", "d"]
    assert f"{np.isnan(X).mean():.0%}" in axes.get_title()


def test_importances_have_a_line_for_each_filled_column(axes):
    plots.importances(axes, {"a": {"x": 0.9, "y": 0.2}, "b": {"x": 0.1, "y": 0.3}, "c": {"x": 0.0, "y": 0.5}})
    np.testing.assert_array_equal(axes.images[0].get_array(), [[0.9, 0.1, 0.0], [0.2, 0.3, 0.5]])
    assert [label.get_text() for label in axes.get_xticklabels()] == ["a", "b", "c"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["x", "y"]


def test_convergence_has_a_line_per_run_and_a_band(axes, rng):
    runs = {"one": rng.random((5, 7)), "two": rng.random(7)}
    plots.convergence(axes, runs)
    first, second = axes.lines
    np.testing.assert_allclose(first.get_ydata(), runs["one"].mean(axis=0))
    np.testing.assert_allclose(second.get_ydata(), runs["two"])
    assert len(axes.collections) == 1
    assert (first.get_color(), first.get_linestyle()) != (second.get_color(), second.get_linestyle())


def test_series_has_a_labelled_line_per_name(axes):
    plots.series(axes, [1, 2], {"a": [3, 4], "b": [5, 6]}, xlabel="x")
    assert [line.get_label() for line in axes.lines] == ["a", "b"]
    assert axes.get_xlabel() == "x"


def test_tiles_keep_every_pixel(rng):
    images = rng.random((5, 3, 4))
    mosaic = plots.tiled(images, columns=2)
    assert mosaic.shape == (11, 9)
    np.testing.assert_array_equal(mosaic[4:7, 5:9], images[3])
    np.testing.assert_array_equal(np.sort(mosaic[np.isfinite(mosaic)]), np.sort(images.ravel()))
    with pytest.raises(InvalidInput, match="stack"):
        plots.tiled(rng.random((3, 3)))


def test_before_and_after_share_a_colour_scale(rng):
    damaged = rng.random((4, 5, 5))
    damaged[0, 0, 0] = np.nan
    row = Figure().subplots(1, 2)
    plots.before_after(row, {"damaged": damaged, "filled": rng.random((4, 5, 5)) * 3})
    assert row[0].images[0].get_clim() == row[1].images[0].get_clim()
    assert row[0].images[0].get_array().mask[0, 0]
    assert [axes.get_title() for axes in row] == ["damaged", "filled"]


def test_error_surface_marks_the_minimum(axes):
    errors = np.array([[3.0, 2.0, 4.0], [2.5, 1.0, 1.5]])
    plots.error_surface(axes, [0.01, 0.1, 1.0], [1.0, 2.0], errors)
    (star,) = axes.lines
    assert (star.get_xdata()[0], star.get_ydata()[0]) == (0.1, 2.0)


def test_trails_lead_from_start_to_final_and_to_truth(rng):
    axes = Figure().add_subplot(projection="3d")
    cloud, places = rng.random((20, 3)), rng.random((3, 2, 3))
    plots.trails(axes, cloud, *places, color=cloud[:, 0])
    assert len(axes.lines) == 4
    assert len(axes.collections) == 1 + 6
    pytest.importorskip("plotly")
    figure = plots.interactive_trails(cloud, *places, title="roll")
    assert len(figure.data) == 1 + 2 * 5
    assert figure.layout.title.text == "roll"


def test_look_is_limited_to_its_context():
    import matplotlib as mpl

    before = mpl.rcParams["axes.grid"]
    with plots.look():
        assert mpl.rcParams["axes.grid"] is True
    assert mpl.rcParams["axes.grid"] == before
