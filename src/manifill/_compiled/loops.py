"""Linear algebra of small systems, and sums over pairs of rows."""

from typing import Any

import llvmlite.binding
import numpy as np
from numba import njit, types
from numba.extending import get_cython_function_address

from manifill._arrays import Array, Indices


def compile_loop(function: Any, **options: Any) -> Any:
    """Compile without the GIL; the code is cached on disk if there is a writable folder."""
    try:
        return njit(nogil=True, cache=True, **options)(function)
    except RuntimeError:  # no writable folder: compile in every process
        return njit(nogil=True, **options)(function)


def _lapack(name: str, n_arguments: int) -> Any:
    """A LAPACK routine of scipy, callable from compiled code.

    It is bound to a symbol name: with a bare address numba could not cache the compiled code.

    Why not scipy.linalg or numba's np.linalg: scipy's LAPACK calls hold the GIL (two threads were slower than
    one), and a call costs more than the work for 120 rows (docs/notes/speed.md); numba's np.linalg.cholesky
    has no matching solve and copies the matrix.
    """
    symbol = f"manifill_{name}"
    address = get_cython_function_address("scipy.linalg.cython_lapack", name)
    llvmlite.binding.add_symbol(symbol, address)
    return types.ExternalFunction(symbol, types.void(*[types.voidptr] * n_arguments))


_dposv = _lapack("dposv", 8)
_dpotrf = _lapack("dpotrf", 5)
_dpotri = _lapack("dpotri", 5)
_spotrf = _lapack("spotrf", 5)
_spotrs = _lapack("spotrs", 8)

ABSOLUTE, SQUARED, PRODUCT = 0, 1, 2
"""Kinds of pair statistics: Σ |x − y|, Σ (x − y)² and Σ x·y over columns."""


@compile_loop
def solve_in_place(matrix: Array, n: int, values: Array, n_functions: int) -> bool:
    """Replace each row f of `values` (n_functions, n) by matrix⁻¹ f; overwrites `matrix` (n, n).

    Only the lower triangle of `matrix` is read. Returns whether the matrix is positive definite.
    """
    size = np.array([n, n_functions, 0], dtype=np.int32)  # the last number is the status that LAPACK returns
    upper = np.array([85], dtype=np.uint8)  # "U": the lower triangle in C order is the upper one in Fortran
    _dposv(
        upper.ctypes,
        size.ctypes,
        size[1:].ctypes,
        matrix.ctypes,
        size.ctypes,
        values.ctypes,
        size.ctypes,
        size[2:].ctypes,
    )
    return size[2] == 0  # type: ignore[no-any-return]


@compile_loop
def invert(matrix: Array) -> bool:
    """Replace a symmetric matrix (n, n) by its inverse; returns whether it is positive definite."""
    n = matrix.shape[0]
    size = np.array([n, 0], dtype=np.int32)
    upper = np.array([85], dtype=np.uint8)
    _dpotrf(upper.ctypes, size.ctypes, matrix.ctypes, size.ctypes, size[1:].ctypes)
    if size[1] != 0:
        return False
    _dpotri(upper.ctypes, size.ctypes, matrix.ctypes, size.ctypes, size[1:].ctypes)
    for first in range(0, n, 32):  # LAPACK writes one triangle; tiles stay in the cache
        for second in range(0, first + 32, 32):
            for i in range(first, min(first + 32, n)):
                for j in range(second, min(second + 32, i)):
                    matrix[j, i] = matrix[i, j]
    return size[1] == 0  # type: ignore[no-any-return]


