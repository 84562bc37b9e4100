"""Frames → a video file by FFmpeg, with the sound of another video copied packet by packet."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from manifill._media.clips import FINE, Frame, VideoFile, VideoStack
from manifill._media.libraries import pyav
from manifill.errors import InvalidInput

CONTAINERS_OWN = frozenset({"major_brand", "minor_version", "compatible_brands", "encoder"})
"""What a file says of itself rather than of the video."""


class Encoder:
    """A video by FFmpeg, with the sound of another copied packet by packet."""

    def __init__(self, path: Path, like: VideoFile, width: int, height: int, *, lossless: bool) -> None:
        self.av = pyav()
        self.path, self.like = path, like
        self.given = "rgb24" if self.like.colour else "gray"
        suffix = path.suffix.lower()
        odd = width % 2 == 1 or height % 2 == 1
        codec, self.pixels, options = _codec(suffix, self.like.colour, odd, lossless)
        self.sound: Any = None
        self.packets: Iterator[Any] = iter(())
        self.output = self.av.open(path, "w")
        try:
            stream = self.output.add_stream(codec, rate=self.like.fps, options=options)
            stream.width, stream.height, stream.pix_fmt = width, height, self.pixels
            if codec == "libvpx-vp9":
                stream.bit_rate = 0  # crf decides
            self._look(stream)
            self.even = suffix == ".avi" or _even(self.like)
            self.base = 1 / self.like.fps if self.even else self.like.time_base
            stream.codec_context.time_base = self.base
            self.stream = stream
            self.n = 0
            self._open_sound()
            self.next = next(self.packets, None)
        except BaseException:
            self.abandon()
            raise

    def _look(self, stream: Any) -> None:
        """Tell players to show it like the original."""
        matrix, primaries, transfer = self.like.look
        context = stream.codec_context
        self.matrix = 5 if matrix in (0, 2, 6) else matrix  # unsaid is taken for BT.601 in both directions
        if self.pixels.startswith("yuv") and self.like.colour:
            context.colorspace = 2 if matrix == 0 else matrix
            context.color_range = 1
        elif self.pixels == "gray":
            context.color_range = 2  # from 0 to 255
        context.color_primaries, context.color_trc = primaries, transfer
        if self.like.rotation:
            stream.set_display_rotation(self.like.rotation)
        if self.like.aspect != 1:
            context.sample_aspect_ratio = self.like.aspect

    def _open_sound(self) -> None:
        if isinstance(self.like, VideoStack):
            return
        self.sound = self.av.open(self.like.path)
        said = {
            name: text for name, text in self.sound.metadata.items() if name.lower() not in CONTAINERS_OWN
        }
        self.output.metadata.update(said)
        if not self.like.has_audio:
            return
        tracks = {}
        for track in self.sound.streams.audio:
            try:
                tracks[track.index] = self.output.add_stream_from_template(track)
            except ValueError:
                raise InvalidInput(
                    f"{self.path.suffix} files cannot hold the sound of {self.like.path}, which is "
                    f"{track.codec_context.name}; name the output .mkv, or {self.like.path.suffix}."
                ) from None
            tracks[track.index].metadata.update(track.metadata)
        self.packets = self._copied(tracks)

    def _copied(self, tracks: dict[int, Any]) -> Iterator[Any]:
        for packet in self.sound.demux(*self.sound.streams.audio):
            if packet.dts is not None:
                packet.stream = tracks[packet.stream.index]
                yield packet

    def write(self, frame: Frame) -> None:
        picture = self.av.VideoFrame.from_ndarray(frame, format=self.given)
        if self.pixels != self.given:
            matrix = {"dst_colorspace": self.matrix} if self.pixels.startswith("yuv") else {}
            picture = picture.reformat(format=self.pixels, interpolation=FINE, **matrix)
        picture.pts, picture.time_base = self._time(), self.base
        self._mux_sound(picture.pts * self.base)
        self._mux(lambda: self.stream.encode(picture))
        self.n += 1

    def _time(self) -> int:
        times = self.like.times
        if times is None:
            return self.n
        if self.even:
            return self.n + round(int(times[0]) * self.like.time_base * self.like.fps)
        beyond = max(0, self.n - len(times) + 1)  # more frames than there had been
        return int(times[min(self.n, len(times) - 1)]) + beyond * max(1, round(1 / self.like.fps / self.base))

    def _mux_sound(self, until: Fraction | None) -> None:
        """Copy the sound up to a time, so that it lies beside the frames."""
        while self.next is not None and (until is None or self.next.dts * self.next.time_base <= until):
            self._mux(lambda: self.next)
            self.next = next(self.packets, None)

    def _mux(self, packets: Callable[[], Any]) -> None:
        try:
            self.output.mux(packets())
        except (self.av.FFmpegError, ValueError) as error:
            raise InvalidInput(
                f"The video cannot be written: {error}. Try .mkv, which takes most."
            ) from error

    def finish(self) -> None:
        self._mux(self.stream.encode)
        self._mux_sound(None)
        self.output.close()

    def abandon(self) -> None:
        for container in (self.output, self.sound):
            if container is not None:
                with suppress(Exception):  # it is thrown away, or closed already
                    container.close()


def _codec(suffix: str, colour: bool, odd: bool, lossless: bool) -> tuple[str, str, dict[str, str]]:
    """Codec, pixel format and options; odd sizes need chroma of full size in H.264."""
    fewer = {"bf": "0"} if suffix == ".avi" else {}  # AVI has no place for the order of B-frames
    if suffix == ".webm":
        swift = {"row-mt": "1", "cpu-used": "4"}
        if lossless:
            return "libvpx-vp9", "gbrp", {"lossless": "1", **swift}
        return "libvpx-vp9", "yuv420p", {"crf": "12", **swift}
    if lossless and suffix in (".mkv", ".avi"):
        return "ffv1", "bgr0" if colour else "gray", {}
    if lossless:
        return ("libx264rgb", "rgb24", {"crf": "0"}) if colour else ("libx264", "gray", {"crf": "0"})
    return "libx264", "yuv444p" if odd else "yuv420p", {"crf": "12", **fewer}


def _even(like: VideoFile) -> bool:
    """Whether frames follow each other at one pace, to a quarter of a frame."""
    if like.times is None:
        return True
    seconds = (like.times - like.times[0]) * float(like.time_base)
    late = seconds * float(like.fps) - np.arange(like.n_frames)
    return bool(np.abs(late).max() < 0.25)
