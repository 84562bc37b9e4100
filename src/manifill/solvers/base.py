"""What a solver is: from affinities among known rows to the coefficients of an extension.

Whatever the solver, the extension of f from the known rows A to any rows is `K[:, A] @ coefficients`.
"""

from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from manifill._arrays import Array


@dataclass(frozen=True)
class Report:
    """What a solver kept, dropped or added to make the extension well-conditioned.

    Attributes
    ----------
    kept, dropped : numbers of eigenvectors in use and left out.
    dropped_energy : share of Σ|λ| in the eigenvalues left out.
    negative_energy : the part of that share which is negative: above rounding only where the kernel is
        not positive semi-definite.
    added : what was added to the diagonal of K, ridge and jitter together.
    jitter : the part of `added` that nobody asked for, needed to make Cholesky succeed.
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
    """A solver that can say why it was chosen."""

    why: str = field(default="", repr=False, compare=False, kw_only=True)

    def __str__(self) -> str:
        return f"{self!r}: {self.why}" if self.why else repr(self)


class Factor(Protocol):
    """Affinities among known rows, factored once, ready for many functions."""

    @property
    def report(self) -> Report: ...

    def coefficients(self, f: Array) -> Array:
        """Values on the known rows, (|A|,) or (|A|, m) → coefficients of the same shape."""
        ...

    def variance(self, K: Array, prior: Array, f: Array) -> Array:
        """Variance (n, m) of values observed at n rows, given those of m functions f (|A|, m) on A.

        The functions are draws from a Gaussian process whose covariance is the kernel times an amplitude,
        found from f. `K` (n, |A|) are the rows' affinities to A, `prior` (n,) those to themselves.
        """
        ...


class Solver(Protocol):
    """How coefficients are found."""

    needs_psd: ClassVar[bool]

    def factor(self, K: Array, unit: float | None = None) -> Factor:
        """Factor the affinities among the known rows, (|A|, |A|).

        `unit` is the size of affinities that a ridge is relative to; default the mean diagonal of K.
        """
        ...
