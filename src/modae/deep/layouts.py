"""How deep estimators are stored: their whole training state, so that a loaded one can also go on.

Sizes: D features, T targets, C classes.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from modae.deep.autoencoder import ModularAutoencoder
from modae.deep.base import DeepModules
from modae.deep.classifier import ModularNetworkClassifier
from modae.deep.loss import AVERAGES, LOSSES
from modae.deep.model import DTYPES, TrainedModel, TrainingState
from modae.deep.networks import NETWORKS
from modae.deep.regressor import ModularNetworkRegressor
from modae.deep.scaling import Scaling
from modae.files import rules
from modae.files.archive import require
from modae.files.rules import Layout, Rule, Sizes, choice, count, each, maybe, number, numbers, record


def table(rules: Mapping[str, Rule]) -> Rule:
    """A rule: a dict with exactly these entries, each by its own rule."""

    def rule(value: Any, sizes: Sizes) -> None:
        require(isinstance(value, dict) and set(value) == set(rules), "has other entries")
        for name, check in rules.items():
            check(value[name], sizes)

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
        number()(value, sizes)


def history(value: Any, sizes: Sizes) -> None:
    """A column of floats for each quantity; the validation loss is NaN where it was not measured."""
    each(numbers("epochs", within=None), dict)(value, sizes)
    for name, column in value.items():
        measured = column[~np.isnan(column)] if name == "valid_loss" else column
        require(np.isfinite(measured).all(), f"{name} must be finite")


def scale(value: Any, sizes: Sizes) -> None:
    """One number above 0, or one for each column, 0 for a constant one."""
    if isinstance(value, np.ndarray):
        numbers("D", within=number(0.0))(value, sizes)
    else:
        number(above=0.0)(value, sizes)


#: Indices of columns.
places = numbers(None, kinds="i", within=count(minimum=0, below="D"), order=1)


def arguments(value: Any, sizes: Sizes) -> None:
    """Arguments of a network; it checks the others itself when it is made."""
    require(isinstance(value, dict) and {"n_features", "n_modules"} <= set(value), "has no sizes")
    names = {"n_features": "D", "n_modules": "M", "n_components": "H", "n_outputs": None}
    for name in names.keys() & value:
        count(names[name])(value[name], sizes)


def _weights_fit_the_network(model: TrainedModel) -> None:
    """Weights are finite and have the shapes that the network has, and so the optimiser's memory."""
    if model.is_foreign:
        network = model.new_network({})
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
    scaling, held_out = model.scaling, model.held_out
    width = model.arguments["n_features"] + model.arguments.get("n_missing", 0)
    require(scaling.width == width, "the inputs do not fit the network")
    if held_out is not None and model.n_rows is not None:
        require(held_out.max(initial=0) < model.n_rows, "there are no such rows")
    for place, remembered in model.state.optimizer.items():
        known = place.isdecimal() and int(place) < len(parameters)
        require(known, f"there is no parameter {place!r:.20}")
        sizes = {np.shape(values) for values in remembered.values()} - {()}
        fits = sizes <= {expected[parameters[int(place)]]}
        require(fits, "the optimiser does not fit the network")


def _network_fits_the_estimator(estimator: DeepModules) -> None:
    """The network has an output for each class, or for each target."""
    model = estimator._fitted
    outputs = getattr(estimator, "classes_", getattr(model.target_scaling, "mean", None))
    n_outputs = None if outputs is None else len(outputs)
    fits = model.kind == estimator._network_kind and model.arguments.get("n_outputs") == n_outputs
    require(fits, f"the network is not one of {type(estimator).__name__}")


OBJECTIVE = {"diversity": number(0.0, 1.0), "loss": choice(*LOSSES), "average": choice(*AVERAGES)}


def _estimator(cls: type[DeepModules], told: dict[str, str] | None = None, **fields: Rule) -> Layout:
    return Layout(
        cls,
        {**fields, "_fitted": record(TrainedModel, D="D", M="M", H="H")},
        agree=_network_fits_the_estimator,
        forgotten={"checkpoint"},
        summary={"modules": "n_modules", "diversity": "diversity_"} | (told or {}),
    )


LAYOUTS = (
    Layout(
        Scaling,
        {
            "mean": numbers("D"),
            "scale": scale,
            "missing": maybe(places),
            "limit": maybe(number(above=0.0)),
        },
    ),
    Layout(
        TrainingState,
        {
            "seed": count(minimum=0),
            "epoch": count("epochs"),
            "history": history,
            "weights": each(array, dict),
            "best_epoch": count(),
            "best_weights": maybe(each(array, dict)),
            "optimizer_name": rules.text,
            "optimizer": each(each(memory, dict), dict),
            "refit": maybe(count()),
        },
        agree=lambda state: require(state.best_epoch <= state.epoch, "there is no such epoch"),
    ),
    Layout(
        TrainedModel,
        {
            "kind": choice(*NETWORKS),
            "arguments": arguments,
            "objective": table(OBJECTIVE),
            "dtype": choice(*DTYPES),
            "device": rules.text,
            "scaling": record(Scaling, D="D"),
            "target_scaling": maybe(record(Scaling, D="T")),
            "flat": rules.flag,
            "n_rows": maybe(count()),
            "state": record(TrainingState),
            "final": maybe(table({"members": number(), "of_mean": number()})),
            "held_out": maybe(numbers(None, kinds="i", within=number(0))),
        },
        agree=_weights_fit_the_network,
    ),
    _estimator(ModularAutoencoder, {"components": "n_components_"}),
    _estimator(ModularNetworkRegressor),
    _estimator(ModularNetworkClassifier, classes_=rules.labels),
)
