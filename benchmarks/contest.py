"""The same holes for everybody: who fills them how well, and in what time.

Every fill is written down as soon as it is there, one line of JSON each, and not done again by the same
code: a contest that was interrupted goes on where it stopped.
"""

import itertools
import json
import time
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer

from benchmarks.data import removed_entries, tables
from benchmarks.results import FOLDER, source_of
from benchmarks.svd import TunedSVD
from manifill import IGHImputer
from manifill.amputation import mar

OURS = "manifill"
ROOMS_THAT_FILL_NOTHING = ("_cli", "_experiments", "_files", "_media", "datasets", "plots", "report")
TABLES = (
    *("iris", "wine", "diabetes", "breast_cancer", "digits"),
    *("airfoil", "concrete", "yacht", "parkinsons", "wine_quality_red", "ionosphere", "abalone"),
    *("gain_letter", "california_housing_ageron", "air_quality_uci"),
    "noaa_jfk_hourly_normals_1981_2010",
)


@dataclass(frozen=True)
class World:
    """How holes come about, and how many rows take part."""

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
class Entry:
    """One fill: RMSE on the holes and seconds; of ours also what it said it would be, column by column."""

    table: str
    world: World
    seed: int
    method: str
    rmse: float
    seconds: float
    said: tuple[float, ...] = ()
    true: tuple[float, ...] = ()


def methods() -> dict[str, Any]:
    """Everybody who takes part, by name."""
    trees = ExtraTreesRegressor(100, min_samples_leaf=2, max_features=0.5, random_state=0)
    return {
        OURS: IGHImputer(random_state=0),
        "ExtraTrees": IterativeImputer(trees, max_iter=5, random_state=0),
        "BayesianRidge": IterativeImputer(random_state=0),
        "KNN": KNNImputer(),
        "IterativeSVD": TunedSVD(),
        "column mean": SimpleImputer(),
        **_guests(),
    }


def _guests() -> dict[str, Any]:
    """Peers that take part where they are installed."""
    guests: dict[str, Any] = {}
    if find_spec("miceforest"):
        from benchmarks.guests import MiceForest

        guests["miceforest"] = MiceForest()
    if find_spec("gcimpute"):
        from benchmarks.guests import GaussianCopula

        guests["gcimpute"] = GaussianCopula()
    if find_spec("hyperimpute"):
        from benchmarks.guests import HyperImpute

        guests["hyperimpute"] = HyperImpute()
    return guests


def contest(
    names: Iterable[str], worlds: Iterable[World], seeds: int, notes: Path | None = None
) -> list[Entry]:
    """All fills, in the notes or made now."""
    done = dict(_noted(notes)) if notes else {}
    entries = []
    cases = list(itertools.product(names, worlds, range(seeds), methods()))
    for name, world, seed, method in track(cases, "filling", transient=True):
        key = (name, str(world), world.rows, seed, method, _version_of(method))
        if key not in done:
            entry = _filled(name, world, seed, method)
            if entry is None:
                continue
            done[key] = entry
            if notes:
                _note(notes, key, entry)
        entries.append(done[key])
    return entries


def _filled(name: str, world: World, seed: int, method: str) -> Entry | None:
    loaded = list(tables((name,), most_rows=world.rows))
    if not loaded:
        return None
    X = loaded[0][1]
    M = world.mask(X, seed)
    damaged, spread = np.where(M, np.nan, X), X.std(axis=0)
    imputer = methods()[method]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _warm_up(method)
        began = time.perf_counter()
        try:
            filled = np.asarray(imputer.fit_transform(damaged))
        except Exception as error:  # a peer that cannot do it has lost, and the others go on
            if method == OURS:
                raise
            warnings.warn(f"{method} on {name}: {error}", stacklevel=2)
            return Entry(name, world, seed, method, float("nan"), time.perf_counter() - began)
        seconds = time.perf_counter() - began
    wrong = (filled - X) / spread
    entry = Entry(name, world, seed, method, float(np.sqrt(np.mean(wrong[M] ** 2))), seconds)
    if method != OURS:
        return entry
    said = tuple(float(one.error / s) for one, s in zip(imputer.accuracy_, spread, strict=True))
    true = tuple(
        float(np.sqrt(np.mean(wrong[holes_in, j] ** 2))) if holes_in.sum() >= 20 else float("nan")
        for j, holes_in in enumerate(M.T)
    )
    return Entry(name, world, seed, method, entry.rmse, seconds, said, true)


@lru_cache
def _warm_up(method: str) -> None:
    """Load compiled code before the clock starts; the benchmark `cold` says what that takes."""
    if method == OURS:
        X = np.random.default_rng(0).normal(size=(320, 3))
        X[::7, 1] = np.nan
        methods()[method].fit_transform(X)


def _version_of(method: str) -> str:
    """What must be the same for a note to hold: our own code, or the peer's library."""
    if method == OURS:
        return source_of("src/manifill", without=ROOMS_THAT_FILL_NOTHING)
    library = method if method in _guests() else "scikit-learn"
    try:
        return version(library)
    except PackageNotFoundError:
        return "unknown"


def _note(notes: Path, key: tuple[Any, ...], entry: Entry) -> None:
    notes.parent.mkdir(parents=True, exist_ok=True)
    numbers = [entry.rmse, entry.seconds, entry.said, entry.true]
    with notes.open("a", encoding="utf-8") as file:
        file.write(json.dumps([*key, [entry.world.mechanism, entry.world.rate], numbers]) + "\n")


def _noted(notes: Path) -> Iterator[tuple[tuple[Any, ...], Entry]]:
    if not notes.is_file():
        return
    for line in notes.read_text(encoding="utf-8").splitlines():
        *key, (mechanism, rate), (rmse, seconds, said, true) = json.loads(line)
        name, _, rows, seed, method, _ = key
        world = World(mechanism, rate, rows)
        yield tuple(key), Entry(name, world, seed, method, rmse, seconds, tuple(said), tuple(true))


NOTES = FOLDER / "contest.jsonl"
