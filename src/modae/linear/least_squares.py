r"""Linear modular regression is a modular autoencoder of the fitted values of least squares.

A linear modular regression network has M maps :math:`C_i=A_iB_i` of rank H from rows :math:`x` to
targets :math:`y` (both centred here), and the loss of the paper with targets:

.. math:: E=(1-\lambda)\frac1M\sum_i\mathbb E\|C_ix-y\|^2+\lambda\,\mathbb E\|\bar Cx-y\|^2 .

Ridge adds :math:`a\,[(1-\lambda)\frac1M\sum_i\|C_i\|^2+\lambda\|\bar C\|^2]`: the same loss on D more
rows :math:`\sqrt a\,I` with targets 0. (It is *not* the penalty :math:`a\frac1M\sum_i\|C_i\|^2`.) Let
:math:`G=(\Sigma_{xx}+aI)^{1/2}` and :math:`S=\Sigma_{yx}G^+`. Completing the square gives

.. math:: E=\operatorname{tr}\Sigma_{yy}-\|S\|^2
            +(1-\lambda)\frac1M\sum_i\|C_iG-S\|^2+\lambda\|\bar CG-S\|^2 ,

the loss of a modular autoencoder of data with covariance :math:`SS^T`, plus what no linear map explains.
So the principal axes are the left singular vectors of S, the eigenvalues its squared singular values,
the total variance is :math:`\operatorname{tr}\Sigma_{yy}`, and every encoder of the autoencoder is
applied to the least-squares prediction :math:`\Sigma_{yx}(\Sigma_{xx}+aI)^+x`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import norm
from scipy.sparse import issparse
from sklearn.utils import gen_batches

from modae.core.objective import Terms
from modae.data.rows import BLOCK_BYTES, Rows, mean_row
from modae.data.spectrum import KeptRows, Spectrum, signed
from modae.data.summary import require_room
from modae.utils.arrays import Array


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """The least-squares prediction of all targets, plain or ridge, and the spectrum of what it fits.

    Parameters
    ----------
    row_mean : ndarray of shape (D,)
    coefficients : ndarray of shape (T, D)
        Of centred targets on centred rows; of the least norm where X leaves a choice.
    spectrum : Spectrum
        In the space of the T targets: their mean, left singular vectors and squared singular values of
        S, and the total variance of the targets, explained or not.
    root_penalty : float
        Square root of the weight of the ridge penalty for a mean over rows.
    """

    row_mean: Array
    coefficients: Array
    spectrum: Spectrum
    root_penalty: float


def least_squares(
    rows: Rows, targets: Array, weights: Array | None = None, alpha: float = 0.0
) -> LeastSquares:
    """Regress targets (n, T) on rows (n, D), dense or sparse.

    ``alpha`` goes with the sum of squares over the rows, as in scikit-learn's ``Ridge``. Directions of X
    that cannot be told from round-off, in the precision of the rows, are left out. All arithmetic is in
    float64.

    Examples
    --------
    >>> import numpy as np
    >>> from modae.linear.least_squares import least_squares
    >>> rows = np.array([[0.0], [1.0], [2.0]])
    >>> found = least_squares(rows, np.hstack([3.0 * rows, 4.0 * rows]))
    >>> found.coefficients.round(12).tolist(), found.spectrum.leading(1, 1).axes.round(12).tolist()
    ([[3.0], [4.0]], [[0.6, 0.8]])
    """
    kept = KeptRows(rows, weights)
    side = min(rows.shape[0], rows.shape[1] + targets.shape[1])
    require_room(side, "Least squares", "Reduce the number of features first.")
    row_mean, target_mean = mean_row(rows, weights), mean_row(targets, weights)
    scaled = np.sqrt(kept.shares)[:, None] * (targets - target_mean)
    root = float(np.sqrt(alpha / (len(scaled) if weights is None else weights.sum())))
    solve = _solve_wide if rows.shape[0] < rows.shape[1] else _solve_tall
    explained, coefficients = solve(kept, row_mean, scaled, root)
    # Principal axes in target space; eigenvalues are squares of singular values above round-off.
    _, scales, axes = np.linalg.svd(explained, full_matrices=False)
    n_terms = max(*rows.shape, explained.shape[1])
    noise = n_terms * float(np.finfo(np.float64).eps) * scales.max(initial=0.0)
    rank = int(np.count_nonzero(scales > noise))
    total = float(np.vdot(scaled, scaled))
    spectrum = Spectrum(target_mean, signed(axes[:rank]), scales[:rank] ** 2, total)
    return LeastSquares(row_mean, coefficients, spectrum, root)


class Maps(NamedTuple):
    """M linear maps from rows to targets, each in two factors, around the means.

    ``decoders`` (M, T, H) have orthonormal columns, ``encoders`` are (M, H, D), ``mean`` is the mean of
    their products, (T, D).
    """

    row_mean: Array
    target_mean: Array
    decoders: Array
    encoders: Array
    mean: Array

    def penalty(self, root: float) -> Terms:
        """What ridge adds to the terms of the loss: those on the rows ``root * I`` with targets 0."""
        encoders, mean = root * self.encoders, root * self.mean
        each = float(np.vdot(encoders, encoders)) / len(encoders)
        of_mean = float(np.vdot(mean, mean))
        return Terms(each, each - of_mean, of_mean)


def maps_of(base: LeastSquares, decoders: Array, encoders: Array) -> Maps:
    """Modules (M, K, H), (M, H, K) on the first principal axes of the fitted values, as maps of rows."""
    n_modules, axes = len(decoders), base.spectrum.axes[: decoders.shape[1]]
    flat = axes.T @ np.hstack(list(decoders))
    of_rows = encoders @ (axes @ base.coefficients)
    mean = flat @ of_rows.reshape(flat.shape[1], -1) / n_modules
    return Maps(base.row_mean, base.spectrum.mean, np.stack(np.hsplit(flat, n_modules)), of_rows, mean)


def _solve_tall(kept: KeptRows, mean: Array, targets: Array, root: float) -> tuple[Array, Array]:
    r"""S in coordinates (r, T) that keep its left singular vectors, and the coefficients (T, D).

    A triangle R with :math:`R^TR=[X\;Y]^T[X\;Y]` stands for all the rows. It is found by QR, block
    after block, so sparse rows stay sparse, nothing is squared and no digits are lost: normal equations
    would lose all directions of X below 1e-8 of the largest.
    """
    n_features = kept.rows.shape[1]
    factor = _triangle(_blocks_of_rows(kept, mean, targets))[:n_features]
    left, scales, right = np.linalg.svd(factor[:, :n_features])
    rank = _rank_of_rows(scales, kept, mean)
    scales, matches = scales[:rank], left[:, :rank].T @ factor[:, n_features:]
    lengths = np.hypot(scales, root)[:, None]
    explained = (scales[:, None] / lengths) * matches
    return explained, (explained / lengths).T @ right[:rank]


def _solve_wide(kept: KeptRows, mean: Array, targets: Array, root: float) -> tuple[Array, Array]:
    r"""The same for fewer rows than features, from the n x n triangle of the transposed rows.

    With :math:`X=U\,\mathrm{diag}(d)\,V^T` the coefficients are
    :math:`X^TU\,\mathrm{diag}(1/(d^2+a))\,U^TY`: V, as large as the dense rows, is never needed.
    """
    _, scales, left = np.linalg.svd(_triangle(_blocks_of_columns(kept, mean)))
    rank = _rank_of_rows(scales, kept, mean)
    scales, left = scales[:rank], left[:rank]
    lengths = np.hypot(scales, root)[:, None]
    matches = left @ targets
    largest = float(lengths.max(initial=0.0)) or 1.0
    dual = left.T @ ((largest / lengths) ** 2 * matches)
    coefficients = np.vstack([block @ dual for block in _blocks_of_columns(kept, mean)]).T
    # Divided by twice, not by its square, which need not be a float64.
    return (scales[:, None] / lengths) * matches, coefficients / largest / largest


def _triangle(blocks: Iterator[Array]) -> Array:
    """R of the QR decomposition of a matrix that is given block after block."""
    factor: Array = np.asarray(np.linalg.qr(next(blocks), mode="r"))
    for block in blocks:
        factor = np.asarray(np.linalg.qr(np.vstack([factor, block]), mode="r"))
    return factor


def _blocks_of_rows(kept: KeptRows, mean: Array, targets: Array) -> Iterator[Array]:
    """Centred rows beside their targets, in float64, times the roots of their shares."""
    roots = np.sqrt(kept.shares)[:, None]
    for cut in _cuts(len(targets), len(mean) + targets.shape[1]):
        yield np.hstack([roots[cut] * (_dense(kept.rows[cut]) - mean), targets[cut]])


def _blocks_of_columns(kept: KeptRows, mean: Array) -> Iterator[Array]:
    """Centred columns as rows, in float64, times the same roots."""
    roots = np.sqrt(kept.shares)
    columns = kept.rows.T.tocsr() if issparse(kept.rows) else kept.rows.T
    for cut in _cuts(len(mean), len(roots)):
        yield roots * (_dense(columns[cut]) - mean[cut, None])


def _cuts(length: int, width: int) -> Iterator[slice]:
    """Slices for blocks at least a few times as high as wide, so that the triangle adds little work."""
    return gen_batches(length, max(BLOCK_BYTES // (8 * width), 4 * width))


def _dense(block: Rows) -> Array:
    return np.asarray(block.toarray() if issparse(block) else block, dtype=np.float64)


def _rank_of_rows(scales: Array, kept: KeptRows, mean: Array) -> int:
    """How many singular values of the centred rows are more than round-off.

    Round-off is max(n, D) units in the last place of the largest, as in NumPy's ``lstsq``, and a few of
    the mean: it is rounded, as the entries are, so columns that should depend on each other do not.
    """
    longest: int = max(kept.rows.shape)
    noise = longest * scales.max(initial=0.0) + 4.0 * float(norm(mean))  # this norm squares nothing
    return int(np.count_nonzero(scales > float(np.finfo(kept.rows.dtype).eps) * noise))
