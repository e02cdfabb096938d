"""Blobs with something wrong in them, and a process of its own that opens them."""

from __future__ import annotations

import json
import select
import subprocess
import sys
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, ZipFile

import numpy as np

Entries = dict[str, bytes]
SCHEMA = "schema.json"
EXTREMES = ("-1", "0", "1", "2", "7", "99999999", "9223372036854775807", "-9223372036854775808")
WORDS = (*EXTREMES, "1e308", "NaN", "Infinity", "null", "true", '"x"', '""', '"brute"', '"precomputed"')


def entries_of(blob: bytes) -> Entries:
    with ZipFile(BytesIO(blob)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(entries: Entries, compression: int = ZIP_STORED) -> bytes:
    """An archive with right checksums, so that a mutation reaches the reader."""
    target = BytesIO()
    with ZipFile(target, "w", compression) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return target.getvalue()


def nodes_of(node: Any) -> list[dict[str, Any]]:
    """Every JSON object with a loader, by brute force."""
    inside = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    found = [node] if isinstance(node, dict) and "__loader__" in node else []
    return found + [one for child in inside for one in nodes_of(child)]


def _array_name(entries: Entries, rng: np.random.Generator) -> str:
    return str(rng.choice([name for name in entries if name != SCHEMA]))


def flipped_array(entries: Entries, rng: np.random.Generator) -> str:
    name = _array_name(entries, rng)
    data = bytearray(entries[name])
    place = int(rng.integers(len(data)))
    data[place] ^= 1 << int(rng.integers(8))
    entries[name] = bytes(data)
    return f"a bit of {name} at {place}"


def poked_array(entries: Entries, rng: np.random.Generator) -> str:
    """One element becomes an extreme number: what a patient attacker would try."""
    name = _array_name(entries, rng)
    array = np.load(BytesIO(entries[name]))
    field = array[str(rng.choice(array.dtype.names))] if array.dtype.names else array
    if field.size == 0 or field.dtype.kind not in "iuf":
        return flipped_array(entries, rng)
    numbers: list[Any] = [np.nan, np.inf, -1.0, 1e300] if field.dtype.kind == "f" else [-1, 0, 1, 5, 300]
    if field.dtype.kind in "iu":
        limits = np.iinfo(field.dtype)
        numbers = [min(max(n, limits.min), limits.max) for n in (*numbers, limits.min, limits.max)]
    with np.errstate(over="ignore"):
        value = np.array(numbers[int(rng.integers(len(numbers)))], dtype=field.dtype)
    place = np.unravel_index(int(rng.integers(field.size)), field.shape)
    field[place] = value
    _put(entries, name, array)
    return f"{name}[{place}] = {value} of {array.dtype}"


def reshaped_array(entries: Entries, rng: np.random.Generator) -> str:
    name = _array_name(entries, rng)
    array = np.load(BytesIO(entries[name]))
    changes = [lambda a: a[np.newaxis], lambda a: a.T, lambda a: a.reshape(-1)]
    if array.ndim:
        changes += [lambda a: a[:0], lambda a: a[:-1], lambda a: np.concatenate([a, a])]
    changed = changes[int(rng.integers(len(changes)))](array)
    _put(entries, name, changed)
    return f"{name} from {array.shape} to {changed.shape}"


def cast_array(entries: Entries, rng: np.random.Generator) -> str:
    name = _array_name(entries, rng)
    array = np.load(BytesIO(entries[name]))
    dtype = str(rng.choice(["f4", "i4", "u1", "U3", ">f8", ">i4", "f2", "?"]))
    with np.errstate(all="ignore"):
        _put(entries, name, array.astype(dtype) if array.dtype.names is None else np.zeros(3, dtype))
    return f"{name} from {array.dtype} to {dtype}"


def _put(entries: Entries, name: str, array: np.ndarray) -> None:
    target = BytesIO()
    np.save(target, array, allow_pickle=False)
    entries[name] = target.getvalue()


def swapped_arrays(entries: Entries, rng: np.random.Generator) -> str:
    one, other = _array_name(entries, rng), _array_name(entries, rng)
    entries[one], entries[other] = entries[other], entries[one]
    return f"{one} and {other} swapped"


def flipped_schema(entries: Entries, rng: np.random.Generator) -> str:
    data = bytearray(entries[SCHEMA])
    place = int(rng.integers(len(data)))
    data[place] ^= 1 << int(rng.integers(8))
    entries[SCHEMA] = bytes(data)
    return f"a bit of the schema at {place}"


def other_value(entries: Entries, rng: np.random.Generator) -> str:
    schema = json.loads(entries[SCHEMA])
    values = [node for node in nodes_of(schema) if node["__loader__"] == "JsonNode"]
    node = values[int(rng.integers(len(values)))]
    before, node["content"] = node["content"], str(rng.choice(WORDS))
    entries[SCHEMA] = json.dumps(schema).encode()
    return f"a value {before} became {node['content']}"


def other_node(entries: Entries, rng: np.random.Generator) -> str:
    """A node becomes a reference to another one."""
    schema = json.loads(entries[SCHEMA])
    nodes = [node for node in nodes_of(schema) if "__id__" in node][1:]
    node, other = nodes[int(rng.integers(len(nodes)))], nodes[int(rng.integers(len(nodes)))]
    number = other["__id__"]
    story = f"{node['__class__']} {node['__id__']} became node {number}, {other['__class__']}"
    node.clear()
    node["__id__"] = number
    entries[SCHEMA] = json.dumps(schema).encode()
    return story


def lost_attribute(entries: Entries, rng: np.random.Generator) -> str:
    schema = json.loads(entries[SCHEMA])
    holders = [node for node in nodes_of(schema) if node["__loader__"] == "DictNode" and node["content"]]
    node = holders[int(rng.integers(len(holders)))]
    name = str(rng.choice(list(node["content"])))
    del node["content"][name]
    entries[SCHEMA] = json.dumps(schema).encode()
    return f"without {name}"


MUTATIONS: tuple[Callable[[Entries, np.random.Generator], str], ...] = (
    flipped_array, poked_array, poked_array, poked_array, reshaped_array, cast_array, swapped_arrays,
    flipped_schema, other_value, other_value, other_node, lost_attribute,
)  # fmt: skip


def mutant(blob: bytes, seed: int) -> tuple[bytes, str]:
    """A blob with something wrong in it, and what."""
    rng = np.random.default_rng(seed)
    entries = entries_of(blob)
    mutation = MUTATIONS[seed % len(MUTATIONS)]
    story = mutation(entries, rng)
    return zipped(entries), f"seed {seed}, {mutation.__name__}: {story}"


class Worker:
    """A process that opens blobs and predicts with them, so that a crash is an answer."""

    def __init__(self) -> None:
        command = [sys.executable, str(Path(__file__).with_name("opener.py"))]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def answer(self, blob: bytes, n_features: int, patience: float) -> str:
        """What became of the blob: "refused ..." or "opened ...", "crashed" or "hung"."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(len(blob).to_bytes(8, "little") + n_features.to_bytes(8, "little") + blob)
        stdin.flush()
        if not select.select([stdout], [], [], patience)[0]:
            return "hung"
        return stdout.readline().decode().strip() or f"crashed with {self._process.wait()}"

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.kill()
        self._process.wait()
