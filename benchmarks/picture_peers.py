"""Methods that restore pictures.

Each takes a stack (n, h, w), NaN where missing, and the mask of its missing pixels. It returns the completed
stack, or None if it cannot fill such a mask.
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
# Candidate ranks of `low_rank`.
RANKS = (5, 10, 20, 40, 80)


def methods(of_video: bool = False, smoke: bool = False) -> dict[str, Fill]:
    """Methods by name, without those whose library is not installed."""
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
    """Restore a set of pictures with manifill."""
    return images.restore(stack, mask, random_state=0)


def restored_video(stack: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Restore consecutive frames with manifill."""
    return video.restore(stack, mask, random_state=0)


def as_table(
    make: Callable[[], Any], stack: np.ndarray, mask: np.ndarray, transposed: bool = False
) -> np.ndarray | None:
    """An imputer on the table whose rows are pictures, or pixels if `transposed`.

    None if a picture is missing entirely or a pixel is missing in all pictures.
    """
    if _any_picture_empty(mask) or _any_pixel_unseen(mask):
        return None
    table = stack.reshape(len(stack), -1)
    filled = make().fit_transform(table.T).T if transposed else make().fit_transform(table)
    return filled.reshape(stack.shape)


def biharmonic(stack: np.ndarray, mask: np.ndarray) -> np.ndarray | None:
    """Biharmonic inpainting of scikit-image, each picture on its own."""
    from skimage.restoration import inpaint_biharmonic

    if _any_picture_empty(mask):
        return None
    pairs = zip(np.nan_to_num(stack), mask, strict=True)
    return np.stack([inpaint_biharmonic(one, missing) if missing.any() else one for one, missing in pairs])


def inpainted(method: str, stack: np.ndarray, mask: np.ndarray) -> np.ndarray | None:
    """Inpainting of OpenCV with radius 3, each picture on its own, in 256 grey levels."""
    import cv2

    if _any_picture_empty(mask):
        return None
    grey = np.round(255 * np.nan_to_num(stack)).astype(np.uint8)
    pairs = zip(grey, mask.astype(np.uint8), strict=True)
    return np.stack([cv2.inpaint(one, missing, 3, getattr(cv2, method)) for one, missing in pairs]) / 255


def linear_in_time(stack: np.ndarray, mask: np.ndarray) -> np.ndarray | None:
    """Linear interpolation of each pixel in time; pixels that no frame shows get the overall mean."""
    if (mask.any(axis=0) == mask.all(axis=0)).all():
        return None
    frames = stack.reshape(len(stack), -1).copy()
    frames[:, _never_shown(mask)] = np.nanmean(stack)
    return interpolated(frames).reshape(stack.shape)


def interpolated(table: np.ndarray) -> np.ndarray:
    """Linear interpolation over the NaN of each column, constant before the first and after the last one."""
    table, time = table.copy(), np.arange(len(table))
    for column in table.T:
        missing = np.isnan(column)
        if missing.any():
            column[missing] = np.interp(time[missing], time[~missing], column[~missing])
    return table


def pixel_mean(stack: np.ndarray, mask: np.ndarray) -> np.ndarray | None:
    """Mean of each pixel over the pictures that show it."""
    return None if _any_pixel_unseen(mask) else np.where(mask, np.nanmean(stack, axis=0), stack)


def low_rank(run_length: int, stack: np.ndarray, mask: np.ndarray) -> np.ndarray | None:
    """Iterated SVD, with the rank of the lowest error on held-out pixels that form the same patterns.

    A fifth of the pictures, in runs of `run_length`, also lose the pixels that other pictures miss. Pixels
    held out at random would select too high a rank: 80 for blocks of 24 × 24 on the faces, with an error a
    fifth above that of rank 40. In video, held-out patterns must also last as long as scratches do.
    """
    if _any_picture_empty(mask) or _any_pixel_unseen(mask):
        return None
    X, M = stack.reshape(len(stack), -1), mask.reshape(len(stack), -1)
    ranks = [rank for rank in RANKS if rank < min(X.shape)]
    rng, runs = np.random.default_rng([0, 1]), max(len(X) // (5 * run_length), 1)
    targets, donors = (
        np.add.outer(rng.choice(len(X), runs, replace=False), np.arange(run_length)).ravel() % len(X)
        for _ in range(2)
    )
    held_out = np.zeros_like(M)
    held_out[targets] = M[donors] & ~M[targets]
    held_out[:, (M | held_out).all(axis=0)] = False
    errors = [np.mean((fill - X)[held_out] ** 2) for fill in _completions(X, M | held_out, ranks)]
    best = ranks[: int(np.argmin(errors)) + 1]
    return _completions(X, M, best)[-1].reshape(stack.shape)


def _completions(X: np.ndarray, M: np.ndarray, ranks: list[int]) -> list[np.ndarray]:
    """The table completed with each rank, ascending; each starts from the result of the previous one."""
    filled = np.where(M, np.nanmean(np.where(M, np.nan, X), axis=0), X)
    fills = []
    for rank in ranks:
        filled = _iterated_svd(filled, M, rank)
        fills.append(filled)
    return fills


def _iterated_svd(
    filled: np.ndarray, M: np.ndarray, rank: int, tol: float = 1e-3, rounds: int = 60
) -> np.ndarray:
    """Refill M with low-rank approximations of the centred table until the relative change is below `tol`."""
    filled = filled.copy()
    for _ in range(rounds):
        center = filled.mean(axis=0)
        Z = filled - center
        U = np.linalg.eigh(Z @ Z.T)[1][:, -rank:]  # left singular vectors of Z; there are few pictures
        fill = (U @ (U.T @ Z) + center)[M]
        change = np.linalg.norm(fill - filled[M]) / np.linalg.norm(fill - fill.mean())
        filled[M] = fill
        if change < tol:
            break
    return filled


def _never_shown(mask: np.ndarray) -> np.ndarray:
    """(h · w,): True for pixels that no picture shows."""
    return mask.all(axis=0).ravel()


def _any_pixel_unseen(mask: np.ndarray) -> bool:
    return bool(_never_shown(mask).any())


def _any_picture_empty(mask: np.ndarray) -> bool:
    return bool(mask.all(axis=(1, 2)).any())
