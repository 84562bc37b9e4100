"""Writing frames to a video file with FFmpeg; the audio of the original is copied without re-encoding."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

from manifill._media.clips import SCALER_FLAGS, Frame, VideoFile, VideoStack
from manifill._media.libraries import pyav
from manifill.errors import InvalidInput

CONTAINER_KEYS = frozenset({"major_brand", "minor_version", "compatible_brands", "encoder"})
"""Metadata keys that describe the container rather than the video; they are not copied."""
# Threads of the encoder. x264 and libvpx write other files with other numbers of threads, so it does not
# depend on the machine.
_THREADS = 4


class Encoder:
    """Encodes frames with FFmpeg and copies the audio packets of the video `like`."""

    def __init__(self, path: Path, like: VideoFile, width: int, height: int, *, lossless: bool) -> None:
        self.av = pyav()
        self.path, self.like = path, like
        self.input_format = self.like.pixel_format
        suffix = path.suffix.lower()
        odd = width % 2 == 1 or height % 2 == 1
        codec, self.pix_fmt, options = _codec(suffix, self.like, odd, lossless)
        self.original: Any = None
        self.audio: Iterator[Any] = iter(())
        # bitexact: no random identifiers, so that equal frames give equal files.
        self.output = self.av.open(path, "w", options={"fflags": "bitexact"})
        try:
            stream = self.output.add_stream(codec, rate=self.like.fps, options=options)
            stream.width, stream.height, stream.pix_fmt = width, height, self.pix_fmt
            stream.codec_context.thread_count = _THREADS
            if codec == "libvpx-vp9":
                stream.bit_rate = 0  # the quality is set by crf alone
            self._copy_display_tags(stream)
            self.constant_rate = suffix == ".avi" or self.like.constant_rate
            self.base = 1 / self.like.fps if self.constant_rate else self.like.time_base
            stream.codec_context.time_base = self.base
            self.stream = stream
            self.n = 0
            self._open_original()
            self.packet = next(self.audio, None)
        except BaseException:
            self.abandon()
            raise

    def _copy_display_tags(self, stream: Any) -> None:
        """Copy the colour codes, rotation and pixel aspect ratio of the original to the stream."""
        matrix, primaries, transfer = self.like.colour_codes
        context = stream.codec_context
        self.matrix = 5 if matrix in (0, 2, 6) else matrix  # unspecified: BT.601 when reading and writing
        if self.pix_fmt.startswith("yuv") and self.like.colour:
            context.colorspace = 2 if matrix == 0 else matrix
            context.color_range = 1
        elif self.pix_fmt.startswith("gray"):
            context.color_range = 2  # full range, such as 0 to 255
        context.color_primaries, context.color_trc = primaries, transfer
        if self.like.rotation:
            stream.set_display_rotation(self.like.rotation)
        if self.like.aspect != 1:
            context.sample_aspect_ratio = self.like.aspect

    def _open_original(self) -> None:
        if isinstance(self.like, VideoStack):
            return
        self.original = self.av.open(self.like.path)
        tags = {
            name: text for name, text in self.original.metadata.items() if name.lower() not in CONTAINER_KEYS
        }
        self.output.metadata.update(tags)
        if not self.like.has_audio:
            return
        tracks = {}
        for track in self.original.streams.audio:
            try:
                tracks[track.index] = self.output.add_stream_from_template(track)
            except ValueError:
                raise InvalidInput(
                    f"{self.path.suffix} files cannot hold the audio of {self.like.path}, whose codec is "
                    f"{track.codec_context.name}; name the output .mkv or {self.like.path.suffix}."
                ) from None
            tracks[track.index].metadata.update(track.metadata)
        self.audio = self._copied(tracks)

    def _copied(self, tracks: dict[int, Any]) -> Iterator[Any]:
        """Yield the audio packets of the original, assigned to the output's audio streams."""
        for packet in self.original.demux(*self.original.streams.audio):
            if packet.dts is not None:
                packet.stream = tracks[packet.stream.index]
                yield packet

    def write(self, frame: Frame) -> None:
        """Encode the next frame, after the audio packets that precede it."""
        picture = self.av.VideoFrame.from_ndarray(frame, format=self.input_format)
        if self.pix_fmt != self.input_format:
            matrix = {"dst_colorspace": self.matrix} if self.pix_fmt.startswith("yuv") else {}
            picture = picture.reformat(format=self.pix_fmt, interpolation=SCALER_FLAGS, **matrix)
        picture.pts, picture.time_base = self._time(), self.base
        self._mux_audio(picture.pts * self.base)
        self._mux(lambda: self.stream.encode(picture))
        self.n += 1

    def _time(self) -> int:
        """Presentation time of the next frame, in units of the output's time base."""
        times = self.like.times
        if times is None:
            return self.n
        if self.constant_rate:
            return self.n + round(int(times[0]) * self.like.time_base * self.like.fps)
        extra = max(0, self.n - len(times) + 1)  # number of frames past the end of the original
        return int(times[min(self.n, len(times) - 1)]) + extra * max(1, round(1 / self.like.fps / self.base))

    def _mux_audio(self, until: Fraction | None) -> None:
        """Copy the audio packets up to a time in seconds, so that audio and video are interleaved."""
        while self.packet is not None and (until is None or self.packet.dts * self.packet.time_base <= until):
            self._mux(lambda: self.packet)
            self.packet = next(self.audio, None)

    def _mux(self, packets: Callable[[], Any]) -> None:
        try:
            self.output.mux(packets())
        except (self.av.FFmpegError, ValueError) as error:
            if isinstance(error, OSError):  # such as a full disk
                raise
            raise InvalidInput(
                f"The video cannot be written: {error}. Try .mkv, which supports most codecs."
            ) from error

    def finish(self) -> None:
        """Flush the encoder, copy the remaining audio and close the file."""
        self._mux(self.stream.encode)
        self._mux_audio(None)
        self.output.close()

    def abandon(self) -> None:
        """Close both files and ignore errors."""
        for container in (self.output, self.original):
            if container is not None:
                with suppress(Exception):  # the output is discarded, or already closed
                    container.close()


