import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modae.core.objective import linear_gradient, linear_terms, output_terms
from modae.linear.model import Modules
from oracles import (
    ambiguity_loss_by_loops,
    finite_differences,
    loss_by_loops,
    random_frames,
    random_rotation,
)
from strategies import seeds

# Theorem 1 speaks of diversities above 1; the forms of the loss are identities for all of them.
DIVERSITIES = [0.0, 0.3, 1.0, 1.2, 2.0]


def some_modules(M=3, D=5, H=2, n=7, seed=0):
    rng = np.random.default_rng(seed)
    return (
        rng.standard_normal((n, D)),
        rng.standard_normal((M, D, H)),
        rng.standard_normal((M, H, D)),
    )


def uncentred_covariance(rows):
    return rows.T @ rows / len(rows)


@pytest.mark.parametrize("diversity", DIVERSITIES)
@pytest.mark.parametrize("n_modules", [1, 2, 5])
def test_the_loss_from_a_covariance_is_the_loss_by_loops(n_modules, diversity):
    rows, decoders, encoders = some_modules(n_modules)
    terms = linear_terms(decoders, encoders, uncentred_covariance(rows))
    expected = loss_by_loops(rows, decoders, encoders, diversity)
    size = abs(terms.reconstruction) + abs(terms.diversity)
    assert terms.loss(diversity) == pytest.approx(expected, abs=1e-12 * size)
    assert terms.ambiguity_loss(diversity) == pytest.approx(expected, abs=1e-12 * size)


