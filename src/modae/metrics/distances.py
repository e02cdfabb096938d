"""Distance correlation between feature spaces: one pair, or all pairs of a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_array

from modae.metrics.correlations import distance_correlations
from modae.utils.arrays import Array
from modae.utils.parameters import check_flag


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
    check_flag("unbiased", unbiased)
    samples = same_rows([X, Y], ["X", "Y"], minimum=_fewest_rows(unbiased))
    return float(distance_correlations(samples, unbiased=unbiased)[0, 1])


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
    check_flag("unbiased", unbiased)
    spaces = list(samples)
    if not spaces:
        raise ValueError("samples must hold at least one array, got none.")
    names = [f"samples[{i}]" for i in range(len(spaces))]
    checked = same_rows(spaces, names, minimum=_fewest_rows(unbiased))
    return distance_correlations(checked, unbiased=unbiased)


def same_rows(samples: Sequence[Any], names: Sequence[str], *, minimum: int) -> list[Array]:
    """Samples as dense matrices of finite numbers, all with the same number of rows."""
    matrices = [_matrix(sample, name) for sample, name in zip(samples, names, strict=True)]
    counts = [len(matrix) for matrix in matrices]
    if len(set(counts)) > 1:
        other = next(i for i, count in enumerate(counts) if count != counts[0])
        raise ValueError(
            f"{names[0]} and {names[other]} must have the same number of rows, got {counts[0]} and "
            f"{counts[other]}."
        )
    if counts[0] < minimum:
        raise ValueError(f"{names[0]} must have at least {minimum} rows for this, got {counts[0]}.")
    return matrices


def _matrix(sample: Any, name: str) -> Array:
    rows = check_array(sample, accept_sparse="csr", dtype=np.float64, ensure_2d=False, input_name=name)
    rows = rows.toarray() if issparse(rows) else rows
    matrix: Array = rows.reshape(len(rows), -1)
    return matrix


def _fewest_rows(unbiased: bool) -> int:
    """Rows below which the centred distances mean nothing, or are divided by zero."""
    return 4 if unbiased else 2
