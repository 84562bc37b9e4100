"""Data to try things on."""

from manifill.datasets.synthetic import swiss_roll

__all__ = ["swiss_roll"]
