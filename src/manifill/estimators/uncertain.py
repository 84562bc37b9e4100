"""How sure a fitted imputer is of what it filled, and the tables that could have been."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from manifill.arrays import Array, Mask, Table
from manifill.checks import as_generator, require_number
from manifill.devices import place
from manifill.errors import InvalidInput
from manifill.estimators.validation import read_bounds
from manifill.geometry import Restored
from manifill.multiple import draws
from manifill.sweep import Recipe, Status
from manifill.tuning import Choice, Plan, rehearse
from manifill.uncertainty import Errors


class Uncertain:
    """The part of `IGHImputer` that asks hidden entries."""

    bounds: Any
    n_features_in_: int
    recipe_: Recipe
    tuning_: Choice | None
    restored_: Restored | None
    _model: Any
    """A `Model`, or a `FieldModel` where all columns are alike."""
    status_: Status
    _plan: Plan
    _judging_rng: np.random.Generator
    _judgement: Choice | None
    _kept: Mask
    _labels: list[Any]
    _came_from: str | None

    def _assemble(self, given: Table, filled: Table) -> Table:
        raise NotImplementedError

    def _judged(self) -> Choice:
        """What hidden entries say of the recipe; where nothing was chosen with them, found when asked for."""
        if self._judgement is None:
            self._judgement = self.tuning_ or rehearse(
                self._model.state.problem,
                self.recipe_,
                replace(self._plan, deadline=math.inf),
                self._judging_rng,
            )
        return self._judgement

    @property
    def errors_(self) -> Errors:
        """What hidden entries tell of the errors of the fills, in standard units."""
        check_is_fitted(self)
        if self.restored_ is not None:
            raise InvalidInput("errors_ is of rows alone; with columns=… ask intervals() and accuracy_.")
        choice = self._judged()
        state = self._model.state
        reliance = choice.recipe.relied_on(np.arange(state.problem.shape[1]))
        assert choice.evidence is not None
        return Errors(state.problem, np.asarray(state.Z), choice.evidence, reliance, choice.share)

    def intervals(self, level: float = 0.9, *, bounds: Any = None) -> tuple[Any, Any]:
        """Lower and upper end of an interval that holds each missing value with this probability.

        Both are tables like `completed_`; where a value is observed both are that value. They are calibrated
        on hidden entries.

        Parameters
        ----------
        level : the probability.
        bounds : as of the imputer. Default: its own; but "observed" holds fills only, not what they might be.
        """
        require_number("level", level, above=0, below=1)
        if self.restored_ is not None:
            low, high = self.restored_.intervals(level, self._limits(bounds))
            return self._whole(low), self._whole(high)
        errors = self.errors_
        half = errors.half_widths(level) * errors.problem.scaling.weight
        limits = self._limits(bounds)
        return self._table(errors.Z - half, limits), self._table(errors.Z + half, limits)

    def draws(self, m: int = 5, *, bounds: Any = None, chosen: Any = (), seed: Any = 0) -> Iterator[Any]:
        """Yield m completed tables, whose fills are drawn from what the missing values may be.

        For multiple imputation: estimate from each, and let `manifill.pool` pool the results.

        Parameters
        ----------
        m : how many.
        bounds : as in `intervals`.
        chosen : groups of columns of which one is 1 and the others are 0, or single columns that are 0 or 1.
        seed : the same seed gives the same tables.
        """
        if self.restored_ is not None:
            require_number("m", m, least=1, whole=True)
            if len(chosen):
                raise InvalidInput("chosen is for rows alone; with columns=… draws are of numbers only.")
            limits = self._limits(bounds)
            for rng in as_generator(seed).spawn(m):
                yield self._whole(self.restored_.drawn(rng, limits))
            return
        errors, limits = self.errors_, self._limits(bounds)
        standard = errors.problem.scaling.standardise(limits)
        for Z in draws(errors, self.recipe_, m, as_generator(seed), bounds=standard, chosen=chosen):
            yield self._table(Z, limits)

    def _limits(self, bounds: Any) -> Array:
        """(2, d), the bounds given; of the range observed only that what was never negative stays so."""
        given = self._model.state.problem.given
        bounds = self.bounds if bounds is None else bounds
        if not (isinstance(bounds, str) and bounds == "observed"):
            return read_bounds(bounds, self._labels, self._in_place(given))[:, self._kept]
        lowest = np.where(np.isnan(given), np.inf, given).min(axis=0)
        return np.array([np.where(lowest >= 0, 0.0, -np.inf), np.full(len(lowest), np.inf)])

    def _table(self, Z: Array, limits: Array) -> Any:
        """A table like `completed_`, with Z in standard units where values are missing, held to limits."""
        problem = self._model.state.problem
        whole = np.zeros(problem.given.shape)
        whole[problem.rows] = Z
        values = np.clip(problem.scaling.restore(whole), *limits)
        filled = np.where(np.isnan(problem.given), values, problem.given).astype(problem.given.dtype)
        return place(self._assemble(self._in_place(problem.given), filled), self._came_from)

    def _whole(self, filled: Table) -> Any:
        """A table like `completed_` of filled columns."""
        return place(self._assemble(self._in_place(self._model.state.problem.given), filled), self._came_from)

    def _in_place(self, kept: Table) -> Table:
        """The columns kept, in their places among all."""
        whole = np.full((len(kept), self.n_features_in_), np.nan, kept.dtype)
        whole[:, self._kept] = kept
        return whole