@pytest.mark.parametrize("diversity", DIVERSITIES)
def test_both_forms_of_the_loss_agree(diversity):
    rows, decoders, encoders = some_modules(seed=1)
    expected = ambiguity_loss_by_loops(rows, decoders, encoders, diversity)
    assert loss_by_loops(rows, decoders, encoders, diversity) == pytest.approx(expected, rel=1e-12)
    outputs = rows @ (decoders @ encoders).mT
    terms = output_terms(outputs, rows)
    assert np.mean(terms.loss(diversity)) == pytest.approx(expected, rel=1e-12)
    assert np.mean(terms.ambiguity_loss(diversity)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("diversity", DIVERSITIES)
def test_output_terms_are_those_of_each_row(diversity):
    rows, decoders, encoders = some_modules(seed=2)
    losses = output_terms(rows @ (decoders @ encoders).mT, rows).loss(diversity)
    expected = [loss_by_loops(row[None], decoders, encoders, diversity) for row in rows]
    np.testing.assert_allclose(losses, expected, rtol=1e-12)


@pytest.mark.parametrize("diversity", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("n_modules", [1, 4])
def test_losses_from_codes_are_those_from_outputs(n_modules, diversity):
    rows, _, encoders = some_modules(n_modules, seed=3)
    decoders = random_frames(n_modules, 5, 2, np.random.default_rng(3))
    fast = Modules(np.zeros(5), encoders, decoders, diversity).losses(rows)
    slow = output_terms(rows @ (decoders @ encoders).mT, rows)
    np.testing.assert_allclose(fast, slow.loss(diversity), rtol=1e-10, atol=1e-12)


def test_perfect_reconstructions_have_no_negative_loss():
    rows = np.random.default_rng(4).standard_normal((200, 3))
    decoders = np.stack([random_rotation(3, np.random.default_rng(5))] * 2)
    losses = Modules(np.zeros(3), decoders.mT, decoders, 0.0).losses(rows)
    assert np.all(losses >= 0.0)
    np.testing.assert_allclose(losses, 0.0, atol=1e-13)


def test_a_diagonal_covariance_may_be_given_as_a_vector():
    _, decoders, encoders = some_modules(seed=6)
    diagonal = np.array([5.0, 3.0, 1.0, 0.5, 0.0])
    short = linear_terms(decoders, encoders, diagonal)
    np.testing.assert_allclose(short, linear_terms(decoders, encoders, np.diag(diagonal)), rtol=1e-13)
    for fast, slow in zip(
        linear_gradient(decoders, encoders, diagonal, 0.7),
        linear_gradient(decoders, encoders, np.diag(diagonal), 0.7),
        strict=True,
    ):
        np.testing.assert_allclose(fast, slow, rtol=1e-13)


@pytest.mark.parametrize("diversity", DIVERSITIES)
@pytest.mark.parametrize("n_modules", [1, 3])
def test_the_gradient_is_that_of_the_loss_by_loops(n_modules, diversity):
    rows, decoders, encoders = some_modules(n_modules, D=4, n=5, seed=7)
    slopes = linear_gradient(decoders, encoders, uncentred_covariance(rows), diversity)
    by_decoder = finite_differences(lambda A: loss_by_loops(rows, A, encoders, diversity), decoders)
    by_encoder = finite_differences(lambda B: loss_by_loops(rows, decoders, B, diversity), encoders)
    np.testing.assert_allclose(slopes[0], by_decoder, atol=1e-6 * np.abs(by_decoder).max())
    np.testing.assert_allclose(slopes[1], by_encoder, atol=1e-6 * np.abs(by_encoder).max())


def test_one_module_has_no_diversity():
    rows, decoders, encoders = some_modules(1)
    terms = linear_terms(decoders, encoders, uncentred_covariance(rows))
    assert terms.diversity == pytest.approx(0.0, abs=1e-12 * terms.reconstruction)


def test_diversity_one_is_the_error_of_one_wide_autoencoder():
    rows, decoders, encoders = some_modules(seed=8)
    wide = np.hstack(decoders) @ encoders.reshape(-1, 5) / len(decoders)
    expected = np.mean(np.sum((rows @ wide.T - rows) ** 2, axis=1))
    terms = linear_terms(decoders, encoders, uncentred_covariance(rows))
    assert terms.loss(1.0) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("diversity", "falls"), [(0.9, False), (1.0, False), (1.1, True)])
def test_opposite_modules_lower_the_loss_without_limit_only_above_one(diversity, falls):
    _, decoders, encoders = some_modules(2, seed=9)
    decoders[1], encoders[1] = -decoders[0], encoders[0]

    def loss_at(size):
        return linear_terms(size * decoders, encoders, np.eye(5)).loss(diversity)

    losses = [loss_at(size) for size in (1.0, 1e2, 1e4)]
    assert (losses[0] > losses[1] > losses[2]) == falls
    assert (losses[2] < -1e4) == falls


@given(seeds, st.sampled_from(DIVERSITIES), st.floats(0.01, 100.0))
def test_the_loss_under_changes_of_the_data_and_the_modules(seed, diversity, factor):
    rows, decoders, encoders = some_modules(seed=seed)
    covariance = uncentred_covariance(rows)
    terms = linear_terms(decoders, encoders, covariance)
    loss = terms.loss(diversity)
    close = 1e-12 * (terms.reconstruction + (1.0 + diversity) * terms.diversity)
    rng = np.random.default_rng(seed)
    Q, order = random_rotation(5, rng), rng.permutation(3)

    rotated = linear_terms(Q @ decoders, encoders @ Q.T, Q @ covariance @ Q.T).loss(diversity)
    assert rotated == pytest.approx(loss, abs=close)
    scaled = linear_terms(decoders, encoders, factor**2 * covariance).loss(diversity)
    assert scaled == pytest.approx(factor**2 * loss, abs=factor**2 * close)
    reordered = linear_terms(decoders[order], encoders[order], covariance).loss(diversity)
    assert reordered == pytest.approx(loss, abs=close)
    inside = rng.standard_normal((3, 2, 2)) + 3.0 * np.eye(2)
    same_products = linear_terms(decoders @ inside, np.linalg.inv(inside) @ encoders, covariance)
    assert same_products.loss(diversity) == pytest.approx(loss, abs=1e3 * close)
    doubled = linear_terms(np.repeat(decoders, 2, axis=0), np.repeat(encoders, 2, axis=0), covariance)
    assert doubled.loss(diversity) == pytest.approx(loss, abs=close)
