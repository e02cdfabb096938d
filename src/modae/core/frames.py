r"""Step 4: an allocation becomes M module subspaces, and these become encoders and decoders.

Wanted are orthonormal frames :math:`V_i` (K x H) with :math:`\frac1M\sum_i V_iV_i^T=\mathrm{diag}(p)`.
The blocks of the allocation are independent targets: a module is the direct sum of its parts in each
block. Inside a block, an axis with p = 1 belongs to every module, one with p = 0 to none. Two modules
need no solver: each shell gives the pair :math:`\cos t\,e_k\pm\sin t\,e_l`. The rest, frames of h
columns in a block of h units, is solved by Newton's method among frames whose mean has this spectrum.

Put the M frames side by side: :math:`V=[V_1\dots V_M]` (K x Mh). Two things are wanted of it:
:math:`VV^T=M\,\mathrm{diag}(p)=:T` and :math:`V_i^TV_i=I`. Writing :math:`V=T^{1/2}U` with orthonormal
*rows* of U keeps the first exactly, whatever U; the second is M small equations. Let
:math:`G=V^TV` and :math:`\Lambda=\mathrm{blockdiag}(\Lambda_i)`, symmetric. Moving U by
:math:`U(G\Lambda-\Lambda G)` changes the diagonal blocks of G by those of
:math:`G^2\Lambda-2G\Lambda G+\Lambda G^2`, a positive semi-definite operator, so the least-norm Newton
step solves

.. math:: \mathrm{diagblocks}(G^2\Lambda-2G\Lambda G+\Lambda G^2) = I-V_i^TV_i

by conjugate gradients. There are only :math:`Mh(h+1)/2` unknowns (550 where K x K would be 5,050), an
operator product costs two small batched multiplications, and five steps are typical.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from modae.core.allocation import ZERO_OR_ONE, Allocation
from modae.core.cuts import Cut, cuts_at
from modae.utils.arrays import Array

#: Stop at this Frobenius residual: the loss is second order in it.
TOLERANCE = 1e-7

#: Far beyond the five or so steps of most targets that have frames: they only end the hopeless ones.
MAX_STEPS = 200
MAX_HALVINGS = 10
#: Products with the operator in one Newton step, and in one of a patient search.
MAX_PRODUCTS, PATIENT_PRODUCTS = 40, 100
#: So many steps in a row that leave most of the error are taken for the end, before there are cuts.
STALL_STEPS, STALL_GAIN = 4, 0.9
#: A cut that a sum of shares meets this closely holds with equality.
BINDING = 1e-7


def module_subspaces(
    allocation: Allocation, n_modules: int, rng: np.random.Generator, *, is_patient: bool = False
) -> tuple[Array, int]:
    """Frames whose mean projector is diag(shares), or comes close where none has it exactly.

    A patient search is slower where there are none, and also finds those that nearly do not exist.
    Shares with cuts are worth it always.

    Returns
    -------
    frames : ndarray of shape (M, K', H)
        In the K' principal axes that any module uses.
    n_iter : int
        Newton steps taken.
    """
    n_components = sum(block.units for block in allocation.blocks)
    frames = np.zeros((n_modules, len(allocation.shares), n_components))
    column, n_iter, is_patient = 0, 0, is_patient or allocation.has_cuts
    for block in allocation.blocks:
        shares, columns = allocation.shares[block.axes], slice(column, column + block.units)
        part, steps = _block_frames(shares, block.units, n_modules, rng, is_patient)
        frames[:, block.axes, columns] = part
        column += block.units
        n_iter += steps
    used = np.count_nonzero(allocation.shares > ZERO_OR_ONE)  # shares fall: the used axes come first
    return frames[:, :used], n_iter


def mean_projector(frames: Array) -> Array:
    r""":math:`\bar P=\frac1M\sum_i V_iV_i^T`, of shape (K, K)."""
    flat = _side_by_side(frames)
    projector: Array = flat @ flat.T / len(frames)
    return projector


def _block_frames(
    shares: Array, units: int, n_modules: int, rng: np.random.Generator, is_patient: bool
) -> tuple[Array, int]:
    """Frames for the shares of one block, and Newton steps."""
    if n_modules == 2 and units == 1:
        return _pair(shares), 0
    shares = _with_sum(shares, units) if is_patient else shares
    shared = np.flatnonzero(shares > 1.0 - ZERO_OR_ONE)
    split = np.flatnonzero((shares > ZERO_OR_ONE) & (shares <= 1.0 - ZERO_OR_ONE))
    frames = np.zeros((n_modules, len(shares), units))
    frames[:, shared, np.arange(len(shared))] = 1.0
    rest, n_iter = units - len(shared), 0
    cut = _binding_cut(shares[split], n_modules, rest) if is_patient and rest > 1 else None
    if cut is not None:  # two parts, as modules with these shares split there: Newton would be singular
        first = len(shared)
        for axes, count in ((split[cut.mask], cut.units), (split[~cut.mask], rest - cut.units)):
            part, steps = _block_frames(shares[axes], count, n_modules, rng, True)
            frames[:, axes, first : first + count] = part
            first += count
            n_iter += steps
    elif rest:
        target = shares[split], rest, n_modules
        part, n_iter, _ = frames_with_mean_projector(*target, rng, is_patient=is_patient)
        frames[:, split, len(shared) :] = part
    return frames, n_iter


def _fills_evenly(shares: Array, n_modules: int, units: int) -> bool:
    """Whether modules, or their complements, share so many axes evenly that they must be orthogonal."""
    n_axes = len(shares)
    return n_axes == n_modules * min(units, n_axes - units) and bool(np.ptp(shares) < BINDING)


def _binding_cut(shares: Array, n_modules: int, units: int) -> Cut | None:
    """A cut that holds with equality, if there is one, and is of use."""
    if _fills_evenly(shares, n_modules, units):
        return None
    for cut in cuts_at(shares, n_modules, units, -BINDING):
        if 0 < cut.units < units and abs(shares[cut.mask].sum() - cut.units) <= BINDING:
            return cut
    return None


def _with_sum(shares: Array, units: int) -> Array:
    """Shares moved by round-off, those near 0 and 1 to these, so that they sum to the units."""
    shares = np.where(shares < BINDING, 0.0, np.where(shares > 1.0 - BINDING, 1.0, shares))
    between = (shares > 0.0) & (shares < 1.0)
    moved = np.clip(shares + (units - shares.sum()) / max(1, between.sum()), 0.0, 1.0)
    return np.where(between, moved, shares)


def _pair(shares: Array) -> Array:
    """The parts of two modules in one shell: lines in a plane, with mean projector diag(p, 1-p)."""
    if len(shares) == 1 or shares[1] <= ZERO_OR_ONE:
        return np.tile(np.eye(len(shares), 1), (2, 1, 1))
    cosine, sine = np.sqrt(shares)
    return np.array([[[cosine], [sine]], [[cosine], [-sine]]])


def frames_with_mean_projector(
    shares: Array, units: int, n_modules: int, rng: np.random.Generator, *, is_patient: bool = False
) -> tuple[Array, int, bool]:
    """Orthonormal frames (M, K, h) whose mean projector is diag(shares), 0 < shares < 1.

    Not every target has such frames. Then the frames that come back are orthonormal, but their mean
    projector is only near the target; the caller looks at the loss they give. A patient search goes on
    while it gains anything: worth while for shares that satisfy all cuts, and nearly fail one.

    Returns
    -------
    frames : ndarray of shape (M, K, h)
    n_iter : int
        Newton steps taken.
    exact : bool
        Whether the mean projector is the target.
    """
    n_axes = len(shares)
    if units > n_axes - units:
        # Orthogonal complements: fewer unknowns, and the equations stay independent.
        target = 1.0 - shares, n_axes - units, n_modules
        others, n_iter, exact = frames_with_mean_projector(*target, rng, is_patient=is_patient)
        return np.linalg.qr(others, mode="complete")[0][:, :, n_axes - units :], n_iter, exact
    if _fills_evenly(shares, n_modules, units):
        # Modules side by side are orthogonal, and Newton would be singular.
        square = np.linalg.qr(rng.standard_normal((n_axes, n_axes)))[0]
        return _apart(square, n_modules), 0, True
    # Random frames whose mean projector is roughly the target.
    gaussian = rng.standard_normal((n_modules, n_axes, units))
    frames = np.linalg.qr(gaussian * np.sqrt(shares / (1.0 - shares))[:, None])[0]
    if n_axes > n_modules * units:
        return frames, 0, False  # the target has more axes than M*h directions can span
    return _newton(frames, np.sqrt(n_modules * shares)[:, None], is_patient)


def _newton(frames: Array, root: Array, is_patient: bool) -> tuple[Array, int, bool]:
    """Newton steps on U, from the U nearest to the given frames; ``root`` is T^(1/2)."""
    n_modules, target = len(frames), root**2
    frames, error = _measure(_side_by_side(frames) / root, root, n_modules)
    history = [error]
    while error > TOLERANCE and len(history) <= MAX_STEPS:
        recent = history[-STALL_STEPS - 1 :]
        stuck = [later > STALL_GAIN * earlier for earlier, later in pairwise(recent)]
        if len(stuck) == STALL_STEPS and all(stuck) and not is_patient:
            break
        # Rotated inside each module to suit the preconditioner.
        stiffness, rotation = np.linalg.eigh(frames.mT @ (target * frames))
        frames = frames @ rotation
        n_products = PATIENT_PRODUCTS if is_patient else MAX_PRODUCTS
        multipliers = _conjugate_gradients(frames, stiffness, _defect(frames), error, n_products)
        rows = _side_by_side(frames) / root
        pulled = _side_by_side(frames @ multipliers) / root
        step = target * pulled - (pulled @ rows.T) @ (target * rows)
        for halving in range(MAX_HALVINGS):
            try:
                new_frames, new_error = _measure(rows + 0.5**halving * step, root, n_modules)
            except np.linalg.LinAlgError:
                continue  # so long a step that the rows drown in it
            if new_error < error:
                break
        else:
            break
        frames, error = new_frames, new_error
        history.append(error)
    return np.linalg.qr(frames)[0], len(history) - 1, error <= TOLERANCE


def _measure(rows: Array, root: Array, n_modules: int) -> tuple[Array, float]:
    """Frames of U, whose rows are made orthonormal first, and how far the frames are from orthonormal.

    Cholesky is enough: steps are tangent, so the Gram matrix is the identity or more.
    """
    lower = np.linalg.cholesky(rows @ rows.T)
    # Not scipy's triangular solver: its BLAS and numpy's each have threads, which wait for one another.
    frames = _apart(root * np.linalg.solve(lower, rows), n_modules)
    defect = _defect(frames)
    return frames, float(np.sqrt(np.vdot(defect, defect)))


def _defect(frames: Array) -> Array:
    return np.eye(frames.shape[2]) - frames.mT @ frames


def _conjugate_gradients(
    frames: Array, stiffness: Array, defect: Array, error: float, n_products: int
) -> Array:
    """Solve for the multipliers, no more precisely than the Newton step deserves.

    ``stiffness`` holds the diagonal blocks of G^2, which are diagonal here. The preconditioner is the
    diagonal of the operator: a cruder one lets round-off grow to the size of the step.
    """
    pairs = stiffness[:, :, None] + stiffness[:, None, :]
    # <E, G_ii E G_ii> for each symmetric unit matrix E of each module.
    own = frames.mT @ frames
    lengths = np.diagonal(own, axis1=1, axis2=2)
    off = own * (1.0 - np.eye(own.shape[1]))
    diagonal = pairs - 2.0 * (lengths[:, :, None] * lengths[:, None, :] + off**2)
    diagonal = np.maximum(diagonal, 1e-6 * diagonal.max())  # it is 0 only in degenerate frames
    sandwich = _gram_sandwich(frames)
    solution = np.zeros_like(defect)
    residual = defect.copy()
    direction = preconditioned = residual / diagonal
    energy = np.vdot(residual, preconditioned)
    enough = max(min(0.1, error) * error, 0.1 * TOLERANCE) ** 2
    for _ in range(n_products):
        product = pairs * direction - 2.0 * sandwich(direction)
        curvature = np.vdot(direction, product)
        if curvature <= 0.0:
            break
        length = energy / curvature
        solution += length * direction
        residual -= length * product
        if np.vdot(residual, residual) <= enough:
            break
        preconditioned = residual / diagonal
        energy, previous = np.vdot(residual, preconditioned), energy
        direction = preconditioned + (energy / previous) * direction
    return solution


def _gram_sandwich(frames: Array) -> Callable[[Array], Array]:
    """The diagonal blocks of G L G as a function of L: through G, or through K x K if that is less."""
    n_modules, n_axes, units = frames.shape
    flat = _side_by_side(frames)
    if n_axes**2 < n_modules * units**2:
        return lambda blocks: frames.mT @ ((_side_by_side(frames @ blocks) @ flat.T) @ frames)
    gram = (flat.T @ flat).reshape(n_modules, units, n_modules * units)
    return lambda blocks: gram @ _apart((blocks @ gram).reshape(-1, n_modules * units), n_modules)


def _side_by_side(frames: Array) -> Array:
    """A stack (M, K, h) as one matrix (K, M*h): module after module."""
    modules, axes, units = frames.shape
    return frames.transpose(1, 0, 2).reshape(axes, modules * units)


def _apart(matrix: Array, n_modules: int) -> Array:
    """One matrix (K, M*h) as a stack (M, K, h)."""
    stack = matrix.reshape(len(matrix), n_modules, -1).transpose(1, 0, 2)
    return np.ascontiguousarray(stack)


#: At diversity 1 the shared map is a pseudo-inverse: directions below this share are dropped.
SINGULAR = 1e-12
#: Nearer to 1 the eigenvectors are worth their time, five times that of a solution of equations.
NEAR_ONE = 1e-6


def best_encoders(frames: Array, diversity: float) -> Array:
    r"""Encoders (M, H, K) that minimise the loss for orthonormal decoders (M, K, H).

    .. math:: B_i = A_i^T\big((1-\lambda)I+\lambda\bar P\big)^{-1}

    Stationarity gives :math:`(1-\lambda)C_i+\lambda P_i\bar C=P_i`; average over i, solve for
    :math:`\bar C`, put it back. Every module is *the same shared linear map*, followed by its own
    projection.
    """
    mean = mean_projector(frames)
    if 1.0 - diversity > NEAR_ONE:
        shared = (1.0 - diversity) * np.eye(len(mean)) + diversity * mean
        solved = _apart(np.linalg.solve(shared, _side_by_side(frames)), len(frames))
        return solved.mT
    shares, directions = np.linalg.eigh(mean)
    denominators = 1.0 - diversity + diversity * shares
    kept = denominators > SINGULAR
    inverse = np.where(kept, 1.0 / np.where(kept, denominators, 1.0), 0.0)
    shared_map = (directions * inverse) @ directions.T
    encoders: Array = frames.mT @ shared_map
    return encoders


def random_rotations(n_modules: int, n_components: int, rng: np.random.Generator) -> Array:
    """A random orthogonal matrix for each module, (M, H, H), all directions equally likely."""
    turns, triangles = np.linalg.qr(rng.standard_normal((n_modules, n_components, n_components)))
    signs = np.sign(np.diagonal(triangles, axis1=1, axis2=2))
    rotations: Array = turns * signs[:, None, :]
    return rotations


def canonical(decoders: Array, encoders: Array, eigenvalues: Array) -> tuple[Array, Array]:
    r"""The same products :math:`A_iB_i` in a form that does not depend on the way there.

    Decoders become orthonormal. Inside a module the axes are those that diagonalise the captured
    variance :math:`A_i^T\Sigma A_i` (at an optimum they make the codes uncorrelated too), ordered by
    code variance; whitened components tie there, and keep the order of captured variance. The largest
    entry of each decoder column is positive. Modules are ordered by captured variance; nine digits alike
    are a tie, so that round-off does not decide between modules that are meant to be equal.
    """
    decoders, triangles = np.linalg.qr(decoders)
    encoders = triangles @ encoders
    captured, rotation = np.linalg.eigh(decoders.mT @ (eigenvalues[:, None] * decoders))
    rotation = rotation[:, :, ::-1]
    decoders, encoders = decoders @ rotation, rotation.mT @ encoders
    variances = (encoders**2) @ eigenvalues
    top = variances.max(axis=1, keepdims=True)
    relative = np.round(variances / np.where(top > 0.0, top, 1.0), 6)  # six digits alike are a tie
    order = np.argsort(-relative, axis=1, kind="stable")
    decoders = np.take_along_axis(decoders, order[:, None, :], axis=2)
    encoders = np.take_along_axis(encoders, order[:, :, None], axis=1)
    largest = np.abs(decoders).argmax(axis=1)[:, None, :]
    signs = np.where(np.take_along_axis(decoders, largest, axis=1)[:, 0, :] < 0.0, -1.0, 1.0)
    sums = captured.sum(axis=1)
    modules = np.argsort(-np.round(sums / (sums.max() or 1.0), 9), kind="stable")
    return (decoders * signs[:, None, :])[modules], (encoders * signs[:, :, None])[modules]
