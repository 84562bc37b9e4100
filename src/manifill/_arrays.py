"""Array types of the package, and functions that work on numpy arrays and torch tensors.

The sweep and the kernels are written for numpy. The few operations in which torch differs are here, so that
the same code runs on every device.
"""

from types import ModuleType
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.integer[Any]]
Table = npt.NDArray[np.floating[Any]]
"""Floating-point numbers in the user's units and precision."""

Tensor = Any
"""A numpy array or a torch tensor. Not checked, since torch is optional."""

AnyArray = TypeVar("AnyArray", bound=npt.NDArray[Any])


def frozen(array: AnyArray) -> AnyArray:
    """Read-only view of the array, so that callers cannot modify the original."""
    view = array.view()
    view.flags.writeable = False
    return view


def namespace(array: Array) -> ModuleType:
    """Module of the array: numpy itself, or the array API namespace of another library."""
    if isinstance(array, np.ndarray):
        return np
    from array_api_compat import array_namespace  # installed with torch

    return cast(ModuleType, array_namespace(array))


def to_numpy(array: AnyArray) -> AnyArray:
    """The array as a numpy array, copied from its device if necessary."""
    return array if isinstance(array, np.ndarray) else array.cpu().numpy()


def exp_in_place(array: Array) -> Array:
    """Replace every element x by exp(x), in place."""
    if isinstance(array, np.ndarray):
        return np.exp(array, out=array)
    return cast(Array, array.exp_())


def zero_unless(keep: Mask, array: Array) -> None:
    """Set the elements where `keep` is False to zero, in place."""
    if isinstance(array, np.ndarray):
        array *= keep
    else:
        array.masked_fill_(~keep, 0.0)


def set_diagonal(square: Array, values: Array | float) -> None:
    """Set the diagonal of a contiguous square matrix, in place."""
    square.reshape(-1)[:: len(square) + 1] = values
