"""How deep estimators are stored: their whole training state, so that a loaded one can also go on.

Sizes: D features, T targets, C classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from modae.deep.autoencoder import ModularAutoencoder
from modae.deep.base import DeepModules
from modae.deep.loss import AVERAGES, LOSSES
from modae.deep.model import DTYPES, Scaling, TrainedModel, TrainingState
from modae.deep.networks import NETWORKS
from modae.deep.supervised import ModularNetworkClassifier, ModularNetworkRegressor
from modae.ensembles.layouts import labels, word
from modae.files.rules import (
    Choice,
    Count,
    Floats,
    Layout,
    Maybe,
    Number,
    Record,
    Rule,
    Sizes,
    flag,
    require,
)
from modae.linear.layouts import OPTIONAL_NAMES, known_features, summary

ACTIVATIONS = (
    "CELU", "ELU", "GELU", "GLU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU",
    "LogSigmoid", "Mish", "PReLU", "ReLU", "ReLU6", "RReLU", "SELU", "SiLU", "Sigmoid", "Softplus",
    "Softshrink", "Softsign", "Tanh", "Tanhshrink",
)  # fmt: skip

OPTIMIZERS = ("adadelta:Adadelta", "adagrad:Adagrad", "adam:Adam", "adamax:Adamax", "adamw:AdamW",
              "nadam:NAdam", "radam:RAdam", "rmsprop:RMSprop", "sgd:SGD")  # fmt: skip

# Classes of torch that a file may name as a parameter.
SAFE_REFERENCES = frozenset(
    {f"torch.nn.modules.activation:{name}" for name in ACTIVATIONS}
    | {f"torch.optim.{name}" for name in OPTIMIZERS}
    | {"torch.nn.modules.linear:Identity"}
)


def table(rules: Mapping[str, Rule]) -> Rule:
    """A rule: a dict with exactly these entries, each by its own rule."""

    def rule(value: Any, sizes: Sizes) -> None:
        require(isinstance(value, dict) and set(value) == set(rules), "has other entries")
        for name, check in rules.items():
            check(value[name], sizes)

    return rule


def each(check: Rule) -> Rule:
    """A rule: a dict with strings as keys, all entries by one rule."""

    def rule(value: Any, sizes: Sizes) -> None:
        require(isinstance(value, dict) and all(isinstance(key, str) for key in value), "must be a dict")
        for entry in value.values():
            check(entry, sizes)

    return rule


def array(value: Any, sizes: Sizes) -> None:
    """Numbers of any shape: the network says later which, and which must be finite."""
    numeric = isinstance(value, np.ndarray) and value.dtype.kind in "fiub"
    require(numeric, f"must be an array of numbers, got {type(value).__name__}")


def memory(value: Any, sizes: Sizes) -> None:
    """What an optimiser remembers of one parameter."""
    if isinstance(value, np.ndarray):
        array(value, sizes)
        require(np.isfinite(value).all(), "must be finite")
    elif value is not None:
        Number()(value, sizes)


def history(value: Any, sizes: Sizes) -> None:
    """A column of floats for each quantity; the validation loss is NaN where it was not measured."""
    each(Floats("epochs", finite=False))(value, sizes)
    for name, column in value.items():
        measured = column[~np.isnan(column)] if name == "valid_loss" else column
        require(np.isfinite(measured).all(), f"{name} must be finite")


def arguments(value: Any, sizes: Sizes) -> None:
    """Arguments of a network; it checks the others itself when it is made."""
    require(isinstance(value, dict) and {"n_features", "n_modules"} <= set(value), "has no sizes")
    for name in ("n_features", "n_modules", "n_components", "n_outputs"):
        if name in value:
            Count("D" if name == "n_features" else None)(value[name], sizes)


def _weights_fit_the_network(model: TrainedModel) -> None:
    """Weights are finite and have the shapes that the network has, and so the optimiser's memory."""
    if model.draws:
        network = model.new_network()
    else:
        with torch.device("meta"):  # uses no memory, whatever the sizes
            network = NETWORKS[model.kind](**model.arguments)
    expected = {name: tuple(weights.shape) for name, weights in network.state_dict().items()}
    parameters = [name for name, _ in network.named_parameters()]
    for weights in filter(None, (model.state.weights, model.state.best_weights)):
        shapes = {name: values.shape for name, values in weights.items()}
        require(shapes == expected, "the weights do not fit the network")
        for name in parameters:
            require(np.isfinite(weights[name]).all(), f"{name} must be finite")
    for place, remembered in model.state.optimizer.items():
        known = place.isdecimal() and int(place) < len(parameters)
        require(known, f"there is no parameter {place!r:.20}")
        sizes = {np.shape(values) for values in remembered.values()} - {()}
        fits = sizes <= {expected[parameters[int(place)]]}
        require(fits, "the optimiser does not fit the network")


def _network_fits_the_estimator(estimator: DeepModules) -> None:
    """The network has an output for each class, or for each target."""
    model, n_outputs = estimator._fitted, None
    if isinstance(estimator, ModularNetworkClassifier):
        n_outputs = len(estimator.classes_)
    elif model.target_scaling is not None:
        n_outputs = len(model.target_scaling.mean)
    fits = model.kind == estimator._network_kind and model.arguments.get("n_outputs") == n_outputs
    require(fits, f"the network is not one of {type(estimator).__name__}")


SCALING = Layout("modae.deep.Scaling", Scaling, {"mean": Floats("D"), "scale": Number(above=0.0)})

TRAINING_STATE = Layout(
    "modae.deep.TrainingState",
    TrainingState,
    {
        "seed": Count(minimum=0),
        "epoch": Count("epochs"),
        "history": history,
        "weights": each(array),
        "best_epoch": Count(),
        "best_weights": Maybe(each(array)),
        "optimizer_name": word,
        "optimizer": each(each(memory)),
    },
    agree=lambda state: require(state.best_epoch <= state.epoch, "there is no such epoch"),
)

OBJECTIVE: dict[str, Rule] = {
    "diversity": Number(minimum=0.0, maximum=1.0),
    "loss": Choice(LOSSES),
    "average": Choice(AVERAGES),
}

TRAINED_MODEL = Layout(
    "modae.deep.TrainedModel",
    TrainedModel,
    {
        "kind": Choice(tuple(NETWORKS)),
        "arguments": arguments,
        "objective": table(OBJECTIVE),
        "dtype": Choice(tuple(DTYPES)),
        "device": word,
        "scaling": Record(SCALING),
        "target_scaling": Maybe(Record(SCALING, {"D": "T"})),
        "flat": flag,
        "n_rows": Maybe(Count()),
        "state": Record(TRAINING_STATE),
        "final": Maybe(table({"members": Number(), "of_mean": Number()})),
    },
    agree=_weights_fit_the_network,
)


def _estimator(cls: type[DeepModules], **fields: Rule) -> Layout:
    return Layout(
        f"modae.deep.{cls.__name__}",
        cls,
        {**known_features(), **fields, "_fitted": Record(TRAINED_MODEL)},
        optional=OPTIONAL_NAMES,
        agree=_network_fits_the_estimator,
        forgotten=frozenset({"checkpoint"}),
        references=SAFE_REFERENCES,
        summary=summary,
    )


LAYOUTS = (
    SCALING,
    TRAINING_STATE,
    TRAINED_MODEL,
    _estimator(ModularAutoencoder),
    _estimator(ModularNetworkRegressor),
    _estimator(ModularNetworkClassifier, classes_=labels),
)
