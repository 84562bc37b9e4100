"""Wrappers that give less common imputers a `fit_transform` method, and regressors that of scikit-learn."""

import shutil
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.preprocessing import StandardScaler


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


class Mice:
    """R's mice: chained equations with predictive mean matching, mean of five imputations.

    Attributes
    ----------
    seconds_ : time of the call of mice(), without the start of R and the transfer of the table.
    """

    SCRIPT = """
    suppressPackageStartupMessages(library(mice))
    files <- commandArgs(trailingOnly = TRUE)
    X <- read.csv(files[1], header = FALSE)
    time <- system.time(
        imputed <- mice(X, m = 5, method = "pmm", remove.collinear = FALSE, printFlag = FALSE, seed = 1)
    )
    filled <- Reduce(`+`, lapply(1:5, function(i) complete(imputed, i))) / 5
    write.table(filled, files[2], sep = ",", row.names = FALSE, col.names = FALSE)
    cat(time[["elapsed"]])
    """

    @staticmethod
    @lru_cache
    def installed() -> bool:
        """Are R and its package mice there?"""
        command = ["Rscript", "-e", "library(mice)"]
        return bool(shutil.which("Rscript")) and not subprocess.run(command, capture_output=True).returncode

    def fit_transform(self, X: np.ndarray) -> np.ndarray:
        """The completed table; entries that mice leaves open are filled with the column mean.

        mice gets standardised columns: with very unequal units its equations are singular.
        """
        scaler = StandardScaler()
        Z = scaler.fit_transform(X)
        with tempfile.TemporaryDirectory() as folder:
            given, filled = Path(folder, "given.csv"), Path(folder, "filled.csv")
            np.savetxt(given, Z, delimiter=",", fmt="%.17g")
            given.write_text(given.read_text().replace("nan", "NA"))
            command = ["Rscript", "--vanilla", "-e", self.SCRIPT, str(given), str(filled)]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError(" ".join(done.stderr.split()))
            self.seconds_ = float(done.stdout)
            Y = np.genfromtxt(filled, delimiter=",", missing_values="NA").reshape(X.shape)
        return scaler.inverse_transform(np.nan_to_num(Y))  # 0 is the column mean


class RecursiveFeatureMachine(RegressorMixin, BaseEstimator):
    """xRFM (package xrfm, arXiv 2508.10053), for `IterativeImputer`.

    The package's default settings, on standardised columns, with a fifth of the rows for validation. Rows are
    split into leaves of at most `max_leaf_size`: the default of the package, 60,000, is for GPUs.
    """

    def __init__(self, max_leaf_size: int = 5000) -> None:
        self.max_leaf_size = max_leaf_size

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        from xrfm import xRFM

        self.scaler_, self.target_ = StandardScaler().fit(X), StandardScaler().fit(y[:, None])
        order = np.random.default_rng(0).permutation(len(X))
        held, rest = order[: len(X) // 5], order[len(X) // 5 :]
        features, values = (
            one.astype(np.float32) for one in (self.scaler_.transform(X), self.target_.transform(y[:, None]))
        )
        self.model_ = xRFM(
            max_leaf_size=self.max_leaf_size, device="cpu", tuning_metric="mse", random_state=0, verbose=False
        )
        self.model_.fit(features[rest], values[rest], features[held], values[held])
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        predicted = np.asarray(self.model_.predict(self.scaler_.transform(X).astype(np.float32)))
        return self.target_.inverse_transform(predicted.reshape(-1, 1))[:, 0]
