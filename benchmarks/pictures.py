"""Damaged pictures and video: manifill against common methods, on the same missing pixels."""

import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import product

import numpy as np
from rich.progress import track
from rich.table import Table

from benchmarks.data import load
from benchmarks.picture_peers import KNN_PIXELS, OURS, ROWS, Fill, methods
from manifill.amputation import blocks, lines, mcar
from manifill.datasets import moving_blob, rotating_object
from manifill.metrics import rmse

CAPTION = (
    "Pixels from 0 to 1; fills are clipped to that range. RMSE and PSNR on the missing pixels. SSIM between "
    "completed and true picture, mean over the damaged pictures. –: the method cannot fill such damage."
)
Damages = dict[str, list[np.ndarray]]
"""Masks (n, h, w) by name of the damage; one run per mask, scores are averaged."""


@dataclass(frozen=True)
class Score:
    """Error and time; `rmse` is pooled over the runs, `ssim` and `seconds` are means over them."""

    rmse: float
    ssim: float
    seconds: float

    @property
    def psnr(self) -> float:
        return float(-20 * np.log10(self.rmse))


def run(smoke: bool = False, without: Collection[str] = ()) -> Table:
    """Faces. `without`: names of methods to leave out, such as the slow KNN on pixels."""
    X = rotating_object(24, size=12)[0] if smoke else _loaded("olivetti64")
    damages = {} if X is None else picture_damages(X.shape, smoke)
    return _table("Pictures", X, damages, _prepared(False, smoke, without))


def run_video(smoke: bool = False, without: Collection[str] = ()) -> Table:
    """Video of an escalator from a fixed camera."""
    X = _moving(24, 12) if smoke else _loaded("video_escalator")
    damages = {} if X is None else video_damages(X.shape, smoke)
    return _table("Video", X, damages, _prepared(True, smoke, without))


def run_unseen(smoke: bool = False) -> Table:
    """PSNR on pictures and video not used in development, masks of another seed; seconds of manifill."""
    peers: dict[bool, dict[str, Fill]] = {
        video: _prepared(video, smoke, (KNN_PIXELS,)) for video in (False, True)
    }
    names = list(dict.fromkeys([*peers[False], *peers[True]]))
    table = Table(
        "data set", "damage", *names, "seconds of manifill", title="Unseen data: PSNR on missing pixels, dB"
    )
    cases = [
        (name, X, damage, masks, video)
        for name, X, video in _unseen(smoke)
        for damage, masks in list(_unseen_damages(X.shape, video).items())[: 2 if smoke else None]
    ]
    for name, X, damage, masks, video in track(cases, "restoring", transient=True):
        scores = {method: score(fill, X, masks) for method, fill in peers[video].items()}
        row = [scores.get(method) for method in names]
        ours = scores[OURS]
        table.add_row(name, damage, *_cells(row, "psnr", 2, best=max), f"{ours.seconds if ours else 0:.1f}")
    if not cases:
        table.add_row("no data: set MANIFILL_DATA to the folder of the data sets")
    return table


def _unseen(smoke: bool) -> Iterator[tuple[str, np.ndarray, bool]]:
    """Name, stack, and whether it is a video."""
    if smoke:
        yield "turning", rotating_object(24, size=12)[0], False
        yield "blob", _moving(24, 12), True
        return
    if (faces := _loaded("umist112x92_part")) is not None:
        yield "UMIST faces", faces, False
    if (things := load("coil20_128")) is not None:
        yield "COIL, a car", things["X"][things["y"] == np.unique(things["y"])[2]] / 255.0, False
    for name in ("carphone", "lrs_demo"):
        if (frames := _loaded(f"video_{name}")) is not None:
            yield f"{name}, video", frames, True


