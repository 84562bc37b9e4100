import numpy as np
import pytest

from manifill._neighbors import NearRows
from manifill._threads import Workers


def true_neighbors(X, queries, k):
    D = ((X[queries][:, None] - X[None]) ** 2).sum(axis=2)
    return np.argsort(D, axis=1)[:, :k]


def recall(found, true):
    return np.mean([len(set(a) & set(b)) / len(b) for a, b in zip(found, true, strict=True)])


def manifold(rng, n, d=12):
    return np.sin(rng.random((n, 3)) @ rng.standard_normal((3, d)) * 3)


def test_few_rows_are_searched_exactly(rng):
    X = manifold(rng, 300)
    index = NearRows.of(X)
    queries = np.arange(300)
    assert recall(index.each(20), true_neighbors(X, queries, 20)) == 1.0
    assert recall(index.of_others(X, 20), true_neighbors(X, queries, 20)) == 1.0


def test_many_rows_are_searched_with_high_recall(rng):
    X = manifold(rng, 9000)
    with Workers(2):
        index = NearRows.of(X)
        each = index.each(100)
    queries = rng.integers(9000, size=100)
    true = true_neighbors(X, queries, 40)
    assert recall(each[queries], true) > 0.9
    assert recall(index.of_others(X[queries], 100), true) > 0.9


def test_the_result_does_not_depend_on_the_number_of_threads(rng):
    X = manifold(rng, 6000)
    found = []
    for n_jobs in (1, 2):
        with Workers(n_jobs):
            found.append(NearRows.of(X).each(30))
    np.testing.assert_array_equal(*found)


def test_a_query_does_not_depend_on_the_other_queries(rng):
    X = manifold(rng, 6000)
    index = NearRows.of(X)
    together = index.of_others(X[:50] + 0.01, 30)
    for i in (0, 7, 49):
        np.testing.assert_array_equal(index.of_others(X[i : i + 1] + 0.01, 30)[0], together[i])


def test_many_equal_rows(rng):
    X = np.concatenate([manifold(rng, 3000), np.ones((4000, 12))])
    index = NearRows.of(X)
    assert np.diff(index.first).max() <= 256
    found = index.each(30)
    assert ((found >= 0) & (found < 7000)).all()
    assert set(found[5000]) <= set(range(3000, 7000))


@pytest.mark.parametrize("n", [1, 2, 5])
def test_fewer_rows_than_neighbors(n, rng):
    X = rng.standard_normal((n, 3))
    found = NearRows.of(X).each(8)
    assert all(set(row) == set(range(n)) for row in found)
    others = NearRows.of(X).of_others(rng.standard_normal((2, 3)), 8)
    assert (np.sort(others, axis=1)[:, -n:] == np.arange(n)).all()
    assert (np.sort(others, axis=1)[:, :-n] == -1).all()
