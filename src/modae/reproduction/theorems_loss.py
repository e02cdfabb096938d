r"""The loss itself: two forms, the gradient, the two ends of the diversity (section 2.1, appendix A).

A check draws a few random instances, measures one number on each and compares the worst with a
tolerance. The modules of Propositions 1 and 2 are any functions: there the outputs are drawn at random.
"""

from __future__ import annotations

import numpy as np

from modae.core.backfitting import backfit
from modae.core.objective import linear_gradient, output_terms
from modae.linear.autoencoder import LinearModularAutoencoder
from modae.reproduction.findings import Finding
from modae.reproduction.instances import Instance, instances
from modae.utils.arrays import Array, side_by_side

ROUND_OFF = 1e-12
DIFFERENCES = 1e-8
"""What central differences of a quadratic leave: round-off divided by their step."""

PROJECTORS = 1e-8

DIVERSITIES = (0.0, 0.3, 1.0, 1.7)


def check_two_forms(count: int) -> Finding:
    """Proposition 1: the loss is also (1 - lam) * errors of the members + lam * error of the mean."""
    worst = max(_difference_of_forms(instance) for instance in instances(count))
    return Finding("proposition1", worst <= ROUND_OFF, f"largest relative difference {worst:.1e}")


def _difference_of_forms(instance: Instance) -> float:
    outputs, targets = random_network(instance)
    terms = output_terms(outputs, targets)
    return max(
        float(np.max(np.abs(terms.loss(lam) - terms.ambiguity_loss(lam)) / terms.reconstruction))
        for lam in DIVERSITIES
    )


def check_gradient(count: int) -> Finding:
    """Proposition 2: dL/dF_i = 2/M ((F_i - y) - lam (F_i - mean F)), against central differences."""
    worst = max(_error_of_gradient(instance) for instance in instances(count))
    return Finding("proposition2", worst <= DIFFERENCES, f"largest relative difference {worst:.1e}")


def _error_of_gradient(instance: Instance) -> float:
    outputs, targets = random_network(instance)
    worst = 0.0
    for lam in DIVERSITIES:
        exact = (2.0 / len(outputs)) * ncl_direction(outputs, targets, lam)
        error = np.abs(exact - _central_differences(outputs, targets, lam)).max()
        worst = max(worst, float(error / np.abs(exact).max()))
    return worst


def _central_differences(outputs: Array, targets: Array, lam: float, step: float = 1e-3) -> Array:
    """Slope of the loss of each row along each output of each module."""
    slopes = np.empty_like(outputs)
    for module, column in np.ndindex(len(outputs), outputs.shape[2]):
        ahead, behind = outputs.copy(), outputs.copy()
        ahead[module, :, column] += step
        behind[module, :, column] -= step
        rise = output_terms(ahead, targets).loss(lam) - output_terms(behind, targets).loss(lam)
        slopes[module, :, column] = rise / (2.0 * step)
    return slopes


def check_ncl_rate(count: int) -> Finding:
    """A step of Negative Correlation Learning is one of stochastic descent with M/2 times its rate."""
    worst = max(_difference_of_steps(instance, factor=0.5) for instance in instances(count))
    return Finding("ncl-learning-rate", worst <= ROUND_OFF, f"largest relative difference {worst:.1e}")


def _difference_of_steps(
    instance: Instance, factor: float, alpha: float = 0.1, lam: float = 0.6
) -> float:
    """Between both updates for one example x, with the rate ``factor * M * alpha`` of descent."""
    x = instance.rows[0]
    rate = factor * len(instance.decoders) * alpha
    slopes = linear_gradient(instance.decoders, instance.encoders, np.outer(x, x), lam)
    outputs = (instance.decoders @ instance.encoders @ x)[:, None, :]
    direction = ncl_direction(outputs, x[None, :], lam)[:, 0, :]
    # F_i = A_i B_i x: its derivative takes a direction d to d (B_i x)^T for A_i, to A_i^T d x^T for B_i.
    for_decoders = np.einsum("md,mh->mdh", direction, instance.encoders @ x)
    for_encoders = np.einsum("mdh,md,e->mhe", instance.decoders, direction, x)
    return max(
        float(np.abs(alpha * ncl - rate * slope).max() / np.abs(alpha * ncl).max())
        for ncl, slope in zip((for_decoders, for_encoders), slopes, strict=True)
    )


