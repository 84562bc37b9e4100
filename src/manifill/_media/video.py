"""Writing videos frame by frame, with the frame times, audio and colour codes of an original video.

The file is written under a temporary hidden name in the same folder and renamed when it is complete. If an
exception ends the writing, the temporary file is deleted.
"""

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from manifill._checks import require_number
from manifill._files.atomic import atomic_path
from manifill._files.checks import check_writable
from manifill._media.clips import Frame, VideoFile, VideoStack
from manifill._media.encoding import Encoder, keeps_depth
from manifill.errors import InvalidInput

__all__ = [
    "ENDINGS",
    "Frame",
    "VideoFile",
    "VideoStack",
    "VideoWriter",
    "changes",
    "keeps_depth",
    "write_clip",
]

ENDINGS = (".mp4", ".m4v", ".mov", ".mkv", ".avi", ".webm", ".npy")
"""File name endings of the formats that can be written."""


def changes(path: Path, like: VideoFile, lossless: bool) -> list[str]:
    """What the file `path` cannot keep of the video `like`, for the user."""
    suffix, found = path.suffix.lower(), []
    if like.depth > 8 and not keeps_depth(suffix, lossless):
        found.append(
            f"{path.name} has 8 bits per channel, {like.path.name} has {like.depth}; to keep them, write a "
            ".mkv file with --lossless"
        )
    if suffix in (".avi", ".npy") and not like.constant_rate:
        found.append(
            f"{path.name} has a constant frame rate, {like.path.name} has not, so frames are shown at other "
            "times; to keep them, write a .mkv or .mp4 file"
        )
    if suffix == ".npy" and like.has_audio:
        found.append(f"{path.name} has no sound; to keep it, write a .mkv file")
    return found


class VideoWriter:
    """Writes a video; use it in a `with` statement.

    Parameters
    ----------
    path : path of the output; its ending selects the format
    like : VideoFile, the original: frame times, audio and colour codes are taken from it
    width, height : int, size of the frames; by default that of `like`
    lossless : bool, encode without loss; the file is larger
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
            raise InvalidInput(f"{path} must end in one of {', '.join(ENDINGS)}, which sets the format.")
        check_writable(path)
        self.path = path
        self.like = like
        self.width = like.width if width is None else width
        self.height = like.height if height is None else height
        require_number("width", self.width, least=1, whole=True)
        require_number("height", self.height, least=1, whole=True)
        self.lossless = lossless
        self.n_frames = 0
        self._stack = ExitStack()
        self._sink: Encoder | _Stack | None = None

    def __enter__(self) -> Self:
        size = self.width, self.height
        with ExitStack() as stack:
            temporary = stack.enter_context(atomic_path(self.path))
            if self.path.suffix.lower() == ".npy":
                self._sink = _Stack(temporary, self.like, *size)
            else:
                self._sink = Encoder(temporary, self.like, *size, lossless=self.lossless)
            stack.callback(self._sink.abandon)
            self._stack = stack.pop_all()
        return self

    def write(self, frame: Frame) -> None:
        """Write the next frame."""
        if self._sink is None:
            raise InvalidInput("VideoWriter.write must be called within a `with` statement; it is not open.")
        expected = (self.height, self.width)
        dtype = np.uint8 if self.like.bits == 8 else np.uint16
        if frame.dtype != dtype or frame.shape[:2] != expected or frame.shape[2:] not in ((), (3,)):
            raise InvalidInput(
                f"Frames must be {dtype.__name__} of shape {expected}, optionally with 3 channels; got "
                f"{frame.shape} of {frame.dtype}. Convert the frame, or set width and height."
            )
        if not self.like.colour and frame.ndim == 3:
            raise InvalidInput(f"{self.like.path} is grey, so frames must be {expected}; got {frame.shape}.")
        if self.like.colour and frame.ndim == 2:
            frame = np.repeat(frame[..., None], 3, axis=2)
        self._sink.write(np.ascontiguousarray(frame))
        self.n_frames += 1

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        sink, self._sink = self._sink, None
        if error is not None:
            self._stack.__exit__(kind, error, trace)
            return
        with self._stack:
            assert sink is not None
            if not self.n_frames:
                raise InvalidInput(f"No frame was written, so {self.path.name} was not created.")
            sink.finish()


def write_clip(path: Path, frames: npt.NDArray[np.uint8]) -> None:
    """Write frames (n, height, width) or (n, height, width, 3) as a video without an original."""
    with tempfile.TemporaryDirectory() as folder:
        stack = Path(folder, "frames.npy")
        np.save(stack, frames)
        with VideoWriter(path, VideoFile.open(stack)) as video:
            for frame in frames:
                video.write(frame)


class _Stack:
    """Writes a .npy file; the number of frames in its header is set at the end."""

    def __init__(self, path: Path, like: VideoFile, width: int, height: int) -> None:
        self.shape = (height, width, *((3,) if like.colour else ()))
        self.file = path.open("wb")
        self.n = 0
        self._header()

    def _header(self) -> None:
        shape = (self.n, *self.shape)
        descr = {"descr": "|u1", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(self.file, descr)  # padded for a longer shape

    def write(self, frame: Frame) -> None:
        self.file.write(frame.tobytes())
        self.n += 1

    def finish(self) -> None:
        self.file.seek(0)
        self._header()
        self.file.close()

    def abandon(self) -> None:
        self.file.close()
