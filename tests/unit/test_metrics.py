import math

import numpy as np
import pytest

from manifill.errors import InvalidInput
from manifill.metrics import nrmse, paper_error, psnr, relative_to_start, rmse

X = np.array([[0.0, 10.0], [2.0, 30.0], [4.0, 20.0]])
FILLED = np.array([[0.0, 10.0], [3.0, 30.0], [4.0, 26.0]])
M = np.array([[False, False], [True, False], [False, True]])


def test_metrics_equal_their_formulas():
    assert paper_error(X, FILLED) == pytest.approx(math.sqrt((1 + 36) / 2))
    assert rmse(X, FILLED, M) == pytest.approx(math.sqrt((1 + 36) / 2))
    s0, s1 = X[:, 0].std(), X[:, 1].std()
    assert nrmse(X, FILLED, M) == pytest.approx(math.sqrt((1 / s0**2 + 36 / s1**2) / 2))
    start = X + 2 * (FILLED - X)
    assert relative_to_start(X, FILLED, start) == pytest.approx(0.5)
    assert psnr(X / 255, FILLED / 255, M) == pytest.approx(20 * math.log10(255 / rmse(X, FILLED, M)))
    assert psnr(X, FILLED, M, data_range=255) == pytest.approx(psnr(X / 255, FILLED / 255, M))


def test_column_mean_has_an_nrmse_of_about_one(rng):
    table = rng.normal(5, [1e-3, 1, 1e3], (20000, 3))
    missing = rng.random(table.shape) < 0.3
    assert nrmse(table, np.where(missing, table.mean(axis=0), table), missing) == pytest.approx(1, abs=0.02)


def test_exact_fills_and_constant_columns():
    assert rmse(X, X, M) == 0
    assert psnr(X, X) == math.inf
    assert relative_to_start(X, X, X) == 0
    assert relative_to_start(X, FILLED, X) == math.inf
    constant = np.ones((3, 1))
    missing = np.array([[True], [False], [False]])
    assert nrmse(constant, constant, missing) == 0
    assert nrmse(constant, constant + 1, missing) == math.inf


def test_extreme_scales_and_nan_elsewhere_are_handled():
    for scale in (1e-170, 1e160):
        assert rmse(scale * X, scale * FILLED, M) == pytest.approx(scale * rmse(X, FILLED, M))
        assert nrmse(scale * X, scale * FILLED, M) == pytest.approx(nrmse(X, FILLED, M))
    incomplete = X.copy()
    incomplete[0, 0] = np.nan
    assert rmse(incomplete, FILLED, M) == rmse(X, FILLED, M)
    assert np.isfinite(nrmse(incomplete, FILLED, M))
    tenth = np.full((5, 1), 0.1)  # its standard deviation is a rounding error
    assert nrmse(tenth, tenth + 1e-9, np.eye(5, 1, dtype=bool)) == math.inf


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rmse(X, X[:2], M), "same shape"),
        (lambda: rmse(X, X, M[:2]), "booleans of shape"),
        (lambda: rmse(X, X, M.astype(int)), "booleans"),
        (lambda: rmse(X, X, np.zeros_like(M)), "without a missing entry"),
        (lambda: psnr(X, X, data_range=0), "data_range"),
        (lambda: paper_error([1.0, 2.0], [1.0, 2.0]), "two dimensions"),
        (lambda: rmse(X, np.where(M, np.nan, X), M), "must be finite where"),
    ],
)
def test_invalid_input_is_refused(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()
