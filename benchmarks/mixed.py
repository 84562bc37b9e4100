"""Tables of numbers and categories: error of manifill and of other imputers on both."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from rich.table import Table
from sklearn import datasets
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer

from benchmarks.data import load, removed_entries
from manifill import TableImputer

OURS = "manifill"
RATE = 0.3


def sets(max_rows: int) -> Iterator[tuple[str, pd.DataFrame, dict[str, str]]]:
    """Name, complete frame with a categorical column, and column types to pass to `TableImputer`."""
    for name in ("iris", "wine"):
        loaded = getattr(datasets, f"load_{name}")()
        frame = pd.DataFrame(loaded.data, columns=loaded.feature_names)
        frame["kind"] = pd.Categorical(loaded.target_names[loaded.target])
        yield name, frame, {}
    for name, category in (
        ("california_housing_ageron", "ocean_proximity"),
        ("abalone", "sex"),
        ("ionosphere", "return"),
        ("parkinsons", "status"),
    ):
        loaded = load(name)
        if loaded is None:
            continue
        frame = pd.DataFrame(loaded["X"], columns=loaded["columns"])
        frame[category] = pd.Categorical(loaded["y"].astype(str))
        yield name, _sample(frame.dropna(), max_rows), {}
    loaded = load("noaa_jfk_hourly_normals_1981_2010")
    if loaded is not None:
        frame = pd.DataFrame(loaded["X"], columns=[name.removeprefix("HLY-") for name in loaded["columns"]])
        frame = _sample(frame.loc[:, frame.std() > 0], max_rows)
        for name in ("WIND-1STDIR", "WIND-2NDDIR"):
            frame[name] = pd.Categorical(frame[name].astype(int).astype(str))
        yield "JFK weather", frame, {"WIND-VCTDIR": "cyclic:360"}


def _sample(frame: pd.DataFrame, max_rows: int) -> pd.DataFrame:
    chosen = np.sort(np.random.default_rng(0).permutation(len(frame))[:max_rows])
    frame = frame.iloc[chosen].reset_index(drop=True)
    return frame.loc[:, [len(frame[name].unique()) > 1 for name in frame]]


class OneHot:
    """A numeric imputer on dummy columns; the level with the largest imputed value is taken."""

    def __init__(self, imputer: Any) -> None:
        self.imputer = imputer

    def fit_transform(self, frame: pd.DataFrame) -> pd.DataFrame:
        parts, slices = [], {}
        for name in frame:
            first = sum(part.shape[1] for part in parts)
            if isinstance(frame[name].dtype, pd.CategoricalDtype):
                part = pd.get_dummies(frame[name]).astype(float)
                part[frame[name].isna()] = np.nan
            else:
                part = frame[[name]]
            parts.append(part)
            slices[name] = slice(first, first + part.shape[1])
        filled = self.imputer.fit_transform(pd.concat(parts, axis=1).to_numpy())
        out = frame.copy()
        for name, columns in slices.items():
            if isinstance(frame[name].dtype, pd.CategoricalDtype):
                levels = frame[name].cat.categories.to_numpy()
                found = pd.Series(levels[np.argmax(filled[:, columns], axis=1)], index=frame.index)
                out[name] = frame[name].fillna(found)
            else:
                out[name] = filled[:, columns.start]
        return out


class MeanOrMode:
    """Column mean of numbers, most frequent level of categories."""

    def fit_transform(self, frame: pd.DataFrame) -> pd.DataFrame:
        out = frame.copy()
        for name in frame:
            categories = isinstance(frame[name].dtype, pd.CategoricalDtype)
            out[name] = frame[name].fillna(frame[name].mode()[0] if categories else frame[name].mean())
        return out


def methods(types: dict[str, str]) -> dict[str, Any]:
    """Imputers by name."""
    trees = ExtraTreesRegressor(100, min_samples_leaf=2, max_features=0.5, random_state=0)
    return {
        OURS: TableImputer(types, random_state=0),
        "iterative, linear": OneHot(IterativeImputer(random_state=0)),
        "iterative, trees": OneHot(IterativeImputer(trees, max_iter=5, random_state=0)),
        "most frequent, mean": MeanOrMode(),
    }


def scores(frame: pd.DataFrame, filled: pd.DataFrame, M: np.ndarray) -> tuple[float, float]:
    """Share of wrong categories, and RMSE of numbers in standard deviations, on the missing entries."""
    wrong, squares = [], []
    for j, name in enumerate(frame):
        missing = M[:, j]
        if isinstance(frame[name].dtype, pd.CategoricalDtype):
            wrong += (frame[name][missing].astype(str) != filled[name][missing].astype(str)).tolist()
        else:
            errors = (filled[name][missing] - frame[name][missing]) / frame[name].std()
            squares += (errors**2).tolist()
    return float(np.mean(wrong)), float(np.sqrt(np.mean(squares)))


def run(smoke: bool = False) -> Table:
    """Share of wrong categories (RMSE of the numbers) for every data set, means over three masks."""
    table = Table("data set", "rows", *methods({}))
    means: dict[str, list[tuple[float, float]]] = {}
    for name, frame, types in sets(50 if smoke else 500):
        cells = []
        for method in methods(types):
            found = []
            for seed in range(1 if smoke else 3):
                M = removed_entries(frame.shape, RATE, seed)
                filled = methods(types)[method].fit_transform(frame.mask(M))
                found.append(scores(frame, filled, M))
            wrong, error = np.mean(found, axis=0)
            means.setdefault(method, []).append((wrong, error))
            cells.append(f"{wrong:.3f} ({error:.3f})")
        table.add_row(name, str(len(frame)), *cells)
        if smoke:
            break
    average = (np.mean(one, axis=0) for one in means.values())
    table.add_row("mean", "", *(f"{wrong:.3f} ({error:.3f})" for wrong, error in average))
    return table
