"""Synthetic manifolds, with points at random or evenly spaced."""

import numpy as np

from manifill._arrays import Array
from manifill._checks import require_flag, require_number
from manifill.errors import InvalidInput

Seed = np.random.Generator | int | None


def circle(
    n: int = 200, *, noise: float = 0.0, even: bool = False, random_state: Seed = None
) -> tuple[Array, Array]:
    """Points on the unit circle.

    Parameters
    ----------
    n : number of points.
    noise : standard deviation of the Gaussian noise in each coordinate.
    even : space the points evenly instead of at random.

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
    rng = _checked_rng(n, noise, even, random_state)
    angle = 2 * np.pi * (np.arange(n) / n if even else rng.random(n))
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    return X + noise * rng.standard_normal(X.shape), angle


def torus(
    n: int = 1000, *, radii: tuple[float, float] = (2.0, 1.0), noise: float = 0.0, random_state: Seed = None
) -> tuple[Array, Array]:
    """Points on a torus in R³, uniformly distributed over its area.

    Parameters
    ----------
    n : number of points.
    radii : distance from the centre to the middle of the tube, and radius of the tube.
    noise : standard deviation of the Gaussian noise in each coordinate.

    Returns
    -------
    X : (n, 3)
    angles : (n, 2), around the axis of the torus and around the tube.

    Examples
    --------
    >>> X, angles = torus(50, random_state=0)
    >>> X.shape, angles.shape
    ((50, 3), (50, 2))
    """
    rng = _checked_rng(n, noise, False, random_state)
    large, small = radii
    require_number("first of radii", large, above=0)
    require_number("second of radii", small, above=0, most=large)
    around = 2 * np.pi * rng.random(n)
    tube = np.empty(0)
    while len(tube) < n:  # rejection sampling: the outer side has more area than the inner one
        angle = 2 * np.pi * rng.random(2 * n)
        kept = rng.random(2 * n) < (large + small * np.cos(angle)) / (large + small)
        tube = np.append(tube, angle[kept])
    tube = tube[:n]
    distance = large + small * np.cos(tube)
    X = np.column_stack([distance * np.cos(around), distance * np.sin(around), small * np.sin(tube)])
    return X + noise * rng.standard_normal(X.shape), np.column_stack([around, tube])


def _checked_rng(n: int, noise: float, even: bool, random_state: Seed) -> np.random.Generator:
    require_number("n", n, least=1, whole=True)
    require_number("noise", noise, least=0)
    require_flag("even", even)
    return np.random.default_rng(random_state)


def swiss_roll(
    *,
    spirals: int = 5,
    points: int = 50,
    turns: tuple[float, float] = (0.25, 2.25),
    spread: float = 1.0,
    height: float = 15.0,
    dimensions: int = 30,
    rotations: int = 100,
    noise: float = 0.05,
    random_state: Seed = None,
) -> tuple[Array, Array]:
    """The paper's swiss roll: a stack of evenly spaced spirals, rotated into many dimensions.

    A spiral r = spread·t has the arc length s(t) = spread·½(t√(1+t²) + sinh⁻¹t); its points are evenly
    spaced in s. (The paper prints ds = ½(√(1+t²) + sinh⁻¹t)dt, which is not its derivative.) The stack is
    embedded in R^dimensions, rotated in random planes, and noise is added in all directions. The paper
    chose spread, height, noise and rotations by experiment and does not print them.

    Parameters
    ----------
    spirals, points : number of spirals, and of points on each; the paper has 5 × 50 = 250.
    turns : start and end of each spiral, in full turns.
    spread : growth of the radius, r = spread·t.
    height : distance from the lowest spiral to the highest.
    dimensions : dimension of the space the roll is embedded in, at least 3.
    rotations : number of rotations, each in a random plane by a random angle.
    noise : standard deviation of the Gaussian noise in each dimension.

    Returns
    -------
    X : (spirals · points, dimensions)
    position : (spirals · points, 2), arc length and height of each point on the roll.

    Examples
    --------
    >>> X, position = swiss_roll(random_state=0)
    >>> X.shape, position.shape
    ((250, 30), (250, 2))
    """
    for name, value, least in (("spirals", spirals, 1), ("points", points, 2), ("dimensions", dimensions, 3)):
        require_number(name, value, least=least, whole=True)
    require_number("rotations", rotations, least=0, whole=True)
    require_number("spread", spread, above=0)
    require_number("height", height)
    require_number("noise", noise, least=0)
    if not 0 <= turns[0] < turns[1]:
        raise InvalidInput(f"turns must be (start, end) with 0 ≤ start < end; got {turns}.")
    rng = np.random.default_rng(random_state)
    grid = 2 * np.pi * np.linspace(turns[0], turns[1], 10_000)
    arc_length = spread * 0.5 * (grid * np.sqrt(1 + grid**2) + np.arcsinh(grid))
    even = np.linspace(arc_length[0], arc_length[-1], points)
    t = np.interp(even, arc_length, grid)
    spiral = spread * np.column_stack([t * np.cos(t), t * np.sin(t)])

    levels = np.linspace(0.0, height, spirals)
    X = np.zeros((spirals * points, dimensions))
    X[:, :2] = np.tile(spiral, (spirals, 1))
    X[:, 2] = np.repeat(levels, points)
    for _ in range(rotations):
        X = _rotate(X, rng)
    X += noise * rng.standard_normal(X.shape)
    return X, np.column_stack([np.tile(even, spirals), np.repeat(levels, points)])


def _rotate(X: Array, rng: np.random.Generator) -> Array:
    """Rotate by a random angle in a random plane."""
    plane, _ = np.linalg.qr(rng.standard_normal((X.shape[1], 2)))
    angle = rng.uniform(0, 2 * np.pi)
    rotation = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    within = X @ plane
    rotated: Array = X + (within @ rotation.T - within) @ plane.T
    return rotated
