"""Deep modules: our own layers node by node, those of a user through torch's exporter."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
import torch
from torch import Tensor, nn

from modae.deep.autoencoder import ModularAutoencoder
from modae.deep.batches import Scaling
from modae.deep.classifier import ModularNetworkClassifier
from modae.deep.copies import Copies
from modae.deep.networks import MemberLayer, SharedInputLayer
from modae.deep.regressor import ModularNetworkRegressor
from modae.deep.trained import TrainedModel
from modae.onnx.answers import Answer, Classification, Modules, Regression, Table, affine
from modae.onnx.extras import first_line, require
from modae.onnx.graph import OPSET, Graph
from modae.onnx.linear import split

EXPORTER_LOGGER = "torch.onnx._internal.exporter._registration"
"""It reports each time that torchvision, which nobody here needs, is not installed."""


def deep_codes(graph: Graph, extractor: Any, x: Table) -> Modules:
    """Codes of each module of a ModularAutoencoder."""
    model: TrainedModel = extractor._model()
    network: Any = model.network
    stack = _outputs(graph, [network.encoder], model.scaling, x)
    rows_first = graph.add("Transpose", stack, perm=[1, 0, 2])
    codes = graph.reshaped(rows_first, -1, model.n_modules * model.n_components)
    return split(graph, codes, model.n_modules, model.n_components)


def deep_prediction(graph: Graph, regressor: Any, x: Table) -> Regression:
    """Mean over the modules of a ModularNetworkRegressor, in units of the targets."""
    model: TrainedModel = regressor._model()
    scaling = model.target_scaling
    assert scaling is not None
    mean = _mean_of_modules(graph, _supervised(graph, model, x))
    scaled = graph.add("Mul", mean, graph.numbers(scaling.scale))
    prediction = graph.add("Add", scaled, graph.numbers(scaling.mean))
    return Regression(prediction, () if model.state["flat"] else (len(scaling.mean),))


def deep_label(graph: Graph, classifier: Any, x: Table) -> Classification:
    """Mean probabilities, or the softmax of mean logits, of a ModularNetworkClassifier."""
    model: TrainedModel = classifier._model()
    logits = _supervised(graph, model, x)
    if model.objective.average == "logit":
        probabilities = graph.add("Softmax", _mean_of_modules(graph, logits), axis=-1)
    else:
        probabilities = _mean_of_modules(graph, graph.add("Softmax", logits, axis=-1))
    index = graph.add("ArgMax", probabilities, axis=1, keepdims=0)
    return Classification(index, probabilities, classifier.classes_)


CONVERTERS: dict[type, Callable[[Graph, Any, Table], Answer]] = {
    ModularAutoencoder: deep_codes,
    ModularNetworkRegressor: deep_prediction,
    ModularNetworkClassifier: deep_label,
}


def _supervised(graph: Graph, model: TrainedModel, x: Table) -> str:
    network: Any = model.network
    parts = [network.body, network.members] if hasattr(network, "body") else [network.members]
    return _outputs(graph, parts, model.scaling, x)


def _mean_of_modules(graph: Graph, stack: str) -> str:
    return graph.add("ReduceMean", stack, graph.numbers([0], np.int64), keepdims=0)


def _outputs(graph: Graph, parts: list[nn.Module], scaling: Scaling, x: Table) -> str:
    """What the modules say of rows, (M, n, outputs)."""
    value = graph.add("Div", graph.centred(x.name, scaling.mean), graph.numbers(scaling.scale))
    shape: tuple[int, ...] = (2, x.width)  # of two rows, on their way through the layers
    for layer in [layer for part in parts for layer in _flat(part)]:
        step = _step_of(layer)
        value = (
            graph.embedded(exported(layer, shape), value)[0]
            if step is None
            else step(graph, layer, value)
        )
        shape = _shape_after(layer, shape)
    return value


def _flat(part: nn.Module) -> list[nn.Module]:
    return list(part) if isinstance(part, nn.Sequential) else [part]


def _shape_after(layer: nn.Module, shape: tuple[int, ...]) -> tuple[int, ...]:
    weight = next(layer.parameters(), torch.empty(0))
    with torch.no_grad():
        return tuple(layer(weight.new_zeros(shape)).shape)


def _numbers(values: Tensor) -> np.ndarray:
    return values.detach().cpu().numpy()


def _shared_input(graph: Graph, layer: Any, x: str) -> str:
    """Rows (n, n_inputs) to (M, n, n_outputs)."""
    weight = _numbers(layer.weight)
    n_modules, n_outputs, n_inputs = weight.shape
    flat = affine(graph, x, weight.reshape(-1, n_inputs).T, _numbers(layer.bias).ravel())
    return graph.add("Transpose", graph.reshaped(flat, -1, n_modules, n_outputs), perm=[1, 0, 2])


def _member(graph: Graph, layer: Any, x: str) -> str:
    """(M, n, n_inputs) to (M, n, n_outputs)."""
    product = graph.add("MatMul", x, graph.numbers(_numbers(layer.weight).swapaxes(1, 2)))
    return graph.add("Add", product, graph.numbers(_numbers(layer.bias)[:, None]))


def _ordinary(graph: Graph, layer: Any, x: str) -> str:
    return affine(graph, x, _numbers(layer.weight).T, _numbers(layer.bias))


def _silu(graph: Graph, layer: Any, x: str) -> str:
    return graph.add("Mul", x, graph.add("Sigmoid", x))


def _gelu(graph: Graph, layer: Any, x: str) -> str:
    """The product of x and the share of a normal distribution below x."""
    erf = graph.add("Erf", graph.add("Mul", x, graph.numbers(np.sqrt(0.5))))
    share = graph.add("Mul", graph.add("Add", erf, graph.numbers(1.0)), graph.numbers(0.5))
    return graph.add("Mul", x, share)


STEPS: dict[type, Callable[[Graph, Any, str], str]] = {
    SharedInputLayer: _shared_input,
    MemberLayer: _member,
    nn.Linear: _ordinary,
    nn.Identity: lambda graph, layer, x: x,
    nn.ReLU: lambda graph, layer, x: graph.add("Relu", x),
    nn.Tanh: lambda graph, layer, x: graph.add("Tanh", x),
    nn.Sigmoid: lambda graph, layer, x: graph.add("Sigmoid", x),
    nn.ELU: lambda graph, layer, x: graph.add("Elu", x, alpha=layer.alpha),
    nn.LeakyReLU: lambda graph, layer, x: graph.add("LeakyRelu", x, alpha=layer.negative_slope),
    nn.SiLU: _silu,
    nn.GELU: _gelu,
    nn.Softplus: lambda graph, layer, x: graph.add("Softplus", x),
}
"""The layers of our own networks, and every activation that has a name."""


def _step_of(layer: nn.Module) -> Callable[[Graph, Any, str], str] | None:
    unusual = getattr(layer, "approximate", "none") != "none" or getattr(layer, "beta", 1) != 1
    return None if unusual else STEPS.get(type(layer))


class Unstacked(nn.Module):
    """Copies of a user's module, each a module of its own again: the exporter follows no ``vmap``."""

    def __init__(self, copies: Copies) -> None:
        super().__init__()
        n_modules = len(next(copies.parameters()))
        self.members = nn.ModuleList([_one_of(copies.architecture, i) for i in range(n_modules)])

    def forward(self, x: Tensor) -> Tensor:
        """Rows (n, n_inputs) to (M, n, n_outputs)."""
        return torch.stack([member(x) for member in self.members])


