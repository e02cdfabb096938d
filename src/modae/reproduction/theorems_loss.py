r"""The loss itself, and bounds on the diversity (section 2.1, appendix A), checked on small problems.

A check measures something on each of a few random instances and says when the worst of it bears the
paper's claim out. The modules of Propositions 1 and 2 are any functions: there the outputs are drawn at
random.

The proof of Theorem 1 is constructive. With a fixed feature :math:`\varphi_1` that is not 0, two modules
put out

.. math:: F_1=c(q^2+q)\varphi_1, \qquad F_2=-cq^2\varphi_1

and the others nothing. The members then miss the targets by order :math:`q^4`, their mean, in which
:math:`q^2` cancels, by order :math:`q^2`; so :math:`E=(1-\lambda)\,\Omega(q^4)+\lambda\,\Omega(q^2)`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, Self

import numpy as np
from numpy.random import Generator

from modae.core.backfitting import backfit, random_modules, update_module
from modae.core.gradient import descend
from modae.core.objective import Terms, linear_gradient, linear_terms, output_terms
from modae.linear.autoencoder import LinearModularAutoencoder
from modae.reproduction.run import Finding
from modae.utils.arrays import Array

ROUND_OFF = 1e-12
#: What central differences of a quadratic leave: round-off divided by their step.
DIFFERENCES = 1e-8

PROJECTORS = 1e-8
EXPONENT = 0.01
#: How low, and how high, stands for "arbitrarily": in units of the variance.
FAR = 1e9

DIVERSITIES = (0.0, 0.3, 1.0, 1.7)
UP_TO_ONE = (0.0, 0.5, 0.9, 1.0)
ABOVE_ONE = (1.01, 1.5, 3.0)
#: Values of q, far out where the leading order is all that counts.
STEEP = np.array([1e4, 1e5, 1e6])

DIFFERENCE = "largest relative difference {:.1e}"
ONE_AUTOENCODER = "losses differ by {:.1e}, best loss from that of PCA(MH) by {:.1e} (relative)"
LOW_AND_HIGH = "q = 1e+06: loss at most -{:.0e}, reconstruction error at least {:.0e}"
ORDERS = "exponents off by {:.0e} from 2 (mean), {:.0e} from 4 (members), {:.0e} from 4 (minus the loss)"
NEAREST = "nearest to the least loss: {least:+.1e} above it"
PARABOLA = "loss ~ -t^2 for a module t*C: exponent off by {:.0e}, factor by {:.0e}"


# --- problems and checks -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Instance:
    """Centred rows, a set of modules, and a source of further random numbers.

    Parameters
    ----------
    rows : ndarray of shape (n, D)
    decoders : ndarray of shape (M, D, H)
    encoders : ndarray of shape (M, H, D)
    rng : numpy Generator
    """

    rows: Array
    decoders: Array
    encoders: Array
    rng: Generator

    @cached_property
    def covariance(self) -> Array:
        """Sigma, with divisor n."""
        return self.rows.T @ self.rows / len(self.rows)

    @property
    def variance(self) -> float:
        """Trace of Sigma: the unit in which losses are compared."""
        return float(np.trace(self.covariance))

    @property
    def one_module_limit(self) -> float:
        """M/(M-1): below it one module alone cannot drive the loss to minus infinity."""
        return len(self.decoders) / (len(self.decoders) - 1)

    @property
    def outputs(self) -> Array:
        """What each module makes of each row, (M, n, D)."""
        return self.rows @ (self.decoders @ self.encoders).mT

    def loss(self, diversity: float) -> float:
        """E, in the form that does not cancel."""
        terms = linear_terms(self.decoders, self.encoders, self.covariance)
        return float(terms.ambiguity_loss(diversity))

    def with_module(self, module: int, decoder: Array, encoder: Array) -> Self:
        """The same with one module exchanged."""
        decoders, encoders = self.decoders.copy(), self.encoders.copy()
        decoders[module], encoders[module] = decoder, encoder
        return replace(self, decoders=decoders, encoders=encoders)


def instances(count: int, *, singular: bool = False) -> Iterator[Instance]:
    """Problems of 2 to 4 modules with 1 to 3 units in 4 to 8 dimensions, the same in every call.

    The columns have different sizes and are mixed, so that the eigenvalues are spread and simple. A
    singular covariance lacks two of its D dimensions.
    """
    for seed in range(count):
        rng, width = np.random.default_rng(seed), 1 + seed % 3
        n_features = width + int(rng.integers(3, 6))
        rank = n_features - 2 if singular else n_features
        sizes = rng.uniform(0.3, 2.0, rank)
        mixing = np.linalg.qr(rng.standard_normal((n_features, rank)))[0].T
        rows = (rng.standard_normal((40, rank)) * sizes) @ mixing
        modules = random_modules(2 + int(rng.integers(3)), n_features, width, rng)
        yield Instance(rows - rows.mean(axis=0), *modules, rng)


#: By claim, in the order of the paper: each takes the number of instances.
CHECKS: dict[str, Callable[..., Finding]] = {}


def check(
    claim: str, words: str, *limits: float, cases: Sequence[Any] = (), singular: bool = False
) -> Callable[[Any], Any]:
    """Make a function that measures something on one instance the check of a claim.

    Parameters
    ----------
    claim : str
        Its name in ``expected.toml``.
    words : str
        What was found, with places for the largest of each number, without sign; ``least`` is the first
        of them with a minus.
    limits : float
        The claim holds if no number is larger; what must be large is measured with a minus.
    cases : sequence
        Diversities, for example: the function takes an instance and one of them, and all are tried.
    singular : bool
        Whether the covariances are.
    """

    def register(measure: Any) -> Any:
        def found(count: int, cases: Sequence[Any] = cases) -> Finding:
            drawn = product(instances(count, singular=singular), *([cases] if cases else []))
            largest = np.max([np.atleast_1d(measure(*each)) for each in drawn], axis=0)
            text = words.format(*np.abs(largest), least=-largest[0])
            return Finding(claim, np.all(largest[: len(limits)] <= limits), text)

        CHECKS[claim] = found
        return measure

    return register


# --- two forms, the gradient -------------------------------------------------------------------------


def random_network(instance: Instance) -> tuple[Array, Array]:
    """Outputs (M, n, Q) of any regression network, and targets (n, Q)."""
    outputs = instance.rng.standard_normal((len(instance.decoders), *instance.rows.shape))
    return outputs, instance.rng.standard_normal(instance.rows.shape)


def ncl_direction(outputs: Array, targets: Array, diversity: float) -> Array:
    """What Negative Correlation Learning follows: (F_i - y) - lam (F_i - mean F)."""
    return (outputs - targets) - diversity * (outputs - outputs.mean(axis=0))


@check("proposition1", DIFFERENCE, ROUND_OFF, cases=DIVERSITIES)
def two_forms(instance: Instance, lam: float) -> float:
    """Proposition 1: the loss is also (1 - lam) * errors of the members + lam * error of the mean."""
    terms = output_terms(*random_network(instance))
    return np.max(np.abs(terms.loss(lam) - terms.ambiguity_loss(lam)) / terms.reconstruction)


@check("proposition2", DIFFERENCE, DIFFERENCES, cases=DIVERSITIES)
def gradient(instance: Instance, lam: float, step: float = 1e-3) -> float:
    """Proposition 2: dL/dF_i = 2/M ((F_i - y) - lam (F_i - mean F)), against central differences."""
    outputs, targets = random_network(instance)
    exact = (2.0 / len(outputs)) * ncl_direction(outputs, targets, lam)
    slopes = np.empty_like(outputs)  # of the loss of each row along each output of each module
    for module, column in np.ndindex(len(outputs), outputs.shape[2]):
        moved = np.zeros_like(outputs)
        moved[module, :, column] = step
        ahead, behind = (output_terms(outputs + s * moved, targets).loss(lam) for s in (1, -1))
        slopes[module, :, column] = (ahead - behind) / (2.0 * step)
    return np.abs(exact - slopes).max() / np.abs(exact).max()


@check("ncl-learning-rate", DIFFERENCE, ROUND_OFF, cases=(0.5,))
def ncl_rate(instance: Instance, factor: float, lam: float = 0.6) -> float:
    """A step of Negative Correlation Learning is one of stochastic descent with M/2 times its rate."""
    x, rate = instance.rows[0], factor * len(instance.decoders)
    slopes = linear_gradient(instance.decoders, instance.encoders, np.outer(x, x), lam)
    outputs = (instance.decoders @ instance.encoders @ x)[:, None, :]
    direction = ncl_direction(outputs, x[None, :], lam)[:, 0, :]
    # F_i = A_i B_i x: its derivative takes d to d (B_i x)^T for A_i, and to A_i^T d x^T for B_i.
    for_decoders = np.einsum("md,mh->mdh", direction, instance.encoders @ x)
    for_encoders = np.einsum("mdh,md,e->mhe", instance.decoders, direction, x)
    pairs = zip((for_decoders, for_encoders), slopes, strict=True)
    return max(np.abs(ncl - rate * slope).max() / np.abs(ncl).max() for ncl, slope in pairs)


# --- the two ends of the diversity -------------------------------------------------------------------


@check("lambda-zero-pca", "largest difference from PCA {:.1e}", PROJECTORS)
def no_diversity_is_pca(instance: Instance) -> float:
    """Section 2.1: at lam = 0 each module is the projection on the first H principal components."""
    n_modules, _, width = instance.decoders.shape
    axes = np.linalg.svd(instance.rows)[2][:width]
    model = LinearModularAutoencoder(n_modules, width, 0.5, random_state=0).fit(instance.rows)
    (fitted,) = model.path([0.0])  # to fit there directly is to be warned that the modules are equal
    descent = backfit(instance.covariance, (instance.decoders, instance.encoders), 0.0, max_iter=1)
    products = (fitted.decoders_ @ fitted.encoders_, descent.decoders @ descent.encoders)
    return np.abs(np.array(products) - axes.T @ axes).max()


@check("lambda-one-monolithic", ONE_AUTOENCODER, ROUND_OFF, PROJECTORS)
def full_diversity_is_one_autoencoder(instance: Instance) -> tuple[float, float]:
    """Section 2.1: at lam = 1 the loss is that of one autoencoder with M*H hidden units."""
    n_modules, n_features, width = instance.decoders.shape
    # Eq. 1 at lam = 1 against A = [A_1 .. A_M] / M and B = [B_1; ..; B_M] put to work on the rows.
    large_decoder = np.hstack(list(instance.decoders)) / n_modules
    large_encoder = instance.encoders.reshape(-1, n_features)
    missed = np.square(instance.rows @ large_encoder.T @ large_decoder.T - instance.rows).sum(axis=1)
    difference = np.abs(output_terms(instance.outputs, instance.rows).loss(1.0) - missed)
    left = np.linalg.eigvalsh(instance.covariance)[::-1][n_modules * width :].sum()
    fitted = LinearModularAutoencoder(n_modules, width, 1.0, random_state=0).fit(instance.rows)
    relative = np.max(difference / np.square(instance.rows).sum(axis=1))
    return relative, abs(fitted.loss_ - left) / instance.variance


# --- Theorem 1 ---------------------------------------------------------------------------------------


def scales(largest: float) -> Array:
    """Sizes of random things, one for each decade from 0.01 to ``largest``."""
    return 10.0 ** np.arange(-2, np.log10(largest) + 0.5)


def fitted_exponent(points: Array, values: Array) -> float:
    """Slope of a straight line through log(values) against log(points); NaN unless all are positive."""
    if not np.all(values > 0.0):
        return float("nan")
    return float(np.polyfit(np.log(points), np.log(values), 1)[0])


@check("theorem1-nonnegative", "least loss found {least:.1e} of its terms", ROUND_OFF, cases=UP_TO_ONE)
def lowest_loss(instance: Instance, lam: float) -> float:
    """Theorem 1, first half: no modules have a negative loss for lam <= 1.

    Least Eq. 1 met by random modules of all sizes and by descent, relative to its first term.
    """
    sigma, (n_modules, n_features, width) = instance.covariance, instance.decoders.shape
    shape = (n_modules, n_features, width, instance.rng)
    random = [(size, *random_modules(*shape)) for size in scales(100.0)]
    descent = descend(sigma, (instance.decoders, instance.encoders), lam, max_iter=200)
    candidates = [(size * A, B) for size, A, B in random] + [(descent.decoders, descent.encoders)]
    terms = [linear_terms(A, B, sigma) for A, B in candidates]
    return -min(float(t.loss(lam) / (instance.variance + t.reconstruction)) for t in terms)


@check("theorem1-unbounded", "descent passed -{:.0e} of the variance every time", -FAR, cases=ABOVE_ONE)
def depth_of_descent(instance: Instance, lam: float) -> float:
    """Theorem 1, second half: for lam > 1 plain descent with a line search finds no floor."""
    start, floor = (instance.decoders, instance.encoders), -FAR * instance.variance
    limits: dict[str, Any] = {"max_iter": 2000, "min_decrease": -np.inf, "target": floor}
    return descend(instance.covariance, start, lam, **limits).losses[-1] / instance.variance


@check("theorem1-moreover", LOW_AND_HIGH, -FAR, -FAR, cases=ABOVE_ONE)
def low_loss_high_error(instance: Instance, lam: float) -> tuple[Any, Any]:
    """Theorem 1, "moreover": the loss is as low, and autoencoders of the proof as bad, as one likes."""
    decoders, q = np.zeros_like(instance.decoders), float(STEEP[-1])
    decoders[0, 0, 0], decoders[1, 0, 0] = q**2 + q, -(q**2)
    encoders = np.broadcast_to(instance.encoders[0], instance.encoders.shape)
    terms = linear_terms(decoders, encoders, instance.covariance)
    return terms.ambiguity_loss(lam) / instance.variance, -terms.reconstruction / instance.variance


@check("appendix-orders", ORDERS, EXPONENT, EXPONENT, EXPONENT, cases=ABOVE_ONE)
def orders_of_divergence(instance: Instance, lam: float) -> Array:
    """The proof's sequence: q^2 for the mean, q^4 for the members, -q^4 for the loss."""
    terms = [diverging_network(instance, float(q)) for q in STEEP]
    curves = np.array([(t.error_of_mean, t.reconstruction, -t.ambiguity_loss(lam)) for t in terms]).T
    return np.abs([fitted_exponent(STEEP, values) for values in curves] - np.array([2.0, 4.0, 4.0]))


