"""Files made by hand: what they could do with the words that a file may use."""

import json

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression

import modae
from files import parts
from modae import BaggingAutoencoder, LinearModularAutoencoder
from modae.deep import ModularAutoencoder
from modae.files.container import Container, read_container, write_container


def rewritten(model, path, change):
    """The file of a model, with its header changed and its checksums right."""
    modae.save(model, path)
    container = read_container(path)
    header = json.loads(json.dumps(container.header))
    change(header["objects"][-1]["parameters"])
    write_container(path, Container(header, container.tensors, container.parts))
    return path


def entry(node, name):
    return next(pair for pair in node["items"] if pair[0] == name)


def test_a_generator_must_not_read_beyond_its_words(tmp_path):
    def far(parameters):
        state = entry(parameters["random_state"]["state"], "state")[1]
        entry(state, "pos")[1] = 2_000_000_000

    model = BaggingAutoencoder(3, 2, random_state=np.random.RandomState(0))
    with pytest.raises(modae.ModelFormatError, match="integer"):
        modae.load(rewritten(model, tmp_path / "file", far))


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
        {"$": "words", "dtype": "<U256", "shape": [100_000], "items": [""] * 100_000},
        {"$": "dict", "items": [[k * (2**61 - 1), 0] for k in range(5000)]},
        {"$": "Generator", "state": {"$": "dict", "items": [["bit_generator", "Philox"]]}},
    ],
    ids=["words that reserve memory", "keys with equal hashes", "a generator that reads anywhere"],
)
def test_parameters_that_would_take_time_or_memory(node, tmp_path):
    def change(parameters):
        parameters["tol"] = node

    with pytest.raises(modae.ModelFormatError):
        modae.load(rewritten(LinearModularAutoencoder(), tmp_path / "file", change))


@pytest.mark.parametrize("n_jobs", [0, 5000, "2", True])
def test_jobs_that_no_machine_has_are_not_saved(n_jobs, tmp_path):
    with pytest.raises(ValueError, match="n_jobs must be"):
        modae.save(BaggingAutoencoder(n_jobs=n_jobs), tmp_path / "file")
    modae.save(BaggingAutoencoder(n_jobs=np.int64(2)), tmp_path / "file")
    assert modae.load(tmp_path / "file").n_jobs == 2


def test_wide_labels(tmp_path):
    labels = np.array(["a", "b", "c"], dtype="U300")[parts.LABELS]
    model = modae.ModularClassifier(parts.extractor(), LogisticRegression()).fit(parts.X, labels)
    modae.save(model, tmp_path / "file")
    np.testing.assert_array_equal(modae.load(tmp_path / "file").predict(parts.X), model.predict(parts.X))


def test_generators_that_cannot_be_checked_are_not_saved(tmp_path):
    for state in (np.random.RandomState(np.random.PCG64(0)), np.random.Generator(np.random.Philox(0))):
        with pytest.raises(TypeError, match="bit generator"):
            modae.save(parts.extractor(random_state=state), tmp_path / "file")


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
