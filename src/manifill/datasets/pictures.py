"""Synthetic pictures, which lie on manifolds of few dimensions."""

import numpy as np

from manifill._arrays import Array
from manifill._checks import require_number

# Ellipsoids of a toy car, one per row: centre (3), half-axes (3), brightness. x ahead, y to the side, z up.
_CAR = np.array(
    [
        [0.00, 0.0, 0.10, 1.00, 0.42, 0.26, 0.80],  # body
        [-0.12, 0.0, 0.36, 0.48, 0.34, 0.27, 0.95],  # cabin
        [0.62, 0.0, 0.16, 0.36, 0.34, 0.20, 0.70],  # bonnet
        [0.95, 0.22, 0.14, 0.09, 0.09, 0.09, 1.00],  # lamps
        [0.95, -0.22, 0.14, 0.09, 0.09, 0.09, 1.00],
        [-0.98, 0.0, 0.30, 0.08, 0.40, 0.06, 0.55],  # spoiler
        [0.55, 0.38, -0.12, 0.22, 0.09, 0.22, 0.30],  # wheels
        [0.55, -0.38, -0.12, 0.22, 0.09, 0.22, 0.30],
        [-0.55, 0.38, -0.12, 0.22, 0.09, 0.22, 0.30],
        [-0.55, -0.38, -0.12, 0.22, 0.09, 0.22, 0.30],
    ]
)


def moving_blob(
    n: int = 200,
    *,
    size: int = 24,
    width: float = 0.12,
    random_state: np.random.Generator | int | None = None,
) -> tuple[Array, Array]:
    """Pictures of a bright blob at a random position: a manifold of two dimensions.

    Parameters
    ----------
    n : number of pictures.
    size : pixels along a side.
    width : standard deviation of the blob, as a share of the side of the picture.

    Returns
    -------
    X : (n, size, size), brightness from 0 to 1.
    position : (n, 2), position of the blob from the top and from the left, as a share of the side.

    Examples
    --------
    >>> X, position = moving_blob(10, random_state=0)
    >>> X.shape, position.shape
    ((10, 24, 24), (10, 2))
    """
    require_number("n", n, least=1, whole=True)
    require_number("size", size, least=2, whole=True)
    require_number("width", width, above=0)
    position = np.random.default_rng(random_state).uniform(0.2, 0.8, (n, 2))
    pixel = (np.arange(size) + 0.5) / size
    down, right = np.exp(-0.5 * ((pixel - position.T[:, :, None]) / width) ** 2)
    return down[:, :, None] * right[:, None, :], position


def rotating_object(
    n: int = 72, *, size: int = 64, step: float | None = None, tilt: float = 25.0
) -> tuple[Array, Array]:
    """Pictures of a toy car on a turntable, lit from the upper left: a closed curve.

    The car is made of ellipsoids, so that its intersection with a line of sight has a closed form.

    Parameters
    ----------
    n : number of pictures.
    size : pixels along a side.
    step : degrees between pictures; default: 360 / n.
    tilt : angle by which the camera looks down, in degrees.

    Returns
    -------
    X : (n, size, size), brightness from 0 to 1.
    angle : (n,), rotation of the car in degrees.

    Examples
    --------
    >>> X, angle = rotating_object(4, size=16)
    >>> X.shape, angle
    ((4, 16, 16), array([  0.,  90., 180., 270.]))
    """
    require_number("n", n, least=1, whole=True)
    require_number("size", size, least=2, whole=True)
    require_number("tilt", tilt)
    if step is not None:
        require_number("step", step)
    angle: Array = (360 / n if step is None else step) * np.arange(n, dtype=np.float64)
    return np.array([_render(np.deg2rad(a), np.deg2rad(tilt), size) for a in angle]), angle


def _render(turn: float, tilt: float, size: int) -> Array:
    """Picture of the car: the nearest ellipsoid on each line of sight, shaded by its angle to the light."""
    ahead, up = np.array([np.cos(turn), np.sin(turn), 0.0]), np.array([0.0, 0.0, 1.0])
    car = np.column_stack([ahead, np.cross(up, ahead), up])  # axes of the car in world coordinates
    to_eye = np.array([0.0, -np.cos(tilt), np.sin(tilt)])
    right = np.array([1.0, 0.0, 0.0])
    above = np.cross(to_eye, right)
    light = np.array([-0.5, -0.6, 0.8])
    light /= np.linalg.norm(light)

    offset = np.linspace(-1.2, 1.2, size)
    points = offset[None, :, None] * right - offset[:, None, None] * above + 0.08 * up  # (size, size, 3)
    nearest = np.full((size, size), -np.inf)
    picture = np.zeros((size, size))
    for center, axes, brightness in zip(_CAR[:, :3], _CAR[:, 3:6], _CAR[:, 6], strict=True):
        # In units of its half-axes the ellipsoid is the unit sphere. The line of sight from o along v meets
        # it where |o + s v| = 1.
        o = (points @ car - center) / axes
        v = (to_eye @ car) / axes
        b, c = o @ v, (o**2).sum(axis=2) - 1
        discriminant = b**2 - (v @ v) * c
        s = (-b + np.sqrt(np.maximum(discriminant, 0.0))) / (v @ v)
        normal = ((o + s[:, :, None] * v) / axes) @ car.T
        normal /= np.linalg.norm(normal, axis=2, keepdims=True)
        shade = brightness * (0.25 + 0.75 * np.maximum(normal @ light, 0.0))
        hit = (discriminant > 0) & (s > nearest)
        picture, nearest = np.where(hit, shade, picture), np.where(hit, s, nearest)
    return picture
