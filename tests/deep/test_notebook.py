"""The figures that a notebook shows of deep estimators."""

from dataclasses import replace

import pytest
from sklearn.datasets import load_digits

from modae.deep import ModularAutoencoder, ModularNetworkClassifier, ModularNetworkRegressor
from modae.linear.notebook import figures_html

X, Y = load_digits(return_X_y=True)
X, Y = X[:100], Y[:100]
QUICK = {"max_epochs": 2, "early_stopping": False, "hidden_layer_sizes": (8,), "random_state": 0}


def test_an_autoencoder_shows_epochs_and_losses():
    model = ModularAutoencoder(3, 4, 0.7, **QUICK).fit(X)
    of_mean = model.reconstruction_error_ - model.diversity_term_
    assert model._key_figures() == {
        "Modules": "3 of 4 components",
        "Diversity": "0.7",
        "Epochs": "2",
        "Loss": f"{model.loss_:.6g}",
        "Loss of one module": f"{model.reconstruction_error_:.6g}, on average",
        "Loss of their mean": f"{of_mean:.6g}",
    }
    assert "2</td>" in figures_html(model)


@pytest.mark.parametrize("kind", [ModularNetworkClassifier, ModularNetworkRegressor])
def test_networks_show_their_modules(kind):
    model = kind(3, **QUICK).fit(X, Y)
    assert model._key_figures()["Modules"] == "3"
    assert "Loss of their mean" in model._repr_html_()


def test_the_epoch_that_was_kept_is_named():
    model = ModularNetworkClassifier(2, **QUICK).fit(X, Y)
    fitted = model._fitted
    model._fitted = replace(fitted, state=replace(fitted.state, best_epoch=1))
    assert model._key_figures()["Epochs"] == "2, the weights of epoch 1"