def keeps_depth(suffix: str, lossless: bool) -> bool:
    """Whether a file with this ending can have more than 8 bits per channel: FFV1 in MKV or AVI."""
    return lossless and suffix.lower() in (".mkv", ".avi")


def _codec(suffix: str, like: VideoFile, odd: bool, lossless: bool) -> tuple[str, str, dict[str, str]]:
    """Codec, pixel format and encoder options.

    H.264 needs chroma at full resolution (yuv444p) for odd sizes. crf, the quality: set by hand, not tuned.
    mbtree is off because its SIMD code in x264 reads memory that was never written, so that equal frames
    gave different files (of 20 × 160 × 120 pixels: 5 files in 30 runs, and 1 without it).
    """
    no_b_frames = {"bf": "0"} if suffix == ".avi" else {}  # AVI cannot store the display order of B-frames
    if suffix == ".webm":
        speed = {"row-mt": "1", "cpu-used": "4"}
        if lossless:
            return "libvpx-vp9", "gbrp", {"lossless": "1", **speed}
        return "libvpx-vp9", "yuv420p", {"crf": "12", **speed}
    if keeps_depth(suffix, lossless):
        eight_bits = "bgr0" if like.colour else "gray"
        return "ffv1", eight_bits if like.bits == 8 else like.pixel_format, {}
    if lossless:
        return ("libx264rgb", "rgb24", {"crf": "0"}) if like.colour else ("libx264", "gray", {"crf": "0"})
    return "libx264", "yuv444p" if odd else "yuv420p", {"crf": "12", "mbtree": "0", **no_b_frames}
