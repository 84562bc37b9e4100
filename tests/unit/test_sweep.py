import itertools
from dataclasses import replace

import numpy as np
import pytest

from manifill._fillers import Status, SweepRecord
from manifill._fillers.sweep import (
    GivenStart,
    LinearStart,
    Plateau,
    RelativeChange,
    Schedule,
    SweepLimit,
    TimeLimit,
    fixed_order,
    mean_start,
    missingness_order,
    normal_start,
    random_order,
    sweeps,
)
from manifill._problem import Problem
from manifill.errors import IncompatibleKernel, InvalidInput
from manifill.kernels import Custom, Gaussian, Laplacian, Polynomial, Precomputed, SelfTuning, SemiLinear
from manifill.metrics import paper_error
from manifill.solvers import Ridge, Spectral


@pytest.fixture
def problem(curved):
    X, M = curved
    return Problem.of(np.where(M, np.nan, X))


def run(problem, **options):
    options = {"kernel": Gaussian(), "solver": Ridge(1e-2), "rng": 0, **options}
    return list(sweeps(problem, **options))


class TestProblem:
    def test_columns_are_standardised(self, problem):
        observed = np.where(problem.M, np.nan, problem.Z)
        np.testing.assert_allclose(np.nanmean(observed, axis=0), 0, atol=1e-12)
        np.testing.assert_allclose(np.nanstd(observed, axis=0, ddof=1), 1, rtol=1e-12)

    def test_a_problem_is_immutable(self, problem):
        with pytest.raises(ValueError, match="read-only"):
            problem.Z[0, 0] = 1
        with pytest.raises(AttributeError):
            problem.Z = np.zeros(3)

    def test_later_changes_of_the_table_do_not_affect_the_problem(self):
        table = np.array([[1.0, np.nan], [2.0, 3.0]])
        problem = Problem.of(table)
        table[0, 1] = 99.0
        assert problem.restore(problem.Z)[0, 1] == 3.0
        with pytest.raises(ValueError, match="read-only"):
            problem.scaling.center[0] = 1

    def test_input_is_not_changed(self, curved):
        X, M = curved
        table = np.where(M, np.nan, X)
        before = table.copy()
        run(Problem.of(table))
        np.testing.assert_array_equal(table, before)
        table[0, 0] = 7.0  # the table is still writeable

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
    def test_invalid_tables_are_refused(self, X, message):
        with pytest.raises(InvalidInput, match=message):
            Problem.of(X)

    def test_invalid_bounds_are_refused(self):
        with pytest.raises(InvalidInput, match="lowest"):
            Problem.of(np.zeros((2, 2)), bounds=[[1, 1], [0, 2]])


