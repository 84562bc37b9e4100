"""The array types of the package, and what is done to arrays of any library.

The sweep and the kernels speak numpy; the few words they need beyond operators are here in a form that
serves torch's tensors too, so that one code runs on every device.
"""

from types import ModuleType
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.integer[Any]]
Table = npt.NDArray[np.floating[Any]]
"""Numbers in the user's own units and precision."""

AnyArray = TypeVar("AnyArray", bound=npt.NDArray[Any])


def frozen(array: AnyArray) -> AnyArray:
    """A read-only view, so that a value handed out cannot be changed behind its owner's back."""
    view = array.view()
    view.flags.writeable = False
    return view


def namespace(array: Array) -> ModuleType:
    """The library of an array: numpy itself, or the array API's view of another."""
    if isinstance(array, np.ndarray):
        return np
    from array_api_compat import array_namespace  # only where tensors are, and they bring it along

    return cast(ModuleType, array_namespace(array))


def to_numpy(array: AnyArray) -> AnyArray:
    """The same numbers as a numpy array, fetched from their device where need be."""
    return array if isinstance(array, np.ndarray) else array.cpu().numpy()


def exp_in_place(array: Array) -> Array:
    """E to the power of every number, written over it."""
    if isinstance(array, np.ndarray):
        return np.exp(array, out=array)
    return cast(Array, array.exp_())


def zero_unless(keep: Mask, array: Array) -> None:
    """Set to zero, in place, what is not to be kept."""
    if isinstance(array, np.ndarray):
        array *= keep
    else:
        array.masked_fill_(~keep, 0.0)


def set_diagonal(square: Array, values: Array | float) -> None:
    """Write the diagonal of a contiguous square matrix."""
    square.reshape(-1)[:: len(square) + 1] = values
