"""A file taken apart, so that it can be changed and put together again with right checksums."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cache
from io import BytesIO
from itertools import pairwise
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import numpy as np

from modae.files.container import FORMAT, LENGTH, MAGIC, PROLOGUE, digest_of

GIGABYTE = 1 << 30

SCHEMA = "schema.json"
"""The entry of a foreign part that is JSON; all others are arrays."""


def as_json(tree: Any) -> bytes:
    """As the writer does it, so that a change which changes nothing can be seen."""
    return json.dumps(tree, separators=(",", ":")).encode()


@dataclass(frozen=True)
class Draft:
    """Header, arrays and foreign parts, each as bytes."""

    header: bytes
    tensors: bytes
    parts: tuple[bytes, ...]

    def assembled(self) -> bytes:
        """A file whose every length and checksum is right."""
        header = self.header
        try:
            content = json.loads(header)
            content["tensors"] = {"length": len(self.tensors), "crc32": zlib.crc32(self.tensors)}
            content["parts"] = [len(part) for part in self.parts]
            header = as_json(content)
        except (ValueError, TypeError, RecursionError):
            pass  # a header that is no JSON, or too deep for Python, goes as it is
        return self._with(header, digest_of([header, *self.parts]))

    def left_as_it_is(self, original: bytes) -> bytes:
        """The changed content under the old checksum, as damage would leave it."""
        return self._with(self.header, original[PROLOGUE.size - 32 : PROLOGUE.size])

    def _with(self, header: bytes, checksum: bytes) -> bytes:
        body = b"".join([LENGTH.pack(len(header)), header, self.tensors, *self.parts])
        return PROLOGUE.pack(MAGIC, FORMAT, len(body), checksum) + body

    def with_json(self, change: Callable[[Any], Any]) -> Draft:
        return replace(self, header=as_json(change(json.loads(self.header))))


def draft_of(content: bytes) -> Draft:
    """The pieces of a good file."""
    body = content[PROLOGUE.size :]
    (length,) = LENGTH.unpack(body[: LENGTH.size])
    header, rest = body[LENGTH.size :][:length], body[LENGTH.size + length :]
    lengths = [json.loads(header)["tensors"]["length"], *json.loads(header)["parts"]]
    ends = np.cumsum([0, *lengths])
    pieces = [rest[start:end] for start, end in pairwise(ends)]
    return Draft(header, pieces[0], tuple(pieces[1:]))


def put(items: Any, place: int, item: Any) -> tuple[Any, ...]:
    return (*items[:place], item, *items[place + 1 :])


def with_names(draft: Draft, rename: Callable[[list[str]], list[str]]) -> Draft:
    """The arrays under other names."""
    table, data = safetensors_of(draft)
    names = rename(list(table)) if table else []
    return with_table(draft, dict(zip(names, table.values(), strict=True)), data)


def safetensors_of(draft: Draft) -> tuple[dict[str, Any], bytes]:
    (length,) = LENGTH.unpack(draft.tensors[:8])
    return json.loads(draft.tensors[8 : 8 + length]), draft.tensors[8 + length :]


def with_table(draft: Draft, table: Any, data: bytes) -> Draft:
    head = as_json(table)
    head += b" " * (-len(head) % 8)
    return replace(draft, tensors=LENGTH.pack(len(head)) + head + data)


Entries = dict[str, bytes]


def with_entries(
    draft: Draft,
    rng: np.random.Generator,
    change: Callable[[Entries], Entries],
    method: int = ZIP_STORED,
) -> Draft:
    """A foreign part whose archive has other entries."""
    place = int(rng.integers(len(draft.parts)))
    with ZipFile(BytesIO(draft.parts[place])) as archive:
        entries = change({name: archive.read(name) for name in archive.namelist()})
    target = BytesIO()
    with ZipFile(target, "w", method) as archive:
        for name, data in entries.items():
            archive.writestr(ZipInfo(name.replace("\0", "")), data, method)
    return replace(draft, parts=put(draft.parts, place, target.getvalue()))


CODES = {
    "F64": "f8",
    "F32": "f4",
    "F16": "f2",
    "I64": "i8",
    "I32": "i4",
    "U8": "u1",
    "U32": "u4",
    "BOOL": "?",
}


def arrays_of(draft: Draft) -> dict[str, np.ndarray]:
    """The arrays by name, as a reader that trusts the file would get them."""
    table, data = safetensors_of(draft)
    return {name: _array_of(entry, data) for name, entry in table.items()}


def _array_of(entry: Any, data: bytes) -> np.ndarray:
    start, end = entry["data_offsets"]
    return np.frombuffer(data[start:end], CODES[entry["dtype"]]).reshape(entry["shape"]).copy()


def with_arrays(draft: Draft, arrays: dict[str, np.ndarray]) -> Draft:
    table, start, codes = {}, 0, {np.dtype(code): name for name, code in CODES.items()}
    for name, values in arrays.items():
        kind = codes.get(values.dtype, "BF16")
        table[name] = {
            "dtype": kind,
            "shape": values.shape,
            "data_offsets": [start, start + values.nbytes],
        }
        start += values.nbytes
    return with_table(draft, table, b"".join(values.tobytes() for values in arrays.values()))


def chosen(rng: np.random.Generator, items: Any) -> Any:
    """One of several, as it is: NumPy would make a number of NumPy out of a number."""
    return items[int(rng.integers(len(items)))]


def places_in(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Every (holder, key) in a tree of JSON."""
    keys: Any = tree if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ()
    for key in keys:
        yield tree, key
        yield from places_in(tree[key])


def edited(tree: Any, rng: np.random.Generator, change: Callable[[Any], Any]) -> Any:
    """The tree with one value, or two, replaced."""
    for _ in range(1 + int(rng.random() < 0.2)):
        holder, key = chosen(rng, list(places_in(tree)))
        holder[key] = deepcopy(change(holder[key]))  # or a second change might tie a knot
    return tree


def with_document(draft: Draft, rng: np.random.Generator, change: Callable[[Any], Any]) -> Draft:
    """The header, or the schema of a foreign part, is changed."""
    if not draft.parts or rng.random() < 0.5:
        return draft.with_json(change)
    return with_entries(
        draft, rng, lambda entries: entries | {SCHEMA: as_json(change(json.loads(entries[SCHEMA])))}
    )


@cache
def bomb(name: str) -> bytes:
    """An archive of one megabyte with an entry of one gigabyte."""
    target = BytesIO()
    with (
        ZipFile(target, "w", ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open(name, "w") as entry,
    ):
        for _ in range(64):
            entry.write(bytes(GIGABYTE // 64))
    return target.getvalue()
