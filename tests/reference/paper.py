"""Literal transcription of the paper's algorithm in slow, plain loops. It shares no code with the package.

Interpretations where the paper leaves a detail open:
- σ of the Gaussian: `multiple` × the median distance between the rows of X^(j).
- "Numerical difficulties" (its Remark 2): eigenvalues below δ · λ_max are dropped (Lafon, section 3.2).
- Columns are standardised first, with the mean and the sample standard deviation of their known values.
  This also centres them, which the extension needs.
"""

import math

import numpy as np


def sample_mean(values):
    return sum(values) / len(values)


def sample_deviation(values):
    mean = sample_mean(values)
    return math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1))


def known_values(X, M, j):
    return [X[i, j] for i in range(len(X)) if not M[i, j]]


def start(X, M, draws):
    """Draw missing values from a normal distribution with the sample mean and variance of the known ones."""
    X = np.array(X, dtype=float)
    for j in range(X.shape[1]):
        mean, deviation = sample_mean(known_values(X, M, j)), sample_deviation(known_values(X, M, j))
        for i in range(len(X)):
            if M[i, j]:
                X[i, j] = mean + deviation * draws[i, j]
    return X


def gaussian(x, y, sigma):
    """k(x, y), the kernel below equation (1)."""
    squared = sum((a - b) ** 2 for a, b in zip(x, y, strict=True))
    return math.exp(-0.5 * squared / sigma**2) / (sigma * math.sqrt(2 * math.pi))


def laplacian(x, y, sigma):
    return math.exp(-sum(abs(a - b) for a, b in zip(x, y, strict=True)) / sigma)


def distance_l2(x, y):
    return math.sqrt(sum((a - b) ** 2 for a, b in zip(x, y, strict=True)))


def distance_l1(x, y):
    return sum(abs(a - b) for a, b in zip(x, y, strict=True))


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def impute_column(X, M, j, kernel, distance, multiple, delta):
    """Steps (1) to (6) for column j; fills X in place."""
    n, d = X.shape

    # (1) X^(j): delete column j.
    deleted = [[X[i, m] for m in range(d) if m != j] for i in range(n)]

    # (2) The Gram matrix K^(j).
    distances = [distance(deleted[i], deleted[k]) for i in range(n) for k in range(i)]
    sigma = multiple * median([value for value in distances if value > 0])
    K = np.empty((n, n))
    for i in range(n):
        for k in range(n):
            K[i, k] = kernel(deleted[i], deleted[k], sigma)

    # (3) A_j: the rows where column j is not missing.
    A = [i for i in range(n) if not M[i, j]]

    # (4) Eigendata: sum over m in A of K(i, m) psi(m) = lambda psi(i).
    restricted = np.array([[K[i, m] for m in A] for i in A])
    eigenvalues, eigenvectors = np.linalg.eigh(restricted)

    # (5) Geometric harmonics, and (6) their sum with weights <gamma_j, psi>.
    filled = {i: 0.0 for i in range(n) if M[i, j]}
    for eigenvalue, psi in zip(eigenvalues, eigenvectors.T, strict=True):
        if eigenvalue < delta * max(eigenvalues):
            continue
        weight = sum(X[m, j] * psi[k] for k, m in enumerate(A))
        for i in filled:
            harmonic = sum(K[i, m] * psi[k] for k, m in enumerate(A)) / eigenvalue
            filled[i] += weight * harmonic
    for i, value in filled.items():
        X[i, j] = value


def iterate(X, M, orders, *, kernel=gaussian, distance=distance_l2, multiple=1.0, delta=1e-3):
    """Yield the completed table after each iteration from start X; `orders` are the column orders."""
    n, d = X.shape
    means = [sample_mean(known_values(X, M, j)) for j in range(d)]
    deviations = [sample_deviation(known_values(X, M, j)) for j in range(d)]
    Z = np.array([[(X[i, j] - means[j]) / deviations[j] for j in range(d)] for i in range(n)])
    for order in orders:
        for j in order:
            if any(M[:, j]):
                impute_column(Z, M, j, kernel, distance, multiple, delta)
        yield np.array([[Z[i, j] * deviations[j] + means[j] for j in range(d)] for i in range(n)])
