"""Ways in which a file can be wrong: by damage, by mistake, or because somebody made it so."""

from __future__ import annotations

import json
import pickle
import struct
from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from typing import Any
from zipfile import ZIP_DEFLATED

import numpy as np

from benchmarks.drafts import (
    SCHEMA,
    Draft,
    Entries,
    arrays_of,
    as_json,
    bomb,
    chosen,
    edited,
    places_in,
    put,
    safetensors_of,
    with_arrays,
    with_document,
    with_entries,
    with_names,
    with_table,
)
from modae.files.container import FORMAT, MAGIC

CANARY = "modae-canary"

NUMBERS = (-1, 0, 1, 2, 1025, 2**31, 2**53 + 1, 2**63, -(2**63), 10**400, 0.5, 1e308, -1e308, 5e-324)
WORDS = ("", "x", "nan", "inf", "krylov", "brute", "<f8", "<U999999999", "O", "V8", "\0", "é")
PATHS = ("../../../tmp/x", "/etc/passwd", "..\\..\\x", "a/../../b", "C:\\x", "\0/x", "~/x")
NAMES = (
    "os:system", "builtins:eval", "builtins:exec", "subprocess:Popen", "pathlib:Path.touch",
    "pickle:loads", "numpy:load", "os.system", "sklearn.utils:Bunch", "importlib:import_module",
)  # fmt: skip
DTYPES = ("f4", "f8", "f2", "i8", "i4", "u1", "?", ">f8", "U4")
LOADERS = ("ObjectNode", "TypeNode", "FunctionNode", "MethodNode", "PartialNode", "ReduceNode")
COUNTS = (
    "n_jobs",
    "n_features_in_",
    "n_modules",
    "n_components",
    "max_iter",
    "n_classes_",
    "at",
    "part",
)


class Bait:
    """Unpickling it would create the canary."""

    def __reduce__(self) -> Any:
        return (open, (CANARY, "w"))


Mutation = Callable[[Draft, np.random.Generator], Draft]


def _changed_piece(draft: Draft, rng: np.random.Generator, change: Callable[[bytes], bytes]) -> Draft:
    """Header, arrays or a part: one of them is changed."""
    place = int(rng.integers(-2, len(draft.parts)))
    if place == -2:
        return replace(draft, header=change(draft.header))
    if place == -1:
        return replace(draft, tensors=change(draft.tensors))
    return replace(draft, parts=put(draft.parts, place, change(draft.parts[place])))


def flipped_bits(draft: Draft, rng: np.random.Generator) -> Draft:
    def change(data: bytes) -> bytes:
        flipped = bytearray(data)
        for _ in range(int(rng.integers(1, 4)) if flipped else 0):
            flipped[int(rng.integers(len(flipped)))] ^= 1 << int(rng.integers(8))
        return bytes(flipped)

    return _changed_piece(draft, rng, change)


def truncated(draft: Draft, rng: np.random.Generator) -> Draft:
    return _changed_piece(draft, rng, lambda data: data[: int(rng.integers(max(len(data), 1)))])


def swapped(draft: Draft, rng: np.random.Generator) -> Draft:
    """Two arrays, two parts or two objects change places."""
    places = rng.integers(0, 1 << 30, 2)

    def exchange(items: list[Any]) -> list[Any]:
        one, other = (places % len(items)).tolist()
        items[one], items[other] = items[other], items[one]
        return items

    what = int(rng.integers(3))
    if what == 0 and len(draft.parts) > 1:
        return replace(draft, parts=tuple(exchange(list(draft.parts))))
    if what == 1:
        return with_names(draft, lambda names: exchange(names))
    return draft.with_json(
        lambda tree: tree | {"objects": exchange(tree["objects"])} if tree["objects"] else tree
    )


def paths(draft: Draft, rng: np.random.Generator) -> Draft:
    """Names that lead out of the archive."""
    path = chosen(rng, PATHS)
    if draft.parts and rng.random() < 0.5:
        return with_entries(
            draft, rng, lambda entries: _renamed(entries, chosen(rng, list(entries)), path)
        )
    if rng.random() < 0.5:
        return with_names(draft, lambda names: [path, *names[1:]])
    return draft.with_json(lambda tree: edited(tree, rng, lambda value: path))


def _renamed(entries: dict[str, bytes], old: str, new: str) -> dict[str, bytes]:
    return {new if name == old else name: data for name, data in entries.items()}