@compile_loop
def solve_subsets(
    K: Array,
    rows: Indices,
    first_row: Indices,
    columns: Indices,
    first_column: Indices,
    F: Array,
    added: Array,
    begin: int,
    end: int,
    X: Array,
    used: Indices,
) -> None:
    """Solve (K[A, A] + added·I) X[A, J] = F[A, J] for many sets of rows A with columns J.

    Set s has the rows `rows[first_row[s]:first_row[s + 1]]`, and its columns likewise; only the sets from
    `begin` to `end` - 1 are solved. The values in `added` are tried in turn until the matrix is positive
    definite. `used[s]` becomes the index of that value, or −1 if there is none.
    """
    largest = 0
    for s in range(begin, end):
        largest = max(largest, first_row[s + 1] - first_row[s])
    matrix = np.empty(largest * largest)
    for s in range(begin, end):
        A = rows[first_row[s] : first_row[s + 1]]
        J = columns[first_column[s] : first_column[s + 1]]
        values = np.empty((J.size, A.size))
        used[s] = -1 if A.size else 0
        for attempt in range(added.size if A.size else 0):
            for i in range(A.size):
                row = K[A[i]]
                start = i * A.size
                for k in range(i + 1):
                    matrix[start + k] = row[A[k]]
                matrix[start + i] += added[attempt]
            for j in range(J.size):
                for i in range(A.size):
                    values[j, i] = F[A[i], J[j]]
            if solve_in_place(matrix, A.size, values, J.size):
                used[s] = attempt
                break
        for j in range(J.size):
            for i in range(A.size):
                X[A[i], J[j]] = values[j, i]


@compile_loop
def factor_single(K: Array, A: Indices, added: float, factor: Array) -> int:
    """Write the single-precision Cholesky factor of K[A, A] + added·I to `factor`; returns 0 on success."""
    n = A.size
    if n == 0:
        return 0
    for i in range(n):
        row = K[A[i]]
        for k in range(i + 1):
            factor[i, k] = row[A[k]]
        factor[i, i] += added
    size = np.array([n, 0], dtype=np.int32)
    upper = np.array([85], dtype=np.uint8)
    _spotrf(upper.ctypes, size.ctypes, factor.ctypes, size.ctypes, size[1:].ctypes)
    return size[1]  # type: ignore[no-any-return]


@compile_loop
def solve_single(factor: Array, values: Array) -> None:
    """Solve, with a factor from `factor_single`, for each row of `values` (functions, |A|), in place."""
    if values.size == 0:
        return
    size = np.array([values.shape[1], values.shape[0], 0], dtype=np.int32)
    upper = np.array([85], dtype=np.uint8)
    _spotrs(
        upper.ctypes,
        size.ctypes,
        size[1:].ctypes,
        factor.ctypes,
        size.ctypes,
        values.ctypes,
        size.ctypes,
        size[2:].ctypes,
    )


@compile_loop
def _totals(kind: int, x: Array, columns: Array, total: Array) -> None:
    """Statistic total[j] of the row x (d,) with row j of a table stored by columns (d, m).

    Four columns at a time, so that the totals are read and written a quarter as often.
    """
    d, m = x.size, total.size
    total[:] = 0.0
    for c in range(0, d - 3, 4):
        x0, x1, x2, x3 = x[c], x[c + 1], x[c + 2], x[c + 3]
        y0, y1, y2, y3 = columns[c], columns[c + 1], columns[c + 2], columns[c + 3]
        if kind == ABSOLUTE:
            for j in range(m):
                total[j] += abs(x0 - y0[j]) + abs(x1 - y1[j]) + abs(x2 - y2[j]) + abs(x3 - y3[j])
        elif kind == SQUARED:
            for j in range(m):
                total[j] += (x0 - y0[j]) ** 2 + (x1 - y1[j]) ** 2 + (x2 - y2[j]) ** 2 + (x3 - y3[j]) ** 2
        else:
            for j in range(m):
                total[j] += x0 * y0[j] + x1 * y1[j] + x2 * y2[j] + x3 * y3[j]
    for c in range(d - d % 4, d):
        x0, y0 = x[c], columns[c]
        for j in range(m):
            if kind == ABSOLUTE:
                total[j] += abs(x0 - y0[j])
            elif kind == SQUARED:
                total[j] += (x0 - y0[j]) ** 2
            else:
                total[j] += x0 * y0[j]


@compile_loop
def totals_between(kind: int, X: Array, columns_of_Y: Array, total: Array) -> None:
    """Statistic total[i, j] of the rows X[i] and Y[j]; Y is stored by columns (d, m)."""
    for i in range(X.shape[0]):
        _totals(kind, X[i], columns_of_Y, total[i])


