"""Geometric harmonics: extension of a function from the rows where it is known to any rows.

With K the affinities, A the known rows and K[A, A] ψ_ℓ = λ_ℓ ψ_ℓ, the harmonics
Ψ_ℓ = K[:, A] ψ_ℓ / λ_ℓ are defined on all rows, and f̂ = Σ_ℓ ⟨f, ψ_ℓ⟩ Ψ_ℓ extends f (the paper's
equations 3 and 4; Coifman and Lafon 2006).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from manifill._arrays import Array
from manifill.errors import IncompatibleKernel, InvalidInput, NotPositiveDefinite
from manifill.kernels import Kernel, Pairs
from manifill.solvers import AnySolver, Factor, Solver, SpectralFactor


def require_compatible(kernel: Kernel, solver: AnySolver) -> None:
    """Raise `IncompatibleKernel` if the solver needs a positive semi-definite kernel and this one is not."""
    if solver.needs_psd and kernel.psd is False:
        raise IncompatibleKernel(
            f"The {type(solver).__name__} solver needs a positive semi-definite kernel; "
            f"{kernel!r} is not one. Use another kernel or solver='spectral', which drops the negative "
            "eigenvalues and reports their share."
        )


@contextmanager
def blame_kernel(kernel: Kernel, solver: AnySolver) -> Iterator[None]:
    """Convert `NotPositiveDefinite` to an `IncompatibleKernel` error that names the kernel and the solver."""
    try:
        yield
    except NotPositiveDefinite as error:
        raise IncompatibleKernel(
            f"The {type(solver).__name__} solver needs a positive semi-definite kernel; {kernel!r} is "
            f"not one on these rows. Use solver='spectral'. ({error})"
        ) from error


def _affinities(kernel: Kernel, pairs: Pairs, *, own: bool = False) -> Array:
    """Affinities of all pairs or, with `own`, of each left row with itself; raises if they overflow."""
    with np.errstate(over="ignore"):
        K = kernel.diagonal(pairs) if own else kernel(pairs)
    if not np.isfinite(K).all():
        raise InvalidInput(f"X must be in units in which {kernel!r} is finite; it is not. Rescale X.")
    return K


@dataclass(frozen=True, eq=False)
class Extension:
    """Extension of m functions from the known rows A to any rows.

    Attributes
    ----------
    rows : (|A|, d), the known rows.
    kernel : tuned on the known rows.
    factor : factored affinities among the known rows.
    values : (|A|, m), the functions on the known rows, centred.
    coefficients : (|A|, m), one column per function.
    center : (m,), the mean, added back after extending; zero without centring.
    """

    rows: Array
    kernel: Kernel
    factor: Factor
    values: Array
    coefficients: Array
    center: Array

    @classmethod
    def fit(cls, X: Array, F: Array, kernel: Kernel, solver: Solver, center: bool = True) -> "Extension":
        """Extension of the columns of `F` (n, m), known on all rows of `X` (n, d).

        Away from the known rows an extension decays to zero, or to the mean with `center`.
        """
        require_compatible(kernel, solver)
        pairs = Pairs.of(X, statistics=kernel.statistics)
        tuned = kernel.tuned(pairs)
        with blame_kernel(kernel, solver):
            factor = solver.factor(_affinities(tuned, pairs))
        mean = F.mean(axis=0) if center else np.zeros(F.shape[1])
        return cls(X, tuned, factor, F - mean, factor.coefficients(F - mean), mean)

    def _pairs(self, X: Array) -> Pairs:
        return Pairs.of(X, self.rows, statistics=self.kernel.statistics)

    def __call__(self, X: Array) -> Array:
        """f̂ at the rows of `X`, shape (n, m)."""
        extended: Array = _affinities(self.kernel, self._pairs(X)) @ self.coefficients + self.center
        return extended

    def std(self, X: Array) -> Array:
        """Conditional standard deviation of an observation at each row of `X`, shape (n, m)."""
        pairs = self._pairs(X)
        prior = _affinities(self.kernel, pairs, own=True)
        variance = self.factor.variance(_affinities(self.kernel, pairs), prior, self.values)
        deviation: Array = np.sqrt(np.maximum(variance, 0.0))
        return deviation

    def harmonics(self, X: Array) -> Array:
        """Ψ_ℓ at the rows of `X`, shape (n, kept)."""
        if not isinstance(self.factor, SpectralFactor):
            raise InvalidInput(
                "Harmonics are eigenvectors, which only the spectral solver computes; use solver='spectral'."
            )
        K = _affinities(self.kernel, self._pairs(X))
        harmonics: Array = K @ self.factor.eigenvectors / self.factor.eigenvalues
        return harmonics
