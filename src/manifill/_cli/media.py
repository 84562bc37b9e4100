"""The commands `images` and `video`: their options."""

from pathlib import Path
from typing import Annotated

import typer

from manifill._cli.options import MORE, RUN, Force, Json, Seed

_DAMAGE = "Where the damage is"
Mask = Annotated[
    Path | None,
    typer.Option(
        metavar="PATH",
        help="Masks in which damage is white: one picture for all, or a folder, TIFF, stack or video.",
        rich_help_panel=_DAMAGE,
    ),
]
Value = Annotated[
    str | None,
    typer.Option(
        metavar="COLOUR",
        help='Damaged pixels have this value or colour: "0", "255,0,255", "#ff00ff", "black".',
        rich_help_panel=_DAMAGE,
    ),
]
Tolerance = Annotated[
    float,
    typer.Option(
        metavar="T",
        min=0,
        help="Pixels that differ from --value by at most this much are damaged too.",
        rich_help_panel=_DAMAGE,
    ),
]
Grow = Annotated[
    int,
    typer.Option(
        metavar="PIXELS",
        min=0,
        help="Extend the damage by this many pixels on all sides: compression smears its edge.",
        rich_help_panel=_DAMAGE,
    ),
]
Box = Annotated[
    list[str] | None,
    typer.Option(
        metavar="X,Y,W,H",
        help="A damaged rectangle, such as a logo: left edge, top edge, width, height in pixels. Can be "
        "repeated.",
        rich_help_panel=_DAMAGE,
    ),
]
Scratch = Annotated[
    list[str] | None,
    typer.Option(
        metavar="X:WIDTH",
        help="A vertical scratch over the full height: left edge and width in pixels. Can be repeated.",
        rich_help_panel=_DAMAGE,
    ),
]
Device = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Compute with torch on auto, cuda or cpu. Default: numpy.",
        rich_help_panel=RUN,
    ),
]


def images(
    source: Annotated[
        Path,
        typer.Argument(metavar="DAMAGED", help="A folder of pictures, a multi-page TIFF or a NumPy stack."),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="OUT", help="Folder or file to write: the same kind as DAMAGED."
        ),
    ],
    mask: Mask = None,
    value: Value = None,
    tolerance: Tolerance = 0.0,
    grow: Grow = 0,
    alpha: Annotated[
        bool,
        typer.Option("--alpha", help="Transparent pixels are damaged.", rich_help_panel=_DAMAGE),
    ] = False,
    box: Box = None,
    scratch: Scratch = None,
    ordered: Annotated[
        bool,
        typer.Option(
            "--ordered",
            help="The pictures are a time series, like the frames of a video.",
            rich_help_panel=RUN,
        ),
    ] = False,
    preview: Annotated[
        Path | None,
        typer.Option(
            metavar="PNG",
            help="Only draw a picture that marks the damage; restore nothing.",
            rich_help_panel=MORE,
        ),
    ] = None,
    sheet: Annotated[
        Path | None,
        typer.Option(metavar="PNG", help="Draw some pictures before and after.", rich_help_panel=MORE),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(metavar="HTML", help="Write a page that shows the result.", rich_help_panel=MORE),
    ] = None,
    seed: Seed = 0,
    device: Device = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Restore damaged pictures of one size, from nearby pixels and from similar pictures.

    Undamaged pixels are written as they were read. Without an option that says where the damage is, it is
    detected: NaN, transparency, or a colour that stands out. Check it with --preview.

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
    restoring.run(request)


def video(
    source: Annotated[Path, typer.Argument(metavar="IN", help="A video file, or a NumPy stack of frames.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="OUT", help="Video to write.")],
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
            help='Frames that are lost completely, counted from 1: "3,10-12".',
            rich_help_panel=_DAMAGE,
        ),
    ] = None,
    side_by_side: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write a second video that shows damaged and restored frames side by side.",
            rich_help_panel=MORE,
        ),
    ] = None,
    lossless: Annotated[
        bool,
        typer.Option(
            "--lossless",
            help="Compress without loss: a larger file in which every undamaged pixel is exact.",
            rich_help_panel=MORE,
        ),
    ] = False,
    seed: Seed = 0,
    device: Device = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Restore damaged video, from neighbouring frames, similar frames and nearby pixels. Sound is kept.

    Frames are processed in windows, so long videos need no more memory than short ones. Without an option
    that says where the damage is, it is detected if it is in the same pixels of all frames: a colour that
    stands out, or pixels that never change.

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
    restoring.run(request)
