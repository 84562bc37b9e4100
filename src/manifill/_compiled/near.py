"""Nearest rows, and kernel ridge regression on them."""

import numpy as np

from manifill._arrays import Array, Indices
from manifill._compiled.loops import compile_loop, solve_in_place


@compile_loop
def _pushed(values: Array, indices: Indices, count: int, value: float, index: int) -> int:
    """Add a value and its index to a heap of at most len(values) smallest values, the largest first.

    `count` is the number of values so far; returns the new one.
    """
    k = values.size
    if count < k:
        position = count
        count += 1
        while position > 0:
            parent = (position - 1) >> 1
            if values[parent] >= value:
                break
            values[position], indices[position] = values[parent], indices[parent]
            position = parent
        values[position], indices[position] = value, index
    elif value < values[0]:
        position = 0
        while 2 * position + 1 < k:
            child = 2 * position + 1
            if child + 1 < k and values[child + 1] > values[child]:
                child += 1
            if values[child] <= value:
                break
            values[position], indices[position] = values[child], indices[child]
            position = child
        values[position], indices[position] = value, index
    return count


@compile_loop
def _distances(x: Array, columns: Array, first: int, last: int, total: Array) -> None:
    """Add to `total` the L1 distances of x (d,) from the rows `first` to `last`, stored by columns (d, m)."""
    d, size = x.size, last - first
    for c in range(0, d - 3, 4):
        x0, x1, x2, x3 = x[c], x[c + 1], x[c + 2], x[c + 3]
        y0, y1 = columns[c, first:last], columns[c + 1, first:last]
        y2, y3 = columns[c + 2, first:last], columns[c + 3, first:last]
        for j in range(size):
            total[j] += abs(x0 - y0[j]) + abs(x1 - y1[j]) + abs(x2 - y2[j]) + abs(x3 - y3[j])
    for c in range(d - d % 4, d):
        own, y = x[c], columns[c, first:last]
        for j in range(size):
            total[j] += abs(own - y[j])


