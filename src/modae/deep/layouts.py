"""How deep estimators are stored: their whole training state, so that a loaded one can also go on.

Sizes: D features, T targets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from modae.deep.autoencoder import ModularAutoencoder
from modae.deep.base import PUBLISHED, DeepModules, restore_training_state, training_state
from modae.deep.classifier import ModularNetworkClassifier
from modae.deep.options import DTYPES
from modae.deep.regressor import ModularNetworkRegressor
from modae.deep.trained import TrainedModel, may_draw, new_network
from modae.ensembles.layouts import labels, word
from modae.files.rules import (
    Choice,
    Count,
    Floats,
    Layout,
    Maybe,
    Number,
    Rule,
    Sizes,
    anything,
    flag,
    require,
)
from modae.linear.layouts import feature_names

ACTIVATIONS = (
    "CELU", "ELU", "GELU", "GLU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU",
    "LogSigmoid", "Mish", "PReLU", "ReLU", "ReLU6", "RReLU", "SELU", "SiLU", "Sigmoid", "Softplus",
    "Softshrink", "Softsign", "Tanh", "Tanhshrink",
)  # fmt: skip

OPTIMIZERS = ("adadelta:Adadelta", "adagrad:Adagrad", "adam:Adam", "adamax:Adamax", "adamw:AdamW",
              "nadam:NAdam", "radam:RAdam", "rmsprop:RMSprop", "sgd:SGD")  # fmt: skip

SAFE_REFERENCES = frozenset(
    {f"torch.nn.modules.activation:{name}" for name in ACTIVATIONS}
    | {f"torch.optim.{name}" for name in OPTIMIZERS}
    | {"torch.nn.modules.linear:Identity"}
)
"""Classes of torch that a file may name as a parameter."""


def table(rules: Mapping[str, Rule]) -> Rule:
    """A rule: a dict with exactly these entries, each by its own rule."""

    def rule(value: Any, sizes: Sizes) -> None:
        require(isinstance(value, dict) and set(value) == set(rules), "has other entries")
        for name, check in rules.items():
            check(value[name], sizes)

    return rule


def each(check: Rule) -> Rule:
    """A rule: a dict with words as keys, all entries by one rule."""

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


SCALING: dict[str, Rule] = {"mean": Floats("D"), "scale": Number(above=0.0)}
TARGET_SCALING: dict[str, Rule] = {"mean": Floats("T"), "scale": Number(above=0.0)}

TRAINING: dict[str, Rule] = {
    "seed": Count(minimum=0),
    "epoch": Count("epochs", minimum=0),
    "best_epoch": Count(minimum=0),
    "history": history,
    "weights": each(array),
    "best_weights": Maybe(each(array)),
    "optimizer": each(each(memory)),
    "optimizer_name": word,
    "n_rows": Maybe(Count()),
    "flat": flag,
    "scaling": table(SCALING),
    "target_scaling": Maybe(table(TARGET_SCALING)),
    "final": Maybe(table({"members": Number(), "of_mean": Number()})),
    "published": anything,
    "network": each(anything),
    "objective": table(
        {
            "diversity": Number(minimum=0.0, maximum=1.0),
            "loss": Choice(("squared_error", "huber", "cross_entropy")),
            "average": Choice(("probability", "logit")),
        }
    ),
    "dtype": Choice(tuple(DTYPES)),
}


def training(value: Any, sizes: Sizes) -> None:
    """The whole state of a training."""
    table(TRAINING)(value, sizes)
    rules: dict[str, Rule] = {
        "n_features_in_": Count("D"),
        "feature_names_in_": feature_names,
        "classes_": labels,
    }
    published = value["published"]
    require(isinstance(published, dict) and set(published) <= set(PUBLISHED), "has other attributes")
    require("n_features_in_" in published, "has no n_features_in_")
    table({name: rules[name] for name in published})(published, sizes)
    for name in ("n_features", "n_modules", "n_components", "n_outputs"):
        if name in value["network"]:
            Count("D" if name == "n_features" else None)(value["network"][name], sizes)


def _fits_its_network(estimator: DeepModules) -> None:
    """Weights are finite and have the shapes that the network has, and so the optimiser's memory."""
    model = estimator._fitted.model
    network = _drawn_up(model)
    expected = {name: tuple(weights.shape) for name, weights in network.state_dict().items()}
    for weights in (model.state["weights"], model.state["best_weights"]):
        shapes = weights and {name: values.shape for name, values in weights.items()}
        require(weights is None or shapes == expected, "the weights do not fit the network")
        for name, _ in network.named_parameters() if weights else ():
            require(np.isfinite(weights[name]).all(), f"{name} must be finite")
    shapes_of_parameters = [tuple(parameter.shape) for parameter in network.parameters()]
    for place, remembered in model.state["optimizer"].items():
        known = place.isdecimal() and int(place) < len(shapes_of_parameters)
        require(known, f"there is no parameter {place!r:.20}")
        shapes = {np.shape(values) for values in remembered.values()} - {()}
        require(shapes <= {shapes_of_parameters[int(place)]}, "the optimiser does not fit the network")


def _drawn_up(model: TrainedModel) -> torch.nn.Module:
    """Its network: ours without using memory, whatever the sizes; the user's functions may need some."""
    if may_draw(model.recipe):
        return new_network(model.recipe, model.dtype, torch.device("cpu"), model.state["seed"])
    with torch.device("meta"):
        return model.recipe()


def _take(estimator: DeepModules) -> dict[str, Any]:
    return {"training": training_state(estimator)}


def _make(estimator: DeepModules, training: dict[str, Any]) -> None:
    restore_training_state(estimator, training)


LAYOUTS = tuple(
    Layout(
        f"modae.deep.{cls.__name__}",
        cls,
        {"training": training},
        agree=_fits_its_network,
        take=_take,
        make=_make,
        covers=frozenset({"_fitted", *PUBLISHED}),
        forgotten=frozenset({"checkpoint"}),
    )
    for cls in (ModularAutoencoder, ModularNetworkRegressor, ModularNetworkClassifier)
)
