"""Error and time of every imputer on the same missing entries of standardised columns.

Each result is appended to a cache at once, one line of JSON, and is reused until the code of its method
changes. An interrupted run therefore resumes where it stopped.
"""

import copy
import itertools
import time
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer

from benchmarks import ours
from benchmarks.cache import Cache
from benchmarks.data import removed_entries, tables
from benchmarks.ours import OURS
from benchmarks.results import FOLDER
from benchmarks.svd import TunedSVD
from manifill import IGHImputer
from manifill.amputation import mar

CACHE = FOLDER / "contest.jsonl"


@dataclass(frozen=True)
class Scenario:
    """Mechanism and share of the missing entries, and the largest number of rows."""

    mechanism: str
    rate: float
    rows: int = 500

    def mask(self, X: np.ndarray, seed: int) -> np.ndarray:
        if self.mechanism == "MCAR":
            return removed_entries(X.shape, self.rate, seed)
        M = mar(X, self.rate, seed)
        M[M.all(axis=1), 0] = False
        return M

    def __str__(self) -> str:
        return f"{self.mechanism} {self.rate:.0%}"


@dataclass(frozen=True)
class Record:
    """One fill: RMSE on the missing entries, seconds; for manifill also claimed and true error per column."""

    table: str
    scenario: Scenario
    seed: int
    method: str
    rmse: float
    seconds: float
    claimed: tuple[float, ...] = ()
    true: tuple[float, ...] = ()


def methods() -> dict[str, Any]:
    """Imputers by name."""
    trees = ExtraTreesRegressor(100, min_samples_leaf=2, max_features=0.5, random_state=0)
    return {
        OURS: IGHImputer(random_state=0),
        "ExtraTrees": IterativeImputer(trees, max_iter=5, random_state=0),
        "BayesianRidge": IterativeImputer(random_state=0),
        "KNN": KNNImputer(),
        "IterativeSVD": TunedSVD(),
        "column mean": SimpleImputer(),
        **_optional_peers(),
    }


def _optional_peers() -> dict[str, Any]:
    """Peers that are included if they are installed."""
    peers: dict[str, Any] = {}
    if find_spec("miceforest"):
        from benchmarks.guests import MiceForest

        peers["miceforest"] = MiceForest()
    if find_spec("gcimpute"):
        from benchmarks.guests import GaussianCopula

        peers["gcimpute"] = GaussianCopula()
    if find_spec("hyperimpute"):
        from benchmarks.guests import HyperImpute

        peers["hyperimpute"] = HyperImpute()
    return peers


def contest(
    names: Iterable[str],
    scenarios: Iterable[Scenario],
    seeds: Iterable[int],
    cache: Path | None = None,
    imputers: Mapping[str, Any] | None = None,
) -> list[Record]:
    """Records of all cases, read from the cache or computed now; default: all imputers of `methods`."""
    done = Cache(cache)
    records = []
    imputers = methods() if imputers is None else imputers
    cases = list(itertools.product(names, scenarios, seeds, imputers))
    for name, scenario, seed, method in track(cases, "filling", transient=True):
        key = (name, str(scenario), scenario.rows, seed, method, _version_of(method))
        key += ([scenario.mechanism, scenario.rate],)
        if key not in done:
            record = _filled(name, scenario, seed, method, imputers[method])
            if record is None:
                continue
            done[key] = [record.rmse, record.seconds, record.claimed, record.true]
        rmse, seconds, claimed, true = done[key]
        records.append(Record(name, scenario, seed, method, rmse, seconds, tuple(claimed), tuple(true)))
    return records


def _filled(name: str, scenario: Scenario, seed: int, method: str, imputer: Any) -> Record | None:
    loaded = list(tables((name,), most_rows=scenario.rows))
    if not loaded:
        return None
    X = loaded[0][1]
    X = (X - X.mean(axis=0)) / X.std(axis=0)  # KNN and the stopping rule of IterativeImputer need one scale
    M = scenario.mask(X, seed)
    damaged = np.where(M, np.nan, X)
    imputer, own = copy.deepcopy(imputer), method.startswith(OURS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if own:
            ours.warm_up()
        began = time.perf_counter()
        try:
            filled = np.asarray(imputer.fit_transform(damaged))
        except Exception as error:  # a peer that fails scores NaN, the others go on
            if own:
                raise
            warnings.warn(f"{method} on {name}: {error}", stacklevel=2)
            return Record(name, scenario, seed, method, float("nan"), time.perf_counter() - began)
        seconds = time.perf_counter() - began
    errors = filled - X
    record = Record(name, scenario, seed, method, float(np.sqrt(np.mean(errors[M] ** 2))), seconds)
    if not own:
        return record
    claimed = tuple(float(one.error) for one in imputer.accuracy_)
    # The true error of a column with fewer than 20 missing entries is too noisy. Set by hand, not tuned.
    true = tuple(
        float(np.sqrt(np.mean(errors[missing, j] ** 2))) if missing.sum() >= 20 else float("nan")
        for j, missing in enumerate(M.T)
    )
    return Record(name, scenario, seed, method, record.rmse, seconds, claimed, true)


def _version_of(method: str) -> str:
    """Part of the cache key: hash of manifill's source, or version of the peer's library."""
    if method.startswith(OURS):
        return ours.version()
    library = method if method in _optional_peers() else "scikit-learn"
    try:
        return version(library)
    except PackageNotFoundError:
        return "unknown"
