"""`compare`: the errors of manifill and of scikit-learn's imputers on held-out entries of a table."""

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
from manifill._messages import text_table
from manifill._problem import Problem
from manifill._validation import random_sets
from manifill.errors import InvalidInput
from manifill.tables import Encoding, as_source
from manifill.tables.accuracy import score

_log = logging.getLogger(__name__)

OURS, SIMPLE = "manifill", "simple"


@dataclass(frozen=True)
class Score:
    """Errors of all methods on the held-out entries of one column.

    Attributes
    ----------
    column : name of the column.
    kind : str, type of the column, as in `TableImputer.fields_`.
    measure : {"error", "wrong"}, root mean square error or share of wrong values.
    errors : dict, method → error.
    held_out : int, number of held-out entries.
    """

    column: Any
    kind: str
    measure: str
    errors: dict[str, float]
    held_out: int


@dataclass(frozen=True, eq=False)
class Comparison:
    """Result of `compare`; `print` shows it as a table.

    Attributes
    ----------
    scores : tuple of `Score`, one for each column with held-out entries.
    seconds : dict, method → run time in seconds.
    """

    scores: tuple[Score, ...]
    seconds: dict[str, float]

    @property
    def overall(self) -> dict[str, float]:
        """Method → its error relative to that of the simple imputer, averaged over the columns."""
        scored = [score for score in self.scores if score.errors[SIMPLE] > 0]
        return {
            method: float(np.mean([score.errors[method] / score.errors[SIMPLE] for score in scored]))
            for method in self.seconds
        }

    def __str__(self) -> str:
        rows: list[tuple[object, ...]] = [
            (one.column, *(f"{one.errors[name]:.4g}" for name in self.seconds), _MEASURES[one.measure])
            for one in self.scores
        ]
        rows.append(("relative", *(f"{one:.3f}" for one in self.overall.values()), ""))
        rows.append(("seconds", *(f"{one:.1f}" for one in self.seconds.values()), ""))
        header = ("column", *self.seconds, "measured as")
        return text_table(header, rows, left=(0, len(header) - 1))


_MEASURES = {"error": "root mean square error", "wrong": "share that is wrong"}


def compare(X: Any, *, types: Any = None, share: float = 0.1, random_state: Any = None) -> Comparison:
    """Compare imputation methods on held-out entries of a table.

    Known entries are held out at random. They are imputed by `IGHImputer` ("manifill") and by scikit-learn's
    `KNNImputer` ("neighbours"), `IterativeImputer` ("iterative") and `SimpleImputer` ("simple": the column
    mean or the most frequent category).

    Parameters
    ----------
    X : DataFrame, pyarrow Table or array
        The table, as for `TableImputer`.
    types : mapping or None, default=None
        Column types, as in `TableImputer`.
    share : float, default=0.1
        Share of the known entries of each column to hold out, at most 0.5.
    random_state : int, Generator, RandomState or None, default=None
        Seed. The same int holds out the same entries.

    Returns
    -------
    comparison : Comparison
        Errors per column and run times.

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
    (held_out,) = random_sets(Problem.of(X, groups=groups), share, 1, as_generator(random_state))
    if not held_out.any():
        raise InvalidInput("At least one column must have four or more known values; X has no such column.")
    given = np.where(held_out, np.nan, X)
    kept: Mask = np.asarray(~np.isnan(given).all(axis=0))
    fills, seconds = {}, {}
    for name, fill in _methods(encoding, X, kept, random_state).items():
        _log.info("imputing with %s", name)
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
        results = {
            name: score(field.variable, filled[rows, field.columns], truth) for name, filled in fills.items()
        }
        measure = next(iter(results.values()))[0]
        scores.append(
            Score(field.name, field.kind, measure, {name: one[1] for name, one in results.items()}, len(rows))
        )
    return Comparison(tuple(scores), seconds)


def _methods(encoding: Encoding, X: Array, kept: Mask, seed: Any) -> dict[str, Callable[[Array], Array]]:
    """Method → function that completes a table; "neighbours" and "iterative" get standardised columns."""
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401  # slow import: 0.2 s
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
    """A function that standardises the columns, imputes and transforms back."""

    def fill(X: Array) -> Array:
        mean, std = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
        std = np.where(std > 0, std, 1.0)
        filled: Array = imputer.fit_transform((X - mean) / std) * std + mean
        return filled

    return fill
