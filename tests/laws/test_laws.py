"""Properties that hold for every table."""

import numpy as np
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from manifill import IGHImputer, Sweep
from manifill._fillers.sweep import Ledger, SweepLimit, fixed_order, mean_start, sweeps
from manifill._problem import Problem
from manifill.amputation import mcar
from manifill.kernels import Gaussian, Laplacian, SemiLinear
from manifill.solvers import Ridge, Spectral

settings.register_profile(
    "laws", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("laws")

numbers = st.one_of(
    st.floats(-100, 100, width=32),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, -0.0, 1.0, 1e-300, -1e300, 5e-324]),
)


@st.composite
def tables(draw, elements=numbers, min_rows=1):
    shape = draw(st.tuples(st.integers(min_rows, 12), st.integers(1, 6)))
    X = draw(hnp.arrays(np.float64, shape, elements=elements))
    M = draw(hnp.arrays(np.bool_, shape))
    M[0] = False  # every column has a value
    return np.where(M, np.nan, X)


options = st.fixed_dictionaries(
    {
        "kernel": st.sampled_from(["auto", "gaussian", "laplacian", "self_tuning", "polynomial", "cosine"]),
        "solver": st.sampled_from(["auto", "spectral"]),
        "method": st.builds(
            Sweep, schedule=st.sampled_from(["auto", "block"]), start=st.sampled_from(["normal", "mean"])
        ),
        "bounds": st.sampled_from(["observed", None]),
        "max_sweeps": st.integers(1, 3),
    }
)


@given(tables(), options)
def test_observed_values_are_kept_and_imputed_values_are_finite(X, options):
    before = X.tobytes()
    imputer = IGHImputer(random_state=0, **options)
    known = ~np.isnan(X)
    for filled in (imputer.fit_transform(X), imputer.transform(X)):
        assert np.isfinite(filled).all()
        assert filled[known].tobytes() == X[known].tobytes()
    assert X.tobytes() == before


@given(tables(), options)
def test_imputed_values_are_within_observed_bounds(X, options):
    imputer = IGHImputer(random_state=0, **{**options, "bounds": "observed"})
    for filled in (imputer.fit_transform(X), imputer.transform(X)):
        assert (filled >= np.nanmin(X, axis=0)).all()
        assert (filled <= np.nanmax(X, axis=0)).all()


def test_claimed_errors_of_very_large_numbers_are_finite():
    X = np.ones((8, 2))
    X[0], X[1, 0] = (0, 1.46815608e308), 0
    options = {"method": Sweep(start="normal"), "max_sweeps": 1}
    for seed in range(5):
        imputer = IGHImputer("gaussian", solver="spectral", random_state=seed, **options).fit(X)
        assert all(np.isfinite(one.error) for one in imputer.accuracy_)


@given(tables(), options)
def test_the_same_seed_gives_the_same_numbers(X, options):
    imputer = IGHImputer(random_state=1, **options)
    assert imputer.fit_transform(X).tobytes() == imputer.fit_transform(X).tobytes()


ordinary = st.floats(-10, 10, width=32)


@given(
    tables(ordinary, min_rows=3),
    st.randoms(use_true_random=False),
    st.sampled_from([Gaussian(), SemiLinear(Laplacian())]),
)
def test_the_order_of_the_rows_does_not_matter(X, random, kernel):
    order = list(range(len(X)))
    random.shuffle(order)

    def fill(table):
        run = sweeps(
            Problem.of(table),
            kernel=kernel,
            solver=Ridge(0.1),
            start=mean_start,
            order=fixed_order,
            stopping=[SweepLimit(2)],
            rng=0,
        )
        *_, state = run
        return state.X

    np.testing.assert_allclose(fill(X[order]), fill(X)[order], rtol=1e-7, atol=1e-7)


@given(tables(ordinary, min_rows=3), st.integers(0, 5))
def test_shift_and_scale_of_a_column_do_not_matter(X, column):
    assume(column < X.shape[1])
    std = np.nanstd(X[:, column])
    assume(std == 0 or std > 1e-3)

    def fill(table):
        return IGHImputer(random_state=0, max_sweeps=2).fit_transform(table)

    moved = X.copy()
    moved[:, column] = X[:, column] * 4.0 + 8.0  # exact in binary, except for rounding of the sum
    back = fill(moved)
    back[:, column] = (back[:, column] - 8.0) / 4.0
    np.testing.assert_allclose(back, fill(X), rtol=1e-5, atol=1e-5)


@given(
    hnp.arrays(np.float64, st.tuples(st.integers(1, 9), st.integers(2, 7)), elements=ordinary),
    st.data(),
)
def test_ledger_equals_rebuild(X, data):
    statistics = SemiLinear(Laplacian()).statistics + Gaussian().statistics
    ledger = Ledger(statistics, X)
    for _ in range(3):
        d = X.shape[1]
        block = np.array(data.draw(st.lists(st.integers(0, d - 1), min_size=1, max_size=d, unique=True)))
        rest = np.delete(ledger.left, block, axis=1)
        pairs = ledger.take_out(block)
        for s in statistics:
            np.testing.assert_allclose(pairs[s], s.between(rest, rest), atol=1e-8)
        ledger.put_back(block, data.draw(hnp.arrays(np.float64, (len(X), len(block)), elements=ordinary)))


@given(st.integers(2, 40), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_a_full_rank_extension_reproduces_the_known_values(n, m, seed):
    rng = np.random.default_rng(seed)
    K = Laplacian(0.2).gram(rng.uniform(0, 1, (n, 3)))
    F = rng.standard_normal((n, m))
    for solver in (Spectral(cutoff=len), Ridge(0.0)):
        np.testing.assert_allclose(K @ solver.factor(K).coefficients(F), F, atol=1e-8)


@given(st.integers(1, 30), st.integers(1, 30), st.floats(0, 1), st.integers(0, 99))
def test_masks_are_reproducible_and_respect_rates_zero_and_one(n, d, rate, seed):
    mask = mcar((n, d), rate, seed)
    assert mask.shape == (n, d)
    np.testing.assert_array_equal(mask, mcar((n, d), rate, seed))
    assert mask.all() or rate < 1
    assert not mask.any() or rate > 0
