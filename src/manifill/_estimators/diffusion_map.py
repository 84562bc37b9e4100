"""`DiffusionMap`: coordinates on a manifold as a scikit-learn transformer."""

from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted

from manifill._arrays import Array
from manifill._checks import as_generator, complaint, is_option, require_number
from manifill._diffusion import Affinities, Diffusion
from manifill._estimators.inputs import read_rows
from manifill.errors import InvalidInput
from manifill.kernels import Gaussian, NeighborDistance, Pairs
from manifill.kernels.bandwidth import SAMPLE, as_bandwidth, spread_out

# Points up to which all pairs of them are joined, and beyond that to how many each is.
_ALL_PAIRS = 3000
_NEIGHBORS = 64
# Steps that follow the manifold: by .4 × the distance to the seventh neighbour a swiss roll of 250 points is
# unrolled; by a whole distance, or where log Σk rises fastest, it is not.
_AUTO = NeighborDistance(7, multiple=0.4)
# The least affinity of points that are joined, so that no point is alone.
_LEAST = 2e-10
# Points up to which a rule for the bandwidth sees the distances to all of them.
_SEEN = 50_000


class DiffusionMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Map points to coordinates in which near means easily reached by a random walk.

    Sends point i to (λ₁ᵗ ψ₁(i), …, λₘᵗ ψₘ(i)), with λ and ψ the eigenvalues and eigenvectors of a random walk
    with Gaussian steps, and new points to their Nyström extension.

    Parameters
    ----------
    n_components : int, default=2
        Coordinates to find.
    bandwidth : "auto", number or rule, default="auto"
        σ of the steps exp(−½‖x − y‖²/σ²). "auto" is .4 × the median distance to the seventh neighbour, or a
        third of that to the last one joined.
    alpha : float, default=1.0
        How much of the density of the points is taken out. With 1 the geometry alone counts, and −2 log λ/σ²
        tends to the eigenvalues of the manifold's Laplacian; with 0 the walk gathers where points are dense.
    time : float, default=1.0
        Diffusion time t: with more of it fine detail fades.
    n_neighbors : "auto", None or int, default="auto"
        Join each point to so many near ones only; None joins all pairs. "auto" joins all pairs of up to 3,000
        points, and 64 neighbours of more.
    random_state : int, generator or None, default=None
        Only for the start of the iteration that finds eigenvectors of many points.

    Attributes
    ----------
    embedding_ : (n, n_components), the points of the fit.
    eigenvalues_ : (n_components,), λ in descending order, without the 1 of the constant mode.
    eigenvectors_ : (n, n_components), ψ.
    laplacian_ : (n_components,), −2 log λ/σ²: with alpha=1, eigenvalues of the manifold's Laplacian.
    bandwidth_ : σ.
    n_neighbors_ : neighbours joined, or None.
    n_features_in_, feature_names_in_ : as always in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from manifill import DiffusionMap
    >>> t = np.linspace(0, 2 * np.pi, 200, endpoint=False)
    >>> X = np.column_stack([np.cos(t), np.sin(t), np.cos(3 * t)])  # a closed curve …
    >>> Y = DiffusionMap(bandwidth=0.1).fit_transform(X)
    >>> radius = np.hypot(*Y.T)
    >>> bool(radius.std() < 0.01 * radius.mean())  # … becomes a circle
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        bandwidth: Any = "auto",
        alpha: float = 1.0,
        time: float = 1.0,
        n_neighbors: Any = "auto",
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.bandwidth = bandwidth
        self.alpha = alpha
        self.time = time
        self.n_neighbors = n_neighbors
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the slowest modes of a random walk on the rows of `X` (n, d)."""
        require_number("n_components", self.n_components, least=1, whole=True)
        require_number("alpha", self.alpha)
        require_number("time", self.time, least=0)
        rows = read_rows(self, X, reset=True)
        n = len(rows)
        if n < self.n_components + 2:
            raise InvalidInput(
                f"{self.n_components} coordinates need at least {self.n_components + 2} points; "
                f"got n_samples = {n}. Give more rows, or ask for fewer coordinates."
            )
        self.n_neighbors_ = self._how_many_neighbors(n)
        self._rows = rows
        if self.n_neighbors_ is not None:
            self._near = NearestNeighbors(n_neighbors=self.n_neighbors_).fit(rows)
        self.bandwidth_ = self._scale(rows)
        seed = int(as_generator(self.random_state).integers(2**32))
        self._walk = Diffusion.of(self._among(rows), self.n_components, self.alpha, seed)
        if not (self._walk.eigenvalues[1:] > 0).all():
            raise InvalidInput(
                f"Only {(self._walk.eigenvalues > 0).sum() - 1} of the {self.n_components} coordinates asked "
                f"for mean anything with a bandwidth of {self.bandwidth_:.3g}; ask for fewer."
            )
        self.eigenvalues_ = self._walk.eigenvalues[1:]
        self.eigenvectors_ = self._walk.eigenvectors[:, 1:]
        self.laplacian_ = -2 * np.log(self.eigenvalues_) / self.bandwidth_**2
        self.embedding_ = self.eigenvalues_**self.time * self.eigenvectors_
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """The coordinates (n, n_components) of the rows of `X`."""
        return self.fit(X).embedding_

    def transform(self, X: Any) -> Array:
        """The coordinates (m, n_components) of new rows, by the Nyström formula."""
        check_is_fitted(self)
        modes = self._walk.extended(self._to(read_rows(self, X, reset=False)))
        coordinates: Array = self.eigenvalues_**self.time * modes[:, 1:]
        return coordinates

    @property
    def _n_features_out(self) -> int:
        return len(self.eigenvalues_)

    def _how_many_neighbors(self, n: int) -> int | None:
        if self.n_neighbors is None:
            return None
        if is_option(self.n_neighbors, "auto"):
            return None if n <= _ALL_PAIRS else _NEIGHBORS
        if isinstance(self.n_neighbors, str):
            raise complaint("n_neighbors", '"auto", None or a whole number', self.n_neighbors)
        require_number("n_neighbors", self.n_neighbors, least=1, whole=True)
        return min(int(self.n_neighbors), n - 1)

    def _scale(self, rows: Array) -> float:
        """σ; rules look at the distances of evenly spread rows, as they do everywhere."""
        auto = is_option(self.bandwidth, "auto")
        if isinstance(self.bandwidth, str) and not auto:
            raise complaint("bandwidth", '"auto", a positive number or a rule', self.bandwidth)
        if auto and self.n_neighbors_ is not None:
            distances, _ = self._near.kneighbors()
            return float(np.median(distances[:, -1])) / 3 or 1.0
        rule = as_bandwidth(_AUTO if auto else self.bandwidth)
        some = rows[spread_out(len(rows), SAMPLE)]
        return float(rule(cdist(some, rows if len(rows) <= _SEEN else some), Gaussian.profile))

    def _among(self, rows: Array) -> Affinities:
        """Affinities of the rows of the fit; joined are those of which either is near the other."""
        if self.n_neighbors_ is None:
            return Gaussian(self.bandwidth_).gram(rows)
        near = self._joined(self._near.kneighbors_graph(mode="distance"))
        near.data = np.maximum(near.data, _LEAST)
        either = near.maximum(near.T)
        either.setdiag(1.0)
        return csr_array(either)

    def _to(self, rows: Array) -> Affinities:
        """Affinities of new rows to those of the fit."""
        if self.n_neighbors_ is None:
            return Gaussian(self.bandwidth_)(Pairs.of(rows, self._rows, statistics=Gaussian.statistics))
        return csr_array(self._joined(self._near.kneighbors_graph(rows, self.n_neighbors_, mode="distance")))

    def _joined(self, distances: Any) -> Any:
        affinities = distances.tocsr(copy=True)
        affinities.data = Gaussian.profile(affinities.data / self.bandwidth_)
        return affinities
