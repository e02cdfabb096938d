"""Bad parameters and bad data: what is wrong is named, and the estimator stays as it was."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from torch import nn

from deep.parts import LABELS_OF_X, X, autoencoder, classifier, regressor
from modae.deep import ModularAutoencoder

BAD = [
    ("n_modules", 0),
    ("n_modules", 2.5),
    ("n_components", 0),
    ("n_components", 0.5),
    ("n_components", 65),
    ("diversity", 1.5),
    ("diversity", -0.1),
    ("diversity", "much"),
    ("hidden_layer_sizes", 64),
    ("hidden_layer_sizes", (8, 0)),
    ("hidden_layer_sizes", "8"),
    ("activation", "rely"),
    ("activation", 3),
    ("encoder", nn.Linear(64, 2)),
    ("encoder", nn.Linear),
    ("equal_start", "yes"),
    ("optimizer", "adan"),
    ("optimizer", torch.nn.Linear),
    ("learning_rate", -1.0),
    ("learning_rate", np.nan),
    ("schedule", "linear"),
    ("schedule", 0.5),
    ("schedule", lambda epoch, max_epochs: -1.0),
    ("weight_decay", -1e-3),
    ("batch_size", 0),
    ("batch_size", "some"),
    ("max_epochs", 0),
    ("max_epochs", True),
    ("early_stopping", 1),
    ("validation_fraction", 0.0),
    ("validation_fraction", 1.0),
    ("patience", 0),
    ("refit", None),
    ("dropout", 1.0),
    ("dropout", -0.1),
    ("max_gradient_norm", 0.0),
    ("max_gradient_norm", "small"),
    ("normalize", None),
    ("dtype", "float16"),
    ("device", "tpu"),
    ("device", "meta"),
    ("compile", "yes"),
    ("verbose", 2),
    ("checkpoint", 3),
]


@pytest.mark.parametrize(("name", "value"), BAD, ids=[f"{name}-{k}" for k, (name, _) in enumerate(BAD)])
def test_a_bad_parameter_is_named_and_the_estimator_stays_as_it_was(name, value):
    model = autoencoder(**{name: value})
    before = dict(vars(model))
    with pytest.raises(ValueError, match=name):
        model.fit(X)
    assert vars(model) == before


@pytest.mark.parametrize(
    ("make", "parameters", "message"),
    [
        (
            regressor,
            {"loss": "absolute"},
            "loss must be one of 'squared_error', 'huber'",
        ),
        (regressor, {"module": 3}, "module must be a class or function"),
        (regressor, {"body": "both"}, "body must be one of 'separate', 'shared', 'adapters'"),
        (
            classifier,
            {"body": "shared", "module": nn.Linear, "equal_start": True},
            "equal_start must be False with a module of your own and body='shared'",
        ),
        (classifier, {"class_weight": "unbalanced"}, "class_weight"),
        (classifier, {"average": "vote"}, "average must be one of"),
    ],
)
def test_bad_parameters_of_the_supervised_ones(make, parameters, message):
    with pytest.raises(ValueError, match=message):
        make(**parameters).fit(X, LABELS_OF_X)


def test_a_device_that_is_not_there_is_named_with_a_remedy():
    absent = "mps" if torch.cuda.is_available() else "cuda"
    with pytest.raises(ValueError, match=f"device='{absent}' is not available here: use 'auto'"):
        autoencoder(device=absent).fit(X)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.where(np.eye(5), np.nan, 1.0), "NaN"),
        (np.full((3, 3), np.inf), "infinity"),
        (csr_array(np.diag([1.0, np.nan])), "NaN"),
        (np.ma.masked_less(np.arange(6.0).reshape(3, 2), 2.0), "masked"),
        (np.empty((0, 4)), "0 sample"),
        (np.ones((4, 0)), r"0 feature"),
        (np.ones(4), "2D"),
        ([["a", "b"]], "convert|string"),
        (np.array([[1e300], [-1e300]]), "power of ten"),
        (np.array([[1.0 + 2.0j]]), "[Cc]omplex"),
    ],
)
def test_bad_rows_are_refused(rows, message):
    model = ModularAutoencoder(2, 1, max_epochs=1)
    with pytest.raises(ValueError, match=message):
        model.fit(rows)
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize("make", [regressor, classifier])
@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y"),
        (X[:10, 0], "inconsistent"),
        (np.full(200, np.nan), "NaN"),
        (np.ma.masked_array(LABELS_OF_X, mask=LABELS_OF_X == 3), "masked"),
    ],
)
def test_bad_targets_are_refused(make, y, message):
    with pytest.raises(ValueError, match=message):
        make().fit(X, y)


def test_rows_that_overflow_a_prediction_are_refused():
    model = autoencoder().fit(X)
    with pytest.raises(ValueError, match="X has entries too far from the training data for float32"):
        model.transform(1e60 + X)


def test_codes_of_another_width_are_refused():
    with pytest.raises(ValueError, match=r"n_modules \* n_components = 6 columns, .* got 5"):
        autoencoder().fit(X).inverse_transform(X[:, :5])


def test_batch_norm_is_refused():
    def encoder(n_features, n_components):
        return nn.Sequential(nn.Linear(n_features, n_components), nn.BatchNorm1d(n_components))

    with pytest.raises(ValueError, match="BatchNorm1d"):
        autoencoder(encoder=encoder, decoder=nn.Linear).fit(X)


def test_without_the_extra_the_command_to_install_it_is_given():
    code = """
import sys

class Absent:
    def find_spec(self, name, *others):
        if name == "torch":
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
try:
    import modae.deep
except ImportError as error:
    assert 'pip install "modae[deep]"' in str(error), error
else:
    raise SystemExit("no error")
"""
    subprocess.run([sys.executable, "-c", code], check=True)
