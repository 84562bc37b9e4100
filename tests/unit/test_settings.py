"""Settings and results: ranges of parameters, equality, and that they cannot be changed."""

from dataclasses import FrozenInstanceError, fields

import numpy as np
import pyarrow as pa
import pytest

from manifill._files.dates import TimeFormat
from manifill._files.formats import FlagFormat, NumberFormat
from manifill._fillers import Run
from manifill._fillers.sweep import (
    Component,
    Ensemble,
    LinearStart,
    Plateau,
    RelativeChange,
    Schedule,
    Sweeper,
    SweepLimit,
    TimeLimit,
    mean_start,
    normal_start,
    sweeps,
)
from manifill._fillers.sweep.landmarks import LandmarkSweeps
from manifill._fillers.sweep.local import LocalSweeps
from manifill._fillers.sweep.methods import method_of
from manifill._fillers.sweep.start import GivenStart
from manifill._fillers.sweep.step import Exact
from manifill._problem import Problem
from manifill._validation import Evidence, accuracy, hold_out
from manifill._validation.errors import Errors
from manifill.errors import IncompatibleKernel, InvalidInput
from manifill.kernels import Custom, Gaussian, SelfTuning
from manifill.solvers import (
    Columns,
    ConditionNumber,
    Count,
    Energy,
    Landmarks,
    Local,
    Report,
    Ridge,
    Spectral,
)

RANGES = [
    (Ridge, "ridge", [0, 0.5, 7], [-1e-9, np.inf, "1", None, True]),
    (ConditionNumber, "delta", [0, 1e-3, 1], [-0.1, 1.1, None]),
    (Count, "k", [1, 5], [0, 1.5, True]),
    (Energy, "share", [0.01, 1], [0, 1.1]),
    (Landmarks, "count", [1, 20], [0, 1.5]),
    (Landmarks, "ridge", [0, 0.5, 2], [-0.1]),
    (Landmarks, "rows", [1, 9], [0, 1.5]),
    (Landmarks, "choice", ["spread", "random"], ["best", None]),
    (Local, "k", [1, 20], [0, 1.5]),
    (Local, "ridge", [0, 0.5, 2], [-0.1]),
    (Spectral, "cutoff", [Count(3), len], [Count, 0.5, None]),
    (Schedule, "columns", [1, 20], [0, 1.5]),
    (RelativeChange, "tol", [0, 0.5, 2], [-0.1, None]),
    (Plateau, "patience", [1, 5], [0, 1.5]),
    (Plateau, "share", [0, 0.5], [-0.1, 1, 1.5]),
    (SweepLimit, "sweeps", [1, 50], [0, 1.5, True]),
    (TimeLimit, "seconds", [0.1, 1, 5], [0, -1, None]),
]


@pytest.mark.parametrize(
    ("kind", "name", "accepted", "refused"), RANGES, ids=lambda one: getattr(one, "__name__", None)
)
def test_parameters_have_their_range(kind, name, accepted, refused):
    for value in accepted:
        assert getattr(kind(**{name: value}), name) == value
    for value in refused:
        with pytest.raises(
            InvalidInput, match="tol must be" if name == "tol" else f"{name} of {kind.__name__} must be"
        ):
            kind(**{name: value})


