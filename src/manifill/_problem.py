"""`Problem`: a table with missing entries, checked and standardised once; immutable."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from manifill._arrays import Array, Indices, Mask, Table, frozen, to_numpy
from manifill._ordering import Groups, group_order, row_order
from manifill._predictors import Predictors
from manifill._scaling import Scaling
from manifill.errors import InvalidInput
from manifill.layouts import Layout, shared_scale

DIVERGED = 1e4
"""Bound on a fill, in standard deviations; a fill that reaches it has diverged.

Observed values lie within √n of the mean. Set by hand, not tuned.
"""


@dataclass(frozen=True, eq=False)
class Problem:
    """A table with missing entries, in standardised units. Make one with `Problem.of`.

    Attributes
    ----------
    given : (N, d), the table as given; NaN where missing.
    rows : (n,), indices of the rows in use, sorted by time if rows have moments, else in the order of
        `row_order`, unless there is a layout. Rows without any observed value are in use only if there are
        moments or a layout, from which they can be filled. `restore` fills the other ones with the means.
        With predictors given, only the columns that decide for all others count.
    scaling : means and standard deviations of the columns.
    Z : (n, d), the rows in use, standardised; 0, the mean, where missing.
    M : (n, d), True where missing.
    bounds : (2, d), lowest and highest imputed values, in the user's units.
    groups : columns that are left out together, such as the dummy columns of one variable; in the order of
        `group_order`, unless there is a layout.
    predictors : which columns may help to fill which.
    n_context : number of last columns that are only used to compare rows; complete, and never held out.
    layout : geometry of the columns; None if unknown.
    moments : (N,), times of the rows of the table; None if rows have no order.
    """

    given: Table
    rows: Indices
    scaling: Scaling
    Z: Array
    M: Mask
    bounds: Array
    groups: Groups
    predictors: Predictors
    n_context: int = 0
    layout: Layout | None = None
    moments: Array | None = None

    @classmethod
    def of(
        cls,
        X: npt.ArrayLike,
        *,
        groups: Sequence[Sequence[int]] | None = None,
        bounds: npt.ArrayLike | None = None,
        weights: npt.ArrayLike | None = None,
        n_context: int = 0,
        layout: Layout | None = None,
        moments: npt.ArrayLike | None = None,
        order: tuple[Indices, Groups] | None = None,
        allowed: npt.ArrayLike | None = None,
    ) -> "Problem":
        """Check and standardise a table.

        Parameters
        ----------
        X : (N, d), finite numbers, or NaN where missing. Every column must have an observed value, unless
            columns are homogeneous.
        groups : lists of columns that are left out together; every other column is a group of its own.
        bounds : (2, d), lowest and highest imputed value of each column; None for no bounds.
        weights : (d,), above 0, weights of the columns in distances between rows; None for 1 each.
        n_context : number of last columns that are only used to compare rows; they must be complete.
        layout : geometry of the columns.
        moments : (N,), finite, times of the rows, in any unit and order.
        order : rows and groups of a problem with the same rows and columns, to keep its order. Without it,
            rows (if they have no times) and groups are sorted by their values. Then random choices, such as
            which entries are held out, do not depend on the order, units and signs of the given table.
        allowed : (d, d), True where a column (first axis) may be filled with the help of another one; None if
            all may help. Not with a layout, moments or context columns.
        """
        given = _checked_table(X, layout)
        missing = np.isnan(given)
        N, d = given.shape
        limits = _checked_bounds(bounds, d)
        when = None if moments is None else frozen(np.array(moments, dtype=np.float64))
        _check_settings(missing, weights, n_context, when)
        plain = layout is None and when is None
        all_groups = _complete_groups(groups or (), d)
        predictors = Predictors.of(allowed, all_groups, d)
        if predictors.restricted and (not plain or n_context):
            raise InvalidInput("allowed must be None with a layout, moments or context columns.")
        if plain:
            rows = np.flatnonzero(~predictors.empty(missing))
        else:
            rows = np.arange(N) if when is None else np.argsort(when, kind="stable")
        every_row = when is None and len(rows) == N
        values, M = (given, missing) if every_row else (given[rows], missing[rows])
        values64: Array = values.astype(np.float64, copy=False)
        if predictors.restricted:  # other columns may have values in rows that are not in use
            scaling = Scaling.of(given.astype(np.float64), missing, weights)
        else:
            scaling = Scaling.of(values64, M, weights, shared_scale(layout, d))
        Z = scaling.standardise(values64)
        Z[M] = 0.0
        del values, values64  # large
        if order is not None:
            all_groups = order[1]
        elif layout is None:
            all_groups = _in_order(all_groups, predictors, Z, M, d - n_context)
        if plain:
            same = None if order is None else np.searchsorted(rows, order[0][np.isin(order[0], rows)])
            deciding = predictors.deciding
            sorted_by = (Z, M) if deciding.all() else (Z[:, deciding], M[:, deciding])
            arranged = row_order(*sorted_by) if same is None else same
            rows = rows[arranged]
            for j in range(d):  # column by column, to need no second table
                Z[:, j], M[:, j] = Z[arranged, j], M[arranged, j]
        return cls(
            given=frozen(given),
            rows=frozen(rows),
            scaling=scaling,
            Z=frozen(Z),
            M=frozen(M),
            bounds=frozen(limits),
            groups=all_groups,
            predictors=replace(predictors, groups=all_groups),
            n_context=n_context,
            layout=layout,
            moments=when,
        )

    def like(self, given: Table, **changes: Any) -> "Problem":
        """The problem with another table, standardised anew, and other settings if given in `changes`."""
        settings: dict[str, Any] = {
            "groups": self.groups,
            "bounds": self.bounds,
            "weights": self.scaling.weight,
            "n_context": self.n_context,
            "layout": self.layout,
            "moments": self.moments,
            "allowed": self.predictors.allowed,
            "order": None if changes else (self.rows, self.groups),
        }
        return Problem.of(given, **(settings | changes))

    def take(self, which: Any) -> "Problem":
        """The problem of some of the rows in use, with the same scaling."""
        rows = self.rows[which]
        return replace(
            self,
            given=frozen(self.given[rows]),
            rows=np.arange(len(rows)),
            Z=frozen(self.Z[which]),
            M=frozen(self.M[which]),
            moments=None if self.moments is None else frozen(self.moments[rows]),
        )

    def only(self, columns: Indices) -> "Problem":
        """The problem of some whole groups of columns, with the same rows and scaling; all may help."""
        position = {column: i for i, column in enumerate(columns.tolist())}
        own = tuple(tuple(position[j] for j in group) for group in self.groups if group[0] in position)
        return replace(
            self,
            given=np.take(self.given, columns, axis=1),
            scaling=self.scaling.only(columns),
            Z=np.take(self.Z, columns, axis=1),
            M=np.take(self.M, columns, axis=1),
            bounds=np.take(self.bounds, columns, axis=1),
            groups=own,
            predictors=Predictors(len(columns), own),
        )

    @cached_property
    def without_empty_rows(self) -> "Problem":
        """The problem of the rows with an observed value; a kernel between rows can use no others."""
        some = ~self.M.all(axis=1)
        return self if some.all() else self.take(np.flatnonzero(some))

    @property
    def shape(self) -> tuple[int, int]:
        n, d = self.Z.shape
        return n, d

    @property
    def times(self) -> Array:
        """(n,), times of the rows in use, in ascending order; without moments, the indices of the rows."""
        return np.asarray(self.rows if self.moments is None else self.moments[self.rows], dtype=np.float64)

    @cached_property
    def deviations(self) -> Array:
        """(n, d), `Z` in standard deviations of the columns, without the weights of the columns."""
        return frozen(self.Z / self.scaling.weight)

    @property
    def nothing_missing(self) -> bool:
        return not self.M.any()

    @cached_property
    def to_learn(self) -> Mask:
        """(n, d), the missing entries of columns that are not constant and have a known entry."""
        return frozen(self.M & (self.scaling.std > 0) & ~self.M.all(axis=0))

    @cached_property
    def incomplete(self) -> Mask:
        """(d,), True for columns with an entry in `to_learn`."""
        return frozen(np.asarray(self.to_learn.any(axis=0)))

    @cached_property
    def standard_bounds(self) -> Array:
        """(2, d), `bounds` in standardised units, within ±`DIVERGED` unless `bounds` exclude that range."""
        low, high = self.scaling.standardise(self.bounds)
        return frozen(
            np.array(
                [np.minimum(np.maximum(low, -DIVERGED), high), np.maximum(np.minimum(high, DIVERGED), low)]
            )
        )

    def has_diverged(self, Z: Array) -> bool:
        """Does a fill reach ±`DIVERGED` in a column whose bounds allow smaller values?"""
        if float(abs(Z).max()) < DIVERGED:
            return False
        Z, (low, high) = to_numpy(Z), self.standard_bounds
        return bool(((np.abs(Z) >= DIVERGED) & (low < DIVERGED) & (high > -DIVERGED)).any())

    def restore(self, Z: Array) -> Table:
        """The completed table (N, d) in the user's units and dtype."""
        every_row = np.zeros(self.given.shape)  # rows that are not in use get the column means
        every_row[self.rows] = to_numpy(Z)
        return self.complete(self.given, every_row)

    def complete(self, given: Table, Z: Array) -> Table:
        """Rows in the user's units, with `Z` where they are NaN; known values are unchanged."""
        largest = np.finfo(given.dtype).max
        fill = np.clip(np.clip(self.scaling.restore(Z), *self.bounds), -largest, largest)
        return np.where(np.isnan(given), fill.astype(given.dtype), given)