def diverging_network(instance: Instance, q: float) -> Terms:
    """Mean terms of the proof's networks for q, with tanh(<r, x>) as the feature: not linear in x."""
    feature = np.tanh(instance.rows @ instance.encoders[0, 0])
    c = feature[np.abs(feature).argmax()]  # the proof takes any row whose feature is not 0
    outputs = np.zeros_like(instance.outputs)
    outputs[0, :, 0] = c * (q**2 + q) * feature
    outputs[1, :, 0] = -c * q**2 * feature
    return Terms(*(float(np.mean(term)) for term in output_terms(outputs, instance.rows)))


# --- one module alone --------------------------------------------------------------------------------


@check("one-module-bounded", NEAREST, ROUND_OFF, cases=(0.3, 0.9, 0.99))
def one_module_below_its_limit(instance: Instance, fraction: float) -> float:
    """With the others fixed and lam < M/(M-1), one module has a least loss: nothing goes below it."""
    lam, gaps = fraction * instance.one_module_limit, []
    best_module = update_module(instance.decoders, instance.encoders, 0, instance.covariance, lam)
    best = instance.with_module(0, *best_module).loss(lam)
    nothing = tuple(np.zeros_like(part) for part in best_module)
    for size, centre in product(scales(1e4), (best_module, nothing)):
        A, B = (part + size * instance.rng.standard_normal(part.shape) for part in centre)
        other = instance.with_module(0, A, B).loss(lam)
        gaps.append((other - best) / (instance.variance + abs(best) + abs(other)))
    return -min(gaps)


@check("one-module-unbounded", PARABOLA, EXPONENT, EXPONENT, cases=(1.01, 2.0))
def one_module_above_its_limit(instance: Instance, fraction: float) -> tuple[float, float]:
    """With the others fixed and lam > M/(M-1), a module t C takes the loss to minus infinity.

    It falls as -(lam (M-1)/M - 1) E|Cx|^2 / M t^2.
    """
    lam, A, B = fraction * instance.one_module_limit, instance.decoders[0], instance.encoders[0]
    losses = np.array([instance.with_module(0, t * A, B).loss(lam) for t in STEEP])
    size = float(np.square(instance.outputs[0]).sum(axis=1).mean())
    predicted = (lam / instance.one_module_limit - 1.0) * size / len(instance.decoders)
    factor = float(-losses[-1] / STEEP[-1] ** 2 / predicted)
    return abs(fitted_exponent(STEEP, -losses) - 2.0), abs(factor - 1.0)
