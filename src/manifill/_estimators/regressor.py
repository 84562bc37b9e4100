"""`GeometricHarmonics`: the extension of functions as a scikit-learn regressor."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from manifill._arrays import Array
from manifill._checks import require_flag
from manifill._estimators.inputs import read_rows
from manifill._estimators.options import as_factoring_solver, as_kernel
from manifill._harmonics import Extension
from manifill.errors import InvalidInput
from manifill.kernels import Precomputed
from manifill.solvers import Report, SpectralFactor


class GeometricHarmonics(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """Extend functions from the rows where they are known to any rows.

    Parameters
    ----------
    kernel : word, kernel or function, default="gaussian"
        How alike two rows are; see `IGHImputer`. With "precomputed", `fit` takes affinities (n, n) and
        `predict` affinities (m, n) from new rows to the fitted ones.
    solver : {"spectral", "ridge", "auto"} or solver, default="spectral"
        Eigenvectors with a cut-off, or a ridge.
    center : bool, default=True
        Extend the deviation from the mean, so that far from known rows the mean is predicted, not 0.

    Attributes
    ----------
    kernel_ : the kernel, with its bandwidth tuned on the known rows.
    solver_ : the solver used.
    report_ : what the solver kept, dropped or added.
    eigenvalues_ : (kept,), in descending order; with the spectral solver.
    eigenvectors_ : (n, kept); with the spectral solver.
    n_features_in_, feature_names_in_ : as always in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from manifill import GeometricHarmonics
    >>> t = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    >>> circle = np.column_stack([np.cos(t), np.sin(t)])
    >>> known = np.arange(60) % 3 > 0
    >>> model = GeometricHarmonics().fit(circle[known], np.sin(3 * t[known]))
    >>> bool(model.score(circle[~known], np.sin(3 * t[~known])) > 0.99)
    True
    """

    def __init__(self, kernel: Any = "gaussian", *, solver: Any = "spectral", center: bool = True) -> None:
        self.kernel = kernel
        self.solver = solver
        self.center = center

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the functions `y` (n,) or (n, m), known on the rows `X` (n, d)."""
        require_flag("center", self.center)
        X, y = read_rows(self, X, y=y, multi_output=True, y_numeric=True, copy=True)
        _require_scale("X", X)
        _require_scale("y", np.asarray(y, dtype=np.float64))
        kernel = as_kernel(self.kernel)
        self.solver_ = as_factoring_solver(self.solver, kernel)
        if isinstance(kernel, Precomputed) and (X.shape[0] != X.shape[1] or not np.allclose(X, X.T)):
            raise InvalidInput(
                "With a precomputed kernel X must be a square, symmetric matrix of affinities; got one of "
                f"shape {X.shape}{', not symmetric' if X.shape[0] == X.shape[1] else ''}."
            )
        values = np.asarray(y, dtype=np.float64)
        self._one_function = values.ndim == 1
        self._extension = Extension.fit(
            X, values.reshape(len(values), -1), kernel, self.solver_, center=self.center
        )
        self.kernel_ = self._extension.kernel
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The extended functions at the rows `X`, and with `return_std` the standard deviation of each."""
        rows = self._rows(X)
        mean = self._shape(self._extension(rows))
        if not return_std:
            return mean
        return mean, self._shape(self._extension.std(rows))

    def harmonics(self, X: Any) -> Array:
        """The geometric harmonics Ψ_ℓ at the rows `X`, shape (n, kept); with the spectral solver."""
        rows = self._rows(X)
        return self._extension.harmonics(rows)

    @property
    def report_(self) -> Report:
        """What the solver kept, dropped or added."""
        check_is_fitted(self, "_extension")
        return self._extension.factor.report

    @property
    def eigenvalues_(self) -> Array:
        """Eigenvalues kept, in descending order."""
        return self._spectrum().eigenvalues

    @property
    def eigenvectors_(self) -> Array:
        """Eigenvectors kept, one per column, on the known rows."""
        return self._spectrum().eigenvectors

    def _spectrum(self) -> SpectralFactor:
        check_is_fitted(self, "_extension")
        factor = self._extension.factor
        if not isinstance(factor, SpectralFactor):
            raise AttributeError("Only the spectral solver computes eigenvectors; use solver='spectral'.")
        return factor

    def _rows(self, X: Any) -> Array:
        check_is_fitted(self, "_extension")
        rows: Array = read_rows(self, X, reset=False)
        _require_scale("X", rows, smallest=0.0)
        return rows

    def _shape(self, values: Array) -> Array:
        return values[:, 0] if self._one_function else values

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed" or isinstance(self.kernel, Precomputed)
        return tags


def _require_scale(name: str, values: Array, smallest: float = 1e-100) -> None:
    """Refuse numbers whose squares would vanish or overflow."""
    largest = np.abs(values).max(initial=0.0)
    if largest > 0 and not smallest <= largest <= 1e100:
        raise InvalidInput(
            f"{name} must be in units in which numbers can be squared; its largest value is {largest:.3g}. "
            "Rescale it, by StandardScaler say."
        )