def bombs(draft: Draft, rng: np.random.Generator) -> Draft:
    """Little that claims to be much."""
    what = int(rng.integers(4))
    if what == 0 and draft.parts:
        parts = put(
            draft.parts, int(rng.integers(len(draft.parts))), bomb(chosen(rng, [SCHEMA, "1.npy"]))
        )
        return replace(draft, parts=parts)
    if what == 1 and draft.parts:
        return with_entries(
            draft, rng, lambda entries: entries | {SCHEMA: entries[SCHEMA] + b" " * 10**6}, ZIP_DEFLATED
        )
    if what == 2:
        sides = [[2**40], [2**31, 2**31], [2**62, 4], [0, 2**62], [10**8]]
        table, data = safetensors_of(draft)
        if table:
            entry = table[chosen(rng, list(table))]
            entry["shape"] = chosen(rng, sides)
            entry["data_offsets"][1] += chosen(rng, [0, 2**40])
        return with_table(draft, table, data)
    values = (
        {"$": "words", "shape": [1], "dtype": "<U500000000", "items": ["x"]},
        {"$": "words", "shape": [0, 2**40], "dtype": "<U1", "items": []},
        {"$": "objects", "shape": [0, 2**62, 2**62], "items": []},
        {
            "$": "sparse",
            "format": "csr_array",
            "shape": [2**40, 2**40],
            "data": [],
            "indices": [],
            "indptr": [],
        },
        {"$": "array", "name": "9" * 10**5},
        [[0] * 1000] * 1000,
        10**4000,
    )
    return draft.with_json(lambda tree: edited(tree, rng, lambda value: chosen(rng, values)))


def pickles(draft: Draft, rng: np.random.Generator) -> Draft:
    """A pickle where arrays, a part or an entry of a part should be."""
    bait, objects = pickle.dumps(Bait()), BytesIO()
    np.save(objects, np.array([Bait()], dtype=object), allow_pickle=True)
    what = int(rng.integers(4))
    if what == 0 or not draft.parts:
        return replace(draft, tensors=bait)
    if what == 1:
        return replace(draft, parts=put(draft.parts, int(rng.integers(len(draft.parts))), bait))
    data = bait if what == 2 else objects.getvalue()
    return with_entries(draft, rng, lambda entries: entries | {chosen(rng, list(entries)): data})


def _arrays(draft: Draft, rng: np.random.Generator, change: Callable[[np.ndarray], np.ndarray]) -> Draft:
    """One array is changed: of ours, or in a foreign part."""
    if draft.parts and rng.random() < 0.5:
        return with_entries(draft, rng, lambda entries: _changed_entry(entries, rng, change))
    arrays = arrays_of(draft)
    if not arrays:
        return draft
    name = chosen(rng, list(arrays))
    arrays[name] = change(arrays[name])
    return with_arrays(draft, arrays)


def _changed_entry(
    entries: Entries, rng: np.random.Generator, change: Callable[[np.ndarray], np.ndarray]
) -> Entries:
    names = [name for name in entries if name != SCHEMA]
    if not names:
        return entries
    name, target = chosen(rng, names), BytesIO()
    np.save(target, change(np.load(BytesIO(entries[name])).copy()))
    return entries | {name: target.getvalue()}


def shapes(draft: Draft, rng: np.random.Generator) -> Draft:
    def change(values: np.ndarray) -> np.ndarray:
        others = [values.T, values.reshape(-1), values[np.newaxis], values.reshape(-1)[:0]]
        if values.ndim and len(values):
            others += [values[:-1], np.concatenate([values, values]), values[..., :-1]]
        return chosen(rng, others)

    return _arrays(draft, rng, change)


def numbers(draft: Draft, rng: np.random.Generator) -> Draft:
    """Not a number, infinity, or a number that is far out."""

    def change(values: np.ndarray) -> np.ndarray:
        fields = values.dtype.names
        flat = (values[chosen(rng, fields)] if fields else values).reshape(-1)
        extremes = [np.nan, np.inf, -np.inf, 1e308, -1e308, -1.0, 0.0, 1e6, 2.0**31, 1.0]
        if flat.size and flat.dtype.kind in "iufb":
            with np.errstate(all="ignore"):
                place = slice(None) if rng.random() < 0.1 else int(rng.integers(flat.size))
                flat[place] = np.array(chosen(rng, extremes)).astype(flat.dtype)
        return values

    return _arrays(draft, rng, change)


