r"""Distance correlation: how far the distances in one feature space tell the distances in another.

Let :math:`a_{rs}=\|x_r-x_s\|` be the distances of one sample of n rows and :math:`b_{rs}` those of
another sample of the same rows. Centred, so that the rows and columns of each matrix sum to zero, they
are vectors with inner products, and the squared distance correlation of Szekely, Rizzo and Bakirov
(2007) is a cosine:

.. math::
   \tilde a_{rs}=a_{rs}-\bar a_r-\bar a_s+\bar a,\qquad
   R^2=\frac{\langle\tilde a,\tilde b\rangle}{\|\tilde a\|\,\|\tilde b\|}\in[0,1].

It does not change when a sample is moved, rotated or scaled. It is biased: high in wide spaces even for
independent rows. U-centring (Szekely and Rizzo, 2014) corrects that: sums of rows are divided by n - 2,
the total by (n - 1)(n - 2), and the diagonal is 0. That cosine can be negative, so it has no root.

Each distance matrix is centred once, and one Gram product serves all pairs of samples. Centring needs
the means of all rows first, so the distances are computed twice, block by block: memory does not grow
as n^2.

The two curves of the paper's section 5.2 are means of it: what the modules keep of the data
(:func:`~modae.metrics.faithfulness`), and what they share (:func:`~modae.metrics.redundancy`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from scipy.spatial.distance import cdist
from sklearn.utils import check_array, gen_batches, resample

from modae.utils.arrays import Array
from modae.utils.parameters import check_count, check_flag

#: Centred distances of all samples are held in blocks of about this size.
BLOCK_BYTES = 1 << 22

#: A squared distance below this share of |x|^2 + |y|^2 has lost too many digits in a Gram product.
CANCELLED = 1e-4

#: Centred distances that are all below this share of the distances are zero up to round-off.
ROUND_OFF = 16.0 * np.finfo(np.float64).eps


class Estimate(NamedTuple):
    """A number computed from a sample of rows, and how far another sample would move it."""

    value: float
    standard_error: float


def distance_correlation(X: Any, Y: Any, *, unbiased: bool = False) -> float:
    r"""How far the distances between rows of X tell the distances between the same rows of Y.

    With :math:`\tilde a,\tilde b` the double-centred distance matrices of X and Y it is

    .. math::
       R=\sqrt{\frac{\langle\tilde a,\tilde b\rangle}{\|\tilde a\|\,\|\tilde b\|}}.

    It is 1 if and only if Y is X moved, rotated, reflected and scaled as a whole. In the limit of many
    rows it is 0 if and only if X and Y are independent. For few rows in wide spaces R is high even
    then: ``unbiased=True`` corrects that.

    Parameters
    ----------
    X, Y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, any width)
        The same rows in two feature spaces, which need not have the same width. One dimension means one
        column. Sparse rows are made dense.
    unbiased : bool, default=False
        False returns the root R in [0, 1]: ``dcor.distance_correlation``. True returns the
        bias-corrected **square** in [-1, 1], ``dcor.u_distance_correlation_sqr``: it is zero on
        average for independent rows, or nearly, so it is often negative and has no real root.

    Returns
    -------
    correlation : float
        0 when the centred distances of X or Y are all zero: a constant, and for the unbiased one also
        points that are all equally far from each other, or all equal but one.

    See Also
    --------
    distance_correlation_matrix : All pairs of a list at little more than the cost of its members.

    References
    ----------
    G. Szekely, M. Rizzo and N. Bakirov, *Measuring and testing dependence by correlation of
    distances*, Annals of Statistics 35, 2007. G. Szekely and M. Rizzo, *Partial distance correlation
    with methods for dissimilarities*, Annals of Statistics 42, 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from modae.metrics import distance_correlation
    >>> x = np.linspace(-1.0, 1.0, 101)
    >>> round(distance_correlation(x, x**2), 3)  # dependent, though np.corrcoef sees nothing
    0.492
    >>> X, Y = np.random.default_rng(0).standard_normal((2, 100, 20))  # independent
    >>> round(distance_correlation(X, Y), 2), round(distance_correlation(X, Y, unbiased=True), 2)
    (0.66, -0.01)
    """
    return float(_correlation_matrix({"X": X, "Y": Y}, unbiased)[0, 1])


def distance_correlation_matrix(samples: Any, *, unbiased: bool = False) -> Array:
    """Distance correlation of all pairs in a list of feature spaces.

    Each distance matrix is centred once, and one Gram product gives all pairs. It goes block by block,
    in a few megabytes more than the data.

    Parameters
    ----------
    samples : sequence of {array-like, sparse matrix} of shape (n_samples,) or (n_samples, any width)
        The same rows in each feature space. A stack (n_modules, n_samples, n_components), as
        ``transform_modules`` returns it, is such a sequence.
    unbiased : bool, default=False
        As in :func:`distance_correlation`: roots if False, bias-corrected squares if True.

    Returns
    -------
    correlations : ndarray of shape (k, k)
        Symmetric, with ones on the diagonal; a constant sample has a row and a column of zeros.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from modae import LinearModularAutoencoder
    >>> from modae.metrics import distance_correlation_matrix
    >>> X = load_digits().data[:300]
    >>> model = LinearModularAutoencoder(3, 5, diversity=0.9, random_state=0).fit(X)
    >>> correlations = distance_correlation_matrix(model.transform_modules(X))
    >>> correlations.shape, bool(correlations[0, 1] < 0.8)
    ((3, 3), True)
    """
    spaces = {f"samples[{i}]": sample for i, sample in enumerate(samples)}
    if not spaces:
        raise ValueError("samples must hold at least one array, got none.")
    return _correlation_matrix(spaces, unbiased)


def faithfulness(extractor: Any, X: Any, *, n_samples: int = 1000, random_state: Any = None) -> Estimate:
    """Mean distance correlation between the features of one module and the data themselves.

    It says how much of the metric structure of the data a single member of the ensemble sees. It falls
    as diversity grows, and the members get worse one by one.

    Parameters
    ----------
    extractor : fitted extractor with ``transform_modules``
    X : {array-like, sparse matrix} of shape (n_rows, n_features)
        Data to look at, best those that the extractor has not seen. Only the drawn rows are transformed
        and, when sparse, made dense.
    n_samples : int, default=1000
        Rows to draw at random, without replacement; all rows if there are fewer. Time grows as its
        square.
    random_state : int, RandomState instance or None, default=None
        Draws the rows. The same seed draws the same rows for each extractor, which is best for a curve.

    Returns
    -------
    estimate : Estimate
        ``value`` and ``standard_error``. The error is that of the draw: the standard deviation of the
        value over samples of that many rows from the population behind X, for this extractor, by the
        jackknife (each row left out in turn). It does not cover how another training set would change
        the modules.

    See Also
    --------
    redundancy : The same between the modules.
    distance_correlation_matrix : The single correlations, from features computed elsewhere.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from modae import LinearModularAutoencoder
    >>> from modae.metrics import faithfulness
    >>> X, _ = load_digits(return_X_y=True)
    >>> model = LinearModularAutoencoder(n_modules=10, n_components=5, random_state=0).fit(X)
    >>> for diversity in (0.1, 0.5, 0.9):
    ...     at = model.with_diversity(diversity)
    ...     value, error = faithfulness(at, X, n_samples=400, random_state=0)
    ...     print(f"{diversity}: {value:.2f} +- {error:.3f}")
    0.1: 0.95 +- 0.003
    0.5: 0.94 +- 0.003
    0.9: 0.77 +- 0.003
    """
    samples = _drawn(extractor, X, n_samples, random_state)
    return _estimate(samples, lambda correlations: correlations[..., 0, 1:])


def redundancy(extractor: Any, X: Any, *, n_samples: int = 1000, random_state: Any = None) -> Estimate:
    """Mean distance correlation between the features of two different modules.

    It is 1 when all modules see the same, as at diversity 0. It falls as diversity grows, and the
    members make different errors.

    Parameters
    ----------
    extractor : fitted extractor with ``transform_modules``, of at least two modules
    X, n_samples, random_state
        As in :func:`faithfulness`.

    Returns
    -------
    estimate : Estimate
        ``value`` and ``standard_error``, as in :func:`faithfulness`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from modae import LinearModularAutoencoder
    >>> from modae.metrics import redundancy
    >>> X, _ = load_digits(return_X_y=True)
    >>> model = LinearModularAutoencoder(n_modules=10, n_components=5, random_state=0).fit(X)
    >>> for diversity in (0.1, 0.5, 0.9):
    ...     at = model.with_diversity(diversity)
    ...     value, error = redundancy(at, X, n_samples=400, random_state=0)
    ...     print(f"{diversity}: {value:.2f} +- {error:.3f}")
    0.1: 0.99 +- 0.001
    0.5: 0.91 +- 0.006
    0.9: 0.55 +- 0.006
    """
    _, *features = _drawn(extractor, X, n_samples, random_state)
    if len(features) < 2:
        raise ValueError("extractor must have at least two modules to compare, got one.")
    first, second = np.triu_indices(len(features), k=1)
    return _estimate(features, lambda correlations: correlations[..., first, second])


def _drawn(extractor: Any, X: Any, n_samples: int, random_state: Any) -> list[Any]:
    """Rows of X at random, and the features of each module."""
    check_count("n_samples", n_samples, minimum=3)
    if not hasattr(extractor, "transform_modules"):
        raise TypeError(
            "extractor must have a method transform_modules, as LinearModularAutoencoder has, got "
            f"{extractor!r}."
        )
    count = min(int(n_samples), np.shape(X)[0])
    # In the container that X is: the extractor may know its columns by name.
    rows = resample(X, replace=False, n_samples=count, random_state=random_state)
    return [rows, *extractor.transform_modules(rows)]


def _estimate(samples: Sequence[Any], pick: Callable[[Array], Array]) -> Estimate:
    """Mean of the picked correlations, with its jackknife standard error."""
    spaces = {f"feature space {i}": sample for i, sample in enumerate(samples)}
    whole, without = jackknifed_correlations(same_rows(spaces, minimum=3))
    values = pick(without).mean(axis=-1)
    return Estimate(float(pick(whole).mean()), float(np.sqrt(len(values) - 1) * values.std()))


def same_rows(spaces: Mapping[str, Any], *, minimum: int) -> list[Array]:
    """Samples by name as dense matrices of finite numbers, all with the same number of rows."""
    matrices: list[Array] = []
    options: dict[str, Any] = {"accept_sparse": "csr", "dtype": np.float64, "order": "C"}
    for name, sample in spaces.items():
        with np.errstate(invalid="ignore"):  # scikit-learn sums the rows, which may overflow both ways
            rows = check_array(sample, ensure_2d=False, input_name=name, **options)
        rows = rows.toarray() if issparse(rows) else rows
        matrices.append(rows.reshape(len(rows), -1))
        first, count = next(iter(spaces)), len(matrices[0])
        if len(rows) != count:
            raise ValueError(
                f"{first} and {name} must have the same number of rows, got {count} and {len(rows)}."
            )
    if count < minimum:
        raise ValueError(f"{first} must have at least {minimum} rows for this, got {count}.")
    return matrices


def _correlation_matrix(spaces: Mapping[str, Any], unbiased: bool) -> Array:
    """Correlations (k, k) of k samples of the same rows: R, or the unbiased R^2."""
    check_flag("unbiased", unbiased)
    samples = same_rows(spaces, minimum=4 if unbiased else 2)
    centred = [_CentredDistances(sample, unbiased) for sample in samples]
    gram = np.zeros((len(samples), len(samples)))
    for block in _blocks(centred):
        flat = block.reshape(len(samples), -1)
        gram += flat @ flat.T
    return _cosines(gram, np.array([each.noise for each in centred]), unbiased)


def jackknifed_correlations(samples: Sequence[Array]) -> tuple[Array, Array]:
    r"""Biased distance correlations (k, k), and those without each row in turn (n, k, k).

    Nothing is centred again. Let :math:`p_r=\sum_s\tilde a_{rs}\tilde b_{rs}` and
    :math:`q_r=\tilde a_{rr}\tilde b_{rr}`. Because the rows of both matrices sum to zero, the inner
    product of the matrices that are centred without row r is

    .. math::
       \langle\tilde a,\tilde b\rangle-2g\,p_r+g^2q_r,\qquad g=\frac n{n-1}.

    Parameters
    ----------
    samples : sequence of ndarrays of shape (n, any width)
        At least 3 rows.
    """
    n_rows = len(samples[0])
    growth = n_rows / (n_rows - 1.0)
    centred = [_CentredDistances(sample, unbiased=False) for sample in samples]
    # The Gram matrix of the samples for each row, (n, k, k).
    products = np.concatenate(
        [block.transpose(1, 0, 2) @ block.transpose(1, 2, 0) for block in _blocks(centred)]
    )
    diagonals = np.stack([each.mean - 2.0 * each.means for each in centred], axis=1)
    gram = products.sum(axis=0)
    without = gram - 2.0 * growth * products
    without += growth**2 * diagonals[:, :, None] * diagonals[:, None, :]
    # A difference cannot be more exact than what it is taken from.
    noise = np.array([each.noise for each in centred])
    lost = np.maximum(noise, ROUND_OFF * n_rows * np.diagonal(gram))
    return _cosines(gram, noise, False), _cosines(without, lost, False)


class _CentredDistances:
    """The centred distance matrix of one sample, of which any rows can be computed."""

    def __init__(self, sample: Array, unbiased: bool) -> None:
        # Divided by a power of two, which is exact: no square overflows or vanishes.
        _, exponent = np.frexp(np.abs(sample).max())
        self.rows = np.ldexp(sample, -exponent)
        self.shifted = self.rows - self.rows.mean(axis=0)
        self.norms = np.einsum("nd,nd->n", self.shifted, self.shifted)
        self.unbiased = unbiased
        n_rows = len(sample)
        sums = np.concatenate([self.distances(cut).sum(axis=1) for cut in _cuts(n_rows, 1)])
        count, others = (n_rows - 2, n_rows - 1) if unbiased else (n_rows, n_rows)
        self.means, self.mean = sums / count, float(sums.sum()) / (others * count)
        # A squared norm that round-off alone can have. No distance is longer than two of the means.
        self.noise = (ROUND_OFF * n_rows * self.means.max()) ** 2

    def distances(self, cut: slice) -> Array:
        """Distances of the rows in the cut to all rows.

        A Gram product is fast in wide spaces, but loses the digits of short distances. Rows that have
        any, other than to themselves, are computed again from differences.
        """
        sizes = self.norms[cut, None] + self.norms
        squares: Array = (-2.0 * self.shifted[cut]) @ self.shifted.T
        squares += sizes
        sizes *= CANCELLED
        short = np.count_nonzero(squares <= sizes, axis=1) > 1
        np.fill_diagonal(squares[:, cut], 0.0)
        squares[short] = 0.0
        distances = np.sqrt(squares, out=squares)
        distances[short] = cdist(self.rows[cut][short], self.rows)
        return distances

    def block(self, cut: slice) -> Array:
        """The rows in the cut, centred."""
        block = self.distances(cut)
        block -= self.means
        block -= self.means[cut, None] - self.mean
        if self.unbiased:
            np.fill_diagonal(block[:, cut], 0.0)
        return block


def _blocks(centred: Sequence[_CentredDistances]) -> Iterator[Array]:
    """Centred distances of all samples (k, rows of the block, n), block after block."""
    for cut in _cuts(len(centred[0].means), len(centred)):
        yield np.stack([each.block(cut) for each in centred])


def _cuts(n_rows: int, n_samples: int) -> Iterator[slice]:
    return gen_batches(n_rows, max(1, BLOCK_BYTES // (8 * n_rows * n_samples)))


def _cosines(gram: Array, noise: Array, unbiased: bool) -> Array:
    """Cosines from inner products (..., k, k); their roots if biased."""
    squares = np.diagonal(gram, axis1=-2, axis2=-1)
    varies = squares > noise
    weights = np.where(varies, 1.0 / np.sqrt(np.where(varies, squares, 1.0)), 0.0)
    cosines = gram * (weights[..., :, None] * weights[..., None, :])
    own = np.eye(gram.shape[-1], dtype=bool)
    cosines = np.where(own, varies[..., None], np.clip(cosines, -1.0, 1.0))
    return cosines if unbiased else np.sqrt(np.maximum(cosines, 0.0))
