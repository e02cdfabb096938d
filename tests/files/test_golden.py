"""Files of every release so far load, and say what they said; files that cannot load say why."""

import json
import pickle
from gzip import compress
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

import modae
from files import parts
from files.make_golden import GOLDEN, facts_of
from modae.files.archive import FORMAT, versions

FILES = sorted(GOLDEN.glob("*/*.modae"))


@pytest.fixture(params=FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def golden(request):
    """A file, its model, and what is expected of it."""
    path = request.param
    words = json.loads((path.parent / "expected.json").read_text())[path.stem]
    arrays = np.load(path.parent / "expected.npz")
    start = f"{path.stem}/"
    return path, words, {name[len(start) :]: arrays[name] for name in arrays if name.startswith(start)}


def _needs_other_versions(path):
    """Members of scikit-learn are bound to its version; a refusal for that reason says so."""
    if modae.describe(path)["libraries"] == versions():
        return False
    try:
        modae.load(path)
    except modae.ModelFormatError as refusal:
        return "was written with" in str(refusal)
    return False


def test_golden_files_load(golden):
    path, words, arrays = golden
    if _needs_other_versions(path):
        return
    model = modae.load(path)
    assert type(model).__name__ == words.pop("class")
    params, attributes, outputs = facts_of(model)
    if words.pop("shared_body", None) is not None:  # of 0.1; later versions call it `body`
        assert params["body"] == "'separate'"
    assert params.items() >= words.items()
    known = {f"attribute/{name}": value for name, value in attributes.items()}
    known |= {f"output/{name}": value for name, value in outputs.items()}
    assert set(known) >= set(arrays)
    for name, expected in arrays.items():
        assert known[name].dtype == expected.dtype, name
        if expected.dtype.kind == "f":  # some are products, whose last bits depend on the processor
            np.testing.assert_allclose(known[name], expected, rtol=1e-12, atol=1e-12)
        else:
            np.testing.assert_array_equal(known[name], expected, name)


def test_there_are_golden_files_of_every_class_and_they_are_small():
    names = {type(model).__name__ for model in parts.unfitted().values()}
    known = {modae.describe(path)["class"] for path in FILES}
    assert names <= known
    assert sum(path.stat().st_size for path in FILES) < 400_000


def test_golden_streams_go_on():
    rows = parts.rows(9, seed=3)
    for name in ("stream-of-rows", "stream-of-moments"):
        for path in GOLDEN.glob(f"*/{name}.modae"):
            seen = [parts.X[:5]] if name == "stream-of-rows" else [parts.X, parts.X[:3]]
            fresh = parts.extractor().set_params(diversity=0.5).fit(np.concatenate([*seen, rows]))
            loaded = modae.load(path).partial_fit(rows)
            np.testing.assert_allclose(loaded.loss_, fresh.loss_, rtol=1e-10)


def whole():
    return parts.bytes_of(parts.extractor().fit(parts.X))


def with_format(number):
    def change(header):
        header["format"] = number

    with TemporaryDirectory() as directory:
        return parts.forged(parts.extractor(), Path(directory) / "file", change).read_bytes()


def _saved_by(writer):
    target = BytesIO()
    writer(target, np.ones(3))
    return target.getvalue()


REFUSALS = {
    "empty": (lambda: b"", "no file of modae. It is empty"),
    "pickle": (lambda: pickle.dumps(parts.extractor()), "looks like a pickle, which could run any code"),
    "old pickle": (lambda: pickle.dumps(parts.extractor(), protocol=0), "no file of modae"),
    "numpy": (lambda: _saved_by(np.save), "looks like a NumPy array"),
    "zip": (lambda: _saved_by(np.savez), "a zip archive that modae did not write"),
    "gzip": (lambda: compress(whole()), "looks like a gzip file"),
    "json": (lambda: b'{"format": 1}', "looks like JSON text"),
    "text": (lambda: b"hello", "no file of modae"),
    "first format": (
        lambda: b"\x93MODAE\r\n" + bytes(40),
        "format 1 of an older modae",
    ),
    "half": (lambda: whole()[: len(whole()) // 2], "truncated"),
    "a byte less": (lambda: whole()[:-1], "truncated"),
    "older": (lambda: with_format(2), "an older modae .format 2.*fit the model and save it again"),
    "newer": (lambda: with_format(FORMAT + 1), "newer modae.*pip install --upgrade"),
    "no such format": (lambda: with_format("x"), "no format 'x'"),
    "another header": (lambda: whole().replace(b"Autoencoder", b"autoEncoder", 1), "damaged.*CRC"),
}


@pytest.mark.parametrize("name", REFUSALS)
@pytest.mark.parametrize("reader", [modae.load, modae.describe], ids=["load", "describe"])
def test_refusals_say_what_is_wrong(name, reader, tmp_path):
    make, message = REFUSALS[name]
    path = tmp_path / "model.modae"
    path.write_bytes(make())
    with pytest.raises(modae.ModelFormatError, match=message) as refusal:
        reader(path)
    assert str(path) in str(refusal.value)


@pytest.mark.parametrize("reader", [modae.load, modae.describe], ids=["load", "describe"])
def test_no_file(reader, tmp_path):
    with pytest.raises(FileNotFoundError):
        reader(tmp_path / "nothing")
    with pytest.raises(IsADirectoryError):
        reader(tmp_path)


def test_what_is_no_estimator_is_not_saved(tmp_path):
    for thing in ("words", 3, [parts.extractor()], np.ones(3), type(parts.extractor()), None):
        with pytest.raises(TypeError, match="must be an estimator"):
            modae.save(thing, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_come_back_is_not_saved(tmp_path):
    broken = parts.extractor().fit(parts.X)
    broken._model.encoders.flags.writeable = True
    broken._model.encoders[0, 0, 0] = np.nan
    unnamed = parts.extractor(tol=lambda: 1e-9)
    for model in (broken, unnamed):
        with pytest.raises((ValueError, TypeError)):
            modae.save(model, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []
