r"""Step 4: an allocation becomes M module subspaces.

Wanted are orthonormal frames :math:`V_i` (K x H) with :math:`\frac1M\sum_i V_iV_i^T=\mathrm{diag}(p)`.
The blocks of the allocation are independent targets: a module is the direct sum of its parts in each
block. Inside a block, an axis with p = 1 belongs to every module, one with p = 0 to none, and the rest
is solved by :mod:`modae.core.tight_frames`. Two modules need no solver: each shell gives the pair
:math:`\cos t\,e_k\pm\sin t\,e_l`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from modae.core.allocation import PEEL, Allocation, Block
from modae.core.tight_frames import frames_with_mean_projector
from modae.utils.arrays import Array


@dataclass(frozen=True)
class Subspaces:
    """Frames (M, K', H) in the K' principal axes that any module uses, and their Newton steps."""

    frames: Array
    n_iter: int


def module_subspaces(allocation: Allocation, n_modules: int, rng: np.random.Generator) -> Subspaces:
    """Frames whose mean projector is diag(shares), or comes close where none has it exactly."""
    n_components = sum(block.units for block in allocation.blocks)
    frames = np.zeros((n_modules, len(allocation.shares), n_components))
    column = n_iter = 0
    for block in allocation.blocks:
        part, steps = _block_frames(allocation.shares[block.axes], block, n_modules, rng)
        frames[:, block.axes, column : column + block.units] = part
        column += block.units
        n_iter += steps
    used = np.count_nonzero(allocation.shares > PEEL)  # shares fall: the used axes come first
    return Subspaces(frames[:, :used], n_iter)


def mean_projector(frames: Array) -> Array:
    r""":math:`\bar P=\frac1M\sum_i V_iV_i^T`, of shape (K, K)."""
    mean: Array = np.tensordot(frames, frames, axes=((0, 2), (0, 2))) / len(frames)
    return mean


def _block_frames(
    shares: Array, block: Block, n_modules: int, rng: np.random.Generator
) -> tuple[Array, int]:
    if n_modules == 2 and block.units == 1:
        return _pair(shares), 0
    shared = np.flatnonzero(shares > 1.0 - PEEL)
    split = np.flatnonzero((shares > PEEL) & (shares <= 1.0 - PEEL))
    frames = np.zeros((n_modules, len(shares), block.units))
    frames[:, shared, np.arange(len(shared))] = 1.0
    units = block.units - len(shared)
    if not units:
        return frames, 0
    part, steps = frames_with_mean_projector(shares[split], units, n_modules, rng)
    frames[:, split, len(shared) :] = part
    return frames, steps


def _pair(shares: Array) -> Array:
    """The parts of two modules in one shell: lines in a plane, with mean projector diag(p, 1-p)."""
    if len(shares) == 1 or shares[1] <= PEEL:
        return np.tile(np.eye(len(shares), 1), (2, 1, 1))
    cosine, sine = np.sqrt(shares)
    return np.array([[[cosine], [sine]], [[cosine], [-sine]]])