PROBLEM = Problem.of([[1.0, 2.0], [2.0, np.nan], [4.0, 1.0]])
CELLS = pa.array(["5"], pa.large_string())
SETTINGS = {
    "ridge": lambda: Ridge(0.2),
    "spectral": lambda: Spectral(Count(2)),
    "count": lambda: Count(2),
    "energy": lambda: Energy(0.5),
    "condition": lambda: ConditionNumber(0.5),
    "landmarks": lambda: Landmarks(5),
    "local": lambda: Local(5),
    "schedule": lambda: Schedule(5),
    "change": lambda: RelativeChange(0.5),
    "plateau": lambda: Plateau(5),
    "sweeps": lambda: SweepLimit(5),
    "seconds": lambda: TimeLimit(5),
    "report": lambda: str(one := Report(5)) and one,
    "times": lambda: (one := TimeFormat("%H:%M")).holds and one,
    "numbers": lambda: (one := NumberFormat(",")).holds and one,
    "flags": lambda: FlagFormat.of(["true"]),
    "component": lambda: str(one := Component(Gaussian(1.0), Ridge())) and one,
    "accuracy": lambda: accuracy(Evidence.none(2), PROBLEM)[0],
    "linear": lambda: (one := LinearStart(3)).distribution(PROBLEM, np.random.default_rng(0)) and one,
}
RESULTS = {
    "ensemble": lambda: Ensemble.of(Gaussian(1.0), Ridge()),
    "sweeper": lambda: Sweeper(Ensemble.of(Gaussian(1.0), Ridge())).cold,
    "start": lambda: (
        (one := GivenStart(PROBLEM.given))(Problem.of(np.eye(3)[:, :2]), None) is not None and one
    ),
    "ridge factor": lambda: Ridge().factor(np.eye(2)),
    "spectral factor": lambda: Spectral().factor(np.eye(2)),
    "columns": lambda: (one := Columns(np.ones((2, 1)), np.zeros((2, 1), bool))).lay_out() or one,
    "evidence": lambda: Evidence.none(2),
    "errors": lambda: (one := Errors(PROBLEM, PROBLEM.Z, Evidence.none(2))).expected is not None and one,
    "held out": lambda: hold_out(PROBLEM, np.eye(3)[:, :2] > 0),
}


@pytest.mark.parametrize("make", (SETTINGS | RESULTS).values(), ids=SETTINGS | RESULTS)
def test_settings_and_results_cannot_be_changed(make):
    one = make()
    with pytest.raises(FrozenInstanceError):
        setattr(one, fields(one)[0].name, 1)


@pytest.mark.parametrize("make", SETTINGS.values(), ids=SETTINGS)
def test_equal_settings_are_equal(make):
    if not np.isnan(getattr(make(), "error", 0.0)):
        assert make() == make()
        assert hash(make()) == hash(make())


@pytest.mark.parametrize("make", RESULTS.values(), ids=RESULTS)
def test_results_with_arrays_are_compared_by_identity(make):
    assert make() != make()


def test_the_reason_of_a_solver_is_printed_and_does_not_count():
    chosen = Ridge(0.2, why="few rows")
    assert str(chosen) == "Ridge(ridge=0.2): few rows"
    assert repr(chosen) == str(Ridge(0.2)) == "Ridge(ridge=0.2)"
    assert chosen == Ridge(0.2)
    with pytest.raises(TypeError):
        Ridge(0.2, "few rows")


def test_reports_in_words():
    full = Report(kept=3, dropped=2, dropped_energy=0.25, negative_energy=0.125, added=0.5, jitter=0.001)
    assert str(full) == (
        "kept 3 of 5 eigenvectors, dropped 0.25 of the energy, 0.12 of it negative, "
        "added 0.5 to the diagonal, 0.001 of it jitter"
    )
    assert str(Report(kept=3)) == "kept 3 of 3 eigenvectors"
    assert Report(kept=3) == Report(3, dropped=0, dropped_energy=0, negative_energy=0, added=0, jitter=0)


def test_a_sweeper_without_the_values_that_are_held_out():
    ensemble = Ensemble.of(Gaussian(1.0), Ridge())
    assert Sweeper(ensemble, start=GivenStart(np.eye(2))).cold.start is mean_start
    for start, opening, more in ((LinearStart(), 1, 20), (GivenStart(np.eye(2)), 0, 20), (None, 0, 7)):
        sweeper = Sweeper(ensemble, start=start, max_sweeps=7)
        assert (sweeper.opening, sweeper.extension_sweeps) == (opening, more)
    assert Sweeper(ensemble, start=LinearStart(), max_sweeps=30).extension_sweeps == 30


