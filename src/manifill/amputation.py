"""Make holes on purpose. Every function returns a mask, True where a value is to be removed.

`np.where(mask, np.nan, X)` then has the holes. The same random_state gives the same mask.
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
    gaps = np.isnan(table).any(axis=0)
    if gaps.any():
        raise InvalidInput(
            "X must be complete, since its values decide what goes missing; "
            f"columns {np.flatnonzero(gaps).tolist()} have gaps. Remove or fill them first."
        )
    return table


def _probability(driver: Array, rate: float, strength: float) -> Array:
    """Chances (n,) that rise with the rank of `driver` and are `rate` on average."""
    require_number("strength", strength)
    if not 1e-12 < rate < 1 - 1e-12 or len(driver) < 2:
        return np.full(len(driver), float(rate))
    _, place, count = np.unique(driver, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2)[place]  # equal values share their mean rank
    position = (rank - 0.5) / len(driver) - 0.5
    logit = strength * position
    bound = abs(strength) + 50.0
    shift = brentq(lambda a: expit(a + logit).mean() - rate, -bound, bound)
    chance: Array = expit(shift + logit)
    return chance


def mcar(shape: tuple[int, ...], rate: float, random_state: Seed = None) -> Mask:
    """Missing completely at random: every value with probability `rate`, whatever it is.

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
    """Missing at random: the rank of an observed column decides how likely the others are missing.

    Parameters
    ----------
    X : (n, d), complete.
    rate : share of the values missing in all columns but the driver, which stays complete.
    driver : the column that decides; None draws one.
    strength : log-odds between the lowest and the highest rank; 0 is MCAR, negative hits low values.

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
    chance = _probability(table[:, column], rate, strength)
    mask = rng.random((n, d)) < chance[:, None]
    mask[:, column] = False
    return mask


def mnar(X: npt.ArrayLike, rate: float, random_state: Seed = None, *, strength: float = 6.0) -> Mask:
    """Missing not at random: the rank of the value itself decides how likely it is missing.

    Parameters
    ----------
    X : (n, d), complete.
    rate : share of the values missing in each column.
    strength : log-odds between the lowest and the highest rank; 0 is MCAR, negative hits low values.

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
    chance = np.column_stack([_probability(column, rate, strength) for column in table.T])
    return np.random.default_rng(random_state).random(table.shape) < chance


def _stack(shape: tuple[int, ...]) -> tuple[int, int, int]:
    if len(shape) != 3 or min(shape) < 1:
        raise InvalidInput(f"shape must be (images, height, width), all at least 1; got {shape}.")
    return shape


def blocks(
    shape: tuple[int, int, int], size: int | tuple[int, int], random_state: Seed = None, *, count: int = 1
) -> Mask:
    """`count` rectangles of `size` (height, width) at random places in every image of a stack.

    Parameters
    ----------
    shape : (images, height, width).

    Examples
    --------
    >>> blocks((5, 16, 16), (4, 6), random_state=0).sum(axis=(1, 2))
    array([24, 24, 24, 24, 24])
    """
    _, height, width = _stack(shape)
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
    """Whole lines of pixels, each missing with probability `rate` in every image of a stack.

    Parameters
    ----------
    shape : (images, height, width).
    vertical : columns of pixels instead of rows of pixels.

    Examples
    --------
    >>> mask = lines((3, 8, 8), 0.5, random_state=0)
    >>> bool((mask.all(axis=2) == mask.any(axis=2)).all())
    True
    """
    _check_rate(rate)
    images, height, width = _stack(shape)
    rng = np.random.default_rng(random_state)
    gone = rng.random((images, 1, width) if vertical else (images, height, 1)) < rate
    return np.broadcast_to(gone, shape).copy()
