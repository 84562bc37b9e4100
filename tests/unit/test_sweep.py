import time

import numpy as np
import pytest

from manifill.errors import IncompatibleKernel, InvalidInput
from manifill.kernels import Custom, Gaussian, Laplacian, Precomputed, SelfTuning, SemiLinear
from manifill.metrics import paper_error
from manifill.solvers import Ridge, Spectral
from manifill.sweep import (
    FixedOrder,
    GivenStart,
    MeanStart,
    MissingnessOrder,
    NormalStart,
    Plateau,
    Problem,
    RandomOrder,
    RelativeChange,
    Schedule,
    Status,
    SweepLimit,
    SweepRecord,
    TimeLimit,
    sweeps,
)


@pytest.fixture
def problem(curved):
    X, M = curved
    return Problem.of(np.where(M, np.nan, X))


def run(problem, **options):
    options = {"kernel": Gaussian(), "solver": Ridge(1e-2), "rng": 0, **options}
    return list(sweeps(problem, **options))


class TestProblem:
    def test_standard_units(self, problem):
        observed = np.where(problem.M, np.nan, problem.Z)
        np.testing.assert_allclose(np.nanmean(observed, axis=0), 0, atol=1e-12)
        np.testing.assert_allclose(np.nanstd(observed, axis=0, ddof=1), 1, rtol=1e-12)

    def test_it_cannot_be_changed(self, problem):
        with pytest.raises(ValueError, match="read-only"):
            problem.Z[0, 0] = 1
        with pytest.raises(AttributeError):
            problem.Z = np.zeros(3)

    def test_input_is_not_changed(self, curved):
        X, M = curved
        table = np.where(M, np.nan, X)
        before = table.copy()
        run(Problem.of(table))
        np.testing.assert_array_equal(table, before)
        table[0, 0] = 7.0  # and still belongs to the user

    def test_groups_are_completed_and_checked(self):
        X = np.zeros((3, 5))
        assert Problem.of(X, groups=[[3, 1]]).groups == ((0,), (2,), (3, 1), (4,))
        for groups in ([[0, 5]], [[0, 1], [1, 2]], [[]], [[-1]]):
            with pytest.raises(InvalidInput, match="groups must be"):
                Problem.of(X, groups=groups)

    @pytest.mark.parametrize(
        ("X", "message"),
        [
            (np.zeros(3), "two dimensions"),
            ([[1.0, np.inf]], "column 1 is inf in row 0"),
            ([[1.0, np.nan]], r"columns \[1\] have none"),
        ],
    )
    def test_bad_tables(self, X, message):
        with pytest.raises(InvalidInput, match=message):
            Problem.of(X)

    def test_bad_bounds(self):
        with pytest.raises(InvalidInput, match="lowest"):
            Problem.of(np.zeros((2, 2)), bounds=[[1, 1], [0, 2]])


class TestStart:
    def test_normal_draws_have_the_observed_mean_and_variance(self, rng):
        X = np.column_stack([rng.normal(50, 9, 4000), rng.exponential(2, 4000), np.full(4000, 3.0)])
        M = rng.random(X.shape) < 0.5
        M[M.all(axis=1), 2] = False  # a row with nothing observed is not drawn
        problem = Problem.of(np.where(M, np.nan, X))
        start = problem.restore(NormalStart()(problem, rng))
        for j in range(2):
            drawn, observed = start[M[:, j], j], X[~M[:, j], j]
            assert drawn.mean() == pytest.approx(observed.mean(), rel=0.05)
            assert drawn.std() == pytest.approx(observed.std(), rel=0.05)
        assert (start[:, 2] == 3.0).all()

    def test_mean(self, problem, rng):
        start = problem.restore(MeanStart()(problem, rng))
        given = problem.given
        np.testing.assert_allclose(start[problem.M], np.nanmean(given, axis=0)[np.nonzero(problem.M)[1]])

    def test_given_values_are_used_where_missing_only(self, problem, rng, curved):
        X, _ = curved
        start = problem.restore(GivenStart(X + 0.5)(problem, rng))
        np.testing.assert_allclose(start, np.where(problem.M, X + 0.5, X))

    def test_given_values_are_checked(self, problem, rng):
        with pytest.raises(InvalidInput, match="shape of the data"):
            GivenStart(np.zeros((2, 2)))(problem, rng)
        with pytest.raises(InvalidInput, match="finite wherever"):
            GivenStart(np.full(problem.shape, np.nan))(problem, rng)

    def test_a_start_at_the_truth_stays_there(self, problem, curved):
        X, _ = curved
        states = run(problem, start=GivenStart(X), solver=Ridge(1e-4))
        assert states[1].trace[-1].change < 0.05


