"""Simple manifolds, points at random or evenly spaced."""

import numpy as np

from manifill._arrays import Array
from manifill._checks import require_flag, require_number

Seed = np.random.Generator | int | None


def circle(
    n: int = 200, *, noise: float = 0.0, even: bool = False, random_state: Seed = None
) -> tuple[Array, Array]:
    """Points on the unit circle.

    Parameters
    ----------
    n : how many.
    noise : standard deviation of the Gaussian noise in each coordinate.
    even : evenly spaced instead of at random.

    Returns
    -------
    X : (n, 2)
    angle : (n,), in [0, 2π).

    Examples
    --------
    >>> X, angle = circle(100, random_state=0)
    >>> X.shape
    (100, 2)
    """
    rng = _checked(n, noise, even, random_state)
    angle = 2 * np.pi * (np.arange(n) / n if even else rng.random(n))
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    return X + noise * rng.standard_normal(X.shape), angle


def torus(
    n: int = 1000, *, radii: tuple[float, float] = (2.0, 1.0), noise: float = 0.0, random_state: Seed = None
) -> tuple[Array, Array]:
    """Points on a torus in R³, uniform in its area.

    Parameters
    ----------
    n : how many.
    radii : from the centre to the middle of the tube, and of the tube.
    noise : standard deviation of the Gaussian noise in each coordinate.

    Returns
    -------
    X : (n, 3)
    angles : (n, 2), around the hole and around the tube.

    Examples
    --------
    >>> X, angles = torus(50, random_state=0)
    >>> X.shape, angles.shape
    ((50, 3), (50, 2))
    """
    rng = _checked(n, noise, False, random_state)
    large, small = radii
    require_number("first of radii", large, above=0)
    require_number("second of radii", small, above=0, most=large)
    around = 2 * np.pi * rng.random(n)
    tube = np.empty(0)
    while len(tube) < n:  # the outer side has more area than the inner one
        angle = 2 * np.pi * rng.random(2 * n)
        kept = rng.random(2 * n) < (large + small * np.cos(angle)) / (large + small)
        tube = np.append(tube, angle[kept])
    tube = tube[:n]
    reach = large + small * np.cos(tube)
    X = np.column_stack([reach * np.cos(around), reach * np.sin(around), small * np.sin(tube)])
    return X + noise * rng.standard_normal(X.shape), np.column_stack([around, tube])


def _checked(n: int, noise: float, even: bool, random_state: Seed) -> np.random.Generator:
    require_number("n", n, least=1, whole=True)
    require_number("noise", noise, least=0)
    require_flag("even", even)
    return np.random.default_rng(random_state)
