"""Tables and image stacks to measure on: scikit-learn's own, and those in MANIFILL_DATA where it is set."""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn import datasets

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


def tables(names: tuple[str, ...] | None = None, most_rows: int = 500) -> Iterator[tuple[str, np.ndarray]]:
    """Name and complete table; rows drawn with a fixed seed where there are more than `most_rows`."""
    for name in names or ("digits", "diabetes", "breast_cancer", *FILES):
        X = _load(name)
        if X is None:
            continue
        X = X[~np.isnan(X).any(axis=1)]
        X = X[:, X.std(axis=0) > 0]
        rows = np.sort(np.random.default_rng(0).permutation(len(X))[:most_rows])
        yield name.removesuffix("_hourly_normals_1981_2010"), X[rows]


def _load(name: str) -> np.ndarray | None:
    if name not in FILES:
        return getattr(datasets, f"load_{name}")().data
    path = Path(os.environ.get("MANIFILL_DATA", ""), f"{name}.npz")
    if not path.is_file():
        return None
    X = np.load(path)["X"]
    return X.reshape(len(X), -1).astype(float)
