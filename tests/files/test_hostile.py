"""Files made by hand: what they could do with the words that a file may use."""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression

import modae
from files import parts
from modae import LinearModularAutoencoder
from modae.deep import ModularAutoencoder


def rewritten(model, path, change):
    """The file of a model, with its parameters changed and its checksums right."""
    return parts.forged(model, path, lambda header: change(header["objects"][-1]["state"]))


def test_a_file_must_not_say_where_to_write(tmp_path):
    precious = tmp_path / "precious.txt"

    def elsewhere(parameters):
        parameters["checkpoint"] = str(precious)

    model = ModularAutoencoder(2, 2, max_epochs=1).fit(parts.X)
    with pytest.raises(modae.ModelFormatError, match="checkpoint must be None"):
        modae.load(rewritten(model, tmp_path / "file", elsewhere))
    kept = ModularAutoencoder(2, 2, max_epochs=1, checkpoint=precious)
    modae.save(kept, tmp_path / "file")
    assert modae.load(tmp_path / "file").checkpoint is None


@pytest.mark.parametrize(
    "node",
    [
        {"$": "name", "of": "os:system"},
        {"$": "array", "items": [1], "dtype": "f8", "shape": [1]},
        {"$": "array", "items": [1], "dtype": "O", "shape": [10**9]},
        {"$": "array", "items": [""], "dtype": "U1000000000", "shape": [1]},
        {"$": "array", "name": "0", "scalar": True},
        {"$": "sparse", "class": "csr_array", "shape": [9, 9], "data": 1, "indices": 1, "indptr": 1},
        {"$": "dict", "of": [0, "x"]},
        {"$": "dtype", "of": "no dtype"},
        {"$": "float", "of": "__import__('os')"},
        {"$": "object", "at": 0},
        {"$": "object", "at": -1},
        {"$": "pickle"},
        {"$": ["list"]},
        {},
    ],
    ids=str,
)
def test_parameters_that_are_no_values(node, tmp_path):
    def change(parameters):
        parameters["tol"] = node

    with pytest.raises(modae.ModelFormatError):
        modae.load(rewritten(LinearModularAutoencoder(), tmp_path / "file", change))


def test_a_header_that_is_forged(tmp_path):
    def unknown_class(header):
        header["objects"][0]["type"] = "os.system"

    def other_attribute(header):
        header["objects"][-1]["state"]["transform"] = 1

    def no_state(header):
        del header["objects"][-1]["state"]["_model"]

    def other_class(header):
        header["objects"][-1]["class"] = {"$": "object", "at": 0}

    def deep(header):
        for _ in range(900):
            header["root"] = [header["root"]]

    changes = unknown_class, other_attribute, no_state, other_class, deep
    for change in changes:
        with pytest.raises(modae.ModelFormatError):
            modae.load(parts.forged(parts.extractor().fit(parts.X), tmp_path / "file", change))


def test_a_parameter_that_is_newer_than_the_file_has_its_default(tmp_path):
    def older(header):
        del header["objects"][-1]["state"]["rotation"]

    model = parts.extractor().fit(parts.X)
    loaded = modae.load(parts.forged(model, tmp_path / "file", older))
    assert loaded.rotation is None
    assert loaded.get_params() == model.get_params()


def test_a_header_that_has_lost_something(tmp_path):
    model = modae.ModularClassifier(parts.extractor(), LogisticRegression()).fit(parts.X, parts.LABELS)
    for name in ("root", "objects", "format"):
        path = parts.forged(model, tmp_path / "file", lambda header, name=name: header.pop(name))
        with pytest.raises(modae.ModelFormatError, match="damaged"):
            modae.load(path)
    path = parts.forged(model, tmp_path / "file", lambda header: header.pop("libraries"))
    assert modae.load(path).n_modules_ == 2  # only messages need them


def test_wide_labels(tmp_path):
    labels = np.array(["a", "b", "c"], dtype="U300")[parts.LABELS]
    model = modae.ModularClassifier(parts.extractor(), LogisticRegression()).fit(parts.X, labels)
    modae.save(model, tmp_path / "file")
    np.testing.assert_array_equal(modae.load(tmp_path / "file").predict(parts.X), model.predict(parts.X))


def test_rows_in_a_kernel_machine_are_announced(tmp_path):
    model = modae.ModularRegressor(parts.extractor(), KernelRidge()).fit(parts.X, parts.TARGET)
    modae.save(model, tmp_path / "file")
    assert modae.describe(tmp_path / "file")["holds_rows"]


class Shorter(LinearModularAutoencoder):
    """A class of one's own, with another constructor and an attribute of its own."""

    def __init__(self, n_modules=2):
        super().__init__(n_modules, 2, random_state=0)

    def fit(self, X, y=None, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.largest_ = float(np.max(X))
        return self


def test_a_subclass_of_ones_own(tmp_path):
    model = Shorter().fit(parts.X)
    modae.save(model, tmp_path / "file")
    with pytest.raises(modae.ModelFormatError, match="Shorter"):
        modae.load(tmp_path / "file")
    loaded = modae.load(tmp_path / "file", trusted=[Shorter])
    assert type(loaded) is Shorter
    assert loaded.largest_ == model.largest_
    np.testing.assert_array_equal(loaded.transform(parts.X), model.transform(parts.X))
