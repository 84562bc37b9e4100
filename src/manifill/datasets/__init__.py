"""Example data: synthetic manifolds and pictures, and the public data sets of the paper."""

from manifill.datasets.manifolds import circle, swiss_roll, torus
from manifill.datasets.pictures import moving_blob, rotating_object
from manifill.datasets.public import (
    Pictures,
    Weather,
    load_coil20,
    load_noaa_normals,
    load_olivetti,
    load_umist,
)

__all__ = [
    "Pictures",
    "Weather",
    "circle",
    "load_coil20",
    "load_noaa_normals",
    "load_olivetti",
    "load_umist",
    "moving_blob",
    "rotating_object",
    "swiss_roll",
    "torus",
]
