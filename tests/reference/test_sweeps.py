"""Sweeps with several kernels, and their model for new rows, written again without code of the package."""

import math
from dataclasses import replace

import numpy as np
import pytest

from manifill._fillers.sweep import (
    Component,
    Ensemble,
    Schedule,
    SweepLimit,
    fixed_order,
    mean_start,
    sweeps,
)
from manifill._fillers.sweep.landmarks import LandmarkSweeps
from manifill._fillers.sweep.newrows import Model
from manifill._problem import Problem
from manifill.kernels import Gaussian
from manifill.solvers import Landmarks, Local, Ridge

SHRINKAGE = np.array([1.0, 0.9, 0.5, 0.8, 1.0])


@pytest.fixture
def table(rng):
    """Four variables of five columns, the last one constant."""
    X = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 5)) + 0.3 * rng.normal(size=(60, 5))
    X[rng.random(X.shape) < 0.25] = np.nan
    X[np.isnan(X[:, 1]), 2] = np.nan
    X[np.isnan(X[:, 2]), 1] = np.nan
    X[:, 4] = np.where(rng.random(60) < 0.1, np.nan, 3.0)
    return X


def problem_of(X):
    bounds = np.array([[-0.5, *[-np.inf] * 4], [0.7, *[np.inf] * 4]])
    return Problem.of(X, groups=[[1, 2]], bounds=bounds, weights=[1.0, 0.6, 0.6, 1.5, 1.0])


def ensemble_of(*solvers):
    kernels = (Gaussian(1.3), Gaussian(0.7))
    parts = [Component(*one) for one in zip(kernels, solvers, (0.6, 0.3), strict=True)]
    return Ensemble(tuple(parts), SHRINKAGE)


def affinities(A, B, sigma):
    squares = ((np.asarray(A)[:, None] - np.asarray(B)[None]) ** 2).sum(axis=2)
    return np.exp(-0.5 * squares / sigma**2)


def extended(X, f, queries, sigma, solver, landmarks=None):
    """Values at the queries (q, d) of a function f, which is known at the rows X (a, d)."""
    if isinstance(solver, Landmarks):
        L, across = landmarks, affinities(X, landmarks, sigma)
        c = np.linalg.lstsq(across.T @ across + solver.ridge * affinities(L, L, sigma), across.T @ f)[0]
        return affinities(queries, L, sigma) @ c
    if isinstance(solver, Ridge) or solver.k >= len(X):
        K = affinities(X, X, sigma) + solver.ridge * np.eye(len(X))
        return affinities(queries, X, sigma) @ np.linalg.solve(K, f)
    values = []
    for query in queries:
        near = np.argsort(((X - query) ** 2).sum(axis=1))[: solver.k]
        K = affinities(X[near], X[near], sigma) + solver.ridge * np.eye(len(near))
        values.append(affinities([query], X[near], sigma)[0] @ np.linalg.solve(K, f[near]))
    return np.array(values)


def visit(problem, ensemble, fitted, Z, M, group, landmarks=None):
    """New values of the columns of a group, where M is True, from the fitted rows."""
    others = [j for j in range(Z.shape[1]) if j not in group]
    low, high = problem.standard_bounds
    filled = Z[:, group].copy()
    for k, j in enumerate(group):
        rows = np.flatnonzero(M[:, j])
        if not len(rows) or problem.scaling.std[j] == 0:
            continue
        A = ~problem.M[:, j]
        total = np.zeros(len(rows))
        for one in ensemble.components:
            centres = None if landmarks is None else fitted[landmarks][:, others]
            known, f = fitted[A][:, others], problem.Z[A, j]
            sigma = one.kernel.bandwidth.value
            total += one.weight * extended(known, f, Z[rows][:, others], sigma, one.solver, centres)
        filled[rows, k] = np.clip(SHRINKAGE[j] * total, low[j], high[j])
    return filled


SOLVERS = [(Ridge(0.1), Ridge(0.3)), (Local(9, 0.1), Local(30, 0.3)), (Local(200), Local(200))]


