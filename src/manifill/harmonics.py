"""Geometric harmonics: extend a function from the rows where it is known to any rows.

With K the affinities, A the known rows and K[A, A] ψ_ℓ = λ_ℓ ψ_ℓ, the harmonics
Ψ_ℓ = K[:, A] ψ_ℓ / λ_ℓ are defined on all rows, and f̂ = Σ_ℓ ⟨f, ψ_ℓ⟩ Ψ_ℓ extends f (the paper's
equations 3 and 4; Coifman and Lafon 2006).
"""

from dataclasses import dataclass

import numpy as np

from manifill.arrays import Array
from manifill.errors import IncompatibleKernel, InvalidInput, NotPositiveDefinite
from manifill.kernels import Kernel, Pairs
from manifill.solvers import Factor, Solver, SpectralFactor


def require_compatible(kernel: Kernel, solver: Solver) -> None:
    """Refuse, by name, a kernel that the solver cannot serve."""
    if solver.needs_psd and kernel.psd is False:
        raise IncompatibleKernel(
            f"The {type(solver).__name__} solver needs a positive semi-definite kernel, and "
            f"{kernel!r} is not one. Use solver='spectral', which drops the negative part and reports "
            "how much that was, or another kernel."
        )


def factorise(K: Array, kernel: Kernel, solver: Solver) -> Factor:
    """`solver.factor(K)`, with the kernel's name in the answer where that fails."""
    try:
        return solver.factor(K)
    except NotPositiveDefinite as error:
        raise IncompatibleKernel(
            f"The {type(solver).__name__} solver cannot use {kernel!r}, which is not positive "
            f"semi-definite on these rows. Use solver='spectral'. ({error})"
        ) from error


@dataclass(frozen=True, eq=False)
class Extension:
    """Functions known on some rows, extended to every row one may ask for.

    Attributes
    ----------
    rows : (|A|, d), the known rows.
    kernel : tuned on them.
    factor : the affinities among them, factored.
    coefficients : (|A|, m), one column per function.
    center : (m,), the mean put back after extending; zero where no centring was asked for.
    amplitude : (m,), √(fᵀ coefficients / kept): the scale of each function against the kernel, by which
        the kernel's own uncertainty becomes that of the function.
    """

    rows: Array
    kernel: Kernel
    factor: Factor
    coefficients: Array
    center: Array
    amplitude: Array

    @classmethod
    def fit(cls, X: Array, F: Array, kernel: Kernel, solver: Solver, center: bool = True) -> "Extension":
        """Extend the columns of `F` (n, m), known on all rows of `X` (n, d).

        An extension decays to zero away from the known rows; with `center` it decays to the mean.
        """
        require_compatible(kernel, solver)
        pairs = Pairs.of(X, statistics=kernel.statistics)
        tuned = kernel.tuned(pairs)
        factor = factorise(tuned(pairs), kernel, solver)
        mean = F.mean(axis=0) if center else np.zeros(F.shape[1])
        coefficients = factor.coefficients(F - mean)
        energy = np.einsum("im,im->m", F - mean, coefficients) / max(factor.report.kept, 1)
        return cls(X, tuned, factor, coefficients, mean, np.sqrt(np.maximum(energy, 0.0)))

    def _pairs(self, X: Array) -> Pairs:
        return Pairs.of(X, self.rows, statistics=self.kernel.statistics)

    def __call__(self, X: Array) -> Array:
        """f̂ at the rows of `X`, shape (n, m)."""
        extended: Array = self.kernel(self._pairs(X)) @ self.coefficients + self.center
        return extended

    def std(self, X: Array) -> Array:
        """The standard deviation of a value observed at each row of `X`, shape (n, m).

        The extension is the mean of a Gaussian process with covariance `amplitude² · k`; this is its
        standard deviation, with what the solver added to the diagonal as the noise of an observation.
        """
        pairs = self._pairs(X)
        K = self.kernel(pairs)
        explained = np.einsum("ia,ai->i", K, self.factor.coefficients(K.T))
        variance = self.kernel.diagonal(pairs) - explained + self.factor.report.added
        deviation: Array = np.sqrt(np.maximum(variance, 0.0))[:, None] * self.amplitude[None, :]
        return deviation

    def harmonics(self, X: Array) -> Array:
        """Ψ_ℓ at the rows of `X`, shape (n, kept)."""
        if not isinstance(self.factor, SpectralFactor):
            raise InvalidInput(
                "The harmonics are eigenvectors, which only the spectral solver computes; "
                "use solver='spectral'."
            )
        K = self.kernel(self._pairs(X))
        harmonics: Array = K @ self.factor.eigenvectors / self.factor.eigenvalues
        return harmonics
