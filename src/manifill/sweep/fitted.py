"""What a swept table leaves behind for rows that come later."""

from dataclasses import dataclass

from manifill.arrays import Array
from manifill.kernels import Kernel


@dataclass(frozen=True, eq=False)
class Fitted:
    """Extensions of every block of columns, as sums of affinities to some rows.

    Attributes
    ----------
    centres : (m, d), these rows, in standard units.
    fits : for every block tuned kernels and coefficients (m, |block|); its columns are the sum over them.
    """

    centres: Array
    fits: tuple[tuple[tuple[Kernel, Array], ...], ...]