@pytest.mark.parametrize("solvers", SOLVERS, ids=str)
def test_sweeps_over_the_table_and_over_new_rows(table, rng, solvers):
    problem, ensemble = problem_of(table), ensemble_of(*solvers)
    states = list(
        sweeps(
            problem,
            ensemble=ensemble,
            start=mean_start,
            order=fixed_order,
            schedule=Schedule(),
            stopping=[SweepLimit(2)],
            rng=0,
        )
    )
    groups = sorted(problem.groups, key=min)
    Z = problem.Z.copy()
    for state in states[1:]:
        before = Z.copy()
        for group in groups:
            Z[:, group] = visit(problem, ensemble, Z, Z, problem.M, list(group))
        np.testing.assert_allclose(state.Z, Z, atol=1e-8)
        count = problem.M[:, :4].sum()
        assert state.trace[-1].change == pytest.approx(math.sqrt(((Z - before) ** 2).sum() / count))
        assert state.trace[-1].bandwidth in (1.3, pytest.approx(1.0))
        assert 0.1 <= state.trace[-1].ridge <= 0.2
    new = rng.normal(size=(9, 5)) * 0.7
    new[rng.random(new.shape) < 0.5] = np.nan
    new[np.isnan(new[:, 1]), 2] = np.nan
    new[0] = np.nan
    new[1, 2:] = np.nan
    for sweeps_, tol in ((1, 0.0), (5, 0.03)):
        found = Model(states[-1], ensemble, tol, sweeps_).complete(new)
        M = np.isnan(new)
        moving, Y = ~M.all(axis=1), np.where(M, 0.0, problem.scaling.standardise(np.where(M, 0.0, new)))
        for _ in range(sweeps_):
            before = Y.copy()
            for block in states[-1].blocks:
                missing = M & moving[:, None]
                Y[:, block] = visit(problem, ensemble, states[-1].Z, Y, missing, list(block))
            change = ((Y - before) ** 2).sum(axis=1) / np.maximum(M[:, :4].sum(axis=1), 1)
            moving &= np.sqrt(change) > max(tol, 1e-12)
        expected = np.where(M, problem.scaling.restore(Y), new)
        np.testing.assert_allclose(found, expected, atol=1e-8)


@pytest.mark.parametrize("ledger", [True, False])
@pytest.mark.parametrize(
    "solver", [Landmarks(15, 0.2), Landmarks(12, 0.2, rows=30, choice="random")], ids=str
)
def test_sweeps_with_landmarks(table, solver, ledger, monkeypatch):
    package = "manifill._fillers.sweep.landmarks"
    if not ledger:
        monkeypatch.setattr(f"{package}._MAX_LEDGER_PAIRS", 60 * solver.count - 1)
        monkeypatch.setattr(f"{package}._CHUNK", 100)
    problem, ensemble = problem_of(table), ensemble_of(solver, solver)
    blocks = tuple(np.array(group) for group in problem.groups)
    method = LandmarkSweeps(problem, blocks, ensemble, seed=0)
    assert method.keep_ledger == ledger
    assert len(set(method.landmarks.tolist())) == solver.count
    found, findings = method.sweep(problem.Z, blocks, math.inf)
    assert {one.kept + one.dropped for one in findings.reports} == {solver.count}
    assert {one.added for one in findings.reports} == {0.2}
    Z = problem.Z.copy()
    few = np.zeros(problem.shape, bool)  # known, and used for the fit
    for j in range(5):
        few[method.sample[~problem.M[method.sample, j]][: solver.rows], j] = True
    for group in problem.groups:
        for j in group:
            assert few[:, j].sum() == min(solver.rows, (~problem.M[:, j]).sum())
        part = replace(problem, M=~few)
        filled = visit(part, ensemble, Z, Z, problem.M, list(group), method.landmarks)
        Z[:, group] = filled
    np.testing.assert_allclose(found, Z, atol=1e-8)
    assert method.sweep(problem.Z, blocks, -math.inf) is None
    fitted = method.fitted(found)
    np.testing.assert_array_equal(fitted.centres, found[method.landmarks])
    for block, fit in zip(blocks, fitted.fits, strict=True):
        others = np.delete(np.arange(5), block)
        K = [affinities(found[:, others], fitted.centres[:, others], one.bandwidth.value) for one, _ in fit]
        extension = sum(one @ C for one, (_, C) in zip(K, fit, strict=True))
        part = replace(problem, M=~few)
        unbounded = replace(part, bounds=np.array([[-np.inf] * 5, [np.inf] * 5]))
        everywhere = np.ones(problem.shape, bool)
        expected = visit(unbounded, ensemble, found, found, everywhere, list(block), method.landmarks)
        np.testing.assert_allclose(extension, expected * (problem.scaling.std[block] > 0), atol=1e-8)
