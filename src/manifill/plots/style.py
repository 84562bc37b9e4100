"""One look for all figures."""

from contextlib import AbstractContextManager
from typing import Any

import matplotlib as mpl

# Okabe and Ito's colours, which colour-blind people tell apart; markers and lines serve print in grey.
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
"""The colour of what is missing."""
LOOK: dict[str, Any] = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "0.9",
    "legend.frameon": False,
    "savefig.dpi": 160,
    "svg.fonttype": "none",
    "svg.hashsalt": "manifill",  # the same figure is the same file
}


def look(**changes: Any) -> AbstractContextManager[Any]:
    """Within it figures look like manifill's own."""
    settings: Any = {**LOOK, **changes}
    return mpl.rc_context(settings)
