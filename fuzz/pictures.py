"""Small pictures through `manifill images`, and small clips through `manifill video`."""

import io
import json
import random
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.case import Case, Failure, damaged, some, some_damage
from fuzz.command import check_run, content_of

_MODES = {
    "png": ("L", "RGB", "RGBA", "LA", "P", "1", "I;16"),
    "jpg": ("L", "RGB", "CMYK"),
    "tif": ("L", "RGB", "F", "I;16", "1"),
    "bmp": ("L", "RGB", "1"),
    "gif": ("P", "L"),
    "webp": ("RGB", "RGBA"),
    "ppm": ("RGB",),
}
_STACKS = ("u1", "u2", "f4", "f8", "bool", "i2", ">f4", "c8")


def make(rng: random.Random) -> Case:
    """A folder of pictures, a stack or a clip; damage given by a box, masks, a value, or not at all."""
    kind = rng.choice(("folder",) * 6 + ("stack", "stack", "tiff", "clip"))
    width, height, count = rng.randint(6, 16), rng.randint(6, 16), rng.choice((1, 2, 3, 5))
    form = rng.choice(list(_MODES))
    mode, rows = rng.choice(_MODES[form]), []
    for i in range(count):
        if rng.random() < 0.04:
            form = rng.choice(list(_MODES))
            mode = rng.choice(_MODES[form])
        odd = rng.random() < 0.03
        rows.append(
            (
                f"p{i}.{form}",
                mode,
                width + odd,
                height,
                rng.randrange(1000),
                some_damage(rng) if rng.random() < 0.06 else (),
            )
        )
    box = (rng.randrange(width - 4), rng.randrange(height - 4), rng.randint(1, 4), rng.randint(1, 5))
    options = some(
        rng,
        [
            (0.75, lambda: ("--box", ",".join(map(str, box)))),
            (0.1, lambda: ("--value", rng.choice(("0", "#ff00ff", "black", "0,0,0", "x", "300")))),
            (0.1, lambda: ("--scratch", f"{rng.randrange(width)}:{rng.randint(1, 3)}")),
            (0.05, lambda: ("--alpha",)),
            (0.1, lambda: ("--grow", "1")),
            (0.1, lambda: ("--ordered",)),
            (0.05, lambda: ("--sheet", "sheet.png")),
        ],
    )
    made = {
        "kind": kind,
        "stack": rng.choice(_STACKS),
        "nan": rng.choice((0, 0, 0.05)),
        "masks": rng.choice(("", "", "named", "named", "named", "one", "stray", "size")),
        "damage": some_damage(rng) if rng.random() < 0.1 else (),
    }
    if kind == "clip":
        options = (*(one for one in options if one[0] in ("--box", "--scratch", "--value")), ("--lossless",))
    return Case("pictures", tuple(rows), made, (("--json",), *options))


def _pixels(mode: str, width: int, height: int, seed: int) -> Any:
    """A smooth random picture."""
    from PIL import Image

    r = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width]
    plane = 127 + 60 * np.sin(x / 3 + seed) + 60 * np.cos(y / 4) + r.normal(0, 2, (height, width))
    bytes_ = np.clip(plane, 0, 255).astype(np.uint8)
    if mode == "I;16":
        return Image.fromarray((plane * 200).astype(np.uint16))
    if mode == "F":
        return Image.fromarray(plane.astype(np.float32))
    if mode in ("L", "1", "P"):
        return Image.fromarray(bytes_).convert(mode)
    bands = {"RGB": 3, "RGBA": 4, "LA": 2, "CMYK": 4}[mode]
    return Image.merge(mode, [Image.fromarray(np.roll(bytes_, i, axis=1)) for i in range(bands)])


def _encoded(name: str, picture: Any) -> bytes:
    file = io.BytesIO()
    form = {"jpg": "JPEG", "tif": "TIFF", "ppm": "PPM"}.get(name[-3:], name.rpartition(".")[2].upper())
    picture.save(file, form, **({"lossless": True} if form == "WEBP" else {}))
    return file.getvalue()


def command(case: Case) -> tuple[dict[str, bytes], list[str], bytes]:
    """Input files, arguments of the command, and standard input."""
    kind, form, files = case.form.get("kind", "folder"), case.form, {}
    pictures = [_pixels(mode, width, height, seed) for _, mode, width, height, seed, _ in case.rows]
    arguments = ["images", "in", "-o", "out"]
    if kind == "folder":
        for (name, *_, damage), picture in zip(case.rows, pictures, strict=True):
            files[f"in/{name}"] = damaged(_encoded(name, picture), damage)
    elif kind == "tiff":
        file = io.BytesIO()
        pictures[0].save(file, "TIFF", save_all=True, append_images=pictures[1:])
        files["in.tif"], arguments = (
            damaged(file.getvalue(), form.get("damage", ())),
            ["images", "in.tif", "-o", "out.tif"],
        )
    else:
        stack = [
            np.asarray(picture.convert("L"), dtype=float)
            for picture in pictures
            if picture.size == pictures[0].size
        ]
        data = _stack(
            np.array(stack), "u1" if kind == "clip" else form.get("stack", "u1"), form.get("nan", 0)
        )
        files["in.npy"] = damaged(data, form.get("damage", ()))
        arguments = (
            ["video", "in.npy", "-o", "out.mkv"] if kind == "clip" else ["images", "in.npy", "-o", "out.npy"]
        )
    masks = form.get("masks", "")
    if masks and kind == "folder" and case.rows:
        files.update(_masks(case, masks))
        arguments += ["--mask", "masks"]
    return files, arguments + [part for option in case.options for part in option], b""


