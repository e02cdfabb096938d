"""The bytes of a file: a fixed prologue with a checksum, a JSON header, arrays, and foreign parts.

====================  ===========================================================================
bytes                 content
====================  ===========================================================================
8                     ``MAGIC``
4                     version of the format
8                     length of all that follows the prologue
32                    SHA-256 of the header and of the foreign parts, in this order
8                     length of the header
...                   the header: JSON, UTF-8
...                   the arrays: safetensors; length and CRC-32 are in the header under "tensors"
...                   foreign parts, one after the other, their lengths in the header under "parts"
====================  ===========================================================================

Numbers are little-endian. Nothing in it is executed or unpickled, and nothing is compressed, so what is
read is never longer than the file. Arrays have a checksum of their own kind because it is three times
faster: for them it is most of the time of loading.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from hashlib import sha256
from math import prod
from pathlib import Path
from struct import Struct
from typing import IO, Any
from zlib import crc32

import numpy as np

from modae.files.errors import ModelFormatError
from modae.utils.atomic import atomic_write

MAGIC = b"\x93MODAE\r\n"
FORMAT = 1

PROLOGUE = Struct("<8sIQ32s")
LENGTH = Struct("<Q")

SAFETENSORS_DTYPES = {
    "float64": "F64",
    "float32": "F32",
    "float16": "F16",
    "int64": "I64",
    "int32": "I32",
    "int16": "I16",
    "int8": "I8",
    "uint64": "U64",
    "uint32": "U32",
    "uint16": "U16",
    "uint8": "U8",
    "bool": "BOOL",
}

DTYPES = {code: np.dtype(name) for name, code in SAFETENSORS_DTYPES.items()}

MISMATCH = "The file is damaged: its content does not match its checksum."

LOOKS_LIKE = (
    (b"\x80", "a pickle, which could run any code"),
    (b"PK\x03\x04", "a zip archive"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"\x1f\x8b", "a gzip file"),
    (b"{", "JSON text"),
)


@dataclass(frozen=True)
class Container:
    """What is in a file: header, arrays by name, foreign parts."""

    header: dict[str, Any]
    tensors: Mapping[str, np.ndarray]
    parts: Sequence[bytes]


def write_container(path: str | os.PathLike[str], container: Container) -> None:
    """Write a file whole, or not at all."""
    tensors = safetensors_pieces(container.tensors)
    parts = {
        "tensors": {"length": sum(map(len, tensors)), "crc32": crc_of(tensors)},
        "parts": [len(part) for part in container.parts],
    }
    header = json.dumps(container.header | parts, allow_nan=False, separators=(",", ":")).encode()
    body = [LENGTH.pack(len(header)), header, *tensors, *container.parts]
    checksum = digest_of([header, *container.parts])
    with atomic_write(path) as file:
        file.write(PROLOGUE.pack(MAGIC, FORMAT, sum(map(len, body)), checksum))
        for piece in body:
            file.write(piece)


def safetensors_pieces(tensors: Mapping[str, np.ndarray]) -> list[bytes | memoryview]:
    """Arrays in the safetensors format, without a copy of them: its header, then their own memory."""
    table, start = {}, 0
    for name, values in tensors.items():
        end = start + values.nbytes
        dtype = SAFETENSORS_DTYPES[values.dtype.name]
        table[name] = {"dtype": dtype, "shape": values.shape, "data_offsets": [start, end]}
        start = end
    head = json.dumps(table, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    return [LENGTH.pack(len(head)), head, *(_memory(values) for values in tensors.values())]


def arrays_in(block: np.ndarray) -> dict[str, np.ndarray]:
    """The arrays in memory that :func:`safetensors_pieces` has filled, as views of it.

    They must follow each other without a gap and fill it, so a table cannot claim more than there is.
    """
    (length,) = LENGTH.unpack(block[: LENGTH.size].data)
    table, data = json.loads(block[LENGTH.size :][:length].tobytes()), block[LENGTH.size + length :]
    arrays, start = {}, 0
    for name, entry in table.items():
        end = start + _size_of(entry)
        if entry["data_offsets"] != [start, end] or end > len(data):
            raise ModelFormatError(f"The file is damaged: array {name!r:.40} is not where it should be.")
        arrays[name] = _view(data[start:end], entry)
        start = end
    if start != len(data):
        raise ModelFormatError("The file is damaged: it has numbers that belong to no array.")
    return arrays


def _size_of(entry: Any) -> int:
    """Bytes that an array needs."""
    if not all(type(side) is int and side >= 0 for side in entry["shape"]):
        raise ModelFormatError(f"The file is damaged: {entry['shape']!r:.40} is no shape.")
    return prod(entry["shape"]) * DTYPES[entry["dtype"]].itemsize


def _view(memory: np.ndarray, entry: Any) -> np.ndarray:
    if entry["dtype"] == "BOOL" and memory.max(initial=0) > 1:
        raise ModelFormatError("The file is damaged: neither true nor false.")
    values = memory.view(DTYPES[entry["dtype"]]).reshape(entry["shape"])
    native = values if sys.byteorder == "little" else values.byteswap()
    # An odd number of short numbers before it may have left an array where a processor reads slowly.
    return np.require(native, requirements="A")


def _memory(values: np.ndarray) -> memoryview:
    little = values.astype(values.dtype.newbyteorder("<"), copy=False)
    return np.ascontiguousarray(little).reshape(-1).view(np.uint8).data


def crc_of(pieces: Iterable[bytes | memoryview]) -> int:
    """CRC-32 of pieces that follow each other."""
    return reduce(lambda crc, piece: crc32(piece, crc), pieces, 0)


def digest_of(pieces: Iterable[bytes]) -> bytes:
    """SHA-256 of pieces that follow each other."""
    checksum = sha256()
    for piece in pieces:
        checksum.update(piece)
    return checksum.digest()


def read_container(path: str | os.PathLike[str]) -> Container:
    """Read a file, check that it is whole, and take it apart. Raises :class:`ModelFormatError`."""
    with Path(path).open("rb") as file:
        length, checksum = _read_prologue(file.read(PROLOGUE.size))
        _check_length(os.fstat(file.fileno()).st_size, PROLOGUE.size + length)
        try:
            return _read_body(file, length, checksum)
        except (ModelFormatError, OSError):
            raise
        except Exception as reason:
            raise ModelFormatError(f"The file is damaged: {reason}") from reason


def _check_length(present: int, expected: int) -> None:
    if present < expected:
        raise ModelFormatError(
            f"The file is truncated: {present:,} of {expected:,} bytes are there. Copy or save it again."
        )
    if present > expected:
        raise ModelFormatError(f"The file is damaged: {present - expected:,} bytes too many.")


def _read_body(file: IO[bytes], length: int, checksum: bytes) -> Container:
    pieces = _Pieces(file, length)
    header = pieces.take(*LENGTH.unpack(pieces.take(LENGTH.size)))
    try:
        content = json.loads(header)
        lengths = content["tensors"]["length"], *content["parts"]
    except (ValueError, LookupError, TypeError, RecursionError):
        raise ModelFormatError(
            MISMATCH
        ) from None  # most likely: a header that makes no sense has another checksum
    tensors = pieces.take_block(lengths[0])
    parts = [pieces.take(length) for length in lengths[1:]]
    pieces.finish()
    whole = (
        crc32(tensors.data) == content["tensors"]["crc32"] and digest_of([header, *parts]) == checksum
    )
    if not whole:
        raise ModelFormatError(MISMATCH)
    return Container(content, arrays_in(tensors), parts)


def _read_prologue(start: bytes) -> tuple[int, bytes]:
    if not start.startswith(MAGIC):
        if start and MAGIC.startswith(start[: len(MAGIC)]):
            raise ModelFormatError(f"The file is truncated: only {len(start)} bytes are there.")
        kinds = [kind for beginning, kind in LOOKS_LIKE if start.startswith(beginning)]
        looks = f"; it looks like {kinds[0]}, and was not opened" if kinds else ""
        raise ModelFormatError(f"This is no file of modae{looks if start else '; it is empty'}.")
    if len(start) < PROLOGUE.size:
        raise ModelFormatError(f"The file is truncated: only {len(start)} bytes are there.")
    _, version, length, checksum = PROLOGUE.unpack(start)
    if version > FORMAT:
        raise ModelFormatError(
            f"The file was written by a newer modae: its format is {version}, this one reads up to "
            f"{FORMAT}. Upgrade with: pip install --upgrade modae"
        )
    if version != FORMAT:
        raise ModelFormatError(f"The file is damaged: there is no format {version}.")
    return length, checksum


class _Pieces:
    """Consecutive pieces of a file, which must be used up in the end."""

    def __init__(self, file: IO[bytes], length: int) -> None:
        self.file, self.left = file, length

    def take(self, length: Any) -> bytes:
        return self.take_block(length).tobytes()

    def take_block(self, length: Any) -> np.ndarray:
        """The bytes as memory that arrays can be views of."""
        if type(length) is not int or not 0 <= length <= self.left:
            raise ModelFormatError(f"The file is damaged: it has no part of {length!r:.40} bytes.")
        self.left -= length
        block = np.empty(length, dtype=np.uint8)
        _check_length(self.file.readinto(block), length)  # type: ignore[attr-defined]
        return block

    def finish(self) -> None:
        if self.left:
            raise ModelFormatError("The file is damaged: it has bytes that belong to no part.")
