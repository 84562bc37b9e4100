"""What the sweeps with learned metrics found."""

from dataclasses import dataclass, field, replace

import numpy as np

from manifill._arrays import Array, Indices, Mask, to_numpy
from manifill._fillers.base import Fill
from manifill._fillers.metric.copies import Copies
from manifill._fillers.metric.preset import Member, Preset, is_kernel
from manifill._fillers.metric.regression import Regression
from manifill._fillers.sweep import Component, Ensemble
from manifill._ordering import Groups

# Most stages of a sweep: with more, groups use newer values of each other, but fewer are fitted in parallel.
# Naval, 5,000 rows: .0400 with four stages, .0376 with eight.
_STAGES = 6

Stages = tuple[tuple[int, ...], ...]
"""Positions of the groups of columns in each stage."""


def stages(fold: Indices, groups: Groups, helping: Mask) -> Stages:
    """The groups of each stage: those of some folds; at last those of columns that are not `helping` (d,)."""
    n_folds = int(fold.max(initial=-1, where=helping)) + 1
    stage = np.arange(n_folds) * min(_STAGES, n_folds) // max(n_folds, 1)
    stage = np.append(stage, _STAGES)
    of_group = np.array([stage[fold[group[0]]] for group in groups], dtype=np.intp)
    return tuple(tuple(np.flatnonzero(of_group == one).tolist()) for one in np.unique(of_group))


@dataclass(frozen=True, eq=False)
class MetricSweep:
    """What one sweep learned.

    Attributes
    ----------
    members : what predicted the columns.
    centres : of kernels, if not all rows were centres.
    copies : the rows that its regressions were fitted to.
    weights : (G, d), weights of the predictors of each group.
    strength : (G, d), the same, in the tuned kernels if there are any.
    errors : (d,), root mean square errors of imputed predictors.
    shares : (G, C), weights of the members in the blend.
    regressions : for each group; None for a group that gets its mean. Empty if they are to be computed: trees
        would need much memory.
    """

    members: tuple[Member, ...]
    centres: int
    copies: Copies
    weights: Array
    strength: Array
    errors: Array
    shares: Array
    regressions: tuple[Regression | None, ...] = ()

    @property
    def mean_shares(self) -> Array:
        """(C,), mean weights of the members over the groups."""
        C = len(self.members)
        return self.shares.mean(axis=0) if len(self.shares) else np.full(C, 1 / C)


@dataclass(frozen=True, eq=False, repr=False)
class MetricFill(Fill):
    """The fill.

    Attributes
    ----------
    groups : groups of columns that are fitted.
    sweeps : the sweeps so far.
    left_out : (t, d), values of the known entries in `rows` by fits without them, in standardised units.
    errors : root mean square error of `left_out` after each sweep, in standardised units.
    shrinkage : (d,), factors on the distance from the column means.
    """

    groups: Groups = ()
    sweeps: tuple[MetricSweep, ...] = ()
    left_out: Array = field(default_factory=lambda: np.zeros((0, 0)))
    errors: tuple[float, ...] = ()
    shrinkage: Array = field(default_factory=lambda: np.zeros(0))

    @property
    def rows(self) -> Indices:
        """(t,), rows that the regressions were fitted to."""
        return self.sweeps[-1].copies.rows if self.sweeps else np.zeros(0, dtype=np.intp)

    def shrunk(self, shrinkage: Array) -> "MetricFill":
        """The same with imputed values shrunk towards the column means, by factors (d,)."""
        factors = shrinkage * self.problem.predictors.informed(self.problem.M)
        Z = np.where(self.problem.M, to_numpy(self.Z) * factors, self.problem.Z)
        return replace(self, Z=Z, left_out=self.left_out * shrinkage, shrinkage=shrinkage)

    @property
    def importances(self) -> Array:
        """(d, d), weight of each column in the metric of each column; 0 for columns filled by their mean."""
        found = np.zeros((self.problem.shape[1],) * 2)
        for group, weights in zip(self.groups, self.sweeps[-1].strength, strict=True):
            found[list(group)] = weights * bool(self.shrinkage[list(group)].any())
        return found

    def ensemble(self, preset: Preset) -> Ensemble:
        """The kernels on all rows or centres of the last sweep, with their mean weights over the groups."""
        used = self.sweeps[-1].members if self.sweeps else preset.first
        shares = self.sweeps[-1].mean_shares if self.sweeps else np.ones(len(used))
        most = int((~self.problem.M[self.rows]).sum(axis=0).max(initial=0))
        weighted = zip(used, shares, strict=True)
        fits = [(one, float(w)) for one, w in weighted if isinstance(one, Component) and is_kernel(one)]
        total = sum(weight for _, weight in fits)
        if not total > 0:
            fits, total = [(fits[0][0], 1.0)], 1.0
        return Ensemble(
            tuple(
                replace(one, solver=preset.solver(one, most), weight=weight / total)
                for one, weight in fits
                if weight > 0
            ),
            self.shrinkage if self.shrinkage.size else None,
        )
