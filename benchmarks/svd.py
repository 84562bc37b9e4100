"""Matrix completion by iterated low-rank SVD, a peer for wide tables."""

import numpy as np
from sklearn.utils.extmath import randomized_svd


class IterativeSVD:
    """Fill with the best low-rank approximation of the completed table, iterated to convergence.

    Parameters
    ----------
    rank : number of singular values kept.
    tol : relative change of the imputed values below which the iteration stops.
    rounds : largest number of decompositions.
    """

    def __init__(self, rank: int = 40, tol: float = 1e-3, rounds: int = 100) -> None:
        self.rank, self.tol, self.rounds = rank, tol, rounds

    def fit_transform(self, X: np.ndarray) -> np.ndarray:
        """The completed table (n, d); missing entries are NaN in X and start at the column means."""
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


class TunedSVD:
    """`IterativeSVD` with the rank of the lowest error on a tenth of the observed entries, held out."""

    RANKS = (1, 2, 3, 5, 8, 12, 20, 40, 80)

    def fit_transform(self, X: np.ndarray) -> np.ndarray:
        """The completed table (n, d); missing entries are NaN in X, columns are standardised internally."""
        center, std = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
        Z = (X - center) / np.where(std > 0, std, 1.0)
        # A separate seed: the seed of the mask would hold out entries that are already missing.
        held_out = (np.random.default_rng([0, 1]).random(X.shape) < 0.1) & ~np.isnan(X)
        held_out[:, (~np.isnan(X) & ~held_out).sum(axis=0) < 2] = False
        held_out[(~np.isnan(X) & ~held_out).sum(axis=1) < 1] = False
        ranks = [rank for rank in self.RANKS if rank < min(X.shape)] or [1]
        errors = [
            np.mean((IterativeSVD(rank).fit_transform(np.where(held_out, np.nan, Z)) - Z)[held_out] ** 2)
            for rank in ranks
        ]
        filled = IterativeSVD(ranks[int(np.argmin(errors))]).fit_transform(Z)
        return np.where(np.isnan(X), filled * std + center, X)
