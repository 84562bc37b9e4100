"""How runs are made while choosing, one after the other or side by side."""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

import numpy as np

from manifill.sweep import (
    LinearStart,
    MeanStart,
    Order,
    Problem,
    RandomOrder,
    Recipe,
    Schedule,
    Start,
    State,
    StoppingRule,
    TimeLimit,
    sweeps,
)
from manifill.threads import Workers, share

Task = TypeVar("Task")
Result = TypeVar("Result")

# Rows up to which whole runs side by side are faster than one after the other with all threads.
_SIDE_BY_SIDE = 1000


@dataclass(frozen=True)
class Plan:
    """How a run is made, apart from its kernel and solver."""

    start: Start | None = None
    """None for the column means, or what is chosen."""
    order: Order = field(default_factory=RandomOrder)
    schedule: Schedule = field(default_factory=Schedule)
    relaxation: float = 1.0
    tol: float = 1e-2
    max_sweeps: int = 10
    device: str | None = None
    n_jobs: int | None = None
    deadline: float = math.inf
    """When to come to an end, on the monotonic clock."""

    def run(
        self, problem: Problem, recipe: Recipe, rng: np.random.Generator, stopping: Sequence[StoppingRule]
    ) -> Iterable[State]:
        rules = list(stopping)
        if math.isfinite(self.deadline):
            rules.append(TimeLimit(max(self.deadline - time.monotonic(), 1e-9)))
        return sweeps(
            problem,
            recipe=recipe,
            start=self.start or MeanStart(),
            order=self.order,
            schedule=self.schedule,
            relaxation=self.relaxation,
            stopping=rules,
            rng=rng,
            device=self.device,
            n_jobs=self.n_jobs,
        )

    @property
    def opening(self) -> int:
        """Sweeps that look at the whole table at once, before the columns are visited."""
        return 1 if isinstance(self.start, LinearStart) else 0

    @property
    def time_is_up(self) -> bool:
        return time.monotonic() >= self.deadline


def side_by_side(
    function: Callable[[Task, Plan], Result], tasks: list[Task], plan: Plan, n: int
) -> list[Result]:
    """The function of every task, in threads of one job each where rows are few; else one by one."""
    if n > _SIDE_BY_SIDE or len(tasks) == 1 or plan.device is not None:
        return [function(task, plan) for task in tasks]
    with Workers(plan.n_jobs):
        return share(partial(_alone, function, replace(plan, n_jobs=1)), tasks)


def _alone(function: Callable[[Task, Plan], Result], plan: Plan, task: Task) -> Result:
    return function(task, plan)
