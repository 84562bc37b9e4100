"""Reading videos frame by frame: files of any format that FFmpeg supports, and NumPy stacks."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from manifill._arrays import Indices
from manifill._media import stacks
from manifill._media.libraries import pyav
from manifill.errors import InvalidInput

Frame = npt.NDArray[np.uint8 | np.uint16]
"""(height, width, 3), or (height, width) for greyscale video; uint8, or uint16 with more than 8 bits."""
SCALER_FLAGS = 0x4 | 0x2000 | 0x40000
"""Flags of FFmpeg's scaler for colour conversion: bicubic, chroma interpolation, exact rounding.

The default repeats each chroma sample over two pixels, which costs about 10 dB in saturated colours."""
DEFAULT_FPS = Fraction(25)
"""Frame rate, in frames per second, of a NumPy stack, which does not store one."""


@dataclass(frozen=True, kw_only=True)
class VideoFile:
    """A video that can be read any number of times; create it with `VideoFile.open`.

    Attributes
    ----------
    path : path of the file
    width, height : int, size of the stored frames, in pixels
    fps : average frame rate, in frames per second
    n_frames : int, number of frames, counted from the packets
    colour : bool, True if frames are (height, width, 3), False if (height, width)
    has_audio : bool, whether the file has an audio stream
    duration : float, in seconds
    times : (n_frames,), presentation time of each frame in units of `time_base`; None if the file has none
        or they do not strictly increase
    codec : name of the video codec
    depth : int, bits per channel in the file
    bits : int, bits per channel of `frames()`: 8, or more as in `with_full_depth`
    """

    path: Path
    width: int
    height: int
    fps: Fraction
    n_frames: int
    colour: bool = True
    has_audio: bool = False
    times: Indices | None = field(default=None, repr=False)
    time_base: Fraction = field(default=1 / DEFAULT_FPS, repr=False)
    codec: str = ""
    colour_codes: tuple[int, int, int] = field(default=(2, 2, 2), repr=False)
    """Colour matrix, primaries and transfer curve, as FFmpeg's codes; 2 means unspecified."""
    rotation: int = 0
    """Counter-clockwise rotation that a player applies to the frames, in degrees."""
    aspect: Fraction = Fraction(1)
    """Width of a pixel over its height."""
    depth: int = 8
    bits: int = 8

    @staticmethod
    def open(path: Path) -> "VideoFile":
        """Open a video file, or a NumPy stack (n, height, width[, 3]) as a video."""
        if not path.is_file():
            raise InvalidInput(f"There is no file {path}. Check the path.")
        return _open_stack(path) if path.suffix.lower() == ".npy" else _open_video(path)

    def with_full_depth(self) -> "VideoFile":
        """The same video; its frames have all bits of the file, as uint16 if these are more than 8."""
        return replace(self, bits=next(bits for bits in (8, 10, 12, 14, 16) if bits >= min(self.depth, 16)))

    @property
    def pixel_format(self) -> str:
        """FFmpeg's name of the pixel format of `frames()`: grey or RGB."""
        if self.bits == 8:
            return "rgb24" if self.colour else "gray"
        return f"{'gbrp' if self.colour else 'gray'}{self.bits}le"

    @property
    def constant_rate(self) -> bool:
        """Whether the frame rate is constant: each frame within a quarter of a frame of its regular time."""
        if self.times is None:
            return True
        seconds = (self.times - self.times[0]) * float(self.time_base)
        delay = seconds * float(self.fps) - np.arange(self.n_frames)
        return bool(np.abs(delay).max() < 0.25)

    @property
    def duration(self) -> float:
        """Seconds from the start of the first frame to the end of the last."""
        if self.times is None or self.n_frames < 2:
            return float(self.n_frames / self.fps)
        return float((int(self.times[-1]) - int(self.times[0])) * self.time_base + 1 / self.fps)

    def frames(self, start: int = 0, stop: int | None = None) -> Iterator[Frame]:
        """Yield the frames `start`, …, `stop` - 1 in order; only a few are in memory at a time."""
        stop = self._stop(start, stop)
        shown = start
        for frame in self._decoded(start):
            if shown >= stop:
                return
            yield frame.to_ndarray(format=self.pixel_format, interpolation=SCALER_FLAGS)
            shown += 1
        if shown < stop:
            raise InvalidInput(
                f"{self.path} ends after frame {shown} of {self.n_frames}; repair it, for example with "
                f"ffmpeg -i {self.path.name} repaired.mkv."
            )

    def _stop(self, start: int, stop: int | None) -> int:
        stop = self.n_frames if stop is None else stop
        if not 0 <= start <= stop <= self.n_frames:
            raise InvalidInput(
                f"Frames must be 0 ≤ start ≤ stop ≤ {self.n_frames}; got start {start} and stop {stop}."
            )
        return stop

    def _decoded(self, start: int) -> Iterator[Any]:
        """Yield decoded frames from `start` on.

        Seeks to the key frame before `start`; if that fails, decodes from the beginning.
        """
        av = pyav()
        try:
            with av.open(self.path) as container:
                stream = container.streams.video[0]
                stream.thread_type = "AUTO"
                if start and self.times is not None:
                    wanted = int(self.times[start])
                    container.seek(wanted, stream=stream, backward=True)
                    ready = False
                    for frame in container.decode(stream):
                        if not ready and (frame.pts is None or frame.pts > wanted):
                            break  # the seek went past `start`: decode from the beginning
                        ready = ready or frame.pts == wanted
                        if ready:
                            yield frame
                    else:
                        return
                    container.seek(int(self.times[0]), stream=stream, backward=True)
                for i, frame in enumerate(container.decode(stream)):
                    if i >= start:
                        yield frame
        except av.FFmpegError as error:
            raise InvalidInput(f"{self.path} cannot be decoded: {error}. Is the file damaged?") from error


