"""Time of the paper's algorithm as printed, implemented by the loops of tests/reference/paper.py."""

import importlib.util
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
from scipy.spatial.distance import pdist, squareform

# Bandwidth in median distances and relative cut-off of the eigenvalues. Set by hand, not tuned.
MULTIPLE = 16.0
DELTA = 1e-3


def seconds_per_column(X: np.ndarray, M: np.ndarray, n_columns: int, n_pairs: int) -> float:
    """Estimated seconds of `impute_column` for one column.

    The routine loops in Python over all pairs of rows and all columns, which takes minutes for a single
    column of 400 pictures. So the time per pair is measured on `n_pairs` pairs and multiplied by the number
    of pairs. The other steps are timed on `n_columns` columns, with precomputed distances and affinities.
    """
    paper = _paper()
    n = len(X)
    rng = np.random.default_rng(0)
    known = np.where(M, np.nan, X)
    std = np.nanstd(known, axis=0, ddof=1)
    Z = (X - np.nanmean(known, axis=0)) / np.where(std > 0, std, 1.0)
    Z[M] = rng.normal(size=M.sum())
    pairs = [(list(Z[i]), list(Z[k])) for i, k in rng.integers(n, size=(n_pairs, 2))]
    per_distance = _seconds(lambda: [paper.distance_l2(x, y) for x, y in pairs]) / n_pairs
    per_affinity = _seconds(lambda: [paper.gaussian(x, y, 1.0) for x, y in pairs]) / n_pairs
    columns = np.flatnonzero(M.any(axis=0))[:n_columns]
    rest = np.mean([_seconds_without_pairs(paper, Z, M, j) for j in columns])
    return n * (n - 1) / 2 * per_distance + n**2 * per_affinity + float(rest)


def _seconds_without_pairs(paper: ModuleType, Z: np.ndarray, M: np.ndarray, j: int) -> float:
    """Seconds of `impute_column` with precomputed distances and affinities."""
    distances = pdist(np.delete(Z, j, axis=1))
    sigma = MULTIPLE * np.median(distances)
    square = squareform(distances)
    ordered = iter(square[np.tril_indices(len(Z), -1)].tolist())
    affinities = iter(np.exp(-0.5 * (square / sigma) ** 2).ravel().tolist())
    options = (lambda _x, _y, _s: next(affinities)), (lambda _x, _y: next(ordered)), MULTIPLE, DELTA
    return _seconds(lambda: paper.impute_column(Z.copy(), M, j, *options))


def _seconds(function: Callable[[], object]) -> float:
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def _paper() -> ModuleType:
    path = Path(__file__).parents[1] / "tests" / "reference" / "paper.py"
    spec = importlib.util.spec_from_file_location("paper", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
