"""Deep modules: the network through torch's exporter, what is around it node by node."""

import copy
import logging
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
import torch
from torch import Tensor, nn

from modae.deep.autoencoder import ModularAutoencoder
from modae.deep.classifier import ModularNetworkClassifier
from modae.deep.copies import Copies
from modae.deep.regressor import ModularNetworkRegressor
from modae.onnx.graph import Classification, Converter, Features, Graph, Regression, refusal
from modae.utils.extras import require


def deep_codes(graph: Graph, extractor: Any, x: Features) -> Features:
    """Codes of all modules of a ModularAutoencoder."""
    model = extractor._model()
    stack = _outputs(graph, model, [model.network.encoder], x)
    width = model.n_modules * extractor.n_components_
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
    scaling = model.scaling
    rows = graph.add("Mul", graph.centred(x.name, scaling.mean), scaling.factor)
    if scaling.limit is not None:
        near = graph.add("Clip", rows, -1e9, 1e9)  # whose squares are numbers
        bent = graph.add("Div", near, scaling.limit)
        length = graph.add("Sqrt", graph.add("Add", graph.add("Mul", bent, bent), 1.0))
        rows = graph.add("Div", near, length)
    if scaling.missing is not None:
        absent = graph.add("IsNaN", x.name)
        rows = graph.add("Where", absent, 0.0, rows)
        if len(scaling.missing):
            told = graph.add("Gather", absent, scaling.missing, axis=1)
            rows = graph.add("Concat", rows, graph.cast(told, np.float32), axis=1)
    return graph.embed(exported(parts, scaling.width), rows)[0]


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


def exported(parts: list[nn.Module], width: int) -> Any:
    """Parts of a network, one after the other, as an ONNX model that reads rows of this width."""
    require("onnxscript", extra="onnx", purpose="Export to ONNX")
    last = parts[-1]
    name = type(last.architecture if isinstance(last, Copies) else last).__name__
    own = nn.Sequential(*(Unstacked(each) if isinstance(each, Copies) else each for each in parts))
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    try:
        logger.setLevel(logging.ERROR)  # it warns that torchvision is missing, which is not needed
        with catch_warnings():
            simplefilter("ignore")  # torch warns of its own deprecations
            program: Any = torch.onnx.export(
                copy.deepcopy(own).cpu().float().eval(),
                (torch.zeros(2, width),),
                dynamo=True,
                verbose=False,
                opset_version=Graph.OPSETS[""],
                dynamic_shapes=({0: torch.export.Dim("rows")},),
            )
    except Exception as error:
        raise refusal(name, "torch.onnx.export failed", error) from error
    finally:
        logger.setLevel(level)
    model = program.model_proto
    if not model.graph.output[0].type.tensor_type.shape.dim[1].dim_param:
        # It took the rows of the example for a constant.
        reason = "torch.onnx.export fixed the number of rows; write x.shape[0] or -1 in place of len(x)."
        raise refusal(name, reason)
    return model
