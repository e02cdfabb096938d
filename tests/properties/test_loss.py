"""The loss that a model tells: its definition, above the bound with every solver, falling by epochs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modae import BaggingAutoencoder, LinearModularAutoencoder
from modae.metrics import ambiguity_decomposition, loss_terms
from oracles import ambiguity_loss_by_loops, loss_by_loops
from properties.parts import fitted
from strategies import data_sets, diversities, fits

pytestmark = [
    pytest.mark.filterwarnings("ignore:diversity=0:UserWarning"),
    # Solvers that improve a loss step by step are stopped early on purpose.
    pytest.mark.filterwarnings("ignore:solver=:sklearn.exceptions.ConvergenceWarning"),
]

SOLVERS = ("spectral", "backfitting", "gradient")


@given(fits())
def test_the_loss_is_its_definition_in_both_forms(case):
    rows, params = case
    model = fitted(rows, params)
    centred, close = rows - rows.mean(axis=0), 1e-10 * model.total_variance_
    for by_loops in (loss_by_loops, ambiguity_loss_by_loops):
        expected = by_loops(centred, model.decoders_, model.encoders_, params["diversity"])
        assert model.loss_ == pytest.approx(expected, abs=close)


@given(fits(), st.data())
def test_every_row_scores_minus_its_own_loss(case, data):
    rows, params = case
    model = fitted(rows, params)
    new = rows[data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1, max_size=3))] * 1.5
    modules = model.decoders_, model.encoders_, params["diversity"]
    losses = [loss_by_loops(row[None] - model.mean_, *modules) for row in new]
    size = np.square(new - model.mean_).sum()
    np.testing.assert_allclose(-model.score_samples(new), losses, rtol=1e-9, atol=1e-11 * size)
    assert -model.score(rows) == pytest.approx(model.loss_, abs=1e-10 * model.total_variance_)


@given(fits())
def test_the_terms_of_the_loss_are_those_of_the_reconstructions(case):
    rows, params = case
    model, lam = fitted(rows, params), params["diversity"]
    close = 1e-10 * model.total_variance_
    outputs = model.reconstruct_modules(rows)
    mean = mean_error(model.inverse_transform(model.transform(rows)), rows)
    assert model.loss_ == pytest.approx(
        model.reconstruction_error_ - lam * model.diversity_term_, abs=close
    )
    assert model.reconstruction_error_ == pytest.approx(
        np.mean([mean_error(each, rows) for each in outputs]), abs=close
    )
    assert model.diversity_term_ == pytest.approx(
        np.mean([mean_error(each, outputs.mean(axis=0)) for each in outputs]), abs=close
    )
    assert model.reconstruction_error_ - model.diversity_term_ == pytest.approx(mean, abs=close)
    assert model.explained_variance_ratio_of_mean_ * model.total_variance_ == pytest.approx(
        model.total_variance_ - mean, abs=close
    )
    terms = loss_terms(outputs, rows)
    assert terms.loss(lam) == pytest.approx(model.loss_, abs=close)
    ambiguity = ambiguity_decomposition(outputs, rows)
    np.testing.assert_allclose(
        ambiguity, [model.reconstruction_error_, model.diversity_term_, mean], rtol=0, atol=close
    )


def mean_error(told, rows):
    """Mean over the rows of the squared distance."""
    return np.mean([sum((one - other) ** 2) for one, other in zip(told, rows, strict=True)])


@given(fits())
def test_no_solver_goes_below_the_bound_and_none_below_a_certified_optimum(case):
    rows, params = case
    models = [fitted(rows, {**params, "solver": solver, "max_iter": 40}) for solver in SOLVERS]
    best, close = models[0], 1e-10 * models[0].total_variance_
    for model in models:
        assert model.lower_bound_ == pytest.approx(best.lower_bound_, abs=close)
        assert model.loss_ >= best.lower_bound_ - close
        if best.certified_:
            assert model.loss_ >= best.loss_ - 1e-8 * best.total_variance_
        gap = (model.loss_ - model.lower_bound_) / model.total_variance_
        assert model.optimality_gap_ == pytest.approx(gap, abs=1e-9)


@given(fits())
def test_bagging_is_not_below_the_bound(case):
    rows, params = case
    best = fitted(rows, params)
    size = {name: params[name] for name in ("n_modules", "n_components", "random_state")}
    bagged = BaggingAutoencoder(**size).fit(rows)
    # The bound is for modules that subtract the mean of all rows, as these do.
    products = bagged.decoders_, bagged.encoders_
    loss = loss_by_loops(rows - rows.mean(axis=0), *products, params["diversity"])
    assert loss >= best.lower_bound_ - 1e-10 * best.total_variance_


@given(fits(), st.sampled_from(["backfitting", "gradient"]))
def test_no_epoch_raises_the_loss(case, solver):
    rows, params = case
    model = fitted(rows, {**params, "solver": solver, "max_iter": 25})
    close = 1e-11 * model.total_variance_
    assert (np.diff(model.loss_history_) <= close).all()
    assert model.loss_history_[-1] == pytest.approx(model.loss_, abs=1e-9 * model.total_variance_)
    assert len(model.loss_history_) == model.n_iter_ + 1


@given(fits(), diversities)
def test_the_optimum_does_not_rise_with_diversity_modules_or_components(case, other):
    rows, params = case
    low, high = sorted([params["diversity"], other])
    here = fitted(rows, {**params, "diversity": low})
    close = 1e-10 * here.total_variance_
    wider = min(params["n_components"] + 1, rows.shape[1])
    more = [
        {"diversity": high},
        {"n_modules": params["n_modules"] + 1},
        {"n_components": wider},
    ]
    for change in more:
        there = fitted(rows, {**params, "diversity": low} | change)
        assert there.lower_bound_ <= here.lower_bound_ + close


@given(data_sets(), st.integers(1, 4), st.integers(1, 3))
def test_the_ends_of_the_diversity_are_a_small_and_a_large_pca(rows, M, H):
    H = min(H, rows.shape[1])
    values = np.linalg.eigvalsh(np.cov(rows.T, bias=True).reshape(rows.shape[1], -1))[::-1]
    for diversity, kept in ((0.0, H), (1.0, M * H)):
        model = LinearModularAutoencoder(M, H, diversity, random_state=0).fit(rows)
        assert model.loss_ == pytest.approx(values[kept:].sum(), abs=1e-9 * values.sum())
        assert model.certified_
