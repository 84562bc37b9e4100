import numpy as np
import pytest

from manifill.amputation import blocks, lines, mar, mcar, mnar
from manifill.errors import InvalidInput


@pytest.fixture
def X(rng):
    return rng.standard_normal((4000, 5)) ** 3


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_share_of_missing_entries_is_the_rate(X, rate):
    assert mcar(X.shape, rate, 0).mean() == pytest.approx(rate, abs=0.01)
    assert mar(X, rate, 0, driver=2)[:, [0, 1, 3, 4]].mean() == pytest.approx(rate, abs=0.02)
    np.testing.assert_allclose(mnar(X, rate, 0).mean(axis=0), rate, atol=0.03)


@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_rates_of_zero_and_one_are_exact(X, rate):
    assert mcar(X.shape, rate, 0).mean() == rate
    assert mnar(X, rate, 0).mean() == rate
    assert mar(X, rate, 0, driver=0)[:, 1:].mean() == rate


def test_mcar_is_independent_of_the_values(X):
    mask = mcar(X.shape, 0.4, 0)
    assert abs(np.corrcoef(mask[:, 0], X[:, 0])[0, 1]) < 0.05


def test_mar_depends_only_on_the_driver(X):
    mask = mar(X, 0.4, 0, driver=2)
    assert not mask[:, 2].any()
    rank = X[:, 2].argsort().argsort()
    for j in (0, 1, 3, 4):
        assert np.corrcoef(mask[:, j], rank)[0, 1] > 0.4
        assert abs(np.corrcoef(mask[:, j], X[:, j].argsort().argsort())[0, 1]) < 0.06
    assert np.corrcoef(mar(X, 0.4, 0, driver=2, strength=-6)[:, 0], rank)[0, 1] < -0.4


def test_mar_draws_a_random_driver(X):
    complete = {int(np.flatnonzero(~mar(X, 0.5, seed).any(axis=0))[0]) for seed in range(20)}
    assert len(complete) > 2


def test_mnar_depends_on_the_value_itself(X):
    mask = mnar(X, 0.4, 0)
    for j in range(5):
        assert np.corrcoef(mask[:, j], X[:, j].argsort().argsort())[0, 1] > 0.4


def test_blocks_are_rectangles_in_every_image():
    mask = blocks((50, 20, 30), (4, 6), 0)
    for image in mask:
        rows, columns = np.flatnonzero(image.any(axis=1)), np.flatnonzero(image.any(axis=0))
        assert len(rows) == 4
        assert len(columns) == 6
        assert image[np.ix_(rows, columns)].all()
    assert len({tuple(np.argwhere(image)[0]) for image in mask}) > 20
    assert blocks((3, 9, 9), 9, 0).all()
    assert blocks((9, 20, 20), 3, 0, count=4).sum(axis=(1, 2)).max() > 9


def test_lines_span_the_image():
    mask = lines((60, 12, 9), 0.3, 0)
    assert (mask.all(axis=2) == mask.any(axis=2)).all()
    assert mask.mean() == pytest.approx(0.3, abs=0.04)
    columns = lines((60, 12, 9), 0.3, 0, vertical=True)
    assert (columns.all(axis=1) == columns.any(axis=1)).all()


@pytest.mark.parametrize(
    "make",
    [
        lambda X, s: mcar(X.shape, 0.5, s),
        lambda X, s: mar(X, 0.5, s),
        lambda X, s: mnar(X, 0.5, s),
        lambda X, s: blocks((5, 9, 9), 3, s),
        lambda X, s: lines((5, 9, 9), 0.5, s),
    ],
)
def test_seed_determines_the_mask(X, make):
    np.testing.assert_array_equal(make(X, 1), make(X, 1))
    assert not np.array_equal(make(X, 1), make(X, 2))
    assert make(X, 1).dtype == np.bool_


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mcar((2, 2), 1.5), "rate must be a finite number ≥ 0 and ≤ 1; got 1.5"),
        (lambda: mcar((2, 2), float("nan")), "rate"),
        (lambda: mar([[1.0], [2.0]], 0.5), "at least two columns"),
        (lambda: mar([[1.0, 2.0]], 0.5, driver=7), "driver must be a whole number ≥ 0 and ≤ 1; got 7"),
        (lambda: mar([1.0, 2.0], 0.5), "two dimensions"),
        (lambda: mnar([[1.0, np.nan]], 0.5), r"columns \[1\] have missing entries"),
        (lambda: blocks((2, 4, 4), 5), "height of size must be a whole number ≥ 1 and ≤ 4; got 5"),
        (lambda: blocks((2, 4, 4), 2, count=-1), "count"),
        (lambda: blocks((2, 4, 4), 2.5), "height of size"),
        (lambda: lines((4, 4), 0.5), "shape must be"),
        (lambda: mcar((2, 2), "a"), "rate must be"),
        (lambda: mnar([[1.0], [2.0]], 0.5, strength=None), "strength must be"),
    ],
)
def test_invalid_input_is_refused(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()
