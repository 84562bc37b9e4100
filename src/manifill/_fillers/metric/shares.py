"""Weights of the members for each group of columns, from the values of entries that are left out."""

from collections.abc import Mapping, Sequence

import numpy as np

from manifill._arrays import Array, Indices, Mask
from manifill._ordering import Groups
from manifill._stacking import stack_by_group

# Largest part of the squares of a fill, of that not explained by other fills, that counts as noise.
_MAX_EXCESS = 0.9

ROW_FOLDS = 5
"""Folds of the rows.

With weights of members found on all rows, left-out entries look better than they are: on 500 rows of noise by
1.3 % of the error. Set by hand, not tuned.
"""

Sums = tuple[Array, Array, Array]
"""Products, projections and numbers of entries of a group, for each fold of the rows."""


def sums_of(left_out: Array, excess: Array, truth: Array, weight: Array, fold: Indices) -> Sums:
    """Products of the left-out values of a group, for each fold of the rows.

    Parameters
    ----------
    left_out : (C, k, g), values by C members.
    excess : (C, k, g), by how much their squares are too large, see `PartFit`.
    truth : (k, g), true values.
    weight : (k,), weights of the entries.
    fold : (k,), folds of the rows.
    """
    products, projections, entries = [], [], []
    for number in range(ROW_FOLDS):
        own = fold == number
        weighted = left_out[:, own] * weight[own, None]
        product = np.einsum("ckg,ekg->ce", weighted, left_out[:, own])
        products.append(_reduced(product, np.einsum("ckg,k->c", excess[:, own], weight[own])))
        projections.append(np.einsum("ckg,kg->c", weighted, truth[own]))
        entries.append(weight[own].sum())
    return np.array(products), np.array(projections), np.array(entries)


def of_members(sums: Sums, members: Indices) -> Sums:
    """The sums of some of the members."""
    products, projections, entries = sums
    return products[:, members][:, :, members], projections[:, members], entries


def _reduced(products: Array, excess: Array) -> Array:
    """Products (C, C) of fills less the excess (C,) of their squares, and still positive semi-definite.

    For that, a square is reduced by at most its part that the other fills do not explain.
    """
    if not excess.any():
        return products
    jitter = 1e-10 * float(np.trace(products)) + 1e-300
    own = 1 / np.diagonal(np.linalg.inv(products + jitter * np.eye(len(products))))
    most = _MAX_EXCESS * own / np.count_nonzero(excess)
    reduced: Array = products - np.diag(np.minimum(excess, np.maximum(most, 0.0)))
    return reduced


def _weights(sums: Sequence[Sums], last: int) -> Array:
    """(1 + F, last, C), weights of the members for the `last` groups, shrunk towards those of all.

    The first are found on all rows, the others on the rows outside each of F folds.
    """
    parts = [np.stack(one, axis=1) for one in zip(*sums, strict=True)]
    products, projections, entries = (one.sum(axis=0) for one in parts)
    found = [stack_by_group(products, projections, entries, last)]
    for own_products, own_projections, own_entries in zip(*parts, strict=True):
        others = products - own_products, projections - own_projections, entries - own_entries
        found.append(stack_by_group(*others, last))
    return np.stack(found)


def weights_by_pool(sums: Mapping[int, Sums], stage: Sequence[int], groups: Groups, pools: Mask) -> Array:
    """(1 + F, G, C), as in `_weights`, for G groups of a stage; each learns from the groups of its pool."""
    pool_of = {one: tuple(p for p in sums if pools[groups[one][0], groups[p][0]]) for one in stage}
    found: dict[int, Array] = {}
    for pool in dict.fromkeys(pool_of.values()):
        own = [one for one in stage if pool_of[one] == pool]
        weights = _weights([sums[p] for p in (*(p for p in pool if p not in own), *own)], len(own))
        found |= dict(zip(own, np.moveaxis(weights, 1, 0), strict=True))
    return np.stack([found[one] for one in stage], axis=1)