class TestStart:
    def test_normal_draws_have_the_observed_mean_and_variance(self, rng):
        X = np.column_stack([rng.normal(50, 9, 4000), rng.exponential(2, 4000), np.full(4000, 3.0)])
        M = rng.random(X.shape) < 0.5
        M[M.all(axis=1), 2] = False  # rows without observed values get no draws
        problem = Problem.of(np.where(M, np.nan, X))
        start = problem.restore(normal_start(problem, rng))
        for j in range(2):
            drawn, observed = start[M[:, j], j], X[~M[:, j], j]
            assert drawn.mean() == pytest.approx(observed.mean(), rel=0.05)
            assert drawn.std() == pytest.approx(observed.std(), rel=0.05)
        assert (start[:, 2] == 3.0).all()

    def test_mean_start_is_the_observed_mean(self, problem, rng):
        start = problem.restore(mean_start(problem, rng))
        missing = np.isnan(problem.given)
        means = np.nanmean(problem.given, axis=0)
        np.testing.assert_allclose(start[missing], means[np.nonzero(missing)[1]])

    def test_linear_start_recovers_points_in_a_plane(self, rng):
        X = rng.normal(size=(300, 2)) @ rng.normal(size=(2, 6)) + 5.0
        M = rng.random(X.shape) < 0.2
        X = np.column_stack([X, np.full(300, 3.0)])  # and a constant column
        M = np.column_stack([M, np.arange(300) == 0])
        problem = Problem.of(np.where(M, np.nan, X))
        start = problem.restore(LinearStart(rounds=50)(problem, rng))
        assert np.abs(start - X)[M].mean() < 0.05 * X.std()
        assert (start[~M] == X[~M]).all()

    def test_linear_start_equals_regression_if_one_column_is_incomplete(self, rng):
        x = rng.normal(size=400)
        y = 2 * x + rng.normal(size=400)
        M = np.arange(400) % 4 == 0
        problem = Problem.of(np.column_stack([x, np.where(M, np.nan, y)]))
        start = problem.restore(LinearStart(rounds=100, most_rows=400)(problem, rng))
        slope, offset = np.polyfit(x[~M], y[~M], 1)
        np.testing.assert_allclose(start[M, 1], slope * x[M] + offset, atol=0.02)  # up to its shrinkage

    def test_distributions_without_a_fold_hardly_depend_on_its_rows(self, rng):
        X = rng.normal(size=(200, 2)) @ rng.normal(size=(2, 4)) + 0.3 * rng.normal(size=(200, 4))
        folds, other = np.arange(200) % 4, X.copy()
        other[folds == 2] = other[folds == 2][:, ::-1] * [1, -1, 2, 1]
        found = []
        for one in (X, other):
            problem = Problem.of(X)  # the same means and scales
            problem = replace(problem, Z=problem.scaling.standardise(one))
            found.append(LinearStart().distributions(problem, np.random.default_rng(0), folds))
        (normal, without), (changed, without_changed) = found
        assert len(without) == len(without_changed) == 4
        assert np.abs(normal[1] - changed[1]).max() > 0.1
        for fold, (one, another) in enumerate(zip(without, without_changed, strict=True)):
            same = np.allclose(one[0], another[0], atol=1e-9) and np.allclose(one[1], another[1], atol=1e-6)
            assert same == (fold == 2)

    def test_linear_start_is_equal_in_chunks_and_similar_from_a_sample(self, rng, monkeypatch):
        X = rng.normal(size=(3000, 3)) @ rng.normal(size=(3, 5))
        problem = Problem.of(np.where(rng.random(X.shape) < 0.3, np.nan, X))
        expected = LinearStart(most_rows=3000)(problem, np.random.default_rng(0))
        monkeypatch.setattr("manifill._fillers.sweep.start._CHUNK", 25 * 7)
        np.testing.assert_allclose(
            LinearStart(most_rows=3000)(problem, np.random.default_rng(0)), expected, atol=1e-8
        )
        sampled = LinearStart(most_rows=1000)(problem, np.random.default_rng(0))
        assert np.abs(sampled - expected).mean() < 0.05

    def test_given_values_replace_missing_entries_only(self, problem, rng, curved):
        X, _ = curved
        start = problem.restore(GivenStart(X + 0.5)(problem, rng))
        np.testing.assert_allclose(start, np.where(np.isnan(problem.given), X + 0.5, X))

    def test_given_values_are_checked(self, problem, rng):
        with pytest.raises(InvalidInput, match="shape of the data"):
            GivenStart(np.zeros((2, 2)))(problem, rng)
        with pytest.raises(InvalidInput, match="finite wherever"):
            GivenStart(np.full(problem.shape, np.nan))(problem, rng)
        late = Problem.of([[np.nan, np.nan], [1.0, 2.0], [3.0, np.nan]])
        with pytest.raises(InvalidInput, match="column 1 is nan in row 2"):
            GivenStart(np.full((3, 2), np.nan))(late, rng)

    def test_a_start_at_the_truth_stays_there(self, problem, curved):
        X, _ = curved
        states = run(problem, start=GivenStart(X), solver=Ridge(1e-4))
        assert states[1].trace[-1].change < 0.05


