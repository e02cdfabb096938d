"""Deep modules: our own layers node by node, those of a user through torch's exporter."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
import torch
from torch import Tensor, nn

from modae.deep.autoencoder import ModularAutoencoder
from modae.deep.copies import Copies
from modae.deep.networks import MemberLayer
from modae.deep.supervised import ModularNetworkClassifier, ModularNetworkRegressor
from modae.onnx.graph import (
    OPSET,
    Classification,
    Converter,
    Features,
    Graph,
    Regression,
    failure,
    refusal,
)
from modae.utils.extras import require


def deep_codes(graph: Graph, extractor: Any, x: Features) -> Features:
    """Codes of all modules of a ModularAutoencoder."""
    model = extractor._model()
    stack = _outputs(graph, model, [model.network.encoder], x)
    width = model.n_modules * model.n_components
    codes = graph.add("Reshape", graph.add("Transpose", stack, perm=[1, 0, 2]), [-1, width])
    return Features(codes, width, model.n_modules)


def deep_prediction(graph: Graph, regressor: Any, x: Features) -> Regression:
    """Mean over the modules of a ModularNetworkRegressor, in units of the targets."""
    model = regressor._model()
    scaling = model.target_scaling
    stack = _outputs(graph, model, [model.network.body, model.network.members], x)
    mean = _mean_of_modules(graph, stack)
    prediction = graph.add("Add", graph.add("Mul", mean, scaling.scale), scaling.mean)
    return Regression(prediction, () if model.flat else (len(scaling.mean),))


def deep_label(graph: Graph, classifier: Any, x: Features) -> Classification:
    """Mean probabilities, or the softmax of mean logits, of a ModularNetworkClassifier."""
    model = classifier._model()
    logits = _outputs(graph, model, [model.network.body, model.network.members], x)
    if model.objective["average"] == "logit":
        probabilities = graph.add("Softmax", _mean_of_modules(graph, logits), axis=-1)
    else:
        probabilities = _mean_of_modules(graph, graph.add("Softmax", logits, axis=-1))
    winner = graph.add("ArgMax", probabilities, axis=1, keepdims=0)
    return Classification(winner, probabilities, classifier.classes_)


DEEP_CONVERTERS: dict[type, Converter] = {
    ModularAutoencoder: deep_codes,
    ModularNetworkRegressor: deep_prediction,
    ModularNetworkClassifier: deep_label,
}


def _mean_of_modules(graph: Graph, stack: str) -> str:
    return graph.add("ReduceMean", stack, [0], keepdims=0)


def _outputs(graph: Graph, model: Any, parts: list[nn.Module], x: Features) -> str:
    """What the modules say of rows after these parts of their network, (M, n, outputs)."""
    value = graph.add("Div", graph.centred(x.name, model.scaling.mean), model.scaling.scale)
    weight = next(weight for part in parts for weight in part.parameters())
    example = weight.new_zeros(2, x.width)  # two rows on their way through the layers
    for part in parts:
        for layer in part if isinstance(part, nn.Sequential) else [part]:
            converter = LAYERS.get(type(layer))
            # Variants of two activations that the table does not have.
            usual = getattr(layer, "approximate", "none") == "none" and getattr(layer, "beta", 1) == 1
            if converter is not None and usual:
                value = converter(graph, layer, value)
            else:
                value = graph.embed(exported(layer, example.shape), value)[0]
            with torch.no_grad():
                example = layer(example)
    return value


def _array(values: Tensor) -> np.ndarray:
    return values.detach().cpu().numpy()


def _member(graph: Graph, layer: Any, x: str) -> str:
    """Rows (n, n_inputs) for all modules, or rows of each (M, n, n_inputs), to (M, n, n_outputs)."""
    product = graph.add("MatMul", x, _array(layer.weight).swapaxes(1, 2))  # it broadcasts the rows
    return graph.add("Add", product, _array(layer.bias)[:, None])


def _gelu(graph: Graph, layer: Any, x: str) -> str:
    """The product of x and the share of a normal distribution below x."""
    erf = graph.add("Erf", graph.add("Mul", x, np.sqrt(0.5)))
    return graph.add("Mul", x, graph.add("Mul", graph.add("Add", erf, 1.0), 0.5))


#: The layers of our own networks, and every activation that has a name.
LAYERS: dict[type, Callable[[Graph, Any, str], str]] = {
    MemberLayer: _member,
    nn.Linear: lambda graph, layer, x: graph.add("Gemm", x, _array(layer.weight).T, _array(layer.bias)),
    nn.Identity: lambda graph, layer, x: x,
    nn.ReLU: lambda graph, layer, x: graph.add("Relu", x),
    nn.Tanh: lambda graph, layer, x: graph.add("Tanh", x),
    nn.Sigmoid: lambda graph, layer, x: graph.add("Sigmoid", x),
    nn.ELU: lambda graph, layer, x: graph.add("Elu", x, alpha=layer.alpha),
    nn.LeakyReLU: lambda graph, layer, x: graph.add("LeakyRelu", x, alpha=layer.negative_slope),
    nn.SiLU: lambda graph, layer, x: graph.add("Mul", x, graph.add("Sigmoid", x)),
    nn.GELU: _gelu,
    nn.Softplus: lambda graph, layer, x: graph.add("Softplus", x),
}


class Unstacked(nn.Module):
    """Copies of a user's module, each a module of its own again: the exporter follows no ``vmap``."""

    def __init__(self, copies: Copies) -> None:
        super().__init__()
        n_modules = len(next(copies.parameters()))
        self.members = nn.ModuleList([copy.deepcopy(copies.architecture) for _ in range(n_modules)])
        with torch.no_grad():
            for i, member in enumerate(self.members):
                for values in [*member.parameters(), *member.buffers()]:
                    values.data = values.data[i].clone()

    def forward(self, x: Tensor) -> Tensor:
        """Rows (n, n_inputs) to (M, n, n_outputs)."""
        return torch.stack([member(x) for member in self.members])


def exported(layer: nn.Module, shape: tuple[int, ...]) -> Any:
    """A layer that somebody else wrote as an ONNX model; rows are the last axis but one of the shape."""
    require("onnxscript", extra="onnx", purpose="Export to ONNX")
    name = type(layer.architecture if isinstance(layer, Copies) else layer).__name__
    own = Unstacked(layer) if isinstance(layer, Copies) else copy.deepcopy(layer)
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    try:
        logger.setLevel(logging.ERROR)  # it warns that torchvision is missing, which is not needed
        with catch_warnings():
            simplefilter("ignore")  # torch warns of its own deprecations
            program: Any = torch.onnx.export(
                own.cpu().float().eval(),
                (torch.zeros(shape),),
                dynamo=True,
                verbose=False,
                opset_version=OPSET,
                dynamic_shapes=({len(shape) - 2: torch.export.Dim("rows")},),
            )
    except Exception as error:
        raise failure(name, "torch.onnx.export", error) from error
    finally:
        logger.setLevel(level)
    model = program.model_proto
    dimensions = model.graph.output[0].type.tensor_type.shape.dim
    if not dimensions[len(dimensions) - 2].dim_param:  # it took the rows of the example for a constant
        raise refusal(
            name,
            "torch.onnx.export fixed the number of rows; write x.shape[0], or -1, where the module says "
            "len(x).",
        )
    return model
