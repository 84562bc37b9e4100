"""What the README shows is run."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from command import manifill

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
TABLES = (ROOT / "docs" / "tables.md").read_text()
PICTURES = (ROOT / "docs" / "pictures.md").read_text()
CHOOSING = (ROOT / "docs" / "choosing.md").read_text()


def fenced(language, text=README):
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.S | re.M)


def test_the_two_commands_come_first():
    assert fenced("sh")[0].split("\n")[:2] == ["make demo", "make test"]
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), flags=re.M)
    assert {"demo", "test", "check", "bench"} <= set(targets)


@pytest.mark.parametrize(
    "code",
    [code for text in (README, TABLES, PICTURES, CHOOSING) for code in fenced("python", text)],
    ids=lambda code: code.split("\n")[0],
)
def test_python_examples_run(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), {})


def test_command_line_examples_run(tmp_path, curved):
    X, M = curved
    cells = [
        ["" if hole else repr(float(v)) for v, hole in zip(*row, strict=True)]
        for row in zip(X, M, strict=True)
    ]
    (tmp_path / "holes.csv").write_text("\n".join(["a,b,c,d,e,f", *(",".join(row) for row in cells)]))
    lines = [f"2026-01-{1 + i // 24:02} {i % 24:02}:00,{','.join(row)}" for i, row in enumerate(cells)]
    (tmp_path / "log.csv").write_text("\n".join(["when,a,b,c,d,e,f", *lines]))
    _damaged_pictures(tmp_path)
    commands = [line for block in fenced("sh") for line in block.splitlines() if line.startswith("manifill ")]
    assert commands
    for command in dict.fromkeys(map(_small, commands)):
        done = manifill(*shlex.split(command, comments=True)[1:], folder=tmp_path)
        assert done.returncode == 0, (command, done.stderr)
    filled = np.loadtxt(tmp_path / "filled.csv", delimiter=",", skiprows=1)
    assert np.isfinite(filled).all()


def _damaged_pictures(folder):
    """A folder of pictures with masks, and a video, for the examples to restore."""
    from PIL import Image

    from manifill._media import VideoFile, VideoWriter

    y, x = np.mgrid[:24, :40] / 24
    frames = np.stack([100 + 90 * np.sin(5 * x + t / 4) * np.cos(4 * y) for t in range(12)]).astype(np.uint8)
    mask = np.zeros((24, 40), np.uint8)
    mask[5:11, 10:18] = 255
    for name in ("damaged", "masks"):
        (folder / name).mkdir()
    for i, frame in enumerate(frames):
        Image.fromarray(frame | mask).save(folder / "damaged" / f"{i}.png")
        Image.fromarray(mask).save(folder / "masks" / f"{i}.png")
    np.save(folder / "old.npy", frames)
    like = VideoFile.open(folder / "old.npy")
    with VideoWriter(folder / "old.mp4", like) as video:
        for frame in frames:
            video.write(frame)


def _small(command):
    """One experiment, at smoke scale, instead of all of them in full."""
    if "reproduce" not in command:
        return command
    small = command.partition("#")[0].replace(" all", " umist").strip()
    return small if "--scale" in small else f"{small} --scale smoke"


def test_links_to_files_lead_somewhere():
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", README):
        assert (ROOT / target).exists(), target
