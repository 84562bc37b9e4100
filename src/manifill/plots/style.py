"""Style shared by all figures."""

from contextlib import AbstractContextManager
from typing import Any

import matplotlib as mpl

# (colour, marker, line style). Colours by Okabe and Ito, for colour-blind people; the rest is for grey print.
STYLES: tuple[tuple[str, str, Any], ...] = (
    ("#0072B2", "o", "-"),
    ("#D55E00", "s", "--"),
    ("#009E73", "^", "-."),
    ("#000000", "D", ":"),
    ("#CC79A7", "v", (0, (5, 1, 1, 1, 1, 1))),
    ("#56B4E9", "P", (0, (3, 1, 1, 1))),
    ("#E69F00", "X", (0, (1, 1))),
)
MISSING_COLOR = "#e07b39"
"""Colour of missing entries and damaged pixels."""
LOOK: dict[str, Any] = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "0.9",
    "legend.frameon": False,
    "savefig.dpi": 160,
    "svg.fonttype": "none",
    "svg.hashsalt": "manifill",  # the same figure gives the same file
}


def look(**changes: Any) -> AbstractContextManager[Any]:
    """Context manager that gives figures manifill's style; `changes` override settings of `LOOK`."""
    settings: Any = {**LOOK, **changes}
    return mpl.rc_context(settings)
