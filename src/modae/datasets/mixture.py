"""Points from a mixture of Gaussians, as in sections 3 and 5.1 of the paper."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from modae.utils.arrays import Array
from modae.utils.parameters import check_count, check_flag, check_non_negative


def make_gaussian_mixture(
    n_samples: int = 1000,
    n_features: int | None = None,
    n_clusters: int | None = None,
    *,
    means: ArrayLike | None = None,
    standard_deviation: float = 0.25,
    covariances: ArrayLike | None = None,
    random_state: Any = None,
    return_means: bool = False,
) -> tuple[NDArray[Any], ...]:
    r"""Draw points from an equally weighted mixture of Gaussians.

    Each point chooses one of the K clusters, all with the same probability, and is then drawn from

    .. math:: \mathcal N(\mu_k, \Sigma_k), \qquad \mu_k \sim \mathcal N(0, I),
        \qquad \Sigma_k = \sigma^2 I .

    This is the mixture of section 3 of the paper, which gives :math:`\sigma = 0.25` and 1,000 points,
    but neither K nor the dimension. With means and covariances of your own it is any other mixture, such
    as the three clusters in the plane of section 5.1.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of points.
    n_features : int, optional
        Dimension. The default is that of ``means``, or of ``covariances``, or else 100.
    n_clusters : int, optional
        K. The default is the number of ``means``, or of ``covariances``, or else 10.
    means : array-like of shape (n_clusters, n_features), optional
        Centres of the clusters. The default draws them from the standard normal distribution.
    standard_deviation : float, default=0.25
        Spread of spherical clusters in every direction; not used if ``covariances`` are given.
    covariances : array-like of shape ([n_clusters,] n_features, n_features), optional
        One covariance for all clusters, or one for each. A singular one makes a flat cluster.
    random_state : int, RandomState instance or None, default=None
        The same integer gives the same points. Means are drawn first and do not depend on
        ``n_samples``.
    return_means : bool, default=False
        Whether to return the means too.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The points.
    y : ndarray of shape (n_samples,)
        The cluster of each point.
    means : ndarray of shape (n_clusters, n_features)
        Only if ``return_means``.

    Examples
    --------
    >>> from modae.datasets import make_gaussian_mixture
    >>> X, y = make_gaussian_mixture(1000, n_features=20, n_clusters=5, random_state=0)
    >>> X.shape, y.max()
    ((1000, 20), np.int64(4))

    Three clusters in the plane, stretched along the first axis:

    >>> X, y = make_gaussian_mixture(
    ...     300, means=[[0, 1], [-1, -1], [1, -1]], covariances=[[0.5, 0], [0, 0.1]], random_state=0
    ... )
    >>> X.shape
    (300, 2)
    """
    check_count("n_samples", n_samples)
    check_non_negative("standard_deviation", standard_deviation)
    check_flag("return_means", return_means)
    rng = check_random_state(random_state)
    spread = None if covariances is None else _numbers("covariances", covariances)
    centres = None if means is None else _numbers("means", means)
    if centres is not None and (centres.ndim != 2 or 0 in centres.shape):
        raise ValueError(f"means must have shape (n_clusters, n_features), got {centres.shape}.")
    implied = (10, 100) if spread is None or spread.ndim < 2 else (10, *spread.shape)[-3:-1]
    clusters, features = implied if centres is None else centres.shape
    sizes = {"n_clusters": (n_clusters, clusters), "n_features": (n_features, features)}
    for name, (size, found) in sizes.items():
        check_count(name, size, optional=True)
        if centres is not None and size not in (None, found):
            raise ValueError(f"{name} must be {found}, as in means, or left out, got {size!r}.")
    if centres is None:
        centres = rng.standard_normal((n_clusters or clusters, n_features or features))
    one = (centres.shape[1], centres.shape[1])
    each = (len(centres), *one)
    if spread is not None and spread.shape not in (one, each):
        raise ValueError(f"covariances must have shape {one} or {each}, got {spread.shape}.")
    y = rng.randint(len(centres), size=n_samples)
    if spread is None:
        X = centres[y] + standard_deviation * rng.standard_normal((n_samples, centres.shape[1]))
    else:
        X = np.empty((n_samples, centres.shape[1]))
        for k, covariance in enumerate(np.broadcast_to(spread, each)):
            try:
                X[y == k] = rng.multivariate_normal(centres[k], covariance, (y == k).sum(), "raise")
            except ValueError as reason:
                raise ValueError(
                    f"covariances must be symmetric and positive semidefinite, got {covariance}."
                ) from reason
    return (X, y, centres) if return_means else (X, y)


def _numbers(name: str, value: ArrayLike) -> Array:
    array = np.array(value, dtype=np.float64)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite numbers, got {value!r}.")
    return array
