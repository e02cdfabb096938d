"""The bytes of a file: what is written can be read by others, and lies about sizes are seen."""

import json
import zlib
from hashlib import sha256

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from safetensors.numpy import load as load_safetensors

from modae.files.container import (
    FORMAT,
    MAGIC,
    SAFETENSORS_DTYPES,
    Container,
    arrays_in,
    read_container,
    safetensors_pieces,
    write_container,
)
from modae.files.errors import ModelFormatError

DTYPES = list(SAFETENSORS_DTYPES)


def block(table, data=b""):
    """Arrays with whatever table somebody made up."""
    head = table if isinstance(table, bytes) else json.dumps(table).encode()
    return np.frombuffer(len(head).to_bytes(8, "little") + head + data, dtype=np.uint8)


some_arrays = st.sampled_from(DTYPES).flatmap(
    lambda name: arrays.arrays(name, arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
)


@given(st.dictionaries(st.text(max_size=5), some_arrays, max_size=4))
def test_arrays_are_safetensors(values):
    """Our writer against the reader of the format's authors, and our reader against both."""
    written = b"".join(map(bytes, safetensors_pieces(values)))
    theirs = load_safetensors(written)
    ours = arrays_in(np.frombuffer(written, dtype=np.uint8).copy())
    assert set(theirs) == set(ours) == set(values)
    for name, expected in values.items():
        for found in (theirs[name], ours[name]):
            assert found.dtype == expected.dtype
            assert found.shape == expected.shape
            assert found.tobytes() == expected.tobytes()
        assert ours[name].flags.aligned
        assert ours[name].flags.writeable


def test_arrays_in_any_order_of_memory():
    values = {
        "columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "swapped": np.arange(3, dtype=">i4"),
    }
    written = b"".join(map(bytes, safetensors_pieces(values)))
    for name, found in arrays_in(np.frombuffer(written, dtype=np.uint8)).items():
        np.testing.assert_array_equal(found, values[name])


def test_the_prologue_is_as_documented(tmp_path):
    """Read with nothing but the table in the documentation."""
    path = tmp_path / "file"
    write_container(path, Container({"a": 1}, {"x": np.arange(3.0)}, [b"one", b"three"]))
    content = path.read_bytes()
    assert content[:8] == MAGIC
    assert int.from_bytes(content[8:12], "little") == FORMAT
    assert int.from_bytes(content[12:20], "little") == len(content) - 52
    length = int.from_bytes(content[52:60], "little")
    header = json.loads(content[60 : 60 + length])
    rest = content[60 + length :]
    arrays_length = header["tensors"]["length"]
    assert header["tensors"]["crc32"] == zlib.crc32(rest[:arrays_length])
    assert header["parts"] == [3, 5]
    assert rest[arrays_length:] == b"onethree"
    assert content[20:52] == sha256(content[60 : 60 + length] + b"onethree").digest()


def test_containers_come_back(tmp_path):
    path = tmp_path / "file"
    written = Container(
        {"a": [1, None, "é"]}, {"x": np.arange(3.0), "y": np.zeros((0, 2))}, [b"", b"xyz"]
    )
    write_container(path, written)
    found = read_container(path)
    assert {name: found.header[name] for name in written.header} == written.header
    assert list(found.parts) == list(written.parts)
    for name, values in written.tensors.items():
        np.testing.assert_array_equal(found.tensors[name], values, strict=True)


def test_every_single_bit_is_guarded(tmp_path):
    path = tmp_path / "file"
    write_container(path, Container({"a": 1}, {"x": np.arange(2.0)}, [b"part"]))
    content = path.read_bytes()
    for place in range(len(content)):
        for bit in range(8):
            damaged = bytearray(content)
            damaged[place] ^= 1 << bit
            path.write_bytes(damaged)
            with pytest.raises(ModelFormatError):
                read_container(path)


def test_every_truncation_is_seen(tmp_path):
    path = tmp_path / "file"
    write_container(path, Container({"a": 1}, {"x": np.arange(2.0)}, [b"part"]))
    content = path.read_bytes()
    for length in range(len(content)):
        path.write_bytes(content[:length])
        with pytest.raises(ModelFormatError, match="truncated" if length else "empty"):
            read_container(path)


def entry(dtype="F64", shape=(1,), offsets=(0, 8)):
    return {"x": {"dtype": dtype, "shape": shape, "data_offsets": offsets}}


LIES = {
    "too long": (entry(shape=[2], offsets=[0, 16]), bytes(8)),
    "too short": (entry(), bytes(16)),
    "huge": (entry(shape=[2**62], offsets=[0, 2**65]), bytes(8)),
    "huge product": (entry(shape=[2**32, 2**32, 2**32], offsets=[0, 8]), bytes(8)),
    "huge and empty": (entry(shape=[0, 2**63], offsets=[0, 0]), b""),
    "negative": (entry(shape=[-1], offsets=[0, -8]), b""),
    "two negatives": (entry(shape=[-1, -1]), bytes(8)),
    "half a number": (entry(shape=[0.5], offsets=[0, 4]), bytes(4)),
    "true": (entry(shape=[True]), bytes(8)),
    "a gap": (entry(offsets=[8, 16]), bytes(16)),
    "no such dtype": (entry(dtype="F128"), bytes(8)),
    "neither true nor false": (entry(dtype="BOOL", offsets=[0, 1]), b"\x02"),
    "many axes": (entry(shape=[1] * 100), bytes(8)),
    "metadata": ({"__metadata__": {"a": "b"}}, b""),
    "a list": ([], b""),
    "no JSON": (b"{", b""),
    "deep": (b"[" * 10**5 + b"]" * 10**5, b""),
    "no offsets": ({"x": {"dtype": "F64", "shape": []}}, b""),
    "overlap": ({**entry(), "y": entry()["x"]}, bytes(8)),
}


@pytest.mark.parametrize("lie", LIES)
def test_lies_about_arrays(lie, tmp_path, monkeypatch):
    table, data = LIES[lie]
    path = tmp_path / "file"
    forged = [bytes(block(table, data))]
    monkeypatch.setattr("modae.files.container.safetensors_pieces", lambda tensors: forged)
    write_container(path, Container({}, {}, []))
    with pytest.raises(ModelFormatError):
        read_container(path)


@pytest.mark.parametrize("length", [2**63, 2**64 - 1, 10**6])
def test_lies_about_the_header(length, tmp_path):
    path = tmp_path / "file"
    write_container(path, Container({"a": 1}, {}, []))
    content = path.read_bytes()
    path.write_bytes(content[:52] + length.to_bytes(8, "little") + content[60:])
    with pytest.raises(ModelFormatError, match="no part of"):
        read_container(path)


def test_numbers_that_json_has_not_are_not_written(tmp_path):
    with pytest.raises(ValueError, match="JSON"):
        write_container(tmp_path / "file", Container({"a": float("nan")}, {}, []))
    assert list(tmp_path.iterdir()) == []
