"""Everything that needs torch: choosing a device, moving tables there, and batched factorisations on it.

torch is loaded only when a device or a tensor is used. The tensors may lie on any device; on the processor
they serve the tests.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from manifill._arrays import Array, Indices
from manifill._checks import is_option
from manifill.errors import InvalidInput, MissingDependency, NotPositiveDefinite

# Numbers that a batch of matrices may hold: 1 GiB of float64.
_LARGEST_BATCH = 2**27


def _torch() -> Any:
    try:
        import array_api_compat  # noqa: F401
        import torch
    except ImportError as error:
        raise MissingDependency(
            "Working on a device needs torch, which is not installed: pip install 'manifill[gpu]'. "
            "Or leave device=None, which uses the processor."
        ) from error
    return torch


def is_tensor(array: object) -> bool:
    """Is it a torch tensor? Answered without loading torch."""
    return type(array).__module__.partition(".")[0] == "torch" and hasattr(array, "device")


def from_tensor(X: Any) -> tuple[Any, str | None]:
    """A tensor as a numpy array, and the device it came from; anything else as it is, and None."""
    if not is_tensor(X):
        return X, None
    try:
        return X.detach().cpu().numpy(), str(X.device)
    except TypeError:
        raise InvalidInput(
            f"Tensors must be of a type that numpy has; got {X.dtype}. Use X.to(torch.float32)."
        ) from None


def find_device(device: object) -> str | None:
    """The name of the device asked for, None for plain numpy.

    "auto" is the graphics card where there is one, and numpy otherwise; any other word is torch's.
    """
    if device is None:
        return None
    if is_option(device, "auto"):
        try:
            torch = _torch()
        except MissingDependency:
            return None
        return "cuda" if torch.cuda.is_available() else None
    torch = _torch()
    try:
        name = str(torch.device(device))
    except (RuntimeError, TypeError, ValueError):
        raise InvalidInput(
            f"device must be None, 'auto', 'cpu', 'cuda' or another device of torch's; got {device!r}."
        ) from None
    try:
        torch.zeros(1, dtype=torch.float64, device=name).cpu()
    except (RuntimeError, AssertionError, TypeError, NotImplementedError):
        usable = False
    else:
        usable = True
    if not usable:
        raise InvalidInput(
            f"device={name!r} needs a graphics card that torch can use, and it finds none. Use "
            "device='auto', which takes one where there is one, or device=None."
        )
    return name


def memory_of(device: str) -> float:
    """Bytes that are free on the device; infinite where torch does not say."""
    return float(_torch().cuda.mem_get_info(device)[0]) if device.startswith("cuda") else float("inf")


def place(array: Any, device: str | None) -> Any:
    """The array on the device, as a tensor; as it is where the device is None."""
    if device is None:
        return array
    return _torch().as_tensor(np.array(array), device=device)


def tensor_absolute_distance(X: Array, Y: Array) -> Array:
    """Σ_c |x_c − y_c| of every row of X with every row of Y."""
    distance: Array = _torch().cdist(X, Y, p=1.0)
    return distance


def tensor_median_positive(distances: Any) -> Any:
    """The median of the positive ones, 0 where there is none: a number that still lies on its device."""
    torch = _torch()
    values = torch.sort(distances.flatten()).values
    n_zero = (values <= 0).sum()
    n_positive = len(values) - n_zero
    middle = n_zero + torch.stack([(n_positive - 1) // 2, n_positive // 2]).clamp_(min=0)
    return values[middle.clamp_(max=len(values) - 1)].mean()


def tensor_inverse(K: Array, added: float) -> Array | None:
    """(K + added·I)⁻¹; None where it is not positive definite."""
    torch = _torch()
    shifted = torch.clone(K)
    shifted.diagonal().add_(added)
    lower, failed = torch.linalg.cholesky_ex(shifted)
    return None if failed else torch.cholesky_inverse(lower)


class TensorSubsets:
    """`solvers.Subsets` on a device: sets of rows A with their columns J, solved in batches.

    Sets are sorted by size and padded to the largest of their batch; padding is a row of its own behind all
    rows, with no affinity to any other.
    """

    def __init__(self, subsets: Any, device: Any) -> None:
        self.columns, self.sizes, self.work = subsets.columns, subsets.sizes, subsets.work
        self._members, self._device = subsets.members, device
        self._failed: Any = None
        self._values: tuple[Any, list[Any]] = (None, [])
        self.trusting = True
        """Do not wait for the device to say whether a factorisation succeeded; `succeeded` asks it later."""

    def succeeded(self) -> bool:
        """Did everything solved on trust since the last question turn out positive definite?"""
        failed, self._failed = self._failed, None
        return failed is None or not bool(failed)

    def solve(self, K: Any, F: Any, added: Sequence[Any]) -> tuple[Any, Any]:
        """X with (K[A, A] + r·I) X[A, J] = F[A, J] for every set, zero elsewhere; and r.

        r is the first of `added` with which all matrices are positive definite.
        """
        K = _torch().nn.functional.pad(K, (0, 1, 0, 1))
        for one in added:
            X, failed = self._solve(K, self._gathered(F), one)
            if self.trusting:
                self._failed = failed if self._failed is None else self._failed | failed
            if self.trusting or not bool(failed):
                return X[:-1], one
        raise NotPositiveDefinite(
            f"Cholesky needs positive definite matrices; with {added[-1]:.3g} added to the diagonal the "
            "affinities among known rows are not. Use the spectral solver or a larger ridge."
        )

    def lay_out(self, F: Any) -> None:
        """Move to the device what solving for F will need."""
        self._gathered(F)

    def _gathered(self, F: Any) -> list[Any]:
        """F[A, J] of every batch, zero in the padding; kept, since known values do not change."""
        if self._values[0] is not F:
            padded = _torch().nn.functional.pad(F, (0, 0, 0, 1))
            self._values = (F, [padded[A[:, :, None], J[:, None, :]] for A, J, _ in self._batches])
        return self._values[1]

    def _solve(self, K: Any, values: list[Any], added: Any) -> tuple[Any, Any]:
        torch = _torch()
        X = torch.zeros((len(K), self._members.shape[1]), dtype=K.dtype, device=K.device)
        failures = []
        for (A, J, padding), right in zip(self._batches, values, strict=True):
            matrices = K[A[:, :, None], A[:, None, :]]
            # Not torch.where, which would round plain numbers to single precision.
            matrices.diagonal(dim1=1, dim2=2).add_(padding * (1.0 - added) + added)
            lower, failed = torch.linalg.cholesky_ex(matrices)
            failures.append(failed)
            X[A[:, :, None], J[:, None, :]] = torch.cholesky_solve(right, lower)
        return X, torch.cat(failures).any()

    @cached_property
    def _batches(self) -> list[tuple[Any, Any, Any]]:
        """Rows A (b, a), columns J (b, j), and 1 where A is padding, on the device."""
        torch, n = _torch(), len(self._members)
        column, row = np.nonzero(self._members.T)
        counts = self._members.sum(axis=0)
        rows = np.full((len(counts), max(1, int(counts.max(initial=0)))), n)
        rows[column, np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)] = row
        widths = np.array([len(J) for J in self.columns])
        batches = []
        for width in np.unique(widths):
            chosen = np.flatnonzero(widths == width)
            chosen = chosen[np.argsort(self.sizes[chosen], kind="stable")]
            for batch in _cut(chosen, self.sizes[chosen]):
                J = np.stack([self.columns[s] for s in batch])
                A = rows[J[:, 0], : max(1, int(self.sizes[batch].max()))]
                padding = np.equal(A, n).astype(np.float64)
                batches.append(tuple(torch.as_tensor(a, device=self._device) for a in (A, J, padding)))
        return batches


def _cut(sets: Indices, sizes: Indices) -> list[Indices]:
    """Cut sorted sets into batches that fit into memory.

    Cutting them further, to pad less, was slower: handing a task to a card takes longer than the padding.
    """
    batches, first = [], 0
    for last in range(1, len(sets) + 1):
        if last == len(sets) or (last + 1 - first) * int(sizes[last]) ** 2 > _LARGEST_BATCH:
            batches.append(sets[first:last])
            first = last
    return batches
