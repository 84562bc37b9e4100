"""Wrappers that give less common imputers a `fit_transform` method."""

from typing import Any

import numpy as np


class MiceForest:
    """miceforest: chained equations with LightGBM, mean of five draws."""

    def fit_transform(self, X: np.ndarray) -> np.ndarray:
        """The completed table."""
        import miceforest
        import pandas

        frame = pandas.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
        kernel = miceforest.ImputationKernel(frame, num_datasets=5, random_state=0)
        kernel.mice(5, verbose=False)
        return np.mean([kernel.complete_data(i).to_numpy(float) for i in range(5)], axis=0)


class GaussianCopula:
    """gcimpute: a Gaussian copula."""

    def fit_transform(self, X: np.ndarray) -> np.ndarray:
        """The completed table."""
        from gcimpute.gaussian_copula import GaussianCopula as Copula

        return np.asarray(Copula(verbose=0).fit_transform(X=X))


class HyperImpute:
    """hyperimpute: chained equations with a model chosen for every column. Requires pandas < 3."""

    def fit_transform(self, X: np.ndarray) -> np.ndarray:
        """The completed table."""
        from hyperimpute.plugins.imputers import Imputers

        plugin: Any = Imputers().get("hyperimpute", random_state=0)
        return np.asarray(plugin.fit_transform(X.copy()))
