"""Videos, written frame by frame like one that was read: its pace, its sound, its colours.

A video takes its name only when it is complete. Until then it is a hidden file beside it, which goes away
with whatever exception ends the writing.
"""

import os
import secrets
from pathlib import Path
from typing import Self

import numpy as np

from manifill._checks import require_number
from manifill._files.atomic import check_writable
from manifill._media.clips import Frame, VideoFile, VideoStack
from manifill._media.encoding import Encoder
from manifill.errors import InvalidInput

__all__ = ["ENDINGS", "Frame", "VideoFile", "VideoStack", "VideoWriter"]

ENDINGS = (".mp4", ".m4v", ".mov", ".mkv", ".avi", ".webm", ".npy")
"""What can be written."""


class VideoWriter:
    """A video being written; use it in a `with` statement.

    Parameters
    ----------
    path : where; the ending tells the format
    like : the video whose pace, sound and colours it has
    width, height : of the frames; those of `like` by default
    lossless : whether frames must come back bit for bit, in a larger file
    """

    def __init__(
        self,
        path: Path,
        like: VideoFile,
        *,
        width: int | None = None,
        height: int | None = None,
        lossless: bool = False,
    ) -> None:
        if path.suffix.lower() not in ENDINGS:
            raise InvalidInput(f"{path} must end in one of {', '.join(ENDINGS)}, which tells its format.")
        check_writable(path)
        self.path = path.resolve()
        self.like = like
        self.width = like.width if width is None else width
        self.height = like.height if height is None else height
        require_number("width", self.width, least=1, whole=True)
        require_number("height", self.height, least=1, whole=True)
        self.lossless = lossless
        self.n_frames = 0
        self._part = self.path.with_name(f".{path.stem}.{secrets.token_hex(4)}{path.suffix}")
        self._sink: Encoder | _Stack | None = None

    def __enter__(self) -> Self:
        size = self.width, self.height
        try:
            if self.path.suffix.lower() == ".npy":
                self._sink = _Stack(self._part, self.like, *size)
            else:
                self._sink = Encoder(self._part, self.like, *size, lossless=self.lossless)
        except BaseException:
            self._part.unlink(missing_ok=True)
            raise
        return self

    def write(self, frame: Frame) -> None:
        """Write the next frame."""
        if self._sink is None:
            raise InvalidInput("A VideoWriter writes within its `with` statement only; this one is not open.")
        expected = (self.height, self.width)
        if frame.dtype != np.uint8 or frame.shape[:2] != expected or frame.shape[2:] not in ((), (3,)):
            raise InvalidInput(
                f"Frames must be uint8 of the shape {expected}, or with 3 channels more; got {frame.shape} "
                f"of {frame.dtype}. Convert the frame, or give width and height."
            )
        if not self.like.colour and frame.ndim == 3:
            raise InvalidInput(f"{self.like.path} is grey, so frames must be {expected}; got {frame.shape}.")
        if self.like.colour and frame.ndim == 2:
            frame = np.repeat(frame[..., None], 3, axis=2)
        self._sink.write(np.ascontiguousarray(frame))
        self.n_frames += 1

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        assert self._sink is not None
        sink, self._sink = self._sink, None
        try:
            if error is None:
                if not self.n_frames:
                    raise InvalidInput(f"No frame was written, so that there is no {self.path.name}.")
                sink.finish()
                os.replace(self._part, self.path)
        finally:
            sink.abandon()
            self._part.unlink(missing_ok=True)


class _Stack:
    """A NumPy file, whose number of frames is filled in at the end."""

    def __init__(self, path: Path, like: VideoFile, width: int, height: int) -> None:
        self.shape = (height, width, *((3,) if like.colour else ()))
        self.file = path.open("wb")
        self.n = 0
        self._header()

    def _header(self) -> None:
        shape = (self.n, *self.shape)
        descr = {"descr": "|u1", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(self.file, descr)  # leaves room for a longer number

    def write(self, frame: Frame) -> None:
        self.file.write(frame.tobytes())
        self.n += 1

    def finish(self) -> None:
        self.file.seek(0)
        self._header()
        self.file.close()

    def abandon(self) -> None:
        self.file.close()