class TestOrderAndSchedule:
    def test_random_order_changes_every_sweep(self, problem, rng):
        blocks = Schedule().blocks(problem.groups, rng)
        seen = {tuple(int(b[0]) for b in random_order(blocks, problem, rng)) for _ in range(20)}
        assert len(seen) > 10
        assert all(sorted(order) == list(range(6)) for order in seen)

    def test_fixed_and_missingness_order(self, rng):
        X = np.array([[1, np.nan, 3], [np.nan, np.nan, 1], [2, 2, 2]])
        problem = Problem.of(X)
        blocks = Schedule().blocks(problem.groups, rng)
        assert [int(b[0]) for b in fixed_order(blocks, problem, rng)] == [0, 1, 2]
        assert [int(b[0]) for b in missingness_order(blocks, problem, rng)] == [2, 0, 1]

    @pytest.mark.parametrize("size", [1, 2, 3, 100])
    def test_blocks_hold_every_column_once_and_never_split_a_group(self, size, rng):
        groups = Problem.of(np.zeros((2, 12)), groups=[[0, 5, 7], [2, 3]]).groups
        blocks = Schedule(size).blocks(groups, rng)
        assert sorted(np.concatenate(blocks)) == list(range(12))
        for group in groups:
            assert sum(bool(set(group) & set(block.tolist())) for block in blocks) == 1
        assert all(0 < len(block) <= max(size, 3) for block in blocks)

    def test_auto_uses_single_columns_for_narrow_and_blocks_for_wide_tables(self):
        assert Schedule.auto(30).columns == 1
        assert [Schedule.auto(d).columns for d in (63, 64, 207, 1000, 10**6)] == [1, 2, 11, 125, 1024]
        assert [Schedule.auto(d, 1000).columns for d in (30, 149, 150, 207, 4096)] == [1, 7, 15, 20, 1024]
        assert Schedule.auto(150, 999).columns == 7

    @pytest.mark.parametrize("size", [2, 3, 100])
    def test_a_block_has_at_most_half_of_the_columns(self, size, rng):
        for d in (1, 2, 3, 7):
            groups = Problem.of(np.zeros((2, d))).groups
            assert max(map(len, Schedule(size).blocks(groups, rng))) == max(1, min(size, d // 2))

    def test_a_group_is_not_used_to_predict_itself(self, rng):
        # Two copies of a noise column: each predicts the other, unless they are a group.
        noise = rng.standard_normal(80)
        X = np.column_stack([noise, noise, rng.standard_normal(80)])
        M = np.zeros(X.shape, dtype=bool)
        M[::4, 0] = True
        table = np.where(M, np.nan, X)
        alone = run(Problem.of(table))[-1].X
        grouped = run(Problem.of(table, groups=[[0, 1]]))[-1].X
        assert np.abs(alone - X)[M].mean() < 0.2
        assert np.abs(grouped - X)[M].mean() > 0.5

    def test_blocks_are_as_accurate_as_single_columns_on_wide_data(self, rng):
        t = rng.uniform(0, 4, 80)
        X = np.sin(np.outer(t, np.linspace(0.5, 2, 200)) + np.linspace(0, 6, 200))
        M = rng.random(X.shape) < 0.3
        problem = Problem.of(np.where(M, np.nan, X))
        column, block = (
            run(problem, schedule=Schedule(size), stopping=[SweepLimit(5)])[-1].X for size in (1, 6)
        )
        errors = [np.sqrt(np.mean((fill - X)[M] ** 2)) for fill in (column, block)]
        assert errors[1] < 1.02 * errors[0]


def test_change_is_measured_on_missing_entries_of_columns_that_are_not_constant(problem, curved):
    X, M = curved
    states = run(problem)
    for before, after in itertools.pairwise(states):
        expected = np.sqrt(np.mean((after.Z - before.Z)[problem.M] ** 2))
        assert after.trace[-1].change == pytest.approx(expected)
    constant = np.full((len(X), 30), 7.0)
    constant[::2] = np.nan
    diluted = run(
        Problem.of(np.hstack([np.where(M, np.nan, X), constant])), start=mean_start, order=fixed_order
    )
    plain = run(problem, start=mean_start, order=fixed_order)
    assert diluted[1].trace[-1].change == pytest.approx(plain[1].trace[-1].change)


def test_a_run_settles_at_once_if_only_constant_columns_are_incomplete():
    X = np.array([[5.0, 1.0], [np.nan, 2.0], [5.0, 3.0]])
    state = run(Problem.of(X))[-1]
    assert state.status is Status.SETTLED
    assert state.X[1, 0] == 5.0


class TestStopping:
    def records(self, *changes):
        return [SweepRecord(0), *(SweepRecord(i + 1, change=c, seconds=1.0) for i, c in enumerate(changes))]

    def test_relative_change(self):
        assert RelativeChange(0.1)(self.records(1, 0.2)) is None
        assert RelativeChange(0.1)(self.records(1, 0.09)) is Status.SETTLED

    def test_plateau(self):
        rule = Plateau(patience=2, share=0.1)
        assert rule(self.records(1, 0.9, 0.5, 0.1, 0.2, 0.2)) is Status.PLATEAU  # against all sweeps before
        assert rule(self.records(1, 0.9, 0.5, 0.1, 0.2, 0.08)) is None
        assert rule(self.records(1, 0.5, 0.3, 0.2)) is None
        assert rule(self.records(1, 0.5, 0.49)) is None
        assert rule(self.records(1, 0.5, 0.49, 0.48)) is Status.PLATEAU
        assert rule(self.records(1, 0.5, 0.49, 0.3)) is None
        assert Plateau(patience=2, share=0.5)(self.records(1, 0.5, 0.5)) is Status.PLATEAU  # half is not less

    def test_limits(self):
        assert SweepLimit(3)(self.records(1, 1)) is None
        assert SweepLimit(3)(self.records(1, 1, 1)) is Status.SWEEP_LIMIT
        assert TimeLimit(2.5)(self.records(1, 1)) is None
        assert TimeLimit(2.0)(self.records(1, 1)) is Status.TIME_LIMIT


class TestLoop:
    def test_status_change_and_error_of_a_run_that_settles(self, problem, curved):
        X, _ = curved
        states = run(problem, truth=X, stopping=[RelativeChange(1e-3), SweepLimit(50)])
        assert states[-1].status is Status.SETTLED
        assert all(state.status is Status.RUNNING for state in states[:-1])
        assert [state.sweep for state in states] == list(range(len(states)))
        assert states[-1].trace[-1].change < 1e-3
        errors = [record.error for record in states[-1].trace]
        assert errors[-1] < 0.2 * errors[0]
        assert errors[-1] == pytest.approx(paper_error(X, states[-1].X))

    def test_a_linear_start_counts_as_the_first_sweep(self, problem, curved):
        X, _ = curved
        states = run(problem, start=LinearStart(), truth=X, stopping=[SweepLimit(2)])
        given = problem.restore(LinearStart()(problem, np.random.default_rng(0).spawn(4)[0]))
        np.testing.assert_allclose(states[0].X, problem.restore(mean_start(problem, None)))
        np.testing.assert_allclose(states[1].X, given)
        assert [state.sweep for state in states] == [0, 1, 2]
        errors = [record.error for record in states[-1].trace]
        assert errors[0] > errors[1] > errors[2]

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

    def test_a_time_limit_within_a_sweep_keeps_the_last_full_sweep(self, problem, monkeypatch):
        clock = [0.0]

        def slow(X, Y):
            clock[0] += 1.0  # a second per column, six columns a sweep
            return Gaussian(2.0).gram(Y, X)

        monkeypatch.setattr("time.monotonic", lambda: clock[0])
        states = run(problem, kernel=Custom(slow), stopping=[TimeLimit(15)])
        assert [state.sweep for state in states] == [0, 1, 2, 2]
        assert states[-1].status is Status.TIME_LIMIT
        assert clock[0] == 15
        np.testing.assert_array_equal(states[-1].Z, states[-2].Z)

    def test_time_spent_by_the_caller_does_not_count_towards_the_limit(self, problem, monkeypatch):
        clock = [0.0]

        def slow(X, Y):
            clock[0] += 1.0
            return Gaussian(2.0).gram(Y, X)

        monkeypatch.setattr("time.monotonic", lambda: clock[0])
        seen = []
        for state in sweeps(problem, kernel=Custom(slow), solver=Ridge(), stopping=[TimeLimit(12)], rng=0):
            seen.append(state.sweep)
            clock[0] += 1000.0
        assert seen == [0, 1, 2]

    def test_an_interrupt_keeps_the_last_full_sweep(self, problem):
        calls = []

        def interrupted(X, Y):
            calls.append(1)
            if len(calls) == 15:  # in the third sweep; a sweep has six columns
                raise KeyboardInterrupt
            return Gaussian(2.0).gram(Y, X)

        states = []
        with pytest.raises(KeyboardInterrupt):
            states.extend(sweeps(problem, kernel=Custom(interrupted), solver=Ridge(), rng=0))
        assert states[-1].sweep == 2
        expected = run(problem, kernel=Custom(lambda X, Y: Gaussian(2.0).gram(Y, X)), solver=Ridge())
        np.testing.assert_array_equal(states[-1].X, expected[2].X)

    def test_the_same_seed_gives_the_same_states(self, problem):
        for options in ({}, {"schedule": Schedule(2)}, {"order": missingness_order}):
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
        assert (filled[M[:, 0], 0] == 0.5).any()  # the bound is active

    def test_bounds_hold_at_the_start_and_in_every_sweep(self, curved):
        X, M = curved
        low, high = X.mean(axis=0) - 0.1 * X.std(axis=0), X.mean(axis=0) + 0.1 * X.std(axis=0)
        problem = Problem.of(np.where(M, np.nan, X), bounds=[low, high])
        M = problem.M
        lowest, highest = (np.broadcast_to(side, M.shape)[M] for side in problem.standard_bounds)
        for state in run(problem):
            assert (state.Z[M] >= lowest).all()
            assert (state.Z[M] <= highest).all()

    @pytest.mark.parametrize("kernel", [Polynomial(3, 0.0), Polynomial(2, 0.0), Polynomial(3, 1.0)], ids=repr)
    def test_a_diverging_fill_is_stopped_and_reported(self, kernel):
        statuses = set()
        for seed in range(6):
            rng = np.random.default_rng(seed)
            X = np.sin(rng.standard_normal((60, 2)) @ rng.standard_normal((2, 6)))
            X[rng.random(X.shape) < 0.4] = np.nan
            state = run(Problem.of(X), kernel=kernel, solver=Spectral(), stopping=[SweepLimit(30)])[-1]
            assert np.abs(state.Z).max() < 1e4
            statuses.add(state.status)
        assert Status.DIVERGED in statuses

    def test_invalid_starts_are_refused(self, problem):
        with pytest.raises(InvalidInput, match="start must give 120 × 6 finite values"):
            run(problem, start=lambda problem, rng: np.full(problem.shape, np.nan))
        with pytest.raises(InvalidInput, match="start must give"):
            run(problem, start=lambda problem, rng: np.zeros(3))

    def test_the_negative_energy_of_a_kernel_is_in_the_trace(self, rng):
        X = rng.standard_normal((100, 3))
        X[rng.random(X.shape) < 0.2] = np.nan
        record = run(Problem.of(X), kernel=SelfTuning(), solver=Spectral())[-1].trace[-1]
        assert 0 < record.negative_energy < 0.2

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

    def test_truth_must_have_the_shape_of_the_table(self, problem):
        with pytest.raises(InvalidInput, match="same shape"):
            run(problem, truth=np.zeros((2, 2)))
