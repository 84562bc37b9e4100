"""Style shared by all figures."""

import io
import warnings
from contextlib import AbstractContextManager
from typing import Any

import matplotlib as mpl
import matplotlib.font_manager
from matplotlib.figure import Figure

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


# Fonts for letters that the first one does not have, such as Chinese; those that are installed are used.
_FONTS = (
    *("DejaVu Sans", "Noto Sans", "Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans CJK KR"),
    *(
        "Arial Unicode MS",
        "WenQuanYi Zen Hei",
        "Droid Sans Fallback",
        "Microsoft YaHei",
        "PingFang SC",
        "Hiragino Sans",
    ),
)


def look(**changes: Any) -> AbstractContextManager[Any]:
    """Context manager that gives figures manifill's style; `changes` override settings of `LOOK`."""
    installed = set(mpl.font_manager.fontManager.get_font_names())
    fonts = [font for font in _FONTS if font in installed]
    settings: Any = {**LOOK, "font.family": fonts, **changes}
    return mpl.rc_context(settings)


def png(figure: Figure, **options: Any) -> bytes:
    """The figure as a PNG file. Letters that no installed font has are drawn as boxes, without a warning."""
    file = io.BytesIO()
    with look(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")
        figure.savefig(file, format="png", bbox_inches="tight", **options)
    return file.getvalue()
