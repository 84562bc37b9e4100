"""The command `images`: read, restore and write pictures."""

import json
import math
import sys
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from rich.progress import BarColumn

from manifill import _files as files
from manifill._arrays import Mask
from manifill._cli import ending
from manifill._cli.watch import progress_bar, say
from manifill._media import Pictures, check_target, damage, read_pictures, write_pictures
from manifill._media.detection import detect_damage
from manifill._messages import MEASURED, listening
from manifill.errors import InvalidInput, MissingDependency
from manifill.images import Restoration, restore


@dataclass(frozen=True)
class Where:
    """The options that say where the damage is."""

    mask: Path | None = None
    value: str | None = None
    tolerance: float = 0.0
    alpha: bool = False
    boxes: list[str] = field(default_factory=list)
    scratches: list[str] = field(default_factory=list)
    frames: str | None = None
    grow: int = 0

    @property
    def given(self) -> bool:
        """Does any option say where the damage is?"""
        return bool(
            self.mask
            or self.value is not None
            or self.alpha
            or self.boxes
            or self.scratches
            or self.frames is not None
        )


@dataclass(frozen=True)
class Request:
    """The options of one call."""

    source: Path
    output: Path
    where: Where
    ordered: bool
    preview: Path | None
    sheet: Path | None
    report: Path | None
    seed: int
    device: str | None
    force: bool
    as_json: bool


def run(request: Request) -> None:
    """Read, restore and write the pictures, and print a summary."""
    began = monotonic()
    _check(request)
    files.check_space(request.source, [request.preview or request.output])
    pictures = read_pictures(request.source)
    if request.preview is None:
        check_target(pictures, request.output, request.force)
    missing, reason = _missing(pictures, request.where)
    if request.preview is not None:
        from manifill.report.restoration import draw_preview

        with ending.outputs():
            draw_preview(request.preview, pictures.values, np.any(missing, axis=-1), pictures.names)
        message = f"{request.preview}: {reason}. Nothing was restored; remove --preview to do it."
        say(message)
        return
    if not missing.any():
        raise InvalidInput(f"Nothing is damaged: {reason}.")
    outcome = _watched(request, pictures, missing)
    opaque = None if pictures.alpha is None else _opaque(pictures.alpha, np.any(missing, axis=-1))
    whole = outcome.pictures.reshape(pictures.values.shape)
    with ending.outputs():
        lines = write_pictures(pictures, whole, request.output, alpha=opaque, force=request.force)
        summary = _summary(request, pictures, outcome, reason, monotonic() - began) | {"notes": lines}
        if request.sheet is not None or request.report is not None:
            from manifill.report import restoration

            if request.sheet is not None:
                restoration.draw_sheet(request.sheet, pictures.values, outcome, pictures.names)
            if request.report is not None:
                restoration.write_page(request.report, pictures.values, outcome, pictures.names, summary)
    if request.as_json:
        print(json.dumps(summary, indent=1), file=sys.stdout)
        return
    for line in [*lines, _line(summary)]:
        say(line)


def _check(request: Request) -> None:
    """Raise, before any work is done, if the request cannot be met."""
    drawn = [path for path in (request.preview, request.sheet, request.report) if path is not None]
    needed = ["matplotlib"] if request.report is None else ["matplotlib", "jinja2"]
    absent = [name for name in needed if find_spec(name) is None]
    if drawn and absent:
        raise MissingDependency(f"Drawing needs {' and '.join(absent)}: pip install 'manifill[plots]'.")
    paths = [request.source, request.output, *drawn]
    files.check_distinct(paths)
    for path in (request.preview, request.sheet):
        if path is not None and path.suffix.lower() != ".png":
            raise InvalidInput(f"--preview and --sheet draw a PNG picture, so {path} must end in .png.")
    if request.report is not None and request.report.suffix.lower() not in (".html", ".htm"):
        raise InvalidInput(f"--report writes an HTML page, so it must end in .html; got {request.report}.")
    for path in drawn:
        files.check_writable(path)
        files.check_replaceable(path, request.force)
    if not request.output.absolute().parent.is_dir():
        raise InvalidInput(f"There is no folder {request.output.parent} to write into; make it first.")
    occupied = request.output.is_file() or (request.output.is_dir() and any(request.output.iterdir()))
    if occupied and not request.force and request.preview is None:
        raise InvalidInput(f"{request.output} exists already; use --force to replace what is in it.")


def _missing(pictures: Pictures, where: Where) -> tuple[Mask, str]:
    """The values to fill (n, height, width, channels), and in words where they come from.

    A pixel that is damaged only because a channel is NaN keeps its other channels.
    """
    values, nan = pictures.values, damage.by_nan(pictures.values)
    if where.given:
        others, reason = _given(pictures, where), ""
    else:
        others, reason = _detected(pictures)
    pixels, others = (damage.grown(one, where.grow) for one in (others | nan, others))
    reason = reason or f"{pixels.mean():.1%} of the pixels are damaged"
    entries = np.repeat((pixels & (others | ~nan))[..., None], values.shape[-1], axis=-1)
    return (entries | np.isnan(values) if nan.any() else entries), reason


