"""All code that needs torch: choosing a device, moving arrays to it, batched factorisations on it.

torch is imported only when a device or a tensor is used. Any device of torch works; the tests use the CPU.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from manifill._arrays import Array, Indices, Tensor
from manifill._checks import is_option
from manifill.errors import InvalidInput, MissingDependency, NotPositiveDefinite

# Largest number of matrix entries in a batch: 1 GiB of float64.
_LARGEST_BATCH = 2**27


def _torch() -> Any:
    try:
        import array_api_compat  # noqa: F401
        import torch
    except ImportError as error:
        raise MissingDependency(
            "Computing on a device needs torch, which is not installed: pip install 'manifill[gpu]'. "
            "Or use device=None, which computes with numpy on the CPU."
        ) from error
    return torch


def is_tensor(array: object) -> bool:
    """Whether the object is a torch tensor; does not import torch."""
    return type(array).__module__.partition(".")[0] == "torch" and hasattr(array, "device")


def from_tensor(X: Tensor) -> tuple[Any, str | None]:
    """A tensor as a numpy array and its device; any other object unchanged and None."""
    if not is_tensor(X):
        return X, None
    try:
        return X.detach().cpu().numpy(), str(X.device)
    except TypeError:
        raise InvalidInput(
            f"Tensors must have a dtype that numpy supports; got {X.dtype}. Use X.to(torch.float32)."
        ) from None


def find_device(device: object) -> str | None:
    """Name of the torch device to use; None for numpy.

    "auto" selects the GPU if torch finds one, and numpy otherwise. Other strings are names of torch devices.
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
            f"device must be None, 'auto', 'cpu', 'cuda' or another torch device; got {device!r}."
        ) from None
    if not _usable(torch, name, torch.float32):
        raise InvalidInput(
            f"device={name!r} needs a GPU that torch can use; torch finds none. Use device='auto', which "
            "uses a GPU if there is one, or device=None."
        )
    if not _usable(torch, name, torch.float64):
        raise InvalidInput(
            f"device={name!r} must support double precision (float64); it does not. Use device=None, which "
            "computes with numpy on the CPU."
        )
    return name


def _usable(torch: Any, device: str, dtype: Any) -> bool:
    """Whether torch can compute with numbers of this type on a device."""
    try:
        torch.zeros(1, dtype=dtype, device=device).cpu()
    except (RuntimeError, AssertionError, TypeError, NotImplementedError):
        return False
    return True


def memory_of(device: str) -> float:
    """Free memory of the device in bytes; infinite for devices other than CUDA."""
    return float(_torch().cuda.mem_get_info(device)[0]) if device.startswith("cuda") else float("inf")


def place(array: Tensor, device: str | None) -> Tensor:
    """The array as a tensor on the device; the array itself if the device is None."""
    if device is None:
        return array
    return _torch().as_tensor(np.array(array), device=device)


def tensor_absolute_distance(X: Array, Y: Array) -> Array:
    """L1 distances Σ_c |x_c − y_c| between the rows of X and the rows of Y."""
    distance: Array = _torch().cdist(X, Y, p=1.0)
    return distance


