"""Restoring pictures from the command line."""

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
from manifill._cli.watch import console, progress_bar
from manifill._media import Pictures, check_target, damage, read_pictures, write_pictures
from manifill._media.detection import found
from manifill._messages import listening
from manifill.errors import InvalidInput, MissingDependency
from manifill.images import Restoration, restore


@dataclass(frozen=True)
class Where:
    """Where the damage is, as it was said."""

    mask: Path | None = None
    value: str | None = None
    tolerance: float = 0.0
    alpha: bool = False
    boxes: list[str] = field(default_factory=list)
    scratches: list[str] = field(default_factory=list)
    frames: str | None = None
    grow: int = 0

    @property
    def said(self) -> bool:
        """Was anything said?"""
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
    """What was asked for, option by option."""

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
    """Read, restore, write, and say what was done."""
    began = monotonic()
    _check(request)
    pictures = read_pictures(request.source)
    if request.preview is None:
        check_target(pictures, request.output, request.force)
    missing, reason = _missing(pictures, request.where)
    if request.preview is not None:
        from manifill.report.restoration import draw_preview

        draw_preview(request.preview, pictures.values, missing, pictures.names)
        said = f"{request.preview}: {reason}. Nothing was restored; leave --preview away to do it."
        console.print(said, markup=False, highlight=False)
        return
    if not missing.any():
        raise InvalidInput(f"Nothing is damaged: {reason}.")
    outcome = _watched(request, pictures, missing)
    opaque = None if pictures.alpha is None else _opaque(pictures.alpha, missing)
    whole = outcome.pictures.reshape(pictures.values.shape)
    lines = write_pictures(pictures, whole, request.output, alpha=opaque, force=request.force)
    summary = _summary(request, pictures, outcome, reason, monotonic() - began)
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
        console.print(line, markup=False, highlight=False)


def _check(request: Request) -> None:
    """Refuse, before any work is done, what cannot be done."""
    drawn = [path for path in (request.preview, request.sheet, request.report) if path is not None]
    needed = ["matplotlib"] if request.report is None else ["matplotlib", "jinja2"]
    absent = [name for name in needed if find_spec(name) is None]
    if drawn and absent:
        raise MissingDependency(f"Drawing needs {' and '.join(absent)}: pip install 'manifill[plots]'.")
    paths = [request.source, request.output, *drawn]
    if len({path.resolve() for path in paths}) < len(paths):
        raise InvalidInput(f"Every file needs a name of its own; got {', '.join(map(str, paths))}.")
    for path in drawn:
        files.check_writable(path)
        if path.exists() and not request.force:
            raise InvalidInput(f"{path} exists already; use --force to replace it.")
    if not request.output.absolute().parent.is_dir():
        raise InvalidInput(f"There is no folder {request.output.parent} to write into; make it first.")
    occupied = request.output.is_file() or (request.output.is_dir() and any(request.output.iterdir()))
    if occupied and not request.force and request.preview is None:
        raise InvalidInput(f"{request.output} exists already; use --force to replace what is in it.")


def _missing(pictures: Pictures, where: Where) -> tuple[Mask, str]:
    """What is damaged, and why it is taken to be."""
    values, shape = pictures.values, pictures.values.shape[:3]
    if not where.said:
        if pictures.alpha is not None and damage.by_alpha(pictures.alpha).any():
            gone = damage.grown(damage.by_alpha(pictures.alpha), where.grow)
            return gone, f"taken for damage: what is transparent, {gone.mean():.1%} of the pixels"
        gone, reason = found(values)
        return damage.grown(gone, where.grow), f"taken for damage: {reason}"
    gone = np.zeros(shape, dtype=np.bool_) | damage.by_nan(values)
    if where.mask is not None:
        gone |= damage.by_mask(read_pictures(where.mask).values, shape)
    if where.value is not None:
        colour = damage.parse_colour(where.value, values.dtype)
        gone |= damage.by_value(values, colour, tolerance=where.tolerance)
    if where.alpha:
        if pictures.alpha is None:
            raise InvalidInput("--alpha needs pictures with transparency; these have none.")
        gone |= damage.by_alpha(pictures.alpha)
    if where.boxes:
        gone |= damage.boxes(shape, where.boxes)
    if where.scratches:
        gone |= damage.columns(shape, where.scratches)
    gone = damage.grown(gone, where.grow)
    return gone, f"{gone.mean():.1%} of the pixels are damaged"


def _watched(request: Request, pictures: Pictures, missing: Mask) -> Restoration:
    values = pictures.values[..., 0] if pictures.values.shape[-1] == 1 else pictures.values
    bar = progress_bar(BarColumn())
    with bar:
        task = bar.add_task("looking at the pictures", total=None)
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
    """Transparency as it was, and none where pixels were filled."""
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
    line = f"{summary['output']}: restored {summary['damaged']:.1%} of {summary['pictures']} pictures "
    line += f"of {width} × {height} in {summary['seconds']:.1f} s; {summary['because']}."
    if summary["error"] is not None:
        line += f" Error to expect, measured on held-out pixels: {summary['error']:.3g}, "
        line += f"where a fill by the mean has {summary['simple_error']:.3g}."
    return line
