"""`DiffusionMap`: nonlinear dimension reduction as a scikit-learn transformer."""

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
from manifill.kernels.bandwidth import SAMPLE, as_bandwidth, evenly_spaced

# n_neighbors="auto": number of points up to which the kernel matrix is dense, and neighbours per point of
# larger data sets. Set by hand, not tuned.
_MAX_DENSE_POINTS = 3000
_NEIGHBORS = 64
# bandwidth="auto" for a dense kernel matrix. It unrolls a swiss roll of 250 points. 1 × the distance to the
# seventh neighbour does not, nor does the bandwidth at which log Σk rises fastest (`LogSumSlope`).
_AUTO_BANDWIDTH = NeighborDistance(7, multiple=0.4)
# Lower bound on the affinity of neighbours, so that no point is disconnected: a Gaussian at 6.7 bandwidths.
_MIN_AFFINITY = 2e-10
# Number of points up to which bandwidth rules get the distances from the sampled points to all points:
# 1,000 × 50,000 distances take 0.4 GB.
_MAX_RULE_POINTS = 50_000


class DiffusionMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Embed points by a diffusion map, a nonlinear dimension reduction (Coifman and Lafon 2006).

    A random walk on the points moves from x to y with probability proportional to the Gaussian kernel
    exp(−½‖x − y‖²/σ²). Points are close in the embedding if the walk passes easily between them. With λ and ψ
    the eigenvalues and eigenvectors of the walk, point i is mapped to (λ₁ᵗ ψ₁(i), …, λₘᵗ ψₘ(i)). New points
    are mapped by the Nyström extension.

    Parameters
    ----------
    n_components : int, default=2
        Number of coordinates m.
    bandwidth : "auto", float or bandwidth rule, default="auto"
        σ, as a number or as a rule from `manifill.kernels`. "auto" is 0.4 × the median distance to the
        seventh nearest neighbour. If only nearest neighbours are connected (`n_neighbors`), it is a third of
        the median distance to the farthest of these neighbours.
    alpha : float, default=1.0
        Exponent of the density normalisation: K is divided by qᵅ qᵅᵀ, where q are its row sums. With 1 the
        map does not depend on the sampling density, and −2 log λ/σ² tends to the eigenvalues of the
        manifold's Laplacian. With 0 the walk is drawn to dense regions.
    time : float, default=1.0
        Diffusion time t. A larger t suppresses fine detail.
    n_neighbors : "auto", int or None, default="auto"
        Connect each point only to this number of nearest neighbours; None connects all pairs. "auto" connects
        all pairs of up to 3,000 points, and 64 neighbours per point beyond that.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the start vector of the iterative eigensolver, which is used for many points.

    Attributes
    ----------
    embedding_ : (n, n_components), coordinates of the training points.
    eigenvalues_ : (n_components,), λ in descending order, without λ₀ = 1 of the constant eigenvector.
    eigenvectors_ : (n, n_components), ψ.
    laplacian_ : (n_components,), −2 log λ/σ². With alpha=1, estimates of the eigenvalues of the Laplacian.
    bandwidth_ : float, σ.
    n_neighbors_ : int or None, nearest neighbours connected; None if all pairs are.
    n_features_in_, feature_names_in_ : number and names of the input columns, as in scikit-learn.

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
        """Compute the embedding of the rows of `X` (n, d)."""
        require_number("n_components", self.n_components, least=1, whole=True)
        require_number("alpha", self.alpha)
        require_number("time", self.time, least=0)
        rows = read_rows(self, X, reset=True)
        n = len(rows)
        if n < self.n_components + 2:
            raise InvalidInput(
                f"n_components={self.n_components} needs at least {self.n_components + 2} points; "
                f"got n_samples = {n}. Give more rows, or reduce n_components."
            )
        self.n_neighbors_ = self._count_neighbors(n)
        self._rows = rows
        if self.n_neighbors_ is not None:
            self._index = NearestNeighbors(n_neighbors=self.n_neighbors_).fit(rows)
        self.bandwidth_ = self._choose_bandwidth(rows)
        seed = int(as_generator(self.random_state).integers(2**32))
        self._walk = Diffusion.of(self._affinities(rows), self.n_components, self.alpha, seed)
        if not (self._walk.eigenvalues[1:] > 0).all():
            raise InvalidInput(
                f"Only {(self._walk.eigenvalues > 0).sum() - 1} of the n_components={self.n_components} "
                f"eigenvalues are positive at bandwidth {self.bandwidth_:.3g}. Reduce n_components."
            )
        self.eigenvalues_ = self._walk.eigenvalues[1:]
        self.eigenvectors_ = self._walk.eigenvectors[:, 1:]
        self.laplacian_ = -2 * np.log(self.eigenvalues_) / self.bandwidth_**2
        self.embedding_ = self.eigenvalues_**self.time * self.eigenvectors_
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Fit, and return the coordinates (n, n_components) of the rows of `X`."""
        return self.fit(X).embedding_

    def transform(self, X: Any) -> Array:
        """Return the coordinates (m, n_components) of new rows, by the Nyström extension."""
        check_is_fitted(self)
        modes = self._walk.extended(self._affinities_to(read_rows(self, X, reset=False)))
        coordinates: Array = self.eigenvalues_**self.time * modes[:, 1:]
        return coordinates

    @property
    def _n_features_out(self) -> int:
        return len(self.eigenvalues_)

    def _count_neighbors(self, n: int) -> int | None:
        if self.n_neighbors is None:
            return None
        if is_option(self.n_neighbors, "auto"):
            return None if n <= _MAX_DENSE_POINTS else _NEIGHBORS
        if isinstance(self.n_neighbors, str):
            raise complaint("n_neighbors", '"auto", None or a whole number', self.n_neighbors)
        require_number("n_neighbors", self.n_neighbors, least=1, whole=True)
        return min(int(self.n_neighbors), n - 1)

    def _choose_bandwidth(self, rows: Array) -> float:
        """σ; rules get the distances from at most 1,000 evenly spaced rows, as in the kernels."""
        auto = is_option(self.bandwidth, "auto")
        if isinstance(self.bandwidth, str) and not auto:
            raise complaint("bandwidth", '"auto", a positive number or a bandwidth rule', self.bandwidth)
        if auto and self.n_neighbors_ is not None:
            distances, _ = self._index.kneighbors()
            return float(np.median(distances[:, -1])) / 3 or 1.0
        rule = as_bandwidth(_AUTO_BANDWIDTH if auto else self.bandwidth)
        sample = rows[evenly_spaced(len(rows), SAMPLE)]
        return float(rule(cdist(sample, rows if len(rows) <= _MAX_RULE_POINTS else sample), Gaussian.profile))

    def _affinities(self, rows: Array) -> Affinities:
        """(n, n) affinities of the training rows; two are connected if either is a neighbour of the other."""
        if self.n_neighbors_ is None:
            return Gaussian(self.bandwidth_).gram(rows)
        directed = self._gaussian(self._index.kneighbors_graph(mode="distance"))
        directed.data = np.maximum(directed.data, _MIN_AFFINITY)
        symmetric = directed.maximum(directed.T)
        symmetric.setdiag(1.0)
        return csr_array(symmetric)

    def _affinities_to(self, rows: Array) -> Affinities:
        """(m, n) affinities of new rows to the training rows."""
        if self.n_neighbors_ is None:
            return Gaussian(self.bandwidth_)(Pairs.of(rows, self._rows, statistics=Gaussian.statistics))
        return csr_array(
            self._gaussian(self._index.kneighbors_graph(rows, self.n_neighbors_, mode="distance"))
        )

    def _gaussian(self, distances: Any) -> Any:
        """Sparse distances → sparse Gaussian affinities."""
        affinities = distances.tocsr(copy=True)
        affinities.data = Gaussian.profile(affinities.data / self.bandwidth_)
        return affinities