def tensor_median_positive(distances: Tensor) -> Tensor:
    """Median of the positive distances, 0 if there are none, as a scalar tensor on the same device."""
    torch = _torch()
    values = torch.sort(distances.flatten()).values
    n_zero = (values <= 0).sum()
    n_positive = len(values) - n_zero
    middle = n_zero + torch.stack([(n_positive - 1) // 2, n_positive // 2]).clamp_(min=0)
    return values[middle.clamp_(max=len(values) - 1)].mean()


def tensor_inverse(K: Array, added: float) -> Array | None:
    """(K + added·I)⁻¹; None if it is not positive definite."""
    torch = _torch()
    shifted = torch.clone(K)
    shifted.diagonal().add_(added)
    lower, failed = torch.linalg.cholesky_ex(shifted)
    return None if failed else torch.cholesky_inverse(lower)


class TensorSubsets:
    """`solvers.Subsets` on a device: sets of rows A with their columns J, solved in batches.

    Sets are sorted by size and padded to the largest set of their batch. The padding index refers to an extra
    row after all others, with affinity 0 to every row.
    """

    def __init__(self, subsets: Any, device: Any) -> None:
        self.columns, self.sizes, self.work = subsets.columns, subsets.sizes, subsets.work
        self._members, self._device = subsets.members, device
        self._failed: Any = None
        self._values: tuple[Any, list[Any]] = (None, [])
        self.defer_checks = True
        """Do not wait for the status of a factorisation; `succeeded` checks it later."""

    def succeeded(self) -> bool:
        """Whether all unchecked factorisations since the last call succeeded."""
        failed, self._failed = self._failed, None
        return failed is None or not bool(failed)

    def solve(self, K: Tensor, F: Tensor, added: Sequence[Any]) -> tuple[Any, Any]:
        """X with (K[A, A] + r·I) X[A, J] = F[A, J] for every set, zero elsewhere; and r.

        r is the first value in `added` with which all matrices are positive definite.
        """
        K = _torch().nn.functional.pad(K, (0, 1, 0, 1))
        for shift in added:
            X, failed = self._solve(K, self._gather(F), shift)
            if self.defer_checks:
                self._failed = failed if self._failed is None else self._failed | failed
            if self.defer_checks or not bool(failed):
                return X[:-1], shift
        raise NotPositiveDefinite(
            f"Cholesky needs positive definite matrices; the affinities of known rows with {added[-1]:.3g} "
            "added to the diagonal are not. Use the spectral solver or a larger ridge."
        )

    def lay_out(self, F: Tensor) -> None:
        """Move the arrays needed to solve for F to the device."""
        self._gather(F)

    def _gather(self, F: Tensor) -> list[Any]:
        """F[A, J] of every batch, zero in the padding; cached, because known values do not change."""
        if self._values[0] is not F:
            padded = _torch().nn.functional.pad(F, (0, 0, 0, 1))
            self._values = (F, [padded[A[:, :, None], J[:, None, :]] for A, J, _ in self._batches])
        return self._values[1]

    def _solve(self, K: Tensor, values: list[Any], added: Any) -> tuple[Any, Any]:
        torch = _torch()
        X = torch.zeros((len(K), self._members.shape[1]), dtype=K.dtype, device=K.device)
        failures = []
        for (A, J, padding), right in zip(self._batches, values, strict=True):
            matrices = K[A[:, :, None], A[:, None, :]]
            # torch.where would round Python floats to single precision.
            matrices.diagonal(dim1=1, dim2=2).add_(padding * (1.0 - added) + added)
            lower, failed = torch.linalg.cholesky_ex(matrices)
            failures.append(failed)
            X[A[:, :, None], J[:, None, :]] = torch.cholesky_solve(right, lower)
        return X, torch.cat(failures).any()

    @cached_property
    def _batches(self) -> list[tuple[Any, Any, Any]]:
        """For each batch, on the device: rows A (b, a), columns J (b, j), and 1 where A is padding (b, a)."""
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
            for batch in _split(chosen, self.sizes[chosen]):
                J = np.stack([self.columns[s] for s in batch])
                A = rows[J[:, 0], : max(1, int(self.sizes[batch].max()))]
                padding = np.equal(A, n).astype(np.float64)
                batches.append(tuple(torch.as_tensor(a, device=self._device) for a in (A, J, padding)))
        return batches


def _split(sets: Indices, sizes: Indices) -> list[Indices]:
    """Split sets sorted by size into batches of at most `_LARGEST_BATCH` matrix entries, or of one set.

    Smaller batches, with less padding, were slower: launching a batch costs more than the padding.
    """
    batches, first = [], 0
    for last in range(1, len(sets) + 1):
        if last == len(sets) or (last + 1 - first) * int(sizes[last]) ** 2 > _LARGEST_BATCH:
            batches.append(sets[first:last])
            first = last
    return batches
