"""Who restores pictures: every method takes a stack (n, h, w), NaN where missing, and the mask of its holes.

It returns the stack, completed, or None where it cannot do such damage.
"""

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.impute import KNNImputer

from manifill import IGHImputer, images, video

Fill = Callable[[np.ndarray, np.ndarray], np.ndarray | None]
OURS = "manifill"
ROWS = "manifill, rows only"
KNN_PIXELS = "KNN on pixels"
RANKS = (5, 10, 20, 40, 80)


def methods(of_video: bool = False, smoke: bool = False) -> dict[str, Fill]:
    """Everybody who takes part, by name; libraries that are not installed do not."""
    fills: dict[str, Fill] = {OURS: restored_video if of_video else restored_pictures}
    fills[ROWS] = partial(as_table, lambda: IGHImputer(random_state=0))
    if find_spec("skimage"):
        fills["biharmonic"] = biharmonic
    if find_spec("cv2"):
        fills["Telea"] = partial(inpainted, "INPAINT_TELEA")
        fills["Navier–Stokes"] = partial(inpainted, "INPAINT_NS")
    if of_video:
        fills["linear in time"] = linear_in_time
    if not smoke:
        fills["KNN on frames" if of_video else "KNN on pictures"] = partial(as_table, KNNImputer)
    if not smoke and not of_video:
        fills[KNN_PIXELS] = partial(as_table, KNNImputer, transposed=True)
    svd = partial(low_rank, 10 if of_video else 1)
    return fills | {"IterativeSVD": svd, "pixel mean": pixel_mean}


def restored_pictures(stack: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Ours, for a set of pictures."""
    return images.restore(stack, mask, random_state=0)


def restored_video(stack: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Ours, for pictures that follow each other."""
    return video.restore(stack, mask, random_state=0)


def as_table(
    make: Callable[[], Any], stack: np.ndarray, mask: np.ndarray, transposed: bool = False
) -> np.ndarray | None:
    """An imputer on the table whose rows are pictures, or pixels; none of either may be missing whole."""
    if _whole_pictures(mask) or _whole_pixels(mask):
        return None
    table = stack.reshape(len(stack), -1)
    filled = make().fit_transform(table.T).T if transposed else make().fit_transform(table)
    return filled.reshape(stack.shape)


def biharmonic(stack: np.ndarray, mask: np.ndarray) -> np.ndarray | None:
    """Every picture by itself, scikit-image."""
    from skimage.restoration import inpaint_biharmonic

    if _whole_pictures(mask):
        return None
    pairs = zip(np.nan_to_num(stack), mask, strict=True)
    return np.stack([inpaint_biharmonic(one, holes) if holes.any() else one for one, holes in pairs])


def inpainted(method: str, stack: np.ndarray, mask: np.ndarray) -> np.ndarray | None:
    """Every picture by itself, OpenCV, from 3 pixels around; it works in 256 steps of grey."""
    import cv2

    if _whole_pictures(mask):
        return None
    grey = np.round(255 * np.nan_to_num(stack)).astype(np.uint8)
    pairs = zip(grey, mask.astype(np.uint8), strict=True)
    return np.stack([cv2.inpaint(one, holes, 3, getattr(cv2, method)) for one, holes in pairs]) / 255


def linear_in_time(stack: np.ndarray, mask: np.ndarray) -> np.ndarray | None:
    """Every pixel by itself, between the frames that show it; pixels that no frame shows get the mean."""
    if (mask.any(axis=0) == mask.all(axis=0)).all():
        return None
    frames = stack.reshape(len(stack), -1).copy()
    frames[:, _never(mask)] = np.nanmean(stack)
    return interpolated(frames).reshape(stack.shape)


def interpolated(table: np.ndarray) -> np.ndarray:
    """Straight lines over the gaps (NaN) of every column; before the first value and after the last level."""
    table, time = table.copy(), np.arange(len(table))
    for column in table.T:
        gone = np.isnan(column)
        if gone.any():
            column[gone] = np.interp(time[gone], time[~gone], column[~gone])
    return table


def pixel_mean(stack: np.ndarray, mask: np.ndarray) -> np.ndarray | None:
    """Of the pictures that show the pixel."""
    return None if _whole_pixels(mask) else np.where(mask, np.nanmean(stack, axis=0), stack)


def low_rank(together: int, stack: np.ndarray, mask: np.ndarray) -> np.ndarray | None:
    """Iterated SVD, of the rank that does best on holes like those there are.

    A fifth of the pictures, `together` after each other, get the holes of others besides their own. Values
    held out at random would choose too high a rank, 80 for blocks of 24 × 24 on the faces, whose error is a
    fifth above that of 40; so would, in video, holes that are not there for as long as scratches are.
    """
    if _whole_pictures(mask) or _whole_pixels(mask):
        return None
    X, M = stack.reshape(len(stack), -1), mask.reshape(len(stack), -1)
    ranks = [rank for rank in RANKS if rank < min(X.shape)]
    rng, runs = np.random.default_rng([0, 1]), max(len(X) // (5 * together), 1)
    some, others = (
        np.add.outer(rng.choice(len(X), runs, replace=False), np.arange(together)).ravel() % len(X)
        for _ in range(2)
    )
    held_out = np.zeros_like(M)
    held_out[some] = M[others] & ~M[some]
    held_out[:, (M | held_out).all(axis=0)] = False
    errors = [np.mean((fill - X)[held_out] ** 2) for fill in _of_ranks(X, M | held_out, ranks)]
    best = ranks[: int(np.argmin(errors)) + 1]
    return _of_ranks(X, M, best)[-1].reshape(stack.shape)


def _of_ranks(X: np.ndarray, M: np.ndarray, ranks: list[int]) -> list[np.ndarray]:
    """The table completed with each rank, ascending; each starts where the one before it ended."""
    filled = np.where(M, np.nanmean(np.where(M, np.nan, X), axis=0), X)
    fills = []
    for rank in ranks:
        filled = _settled(filled, M, rank)
        fills.append(filled)
    return fills


def _settled(filled: np.ndarray, M: np.ndarray, rank: int, tol: float = 1e-3, rounds: int = 60) -> np.ndarray:
    """Best approximations of a rank to the centred table as it is filled, until they hardly change."""
    filled = filled.copy()
    for _ in range(rounds):
        center = filled.mean(axis=0)
        Z = filled - center
        U = np.linalg.eigh(Z @ Z.T)[1][:, -rank:]  # its left singular vectors; there are few pictures
        fill = (U @ (U.T @ Z) + center)[M]
        change = np.linalg.norm(fill - filled[M]) / np.linalg.norm(fill - fill.mean())
        filled[M] = fill
        if change < tol:
            break
    return filled


def _never(mask: np.ndarray) -> np.ndarray:
    """(h · w,): pixels that no picture shows."""
    return mask.all(axis=0).ravel()


def _whole_pixels(mask: np.ndarray) -> bool:
    return bool(_never(mask).any())


def _whole_pictures(mask: np.ndarray) -> bool:
    return bool(mask.all(axis=(1, 2)).any())