def _detected(pictures: Pictures) -> tuple[Mask, str]:
    """Damage other than NaN, (n, height, width), that was found; and in words what it is."""
    _require_finite(pictures)
    nan = damage.by_nan(pictures.values)
    if pictures.alpha is not None and damage.by_alpha(pictures.alpha).any():
        damaged = damage.by_alpha(pictures.alpha)
        return damaged, f"detected damage: transparent pixels, {damaged.mean():.1%} of all"
    damaged, reason = detect_damage(pictures.values)
    return damaged & ~nan, f"detected damage: {reason}"


def _given(pictures: Pictures, where: Where) -> Mask:
    """Damage (n, height, width) that the options say."""
    values, shape = pictures.values, pictures.values.shape[:3]
    damaged = np.zeros(shape, dtype=np.bool_)
    if where.mask is not None:
        damaged |= damage.by_mask(_masks_in_order(read_pictures(where.mask), pictures), shape)
    if where.value is not None:
        colour = damage.parse_colour(where.value, values.dtype)
        damaged |= damage.by_value(values, colour, tolerance=where.tolerance)
    if where.alpha:
        if pictures.alpha is None:
            raise InvalidInput("--alpha needs pictures with an alpha channel; these have none.")
        damaged |= damage.by_alpha(pictures.alpha)
    if where.boxes:
        damaged |= damage.boxes(shape, where.boxes)
    if where.scratches:
        damaged |= damage.columns(shape, where.scratches)
    return damaged


def _require_finite(pictures: Pictures) -> None:
    """Raise InvalidInput for infinite pixels: they are neither known nor marked as damaged."""
    infinite = np.argwhere(np.isinf(pictures.values)) if pictures.values.dtype.kind == "f" else np.zeros(0)
    if infinite.size:
        picture, y, x, _ = infinite[0].tolist()
        raise InvalidInput(
            f"Pixels must be finite; {len(infinite):,} are not, the first in {pictures.names[picture]} at "
            f"x = {x}, y = {y}. Replace them by NaN, or mark them with --mask or --box."
        )


def _masks_in_order(masks: Pictures, pictures: Pictures) -> Any:
    """The masks (n, height, width, channels) in the order of the pictures; in folders they go by name."""
    if len(masks.names) == 1 or not (masks.folder and pictures.folder):
        return masks.values
    index = {Path(name).stem: i for i, name in enumerate(masks.names)}
    stems = [Path(name).stem for name in pictures.names]
    lost, stray = [one for one in stems if one not in index], [one for one in index if one not in set(stems)]
    if lost or stray:
        raise InvalidInput(
            "Masks must have the names of the pictures; "
            + "; ".join(
                f"{what}: {', '.join(names[:5])}{', …' if len(names) > 5 else ''}"
                for what, names in (("pictures without a mask", lost), ("masks without a picture", stray))
                if names
            )
            + ". Rename them; an undamaged picture needs a black mask."
        )
    return masks.values[[index[stem] for stem in stems]]


def _watched(request: Request, pictures: Pictures, missing: Mask) -> Restoration:
    grey = pictures.values.shape[-1] == 1
    values, missing = (one[..., 0] if grey else one for one in (pictures.values, missing))
    bar = progress_bar(BarColumn())
    with bar:
        task = bar.add_task("analysing the pictures", total=None)
        with listening(lambda line: bar.update(task, description=line)):
            outcome: Restoration = restore(
                values,
                missing,
                ordered=request.ordered,
                random_state=request.seed,
                device=request.device,
                return_info=True,
            )
    return outcome


def _opaque(alpha: Any, missing: Mask) -> Any:
    """The alpha channel, opaque where pixels were filled."""
    full = np.iinfo(alpha.dtype).max if alpha.dtype.kind in "ui" else 1
    return np.where(missing, np.array(full, alpha.dtype), alpha)


def _summary(
    request: Request, pictures: Pictures, outcome: Restoration, reason: str, seconds: float
) -> dict[str, Any]:
    blend = outcome.blend
    return {
        "output": str(request.output),
        "pictures": len(pictures.names),
        "size": list(pictures.values.shape[1:3]),
        "channels": pictures.values.shape[3],
        "damaged": float(outcome.missing.mean()),
        "because": reason,
        "error": None if math.isnan(outcome.error) else outcome.error,
        "simple_error": None if blend is None else blend.simple_error,
        "seed": request.seed,
        "seconds": round(seconds, 2),
    }


def _line(summary: dict[str, Any]) -> str:
    height, width = summary["size"]
    line = f"Restored {summary['damaged']:.1%} of the pixels of {summary['pictures']} pictures "
    line += f"({width} × {height}) and wrote {summary['output']} in {summary['seconds']:.1f} s; "
    line += f"{summary['because']}."
    if summary["error"] is not None:
        line += (
            f" On held-out pixels, the typical error was {summary['error']:.3g}; a fill with the mean has "
        )
        line += f"{summary['simple_error']:.3g}. {MEASURED}"
    return line
