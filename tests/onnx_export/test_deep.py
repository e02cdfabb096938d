"""Deep modules, ours and those of a user, by torch's exporter."""

import sys
from functools import partial

import numpy as np
import pytest
from torch import nn

from modae import ModularClassifier
from modae.deep import ModularAutoencoder, ModularNetworkClassifier, ModularNetworkRegressor
from modae.deep.networks import ACTIVATIONS
from modae.onnx.networks import exported
from onnx_export.parts import CLOSE, assert_same_labels, column_error, digits, outputs_of

SMALL = {"n_modules": 2, "max_epochs": 1, "early_stopping": False, "random_state": 0}


def images(n_features, n_components):
    """A module of a user: it looks at neighbouring pixels."""
    return nn.Sequential(
        nn.Unflatten(1, (1, 8, 8)),
        nn.Conv2d(1, 4, 3),
        nn.ReLU(),
        nn.Dropout(0.5),
        nn.Flatten(),
        nn.Linear(144, n_components),
        nn.LayerNorm(n_components),
    )


class Counting(nn.Module):
    """It asks for the number of rows in a way that the exporter cannot follow."""

    def __init__(self, n_inputs, n_outputs):
        super().__init__()
        self.linear = nn.Linear(n_inputs, n_outputs)

    def forward(self, x):
        return self.linear(x).reshape(len(x), -1)


class Every(nn.Module):
    """The sum of all activations that have a name: one export, in which each of them must be right."""

    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList(make() for make in ACTIVATIONS.values())

    def forward(self, x):
        return sum(part(x) for part in self.parts)


@pytest.mark.parametrize("activation", ["relu", Every, partial(nn.ELU, 0.5)], ids=str)
def test_codes_with_every_activation(activation, tmp_path):
    X, _ = digits()
    sizes = {"n_components": 5, "hidden_layer_sizes": (12, 8)}
    model = ModularAutoencoder(activation=activation, **sizes, **SMALL).fit(X[:100])
    assert column_error(outputs_of(model, X, tmp_path)["codes"], model.transform(X)) <= CLOSE


@pytest.mark.parametrize(
    "options", [{"hidden_layer_sizes": ()}, {"dtype": "float64"}, {"normalize": False}], ids=str
)
def test_codes_of_other_networks(options, tmp_path):
    X, _ = digits()
    model = ModularAutoencoder(n_components=5, **options, **SMALL).fit(X[:100])
    assert column_error(outputs_of(model, X, tmp_path)["codes"], model.transform(X)) <= CLOSE


def test_rows_far_from_zero(tmp_path):
    X, _ = digits()
    rows = (X + 1e4).astype(np.float32).astype(np.float64)
    model = ModularAutoencoder(n_components=5, **SMALL).fit(rows[:100])
    assert column_error(outputs_of(model, rows, tmp_path)["codes"], model.transform(rows)) <= CLOSE


def test_an_ensemble_on_deep_codes(tmp_path):
    X, y = digits()
    model = ModularClassifier(ModularAutoencoder(n_components=6, **SMALL)).fit(X[:100], y[:100])
    assert_same_labels(model, outputs_of(model, X, tmp_path)["label"], X)


@pytest.mark.parametrize(
    "options",
    [{}, {"body": "shared"}, {"body": "adapters"}, {"average": "logit"}, {"embedding": "periodic"}],
    ids=str,
)
def test_network_classifiers(options, tmp_path):
    X, y = digits()
    words = np.array(list("abcdefghij"))[y]
    model = ModularNetworkClassifier(**options, **SMALL).fit(X[:100], words[:100])
    found = outputs_of(model, X, tmp_path)
    assert (found["label"] == model.predict(X)).mean() >= 0.999
    assert np.abs(found["probabilities"] - model.predict_proba(X)).max() <= CLOSE


@pytest.mark.parametrize("columns", [(), (2,)])
def test_network_regressors(columns, tmp_path):
    X, _ = digits()
    targets = X[:, 20] if columns == () else X[:, 20:22]
    model = ModularNetworkRegressor(**SMALL).fit(X[:100, :20], targets[:100])
    found, expected = outputs_of(model, X[:, :20], tmp_path)["prediction"], model.predict(X[:, :20])
    assert found.shape == expected.shape == (len(X), *columns)
    assert np.abs(found - expected).max() <= CLOSE * np.abs(expected).max()


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [{"encoder": images, "decoder": nn.Linear}, {"activation": nn.Hardswish}],
    ids=["own", "act"],
)
def test_modules_of_a_user(options, tmp_path):
    X, _ = digits()
    model = ModularAutoencoder(n_components=5, **options, **SMALL).fit(X[:100])
    found = outputs_of(model, X, tmp_path, batch=256)["codes"]  # the last batch is one of 5 rows
    assert column_error(found, model.transform(X)) <= CLOSE
    assert b"/torch/" not in (tmp_path / "model.onnx").read_bytes()  # paths of this machine


def test_a_missing_exporter_is_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    with pytest.raises(
        ImportError,
        match=r"^Export to ONNX cannot be used without onnxscript: pip install \"modae\[onnx",
    ):
        exported([nn.Hardswish()], 3)


@pytest.mark.slow
def test_a_module_whose_number_of_rows_is_fixed_is_refused(tmp_path):
    X, _ = digits()
    model = ModularAutoencoder(n_components=5, encoder=Counting, decoder=nn.Linear, **SMALL).fit(X[:100])
    with pytest.raises(ValueError, match=r"Counting cannot be converted .* write x\.shape\[0\]"):
        outputs_of(model, X, tmp_path)
    assert not list(tmp_path.iterdir())


def test_columns_of_any_unit_constant_or_with_missing_entries(tmp_path):
    X, y = digits()
    rows = (X * 10.0 ** np.linspace(-3, 3, 64)).astype(np.float32).astype(np.float64)
    rows[np.random.default_rng(0).random(rows.shape) < 0.1] = np.nan
    rows[:, 0] = 7.0
    model = ModularNetworkClassifier(**SMALL).fit(rows[:100], y[:100])
    assert len(model._fitted.scaling.missing) == 63
    found = outputs_of(model, rows, tmp_path)["probabilities"]
    assert np.abs(found - model.predict_proba(rows)).max() <= CLOSE