def _checked_table(X: npt.ArrayLike, layout: Layout | None) -> Table:
    given = np.asarray(X) if _is_constant(X) else np.array(X)  # later changes by the caller have no effect
    if given.ndim != 2:
        raise InvalidInput(f"X must have two dimensions, rows and columns; got {given.ndim}.")
    if given.dtype not in (np.float32, np.float64):
        given = given.astype(np.float64)
    if np.isinf(given).any():
        row, column = np.argwhere(np.isinf(given))[0]
        raise InvalidInput(
            f"X must be finite; column {column} is {given[row, column]} in row {row}. "
            "Replace infinite values by NaN to have them filled."
        )
    missing = np.isnan(given)
    if layout is not None:
        layout.shape(given.shape[1])
    if layout is not None and layout.homogeneous:
        if missing.all():
            raise InvalidInput("X must have an observed value; all of its entries are missing.")
    elif missing.all(axis=0).any():
        empty = np.flatnonzero(missing.all(axis=0)).tolist()
        raise InvalidInput(f"Every column must have an observed value; columns {empty} have none. Drop them.")
    return given


def _is_constant(X: object) -> bool:
    """Whether an array is read-only, and so is the array of which it is a view."""
    if not isinstance(X, np.ndarray) or X.flags.writeable:
        return False
    return X.flags.owndata or (type(X.base) is np.ndarray and _is_constant(X.base))