def _stack(values: Any, kind: str, share: float) -> bytes:
    values = values > 127 if kind == "bool" else values
    if kind[-2] == "f" and share:
        values[np.random.default_rng(0).random(values.shape) < share] = np.nan
    file = io.BytesIO()
    np.save(file, values.astype(kind))
    return file.getvalue()


def _masks(case: Case, masks: str) -> dict[str, bytes]:
    """Masks with a white square each; at another place in every one."""
    from PIL import Image

    found = {}
    for i, (name, _, width, height, *_) in enumerate(case.rows[:1] if masks == "one" else case.rows):
        stem = name.rpartition(".")[0] + ("x" if masks == "stray" and i else "")
        found[f"masks/{stem}.png"] = _encoded(
            "x.png", Image.fromarray(_square(i, width + (masks == "size"), height))
        )
    return found


def _square(i: int, width: int, height: int) -> Any:
    mask = np.zeros((height, width), dtype=np.uint8)
    mask[i % 3 : i % 3 + 3, 1:4] = 255
    return mask


def check(case: Case, folder: Path, run: Any, again: bool) -> None:
    """Run the command and check names, sizes and known pixels."""
    files, arguments, _ = command(case)
    for name, data in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)
    output = arguments[3]
    expected = [
        output if "." in output else f"{output}/",
        *([case.option("--sheet")] if case.option("--sheet") else []),
    ]
    ran = run(arguments, folder)
    check_run(ran, folder, files, expected)
    summary = json.loads(ran.out)
    if output.endswith(".npy"):
        _check_stack(case, folder)
    elif output == "out":
        _check_folder(case, folder)
    if "pictures" in summary and output == "out" and summary["pictures"] != len(case.rows):
        raise Failure("summary", summary)
    if again:
        first = content_of(folder)
        repeated = run([*arguments, "--force"], folder)
        if repeated.code or content_of(folder) != first:
            raise Failure("not repeatable", repeated.err)


def _check_stack(case: Case, folder: Path) -> None:
    """Shape and dtype stay, nothing is missing, and where only boxes are damaged the other pixels stay."""
    before, after = (np.load(folder / f"{name}.npy") for name in ("in", "out"))
    if before.shape != after.shape or before.dtype != after.dtype:
        raise Failure("types", f"{before.shape} {before.dtype} became {after.shape} {after.dtype}")
    if after.dtype.kind == "f" and np.isnan(after).any():
        raise Failure("missing cell left", f"{np.isnan(after).sum()} pixels")
    box = case.option("--box")
    if box and {option[0] for option in case.options} <= {"--json", "--box", "--ordered", "--sheet"}:
        x, y, width, height = map(int, box.split(","))
        known = before == before  # not NaN
        known[:, y : y + height, x : x + width] = False
        if (before[known] != after[known]).any():
            raise Failure("known pixels changed", f"{(before[known] != after[known]).sum()} pixels")


def _check_folder(case: Case, folder: Path) -> None:
    from PIL import Image, UnidentifiedImageError

    before = {path.stem: path for path in (folder / "in").iterdir()}
    after = {path.stem: path for path in (folder / "out").iterdir()}
    if before.keys() != after.keys():
        raise Failure("outputs", f"{sorted(before)} became {sorted(after)}")
    exact = {option[0] for option in case.options} <= {"--json", "--box", "--ordered", "--sheet"}
    for i, (name, *_) in enumerate(case.rows):
        try:
            old, new = (Image.open(one[Path(name).stem]) for one in (before, after))
            old.load()
        except (UnidentifiedImageError, OSError):  # damaged in a way that only manifill's reader forgives
            continue
        if old.size != new.size:
            raise Failure("size", f"{name}: {old.size} became {new.size}")
        boxes, masks = case.option("--box"), case.form.get("masks", "")
        if not exact or not (boxes or masks) or masks == "size":
            continue
        known = np.ones((old.height, old.width), dtype=bool)
        if boxes:
            x, y, width, height = map(int, boxes.split(","))
            known[y : y + height, x : x + width] = False
        if masks:
            known &= _square(0 if masks == "one" else i, old.width, old.height) == 0
        same = new.mode if "A" in old.mode or "A" not in new.mode else "RGB"
        one, other = (
            np.asarray(picture.convert(same) if picture.mode != same else picture) for picture in (old, new)
        )
        changed = np.any(np.atleast_3d(one != other), axis=-1) & known
        if one.shape != other.shape or changed.any():
            raise Failure("known pixels changed", f"{name} ({old.mode} → {new.mode}): {changed.sum()} pixels")
