r"""The objective: the loss and its gradient, what a solver is asked, and what it answers.

In the paper's form and in the ambiguity form, the loss of a row x is

.. math::
   L(x) &= \frac1M\sum_i\|C_ix-x\|^2-\lambda\,\frac1M\sum_i\|C_ix-\bar Cx\|^2
           \qquad\text{(Eq. 1: reconstruction error, diversity)}\\
        &= (1-\lambda)\,\frac1M\sum_i\|C_ix-x\|^2+\lambda\,\|\bar Cx-x\|^2
           \qquad\text{(Proposition 1)}

with :math:`C_i=A_iB_i` and :math:`\bar C` their mean. The functions of the loss accept every diversity
:math:`\lambda\ge0`, because the theorems speak of values above 1; a :class:`Problem` has one in [0, 1].

A solver is a function from a :class:`Problem`, eigenvalues and sizes, to a :class:`Solution`: modules in
principal axes, measured and certified by :func:`conclude`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from modae.core.allocation import Allocation, allocate, loss_of_shares
from modae.core.cuts import allocate_with_cuts
from modae.core.frames import canonical
from modae.utils.arrays import Array


class Terms(NamedTuple):
    """The terms of the loss, floats or one value per row: reconstruction - diversity = error of mean."""

    reconstruction: Array | float
    diversity: Array | float
    error_of_mean: Array | float

    def loss(self, lam: float) -> Array | float:
        """Eq. 1: reconstruction - lam * diversity."""
        return self.reconstruction - lam * self.diversity

    def ambiguity_loss(self, lam: float) -> Array | float:
        """Proposition 1, which does not cancel: (1 - lam) * reconstruction + lam * error of mean."""
        return (1.0 - lam) * self.reconstruction + lam * self.error_of_mean


def output_terms(outputs: Array, targets: Array) -> Terms:
    """The terms for each row, for any modules: outputs (M, n, D) against targets (n, D).

    Examples
    --------
    >>> import numpy as np
    >>> from modae.core.objective import output_terms
    >>> terms = output_terms(np.array([[[1.0]], [[3.0]]]), np.array([[1.0]]))
    >>> terms.reconstruction.tolist(), terms.diversity.tolist(), terms.loss(0.5).tolist()
    ([2.0], [1.0], [1.5])
    """
    mean = outputs.mean(axis=0)
    errors, spread, misses = outputs - targets, outputs - mean, mean - targets
    return Terms(
        np.einsum("mnd,mnd->n", errors, errors) / len(outputs),
        np.einsum("mnd,mnd->n", spread, spread) / len(outputs),
        np.einsum("nd,nd->n", misses, misses),
    )


def linear_terms(decoders: Array, encoders: Array, covariance: Array) -> Terms:
    """The terms averaged over data with this covariance, for linear modules.

    Parameters
    ----------
    decoders : ndarray of shape (M, D, H)
    encoders : ndarray of shape (M, H, D)
    covariance : ndarray of shape (D, D), or (D,) for a diagonal one
    """
    n_modules, n_features, _ = decoders.shape
    seen = encoders * covariance if covariance.ndim == 1 else encoders @ covariance
    total = covariance.sum() if covariance.ndim == 1 else np.trace(covariance)
    # tr(C_i Sigma C_i^T) = <A_i^T A_i, B_i Sigma B_i^T>, tr(C_i Sigma) = <B_i Sigma, A_i^T>
    own = np.vdot(decoders.mT @ decoders, seen @ encoders.mT)
    overlap = np.vdot(seen, decoders.mT)
    reconstruction = float(total + (own - 2.0 * overlap) / n_modules)
    mean_product = np.hstack(list(decoders)) @ encoders.reshape(-1, n_features) / n_modules
    missed = np.eye(n_features) - mean_product
    weighted = missed * covariance if covariance.ndim == 1 else missed @ covariance
    error_of_mean = float(np.vdot(weighted, missed))
    return Terms(reconstruction, reconstruction - error_of_mean, error_of_mean)


def linear_gradient(
    decoders: Array, encoders: Array, covariance: Array, diversity: float
) -> tuple[Array, Array]:
    r"""Gradient of the mean loss with respect to decoders and encoders.

    :math:`\partial E/\partial C_i=\frac2M\big((C_i-I)-\lambda(C_i-\bar C)\big)\Sigma`, then the chain
    rule: times :math:`B_i^T` on the right, :math:`A_i^T` on the left.
    """
    n_modules = len(decoders)
    sigma = np.diag(covariance) if covariance.ndim == 1 else covariance
    products = decoders @ encoders
    pull = (1.0 - diversity) * products + diversity * products.mean(axis=0)
    slope = (2.0 / n_modules) * (pull - np.eye(len(sigma))) @ sigma
    return slope @ encoders.mT, decoders.mT @ slope


ATTAINED, UNDECIDED = "attained", "undecided"

#: A gap below this fraction of the variance counts as closed.
CLOSED = 1e-9


@dataclass(frozen=True)
class Problem:
    """A linear modular autoencoder to be fitted, in principal axes.

    Parameters
    ----------
    eigenvalues : ndarray of shape (K,)
    total_variance : float
    n_modules, n_components, diversity
        M, H and lam in [0, 1].
    hidden, slack : float
        How far an inexact spectrum may be off. ``hidden`` is the variance outside the axes that were
        found, in the worst case all on one axis; ``slack`` is how much more variance than the
        eigenvalues say any modules may capture. An exact spectrum has 0.
    closed : float
        A gap below this fraction of the variance counts as closed.
    with_cuts : bool
        Whether the allocation keeps every inequality on the shares that is known, see
        :mod:`modae.core.cuts`. That takes time, and changes nothing on smooth spectra.
    """

    eigenvalues: Array
    total_variance: float
    n_modules: int
    n_components: int
    diversity: float
    hidden: float = 0.0
    slack: float = 0.0
    closed: float = CLOSED
    with_cuts: bool = False

    @cached_property
    def allocation(self) -> Allocation:
        """The ideal allocation of the principal axes to modules."""
        allocation = allocate(self.eigenvalues, self.n_modules, self.n_components, self.diversity)
        if not self.with_cuts:
            return allocation
        rank = int(np.count_nonzero(self.eigenvalues))
        used = replace(allocation, shares=allocation.shares[:rank])
        found = allocate_with_cuts(used, self.eigenvalues[:rank], self.n_modules, self.diversity)
        return replace(found, shares=np.pad(found.shares, (0, len(self.eigenvalues) - rank)))

    @cached_property
    def with_all_cuts(self) -> Problem:
        """The same problem with cuts, where these can matter: elsewhere the bound is exact without."""
        if self.n_modules < 3 or self.n_components == 1 or self.diversity in (0.0, 1.0):
            return self  # the condition of the allocation is sufficient
        rank = int(np.count_nonzero(self.eigenvalues))
        if self.with_cuts or not self.is_exact or rank <= self.n_components:
            return self
        return replace(self, with_cuts=True)

    @property
    def is_exact(self) -> bool:
        """Whether the eigenvalues are those of the data, to less than a gap that counts as closed."""
        return self.hidden == 0.0 and self.slack <= 0.1 * self.closed * self.total_variance

    @cached_property
    def ideal_loss(self) -> float:
        """Loss of modules that have the ideal allocation: what a solver aims at."""
        shares, surplus = self.allocation.shares, self.allocation.surplus
        return loss_of_shares(self.eigenvalues, shares, self.diversity, self.total_variance) - surplus

    @cached_property
    def lower_bound(self) -> float:
        """No modules have a smaller loss than this, however inexact the spectrum: a certificate."""
        if self.hidden == 0.0:
            return max(0.0, self.ideal_loss - self.slack)
        # In the worst case all variance that an inexact spectrum did not see lies on one more axis.
        count = self.n_modules * self.n_components
        raised = np.sort(np.append(self.eigenvalues, self.hidden))[::-1][:count]
        shares = allocate(raised, self.n_modules, self.n_components, self.diversity).shares
        bound = loss_of_shares(raised, shares, self.diversity, self.total_variance)
        return max(0.0, bound - self.slack)

    def variance_beyond(self, n_axes: int) -> float:
        """Variance outside the first axes: modules that do not use the rest lose all of it."""
        return max(0.0, self.total_variance - float(self.eigenvalues[:n_axes].sum()))

    def terms(self, decoders: Array, encoders: Array) -> Terms:
        """The terms of the mean loss over the data, of linear modules in the first axes."""
        n_axes = decoders.shape[1]
        terms = linear_terms(decoders, encoders, self.eigenvalues[:n_axes])
        beyond = self.variance_beyond(n_axes)
        return Terms(beyond + terms.reconstruction, terms.diversity, beyond + terms.error_of_mean)

    def loss(self, decoders: Array, encoders: Array) -> float:
        """Mean loss over the data of linear modules in the first axes."""
        return float(self.terms(decoders, encoders).ambiguity_loss(self.diversity))

    def gap(self, loss: float) -> float:
        """(loss - lower bound) as a fraction of the variance; 0 when there is no variance."""
        return self._fraction(loss - self.lower_bound)

    def gap_to_ideal(self, loss: float) -> float:
        """(loss - ideal loss) as a fraction of the variance: what a solver could still gain."""
        return self._fraction(loss - self.ideal_loss)

    def _fraction(self, difference: float) -> float:
        return difference / self.total_variance if self.total_variance > 0.0 else 0.0


@dataclass(frozen=True)
class Solution:
    """Modules in principal axes, their loss, and the certificate.

    Parameters
    ----------
    decoders : ndarray of shape (M, K', H)
        In the first K' <= K principal axes: those that any module uses. Orthonormal columns, in the
        order of :func:`modae.core.frames.canonical`.
    encoders : ndarray of shape (M, H, K')
    shares : ndarray of shape (K,)
        Share of the modules that look at each principal axis.
    loss, reconstruction_error, diversity_term : float
        ``loss = reconstruction_error - diversity * diversity_term``.
    lower_bound : float
        No modules have a smaller loss.
    gap : float
        ``(loss - lower_bound) / total variance``.
    attainment : {"attained", "undecided"}
        Whether the bound is reached, so that these modules are proven to be the best.
    loss_history : ndarray of shape (n_iter + 1,) or shorter
    n_iter : int
    converged : bool
    solver : str
    """

    decoders: Array
    encoders: Array
    shares: Array
    loss: float
    reconstruction_error: float
    diversity_term: float
    lower_bound: float
    gap: float
    attainment: str
    loss_history: Array
    n_iter: int
    converged: bool
    solver: str

    def scaled(self, variance: float) -> Solution:
        """The same modules for data with ``variance`` times the variance."""
        return replace(
            self,
            loss=self.loss * variance,
            reconstruction_error=self.reconstruction_error * variance,
            diversity_term=self.diversity_term * variance,
            lower_bound=self.lower_bound * variance,
            # From the rounded numbers, so that it equals what a reader computes from them.
            gap=(self.loss * variance - self.lower_bound * variance) / variance,
            loss_history=self.loss_history * variance,
        )


def conclude(
    problem: Problem,
    decoders: Array,
    encoders: Array,
    *,
    solver: str,
    n_iter: int,
    converged: bool = True,
    loss_history: list[float] | None = None,
) -> Solution:
    """Measure modules found by any solver, from the modules themselves, and certify them."""
    n_axes = decoders.shape[1]
    eigenvalues = problem.eigenvalues[:n_axes]
    decoders, encoders = canonical(decoders, encoders, eigenvalues)
    encoders[:, :, eigenvalues == 0.0] = 0.0  # axes beyond the rank are arbitrary: encode nothing
    terms = problem.terms(decoders, encoders)
    loss = float(terms.ambiguity_loss(problem.diversity))
    if problem.gap(loss) > problem.closed:
        problem = problem.with_all_cuts
    return Solution(
        decoders=decoders,
        encoders=encoders,
        shares=np.pad(
            np.square(decoders).sum(axis=2).mean(axis=0), (0, len(problem.eigenvalues) - n_axes)
        ),
        loss=loss,
        reconstruction_error=float(terms.reconstruction),
        diversity_term=float(terms.diversity),
        lower_bound=problem.lower_bound,
        gap=problem.gap(loss),
        attainment=ATTAINED if problem.gap(loss) <= problem.closed else UNDECIDED,
        loss_history=np.array([loss] if loss_history is None else loss_history),
        n_iter=max(n_iter, 1),  # scikit-learn wants at least one, of direct solvers too
        converged=converged,
        solver=solver,
    )
