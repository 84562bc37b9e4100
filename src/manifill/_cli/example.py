"""The command `example`: small files to try manifill on, each with its complete version."""

import csv
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer

from manifill._arrays import Array, Mask
from manifill._cli import ending
from manifill._cli.watch import say
from manifill._files import atomic_write
from manifill.amputation import mcar
from manifill.datasets import rotating_object
from manifill.errors import InvalidInput

_SEED = 0
_HOURS = 1080
_PICTURES, _FRAMES, _SIZE = 36, 48, 64
# Damage of the clip: left edge and width of a scratch; lost frames, counted from 0.
_SCRATCH, _LOST_FRAMES = (24, 3), (10, 25, 26)


def run(folder: Path, force: bool) -> None:
    """Write the files, and print what each is for."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())) and not force:
        raise InvalidInput(f"{folder} exists already and is not empty; use --force to replace its files.")
    lines = [
        f"manifill impute {folder}/tumours.csv -o filled.csv",
        f"manifill impute {folder}/station.csv -o filled-log.csv --time time",
    ]
    if find_spec("imagecodecs") is not None:
        lines.append(f"manifill images {folder}/damaged -o restored --mask {folder}/masks")
    if find_spec("av") is not None:
        scratch, frames = "{}:{}".format(*_SCRATCH), ",".join(str(i + 1) for i in _LOST_FRAMES)
        lines.append(
            f"manifill video {folder}/clip.mp4 -o restored.mp4 --scratch {scratch} --frames {frames} --grow 2"
        )
    with ending.outputs() as run:
        run.make_folder(folder)
        _tumours(folder)
        _station(folder)
        if find_spec("imagecodecs") is not None:
            for name in ("damaged", "masks", "complete"):
                run.make_folder(folder / name)
            _pictures(folder)
        if find_spec("av") is not None:
            _clip(folder)
    say(f"Example files are in {folder}. Try:")
    for line in lines:
        say(f"  {line}")


def _tumours(folder: Path) -> None:
    """569 tumours: ten measurements and the diagnosis; one cell in five is removed.

    The data set is scikit-learn's copy of the Wisconsin breast cancer data.
    """
    data = load_breast_cancer()
    names = [str(name).removeprefix("mean ").replace(" ", "_") for name in data.feature_names[:10]]
    labels = np.asarray(data.target_names)[data.target]
    rows = [[*map(repr, row), label] for row, label in zip(data.data[:, :10].tolist(), labels, strict=True)]
    _write_table(folder, "tumours", [*names, "diagnosis"], rows, mcar((len(rows), 11), 0.2, _SEED))


def _station(folder: Path) -> None:
    """45 days of a weather station, every hour: scattered losses, and outages of up to a day.

    The values are made by formula: the dew point follows from temperature and humidity.
    """
    rng = np.random.default_rng(_SEED)
    hour = np.arange(_HOURS)
    day = 2 * np.pi * hour / 24
    front = _smooth_noise(rng, 60)
    temperature = 12 + 5 * np.sin(day - 2) + 4 * front + 0.3 * rng.standard_normal(_HOURS)
    humidity = np.clip(68 - 14 * np.sin(day - 2) - 8 * front + 2 * rng.standard_normal(_HOURS), 15, 100)
    gamma = np.log(humidity / 100) + 17.62 * temperature / (243.12 + temperature)
    dew_point = 243.12 * gamma / (17.62 - gamma)
    pressure = 1013 - 7 * np.roll(front, 12) + 0.5 * np.cos(2 * day)
    wind = np.clip(3 + 2 * _smooth_noise(rng, 20) + 1.5 * np.sin(day - 2.5), 0, None)
    values = np.column_stack([temperature, humidity, dew_point, pressure, wind])
    M = mcar(values.shape, 0.1, rng)
    for column in M.T:
        for start in rng.integers(0, _HOURS - 24, size=6):
            column[start : start + rng.integers(6, 25)] = True
    times = np.datetime64("2026-03-01T00:00") + hour.astype("m8[h]")
    rows = [
        [str(time).replace("T", " "), *(f"{value:.1f}" for value in row)]
        for time, row in zip(times, values, strict=True)
    ]
    M = np.column_stack([np.zeros(_HOURS, dtype=np.bool_), M])
    names = ["time", "temperature", "humidity", "dew_point", "pressure", "wind"]
    _write_table(folder, "station", names, rows, M)


def _smooth_noise(rng: np.random.Generator, width: int) -> Array:
    """Gaussian noise (hours,) smoothed over about `width` hours, with variance 1."""
    window = np.hanning(2 * width + 1)
    noise = np.convolve(rng.standard_normal(_HOURS + 2 * width), window / np.linalg.norm(window), "valid")
    return np.asarray(noise)


def _pictures(folder: Path) -> None:
    """Pictures of a toy car on a turntable: a rectangle and a line of each are lost."""
    from manifill._media.png import encoded

    truth = _as_bytes(rotating_object(_PICTURES, size=_SIZE)[0])
    rng = np.random.default_rng(_SEED)
    for i, picture in enumerate(truth):
        mask = np.zeros(picture.shape, dtype=np.bool_)
        top, left = rng.integers(12, _SIZE - 30, size=2)
        mask[top : top + 14, left : left + 14] = True
        mask[:, int(rng.integers(8, _SIZE - 8)) :][:, :2] = True
        pictures = {"damaged": np.where(mask, 255, picture), "masks": 255 * mask, "complete": picture}
        for kind, pixels in pictures.items():
            with atomic_write(folder / kind / f"car{i:02}.png", "wb") as file:
                file.write(encoded(pixels.astype(np.uint8)))


def _clip(folder: Path) -> None:
    """A video of the turning car with a white scratch and three black frames, and the same without damage."""
    from manifill._media import write_clip

    truth = _as_bytes(rotating_object(_FRAMES, size=_SIZE, step=4)[0])
    left, width = _SCRATCH
    damaged = truth.copy()
    damaged[:, :, left : left + width] = 255
    damaged[list(_LOST_FRAMES)] = 0
    for name, frames in (("clip.mp4", damaged), ("clip-complete.mp4", truth)):
        write_clip(folder / name, frames)


def _as_bytes(pictures: Array) -> Any:
    """Brightness 0 to 1 → 8 bits, on a grey background."""
    return (40 + 215 * pictures).astype(np.uint8)


def _write_table(
    folder: Path, name: str, columns: Sequence[str], rows: Sequence[Sequence[str]], M: Mask
) -> None:
    """Write NAME.csv with empty cells where `M` (n, d) is True, and NAME-complete.csv with all cells."""
    for suffix, missing in (("", M), ("-complete", np.zeros_like(M))):
        with atomic_write(folder / f"{name}{suffix}.csv", "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            for row, lost in zip(rows, missing, strict=True):
                writer.writerow(["" if gap else cell for cell, gap in zip(row, lost, strict=True)])