def test_without_tolerance_all_sweeps_are_run(monkeypatch):
    seen = []
    monkeypatch.setattr(Sweeper, "run", lambda self, problem, rng, run, rules: seen.append(rules) or iter(()))
    for tol in (0.0, 0.01):
        sweeper = Sweeper(Ensemble.of(Gaussian(1.0), Ridge()), tol=tol, max_sweeps=7)
        list(sweeper.steps(PROBLEM, np.random.default_rng(0), Run(), None))
    assert seen[0] == [RelativeChange(0.0), SweepLimit(7)]
    assert seen[1] == [RelativeChange(0.01), Plateau(), SweepLimit(7)]


def test_which_sweeps_belong_to_a_solver_and_which_run_on_a_device():
    blocks = (np.array([0]), np.array([1]))
    for solver, method in (
        (Ridge(), Exact),
        (Spectral(), Exact),
        (Landmarks(2), LandmarkSweeps),
        (Local(2), LocalSweeps),
    ):
        ensemble = Ensemble.of(Gaussian(1.0), solver)
        assert type(method_of(PROBLEM, blocks, ensemble, 0)) is method
        if not isinstance(solver, Ridge):
            with pytest.raises(InvalidInput, match="On a device columns are extended by the ridge solver"):
                method_of(PROBLEM, blocks, ensemble, 0, "cpu")
    own = Custom(lambda A, B: A @ B.T, psd=True)
    with pytest.raises(InvalidInput, match="On a device columns are extended by the ridge solver"):
        method_of(PROBLEM, blocks, Ensemble.of(own, Ridge()), 0, "cpu")
    with pytest.raises(IncompatibleKernel, match="The Local solver needs a kernel of sums over columns"):
        method_of(PROBLEM, blocks, Ensemble.of(own, Local(2)), 0)


def test_sweeps_need_a_kernel_and_a_solver():
    for given in ({}, {"kernel": Gaussian(1.0)}, {"solver": Ridge()}):
        with pytest.raises(InvalidInput, match="needs a kernel and a solver, or an ensemble"):
            next(sweeps(PROBLEM, **given))


def test_kernels_with_negative_eigenvalues_need_the_spectral_solver():
    Ensemble.of(SelfTuning(), Spectral())
    for solver in (Ridge(), Landmarks(), Local()):
        with pytest.raises(IncompatibleKernel, match="needs a positive"):
            Ensemble.of(SelfTuning(), solver)


def test_one_group_at_a_time_keeps_the_order_of_the_groups():
    groups = ((4,), (2, 3), (0,), (1,))
    blocks = Schedule(1).blocks(groups, np.random.default_rng(0))
    assert [tuple(block.tolist()) for block in blocks] == list(groups)


def test_normal_starts_have_the_weight_of_their_column(rng):
    X = rng.normal(size=(4000, 2)) * [3.0, 5.0]
    X[::2, 0] = X[1::2, 1] = np.nan
    problem = Problem.of(X, weights=[0.5, 2.0])
    for j, weight in enumerate((0.5, 2.0)):
        drawn = normal_start(problem, rng)[problem.M[:, j], j]
        assert drawn.std() == pytest.approx(weight, rel=0.05)


def test_defaults_that_users_get():
    assert Ridge() == Ridge(0.1)
    assert Landmarks() == Landmarks(1000, 0.1, 20_000, "spread")
    assert Local() == Local(40, 0.1)
    assert Spectral() == Spectral(ConditionNumber(1e-3))
    assert Energy() == Energy(0.99)
    assert (RelativeChange(), Plateau(), SweepLimit()) == (
        RelativeChange(0.01),
        Plateau(3, 0.02),
        SweepLimit(6),
    )
    assert (Schedule(), LinearStart()) == (Schedule(1), LinearStart(8, 2000))
    sweeper = Sweeper(ensemble := Ensemble.of(Gaussian(1.0), Ridge()))
    assert (sweeper.tol, sweeper.max_sweeps, sweeper.start) == (0.01, 10, None)
    assert ensemble.main.weight == 1.0
    assert (sweeper.extends, sweeper.needs_moments) == (True, False)
