import pickle

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from manifill.errors import InvalidInput
from manifill.kernels import (
    Cosine,
    Custom,
    Fixed,
    Gaussian,
    Laplacian,
    LogSumSlope,
    MedianDistance,
    NeighborDistance,
    Pairs,
    Polynomial,
    Precomputed,
    SelfTuning,
    SemiLinear,
)

KERNELS = [
    Gaussian(),
    Gaussian(0.7),
    Laplacian(),
    SemiLinear(Gaussian(), 0.4),
    SemiLinear(Laplacian(), 0.4),
    SelfTuning(3),
    Polynomial(3, 0.5),
    Cosine(),
]
each_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=repr)


def off_diagonal(D):
    return D[~np.eye(len(D), dtype=bool)]


def formula(kernel, x, y, X):
    """k(x, y) of a kernel tuned on X, from its definition."""
    d2, d1, dot, n = np.sum((x - y) ** 2), np.abs(x - y).sum(), x @ y, len(x)
    l2, l1 = cdist(X, X), cdist(X, X, "cityblock")
    match kernel:
        case Gaussian(bandwidth=Fixed(sigma)):
            return np.exp(-0.5 * d2 / sigma**2)
        case Gaussian():
            return np.exp(-0.5 * d2 / np.median(off_diagonal(l2)) ** 2)
        case Laplacian():
            return np.exp(-d1 / np.median(off_diagonal(l1)))
        case SemiLinear(base=base, weight=weight):
            return formula(base, x, y, X) + weight * dot / n
        case SelfTuning(k=k):
            scale = [np.sort([v for v in np.linalg.norm(X - z, axis=1) if v > 1e-9])[k - 1] for z in (x, y)]
            return np.exp(-d2 / np.prod(scale))
        case Polynomial(degree=p, offset=c):
            return (dot / n + c) ** p
        case Cosine():
            return dot / np.linalg.norm(x) / np.linalg.norm(y)


@each_kernel
def test_kernel_equals_its_formula_on_known_and_new_rows(kernel, rng):
    X, Y = rng.standard_normal((9, 4)), rng.standard_normal((5, 4))
    for left in (None, Y, X[2:4]):
        rows = X if left is None else left
        expected = [[formula(kernel, x, y, X) for y in X] for x in rows]
        np.testing.assert_allclose(kernel.gram(X, left), expected, rtol=1e-10)


@each_kernel
def test_diagonal_is_k_of_a_row_with_itself(kernel, rng):
    X = rng.standard_normal((8, 3))
    pairs = Pairs.of(X, statistics=kernel.statistics)
    tuned = kernel.tuned(pairs)
    np.testing.assert_allclose(tuned.diagonal(pairs), np.diag(tuned(pairs)), rtol=1e-12)


@pytest.mark.parametrize("kernel", [kernel for kernel in KERNELS if kernel.psd], ids=repr)
@pytest.mark.parametrize("n_columns", [1, 3, 40])
def test_kernels_marked_psd_are_positive_semi_definite(kernel, n_columns, rng):
    K = kernel.gram(rng.standard_normal((60, n_columns)))
    values = np.linalg.eigvalsh(K)
    assert values.min() > -1e-12 * values.max()


def test_self_tuning_is_marked_not_psd_and_is_not(rng):
    assert SelfTuning().psd is False
    smallest = [np.linalg.eigvalsh(SelfTuning(7).gram(rng.standard_normal((100, 2))))[0] for _ in range(5)]
    assert max(smallest) < -1e-3


@each_kernel
def test_kernels_compare_and_hash_by_value(kernel):
    assert pickle.loads(pickle.dumps(kernel)) == kernel
    assert hash(kernel) == hash(pickle.loads(pickle.dumps(kernel)))


@each_kernel
def test_tuning_does_not_change_the_kernel(kernel, rng):
    before = repr(kernel)
    kernel.gram(rng.standard_normal((6, 2)))
    assert repr(kernel) == before


def test_all_kernels_but_custom_and_precomputed_are_additive():
    assert all(kernel.additive for kernel in KERNELS)
    assert not Custom(np.dot).additive
    assert not Precomputed().additive


