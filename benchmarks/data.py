"""The data sets of the benchmarks, divided into development sets and report sets.

Anything that is chosen (kernels, constants, methods) is chosen on development sets only. Report sets serve to
state how well the result works. `tests/interface/test_benchmarks.py` checks that no set is in both lists.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets

from manifill.amputation import mcar

TABLES = (
    *("iris", "wine", "diabetes", "breast_cancer", "digits"),
    *("airfoil", "concrete", "yacht", "parkinsons", "wine_quality_red", "ionosphere", "abalone"),
    *("gain_letter", "california_housing_ageron", "air_quality_uci"),
    "noaa_jfk_hourly_normals_1981_2010",
)
"""Development tables of the accuracy benchmark: from scikit-learn, or files in MANIFILL_DATA."""
DEVELOPMENT = (
    *TABLES,
    *("olivetti64", "umist28x23", "metr_la_week", "video_escalator"),
    *("pbmc68k_reduced", "naval", "kin8nm", "protein", "obesity", "chlorine", "etth1"),
)
"""All development sets."""
REPORT = (
    *("anes96", "fair", "macrodata", "modechoice", "randhie", "star98"),
    *("blood", "climate", "raisin", "yeast"),
)
"""Report tables, on which nothing was chosen: the first six come with statsmodels, the others are files."""
PICTURES_AND_SENSORS_FOR_REPORTS = (
    *("umist112x92_part", "coil20_128", "video_carphone", "video_lrs_demo"),
    "noaa_worcester_hourly_normals_1981_2010",
)
"""Report sets of other kinds (`python -m benchmarks unseen`)."""
FILES = (
    *("airfoil", "concrete", "yacht", "parkinsons", "wine_quality_red", "abalone", "ionosphere"),
    *("noaa_jfk_hourly_normals_1981_2010", "umist28x23"),
)

Damaged = tuple[np.ndarray, np.ndarray]
"""A complete table (n, d), and a mask (n, d), True where a value is to be removed."""


@dataclass(frozen=True)
class Source:
    """A range of rows of a data set. Small and picklable, so that another process can load the same rows."""

    name: str
    file: str
    first: int = 0
    last: int | None = None
    unit: float = 1.0

    def load(self) -> np.ndarray | None:
        """The rows (n, d) divided by `unit`; None if the file does not exist."""
        X = _load(self.file)
        return None if X is None else X[self.first : self.last] / self.unit

    def damaged(self, rate: float, seed: int = 0) -> Damaged:
        X = self.load()
        return X, removed_entries(X.shape, rate, seed)


def tables(names: tuple[str, ...] | None = None, most_rows: int = 500) -> Iterator[tuple[str, np.ndarray]]:
    """Yield name and complete table, with at most `most_rows` rows, drawn with a fixed seed."""
    for name in names or ("digits", "diabetes", "breast_cancer", *FILES):
        X = _load(name)
        if X is None:
            continue
        X = X[~np.isnan(X).any(axis=1)]
        X = X[np.sort(np.random.default_rng(0).permutation(len(X))[:most_rows])]
        yield name.removesuffix("_hourly_normals_1981_2010"), X[:, np.ptp(X, axis=0) > 0]


def curved(n: int, d: int, rate: float, seed: int = 0, uniform: bool = False) -> Damaged:
    """sin(u W + b) + noise of standard deviation 0.1, u (n, 4) normal: rows near a curved surface.

    Tables of different lengths lie on the same surface. With `uniform`, u (n, 3) is uniform in (−2, 2).
    """
    rng = np.random.default_rng(seed)
    W, b = rng.normal(size=(3 if uniform else 4, d)), rng.uniform(0, 2 * np.pi, d)
    u = rng.uniform(-2, 2, size=(n, 3)) if uniform else rng.normal(size=(n, 4))
    X = np.sin(u @ W + b)
    X += 0.1 * rng.normal(size=X.shape)
    return X, removed_entries(X.shape, rate, seed)


def removed_entries(shape: tuple[int, int], rate: float, seed: int) -> np.ndarray:
    """A mask (n, d), missing completely at random, in which every row keeps at least one value."""
    M = mcar(shape, rate, seed)
    empty = np.flatnonzero(M.all(axis=1))
    M[empty, np.random.default_rng(seed).integers(shape[1], size=len(empty))] = False
    return M


def _load(name: str) -> np.ndarray | None:
    if hasattr(datasets, f"load_{name}"):
        return getattr(datasets, f"load_{name}")().data
    if name in REPORT[:6]:
        import statsmodels.datasets  # takes a second to import

        return getattr(statsmodels.datasets, name).load_pandas().data.to_numpy(dtype=float)
    loaded = load(name)
    return None if loaded is None else loaded["X"].reshape(len(loaded["X"]), -1).astype(float)


def load(name: str) -> Any:
    """The arrays of a file in MANIFILL_DATA, by name; None if it does not exist."""
    path = Path(os.environ.get("MANIFILL_DATA", ""), f"{name}.npz")
    return np.load(path) if path.is_file() else None