@dataclass(frozen=True, kw_only=True)
class VideoStack(VideoFile):
    """A NumPy stack as a video; the file is memory-mapped, so only the requested frames are read."""

    def frames(self, start: int = 0, stop: int | None = None) -> Iterator[Frame]:
        """Yield the frames `start`, …, `stop` - 1 in order."""
        stop = self._stop(start, stop)
        array, _ = stacks.load(self.path, mapped=True)
        for i in range(start, stop):
            frame = np.array(array[i])
            yield frame[..., 0] if frame.ndim == 3 and not self.colour else frame


def _open_stack(path: Path) -> VideoStack:
    array, _ = stacks.load(path, mapped=True)
    if array.dtype != np.uint8 or array.ndim < 3 or array.shape[3:] == (4,):
        raise InvalidInput(
            f"A stack read as a video must be (n, height, width) or (n, height, width, 3) of uint8; {path} "
            f"has shape {array.shape} and dtype {array.dtype}. Convert it, or restore it as images."
        )
    n, height, width = array.shape[:3]
    return VideoStack(
        path=path, width=width, height=height, fps=DEFAULT_FPS, n_frames=n, colour=array.shape[3:] == (3,)
    )


def _open_video(path: Path) -> VideoFile:
    av = pyav()
    try:
        with av.open(path) as container:
            if not container.streams.video:
                raise InvalidInput(f"{path} must have a video stream; it has none. Is it an audio file?")
            stream = container.streams.video[0]
            frame = next(container.decode(stream), None)
            if frame is None:
                raise InvalidInput(f"{path} must have frames; none could be decoded. Is the file damaged?")
            times = _times(av, path)
            known = np.sort(np.array(times, dtype=np.int64)) if None not in times else None
            if known is not None and (np.diff(known) <= 0).any():
                known = None
            return VideoFile(
                path=path,
                width=frame.width,
                height=frame.height,
                fps=Fraction(stream.average_rate or stream.guessed_rate or DEFAULT_FPS),
                n_frames=len(times),
                colour=not frame.format.name.startswith(("gray", "mono", "ya")),
                has_audio=bool(container.streams.audio),
                times=known,
                time_base=Fraction(stream.time_base),
                codec=stream.codec_context.name,
                colour_codes=(int(frame.colorspace), int(frame.color_primaries), int(frame.color_trc)),
                rotation=int(frame.rotation),
                aspect=Fraction(stream.sample_aspect_ratio or 1),
                depth=max(one.bits for one in frame.format.components),
            )
    except av.FFmpegError as error:
        raise InvalidInput(f"{path} cannot be read as a video: {error}.") from error


def _times(av: Any, path: Path) -> list[int | None]:
    """Presentation times of all frames that are shown.

    They are read from the packets because the frame count in a container's header may be wrong.
    """
    with av.open(path) as container:
        packets = container.demux(container.streams.video[0])
        return [packet.pts for packet in packets if packet.size and not packet.is_discard]