def test_untuned_kernels_are_refused(rng):
    pairs = Pairs.of(rng.standard_normal((4, 2)), statistics=Gaussian.statistics)
    with pytest.raises(InvalidInput, match="no bandwidth yet"):
        Gaussian()(pairs)
    with pytest.raises(InvalidInput, match="no bandwidths yet"):
        SelfTuning()(pairs)


def test_identical_rows_give_finite_affinities():
    X = np.ones((5, 3))
    for kernel in KERNELS:
        assert np.isfinite(kernel.gram(X)).all()
        assert np.isfinite(kernel.gram(np.zeros((5, 3)))).all()


def test_invalid_custom_kernels_are_refused(rng):
    X = rng.standard_normal((4, 2))
    with pytest.raises(InvalidInput, match=r"must return an array of shape \(4, 4\)"):
        Custom(lambda X, Y: np.ones(3)).gram(X)
    with pytest.raises(InvalidInput, match="finite"):
        Custom(lambda X, Y: np.full((len(X), len(Y)), np.nan)).gram(X)
    with pytest.raises(InvalidInput, match="callable"):
        Custom("cosine")
    with pytest.raises(InvalidInput, match="must be symmetric"):
        Custom(lambda X, Y: X[:, :1] - Y[:, 0]).gram(X)


def test_custom_diagonal(rng):
    X = rng.standard_normal((4, 2))
    kernel = Custom(lambda X, Y: X @ Y.T)
    pairs = Pairs.of(X, statistics=())
    np.testing.assert_allclose(kernel.diagonal(pairs), (X**2).sum(axis=1))


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (lambda: Gaussian(0.0), "value of Fixed"),
        (lambda: Gaussian(-1), "value of Fixed"),
        (lambda: Gaussian(np.nan), "value of Fixed"),
        (lambda: Gaussian("wide"), "bandwidth must be"),
        (lambda: Gaussian(MedianDistance), "bandwidth must be"),
        (lambda: Gaussian(1e-200), "value of Fixed"),
        (lambda: Laplacian(10**400), "value of Fixed"),
        (lambda: SemiLinear(weight=None), "weight of SemiLinear"),
        (lambda: Polynomial(offset="a"), "offset of Polynomial"),
        (lambda: MedianDistance(0), "multiple of MedianDistance"),
        (lambda: NeighborDistance(0), "k of NeighborDistance"),
        (lambda: MedianDistance(sample=1), "sample of MedianDistance"),
        (lambda: NeighborDistance(multiple=-1), "multiple of NeighborDistance"),
        (lambda: LogSumSlope(multiple=np.inf), "multiple of LogSumSlope"),
        (lambda: SemiLinear(Cosine()), "base of SemiLinear"),
        (lambda: SemiLinear(weight=-0.1), "weight of SemiLinear"),
        (lambda: SelfTuning(0), "k of SelfTuning"),
        (lambda: Polynomial(0), "degree of Polynomial"),
        (lambda: Polynomial(2, -1.0), "offset of Polynomial"),
    ],
)
def test_invalid_parameters_are_named(make, names):
    with pytest.raises(InvalidInput, match=names):
        make()


