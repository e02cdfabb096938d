"""A graph under construction, and what an estimator says of rows as names of values in it.

Nodes and constants are added one by one, and each call returns the name of what it made. Numbers are
float32, the precision of nearly every runtime, except where the code says otherwise.
"""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from modae.utils.arrays import Array
from modae.utils.extras import require

#: Of the file format: the one that came with opset 18.
IR_VERSION = 8

#: Bytes: protocol buffers end at two gigabytes.
LARGEST_FILE = (1 << 31) - (1 << 20)


class Features(NamedTuple):
    """Features (n, width), float32: those of ``n_modules`` modules side by side, or 0 if of none."""

    name: str
    width: int
    n_modules: int = 0


class Classification(NamedTuple):
    """The index of the label in ``classes``, (n,), int64, and probabilities (n, n_classes) if any.

    Where a vote asks for decision functions, ``scores`` are those.
    """

    winner: str
    scores: str | None
    classes: np.ndarray


class Regression(NamedTuple):
    """Predictions (n, n_targets), float32, and the shape of the targets of one row: () or (T,)."""

    prediction: str
    target_shape: tuple[int, ...]


Answer = Features | Classification | Regression


class Graph:
    """Nodes, constants and outputs, in the order in which they were added.

    Examples
    --------
    >>> from modae.onnx.graph import Graph
    >>> graph = Graph()
    >>> doubled = graph.add("Mul", "X", 2.0)
    >>> doubled, graph.nodes[0].op_type, len(graph.constants)
    ('Mul_0', 'Mul', 1)
    """

    #: Name of the rows that a model reads.
    INPUT = "X"

    #: Versions of the standard operators, that of torch's exporter, known since 2022; and of those for
    #: trees, linear models and support vectors.
    OPSETS: ClassVar = {"": 18, "ai.onnx.ml": 3}

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []
        self.outputs: list[ValueInfoProto] = []
        self.domains = dict(self.OPSETS)
        self._count = 0

    def add(self, op_type: str, *inputs: Any, **attributes: Any) -> str:
        """Add a node with one output and return its name; inputs are names of values, or constants."""
        return self.add_several(op_type, *inputs, n_outputs=1, **attributes)[0]

    def add_several(self, op_type: str, *inputs: Any, n_outputs: int, **attributes: Any) -> list[str]:
        """Add a node with several outputs and return their names."""
        name = self._new_name(op_type)
        outputs = [name, *(f"{name}_{place}" for place in range(1, n_outputs))]
        names = [each if isinstance(each, str) else self.constant(each) for each in inputs]
        self.nodes.append(helper.make_node(op_type, names, outputs, name=name, **attributes))
        return outputs

    def constant(self, values: Any, dtype: Any = None) -> str:
        """Add a constant; floats become float32 and integers int64, unless a type is given.

        Numbers that the type cannot hold are refused.
        """
        exact = np.asarray(values)
        if dtype is None and exact.dtype.kind in "fiub":
            dtype = np.float32 if exact.dtype.kind == "f" else np.int64
        with np.errstate(over="ignore"):
            kept = np.asarray(exact, dtype=dtype, order="C")
        if kept.dtype.kind == "f" and not np.isfinite(kept).all():
            raise ValueError(
                f"the model holds numbers up to {np.abs(exact).max():.0e}, too large for float32, which "
                "ONNX files have: scale the data down and fit again."
            )
        tensor = numpy_helper.from_array(kept, self._new_name("constant"))
        self.constants.append(tensor)
        return tensor.name

    def centred(self, x: str, mean: Array) -> str:
        """The difference x - mean, right even where the mean is far larger than the spread.

        A mean rounded to float32 would be off by up to 6e-8 of itself. So its two halves, one rounded
        and one what is left, are subtracted one after the other: the first difference is exact for x
        near the mean.
        """
        exact = np.asarray(mean, dtype=np.float64)
        with np.errstate(over="ignore"):
            rounded = exact.astype(np.float32)
        x = self.add("Sub", x, rounded)
        rest = (exact - rounded).astype(np.float32)
        return self.add("Sub", x, rest) if rest.any() else x

    def cast(self, x: str, dtype: Any) -> str:
        """The same values in another type."""
        return self.add("Cast", x, to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def one_hot(self, indices: str, n_classes: int) -> str:
        """A row of 0 and 1 for each index, float32: one more axis than the indices have."""
        return self.add("OneHot", indices, n_classes, [0.0, 1.0])

    def embed(self, model: ModelProto, x: str) -> list[str]:
        """Add the nodes of another model, which reads x, and return the names of its outputs."""
        copy = onnx.compose.add_prefix(model, self._new_name("part") + "_")
        self.nodes.append(helper.make_node("Identity", [x], [copy.graph.input[0].name]))
        for node in copy.graph.node:
            # Torch writes stack traces here, with the paths of the machine.
            node.ClearField("metadata_props")
            node.ClearField("doc_string")
            self.nodes.append(node)
        self.constants.extend(copy.graph.initializer)
        for used in copy.opset_import:
            self.domains.setdefault(used.domain, used.version)
        return [output.name for output in copy.graph.output]

    def output(self, name: str, value: str, dtype: Any, *shape: int) -> None:
        """Give a value a public name; ``shape`` is that of one row."""
        self.nodes.append(helper.make_node("Identity", [value], [name], name=name))
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        self.outputs.append(helper.make_tensor_value_info(name, kind, ["rows", *shape]))

    def model(self, width: int) -> ModelProto:
        """The finished model, which reads rows of this width."""
        if sum(tensor.ByteSize() for tensor in self.constants) > LARGEST_FILE:
            raise ValueError("the model is larger than 2 GB, which is all that an ONNX file can hold.")
        rows = helper.make_tensor_value_info(self.INPUT, TensorProto.FLOAT, ["rows", width])
        graph = helper.make_graph(self.nodes, "modae", [rows], self.outputs, self.constants)
        imports = [helper.make_opsetid(domain, version) for domain, version in self.domains.items()]
        model = helper.make_model(graph, opset_imports=imports, ir_version=IR_VERSION)
        # Of a member's answers the ensemble may need only one.
        optimizer = require("onnxscript.optimizer", extra="onnx", purpose="Export to ONNX")
        optimizer.remove_unused_nodes(model)
        return model

    def _new_name(self, stem: str) -> str:
        self._count += 1
        return f"{stem}_{self._count - 1}"


#: Adds what a fitted estimator says of features.
Converter = Callable[[Graph, Any, Features], Answer]


def refusal(name: str, reason: str, error: Exception | None = None) -> ValueError:
    """The error for an estimator or a layer that cannot be converted.

    Of the error of a tool it has the first line: some print whole arrays.
    """
    if error is not None:
        reason += f" with {type(error).__name__}: " + str(error).strip().partition("\n")[0][:200]
    return ValueError(f"{name} cannot be converted to ONNX: {reason}")
