"""A graph under construction: nodes and constants are added one by one, each call names what it made.

Values are known by their names, which are strings. All numbers are float32, the precision of
nearly every runtime, except where the code says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from modae.utils.arrays import Array

OPSET = 18
"""Version of the standard operators. It is that of torch's exporter, and known since 2022."""

ML_OPSET = 3
"""Version of the operators for trees, linear models and support vectors."""

IR_VERSION = 8
"""Of the file format: the one that came with opset 18."""

LARGEST_FILE = (1 << 31) - (1 << 20)
"""Bytes: protocol buffers end at two gigabytes."""

INPUT = "X"


class Graph:
    """Nodes and constants, in the order in which they were added.

    Examples
    --------
    >>> from modae.onnx.graph import Graph
    >>> graph = Graph()
    >>> doubled = graph.add("Add", "X", "X")
    >>> doubled, graph.nodes[0].op_type
    ('Add_0', 'Add')
    """

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []
        self.domains = {"": OPSET, "ai.onnx.ml": ML_OPSET}
        self._count = 0

    def add(self, op_type: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """A node with one output; returns the name of that output."""
        return self.add_several(op_type, *inputs, n_outputs=1, domain=domain, **attributes)[0]

    def add_several(
        self, op_type: str, *inputs: str, n_outputs: int, domain: str = "", **attributes: Any
    ) -> list[str]:
        """A node with several outputs; returns their names."""
        name = self._new_name(op_type)
        outputs = [name, *(f"{name}_{place}" for place in range(1, n_outputs))]
        node = helper.make_node(op_type, inputs, outputs, name=name, domain=domain, **attributes)
        self.nodes.append(node)
        return outputs

    def numbers(self, values: Any, dtype: Any = np.float32) -> str:
        """Constant numbers; those that the precision cannot hold are refused."""
        given = np.asarray(values)
        with np.errstate(over="ignore"):
            kept = np.ascontiguousarray(given, dtype=dtype)
        if kept.dtype.kind == "f" and not np.isfinite(kept).all():
            largest = np.abs(given).max()
            raise ValueError(
                f"the model holds numbers up to {largest:.0e}, too large for float32, which ONNX files "
                "have: scale the data down and fit again."
            )
        return self._constant(numpy_helper.from_array(kept))

    def words(self, values: Sequence[str]) -> str:
        """Constant strings."""
        plain = np.array([str(value) for value in values], dtype=object)
        return self._constant(numpy_helper.from_array(plain))

    def centred(self, x: str, mean: Array) -> str:
        """The difference x - mean, right even where the mean is far larger than the spread.

        A mean rounded to float32 would be off by up to 6e-8 of itself. So its two halves, one rounded
        and one what is left, are subtracted one after the other: the first difference is exact for x
        near the mean.
        """
        exact = np.asarray(mean, dtype=np.float64)
        with np.errstate(over="ignore"):
            rounded = exact.astype(np.float32)
        x = self.add("Sub", x, self.numbers(rounded))
        rest = (exact - rounded).astype(np.float32)
        return self.add("Sub", x, self.numbers(rest)) if rest.any() else x

    def cast(self, x: str, dtype: Any) -> str:
        """The same values in another type."""
        return self.add("Cast", x, to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def reshaped(self, x: str, *shape: int) -> str:
        """The same values in another shape; -1 once for the axis that follows from the others."""
        return self.add("Reshape", x, self.numbers(shape, np.int64))

    def embedded(self, model: ModelProto, x: str) -> list[str]:
        """The nodes of another model, which reads x; returns the names of its outputs."""
        prefix = self._new_name("part") + "_"
        copy = onnx.compose.add_prefix(model, prefix)
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

    def named(self, name: str, value: str) -> None:
        """Give a value a public name."""
        self.nodes.append(helper.make_node("Identity", [value], [name], name=name))

    def output(self, name: str, dtype: Any, *shape: int) -> onnx.ValueInfoProto:
        """Type and shape of a value with a public name; the first axis is that of the rows."""
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return helper.make_tensor_value_info(name, kind, ["rows", *shape])

    def model(self, outputs: Sequence[onnx.ValueInfoProto], width: int) -> ModelProto:
        """The finished model; values with the names of the outputs must be there."""
        nodes = _needed(self.nodes, {output.name for output in outputs})
        read = {name for node in nodes for name in _names_read(node)}
        constants = [tensor for tensor in self.constants if tensor.name in read]
        if sum(tensor.ByteSize() for tensor in constants) > LARGEST_FILE:
            raise ValueError("the model is larger than 2 GB, which is all that an ONNX file can hold.")
        rows = helper.make_tensor_value_info(INPUT, TensorProto.FLOAT, ["rows", width])
        graph = helper.make_graph(nodes, "modae", [rows], list(outputs), constants)
        imports = [helper.make_opsetid(domain, version) for domain, version in self.domains.items()]
        return helper.make_model(graph, opset_imports=imports, ir_version=IR_VERSION)

    def _constant(self, tensor: TensorProto) -> str:
        tensor.name = self._new_name("constant")
        self.constants.append(tensor)
        return tensor.name

    def _new_name(self, stem: str) -> str:
        self._count += 1
        return f"{stem}_{self._count - 1}"


def _needed(nodes: Sequence[NodeProto], wanted: set[str]) -> list[NodeProto]:
    """Nodes that lead to what is wanted: of a member's answers the ensemble may need only one."""
    kept: list[NodeProto] = []
    for node in reversed(nodes):
        if wanted.intersection(node.output):
            kept.append(node)
            wanted = wanted.union(_names_read(node))
    return kept[::-1]


def _names_read(node: NodeProto) -> Iterator[str]:
    """Values that a node reads, those inside its loops too."""
    yield from node.input
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield from _names_read_inside(attribute.g)


def _names_read_inside(graph: GraphProto) -> Iterator[str]:
    yield from (output.name for output in graph.output)
    for node in graph.node:
        yield from _names_read(node)