def check_no_diversity_is_pca(count: int) -> Finding:
    """Section 2.1: at lam = 0 each module is the projection on the first H principal components."""
    worst = max(_distance_from_pca(instance) for instance in instances(count))
    return Finding("lambda-zero-pca", worst <= PROJECTORS, f"largest difference from PCA {worst:.1e}")


def _distance_from_pca(instance: Instance) -> float:
    """Largest entry by which the products of either solver differ from the projector of PCA."""
    n_modules, _, width = instance.shape
    axes = np.linalg.svd(instance.rows)[2][:width]
    model = LinearModularAutoencoder(n_modules, width, random_state=0).fit(instance.rows)
    (fitted,) = model.path([0.0])  # to fit there directly is to be warned that the modules are equal
    descent = backfit(instance.covariance, (instance.decoders, instance.encoders), 0.0, max_iter=1)
    products = (fitted.decoders_ @ fitted.encoders_, descent.decoders @ descent.encoders)
    return max(float(np.abs(product - axes.T @ axes).max()) for product in products)


def check_full_diversity_is_one_autoencoder(count: int) -> Finding:
    """Section 2.1: at lam = 1 the loss is that of one autoencoder with M*H hidden units."""
    loss = max(_difference_from_one(instance) for instance in instances(count))
    optimum = max(_distance_from_large_pca(instance) for instance in instances(count))
    measured = f"losses differ by {loss:.1e}, best loss from that of PCA(MH) by {optimum:.1e} (relative)"
    return Finding("lambda-one-monolithic", loss <= ROUND_OFF and optimum <= PROJECTORS, measured)


def _difference_from_one(instance: Instance) -> float:
    """Eq. 1 at lam = 1 against A = [A_1 .. A_M] / M and B = [B_1; ..; B_M] put to work on the rows."""
    n_modules, n_features, _ = instance.shape
    large_decoder = side_by_side(instance.decoders) / n_modules
    large_encoder = instance.encoders.reshape(-1, n_features)
    missed = instance.rows @ large_encoder.T @ large_decoder.T - instance.rows
    loss = output_terms(instance.outputs, instance.rows).loss(1.0)
    return float(
        np.max(np.abs(loss - np.square(missed).sum(axis=1)) / np.square(instance.rows).sum(axis=1))
    )


def _distance_from_large_pca(instance: Instance) -> float:
    """Between the least loss at lam = 1 and what PCA with M*H components leaves, over the variance."""
    n_modules, _, width = instance.shape
    eigenvalues = np.linalg.eigvalsh(instance.covariance)[::-1]
    fitted = LinearModularAutoencoder(n_modules, width, 1.0, random_state=0).fit(instance.rows)
    return abs(fitted.loss_ - float(eigenvalues[n_modules * width :].sum())) / instance.variance


def random_network(instance: Instance) -> tuple[Array, Array]:
    """Outputs (M, n, Q) of any regression network, and targets (n, Q)."""
    n_modules, n_features, _ = instance.shape
    shape = (len(instance.rows), n_features)
    outputs = instance.rng.standard_normal((n_modules, *shape))
    return outputs, instance.rng.standard_normal(shape)


def ncl_direction(outputs: Array, targets: Array, diversity: float) -> Array:
    """What Negative Correlation Learning follows: (F_i - y) - lam (F_i - mean F)."""
    return (outputs - targets) - diversity * (outputs - outputs.mean(axis=0))


CHECKS = (
    check_two_forms,
    check_gradient,
    check_ncl_rate,
    check_no_diversity_is_pca,
    check_full_diversity_is_one_autoencoder,
)
