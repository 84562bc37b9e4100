"""The array types of the package, and the one thing done to all of them: freezing."""

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Table = npt.NDArray[np.floating[Any]]
"""Numbers in the user's own units and precision."""

AnyArray = TypeVar("AnyArray", bound=npt.NDArray[Any])


def frozen(array: AnyArray) -> AnyArray:
    """A read-only view, so that a value handed out cannot be changed behind its owner's back."""
    view = array.view()
    view.flags.writeable = False
    return view
