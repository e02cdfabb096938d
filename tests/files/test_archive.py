"""The bytes of a file: others can read it, and a zip that is not as it should be is refused."""

import json
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np
import pytest
from benchmarks.damaged_files import entries_of, zipped
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays
from sklearn.linear_model import LogisticRegression

import modae
from files import parts
from modae.files.archive import ARRAYS, FORMAT, HEADER, safetensors_parts

MEMBER = "members/0.skops"


@pytest.fixture(scope="module")
def whole():
    return parts.bytes_of(parts.classifier(LogisticRegression()).fit(parts.X, parts.LABELS))


def refused(content, tmp_path, match):
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(modae.ModelFormatError, match=match):
        modae.load(path)


def test_a_file_is_a_plain_zip(whole):
    with ZipFile(BytesIO(whole)) as archive:
        assert archive.testzip() is None
        infos = archive.infolist()
    assert [info.filename for info in infos[:3]] == [HEADER, ARRAYS, MEMBER]
    assert {info.compress_type for info in infos} == {ZIP_STORED}
    assert {info.date_time for info in infos} == {(1980, 1, 1, 0, 0, 0)}
    entries = entries_of(whole)
    header = json.loads(entries[HEADER])
    assert header["format"] == FORMAT
    assert len(load_arrays(entries[ARRAYS])) == header["arrays"]


@pytest.mark.parametrize("place", [HEADER, ARRAYS, MEMBER])
def test_checksums_guard_every_entry(place, whole, tmp_path):
    entry = entries_of(whole)[place]
    damaged = whole.replace(entry, entry[:50] + bytes([entry[50] ^ 1]) + entry[51:])
    refused(damaged, tmp_path, "damaged .*CRC")


def test_every_truncation_is_seen(tmp_path):
    content = parts.bytes_of(parts.extractor())
    for length in range(0, len(content), 7):
        refused(content[:length], tmp_path, "no file of modae" if length < 2 else "truncated")


def packed(entries, method=ZIP_STORED, twice=()):
    target = BytesIO()
    with ZipFile(target, "w", method) as archive:
        for name, content in [*entries.items(), *((name, entries[name]) for name in twice)]:
            archive.writestr(name, content)
    return target.getvalue()


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_archives_of_another_kind_are_refused(whole, tmp_path):
    entries = entries_of(whole)
    refused(packed(entries, ZIP_DEFLATED), tmp_path, "compressed or encrypted")
    refused(packed(entries, twice=[HEADER]), tmp_path, "damaged")
    for name in ("../../x", "/etc/x", "x.pkl", "members/x.skops", "header.json2", "members/"):
        refused(packed(entries | {name: b"x"}), tmp_path, "damaged")
    for name in (ARRAYS, MEMBER):
        refused(packed({each: entries[each] for each in entries if each != name}), tmp_path, "damaged")
    encrypted = bytearray(whole)
    encrypted[whole.rindex(b"PK\x01\x02") + 8] |= 1
    refused(bytes(encrypted), tmp_path, "compressed or encrypted")


def test_a_size_that_is_a_lie_is_refused(whole, tmp_path):
    last = whole.rindex(b"PK\x01\x02")
    huge = (2**31).to_bytes(4, "little")
    refused(whole[: last + 20] + huge + huge + whole[last + 28 :], tmp_path, "truncated or damaged")


def test_an_entry_that_begins_before_the_file_is_refused(whole, tmp_path):
    """The start of the directory is moved, so that all entries begin before the first byte."""
    end = whole.rindex(b"PK\x05\x06")
    start = int.from_bytes(whole[end + 16 : end + 20], "little")
    moved = (start + 50).to_bytes(4, "little")
    refused(whole[: end + 16] + moved + whole[end + 20 :], tmp_path, "outside of the file")


def test_a_bomb_inside_a_member_is_refused(whole, tmp_path):
    entries = entries_of(whole)
    inner = entries_of(entries[MEMBER])
    bomb = packed({**inner, "1.npy": bytes(10**6)}, ZIP_DEFLATED)
    refused(zipped(entries | {MEMBER: bomb}), tmp_path, "compressed or encrypted")


@pytest.mark.parametrize(
    "dtype", ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?"]
)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (0, 2), (2, 3)])
def test_arrays_of_every_kind(dtype, shape):
    values = np.ones(shape, dtype=dtype)
    for each in (values, np.asarray(values, order="F"), values.astype(values.dtype.newbyteorder(">"))):
        found = parts.copy_of(modae.ModularClassifierCV(n_modules=each)).n_modules
        assert found.dtype == values.dtype
        assert found.flags.aligned
        assert found.flags.writeable
        np.testing.assert_array_equal(found, values, strict=True)


@pytest.mark.parametrize("dtype", ["U3", "O", "M8[D]", "m8[s]"])
@pytest.mark.parametrize("shape", [(0,), (2, 0)])
def test_arrays_of_text_and_dates_may_be_empty(dtype, shape):
    found = parts.copy_of(modae.ModularClassifierCV(n_modules=np.zeros(shape, dtype=dtype))).n_modules
    assert found.dtype == np.dtype(dtype)
    assert found.shape == shape


def test_arrays_are_written_as_safetensors_reads_them():
    kinds = ["?", "i2", "f8", "u1", "f4", "i8"]
    arrays = {f"{place}": np.ones((3, place), dtype=kind) for place, kind in enumerate(kinds)}
    arrays |= {"10": np.array(2.5), "11": np.arange(3.0)}
    for some in (arrays, {}):
        written = b"".join(memoryview(part).tobytes() for part in safetensors_parts(some))
        read = load_arrays(written)
        assert sorted(read) == sorted(some)
        for name, values in some.items():
            np.testing.assert_array_equal(read[name], values, strict=True)


def test_neither_true_nor_false(tmp_path):
    path = tmp_path / "file"
    modae.save(modae.ModularClassifierCV(n_modules=np.array([True])), path)
    entries = entries_of(path.read_bytes())
    wrong = entries[ARRAYS].replace(b"\x01", b"\x02")
    refused(zipped(entries | {ARRAYS: wrong[:8] + wrong[8:]}), tmp_path, "neither 0 nor 1")


def test_arrays_that_are_missing(whole, tmp_path):
    entries = entries_of(whole)
    values = load_arrays(entries[ARRAYS])
    values.pop("0")
    refused(zipped(entries | {ARRAYS: save_arrays(values)}), tmp_path, "no array '0'")
