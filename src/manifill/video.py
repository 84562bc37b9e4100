"""Damaged video, restored from frames before and after, from frames alike, and from pixels around.

A video of any length is restored in windows of frames, of which a few are in memory at a time.
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
from manifill.images import completed, mean_of, read_limits, read_stack
from manifill.images import restore as restore_pictures

__all__ = ["Stream", "restore"]

# Bytes of frames in memory at a time, each pixel counted with its copies in single precision.
_MOST_BYTES = 2**30
_BYTES_A_VALUE = 16


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
    """Restores frames as they come, and yields them in order.

    Parameters
    ----------
    n_frames : how many will come.
    random_state, device, n_jobs : as of `manifill.images.restore`.
    tick : hears the share of the work that is done.

    Attributes
    ----------
    blend : weights of the methods, and what held-out pixels of the first window with damage said.
    n_filled : values filled so far.
    """

    n_frames: int
    random_state: Any = None
    device: Any = None
    n_jobs: int | None = None
    tick: Callable[[float], None] = field(default=lambda share: None)
    blend: Blend | None = field(default=None, init=False)
    n_filled: int = field(default=0, init=False)
    _last: npt.NDArray[Any] | None = field(default=None, init=False)
    """The last frame restored, for a window of which nothing is known."""

    def restore(
        self, frames: Iterable[npt.NDArray[Any]], masks: Iterable[npt.NDArray[np.bool_]]
    ) -> Iterator[npt.NDArray[Any]]:
        """Frames (h, w) or (h, w, channels), whole numbers or floats, and where each is damaged (h, w)."""
        require_number("n_frames", self.n_frames, least=1, whole=True)
        rng = as_generator(self.random_state)
        pairs = zip(frames, masks, strict=True)
        first = next(pairs, None)
        if first is None:
            raise InvalidInput("A video must have frames; there are none.")
        source = chain([first], pairs)
        height, width, channels = (*first[0].shape, 1)[:3]
        tiler = Tiler((height, width, channels), True, device=find_device(self.device), n_jobs=self.n_jobs)
        parts = windows(self.n_frames, self.frames_at_a_time(tiler), 12)
        waiting: deque[tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]] = deque()

        def filled() -> Iterator[tuple[Window, npt.NDArray[Any]]]:
            held: deque[tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]] = deque()
            come = 0
            for i, part in enumerate(parts):
                while come < part.last:
                    pair = next(source, None)
                    if pair is None:
                        raise InvalidInput(f"{self.n_frames} frames were announced; {come} came.")
                    held.append(pair)
                    waiting.append(pair)
                    come += 1
                while len(held) > part.last - part.first:
                    held.popleft()
                given, mask = (np.stack(some) for some in zip(*held, strict=True))
                yield part, self._filled(given, mask, tiler, rng, i, len(parts))

        # Windows fade into each other before frames take their own type, with known pixels as they came.
        for whole in fade(filled()):
            frame, mask = waiting.popleft()
            missing = np.broadcast_to(mask[..., None], whole.shape)[None]
            missing = missing | np.isnan(frame.reshape(missing.shape).astype(np.float32))
            yield completed(frame[None], whole[None], missing)[0]
        if next(source, None) is not None:
            raise InvalidInput(f"{self.n_frames} frames were announced; more came.")

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
        values, missing = read_stack(given, mask, some_known=False)
        if not missing.any() or missing.all():
            self.tick((number + 1) / of)
            instead = np.zeros(1) if self._last is None else self._last
            return np.where(missing, np.asarray(instead, values.dtype), values)
        self.n_filled += int(missing.sum())
        bounds = read_limits("observed", values)
        tiler = replace(tiler, side=side_for(mask))
        if self.blend is None:
            self.blend = tiler.validated(values, rng, bounds)
        instead = mean_of(values) if self._last is None else self._last
        whole = tiler.fill(
            values, rng, self.blend, bounds, instead, lambda share: self.tick((number + share) / of)
        )
        self._last = whole[-1]
        return whole
