"""The heart: the paper's six steps, for one column or a block of columns."""

import time
from collections import defaultdict
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext

import numpy as np
from threadpoolctl import threadpool_limits

from manifill.arrays import Array, Mask
from manifill.harmonics import factorise
from manifill.kernels import Kernel
from manifill.solvers import Solver
from manifill.sweep.ledger import Ledger
from manifill.sweep.order import Block
from manifill.sweep.problem import Problem
from manifill.sweep.trace import Findings


def sweep_once(
    problem: Problem,
    Z: Array,
    blocks: Iterable[Block],
    kernel: Kernel,
    solver: Solver,
    deadline: float,
) -> tuple[Array, Findings] | None:
    """Visit every block once; None if the deadline, on the monotonic clock, passed on the way.

    Each block sees the fills that the blocks before it have just received (Gauss–Seidel).
    """
    findings = Findings()
    lowest, highest = problem.standard_bounds
    ledger = Ledger(kernel.statistics, Z)  # built anew each sweep, so that roundings cannot add up
    for block in blocks:
        if time.monotonic() >= deadline:
            return None
        pairs = ledger.take_out(block)  # 1. X⁽ʲ⁾: the table without column j
        tuned = kernel.tuned(pairs)
        K = tuned(pairs)  # 2. K⁽ʲ⁾: affinities between its rows
        C = coefficients(K, block, problem.incomplete, problem, kernel, solver, findings)  # 3.–5.
        extended = np.clip(K @ C, lowest[block], highest[block])  # 6. γ̂ⱼ, kept where γⱼ was missing
        ledger.put_back(block, np.where(problem.M[:, block], extended, ledger.left[:, block]))
        if tuned.scale is not None:
            findings.scales.append(tuned.scale)
    return ledger.left, findings


def coefficients(
    K: Array,
    block: Block,
    targets: Mask,
    problem: Problem,
    kernel: Kernel,
    solver: Solver,
    findings: Findings,
) -> Array:
    """C (n, |block|) with K[:, A] C[A] the extension of each target column; 0 outside its known rows A.

    Columns with the same known rows share one factorisation.
    """
    same_known: dict[bytes, list[int]] = defaultdict(list)
    for position, column in enumerate(block):
        if targets[column]:
            same_known[problem.patterns[column]].append(position)
    C = np.zeros((len(K), len(block)))
    for members in same_known.values():
        positions = np.array(members)
        A = np.flatnonzero(~problem.M[:, block[positions[0]]])  # 3. rows where column j is known
        factor = factorise(K[np.ix_(A, A)], kernel, solver)  # 4. eigendata of K⁽ʲ⁾ on A (or Cholesky)
        known = problem.Z[np.ix_(A, block[positions])]
        C[np.ix_(A, positions)] = factor.coefficients(known)  # 5. ⟨γⱼ, ψ_ℓ⟩ ψ_ℓ/λ_ℓ: K C = Σ⟨γⱼ, ψ_ℓ⟩Ψ_ℓ
        findings.reports.append(factor.report)
    return C


def few_blas_threads(n: int) -> AbstractContextManager[object]:
    """One BLAS thread for the many small factorisations of a sweep.

    Measured on two idle cores, seconds with two threads and with one: 500 rows .36 and .27, 1,000 rows 1.47
    and .88, 2,000 rows 2.67 and 2.36. On a busy machine two are up to ten times slower.
    """
    return threadpool_limits(limits=1, user_api="blas") if n <= 2000 else nullcontext()
