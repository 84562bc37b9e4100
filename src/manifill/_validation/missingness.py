"""Weights that make known entries resemble the missing ones, as far as the rest of their rows tells.

Entries can be held out only where values are known. If values are missing more often in some rows (missing at
random, MAR), held-out entries lie elsewhere than the missing ones, and their errors are smaller. Propensity
scores correct that (Rosenbaum and Rubin 1984): a linear score tells how likely an entry is missing given the
rest of its row, entries are sorted into strata by score, and each known entry gets the odds of its stratum.

Claimed over true error (`accuracy_`) with 30 % MAR in a prototype (docs/notes/choosing.md), on tables like
gauss and circle of `benchmarks/claims.py`, twenty seeds: .80 and .85 without weights, 1.02 and .96 with these
weights, 1.02 and .97 with the true odds. Eight strata, squared features, and strata for each column were no
better. Odds by the number of missing entries in the row alone gave .92 and .85.
"""

import numpy as np
from scipy.special import chdtri

from manifill._arrays import Array, Indices, Mask
from manifill._ordering import Groups

# Strata, and the missing entries that each of them needs. Five strata remove nine tenths of a bias
# (Cochran 1968).
_STRATA, _PER_STRATUM = 5, 20
# Ridge penalty of the score for each feature, in rows. Set by hand, not tuned.
_RIDGE = 10.0
# Columns beyond which the score is the number of missing entries in the row: its cost grows as d⁴.
_MAX_COLUMNS = 100
# Bound on a weight and on its inverse. Set by hand, not tuned.
_MAX_WEIGHT = 20.0


def missingness_odds(Z: Array, M: Mask, groups: Groups | None = None) -> Array:
    """(n, d), odds that an entry is missing given the rest of its row, relative to those of its column.

    If missingness does not depend on the other columns, all odds are 1 or close to it: they are shrunk
    towards 1, entirely if the strata do not differ significantly.

    Parameters
    ----------
    Z : (n, d), standardised values, 0 where missing.
    M : (n, d), True where missing.
    groups : columns of each variable; None if each column is a variable. Columns in no group, which must be
        the last ones, serve as predictors only; their odds are 1.
    """
    groups = tuple((j,) for j in range(M.shape[1])) if groups is None else groups
    missing = M[:, [group[0] for group in groups]]
    some = missing.any(axis=0) & ~missing.all(axis=0)
    odds = np.ones(M.shape)
    if missing[:, some].sum() < 2 * _PER_STRATUM:
        return odds
    scores = _scores(Z, missing, groups)
    weights = np.ones(missing.shape)
    weights[:, some] = _odds_by_stratum(scores[:, some], missing[:, some])
    variable = variable_of(groups)
    odds[:, : len(variable)] = weights[:, variable]
    return odds


def _scores(Z: Array, missing: Mask, groups: Groups) -> Array:
    """(n, variables), how likely an entry is missing; only the order of the scores matters.

    The discriminant function of missing and known entries, by ridge regression on the other columns and on
    what else is missing in the row. Each half of the rows has the slopes of the other half, because slopes
    that were fitted to an entry would tell it from others by chance.
    """
    n, v = missing.shape
    if Z.shape[1] > _MAX_COLUMNS:
        return np.asarray(missing.sum(axis=1)[:, None] - missing, dtype=np.float64)
    features = np.hstack([missing, Z]).astype(np.float64)
    spread = features.std(axis=0)
    features = (features - features.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    scores = np.zeros((n, v))
    half = np.random.default_rng(0).permutation(n) % 2 == 0
    for train, test in ((half, ~half), (~half, half)):
        mean = features[train].mean(axis=0)
        products = (features[train] - mean).T @ (features[train] - mean)
        for i, group in enumerate(groups):
            others = np.setdiff1d(np.arange(features.shape[1]), [i, *(v + j for j in group)])
            if not len(others):
                continue
            ridge = _RIDGE * len(others) * np.eye(len(others))
            slopes = np.linalg.solve(products[np.ix_(others, others)] + ridge, products[others, i])
            scores[test, i] = (features[test] - mean)[:, others] @ slopes
    return scores


def _odds_by_stratum(scores: Array, missing: Mask) -> Array:
    """(n, variables), for each entry the odds of being missing in its stratum of the scores.

    Strata are common to all variables, and odds are relative to those of the variable, so that a few missing
    entries in each of many variables are enough.
    """
    count = int(np.clip(missing.sum() // _PER_STRATUM, 1, _STRATA))
    stratum = np.searchsorted(np.quantile(scores[missing], np.arange(1, count) / count), scores)
    share = np.broadcast_to(missing.mean(axis=0), missing.shape)

    def per_stratum(values: Array) -> Array:
        return np.bincount(stratum.ravel(), values.ravel(), minlength=count).astype(np.float64)

    found = per_stratum(missing.astype(np.float64))
    like_all = per_stratum(np.where(missing, 0.0, share / (1 - share)))
    differences = (found - per_stratum(share)) ** 2 / np.maximum(per_stratum(share * (1 - share)), 1e-9)
    limit = float(chdtri(count - 1, 0.05)) if count > 1 else np.inf  # not significant below it
    shrinkage = max(0.0, 1 - limit / max(float(differences.sum()), 1e-9))
    odds = np.clip(found / np.maximum(like_all, 1.0), 1 / _MAX_WEIGHT, _MAX_WEIGHT) ** shrinkage
    return np.asarray(odds[stratum])


def variable_of(groups: Groups) -> Indices:
    """(d,), the index of the group of each column."""
    variable = np.empty(sum(map(len, groups)), dtype=np.intp)
    for i, group in enumerate(groups):
        variable[list(group)] = i
    return variable
