"""Amputation: remove values on purpose. Every function returns a mask, True where a value is to be removed.

`np.where(mask, np.nan, X)` is the incomplete table. The same random_state gives the same mask.
"""

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import expit

from manifill._arrays import Array, Mask
from manifill._checks import require_number
from manifill.errors import InvalidInput

Seed = np.random.Generator | int | None


def _check_rate(rate: float) -> None:
    require_number("rate", rate, least=0, most=1)


def _table(X: npt.ArrayLike) -> Array:
    table = np.asarray(X, dtype=np.float64)
    if table.ndim != 2:
        raise InvalidInput(f"X must be a table with two dimensions; got {table.ndim}.")
    incomplete = np.isnan(table).any(axis=0)
    if incomplete.any():
        raise InvalidInput(
            "X must be complete, because its values determine which entries are removed; columns "
            f"{np.flatnonzero(incomplete).tolist()} have missing entries. Remove or fill them first."
        )
    return table


def _probability(driver: Array, rate: float, strength: float) -> Array:
    """Probabilities (n,) that increase with the rank of `driver` and have mean `rate`."""
    require_number("strength", strength)
    if not 1e-12 < rate < 1 - 1e-12 or len(driver) < 2:
        return np.full(len(driver), float(rate))
    _, index, count = np.unique(driver, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2)[index]  # equal values share their mean rank
    position = (rank - 0.5) / len(driver) - 0.5
    logit = strength * position
    bound = abs(strength) + 50.0
    shift = brentq(lambda a: expit(a + logit).mean() - rate, -bound, bound)
    probability: Array = expit(shift + logit)
    return probability


def mcar(shape: tuple[int, ...], rate: float, random_state: Seed = None) -> Mask:
    """Missing completely at random (MCAR): every entry with probability `rate`, whatever its value.

    Examples
    --------
    >>> mask = mcar((100, 50), 0.3, random_state=0)
    >>> mask.mean().round(2), mask.dtype
    (np.float64(0.3), dtype('bool'))
    """
    _check_rate(rate)
    return np.random.default_rng(random_state).random(shape) < rate


def mar(
    X: npt.ArrayLike,
    rate: float,
    random_state: Seed = None,
    *,
    driver: int | None = None,
    strength: float = 6.0,
) -> Mask:
    """Missing at random (MAR): the probability depends on the rank of the row in one complete column.

    Parameters
    ----------
    X : (n, d), complete.
    rate : share of missing entries in all columns except the driver, which stays complete.
    driver : index of the complete column; None draws one.
    strength : difference in log-odds between the highest and the lowest rank. 0 is MCAR; if negative, low
        ranks are removed more often.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(200.0).reshape(100, 2)
    >>> mask = mar(X, 0.4, random_state=0, driver=0)
    >>> bool(mask[:, 0].any()), bool(mask[50:, 1].mean() > mask[:50, 1].mean())
    (False, True)
    """
    _check_rate(rate)
    table = _table(X)
    rng = np.random.default_rng(random_state)
    n, d = table.shape
    if d < 2:
        raise InvalidInput("MAR needs at least two columns, one of which stays complete; got one.")
    if driver is not None:
        require_number("driver", driver, least=0, most=d - 1, whole=True)
    column = int(rng.integers(d)) if driver is None else driver
    probability = _probability(table[:, column], rate, strength)
    mask = rng.random((n, d)) < probability[:, None]
    mask[:, column] = False
    return mask


def mnar(X: npt.ArrayLike, rate: float, random_state: Seed = None, *, strength: float = 6.0) -> Mask:
    """Missing not at random (MNAR): the probability depends on the rank of the value in its own column.

    Parameters
    ----------
    X : (n, d), complete.
    rate : share of missing entries in each column.
    strength : difference in log-odds between the highest and the lowest rank. 0 is MCAR; if negative, low
        values are removed more often.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(300.0).reshape(100, 3)
    >>> mask = mnar(X, 0.4, random_state=0)
    >>> bool(mask[50:].mean() > mask[:50].mean())
    True
    """
    _check_rate(rate)
    table = _table(X)
    probability = np.column_stack([_probability(column, rate, strength) for column in table.T])
    return np.random.default_rng(random_state).random(table.shape) < probability


def _check_stack(shape: tuple[int, ...]) -> tuple[int, int, int]:
    if len(shape) != 3 or min(shape) < 1:
        raise InvalidInput(f"shape must be (images, height, width), all at least 1; got {shape}.")
    return shape


def blocks(
    shape: tuple[int, int, int], size: int | tuple[int, int], random_state: Seed = None, *, count: int = 1
) -> Mask:
    """`count` rectangles of `size` (height, width) at random positions in every image of a stack.

    Parameters
    ----------
    shape : (images, height, width).

    Examples
    --------
    >>> blocks((5, 16, 16), (4, 6), random_state=0).sum(axis=(1, 2))
    array([24, 24, 24, 24, 24])
    """
    _, height, width = _check_stack(shape)
    tall, wide = size if isinstance(size, tuple) and len(size) == 2 else (size, size)
    require_number("height of size", tall, least=1, most=height, whole=True)
    require_number("width of size", wide, least=1, most=width, whole=True)
    require_number("count", count, least=0, whole=True)
    rng = np.random.default_rng(random_state)
    mask = np.zeros(shape, dtype=np.bool_)
    for image in mask:
        for _ in range(count):
            top, left = rng.integers(height - tall + 1), rng.integers(width - wide + 1)
            image[top : top + tall, left : left + wide] = True
    return mask


def lines(
    shape: tuple[int, int, int], rate: float, random_state: Seed = None, *, vertical: bool = False
) -> Mask:
    """Entire lines of pixels, each missing with probability `rate`, in every image of a stack.

    Parameters
    ----------
    shape : (images, height, width).
    vertical : remove columns of pixels instead of rows of pixels.

    Examples
    --------
    >>> mask = lines((3, 8, 8), 0.5, random_state=0)
    >>> bool((mask.all(axis=2) == mask.any(axis=2)).all())
    True
    """
    _check_rate(rate)
    images, height, width = _check_stack(shape)
    rng = np.random.default_rng(random_state)
    missing = rng.random((images, 1, width) if vertical else (images, height, 1)) < rate
    return np.broadcast_to(missing, shape).copy()
