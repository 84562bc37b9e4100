"""Pictures of any size and number: cut into tiles, in space and along the rows, that are filled one by one.

Tiles overlap, and where they do one fades into the next. Memory is bounded by a tile, and rows are compared
tile by tile: what is alike in one corner need not be alike in another.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.ndimage import distance_transform_edt

from manifill.geometry.columns import Grid, Line
from manifill.geometry.problem import FieldProblem
from manifill.geometry.restoring import Rehearsal, plan_for, rehearse, restore_field
from manifill.geometry.windows import Window, windows
from manifill.threads import Workers

# Sides of tiles: small ones compare rows where they are alike, but a hole needs a few times its size.
_SMALLEST, _LARGEST, _TIMES_HOLE = 64, 192, 8
_OVERLAP = 12
# Sides of what a rehearsal looks at: much, since a hole is one example, however many entries it has.
_REHEARSED = 256
# Entries of a tile at a time: about 16 arrays of 4 bytes each are alive, so a quarter of a gigabyte.
MOST_ENTRIES = 2**22
_FEWEST_ROWS = 24

Values = npt.NDArray[Any]


def side_for(missing: npt.NDArray[np.bool_]) -> int:
    """A side of tiles that is large enough for the holes of these rows (n, h, w)."""
    deepest = 0.0
    for hole in missing[np.linspace(0, len(missing) - 1, min(len(missing), 32)).astype(int)]:
        if hole.any() and not hole.all():
            deepest = max(deepest, float(distance_transform_edt(hole).max()))
    return int(np.clip(_TIMES_HOLE * deepest, _SMALLEST, _LARGEST))


@dataclass(frozen=True, eq=False)
class Tiler:
    """Fills stacks of one shape (h, w, c), tile by tile.

    Attributes
    ----------
    shape : height, width and channels.
    ordered : are the rows in order of time?
    side : how high and wide tiles are at most, as `side_for` finds.
    device, n_jobs : as everywhere.
    """

    shape: tuple[int, int, int]
    ordered: bool
    side: int = _SMALLEST
    device: str | None = None
    n_jobs: int | None = None

    @property
    def tiles(self) -> list[tuple[Window, Window]]:
        """Windows of height and width."""
        h, w, _ = self.shape
        return list(product(windows(h, self.side, _OVERLAP), windows(w, self.side, _OVERLAP)))

    @property
    def rows_at_a_time(self) -> int:
        """How many rows the largest tile may have."""
        area = max((y.last - y.first) * (x.last - x.first) for y, x in self.tiles) * self.shape[2]
        return max(_FEWEST_ROWS, MOST_ENTRIES // area)

    def problem(self, values: Values, tile: tuple[Window, Window], bounds: Any) -> FieldProblem:
        """One tile of all rows as a problem."""
        y, x = tile
        part = values[:, y.slice, x.slice]
        n, h, w, c = part.shape
        grid, rows = Grid(h, w, c), Line() if self.ordered else None
        return FieldProblem.of(part.reshape(n, -1), grid, rows, bounds)

    def rehearsed(self, values: Values, rng: np.random.Generator, bounds: Any) -> Rehearsal | None:
        """What hidden entries say of the part that has most to fill."""
        h, w, c = self.shape
        parts = list(product(windows(h, _REHEARSED, 0), windows(w, _REHEARSED, 0)))
        missing = [int(np.isnan(values[:, y.slice, x.slice]).sum()) for y, x in parts]
        y, x = parts[int(np.argmax(missing))]
        rows = max(_FEWEST_ROWS, MOST_ENTRIES // ((y.last - y.first) * (x.last - x.first) * c))
        some = values[: min(rows, len(values))]
        if not np.isnan(some[:, y.slice, x.slice]).any() or np.isnan(some[:, y.slice, x.slice]).all():
            return None
        problem = self.problem(some, (y, x), bounds)
        with Workers(self.n_jobs):
            return rehearse(problem, plan_for(problem), rng, self.device)

    def fill(
        self,
        values: Values,
        rng: np.random.Generator,
        rehearsal: Rehearsal | None,
        bounds: Any,
        instead: Values,
        tick: Callable[[float], None],
    ) -> Values:
        """All tiles of some rows (n, h, w, c), NaN where missing; `tick` hears the share that is done.

        A tile in which nothing is known is filled with `instead`: (c,), or a picture (h, w, c).
        """
        whole = np.zeros(values.shape, values.dtype)
        total = np.zeros((*values.shape[1:3], 1), values.dtype)
        for i, tile in enumerate(self.tiles):
            y, x = tile
            ramp = np.outer(y.ramp, x.ramp)[..., None].astype(values.dtype)
            part = values[:, y.slice, x.slice]
            missing = np.isnan(part)
            if missing.all():
                whole_picture = np.broadcast_to(np.asarray(instead, values.dtype), values.shape[1:])
                part = np.broadcast_to(whole_picture[y.slice, x.slice], part.shape)
            elif missing.any():
                problem = self.problem(values, tile, bounds)
                # Without a rehearsal of another tile the last stage counts alone.
                restored = restore_field(
                    problem, rng, device=self.device, n_jobs=self.n_jobs, rehearsal=rehearsal, judge=False
                )
                part = restored.X.reshape(part.shape)
            whole[:, y.slice, x.slice] += ramp * part.astype(values.dtype)
            total[y.slice, x.slice] += ramp
            tick((i + 1) / len(self.tiles))
        return np.where(np.isnan(values), whole / total, values)


def fade(parts: Iterator[tuple[Window, Values]]) -> Iterator[Values]:
    """Rows of windows that follow each other; where two overlap, the first fades into the second."""
    held: Values | None = None
    for window, values in parts:
        values = np.array(values)
        if held is not None and window.fade_in:
            share = window.ramp[: window.fade_in].reshape(-1, *[1] * (values.ndim - 1)).astype(values.dtype)
            values[: window.fade_in] = share * values[: window.fade_in] + (1 - share) * held
        ready = len(values) - window.fade_out
        yield from values[:ready]
        held = values[ready:]
