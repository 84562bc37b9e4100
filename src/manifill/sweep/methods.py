"""Which way of sweeping belongs to which recipe."""

from collections.abc import Sequence
from typing import Protocol

from manifill.arrays import Array
from manifill.errors import IncompatibleKernel, InvalidInput
from manifill.solvers import Landmarks, Local, Ridge
from manifill.sweep.landmarks import LandmarkSweeps
from manifill.sweep.local import LocalSweeps
from manifill.sweep.order import Block
from manifill.sweep.problem import Problem
from manifill.sweep.recipe import Recipe
from manifill.sweep.step import Exact
from manifill.sweep.trace import Findings


class Method(Protocol):
    """How one sweep after the other is made."""

    def sweep(self, Z: Array, blocks: Sequence[Block], deadline: float) -> tuple[Array, Findings] | None: ...


def method_of(
    problem: Problem, blocks: tuple[Block, ...], recipe: Recipe, seed: int, device: str | None = None
) -> Method:
    """The method for a recipe's solvers, on a device where that is asked for."""
    if isinstance(recipe.solver, Local):
        if not recipe.additive:
            raise IncompatibleKernel(
                f"The Local solver needs a kernel of sums over columns; {recipe.main.kernel!r} is not one. "
                "Use solver='landmarks' or another kernel."
            )
        _refuse_device(device, recipe)
        return LocalSweeps(problem, blocks, recipe)
    return exact_or_landmarks(problem, blocks, recipe, seed, device)


def exact_or_landmarks(
    problem: Problem, blocks: tuple[Block, ...], recipe: Recipe, seed: int, device: str | None = None
) -> Exact | LandmarkSweeps:
    """The methods that leave coefficients behind."""
    if not (isinstance(recipe.solver, Ridge) and recipe.additive):
        _refuse_device(device, recipe)
    if isinstance(recipe.solver, Landmarks):
        return LandmarkSweeps(problem, blocks, recipe, seed)
    return Exact(problem, blocks, recipe, device)


def _refuse_device(device: str | None, recipe: Recipe) -> None:
    if device is not None:
        raise InvalidInput(
            "On a device columns are extended by the ridge solver, with a kernel of sums over columns; "
            f"got {recipe.solver!r} and {recipe.main.kernel!r}. Use device=None, which serves all of them."
        )