@compile_loop
def add_column(kind: int, x: Array, y: Array, sign: float, total: Array) -> None:
    """Add sign · the statistic of x[i] and y[j], the values of one column, to total[i, j]."""
    for i in range(x.size):
        x0, row = x[i], total[i]
        if kind == ABSOLUTE:
            for j in range(y.size):
                row[j] += sign * abs(x0 - y[j])
        elif kind == SQUARED:
            for j in range(y.size):
                row[j] += sign * (x0 - y[j]) ** 2
        else:
            for j in range(y.size):
                row[j] += sign * x0 * y[j]


@compile_loop
def signed_sums(X: Array, columns_of_Y: Array, K: Array, total: Array, ties: Array) -> None:
    """total[i, c] = Σ K[i, j] sign(X[i, c] − Y[j, c]) over j; Y is stored by columns (d, m).

    ties[i, c] = Σ K[i, j] over those j for which the two are equal.
    """
    for i in range(X.shape[0]):
        row = K[i]
        for c in range(X.shape[1]):
            x, y, above, below = X[i, c], columns_of_Y[c], 0.0, 0.0
            for j in range(row.size):
                above += row[j] * (x > y[j])
                below += row[j] * (x < y[j])
            total[i, c] = above - below
            ties[i, c] = row.sum() - above - below


@compile_loop
def drop_small(total: Array, rounding: Array) -> None:
    """Set totals that do not exceed the rounding error of their row (n, 1) to zero, in place."""
    for i in range(total.shape[0]):
        row, threshold = total[i], rounding[i, 0]
        for j in range(row.size):
            row[j] = row[j] if row[j] > threshold else 0.0


@compile_loop
def add_scaled(factor: float, total: Array, out: Array) -> None:
    """Add factor · total to `out`."""
    for i in range(total.shape[0]):
        row, result = total[i], out[i]
        for j in range(row.size):
            result[j] += factor * row[j]


@compile_loop
def totals_within(kind: int, rows: Array, sets: Indices, total: Array) -> None:
    """Statistic total[b, i(i + 1)/2 + j] of the rows sets[b, i] and sets[b, j], for i ≥ j."""
    q, d = sets.shape[1], rows.shape[1]
    columns = np.empty((d, q))
    for b in range(sets.shape[0]):
        for i in range(q):
            for c in range(d):
                columns[c, i] = rows[sets[b, i], c]
        for i in range(q):
            first = i * (i + 1) // 2
            _totals(kind, rows[sets[b, i]], columns, total[b, first : first + i + 1])


@compile_loop
def totals_across(kind: int, rows: Array, queries: Indices, near: Indices, total: Array) -> None:
    """Statistic total[b, j] of the row queries[b] with the row near[b, j]."""
    q, d = near.shape[1], rows.shape[1]
    columns = np.empty((d, q))
    for b in range(near.shape[0]):
        for j in range(q):
            for c in range(d):
                columns[c, j] = rows[near[b, j], c]
        _totals(kind, rows[queries[b]], columns, total[b])


@compile_loop
def extend_each(K: Array, f: Array, count: Indices, added: Array, value: Array, used: Indices) -> None:
    """value[b] = k · (K[A, A] + added·I)⁻¹ f[b, A], with affinities K[b] in the order of `totals_within`.

    A are the first `count[b]` rows of set b, on which f is known, and k the affinities of its last row, the
    query, to them. `added` and `used` are as in `solve_subsets`.
    """
    last = f.shape[1]
    matrix = np.empty(last * last)
    coefficients = np.empty(last)
    for b in range(K.shape[0]):
        n = count[b]
        used[b] = -1 if n else 0
        value[b] = 0.0
        for attempt in range(added.size if n else 0):
            for i in range(n):
                first = i * (i + 1) // 2
                for j in range(i + 1):
                    matrix[i * n + j] = K[b, first + j]
                matrix[i * n + i] += added[attempt]
                coefficients[i] = f[b, i]
            if solve_in_place(matrix, n, coefficients, 1):
                used[b] = attempt
                break
        first = last * (last + 1) // 2
        for i in range(n):
            value[b] += K[b, first + i] * coefficients[i]