class TestBandwidth:
    def test_median_distance(self, rng):
        X = rng.standard_normal((20, 3))
        D = cdist(X, X)
        expected = 2.5 * np.median(D[np.triu_indices(20, 1)])
        assert MedianDistance(2.5)(D, Gaussian.profile) == pytest.approx(expected)

    def test_neighbor_distance(self, rng):
        X = rng.standard_normal((20, 3))
        D = cdist(X, X)
        expected = 0.5 * np.median([np.sort(np.delete(row, i))[3 - 1] for i, row in enumerate(D)])
        assert NeighborDistance(k=3, multiple=0.5)(D, Gaussian.profile) == pytest.approx(expected)

    def test_neighbor_distance_with_fewer_rows_than_k(self):
        D = cdist([[0.0], [1.0]], [[0.0], [1.0]])
        assert NeighborDistance(k=7)(D, Gaussian.profile) == 1.0

    @pytest.mark.parametrize("profile", [Gaussian.profile, Laplacian.profile], ids=["gaussian", "laplacian"])
    @pytest.mark.parametrize("dimension", [1, 2])
    def test_log_sum_slope_finds_the_dimension_of_a_torus(self, dimension, profile, rng):
        angles = rng.uniform(0, 2 * np.pi, (1500, dimension))
        X = np.hstack([np.cos(angles), np.sin(angles)])
        D = cdist(X[:256], X)
        sigma, slope = LogSumSlope.slopes(D, profile)
        if profile is Gaussian.profile:  # the Laplacian's long tail flattens the slope
            # slightly above the dimension, because chords are shorter than arcs
            assert slope.max() == pytest.approx(1.1 * dimension, rel=0.15)
        chosen = LogSumSlope()(D, profile)
        assert chosen == pytest.approx(sigma[np.argmax(slope)])
        assert D[D > 0].min() < chosen < D.max()

    @pytest.mark.parametrize("profile", [Gaussian.profile, Laplacian.profile], ids=["gaussian", "laplacian"])
    def test_log_sum_slope_is_the_derivative_of_the_sum_over_all_pairs(self, profile, rng):
        X = rng.standard_normal((70, 3))
        D = cdist(X, X)
        sigma, slope = LogSumSlope.slopes(D, profile)
        step = 1e-4
        for s, found in zip(sigma, slope, strict=True):
            above, below = (
                np.log(sum(profile(d / x) for d in D.ravel())) for x in (s * (1 + step), s / (1 + step))
            )
            assert found == pytest.approx((above - below) / (2 * np.log1p(step)), abs=0.02)

    @pytest.mark.parametrize("rule", [MedianDistance(), NeighborDistance(), LogSumSlope()], ids=repr)
    @pytest.mark.parametrize("n", [40, 700])
    def test_bandwidth_does_not_depend_on_the_order_of_the_rows(self, rule, n, rng):
        X = rng.standard_normal((n, 3))
        D = cdist(X, X)
        order = rng.permutation(n)
        one, two = rule(D, Gaussian.profile), rule(D[np.ix_(order, order)], Gaussian.profile)
        assert one == pytest.approx(two, rel=1e-12)

    @pytest.mark.parametrize("rule", [MedianDistance(), NeighborDistance(), LogSumSlope()], ids=repr)
    def test_bandwidth_of_identical_rows_is_positive(self, rule):
        assert rule(np.zeros((6, 6)), Gaussian.profile) == 1.0
        mostly = np.zeros((6, 6))
        mostly[0, 1:] = mostly[1:, 0] = 3.0
        assert rule(mostly, Gaussian.profile) > 0

    @pytest.mark.parametrize("rule", [MedianDistance(), NeighborDistance(), LogSumSlope()], ids=repr)
    def test_bandwidth_scales_with_the_distances(self, rule, rng):
        X = rng.standard_normal((60, 3))
        small, large = (rule(cdist(c * X, c * X), Gaussian.profile) for c in (1.0, 1e3))
        assert large == pytest.approx(1e3 * small, rel=1e-6)

    def test_bandwidth_of_long_tables_is_that_of_a_sample(self, rng):
        X = rng.standard_normal((2000, 2))
        pairs = Pairs.of(X, statistics=Gaussian.statistics)
        D = cdist(X, X)
        exact = np.median(D[np.triu_indices(2000, 1)])
        assert Gaussian(MedianDistance(sample=None)).tuned(pairs).scale == pytest.approx(exact, rel=1e-9)
        rows = np.linspace(0, 1999, 1000).astype(int)
        sampled = D[np.ix_(rows, rows)]
        assert Gaussian().tuned(pairs).scale == pytest.approx(np.median(sampled[sampled > 0]), rel=1e-9)
        assert Gaussian().tuned(pairs).scale == pytest.approx(exact, rel=0.02)
        short = Pairs.of(X[:1000], statistics=Gaussian.statistics)
        exact = np.median(D[:1000, :1000][np.triu_indices(1000, 1)])
        assert Gaussian().tuned(short).scale == pytest.approx(exact, rel=1e-9)

    def test_neighbor_distance_ignores_identical_rows(self):
        D = cdist([[0.0]] * 5 + [[1.0], [3.0]], [[0.0]] * 5 + [[1.0], [3.0]])
        assert NeighborDistance(k=1)(D, Gaussian.profile) == 1.0
        assert NeighborDistance(k=2)(D, Gaussian.profile) == 3.0
