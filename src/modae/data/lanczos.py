r"""Leading eigenvectors of a symmetric operator, from products with blocks of vectors alone.

Block Lanczos with thick restarts. The basis Q grows by one block at a time: the image of the last block,
made orthogonal to all of Q. Then :math:`AQ=QT+PE`, where P is the block to come, and the *Ritz pairs*
:math:`(\theta,Qs)`, from the eigenpairs :math:`(\theta,s)` of the small T, have the residual
:math:`PEs`: known before P is multiplied. When the basis is full, it shrinks to its best Ritz vectors
and grows again.

Blocks find equal eigenvalues together and keep the processor busy; narrow ones need fewer products.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from modae.utils.arrays import Array


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
    >>> from modae.data.lanczos import BlockLanczos
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
