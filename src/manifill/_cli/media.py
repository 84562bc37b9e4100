"""The commands `images` and `video`: what they ask for."""

from pathlib import Path
from typing import Annotated

import typer

from manifill._cli.options import Force, Json, Seed
from manifill._cli.watch import Interrupted, console

_DAMAGE = "Where is the damage?"
Mask = Annotated[
    Path | None,
    typer.Option(
        metavar="PATH",
        help="Damage is white in these: one picture for all, or a folder, TIFF, stack or video.",
        rich_help_panel=_DAMAGE,
    ),
]
Value = Annotated[
    str | None,
    typer.Option(
        metavar="COLOUR",
        help='Damage has this value or colour: "0", "255,0,255", "#ff00ff", "black".',
        rich_help_panel=_DAMAGE,
    ),
]
Tolerance = Annotated[
    float,
    typer.Option(metavar="T", min=0, help="How far from --value a pixel may be.", rich_help_panel=_DAMAGE),
]
Grow = Annotated[
    int,
    typer.Option(
        metavar="PIXELS",
        min=0,
        help="Take so many pixels around the damage for damaged too: compression smears it.",
        rich_help_panel=_DAMAGE,
    ),
]
Box = Annotated[
    list[str] | None,
    typer.Option(metavar="X,Y,W,H", help="A box, such as a logo; may be repeated.", rich_help_panel=_DAMAGE),
]
Scratch = Annotated[
    list[str] | None,
    typer.Option(
        metavar="X:WIDTH", help="A scratch from top to bottom; may be repeated.", rich_help_panel=_DAMAGE
    ),
]
Device = Annotated[
    str | None, typer.Option(metavar="NAME", help="auto, cuda or cpu: work with torch; default: without it.")
]


def images(
    source: Annotated[
        Path, typer.Argument(metavar="DAMAGED", help="Folder of pictures, multi-page TIFF or NumPy stack.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="OUT", help="Folder or file like the one that is read.")
    ],
    mask: Mask = None,
    value: Value = None,
    tolerance: Tolerance = 0.0,
    grow: Grow = 0,
    alpha: Annotated[
        bool, typer.Option("--alpha", help="Damage is transparent.", rich_help_panel=_DAMAGE)
    ] = False,
    box: Box = None,
    scratch: Scratch = None,
    ordered: Annotated[
        bool, typer.Option("--ordered", help="Pictures follow each other in time, as frames do.")
    ] = False,
    preview: Annotated[
        Path | None, typer.Option(metavar="PNG", help="Only draw where the damage is taken to be.")
    ] = None,
    sheet: Annotated[
        Path | None, typer.Option(metavar="PNG", help="Also draw some pictures before and after.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="HTML", help="Also write a page about what was done.")
    ] = None,
    seed: Seed = 0,
    device: Device = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Restore damaged pictures of one size, from the pixels around the damage and from pictures alike.

    Pixels that are not damaged go out as they came in. Where no damage is named it is looked for: NaN,
    transparency, a colour that stands out, pixels that never change.

    Examples
    --------
      manifill images damaged/ -o restored/ --mask masks/

      manifill images damaged/ -o restored/ --value "#ff00ff" --sheet sheet.png

      manifill images scans.tif -o restored.tif --box 10,20,32,32

      manifill images damaged/ -o restored/ --preview damage.png
    """
    from manifill._cli import images as restoring

    where = restoring.Where(mask, value, tolerance, alpha, box or [], scratch or [], grow=grow)
    request = restoring.Request(
        source, output, where, ordered, preview, sheet, report, seed, device, force, as_json
    )
    try:
        restoring.run(request)
    except (Interrupted, KeyboardInterrupt):
        console.print("manifill: interrupted; nothing was written.")
        raise typer.Exit(130) from None


def video(
    source: Annotated[Path, typer.Argument(metavar="IN", help="Video, or a NumPy stack of frames.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="OUT", help="Restored video.")],
    mask: Mask = None,
    value: Value = None,
    tolerance: Tolerance = 8.0,
    grow: Grow = 0,
    box: Box = None,
    scratch: Scratch = None,
    frames: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help='Frames that are lost altogether, counted from 1: "3,10-12".',
            rich_help_panel=_DAMAGE,
        ),
    ] = None,
    side_by_side: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write a video of damaged beside restored.")
    ] = None,
    lossless: Annotated[
        bool, typer.Option("--lossless", help="Compress without loss: larger, every known pixel kept.")
    ] = False,
    seed: Seed = 0,
    device: Device = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Restore damaged video from frames before and after, frames alike and pixels around; sound is kept.

    Works in windows of frames, so that the length does not matter. Where no damage is named, pixels that
    never change are looked for.

    Examples
    --------
      manifill video old.mp4 -o restored.mp4 --box 560,20,64,40

      manifill video old.mp4 -o restored.mp4 --mask masks.mp4 --side-by-side both.mp4

      manifill video old.mkv -o restored.mkv --scratch 120:3 --frames "17,40-42" --lossless
    """
    from manifill._cli import video as restoring
    from manifill._cli.images import Where

    where = Where(mask, value, tolerance, False, box or [], scratch or [], frames, grow)
    request = restoring.Request(source, output, where, side_by_side, lossless, seed, device, force, as_json)
    try:
        restoring.run(request)
    except (Interrupted, KeyboardInterrupt):
        console.print("manifill: interrupted; nothing was written.")
        raise typer.Exit(130) from None
