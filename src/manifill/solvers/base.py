"""Interfaces of the solvers, which compute coefficients from the affinities among the known rows.

For every solver, the extension of f from the known rows A to any rows is `K[:, A] @ coefficients`.
"""

from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from manifill._arrays import Array


@dataclass(frozen=True)
class Report:
    """Eigenvectors kept and dropped, and the amount added to the diagonal, for a well-conditioned extension.

    Attributes
    ----------
    kept, dropped : numbers of eigenvectors used and not used.
    dropped_energy : share of the dropped eigenvalues in Σ|λ|.
    negative_energy : share of the negative eigenvalues in Σ|λ|, included in `dropped_energy`; above rounding
        error only if the kernel is not positive semi-definite.
    added : amount added to the diagonal of K, ridge plus jitter.
    jitter : part of `added` beyond the requested ridge, without which the Cholesky factorisation fails.
    """

    kept: int
    dropped: int = 0
    dropped_energy: float = 0.0
    negative_energy: float = 0.0
    added: float = 0.0
    jitter: float = 0.0

    def __str__(self) -> str:
        parts = [f"kept {self.kept} of {self.kept + self.dropped} eigenvectors"]
        if self.dropped:
            parts.append(f"dropped {self.dropped_energy:.2g} of the energy")
        if self.negative_energy:
            parts.append(f"{self.negative_energy:.2g} of it negative")
        if self.added:
            parts.append(f"added {self.added:.3g} to the diagonal")
        if self.jitter:
            parts.append(f"{self.jitter:.3g} of it jitter")
        return ", ".join(parts)


@dataclass(frozen=True)
class Explained:
    """Base class of solvers that store why they were chosen: `why`, printed by `str`."""

    why: str = field(default="", repr=False, compare=False, kw_only=True)

    def __str__(self) -> str:
        return f"{self!r}: {self.why}" if self.why else repr(self)


class Factor(Protocol):
    """Factored affinities among the known rows A, used for many functions."""

    @property
    def report(self) -> Report: ...

    def coefficients(self, f: Array) -> Array:
        """Values on the known rows, (|A|,) or (|A|, m) → coefficients of the same shape."""
        ...

    def variance(self, K: Array, prior: Array, f: Array) -> Array:
        """Conditional variance (n, m) of observations at n rows, given the values f (|A|, m) of m functions.

        The functions are draws from a Gaussian process with covariance amplitude² · kernel; the amplitude is
        estimated from f. `K` (n, |A|) are the affinities of the rows to A, `prior` (n,) is k(x, x).
        """
        ...


class Solver(Protocol):
    """Interface of solvers that factor the kernel matrix of the known rows."""

    needs_psd: ClassVar[bool]

    def factor(self, K: Array, scale: float | None = None) -> Factor:
        """Factor the affinities among the known rows, (|A|, |A|).

        `scale` is k̄, the affinity that the ridge is relative to; default the mean diagonal of K.
        """
        ...
