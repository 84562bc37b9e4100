"""What is measured on: sets of scikit-learn's, those in MANIFILL_DATA where that is set, and a curve."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets

from manifill.amputation import mcar

FILES = (
    "airfoil",
    "concrete",
    "yacht",
    "parkinsons",
    "wine_quality_red",
    "abalone",
    "ionosphere",
    "noaa_jfk_hourly_normals_1981_2010",
    "umist28x23",
)

Damaged = tuple[np.ndarray, np.ndarray]
"""A complete table (n, d), and True where a value is to be removed from it."""


@dataclass(frozen=True)
class Source:
    """A complete table: a file or a set of scikit-learn's, from one of its rows to another.

    It is small and names everything, so that another process can load the same.
    """

    name: str
    file: str
    first: int = 0
    last: int | None = None
    unit: float = 1.0

    def load(self) -> np.ndarray | None:
        """The rows (n, d) in units of `unit`; None where the file is not there."""
        X = _load(self.file)
        return None if X is None else X[self.first : self.last] / self.unit

    def damaged(self, rate: float, seed: int = 0) -> Damaged:
        X = self.load()
        return X, removed_entries(X.shape, rate, seed)


def tables(names: tuple[str, ...] | None = None, most_rows: int = 500) -> Iterator[tuple[str, np.ndarray]]:
    """Name and complete table; rows drawn with a fixed seed where there are more than `most_rows`."""
    for name in names or ("digits", "diabetes", "breast_cancer", *FILES):
        X = _load(name)
        if X is None:
            continue
        X = X[~np.isnan(X).any(axis=1)]
        X = X[np.sort(np.random.default_rng(0).permutation(len(X))[:most_rows])]
        yield name.removesuffix("_hourly_normals_1981_2010"), X[:, X.std(axis=0) > 0]


def curved(n: int, d: int, rate: float, seed: int = 0) -> Damaged:
    """sin(u W + b) plus noise of .1: rows near a smooth surface of four dimensions, curved in every column.

    Tables of different length lie on the same surface.
    """
    rng = np.random.default_rng(seed)
    W, b = rng.normal(size=(4, d)), rng.uniform(0, 2 * np.pi, d)
    X = np.sin(rng.normal(size=(n, 4)) @ W + b)
    X += 0.1 * rng.normal(size=X.shape)
    return X, removed_entries(X.shape, rate, seed)


def removed_entries(shape: tuple[int, int], rate: float, seed: int) -> np.ndarray:
    """Missing completely at random, but for one value in each row that would have lost all."""
    M = mcar(shape, rate, seed)
    empty = np.flatnonzero(M.all(axis=1))
    M[empty, np.random.default_rng(seed).integers(shape[1], size=len(empty))] = False
    return M


def _load(name: str) -> np.ndarray | None:
    if hasattr(datasets, f"load_{name}"):
        return getattr(datasets, f"load_{name}")().data
    loaded = load(name)
    return None if loaded is None else loaded["X"].reshape(len(loaded["X"]), -1).astype(float)


def load(name: str) -> Any:
    """A file of MANIFILL_DATA: its arrays by name; None where it is not there."""
    path = Path(os.environ.get("MANIFILL_DATA", ""), f"{name}.npz")
    return np.load(path) if path.is_file() else None
