"""Errors of a completed table against the true values. `M` is True where a value was missing."""

import math

import numpy as np
import numpy.typing as npt

from manifill._arrays import Array, Mask
from manifill._checks import require_number
from manifill.errors import InvalidInput


def _same_shape(**arrays: npt.ArrayLike) -> list[Array]:
    """The arrays as float64; raises unless all have the same shape."""
    tables = {name: np.asarray(value, dtype=np.float64) for name, value in arrays.items()}
    shapes = {name: table.shape for name, table in tables.items()}
    if len(set(shapes.values())) > 1:
        raise InvalidInput(f"All arrays must have the same shape; got {shapes}.")
    return list(tables.values())


def _checked_mask(M: npt.ArrayLike, shape: tuple[int, ...]) -> Mask:
    missing = np.asarray(M)
    if missing.shape != shape or missing.dtype != np.bool_:
        raise InvalidInput(
            f"M must be an array of booleans of shape {shape}, True where a value was missing; "
            f"got {missing.dtype} of shape {missing.shape}."
        )
    if not missing.any():
        raise InvalidInput("M must be True somewhere: without a missing entry there is no error to measure.")
    return missing


def _root_mean_square(x: Array) -> float:
    if not np.isfinite(x).all():
        raise InvalidInput(
            f"True and imputed values must be finite where they are compared; {(~np.isfinite(x)).sum()} of "
            f"{x.size} differences are not."
        )
    largest = float(np.abs(x).max(initial=0.0)) or 1.0  # so that squares neither overflow nor underflow
    return largest * math.sqrt(float(np.mean((x / largest) ** 2)))


def _std(x: Array) -> float:
    # Without the check, rounding can give equal values a positive standard deviation.
    return _root_mean_square(x - x.mean()) if x.size and x.max() > x.min() else 0.0


def paper_error(X: npt.ArrayLike, filled: npt.ArrayLike) -> float:
    """d^(−1/2) · ‖X − X̃‖_F over an (n, d) table: the paper's error.

    The formula in the paper has p^(−1/2), where p is its rate of missing values; its text states that the
    number of dimensions d is meant.

    Examples
    --------
    >>> paper_error([[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [3.0, 6.0]]).__round__(3)
    1.414
    """
    truth, fill = _same_shape(X=X, filled=filled)
    if truth.ndim != 2:
        raise InvalidInput(f"X must be a table with two dimensions; got {truth.ndim}.")
    return _root_mean_square(truth - fill) * math.sqrt(len(truth))


def rmse(X: npt.ArrayLike, filled: npt.ArrayLike, M: npt.ArrayLike) -> float:
    """Root mean squared error over the missing entries.

    Examples
    --------
    >>> rmse([[1.0, 2.0]], [[1.0, 5.0]], [[False, True]])
    3.0
    """
    truth, fill = _same_shape(X=X, filled=filled)
    missing = _checked_mask(M, truth.shape)
    return _root_mean_square((truth - fill)[missing])


def nrmse(X: npt.ArrayLike, filled: npt.ArrayLike, M: npt.ArrayLike) -> float:
    """RMSE over the missing entries, each error divided by the standard deviation of its column in `X`.

    Imputation by the column mean has an error of about 1. Constant columns are left out. If all columns are
    constant, the error is 0 for a perfect fill and infinite otherwise.

    Examples
    --------
    >>> nrmse([[0.0], [2.0]], [[0.0], [1.0]], [[False], [True]])
    1.0
    """
    truth, fill = _same_shape(X=X, filled=filled)
    missing = _checked_mask(M, truth.shape)
    std = np.array([_std(column[np.isfinite(column)]) for column in truth.T])
    scored = missing & (std > 0)
    if not scored.any():
        return 0.0 if np.array_equal(truth[missing], fill[missing]) else math.inf
    return _root_mean_square(((truth - fill) / np.where(std > 0, std, 1.0))[scored])


def relative_to_start(X: npt.ArrayLike, filled: npt.ArrayLike, start: npt.ArrayLike) -> float:
    """‖X − X̃‖_F / ‖X − X⁽⁰⁾‖_F: the error relative to that of the starting values X⁽⁰⁾.

    Examples
    --------
    >>> relative_to_start([[1.0]], [[1.5]], [[3.0]])
    0.25
    """
    truth, fill, initial = _same_shape(X=X, filled=filled, start=start)
    before, after = _root_mean_square(truth - initial), _root_mean_square(truth - fill)
    if before == 0:
        return 0.0 if after == 0 else math.inf
    return after / before


def psnr(
    X: npt.ArrayLike,
    filled: npt.ArrayLike,
    M: npt.ArrayLike | None = None,
    *,
    data_range: float = 1.0,
) -> float:
    """10·log₁₀(data_range² / MSE): the peak signal-to-noise ratio in decibels.

    The mean squared error is over the missing entries, or over all entries if `M` is None. `data_range` is
    the largest possible value minus the smallest.

    Examples
    --------
    >>> psnr([[0.0, 1.0]], [[0.1, 0.9]]).__round__(6)
    20.0
    """
    truth, fill = _same_shape(X=X, filled=filled)
    require_number("data_range", data_range, above=0)
    difference = truth - fill if M is None else (truth - fill)[_checked_mask(M, truth.shape)]
    error = _root_mean_square(difference)
    return math.inf if error == 0 else 20 * math.log10(data_range / error)