def _one_of(architecture: nn.Module, module: int) -> nn.Module:
    """The architecture with the numbers of one module."""
    member = copy.deepcopy(architecture)
    with torch.no_grad():
        for values in [*member.parameters(), *member.buffers()]:
            values.data = values.data[module].clone()
    return member


def exported(layer: nn.Module, shape: tuple[int, ...]) -> Any:
    """A layer that somebody else wrote as an ONNX model; rows are the last axis but one of the shape."""
    require("onnxscript")
    own = Unstacked(layer) if isinstance(layer, Copies) else copy.deepcopy(layer)
    author = layer.architecture if isinstance(layer, Copies) else layer
    try:
        with catch_warnings(), _quiet_exporter():
            simplefilter("ignore")  # torch warns of its own deprecations
            program: Any = torch.onnx.export(
                own.cpu().float().eval(),
                (torch.zeros(shape),),
                dynamo=True,
                verbose=False,
                opset_version=OPSET,
                dynamic_shapes=({len(shape) - 2: torch.export.Dim("rows")},),
            )
    except Exception as reason:
        raise ValueError(
            f"{type(author).__name__} cannot be converted to ONNX: torch.onnx.export failed with "
            f"{type(reason).__name__}: {first_line(reason)}"
        ) from reason
    return _for_any_rows(program.model_proto, type(author).__name__)


def _for_any_rows(model: Any, name: str) -> Any:
    """The exporter may have taken the number of rows of its example for a constant."""
    dimensions = model.graph.output[0].type.tensor_type.shape.dim
    if not dimensions[len(dimensions) - 2].dim_param:
        raise ValueError(
            f"{name} cannot be converted to ONNX: torch.onnx.export fixed the number of rows; write "
            "x.shape[0], or -1, where the module says len(x)."
        )
    return model


@contextmanager
def _quiet_exporter() -> Iterator[None]:
    logger = logging.getLogger(EXPORTER_LOGGER)
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
