"""Fills do not depend on the order of rows and columns, on units and signs, on threads and processes."""

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manifill import IGHImputer, TableImputer
from manifill.kernels import Gaussian, Laplacian, SemiLinear
from manifill.solvers import Local, Ridge, Spectral


def curved(seed, n=45, d=5):
    """A noisy curved table (n, d) with a fifth of its entries missing."""
    rng = np.random.default_rng(seed)
    z = rng.uniform(-2, 2, (n, 2))
    X = np.sin(z @ rng.normal(size=(2, d)) + rng.normal(size=d)) + 0.1 * rng.normal(size=(n, d))
    M = rng.random(X.shape) < 0.2
    M[M.all(axis=1)] = False
    return np.where(M, np.nan, X)


# Each change of a table comes with the function that undoes it in the fill.


def rows_permuted(X, rng):
    order = rng.permutation(len(X))
    return X[order], lambda filled: filled[np.argsort(order)]


def columns_permuted(X, rng):
    order = rng.permutation(X.shape[1])
    return X[:, order], lambda filled: filled[:, np.argsort(order)]


def columns_rescaled(X, rng):
    factors = rng.choice([-1.0, 1.0], X.shape[1]) * 10.0 ** rng.integers(-4, 5, X.shape[1])
    return X * factors, lambda filled: filled / factors


def constant_added(X, rng):
    place = int(rng.integers(X.shape[1] + 1))
    return np.insert(X, place, 3.7, axis=1), lambda filled: np.delete(filled, place, axis=1)


CHANGES = [rows_permuted, columns_permuted, columns_rescaled, constant_added]
FIXED = [
    {"kernel": Gaussian(), "solver": Ridge(0.1)},
    {"kernel": SemiLinear(Laplacian(), 0.3), "solver": Ridge(0.03)},
    {"kernel": Laplacian(), "solver": Spectral()},
    {"kernel": Laplacian(), "solver": Local(k=12)},
]


def difference(X, one, other):
    """Root mean square difference of two fills, in standard deviations of the columns."""
    missing = np.isnan(X)
    return float(np.sqrt((((one - other) / np.nanstd(X, axis=0))[missing] ** 2).mean()))


@pytest.mark.parametrize("change", CHANGES)
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6), options=st.sampled_from(FIXED))
def test_given_kernel_solver_and_sweeps(change, seed, options):
    X = curved(seed)
    changed, undo = change(X, np.random.default_rng(seed))

    def fill(table):
        return IGHImputer(**options, max_sweeps=3, random_state=0).fit_transform(table)

    assert difference(X, undo(fill(changed)), fill(X)) < 1e-8


@pytest.mark.parametrize("change", CHANGES)
@settings(max_examples=3, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_defaults(change, seed):
    X = curved(seed)
    changed, undo = change(X, np.random.default_rng(seed))
    imputer = IGHImputer(random_state=0)
    filled = imputer.fit_transform(X)
    claimed = np.mean([one.error for one in imputer.accuracy_] / np.nanstd(X, axis=0))
    other = undo(IGHImputer(random_state=0).fit_transform(changed))
    assert difference(X, other, filled) < 0.1 * claimed


def mixed(seed, n=50):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    frame = pd.DataFrame(
        {
            "x": x,
            "y": x**2 + 0.1 * rng.normal(size=n),
            "kind": np.where(x > 0.3, "high", np.where(x > -0.5, "middle", "low")).astype(object),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.round(40 * x), unit="D"),
        }
    )
    return frame.mask(rng.random(frame.shape) < 0.15)


@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_tables_of_mixed_columns(seed):
    frame, rng = mixed(seed), np.random.default_rng(seed)
    rows, columns = rng.permutation(len(frame)), rng.permutation(frame.shape[1])
    filled = TableImputer(random_state=0).fit_transform(frame)
    other = TableImputer(random_state=0).fit_transform(frame.iloc[rows, columns])
    other = other.sort_index()[frame.columns]
    pd.testing.assert_frame_equal(other, filled, rtol=1e-8)


@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_equal_rows_are_filled_equally(seed):
    X = curved(seed)
    X = np.vstack([X, X[:10]])
    filled = IGHImputer(random_state=0).fit_transform(X)
    np.testing.assert_allclose(filled[-10:], filled[:10], atol=1e-8)


def test_threads():
    X = curved(3, n=400, d=8)
    one, two = (IGHImputer(random_state=0, n_jobs=n_jobs).fit_transform(X) for n_jobs in (1, 2))
    assert difference(X, one, two) < 1e-8


def test_another_process_pickling_and_saving(tmp_path):
    X = curved(4)
    np.save(tmp_path / "X.npy", X)
    imputer = TableImputer(random_state=0).fit(X)
    script = (
        "import sys, numpy as np; from manifill import TableImputer; "
        "X = np.load(sys.argv[1]); np.save(sys.argv[2], TableImputer(random_state=0).fit_transform(X))"
    )
    subprocess.run([sys.executable, "-c", script, tmp_path / "X.npy", tmp_path / "Y.npy"], check=True)
    assert difference(X, np.load(tmp_path / "Y.npy"), imputer.completed_) < 1e-8
    imputer.save(tmp_path / "model")
    loaded = TableImputer.load(tmp_path / "model")
    copied = pickle.loads(pickle.dumps(imputer))
    new = curved(5)
    for one in (loaded, copied):
        assert difference(new, one.transform(new), imputer.transform(new)) < 1e-8
