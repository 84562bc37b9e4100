"""Pictures of any size and number: cut into tiles, in space and along the rows, that are filled one by one.

Tiles overlap, and where they do one fades into the next. Memory is bounded by a tile, and rows are compared
tile by tile: what is alike in one corner need not be alike in another.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.ndimage import distance_transform_edt

from manifill._fillers import Run
from manifill._fillers.field.windows import Window, windows
from manifill._fitting import run_all, unfilled
from manifill._problem import Problem
from manifill._selection import Blend, fillers_for, needed, validation_rows, weigh
from manifill._validation import hold_out_like_missing
from manifill.layouts import Grid

# Sides of tiles: small ones compare rows where they are similar, but damage needs a few times its size.
_MIN_SIDE, _MAX_SIDE, _TIMES_DEPTH = 64, 192, 8
_OVERLAP = 12
# Side of what a validation run looks at: much, since one damaged spot is one example, however many entries.
_VALIDATION_SIDE = 256
# Entries of a tile at a time: about 16 arrays of 4 bytes each are alive, so a quarter of a gigabyte.
_MAX_ENTRIES = 2**22
_MIN_ROWS = 24

Values = npt.NDArray[Any]


def side_for(missing: npt.NDArray[np.bool_]) -> int:
    """A side of tiles that is large enough for the holes of these rows (n, h, w)."""
    deepest = 0.0
    for hole in missing[np.linspace(0, len(missing) - 1, min(len(missing), 32)).astype(int)]:
        if hole.any() and not hole.all():
            deepest = max(deepest, float(distance_transform_edt(hole).max()))
    return int(np.clip(_TIMES_DEPTH * deepest, _MIN_SIDE, _MAX_SIDE))


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
    side: int = _MIN_SIDE
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
        return max(_MIN_ROWS, _MAX_ENTRIES // area)

    @property
    def run(self) -> Run:
        return Run(self.device, self.n_jobs)

    def problem(self, values: Values, tile: tuple[Window, Window], bounds: Any) -> Problem:
        """One tile of all rows as a problem."""
        y, x = tile
        part = values[:, y.slice, x.slice]
        n, h, w, c = part.shape
        return Problem.of(
            part.reshape(n, -1),
            layout=Grid(h, w, c),
            moments=np.arange(n) if self.ordered else None,
            bounds=np.repeat(np.reshape(bounds, (2, 1)), h * w * c, axis=1),
        )

    def validated(self, values: Values, rng: np.random.Generator, bounds: Any) -> Blend | None:
        """Weights of the fillers, found on held-out entries of the part that has most to fill."""
        h, w, c = self.shape
        parts = list(product(windows(h, _VALIDATION_SIDE, 0), windows(w, _VALIDATION_SIDE, 0)))
        missing = [int(np.isnan(values[:, y.slice, x.slice]).sum()) for y, x in parts]
        y, x = parts[int(np.argmax(missing))]
        most = max(_MIN_ROWS, _MAX_ENTRIES // ((y.last - y.first) * (x.last - x.first) * c))
        some = values[: min(most, len(values))]
        if not np.isnan(some[:, y.slice, x.slice]).any() or np.isnan(some[:, y.slice, x.slice]).all():
            return None
        problem = self.problem(some, (y, x), bounds)
        rows = validation_rows(problem, rng)
        held_out = hold_out_like_missing(problem, rows, rng)
        if not len(held_out.truth) or held_out.problem.M.all():
            return None
        return weigh(held_out, rows, fillers_for(problem, None), self.run, rng)

    def fill(
        self,
        values: Values,
        rng: np.random.Generator,
        blend: Blend | None,
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
                part = self._filled(self.problem(values, tile, bounds), rng, blend).reshape(part.shape)
            whole[:, y.slice, x.slice] += ramp * part.astype(values.dtype)
            total[y.slice, x.slice] += ramp
            tick((i + 1) / len(self.tiles))
        return np.where(np.isnan(values), whole / total, values)

    def _filled(self, problem: Problem, rng: np.random.Generator, blend: Blend | None) -> Values:
        """One tile; without a validation run the last filler counts alone."""
        fillers = fillers_for(problem, None)
        weights = {fillers[-1].name: 1.0} if blend is None else blend.weights
        known = replace(unfilled(problem, fillers, self.run), weights=weights)
        *_, last = run_all(known, needed(fillers, weights), self.run, rng)
        return np.asarray(last.X)


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
