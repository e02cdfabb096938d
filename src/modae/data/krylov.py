r"""The leading part of the spectrum of data too wide and too long for an exact one.

A Krylov method finds the leading axes from products with the rows alone. It is not exact, so it
says by how much: let Q be the axes found, :math:`\Theta` their eigenvalues, :math:`R=\Sigma Q-Q\Theta`,
and :math:`\tau=\mathrm{tr}\,\Sigma-\mathrm{tr}\,\Theta`. In the basis of Q and its complement

.. math:: \Sigma=\begin{pmatrix}\Theta&\cdot\\\cdot&\Sigma_{22}\end{pmatrix}+(RQ^T+QR^T),\qquad
          \Sigma_{22}\succeq0,\quad \mathrm{tr}\,\Sigma_{22}=\tau .

For any :math:`0\preceq F\preceq I` the second part adds at most the nuclear norm of R to
:math:`\mathrm{tr}(\Sigma F)` (the *slack*); the best captured variance is convex in the spectrum, so
among all spectra of :math:`\Sigma_{22}` the worst case is one eigenvalue :math:`\tau` (the *hidden*
variance). Eigenvalues raised in this way give a true lower bound, however badly the iteration converged.

The iteration is block Lanczos with thick restarts, on the smaller of covariance and Gram matrix. Its
basis Q grows by one block at a time: the image of the last block, made orthogonal to all of Q. Then
:math:`AQ=QT+PE`, where P is the block to come, and the *Ritz pairs* :math:`(\theta,Qs)`, from the
eigenpairs :math:`(\theta,s)` of the small T, have the residual :math:`PEs`: known before P is
multiplied. When the basis is full, it shrinks to its best Ritz vectors and grows again.
Blocks find equal eigenvalues together and keep the processor busy; narrow ones need fewer products.
SciPy's ``eigsh`` takes 4 (sparse) to 15 times (dense) as long for the same axes; the power steps of a
randomised SVD leave a slack 200 times as large (``python -m benchmarks.lanczos``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from modae.data.covariance import CentredData
from modae.data.spectrum import KeptRows, Spectrum, tidy
from modae.utils.arrays import Array

#: Axes that the Krylov method finds beyond those asked for: they lower the hidden variance, and make
#: the iteration for the others converge faster.
OVERSAMPLING = 20

#: Vectors in a block. Narrower ones need fewer products, wider ones make better use of the processor.
WIDTH = 16

#: Vectors in a full basis beyond those that are wanted.
ROOM = 256

#: By bytes of a number: the share of the smallest loss by which the captured variance may be too small,
#: and the share of the variance that may be slack where this decides whether a bound is attained.
ACCURACY = {8: 1e-10, 4: 1e-6}

#: Products for each vector that is wanted, at most. Any basis gives a true bound, so there is no need to
#: go on for ever on a flat spectrum.
PATIENCE = 12


def spectrum_by_krylov(kept: KeptRows, n_axes: int) -> Spectrum:
    """The leading ``n_axes`` axes, from products with the rows alone; inexact, and says by how much."""
    data = CentredData.of(kept)
    basis = leading_basis(data, n_axes)
    return spectrum_in_basis(data, data.axes_from(basis) if data.is_wide else basis)


def leading_basis(data: CentredData, n_axes: int) -> Array:
    """A basis for the leading axes, on the smaller side: (D, K), or (n, K) if there are fewer rows."""
    side = min(data.rows.shape)
    count = min(n_axes + OVERSAMPLING, side - 1)
    if data.total_variance == 0.0:
        return np.eye(side, count)
    if count + ROOM + WIDTH > side:
        return np.eye(side)  # so small that the basis would hold everything
    rng = np.random.default_rng(0)
    iteration = BlockLanczos(data.smaller_times, side, WIDTH, count + ROOM, rng)
    ritz = _iterate(iteration, data, n_axes, count)
    return iteration.vectors(ritz, count)


def _iterate(iteration: BlockLanczos, data: CentredData, n_axes: int, count: int) -> Ritz:
    """Grow and restart until the leading Ritz pairs are good enough, or patience ends.

    As many equal values as a block is wide may be all that it can see of more: then it looks again.
    """
    seen = 0
    while True:
        for _ in range(4):  # a look at the Ritz pairs costs as much as half a block
            if not iteration.is_full:
                iteration.grow()
        ritz = iteration.ritz()
        if iteration.n_products >= PATIENCE * count:
            return ritz
        if iteration.size >= count and is_enough(ritz, n_axes, count, data):
            copies = equal_values(ritz.values[:count])
            if copies < WIDTH or copies == seen:
                return ritz
            seen = copies
            iteration.refresh(ritz, count)
        elif iteration.is_full:
            iteration.restart(ritz, count + ROOM // 2)


def is_enough(ritz: Ritz, n_axes: int, count: int, data: CentredData) -> bool:
    r"""Whether more products would change neither the loss nor what can be proven about it.

    A Ritz value with a residual of length r is too small by at most r, and by about
    :math:`r^2/\text{gap}`, where the gap is the distance to the values that are not kept. The slack only
    matters where the hidden variance is so small that the bound may be attained.
    """
    values, residuals = ritz.values[:count], ritz.residuals[:, :count]
    accuracy, total = ACCURACY[data.rows.dtype.itemsize], data.total_variance
    noise = 4.0 * float(np.finfo(data.rows.dtype).eps) * float(values[0])
    lengths = np.linalg.norm(residuals, axis=0)[:n_axes]
    gaps = np.maximum(values[:n_axes] - values[-1], lengths)
    missing = float((lengths**2 / np.maximum(gaps, noise)).sum())
    left = max(0.0, total - float(values[:n_axes].sum()))
    if missing > accuracy * left + noise:
        return False
    if total - float(values.sum()) > values[n_axes - 1]:
        return True
    return nuclear_norm(residuals) <= accuracy * total + count * noise


def equal_values(values: Array) -> int:
    """How many positive values at most are equal, to one in a million, for values that fall."""
    positive = values[values > 1e-12 * values[0]]
    ends = np.searchsorted(-positive, -positive * (1.0 - 1e-6), side="right")
    return int((ends - np.arange(len(positive))).max())


def spectrum_in_basis(data: CentredData, basis: Array) -> Spectrum:
    """The best axes inside the span of any basis (D, K), with a true account of what it misses."""
    basis = np.linalg.qr(basis)[0]
    image = data.covariance_times(basis)
    small = basis.T @ image
    eigenvalues, rotation = np.linalg.eigh((small + small.T) / 2.0)
    triangle = np.asarray(np.linalg.qr(image - basis @ small, mode="r"))  # same singular values
    hidden = max(0.0, data.total_variance - float(eigenvalues.sum()))
    spectrum = Spectrum(
        data.mean * data.unit,
        (basis @ rotation[:, ::-1]).T,
        eigenvalues[::-1],
        data.total_variance,
        data.unit,
        hidden,
        nuclear_norm(triangle),
    )
    return tidy(spectrum, data.rows.dtype)


def nuclear_norm(matrix: Array) -> float:
    """Sum of the singular values."""
    return float(np.linalg.svd(matrix, compute_uv=False).sum())


@dataclass(frozen=True, eq=False)
class Ritz:
    """Ritz pairs by falling value.

    Parameters
    ----------
    values : ndarray of shape (m,)
    rotation : ndarray of shape (m, m)
        Takes the basis to the Ritz vectors.
    residuals : ndarray of shape (width, m)
        Residuals in an orthonormal basis of their own: their lengths and angles are the true ones.
    """

    values: Array
    rotation: Array
    residuals: Array


class BlockLanczos:
    """A basis that grows block by block towards the leading eigenvectors.

    Parameters
    ----------
    times : callable
        The operator times a block (side, k).
    side : int
        Length of a vector; ``capacity + width`` must not exceed it.
    width : int
        Vectors in a block.
    capacity : int
        Vectors in a full basis.
    rng : numpy Generator
        Picks the first block, and new directions where the iteration has seen all it can reach.

    Examples
    --------
    >>> import numpy as np
    >>> from modae.data.krylov import BlockLanczos
    >>> eigenvalues = 0.5 ** np.arange(100)
    >>> rng = np.random.default_rng(0)
    >>> iteration = BlockLanczos(lambda block: eigenvalues[:, None] * block, 100, 4, 40, rng)
    >>> for _ in range(8):
    ...     iteration.grow()
    >>> iteration.ritz().values[:3].round(6).tolist()
    [1.0, 0.5, 0.25]
    """

    def __init__(
        self,
        times: Callable[[Array], Array],
        side: int,
        width: int,
        capacity: int,
        rng: np.random.Generator,
    ) -> None:
        self.times = times
        self.rng = rng
        self.size = 0
        self.n_products = 0
        self._vectors = np.empty((side, capacity), order="F")
        self._small = np.zeros((capacity, capacity))
        self._next: Array = np.linalg.qr(rng.standard_normal((side, width)))[0]
        self._coupling: Array = np.zeros((width, width))

    @property
    def width(self) -> int:
        """Vectors in a block."""
        return len(self._coupling)

    @property
    def is_full(self) -> bool:
        """Whether another block does not fit."""
        return self.size + self.width > self._vectors.shape[1]

    def grow(self) -> None:
        """Take the next block into the basis, and prepare the one after it."""
        start, self.size = self.size, self.size + self.width
        self._vectors[:, start : self.size] = self._next
        image = self.times(self._next)
        self.n_products += self.width
        inside, self._next, self._coupling = self._split(image)
        self._small[: self.size, start : self.size] = inside
        self._small[start : self.size, : self.size] = inside.T

    def _split(self, image: Array) -> tuple[Array, Array, Array]:
        """``image = basis @ inside + block @ coupling``, the block orthonormal and outside the basis.

        Once is not enough to be orthogonal to round-off, twice is. Directions that vanish have been
        exhausted, so random ones take their place: nothing couples to them.
        """
        basis = self._vectors[:, : self.size]
        inside = basis.T @ image
        image = image - basis @ inside
        block, coupling = _by_falling_length(image)
        vanished = np.abs(coupling).max(axis=1) <= self._round_off()
        coupling[vanished] = 0.0
        shape = len(image), int(vanished.sum())
        block[:, vanished] = self.rng.standard_normal(shape) / np.sqrt(len(image))
        again = basis.T @ block
        block, triangle = np.linalg.qr(block - basis @ again)
        return inside + again @ coupling, block, triangle @ coupling

    def _round_off(self) -> float:
        """Length below which an image has nothing left but round-off."""
        size = 10.0 * np.sqrt(len(self._vectors)) * np.abs(self._small).max()
        return float(np.finfo(np.float64).eps * size)

    def ritz(self) -> Ritz:
        """The Ritz pairs of the basis as it is."""
        values, rotation = np.linalg.eigh(self._small[: self.size, : self.size])
        rotation = rotation[:, ::-1]
        return Ritz(values[::-1], rotation, self._coupling @ rotation[-self.width :])

    def vectors(self, ritz: Ritz, count: int) -> Array:
        """The leading Ritz vectors, (side, count)."""
        leading: Array = self._vectors[:, : self.size] @ ritz.rotation[:, :count]
        return leading

    def refresh(self, ritz: Ritz, count: int) -> None:
        """Restart, with a random next block: what the old one held back does not count any more.

        From one start a block iteration reaches, in exact arithmetic, as many copies of an eigenvalue
        as the block is wide. Another start finds more.
        """
        self.restart(ritz, count)
        basis, block = self._vectors[:, :count], self.rng.standard_normal(self._next.shape)
        for _ in range(2):
            block = np.linalg.qr(block - basis @ (basis.T @ block))[0]
        self._next, self._coupling = block, np.zeros_like(self._coupling)

    def restart(self, ritz: Ritz, count: int) -> None:
        """Shrink the basis to its leading Ritz vectors. The next block stays: it holds all residuals."""
        self._vectors[:, :count] = self.vectors(ritz, count)
        self._small[:] = 0.0
        np.fill_diagonal(self._small[:count, :count], ritz.values[:count])
        self.size = count


def _by_falling_length(image: Array) -> tuple[Array, Array]:
    """``image = block @ coupling``: orthonormal columns, and rows by falling length."""
    block, triangle = np.linalg.qr(image)
    left, lengths, right = np.linalg.svd(triangle)
    return block @ left, lengths[:, None] * right
