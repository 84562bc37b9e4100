"""The sweep method for each type of solver."""

from collections.abc import Sequence
from typing import Protocol

from manifill._arrays import Array
from manifill._fillers.sweep.ensemble import Ensemble
from manifill._fillers.sweep.landmarks import LandmarkSweeps
from manifill._fillers.sweep.local import LocalSweeps
from manifill._fillers.sweep.order import Block
from manifill._fillers.sweep.outcome import Findings
from manifill._fillers.sweep.step import Exact
from manifill._problem import Problem
from manifill.errors import IncompatibleKernel, InvalidInput
from manifill.solvers import Landmarks, Local, Ridge


class Method(Protocol):
    """A sweep method: `sweep` visits the blocks once."""

    def sweep(self, Z: Array, blocks: Sequence[Block], deadline: float) -> tuple[Array, Findings] | None: ...


def method_of(
    problem: Problem, blocks: tuple[Block, ...], ensemble: Ensemble, seed: int, device: str | None = None
) -> Method:
    """The sweep method for the solvers of an ensemble."""
    if isinstance(ensemble.solver, Local):
        if not ensemble.additive:
            raise IncompatibleKernel(
                f"The Local solver needs a kernel of sums over columns; {ensemble.main.kernel!r} is not one. "
                "Use solver='landmarks' or another kernel."
            )
        _refuse_device(device, ensemble)
        return LocalSweeps(problem, blocks, ensemble)
    return exact_or_landmarks(problem, blocks, ensemble, seed, device)


def exact_or_landmarks(
    problem: Problem, blocks: tuple[Block, ...], ensemble: Ensemble, seed: int, device: str | None = None
) -> Exact | LandmarkSweeps:
    """The sweep methods that give coefficients for new rows."""
    if not (isinstance(ensemble.solver, Ridge) and ensemble.additive):
        _refuse_device(device, ensemble)
    if isinstance(ensemble.solver, Landmarks):
        return LandmarkSweeps(problem, blocks, ensemble, seed)
    return Exact(problem, blocks, ensemble, device)


def _refuse_device(device: str | None, ensemble: Ensemble) -> None:
    if device is not None:
        raise InvalidInput(
            "On a device columns are extended by the ridge solver, with a kernel of sums over columns; "
            f"got {ensemble.solver!r} and {ensemble.main.kernel!r}. Use device=None, which supports all."
        )
