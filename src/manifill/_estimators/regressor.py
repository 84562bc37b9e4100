"""`GeometricHarmonics`: kernel regression by geometric harmonics as a scikit-learn regressor."""

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
    """Kernel regression by geometric harmonics (Coifman and Lafon 2006).

    With K the kernel matrix of the training rows, K ψ_ℓ = λ_ℓ ψ_ℓ and k(x) the kernel between a row x and the
    training rows, the prediction is f(x) = Σ_ℓ ⟨y, ψ_ℓ⟩ Ψ_ℓ(x) with the harmonics Ψ_ℓ(x) = k(x)·ψ_ℓ / λ_ℓ.

    Parameters
    ----------
    kernel : str, kernel object or callable, default="gaussian"
        Similarity of two rows; see `IGHImputer`. With "precomputed", `fit` takes the kernel matrix (n, n),
        and `predict` the kernel matrix (m, n) between new rows and training rows.
    solver : {"spectral", "ridge", "auto"} or solver object, default="spectral"
        "spectral" drops small eigenvalues of the kernel matrix; "ridge" is kernel ridge regression. "auto" is
        "ridge" if the kernel is known to be positive semi-definite, else "spectral".
    center : bool, default=True
        Subtract the mean of `y` before fitting. Far from the training rows the prediction is then the mean
        instead of 0.

    Attributes
    ----------
    kernel_ : the kernel, with its bandwidth chosen on the training rows.
    solver_ : the solver used.
    report_ : eigenvectors that the solver kept and dropped, and the ridge penalty it added.
    eigenvalues_ : (kept,), in descending order; only with the spectral solver.
    eigenvectors_ : (n, kept); only with the spectral solver.
    n_features_in_, feature_names_in_ : number and names of the input columns, as in scikit-learn.

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
        """Fit the targets `y` (n,) or (n, m) on the rows `X` (n, d)."""
        require_flag("center", self.center)
        X, y = read_rows(self, X, y=y, multi_output=True, y_numeric=True, copy=True)
        _require_scale("X", X)
        _require_scale("y", np.asarray(y, dtype=np.float64))
        kernel = as_kernel(self.kernel)
        self.solver_ = as_factoring_solver(self.solver, kernel)
        if isinstance(kernel, Precomputed) and (X.shape[0] != X.shape[1] or not np.allclose(X, X.T)):
            raise InvalidInput(
                "With kernel='precomputed', X must be a square, symmetric kernel matrix; got "
                f"shape {X.shape}{', not symmetric' if X.shape[0] == X.shape[1] else ''}."
            )
        values = np.asarray(y, dtype=np.float64)
        self._single_output = values.ndim == 1
        self._extension = Extension.fit(
            X, values.reshape(len(values), -1), kernel, self.solver_, center=self.center
        )
        self.kernel_ = self._extension.kernel
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predict the targets at the rows `X`; with `return_std`, also return their standard deviations."""
        rows = self._rows(X)
        mean = self._shape(self._extension(rows))
        if not return_std:
            return mean
        return mean, self._shape(self._extension.std(rows))

    def harmonics(self, X: Any) -> Array:
        """Return the geometric harmonics Ψ_ℓ at the rows `X`, (m, kept); only with the spectral solver."""
        rows = self._rows(X)
        return self._extension.harmonics(rows)

    @property
    def report_(self) -> Report:
        """Eigenvectors that the solver kept and dropped, and the ridge penalty it added."""
        check_is_fitted(self, "_extension")
        return self._extension.factor.report

    @property
    def eigenvalues_(self) -> Array:
        """Eigenvalues kept by the spectral solver, in descending order."""
        return self._spectral_factor().eigenvalues

    @property
    def eigenvectors_(self) -> Array:
        """Eigenvectors kept by the spectral solver, one per column."""
        return self._spectral_factor().eigenvectors

    def _spectral_factor(self) -> SpectralFactor:
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
        return values[:, 0] if self._single_output else values

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed" or isinstance(self.kernel, Precomputed)
        return tags


def _require_scale(name: str, values: Array, smallest: float = 1e-100) -> None:
    """Refuse numbers whose squares underflow or overflow."""
    largest = np.abs(values).max(initial=0.0)
    if largest > 0 and not smallest <= largest <= 1e100:
        raise InvalidInput(
            f"{name} must be in units in which squares neither underflow nor overflow; its largest value is "
            f"{largest:.3g}. Rescale it, for example with StandardScaler."
        )
