"""Filling large stacks of pictures: they are cut into tiles in space and windows of rows, filled separately.

Tiles overlap, and overlapping fills are blended linearly. Memory is bounded by the size of a tile. The
similarity of rows (pictures) is computed per tile: pictures similar in one corner may differ in another.
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

# Side of a tile in pixels: _SIDE_PER_DEPTH times the depth of the damage, within limits. Small tiles
# compare rows locally: on the escalator video with 70 % missing, tiles of 64 pixels reached 30.0 dB, entire
# frames 29.2 dB (docs/notes/pictures.md). The other two values and the overlap: set by hand, not tuned.
_MIN_SIDE, _MAX_SIDE, _SIDE_PER_DEPTH = 64, 192, 8
_OVERLAP = 12
# Side in pixels of the part used in a validation run. It is larger than a tile because a damaged spot is only
# one example, however many entries it has. Set by hand, not tuned.
_VALIDATION_SIDE = 256
# Maximum entries of a tile over all rows: about 16 arrays of 4 bytes per entry, 256 MB.
_MAX_ENTRIES = 2**22
# Minimum rows of a tile, even if it then exceeds _MAX_ENTRIES. Set by hand, not tuned.
_MIN_ROWS = 24

Values = npt.NDArray[Any]


def side_for(missing: npt.NDArray[np.bool_]) -> int:
    """Side of tiles for damage (n, h, w), from the largest distance of a missing pixel to a known one.

    The distance is measured in up to 32 evenly spaced pictures.
    """
    deepest = 0.0
    for mask in missing[np.linspace(0, len(missing) - 1, min(len(missing), 32)).astype(int)]:
        if mask.any() and not mask.all():
            deepest = max(deepest, float(distance_transform_edt(mask).max()))
    return int(np.clip(_SIDE_PER_DEPTH * deepest, _MIN_SIDE, _MAX_SIDE))


@dataclass(frozen=True, eq=False)
class Tiler:
    """Fills stacks of pictures (h, w, c), tile by tile.

    Attributes
    ----------
    shape : (h, w, c), height, width and channels.
    ordered : bool, whether the rows are in order of time.
    side : int, approximate maximum height and width of tiles; see `side_for`.
    device, n_jobs : as in `manifill.images.restore`.
    """

    shape: tuple[int, int, int]
    ordered: bool
    side: int = _MIN_SIDE
    device: str | None = None
    n_jobs: int | None = None

    @property
    def tiles(self) -> list[tuple[Window, Window]]:
        """Pairs of windows of height and width."""
        h, w, _ = self.shape
        return list(product(windows(h, self.side, _OVERLAP), windows(w, self.side, _OVERLAP)))

    @property
    def rows_at_a_time(self) -> int:
        """Maximum number of rows to fill at once."""
        area = max((y.last - y.first) * (x.last - x.first) for y, x in self.tiles) * self.shape[2]
        return max(_MIN_ROWS, _MAX_ENTRIES // area)

    @property
    def run(self) -> Run:
        return Run(self.device, self.n_jobs)

    def problem(self, values: Values, tile: tuple[Window, Window], bounds: Any) -> Problem:
        """A tile of all rows as a Problem with a Grid layout."""
        y, x = tile
        part = values[:, y.slice, x.slice]
        n, h, w, c = part.shape
        return Problem.of(
            part.reshape(n, -1),
            layout=Grid(h, w, c),
            moments=np.arange(n) if self.ordered else None,
            bounds=np.repeat(np.reshape(bounds, (2, 1)), h * w * c, axis=1),
        )

    def validate(self, values: Values, rng: np.random.Generator, bounds: Any) -> Blend | None:
        """Weights of the fillers, from held-out entries of the part with most missing entries.

        None if that part has no missing or no known entries, or nothing can be held out.
        """
        h, w, c = self.shape
        parts = list(product(windows(h, _VALIDATION_SIDE, 0), windows(w, _VALIDATION_SIDE, 0)))
        missing = [int(np.isnan(values[:, y.slice, x.slice]).sum()) for y, x in parts]
        y, x = parts[int(np.argmax(missing))]
        max_rows = max(_MIN_ROWS, _MAX_ENTRIES // ((y.last - y.first) * (x.last - x.first) * c))
        some = values[: min(max_rows, len(values))]
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
        fallback: Values,
        tick: Callable[[float], None],
    ) -> Values:
        """Fill rows (n, h, w, c), NaN where missing; `tick` is called with the finished share, 0 to 1.

        A tile without known entries is filled with `fallback`: (c,), or a picture (h, w, c).
        """
        filled = np.zeros(values.shape, values.dtype)
        total = np.zeros((*values.shape[1:3], 1), values.dtype)
        for i, tile in enumerate(self.tiles):
            y, x = tile
            ramp = np.outer(y.ramp, x.ramp)[..., None].astype(values.dtype)
            part = values[:, y.slice, x.slice]
            missing = np.isnan(part)
            if missing.all():
                picture = np.broadcast_to(np.asarray(fallback, values.dtype), values.shape[1:])
                part = np.broadcast_to(picture[y.slice, x.slice], part.shape)
            elif missing.any():
                part = self._fill_tile(self.problem(values, tile, bounds), rng, blend).reshape(part.shape)
            filled[:, y.slice, x.slice] += ramp * part.astype(values.dtype)
            total[y.slice, x.slice] += ramp
            tick((i + 1) / len(self.tiles))
        return np.where(np.isnan(values), filled / total, values)

    def _fill_tile(self, problem: Problem, rng: np.random.Generator, blend: Blend | None) -> Values:
        """One filled tile; without a blend, the last filler gets all the weight."""
        fillers = fillers_for(problem, None)
        weights = {fillers[-1].name: 1.0} if blend is None else blend.weights
        known = replace(unfilled(problem, fillers, self.run), weights=weights)
        *_, last = run_all(known, needed(fillers, weights), self.run, rng)
        return np.asarray(last.X)


def fade(parts: Iterator[tuple[Window, Values]]) -> Iterator[Values]:
    """Yield the rows of consecutive windows; where two overlap, they are blended linearly."""
    held: Values | None = None
    for window, values in parts:
        values = np.array(values)
        if held is not None and window.fade_in:
            share = window.ramp[: window.fade_in].reshape(-1, *[1] * (values.ndim - 1)).astype(values.dtype)
            values[: window.fade_in] = share * values[: window.fade_in] + (1 - share) * held
        ready = len(values) - window.fade_out
        yield from values[:ready]
        held = values[ready:]
