"""The command `video`: read, restore and write video frame by frame."""

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from rich.progress import BarColumn, TaskProgressColumn, TimeRemainingColumn

from manifill import _files as files
from manifill._arrays import Mask
from manifill._cli import ending
from manifill._cli.images import Where
from manifill._cli.watch import progress_bar, say
from manifill._media import VideoFile, VideoWriter, damage, read_pictures
from manifill._media.detection import detect_damage
from manifill._media.video import ENDINGS, changes, keeps_depth
from manifill._messages import MEASURED
from manifill.errors import InvalidInput
from manifill.video import Stream

# Frames that are read to detect pixels that never change.
_DETECTION_FRAMES = 24


@dataclass(frozen=True)
class Request:
    """The options of one call."""

    source: Path
    output: Path
    where: Where
    side_by_side: Path | None
    lossless: bool
    seed: int
    device: str | None
    force: bool
    as_json: bool


def run(request: Request) -> None:
    """Read, restore and write frame by frame, and print a summary."""
    began = monotonic()
    _check(request)
    files.check_space(request.source, [request.output, *filter(None, [request.side_by_side])])
    video = VideoFile.open(request.source)
    notes = changes(request.output, video, request.lossless)
    for note in [] if request.as_json else notes:
        say(f"{note}.")
    damage_of = _Damage(request.where, video)
    full = video.with_full_depth() if keeps_depth(request.output.suffix, request.lossless) else video
    with ending.outputs(), ExitStack() as opened:
        stream = Stream(video.n_frames, random_state=request.seed, device=request.device)
        bar = opened.enter_context(progress_bar(BarColumn(), TaskProgressColumn(), TimeRemainingColumn()))
        task = bar.add_task("restoring", total=1.0)
        stream.tick = lambda share: bar.update(task, completed=share)
        out = opened.enter_context(VideoWriter(request.output, full, lossless=request.lossless))
        both = None
        if request.side_by_side is not None:
            both = opened.enter_context(VideoWriter(request.side_by_side, video, width=2 * video.width))
        frames = stream.restore(full.frames(), damage_of.masks())
        damaged = VideoFile.open(request.source).frames() if both else None
        for frame in frames:
            out.write(frame)
            if both is not None and damaged is not None:
                restored = (frame >> (full.bits - 8)).astype(np.uint8)
                both.write(np.concatenate([next(damaged), restored], axis=1))
        if stream.n_filled == 0:
            raise InvalidInput(f"Nothing is damaged: {damage_of.reason}.")
    blend = stream.blend
    summary: dict[str, Any] = {
        "output": str(request.output),
        "frames": video.n_frames,
        "size": [video.height, video.width],
        "filled": stream.n_filled,
        "because": damage_of.reason,
        "bits": full.bits,
        "notes": notes,
        "error": None if blend is None else blend.error,
        "simple_error": None if blend is None else blend.simple_error,
        "seed": request.seed,
        "seconds": round(monotonic() - began, 2),
    }
    if request.as_json:
        print(json.dumps(summary, indent=1), file=sys.stdout)
        return
    line = f"Filled {stream.n_filled:,} values in {video.n_frames} frames of {video.width} × {video.height} "
    line += f"and wrote {request.output} in {summary['seconds']:.1f} s; {damage_of.reason}."
    if blend is not None:
        line += f" On held-out pixels, the typical error was {blend.error:.3g} of {2**full.bits - 1}; a fill "
        line += f"with the mean has {blend.simple_error:.3g}. {MEASURED}"
    say(line)


def _check(request: Request) -> None:
    """Raise, before any work is done, if the request cannot be met."""
    outputs = [path for path in (request.output, request.side_by_side) if path is not None]
    read = [path for path in (request.source, request.where.mask) if path is not None]
    files.check_distinct([*read, *outputs])
    for path in outputs:
        if path.suffix.lower() not in ENDINGS:
            raise InvalidInput(f"A video must end in {', '.join(ENDINGS)}; got {path.name}.")
        files.check_writable(path)
        files.check_replaceable(path, request.force)
    if request.where.frames is not None and not request.where.frames.strip():
        raise InvalidInput('--frames must name frames, such as "3,10-12"; got nothing.')


