"""Terms of the loss and the ambiguity decomposition, against loops and identities."""

import numpy as np
import pytest
from hypothesis import given
from sklearn.datasets import load_diabetes, load_digits
from sklearn.ensemble import BaggingRegressor

from modae import LinearModularAutoencoder
from modae.metrics import ambiguity_decomposition, loss_terms
from modae.metrics import terms as module
from strategies import seeds


def terms_by_loops(outputs, target, weights):
    """Member error, spread and error of the mean, row by row."""
    totals = np.zeros(3)
    for r, weight in enumerate(weights):
        members = [np.ravel(output[r]) for output in outputs]
        mean, y = sum(members) / len(members), np.ravel(target[r])
        totals[0] += weight * sum(sum((member - y) ** 2) for member in members) / len(members)
        totals[1] += weight * sum(sum((member - mean) ** 2) for member in members) / len(members)
        totals[2] += weight * sum((mean - y) ** 2)
    return totals / sum(weights)


def some_outputs(shape, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(shape), rng.standard_normal(shape[1:]), rng.uniform(0.0, 3.0, shape[1])


@pytest.mark.parametrize("shape", [(1, 4), (3, 7), (3, 7, 1), (2, 5, 4), (2, 3, 2, 3)])
def test_terms_are_those_by_loops(shape):
    outputs, target, weights = some_outputs(shape)
    np.testing.assert_allclose(
        loss_terms(outputs, target), terms_by_loops(outputs, target, np.ones(shape[1])), atol=1e-12
    )
    weighted = loss_terms(outputs, target, sample_weight=weights)
    np.testing.assert_allclose(weighted, terms_by_loops(outputs, target, weights), atol=1e-12)


def test_blocks_of_rows_do_not_change_the_terms(monkeypatch):
    outputs, target, weights = some_outputs((3, 11, 4))
    whole = loss_terms(outputs, target, sample_weight=weights)
    monkeypatch.setattr(module, "BLOCK_BYTES", 8 * 3 * 4 * 2)  # two rows
    np.testing.assert_allclose(loss_terms(outputs, target, sample_weight=weights), whole, rtol=1e-14)


def test_the_loss_of_an_estimator():
    X = load_digits().data
    model = LinearModularAutoencoder(5, 4, 0.7, random_state=0).fit(X)
    terms = loss_terms(model.reconstruct_modules(X), X)
    assert terms.loss(0.7) == pytest.approx(model.loss_, rel=1e-10)
    assert terms.ambiguity_loss(0.7) == pytest.approx(-model.score(X), rel=1e-10)


def test_the_decomposition_of_a_regression_ensemble():
    X, y = load_diabetes(return_X_y=True)
    forest = BaggingRegressor(n_estimators=8, random_state=0).fit(X[:300], y[:300])
    outputs = np.array([member.predict(X[300:]) for member in forest.estimators_])
    parts = ambiguity_decomposition(outputs, y[300:])
    error = np.mean((forest.predict(X[300:]) - y[300:]) ** 2)
    assert parts.error_of_mean == pytest.approx(error, rel=1e-12)
    assert parts.mean_member_error == pytest.approx(np.mean((outputs - y[300:]) ** 2), rel=1e-12)
    assert parts.ambiguity == pytest.approx(np.mean(np.var(outputs, axis=0)), rel=1e-12)
    assert abs(parts.residual) < 1e-10 * parts.mean_member_error


def test_the_residual_is_no_definition():
    """Three sums computed apart miss each other by round-off, and by more than that in large numbers."""
    rng = np.random.default_rng(1)
    residuals = [
        ambiguity_decomposition(1e3 + rng.standard_normal((7, 50)), rng.standard_normal(50)).residual
        for _ in range(20)
    ]
    assert any(residuals)
    assert np.abs(residuals).max() < 1e-7


def test_float32_is_summed_in_float64():
    outputs, target, _ = some_outputs((3, 500, 6))
    outputs, target = (1e3 + outputs).astype(np.float32), (1e3 + target).astype(np.float32)
    expected = loss_terms(outputs.astype(np.float64), target.astype(np.float64))
    assert loss_terms(outputs, target) == expected


@given(seeds)
def test_a_whole_weight_is_a_repetition(seed):
    outputs, target, _ = some_outputs((3, 6, 2), seed)
    counts = np.random.default_rng(seed).integers(0, 4, 6)
    counts[0] = 1
    repeated = loss_terms(np.repeat(outputs, counts, axis=1), np.repeat(target, counts, axis=0))
    np.testing.assert_allclose(loss_terms(outputs, target, sample_weight=counts), repeated, rtol=1e-12)


@pytest.mark.parametrize(
    ("outputs", "target", "weights", "message"),
    [
        (
            np.ones((3, 4)),
            np.ones(5),
            None,
            r"outputs must have the shape .* \(n_members, 5\), got \(3, 4\)",
        ),
        (np.ones((3, 4, 2)), np.ones(4), None, r"outputs must have the shape"),
        (np.ones(4), np.ones(4), None, r"outputs must have the shape"),
        (np.full((3, 4), np.nan), np.ones(4), None, "Input outputs contains NaN"),
        (np.ones((3, 4)), np.full(4, np.inf), None, "Input target contains infinity"),
        (np.ones((3, 4)), np.ones(4), np.zeros(4), "sample_weight must have at least one positive"),
        (
            np.ones((3, 4)),
            np.ones(4),
            np.ones(3),
            "sample_weight must have one number for each of the 4",
        ),
    ],
)
def test_errors(outputs, target, weights, message):
    with pytest.raises(ValueError, match=message):
        loss_terms(outputs, target, sample_weight=weights)
