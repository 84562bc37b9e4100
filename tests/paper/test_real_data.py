"""Defaults compared with KNNImputer on public data sets; skipped without them."""

import numpy as np
import pytest
from sklearn.impute import KNNImputer

from manifill import IGHImputer
from manifill.amputation import mcar
from manifill.metrics import nrmse


@pytest.mark.parametrize(
    ("name", "columns"),
    [("noaa_jfk_hourly_normals_1981_2010", 1), ("umist28x23", 3), ("parkinsons", 1), ("abalone", 1)],
)
def test_error_is_at_least_ten_percent_below_nearest_neighbours(name, columns, data_folder):
    X = np.load(data_folder / f"{name}.npz")["X"]
    X = X.reshape(len(X), -1)[:200, ::columns].astype(float)
    X = X[:, X.std(axis=0) > 0]
    M = mcar(X.shape, 0.3, 0)
    damaged = np.where(M, np.nan, X)
    ours = nrmse(X, IGHImputer(random_state=0).fit_transform(damaged), M)
    theirs = nrmse(X, KNNImputer(weights="distance").fit_transform(damaged), M)
    assert ours < 0.9 * theirs
