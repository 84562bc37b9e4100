"""manifill as the benchmarks run it: the settings that are compared, and what identifies its code."""

from functools import lru_cache

import numpy as np

from benchmarks.results import source_hash
from manifill import IGHImputer

OURS = "manifill"
EFFORTS = ("fast", "balanced", "best")
# Packages of manifill that do not affect imputed values: changing them keeps cached results valid.
UNRELATED_PACKAGES = ("_cli", "_experiments", "_files", "_media", "datasets", "plots", "report")


def imputers(medians: bool = False) -> dict[str, IGHImputer]:
    """Imputers by name: one per effort; with `medians` also those with estimate="median".

    The median is the better estimate under absolute errors.
    """
    found = {f"{OURS}, {effort}": IGHImputer(effort=effort, random_state=0) for effort in EFFORTS}
    if medians:
        more = (IGHImputer(effort=effort, estimate="median", random_state=0) for effort in EFFORTS)
        found |= {f"{OURS}, {one.effort}, median": one for one in more}
    return found


@lru_cache
def version() -> str:
    """Hash of the source that determines imputed values: part of the keys of cached results."""
    return source_hash("src/manifill", without=UNRELATED_PACKAGES)


@lru_cache
def warm_up() -> None:
    """Load compiled code before timing starts; the benchmark `cold` measures how long that takes."""
    X = np.random.default_rng(0).normal(size=(320, 3))
    X[::7, 1] = np.nan
    IGHImputer(random_state=0).fit_transform(X)