def _in_order(groups: Groups, predictors: Predictors, Z: Array, M: Mask, own: int) -> Groups:
    """The groups as `group_order` sorts them; those that help to fill no other one are last, as given."""
    last = tuple(group for group in groups if not predictors.helping[group[0]])
    others = tuple(group for group in groups if predictors.helping[group[0]])
    decided = group_order(others, Z, M, own) if predictors.deciding.any() else others
    return (*decided, *last)


def _checked_bounds(bounds: npt.ArrayLike | None, d: int) -> Array:
    limits = np.array([[-np.inf] * d, [np.inf] * d] if bounds is None else bounds, dtype=np.float64)
    if limits.shape != (2, d) or not (limits[0] <= limits[1]).all():
        raise InvalidInput(
            f"bounds must be two rows of {d} numbers, lowest and highest, with lowest ≤ highest."
        )
    return limits


def _check_settings(missing: Mask, weights: npt.ArrayLike | None, n_context: int, when: Array | None) -> None:
    N, d = missing.shape
    if weights is not None and not _are_weights(np.asarray(weights), d):
        raise InvalidInput(f"weights must be {d} finite numbers above 0, one for each column.")
    if n_context and (n_context >= d or missing[:, d - n_context :].any()):
        raise InvalidInput(
            f"n_context must be less than the {d} columns, and the last n_context must be complete; "
            f"got {n_context}."
        )
    if when is not None and (when.shape != (N,) or not np.isfinite(when).all()):
        raise InvalidInput(f"moments must be {N} finite numbers, one for each row.")


def _are_weights(weights: npt.NDArray[np.generic], d: int) -> bool:
    numeric = weights.shape == (d,) and weights.dtype.kind in "fiu"
    return bool(numeric and np.isfinite(weights).all() and (weights > 0).all())  # type: ignore[operator]


def _complete_groups(groups: Sequence[Sequence[int]], d: int) -> Groups:
    """The groups given, and every other column as a group of its own, sorted by first column."""
    given = [tuple(int(column) for column in group) for group in groups]
    listed = [column for group in given for column in group]
    grouped = set(listed)
    outside = [column for column in listed if not 0 <= column < d]
    if outside or len(grouped) < len(listed) or not all(given):
        raise InvalidInput(
            f"groups must be non-empty lists of columns from 0 to {d - 1}, each at most once; got {given}."
        )
    alone: list[tuple[int, ...]] = [(column,) for column in range(d) if column not in grouped]
    return tuple(sorted(given + alone))