class TestOrderAndSchedule:
    def test_random_order_changes_every_sweep(self, problem, rng):
        blocks = Schedule().blocks(problem.groups, rng)
        seen = {tuple(int(b[0]) for b in RandomOrder()(blocks, problem, rng)) for _ in range(20)}
        assert len(seen) > 10
        assert all(sorted(order) == list(range(6)) for order in seen)

    def test_fixed_and_missingness(self, rng):
        X = np.array([[1, np.nan, 3], [np.nan, np.nan, 1], [2, 2, 2]])
        problem = Problem.of(X)
        blocks = Schedule().blocks(problem.groups, rng)
        assert [int(b[0]) for b in FixedOrder()(blocks, problem, rng)] == [0, 1, 2]
        assert [int(b[0]) for b in MissingnessOrder()(blocks, problem, rng)] == [2, 0, 1]

    @pytest.mark.parametrize("size", [1, 2, 3, 100])
    def test_blocks_hold_every_column_once_and_never_split_a_group(self, size, rng):
        groups = Problem.of(np.zeros((2, 12)), groups=[[0, 5, 7], [2, 3]]).groups
        blocks = Schedule(size).blocks(groups, rng)
        assert sorted(np.concatenate(blocks)) == list(range(12))
        for group in groups:
            assert sum(bool(set(group) & set(block.tolist())) for block in blocks) == 1
        assert all(len(block) <= max(size, 3) for block in blocks)

    def test_auto_takes_single_columns_on_tables_and_blocks_on_wide_data(self):
        assert Schedule.auto(30).columns == 1
        assert 1 < Schedule.auto(1000).columns <= 1000 // 32
        assert Schedule.auto(10**6).columns == 256

    def test_a_group_is_not_used_to_predict_itself(self, rng):
        # Two copies of one noise column: alone they fill each other perfectly, as a group they must not.
        noise = rng.standard_normal(80)
        X = np.column_stack([noise, noise, rng.standard_normal(80)])
        M = np.zeros(X.shape, dtype=bool)
        M[::4, 0] = True
        table = np.where(M, np.nan, X)
        alone = run(Problem.of(table))[-1].X
        grouped = run(Problem.of(table, groups=[[0, 1]]))[-1].X
        assert np.abs(alone - X)[M].mean() < 0.2
        assert np.abs(grouped - X)[M].mean() > 0.5

    def test_blocks_and_columns_agree_on_wide_data(self, rng):
        t = rng.uniform(0, 4, 80)
        X = np.sin(np.outer(t, np.linspace(0.5, 2, 200)) + np.linspace(0, 6, 200))
        M = rng.random(X.shape) < 0.3
        problem = Problem.of(np.where(M, np.nan, X))
        column, block = (
            run(problem, schedule=Schedule(size), stopping=[SweepLimit(5)])[-1].X for size in (1, 6)
        )
        errors = [np.sqrt(np.mean((fill - X)[M] ** 2)) for fill in (column, block)]
        assert errors[1] < 1.02 * errors[0]


class TestStopping:
    def records(self, *changes):
        return [SweepRecord(0), *(SweepRecord(i + 1, change=c, seconds=1.0) for i, c in enumerate(changes))]

    def test_relative_change(self):
        assert RelativeChange(0.1)(self.records(1, 0.2)) is None
        assert RelativeChange(0.1)(self.records(1, 0.09)) is Status.SETTLED

    def test_plateau(self):
        rule = Plateau(patience=2, share=0.1)
        assert rule(self.records(1, 0.5, 0.3, 0.2)) is None
        assert rule(self.records(1, 0.5, 0.49)) is None
        assert rule(self.records(1, 0.5, 0.49, 0.48)) is Status.PLATEAU
        assert rule(self.records(1, 0.5, 0.49, 0.3)) is None

    def test_limits(self):
        assert SweepLimit(3)(self.records(1, 1)) is None
        assert SweepLimit(3)(self.records(1, 1, 1)) is Status.SWEEP_LIMIT
        assert TimeLimit(2.5)(self.records(1, 1)) is None
        assert TimeLimit(2.0)(self.records(1, 1)) is Status.TIME_LIMIT

    @pytest.mark.parametrize(
        ("make", "names"),
        [
            (lambda: RelativeChange(-1), "tol"),
            (lambda: RelativeChange(np.nan), "tol"),
            (lambda: Plateau(0), "patience"),
            (lambda: Plateau(share=1.0), "share"),
            (lambda: SweepLimit(0), "sweeps"),
            (lambda: TimeLimit(0), "time limit"),
            (lambda: Schedule(0), "columns of Schedule"),
        ],
    )
    def test_bad_parameters_are_named(self, make, names):
        with pytest.raises(InvalidInput, match=names):
            make()


