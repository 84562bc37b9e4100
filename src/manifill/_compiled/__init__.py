"""Loops that numpy cannot do in one pass, compiled by numba without the GIL, so threads run in parallel.

This package is imported only for work that takes longer than importing numba; small tables never wait for it.
Compiled code is cached on disk.
"""

from manifill._compiled.loops import (
    ABSOLUTE,
    PRODUCT,
    SQUARED,
    add_column,
    add_scaled,
    drop_small,
    extend_each,
    factor_single,
    invert,
    signed_sums,
    solve_single,
    solve_subsets,
    totals_across,
    totals_between,
    totals_within,
)
from manifill._compiled.near import from_near_rows, nearest

__all__ = [
    "ABSOLUTE",
    "PRODUCT",
    "SQUARED",
    "add_column",
    "add_scaled",
    "drop_small",
    "extend_each",
    "factor_single",
    "from_near_rows",
    "invert",
    "nearest",
    "signed_sums",
    "solve_single",
    "solve_subsets",
    "totals_across",
    "totals_between",
    "totals_within",
]
