"""Restoring damaged video from earlier and later frames, similar frames and nearby pixels.

A video of any length is restored in windows of frames, so that only a few frames are in memory at a time.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from manifill._checks import as_generator, require_number
from manifill._devices import find_device
from manifill._fillers.field.windows import Window, windows
from manifill._selection import Blend
from manifill._tiling import Tiler, fade, side_for
from manifill.errors import InvalidInput
from manifill.images import mean_of, merge_filled, read_limits, read_stack
from manifill.images import restore as restore_pictures

__all__ = ["Stream", "restore"]

# Maximum memory for the frames of a window; a value counts with its copies in single precision.
_MAX_BYTES = 2**30
_BYTES_PER_VALUE = 16


def restore(
    frames: npt.ArrayLike,
    mask: npt.ArrayLike | None = None,
    *,
    bounds: Any = "observed",
    random_state: Any = None,
    device: Any = None,
    n_jobs: int | None = None,
    return_info: bool = False,
) -> Any:
    """Fill the missing pixels of frames (n, h, w) or (n, h, w, channels) in order of time.

    The parameters are those of `manifill.images.restore`. Entirely missing frames are filled too. For video
    that does not fit into memory use `Stream`.

    >>> import numpy as np
    >>> x = np.arange(32)
    >>> frames = np.stack([np.tile(np.sin((x + t) / 5), (16, 1)) for t in range(20)])
    >>> mask = np.zeros(frames.shape, bool)
    >>> mask[10] = True
    >>> bool(np.abs(restore(frames, mask, random_state=0) - frames).max() < 0.2)
    True
    """
    return restore_pictures(
        frames,
        mask,
        ordered=True,
        bounds=bounds,
        random_state=random_state,
        device=device,
        n_jobs=n_jobs,
        return_info=return_info,
    )


@dataclass
class Stream:
    """Restores an iterable of frames, and yields the restored frames in order.

    Parameters
    ----------
    n_frames : int, number of frames.
    random_state, device, n_jobs : as in `manifill.images.restore`.
    tick : function, called with the finished share of the work, from 0 to 1.

    Attributes
    ----------
    blend : weights of the fillers and their errors, from held-out pixels of the first window with damage.
    n_filled : int, number of filled values in the frames that were yielded so far.
    """

    n_frames: int
    random_state: Any = None
    device: Any = None
    n_jobs: int | None = None
    tick: Callable[[float], None] = field(default=lambda _: None)
    blend: Blend | None = field(default=None, init=False)
    n_filled: int = field(default=0, init=False)
    _last: npt.NDArray[Any] | None = field(default=None, init=False)
    """The last frame of the last filled window; fills later tiles and windows without known pixels."""

    def restore(
        self, frames: Iterable[npt.NDArray[Any]], masks: Iterable[npt.NDArray[np.bool_]]
    ) -> Iterator[npt.NDArray[Any]]:
        """Yield restored frames; `frames` are (h, w) or (h, w, c), `masks` (h, w), True where damaged."""
        require_number("n_frames", self.n_frames, least=1, whole=True)
        rng = as_generator(self.random_state)
        pairs = zip(frames, masks, strict=True)
        first = next(pairs, None)
        if first is None:
            raise InvalidInput("A video must have at least one frame; got none.")
        source = chain([first], pairs)
        height, width, channels = (*first[0].shape, 1)[:3]
        tiler = Tiler((height, width, channels), True, device=find_device(self.device), n_jobs=self.n_jobs)
        parts = windows(self.n_frames, self.frames_at_a_time(tiler), 12)
        waiting: deque[tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]] = deque()

        def filled_windows() -> Iterator[tuple[Window, npt.NDArray[Any]]]:
            held: deque[tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]] = deque()
            n_read = 0
            for i, part in enumerate(parts):
                while n_read < part.last:
                    pair = next(source, None)
                    if pair is None:
                        raise InvalidInput(f"n_frames is {self.n_frames}, but only {n_read} frames came.")
                    held.append(pair)
                    waiting.append(pair)
                    n_read += 1
                while len(held) > part.last - part.first:
                    held.popleft()
                given, mask = (np.stack(some) for some in zip(*held, strict=True))
                yield part, self._fill_window(given, mask, tiler, rng, i, len(parts))

        # Windows are blended as floats; then known pixels are restored and frames converted to their dtype.
        for filled in fade(filled_windows()):
            frame, mask = waiting.popleft()
            missing = np.broadcast_to(mask[..., None], filled.shape)[None]
            missing = missing | np.isnan(frame.reshape(missing.shape).astype(np.float32))
            self.n_filled += int(missing.sum())
            yield merge_filled(frame[None], filled[None], missing)[0]
        if next(source, None) is not None:
            raise InvalidInput(f"n_frames is {self.n_frames}, but more frames came.")

    def frames_at_a_time(self, tiler: Tiler) -> int:
        """Number of frames in a window, limited by the size of a tile and by memory."""
        frame = int(np.prod(tiler.shape)) * _BYTES_PER_VALUE
        return max(8, min(tiler.rows_at_a_time, _MAX_BYTES // frame))

    def _fill_window(
        self,
        given: npt.NDArray[Any],
        mask: npt.NDArray[np.bool_],
        tiler: Tiler,
        rng: np.random.Generator,
        number: int,
        n_windows: int,
    ) -> npt.NDArray[Any]:
        """Window `number` of `n_windows`, filled, as floats (n, h, w, c)."""
        values, missing = read_stack(given, mask, require_known=False)
        if not missing.any() or missing.all():
            self.tick((number + 1) / n_windows)
            fallback = np.zeros(1) if self._last is None else self._last
            return np.where(missing, np.asarray(fallback, values.dtype), values)
        bounds = read_limits("observed", values)
        tiler = replace(tiler, side=side_for(mask))
        if self.blend is None:
            self.blend = tiler.validate(values, rng, bounds)
        fallback = mean_of(values) if self._last is None else self._last
        filled = tiler.fill(
            values, rng, self.blend, bounds, fallback, lambda share: self.tick((number + share) / n_windows)
        )
        self._last = filled[-1]
        return filled
