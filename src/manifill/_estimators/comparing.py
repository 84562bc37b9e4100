"""How well manifill and the tools people use fill a table of yours, on values that are known."""

import logging
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from manifill._arrays import Array, Mask
from manifill._checks import as_generator, require_number
from manifill._estimators.imputer import IGHImputer
from manifill._estimators.options import Sweep
from manifill._validation import random_sets
from manifill.errors import InvalidInput
from manifill.tables import Encoding, as_source
from manifill.tables.accuracy import score

_log = logging.getLogger(__name__)

OURS, SIMPLE = "manifill", "simple"


@dataclass(frozen=True)
class Score:
    """How well a method filled the held-out values of a column.

    Attributes
    ----------
    column, kind, measure : as in `accuracy_`: "error" is a root mean square, "wrong" a share.
    errors : method → error.
    held_out : how many values were held out.
    """

    column: Any
    kind: str
    measure: str
    errors: dict[str, float]
    held_out: int


@dataclass(frozen=True, eq=False)
class Comparison:
    """What came out.

    Attributes
    ----------
    scores : one for every column of which values could be held out.
    seconds : method → time it took.
    """

    scores: tuple[Score, ...]
    seconds: dict[str, float]

    @property
    def overall(self) -> dict[str, float]:
        """Method → mean over the columns of its error, relative to that of the simple fill."""
        fair = [score for score in self.scores if score.errors[SIMPLE] > 0]
        return {
            method: float(np.mean([score.errors[method] / score.errors[SIMPLE] for score in fair]))
            for method in self.seconds
        }

    def __str__(self) -> str:
        methods = list(self.seconds)
        width = max([8, *(len(str(score.column)) for score in self.scores)])
        heads = "  ".join(f"{method:>12}" for method in methods)
        lines = [f"{'column':<{width}}  {heads}  measured as"]
        for one in self.scores:
            cells = "  ".join(f"{one.errors[method]:>12.4g}" for method in methods)
            lines.append(f"{one.column!s:<{width}}  {cells}  {_MEASURES[one.measure]}")
        lines.append(f"{'relative':<{width}}  " + "  ".join(f"{one:>12.3f}" for one in self.overall.values()))
        lines.append(f"{'seconds':<{width}}  " + "  ".join(f"{one:>12.1f}" for one in self.seconds.values()))
        return "\n".join(lines)


_MEASURES = {"error": "root mean square error", "wrong": "share that is wrong"}


def compare(X: Any, *, types: Any = None, share: float = 0.1, random_state: Any = None) -> Comparison:
    """Hold out known values of a table, fill them by several methods, and score each.

    Parameters
    ----------
    X : a table, as `TableImputer` takes it.
    types : as in `TableImputer`.
    share : of the known values of each column that is held out, at most a half.
    random_state : the same number holds out the same values.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> t = np.linspace(0, 6, 60)
    >>> frame = pd.DataFrame({"sine": np.sin(t), "cosine": np.cos(t), "time": t})
    >>> comparison = compare(frame, random_state=0)
    >>> min(comparison.overall, key=comparison.overall.get)
    'manifill'
    """
    require_number("share", share, above=0, most=0.5)
    table = as_source(X)
    encoding = Encoding.of(table, types)
    X = encoding.encode(table)
    groups = [tuple(range(field.first, field.columns.stop)) for field in encoding]
    (held_out,) = random_sets(X, tuple(groups), share, 1, as_generator(random_state))
    if not held_out.any():
        raise InvalidInput("A comparison needs columns with at least four known values; there are none.")
    given = np.where(held_out, np.nan, X)
    kept: Mask = np.asarray(~np.isnan(given).all(axis=0))
    fills, seconds = {}, {}
    for name, fill in _methods(encoding, X, kept, random_state).items():
        _log.info("filling by %s", name)
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fills[name] = np.where(kept, 0.0, np.nan) * np.ones(X.shape)
            fills[name][:, kept] = fill(given[:, kept])
        seconds[name] = time.perf_counter() - began
    scores = []
    for field in encoding:
        rows = np.flatnonzero(held_out[:, field.first])
        if not len(rows) or not kept[field.columns].all():
            continue
        truth = X[rows, field.columns]
        found = {
            name: score(field.variable, filled[rows, field.columns], truth) for name, filled in fills.items()
        }
        measure = next(iter(found.values()))[0]
        scores.append(
            Score(field.name, field.kind, measure, {name: one[1] for name, one in found.items()}, len(rows))
        )
    return Comparison(tuple(scores), seconds)


def _methods(encoding: Encoding, X: Array, kept: Mask, seed: Any) -> dict[str, Callable[[Array], Array]]:
    """Every method, the simple one last; the others get numbers in standard units."""
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401  # a fifth of a second
    from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer

    groups = [[int(np.cumsum(kept)[i]) - 1 for i in group if kept[i]] for group in encoding.groups]
    bounds = [pair for pair, keep in zip(encoding.bounds(X), kept, strict=True) if keep]
    weights = [weight for weight, keep in zip(encoding.weights(X), kept, strict=True) if keep]
    ours = IGHImputer(
        groups=[group for group in groups if group],
        bounds=bounds,
        method=Sweep(column_weights=weights),
        random_state=seed,
    )
    return {
        OURS: ours.fit_transform,
        "neighbours": _standardised(KNNImputer()),
        "iterative": _standardised(IterativeImputer(random_state=seed)),
        SIMPLE: SimpleImputer().fit_transform,
    }


def _standardised(imputer: Any) -> Callable[[Array], Array]:
    def fill(X: Array) -> Array:
        mean, spread = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
        spread = np.where(spread > 0, spread, 1.0)
        filled: Array = imputer.fit_transform((X - mean) / spread) * spread + mean
        return filled

    return fill
