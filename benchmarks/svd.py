"""Completion by a singular value decomposition of low rank, done again and again: a peer for wide tables."""

import numpy as np
from sklearn.utils.extmath import randomized_svd


class IterativeSVD:
    """Fill with the best approximation of some rank to the table as it is filled, until that settles.

    Parameters
    ----------
    rank : singular values kept.
    tol : the change of the fill, relative to its size, at which it has settled.
    rounds : most decompositions.
    """

    def __init__(self, rank: int = 40, tol: float = 1e-3, rounds: int = 100) -> None:
        self.rank, self.tol, self.rounds = rank, tol, rounds

    def fit_transform(self, X: np.ndarray) -> np.ndarray:
        """The table (n, d), NaN where missing, completed from its column means."""
        M = np.isnan(X)
        filled = np.where(M, np.nanmean(X, axis=0), X)
        for _ in range(self.rounds):
            U, s, V = randomized_svd(filled, self.rank, random_state=0)
            fill = (U * s @ V)[M]
            change = np.linalg.norm(fill - filled[M]) / np.linalg.norm(filled[M])
            filled[M] = fill
            if change < self.tol:
                break
        return filled