def _unseen_damages(shape: tuple[int, int, int], video: bool) -> Damages:
    """Damage with a seed not used elsewhere; boxes measure a third of the shorter side, at most 16 pixels."""
    side, seed = max(2, min(16, min(shape[1:]) // 3)), 77
    if video:
        return {
            "scattered 70%": [mcar(shape, 0.7, seed)],
            "dropped frames 10%": [dropped(shape, 0.1, seed)],
            f"logo {side} × {side}, 4 places": [logo(shape, side, seed + i) for i in range(4)],
            "scratches": [scratches(shape, seed)],
        }
    return {
        "scattered 30%": [mcar(shape, 0.3, seed)],
        "scattered 70%": [mcar(shape, 0.7, seed)],
        f"blocks {side} × {side}": [blocks(shape, side, seed)],
        "lines 20%": [lines(shape, 0.2, seed)],
    }


def picture_damages(shape: tuple[int, int, int], smoke: bool = False) -> Damages:
    """Damage that differs from picture to picture."""
    if smoke:
        return {"scattered 50%": [mcar(shape, 0.5, 0)], "blocks 4 × 4": [blocks(shape, 4, 0)]}
    return {
        **{f"scattered {rate:.0%}": [mcar(shape, rate, 0)] for rate in (0.3, 0.5, 0.7)},
        **{f"blocks {size} × {size}": [blocks(shape, size, 0)] for size in (16, 24)},
        "lines 20%": [lines(shape, 0.2, 0)],
    }


def video_damages(shape: tuple[int, int, int], smoke: bool = False) -> Damages:
    """Damage that is typical of video."""
    common = {"scattered 70%": [mcar(shape, 0.7, 0)], "dropped frames 10%": [dropped(shape, 0.1, 0)]}
    if smoke:
        return common
    return common | {
        "logo 32 × 32, 4 places": [logo(shape, 32, seed) for seed in range(4)],
        "scratches": [scratches(shape, 0)],
    }


def dropped(shape: tuple[int, int, int], rate: float, seed: int) -> np.ndarray:
    """Random entire frames, never the first or the last."""
    inner = np.arange(1, shape[0] - 1)
    missing = np.random.default_rng(seed).choice(inner, round(rate * shape[0]), replace=False)
    mask = np.zeros(shape, dtype=bool)
    mask[missing] = True
    return mask


def logo(shape: tuple[int, int, int], size: int, seed: int) -> np.ndarray:
    """A square at a random place, the same in all frames."""
    return np.repeat(blocks((1, *shape[1:]), size, seed), shape[0], axis=0)


def scratches(shape: tuple[int, int, int], seed: int, at_once: int = 4) -> np.ndarray:
    """Vertical lines, 2 pixels wide, that last 3 to 8 frames; on average `at_once` of them per frame."""
    frames, _, width = shape
    rng = np.random.default_rng(seed)
    mask = np.zeros(shape, dtype=bool)
    for _ in range(round(at_once * frames / 5.5)):
        first, left, duration = rng.integers(frames), rng.integers(width - 1), rng.integers(3, 9)
        mask[first : first + duration, :, left : left + 2] = True
    return mask


def score(fill: Fill, truth: np.ndarray, masks: list[np.ndarray]) -> Score | None:
    """Score of one run per mask; None if the method cannot fill one of them."""
    runs = []
    for mask in masks:
        damaged = np.where(mask, np.nan, truth)
        began = time.perf_counter()
        filled = fill(damaged, mask)
        seconds = time.perf_counter() - began
        if filled is None:
            return None
        completed = np.where(mask, np.clip(filled, 0, 1), truth)
        runs.append((rmse(truth, completed, mask) ** 2, _similarity(truth, completed, mask), seconds))
    square, similar, seconds = np.mean(runs, axis=0)
    return Score(float(np.sqrt(square)), float(similar), float(seconds))


def _similarity(truth: np.ndarray, completed: np.ndarray, mask: np.ndarray) -> float:
    if not find_spec("skimage"):
        return float("nan")
    from skimage.metrics import structural_similarity

    pairs = [(truth[i], completed[i]) for i in np.flatnonzero(mask.any(axis=(1, 2)))]
    return float(np.mean([structural_similarity(one, other, data_range=1.0) for one, other in pairs]))


def _table(title: str, X: np.ndarray | None, damages: Damages, fills: dict[str, Fill]) -> Table:
    """For each damage one row per score, the best in bold, and one row of seconds."""
    table = Table("damage", "score", *fills, title=title, caption=CAPTION)
    if X is None:
        table.add_row("no data: set MANIFILL_DATA to the folder of the data sets")
        return table
    table.title = f"{title}, {' × '.join(map(str, X.shape))}"
    cases = list(product(damages, fills))
    scores = {
        (damage, method): score(fills[method], X, damages[damage])
        for damage, method in track(cases, "restoring", transient=True)
    }
    for damage in damages:
        row = [scores[damage, method] for method in fills]
        table.add_row(damage, "RMSE", *_cells(row, "rmse", 4, best=min))
        table.add_row(damage, "PSNR, dB", *_cells(row, "psnr", 2, best=max))
        table.add_row(damage, "SSIM", *_cells(row, "ssim", 4, best=max))
        table.add_row(damage, "seconds", *_cells(row, "seconds", 1))
    return table


def _cells(
    row: list[Score | None], field: str, digits: int, best: Callable[[list[float]], float] | None = None
) -> list[str]:
    texts = [f"{getattr(one, field):.{digits}f}" if one else "–" for one in row]
    texts = ["–" if text == "nan" else text for text in texts]
    numbers = [float(text) for text in texts if text != "–"]
    chosen = best(numbers) if best and numbers else None
    return [f"[bold]{text}[/]" if text != "–" and float(text) == chosen else text for text in texts]


def _prepared(video: bool, smoke: bool, without: Collection[str]) -> dict[str, Fill]:
    """Methods by name. Those of manifill load their compiled code here, before timing starts."""
    fills = {name: fill for name, fill in methods(video, smoke).items() if name not in without}
    X = rotating_object(40, size=16)[0]
    mask = mcar(X.shape, 0.3, 0)
    for name in () if smoke else {OURS, ROWS} & set(fills):
        fills[name](np.where(mask, np.nan, X), mask)
    return fills


def _loaded(name: str) -> np.ndarray | None:
    loaded = load(name)
    return None if loaded is None else loaded["X"] / 255.0


def _moving(n: int, size: int) -> np.ndarray:
    """Frames of a blob that moves from side to side, in order."""
    X, position = moving_blob(n, size=size, random_state=0)
    return X[np.argsort(position[:, 1])]