class TestLoop:
    def test_it_settles_and_improves_and_says_so(self, problem, curved):
        X, _ = curved
        states = run(problem, truth=X, stopping=[RelativeChange(1e-3), SweepLimit(50)])
        assert states[-1].status is Status.SETTLED
        assert all(state.status is Status.RUNNING for state in states[:-1])
        assert [state.sweep for state in states] == list(range(len(states)))
        assert states[-1].trace[-1].change < 1e-3
        errors = [record.error for record in states[-1].trace]
        assert errors[-1] < 0.2 * errors[0]
        assert errors[-1] == pytest.approx(paper_error(X, states[-1].X))

    def test_trace_records_bandwidth_ridge_and_rank(self, problem):
        ridge = run(problem, solver=Ridge(0.02))[-1].trace[-1]
        assert ridge.ridge == pytest.approx(0.02)
        assert ridge.bandwidth > 0
        assert ridge.seconds > 0
        assert np.isnan(ridge.error)
        spectral = run(problem, solver=Spectral())[-1].trace[-1]
        assert 1 <= spectral.rank < 120
        assert 0 < spectral.dropped_energy < 0.1
        assert np.isnan(
            run(problem, kernel=Custom(lambda X, Y: Gaussian(2.0).gram(Y, X)))[-1].trace[-1].bandwidth
        )

    def test_states_are_immutable(self, problem):
        states = run(problem)
        with pytest.raises(ValueError, match="read-only"):
            states[1].Z[0, 0] = 0
        assert not np.array_equal(states[1].Z, states[2].Z)

    def test_nothing_missing(self, curved):
        X, _ = curved
        (state,) = run(Problem.of(X))
        assert state.status is Status.NOTHING_MISSING
        np.testing.assert_array_equal(state.X, X)

    def test_only_empty_rows(self, curved):
        X = np.vstack([curved[0], np.full(6, np.nan)])
        (state,) = run(Problem.of(X))
        assert state.status is Status.ONLY_EMPTY_ROWS
        np.testing.assert_allclose(state.X[-1], curved[0].mean(axis=0))

    def test_time_limit_in_the_middle_of_a_sweep_leaves_the_last_full_sweep(self, problem):
        calls = []

        def slow(X, Y):
            calls.append(time.monotonic())
            time.sleep(0.02)
            return Gaussian(2.0).gram(Y, X)

        limit = TimeLimit(0.02 * 6 * 2.5)  # two sweeps of six columns and a half
        states = run(problem, kernel=Custom(slow), stopping=[limit])
        assert states[-1].status is Status.TIME_LIMIT
        assert states[-1].sweep >= 1
        assert len(calls) % 6 != 0 or len(calls) > 6 * states[-1].sweep
        np.testing.assert_array_equal(states[-1].Z, states[-2].Z)

    def test_interrupting_leaves_the_last_full_sweep(self, problem):
        calls = []

        def interrupted(X, Y):
            calls.append(1)
            if len(calls) == 15:  # six columns a sweep: in the third
                raise KeyboardInterrupt
            return Gaussian(2.0).gram(Y, X)

        states = []
        with pytest.raises(KeyboardInterrupt):
            states.extend(sweeps(problem, kernel=Custom(interrupted), solver=Ridge(), rng=0))
        assert states[-1].sweep == 2
        expected = run(problem, kernel=Custom(lambda X, Y: Gaussian(2.0).gram(Y, X)), solver=Ridge())
        np.testing.assert_array_equal(states[-1].X, expected[2].X)

    def test_the_same_seed_gives_the_same_states(self, problem):
        for options in ({}, {"schedule": Schedule(2)}, {"order": MissingnessOrder()}):
            one, two, other = (run(problem, rng=seed, **options)[-1].Z for seed in (1, 1, 2))
            np.testing.assert_array_equal(one, two)
            assert not np.array_equal(one, other)

    def test_bounds_hold(self, curved):
        X, M = curved
        bounds = np.array([[-0.5, -9, -9, 1.0, -9, 0], [0.5, 9, 9, 2.0, 9, 4]], dtype=float)
        filled = run(Problem.of(np.where(M, np.nan, X), bounds=bounds))[-1].X
        for j in range(6):
            fills = filled[M[:, j], j]
            assert fills.min() >= bounds[0, j]
            assert fills.max() <= bounds[1, j]
        assert (filled[M[:, 0], 0] == 0.5).any()  # the bound was at work

    def test_incompatible_kernels_are_refused_before_any_work(self, problem):
        with pytest.raises(IncompatibleKernel, match="SelfTuning"):
            run(problem, kernel=SelfTuning(), solver=Ridge())
        with pytest.raises(InvalidInput, match="no columns to leave out"):
            run(problem, kernel=Precomputed())

    @pytest.mark.parametrize(
        "kernel",
        [
            Gaussian(),
            Laplacian(),
            SemiLinear(),
            SelfTuning(),
            Custom(lambda X, Y: np.exp(-2 * np.abs(X[:, None] - Y).mean(2))),
        ],
    )
    def test_every_kernel_learns_the_curve(self, kernel, problem, curved):
        X, _ = curved
        states = run(problem, kernel=kernel, solver=Spectral(), truth=X)
        assert states[-1].trace[-1].error < 0.5 * states[0].trace[0].error

    def test_truth_must_fit(self, problem):
        with pytest.raises(InvalidInput, match="same shape"):
            run(problem, truth=np.zeros((2, 2)))