class _Damage:
    """The damage of each frame."""

    def __init__(self, where: Where, video: VideoFile) -> None:
        self._where, self._video = where, video
        shape = (video.n_frames, video.height, video.width)
        self._always: Mask = np.zeros(shape[1:], dtype=np.bool_)
        self._lost = np.zeros(video.n_frames, dtype=np.bool_)
        self._colour: tuple[float, ...] | None = None
        self._masks: VideoFile | None = None
        self._each: Mask | None = None
        self.reason = "damage as given"
        if not where.given:
            self._always, self.reason = _static_damage(video)
        if where.mask is not None and where.mask.suffix.lower() in ENDINGS:
            self._masks = VideoFile.open(where.mask)
            theirs = (self._masks.n_frames, self._masks.height, self._masks.width)
            if theirs != shape:
                raise InvalidInput(
                    f"The mask must have {shape[0]} frames of {shape[2]} × {shape[1]} like the video; "
                    f"{where.mask.name} has {theirs[0]} of {theirs[2]} × {theirs[1]}."
                )
        elif where.mask is not None:
            theirs_values = read_pictures(where.mask).values
            if len(theirs_values) == 1:
                self._always |= damage.by_mask(theirs_values, (1, *shape[1:]))[0]
            else:
                self._each = damage.by_mask(theirs_values, shape)
        if where.value is not None:
            self._colour = damage.parse_colour(where.value, np.uint8)
        if where.boxes:
            self._always |= damage.boxes((1, *shape[1:]), where.boxes)[0]
        if where.scratches:
            self._always |= damage.columns((1, *shape[1:]), where.scratches)[0]
        if where.frames is not None:
            self._lost = damage.frames((video.n_frames, 1, 1), where.frames)[:, 0, 0]
        if self._lost.all() or self._always.all():
            raise InvalidInput("Every pixel of every frame is damaged; some must be known to restore others.")

    def masks(self) -> Iterator[Mask]:
        """A mask (height, width) for each frame, True where damaged."""
        theirs = None if self._masks is None else self._masks.frames()
        frames = None if self._colour is None else self._video.frames()
        for i, lost in enumerate(self._lost):
            missing = self._always | bool(lost)
            if self._each is not None:
                missing = missing | self._each[i]
            if theirs is not None:
                mask = next(theirs)
                missing = (
                    missing | damage.by_mask(mask.reshape(1, *mask.shape[:2], -1), (1, *missing.shape))[0]
                )
            if frames is not None and self._colour is not None:
                frame = next(frames)
                pixels = frame.reshape(1, *frame.shape[:2], -1)
                missing = missing | damage.by_value(pixels, self._colour, tolerance=self._where.tolerance)[0]
            yield damage.grown(missing[None], self._where.grow)[0]


def _static_damage(video: VideoFile) -> tuple[Mask, str]:
    """Pixels that are damaged in all frames, detected on a sample of frames, and the reason."""
    chosen = set(
        np.linspace(0, video.n_frames - 1, min(video.n_frames, _DETECTION_FRAMES)).astype(int).tolist()
    )
    some = np.stack([frame for i, frame in enumerate(video.frames()) if i in chosen])
    damaged, reason = detect_damage(some.reshape(*some.shape[:3], -1), frames=True)
    always: Mask = np.asarray(damaged.all(axis=0))
    if not always.any() or (damaged & ~always).any():
        raise InvalidInput(
            f"Damage was detected ({reason}), but not in the same pixels of all frames. Say where it is with "
            "--mask or --value."
        )
    return always, f"detected damage: {reason}"
