"""Which way of sweeping belongs to which solver."""

from collections.abc import Sequence
from typing import Protocol

from manifill.arrays import Array
from manifill.errors import IncompatibleKernel, InvalidInput
from manifill.kernels import Kernel
from manifill.solvers import AnySolver, Landmarks, Local, Ridge, Solver
from manifill.sweep.landmarks import LandmarkSweeps
from manifill.sweep.local import LocalSweeps
from manifill.sweep.order import Block
from manifill.sweep.problem import Problem
from manifill.sweep.step import Exact
from manifill.sweep.trace import Findings


class Method(Protocol):
    """How one sweep after the other is made."""

    def sweep(self, Z: Array, blocks: Sequence[Block], deadline: float) -> tuple[Array, Findings] | None: ...


def method_of(
    problem: Problem,
    blocks: tuple[Block, ...],
    kernel: Kernel,
    solver: AnySolver,
    seed: int,
    device: str | None = None,
) -> Method:
    """The method for a solver, on a device where that is asked for."""
    if isinstance(solver, Local):
        if not kernel.additive:
            raise IncompatibleKernel(
                f"The Local solver needs a kernel of sums over columns; {kernel!r} is not one. "
                "Use solver='landmarks' or another kernel."
            )
        _refuse_device(device, kernel, solver)
        return LocalSweeps(problem, blocks, kernel, solver)
    return exact_or_landmarks(problem, blocks, kernel, solver, seed, device)


def exact_or_landmarks(
    problem: Problem,
    blocks: tuple[Block, ...],
    kernel: Kernel,
    solver: Solver | Landmarks,
    seed: int,
    device: str | None = None,
) -> Exact | LandmarkSweeps:
    """The methods that leave coefficients behind."""
    if not (isinstance(solver, Ridge) and kernel.additive):
        _refuse_device(device, kernel, solver)
    if isinstance(solver, Landmarks):
        return LandmarkSweeps(problem, blocks, kernel, solver, seed)
    return Exact(problem, blocks, kernel, solver, device)


def _refuse_device(device: str | None, kernel: Kernel, solver: AnySolver) -> None:
    if device is not None:
        raise InvalidInput(
            "On a device columns are extended by the ridge solver, with a kernel of sums over columns; "
            f"got {solver!r} and {kernel!r}. Use device=None, which serves all of them."
        )
