"""The commands that are disturbed, with their input files and outputs."""

import hashlib
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

OLD = b"the file of an earlier run\n"


@dataclass(frozen=True)
class Job:
    """A command line; `outputs` are the files it writes, relative to the folder it runs in."""

    name: str
    arguments: tuple[str, ...]
    outputs: tuple[str, ...]
    prepare: Callable[[Path], None]
    existing: tuple[str, ...]
    """Outputs that exist before the run, with the content `OLD`."""

    def set_up(self, folder: Path) -> None:
        """Write the input files and the old outputs."""
        folder.mkdir(parents=True)
        self.prepare(folder)
        for name in self.existing:
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(OLD)


def _table(folder: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 1)) + 0.3 * rng.standard_normal((60, 4))
    missing = rng.random(X.shape) < 0.1
    rows = [
        ",".join("" if gap else f"{value:.4f}" for value, gap in zip(row, gaps, strict=True))
        for row, gaps in zip(X, missing, strict=True)
    ]
    (folder / "in.csv").write_text("\n".join(["a,b,c,d", *rows, ""]))


def _pictures(folder: Path) -> None:
    from manifill._media.png import encoded

    (folder / "in").mkdir()
    y, x = np.mgrid[:20, :20]
    for i in range(4):
        pixels = (120 + 80 * np.sin((x + 2 * i) / 3) * np.cos(y / 4)).astype(np.uint8)
        pixels[5:9, 4 + i : 9 + i] = 255
        (folder / "in" / f"{i}.png").write_bytes(encoded(pixels))


def _clip(folder: Path) -> None:
    y, x = np.mgrid[:32, :32]
    frames = [120 + 80 * np.sin((x + 2 * i) / 5) * np.cos(y / 6) for i in range(10)]
    np.save(folder / "in.npy", np.array(frames).astype(np.uint8))


def _impute(ending: str, existing: tuple[str, ...]) -> Job:
    tables = (f"out.{ending}", f"out-draw1.{ending}", f"out-draw2.{ending}")
    words = (
        f"impute in.csv -o out.{ending} --draws 2 --report page.html --save m.model --max-sweeps 2 --force"
    )
    return Job(f"impute {ending}", tuple(words.split()), (*tables, "page.html", "m.model"), _table, existing)


_IMAGES = "images in -o out --value 255 --sheet sheet.png --report page.html --force"
_VIDEO = "video in.npy -o out.mp4 --box 8,8,6,6 --side-by-side both.mp4 --force"

JOBS = (
    _impute("csv", ("out.csv", "out-draw2.csv", "m.model")),
    _impute("xlsx", ("out.xlsx", "page.html")),
    _impute("parquet", ("out-draw1.parquet",)),
    Job(
        "images",
        tuple(_IMAGES.split()),
        (*(f"out/{i}.png" for i in range(4)), "sheet.png", "page.html"),
        _pictures,
        ("out/1.png", "sheet.png"),
    ),
    Job("images, new folder", tuple(_IMAGES.split()), tuple(f"out/{i}.png" for i in range(4)), _pictures, ()),
    Job("video", tuple(_VIDEO.split()), ("out.mp4", "both.mp4"), _clip, ("both.mp4",)),
)


def content(path: Path) -> str:
    """A text that is equal for equal complete files; raises an exception if a file is damaged.

    Times of writing, which some formats contain, do not count.
    """
    ending, data = path.suffix, path.read_bytes()
    if ending == ".model":  # it contains seconds
        from manifill import TableImputer

        return str(TableImputer.load(path).n_features_in_)
    if ending == ".xlsx":
        with zipfile.ZipFile(path) as archive:
            members = {name: archive.read(name) for name in archive.namelist() if "docProps" not in name}
        data = repr(sorted(members.items())).encode()
    elif ending == ".html":
        text = data.decode()
        if not text.rstrip().endswith("</html>"):
            raise ValueError("the page has no end")
        data = re.sub(r"[0-9.]+ s\b", "", text).encode()
    elif ending == ".mp4":
        import av

        with av.open(str(path)) as video:
            frames = [frame.to_ndarray(format="gray") for frame in video.decode(video=0)]
        data = np.array(frames).tobytes()
    return hashlib.sha256(data).hexdigest()