def dtypes(draft: Draft, rng: np.random.Generator) -> Draft:
    def change(values: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            wanted = chosen(rng, DTYPES)
            return np.zeros(values.shape, wanted) if values.dtype.names else values.astype(wanted)

    return _arrays(draft, rng, change)


def values(draft: Draft, rng: np.random.Generator) -> Draft:
    """Any value becomes another: a number, a word, nothing, or one of the same tree."""

    def change(tree: Any) -> Any:
        found = [holder[key] for holder, key in places_in(tree)]
        plain = [*NUMBERS, *WORDS, *PATHS, *NAMES, None, True, False, [], {}]
        texts = [str(number) for number in NUMBERS]  # a schema has its numbers in words
        return edited(tree, rng, lambda value: chosen(rng, chosen(rng, [plain, found, texts])))

    return with_document(draft, rng, change)


def lost_keys(draft: Draft, rng: np.random.Generator) -> Draft:
    def change(tree: Any) -> Any:
        holder, key = chosen(rng, list(places_in(tree)))
        del holder[key]
        return tree

    return with_document(draft, rng, change)


def nested(draft: Draft, rng: np.random.Generator) -> Draft:
    """A value so deep that a careless parser would run out of stack; or an object inside itself."""
    if rng.random() < 0.5:
        count = len(json.loads(draft.header)["objects"])
        node = {"$": "object", "at": int(rng.integers(-1, count + 1))}
        wrapped = chosen(rng, [node, [node], {"$": "tuple", "items": [node, node]}])
        return draft.with_json(lambda tree: edited(tree, rng, lambda value: wrapped))
    depth = chosen(rng, [100, 1000, 10**5])
    left, right = chosen(rng, [(b"[", b"]"), (b'{"a":', b"}"), (b'{"$":"tuple","items":[', b"]}")])
    deep = left * depth + b"1" + right * depth

    def change(tree: Any) -> bytes:
        return as_json(edited(tree, rng, lambda value: "DEEP")).replace(b'"DEEP"', deep)

    if draft.parts and rng.random() < 0.5:
        return with_entries(draft, rng, lambda old: old | {SCHEMA: change(json.loads(old[SCHEMA]))})
    return replace(draft, header=change(json.loads(draft.header)))


def jobs(draft: Draft, rng: np.random.Generator) -> Draft:
    """Threads, sizes and counts that no machine has."""

    def change(tree: Any) -> Any:
        held = [(holder, key) for holder, key in places_in(tree) if key in COUNTS]
        for holder, key in [chosen(rng, held)] if held else []:
            holder[key] = chosen(rng, NUMBERS)
        return tree

    return with_document(draft, rng, change)


def references(draft: Draft, rng: np.random.Generator) -> Draft:
    """Names of classes and functions that a file must not get at."""
    name = chosen(rng, NAMES)
    module, _, attribute = name.replace(".system", ":system").partition(":")

    def in_header(tree: Any) -> Any:
        if rng.random() < 0.3 and tree["objects"]:
            chosen(rng, tree["objects"])["class"] = name
            return tree
        return edited(tree, rng, lambda value: {"$": "name", "value": name})

    def in_schema(tree: Any) -> Any:
        nodes = [holder for holder, key in places_in(tree) if key == "__class__"]
        node = chosen(rng, nodes or [{}])
        node |= {"__class__": attribute, "__module__": module}
        if rng.random() < 0.7:
            node["__loader__"] = chosen(rng, LOADERS)
            node["content"] = {"args": [CANARY, "w"], "func": name, "module_path": module}
        return tree

    return with_document(
        draft, rng, lambda tree: in_header(tree) if "objects" in tree else in_schema(tree)
    )


KINDS: dict[str, Mutation] = {
    mutation.__name__.replace("_", " "): mutation
    for mutation in (
        flipped_bits, truncated, swapped, paths, bombs, pickles, shapes, numbers, dtypes, values,
        lost_keys, nested, jobs, references,
    )
}  # fmt: skip


def whole_file(content: bytes, rng: np.random.Generator) -> bytes:
    """Changes that need no parser: of the bytes, of the version of the format, of the kind of file."""
    place = int(rng.integers(len(content)))
    newer = MAGIC + struct.pack("<I", chosen(rng, [0, FORMAT + 1, 2**31])) + content[len(MAGIC) + 4 :]
    flipped = bytes([content[place] ^ 1 << int(rng.integers(8))])
    return chosen(
        rng,
        [
            content[:place] + flipped + content[place + 1 :],
            content[:place],
            content[place:],
            content + content,
            newer,
            pickle.dumps(Bait()),
            MAGIC + pickle.dumps(Bait()),
            content[:place] + pickle.dumps(Bait(), 0) + content[place:],
        ],
    )
