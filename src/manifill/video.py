"""Damaged video, restored from frames before and after, from frames alike, and from pixels around.

A video of any length is restored in windows of frames, of which a few are in memory at a time.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from manifill.devices import find_device
from manifill.errors import InvalidInput
from manifill.geometry.restoring import Rehearsal
from manifill.geometry.tiling import Tiler, Window, fade, side_for, windows
from manifill.images import bounds_of, completed, read_stack, restored

__all__ = ["Stream", "restore"]

# Bytes of frames in memory at a time, each pixel counted with its copies in single precision.
_MOST_BYTES = 2**30
_BYTES_A_VALUE = 16


def restore(frames: npt.ArrayLike, mask: npt.ArrayLike | None = None, **options: Any) -> npt.NDArray[Any]:
    """Restore damaged frames (n, h, w) or (n, h, w, channels), in order; as `manifill.images.restore`.

    Frames that are missing altogether are filled too. For video that does not fit into memory see `Stream`.

    >>> import numpy as np
    >>> x = np.arange(32)
    >>> frames = np.stack([np.tile(np.sin((x + t) / 5), (16, 1)) for t in range(20)])
    >>> mask = np.zeros(frames.shape, bool)
    >>> mask[10] = True
    >>> bool(np.abs(restore(frames, mask, random_state=0) - frames).max() < 0.2)
    True
    """
    return restored(frames, mask, ordered=True, **options).pictures


@dataclass
class Stream:
    """Restores frames as they come, and yields them in order.

    Parameters
    ----------
    n_frames : how many will come.
    random_state, device, n_jobs : as of `manifill.images.restore`.
    tick : hears the share of the work that is done.

    Attributes
    ----------
    rehearsal : what hidden pixels of the first window with damage said.
    n_filled : values filled so far.
    """

    n_frames: int
    random_state: Any = None
    device: Any = None
    n_jobs: int | None = None
    tick: Callable[[float], None] = field(default=lambda share: None)
    rehearsal: Rehearsal | None = field(default=None, init=False)
    n_filled: int = field(default=0, init=False)

    def restore(
        self, frames: Iterable[npt.NDArray[Any]], masks: Iterable[npt.NDArray[np.bool_]]
    ) -> Iterator[npt.NDArray[Any]]:
        """Frames (h, w) or (h, w, channels), whole numbers or floats, and where each is damaged (h, w)."""
        rng = np.random.default_rng(self.random_state)
        held: deque[npt.NDArray[Any]] = deque()
        holes: deque[npt.NDArray[np.bool_]] = deque()
        pairs = zip(frames, masks, strict=True)
        first = next(pairs, None)
        if first is None:
            raise InvalidInput("A video must have frames; there are none.")
        shape = (*first[0].shape, 1)[:3]
        tiler = Tiler(shape, True, device=find_device(self.device), n_jobs=self.n_jobs)
        parts = windows(self.n_frames, self.frames_at_a_time(tiler), 12)
        come = 0

        def fetch() -> Iterator[tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]]:
            assert first is not None
            yield first
            yield from pairs

        source = fetch()

        def filled() -> Iterator[tuple[Window, npt.NDArray[Any]]]:
            nonlocal come
            begins = 0
            for i, part in enumerate(parts):
                while begins < part.first:
                    held.popleft()
                    holes.popleft()
                    begins += 1
                while come < part.last:
                    frame, hole = next(source, (None, None))
                    if frame is None or hole is None:
                        raise InvalidInput(f"{self.n_frames} frames were announced; {come} came.")
                    held.append(frame)
                    holes.append(hole)
                    come += 1
                yield part, self._filled(np.stack(held), np.stack(holes), tiler, rng, i, len(parts))

        yield from fade(filled())

    def frames_at_a_time(self, tiler: Tiler) -> int:
        """Frames of a window: as many as a tile and the memory have room for."""
        frame = int(np.prod(tiler.shape)) * _BYTES_A_VALUE
        return max(8, min(tiler.rows_at_a_time, _MOST_BYTES // frame))

    def _filled(
        self,
        given: npt.NDArray[Any],
        mask: npt.NDArray[np.bool_],
        tiler: Tiler,
        rng: np.random.Generator,
        number: int,
        of: int,
    ) -> npt.NDArray[Any]:
        if not mask.any():
            self.tick((number + 1) / of)
            return given
        values, missing = read_stack(given, mask)
        self.n_filled += int(missing.sum())
        bounds = bounds_of(given, values)
        tiler = replace(tiler, side=side_for(mask))
        if self.rehearsal is None:
            self.rehearsal = tiler.rehearsed(values, rng, bounds)
        whole = tiler.fill(
            values, rng, self.rehearsal, bounds, lambda share: self.tick((number + share) / of)
        )
        return completed(given, whole, missing)