@compile_loop
def _smallest(total: Array, size: int, values: Array, indices: Indices, lowest: Array) -> int:
    """Write the smallest of total[:size], as many as fit into `values`, and their indices; returns how many.

    The numbers are divided into sets. The k-th smallest of the minima of the sets bounds the k-th smallest
    number, so that few numbers are compared. `total` and `lowest` have room for 64 more numbers.
    """
    k = values.size
    width = min(64, size // (4 * k))  # numbers of a set
    bound, count = np.float32(np.inf), 0
    if width < 2:
        for j in range(size):
            count = _pushed(values, indices, count, total[j], j)
        return count
    n_sets = (size + width - 1) // width
    total[size : width * n_sets] = np.inf
    lowest[:n_sets] = total[:n_sets]  # set s has the numbers s, s + n_sets, s + 2 n_sets, …
    for first in range(n_sets, width * n_sets, n_sets):
        part = total[first : first + n_sets]
        for s in range(n_sets):
            lowest[s] = part[s] if part[s] < lowest[s] else lowest[s]
    for s in range(n_sets):
        count = _pushed(values, indices, count, lowest[s], s)
    bound, count = values[0], 0
    for s in range(n_sets):
        if lowest[s] <= bound:
            for j in range(s, size, n_sets):
                if total[j] <= bound:
                    count = _pushed(values, indices, count, total[j], j)
    return count


@compile_loop
def nearest(
    X: Array,
    columns: Array,
    extra: Array,
    first: Indices,
    centres: Array,
    n_cells: int,
    left_out: Indices,
    near: Indices,
    distance: Array,
) -> None:
    """The k rows at the smallest L1 distance, plus `extra` (m,), from each row of X (n, d), nearest first.

    `columns` (d, m) are the rows, stored by columns and sorted by cells: cell c has the rows first[c] to
    first[c + 1], with the centre `centres` (d, c). The `n_cells` nearest cells are searched. Row
    `left_out[i]` is not among those of X[i]; −1 for none. Writes `near` and `distance` (n, k); −1 and
    infinity where there are no more rows. All numbers have single precision.
    """
    m, k, all_cells = columns.shape[1], near.shape[1], first.size - 1
    total, lowest = np.empty(m + 64, dtype=np.float32), np.empty(m // 2 + 64, dtype=np.float32)
    start, shift = np.empty(all_cells, dtype=np.int64), np.empty(all_cells, dtype=np.int64)
    values, indices = np.empty(k, dtype=np.float32), np.empty(k, dtype=np.int64)
    to_centres = np.empty(all_cells + 64, dtype=np.float32)
    cell_values, cells = np.empty(n_cells, dtype=np.float32), np.empty(n_cells, dtype=np.int64)
    for i in range(X.shape[0]):
        searched = all_cells
        if n_cells < all_cells:
            to_centres[:all_cells] = 0.0
            _distances(X[i], centres, 0, all_cells, to_centres)
            searched = _smallest(to_centres, all_cells, cell_values, cells, lowest)
        size = 0
        for s in range(searched):
            cell = cells[s] if n_cells < all_cells else s
            a, b = first[cell], first[cell + 1]
            total[size : size + b - a] = extra[a:b]
            _distances(X[i], columns, a, b, total[size : size + b - a])
            if a <= left_out[i] < b:
                total[size + left_out[i] - a] = np.inf
            start[s], shift[s] = size, a - size
            size += b - a
        count = _smallest(total, size, values, indices, lowest)
        sequence = np.argsort(values[:count])
        for a in range(k):
            near[i, a], distance[i, a] = -1, np.inf
            if a < count and values[sequence[a]] < np.inf:
                j = indices[sequence[a]]
                near[i, a] = j + shift[np.searchsorted(start[:searched], j, side="right") - 1]
                distance[i, a] = values[sequence[a]]


@compile_loop
def _distances_among(rows: Array, extra: Array, near: Indices, own: Array, among: Array) -> int:
    """Write the L1 distances of the rows `near` (k,), plus `extra` of both, below the diagonal of `among`.

    −1 are missing rows, which come last. `own` (q, k) is overwritten. Returns the number of rows.
    """
    found = 0
    while found < near.size and near[found] >= 0:
        row = rows[near[found]]
        for c in range(row.size):
            own[c, found] = row[c]
        found += 1
    for a in range(found):
        total = among[a, :a]
        for b in range(a):
            total[b] = extra[near[a]] + extra[near[b]]
    for c in range(own.shape[0]):
        column = own[c]
        for a in range(1, found):
            x, total = column[a], among[a, :a]
            for b in range(a):
                total[b] += abs(x - column[b])
    return found


@compile_loop
def from_near_rows(
    rows: Array,
    extra: Array,
    near: Indices,
    distance: Array,
    F: Array,
    counts: Indices,
    bandwidths: Array,
    ridges: Array,
    values: Array,
) -> None:
    """values[i, e] = k · (K + ridges[e] I)⁻¹ F over the nearest counts[e] rows, for each query i.

    The affinities are exp(−D / bandwidths[e]), with D the `distance` (n, k) of a query to its rows `near`
    (n, k), and that among the rows (m, q), plus `extra` (m,) of both. F is (m, g), `values` (n, e, g).
    Missing rows, −1, come last.
    """
    k, q, g = near.shape[1], rows.shape[1], F.shape[1]
    among = np.empty((k, k), dtype=rows.dtype)
    own = np.empty((q, k), dtype=rows.dtype)
    matrix, coefficients = np.empty(k * k), np.empty(g * k)
    for i in range(near.shape[0]):
        found = _distances_among(rows, extra, near[i], own, among)
        for e in range(counts.size):
            n, scale = min(counts[e], found), -1.0 / bandwidths[e]
            for a in range(n):
                for b in range(a):
                    matrix[a * n + b] = np.exp(scale * among[a, b])
                matrix[a * n + a] = 1.0 + ridges[e]
                for h in range(g):
                    coefficients[h * n + a] = F[near[i, a], h]
            if n:
                solve_in_place(matrix, n, coefficients, g)
            for h in range(g):
                value = 0.0
                for a in range(n):
                    value += np.exp(scale * distance[i, a]) * coefficients[h * n + a]
                values[i, e, h] = value
