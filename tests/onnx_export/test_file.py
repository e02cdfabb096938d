"""The file: what it says of itself, and what happens when there can be none."""

import json
import sys

import numpy as np
import onnx
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.neighbors import KNeighborsClassifier, RadiusNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import modae
from ensembles.parts import ColumnModules, Voter
from modae import LinearModularAutoencoder, ModularClassifier, ModularRegressor, export_onnx
from onnx_export.parts import digits, ensemble, outputs_of

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


class Other(LinearModularAutoencoder):
    """A subclass may compute something else."""


def notes_of(path):
    model = onnx.load(path)
    return model, {each.key: each.value for each in model.metadata_props}


def test_a_file_describes_itself(tmp_path):
    X, y = digits()
    frame = pd.DataFrame(X, columns=[f"pixel {i}" for i in range(64)])
    path = tmp_path / "model.onnx"
    export_onnx(ensemble(None).fit(frame, y), str(path))
    model, notes = notes_of(path)
    assert (model.producer_name, model.producer_version) == ("modae", modae.__version__)
    assert model.doc_string.startswith("ModularClassifier of modae")
    assert (notes["modae"], notes["class"]) == (modae.__version__, "ModularClassifier")
    assert json.loads(notes["feature_names"]) == list(frame.columns)
    assert json.loads(notes["classes"]) == list(range(10))


def test_columns_without_names_have_none_in_the_file(tmp_path):
    export_onnx(LinearModularAutoencoder(2, 3).fit(digits()[0]), tmp_path / "model.onnx")
    assert set(notes_of(tmp_path / "model.onnx")[1]) == {"modae", "class"}


def test_what_no_answer_needs_is_left_out(tmp_path):
    X, y = digits()
    member = LogisticRegression(max_iter=20)
    model = ensemble(member, voting="hard", tie_break="first").fit(X[::4], y[::4])
    export_onnx(model, tmp_path / "model.onnx")
    graph = onnx.load(tmp_path / "model.onnx").graph
    read = {name for node in graph.node for name in node.input}
    assert {tensor.name for tensor in graph.initializer} <= read
    assert not {node.op_type for node in graph.node} & {"Normalizer", "ZipMap"}


@pytest.mark.parametrize("wrong", [5, None, LinearModularAutoencoder, "model"])
def test_what_is_no_estimator_is_refused(wrong, tmp_path):
    with pytest.raises(TypeError, match="estimator must be a fitted estimator, got"):
        export_onnx(wrong, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "model",
    [LinearModularAutoencoder(), ensemble(None), make_pipeline(StandardScaler(), ensemble(None))],
)
def test_what_is_not_fitted_is_refused(model, tmp_path):
    with pytest.raises(NotFittedError):
        export_onnx(model, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


REFUSED = {
    r"module 0 \(Voter\) cannot be converted to ONNX: skl2onnx has no converter for it": ensemble(
        Voter()
    ),
    r"module 3 \('odd', Voter\) cannot be": ensemble(
        [*((f"m{i}", LogisticRegression(max_iter=20)) for i in range(3)), ("odd", Voter())], n_modules=4
    ),
    r"extractor \(ColumnModules\) cannot be converted": ModularClassifier(ColumnModules(32)),
    r"extractor \(Other\) cannot be converted": ModularClassifier(Other(3, 5)),
    r"only Euclidean distances can, got metric='manhattan'": ensemble(
        KNeighborsClassifier(weights="distance", metric="manhattan")
    ),
    r"use loss='log_loss'": ensemble(SGDClassifier(loss="modified_huber")),
    r"Analysis\) cannot .* does not know its decision function; use voting='hard' or 'soft'": ensemble(
        QuadraticDiscriminantAnalysis(reg_param=0.5), voting="decision"
    ),
    r"module 0 \(ModularClassifier\) cannot .*: its decision function has no converter": ensemble(
        ModularClassifier(LinearModularAutoencoder(2, 2), LinearSVC()),
        voting="decision",
    ),
    r"use KNeighborsClassifier": ensemble(RadiusNeighborsClassifier(1e3)),
    r"step 'other' \(Other\)": make_pipeline(Other(2, 3)).set_params(
        steps=[("other", Other(2, 3)), ("last", LogisticRegression(max_iter=20))]
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_cannot_be_converted_is_named(message, tmp_path):
    X, y = digits()
    model = REFUSED[message].fit(X[::8], y[::8].clip(max=1))
    with pytest.raises(ValueError, match=message):
        export_onnx(model, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_a_regressor_that_cannot_be_converted_is_named(tmp_path):
    X, y = digits()
    model = ModularRegressor(LinearModularAutoencoder(2, 3), DummyRegressor()).fit(X, y)
    with pytest.raises(ValueError, match=r"module 0 \(DummyRegressor\) cannot be converted"):
        export_onnx(model, tmp_path / "model.onnx")


def test_a_pipeline_that_reads_text_is_refused(tmp_path):
    words = [f"word{i % 5} and word{i % 7} or word{i % 3}" for i in range(30)]
    model = make_pipeline(TfidfVectorizer(), LinearModularAutoencoder(2, 2)).fit(words)
    with pytest.raises(ValueError, match=r"TfidfVectorizer cannot .* does not read a table of numbers"):
        export_onnx(model, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_rows_that_were_sparse_give_a_file_for_dense_ones(tmp_path):
    from scipy.sparse import csr_array

    X, _ = digits()
    model = LinearModularAutoencoder(3, 4, random_state=0).fit(csr_array(X))
    assert np.allclose(outputs_of(model, X, tmp_path)["codes"], model.transform(X), atol=1e-4)


def test_numbers_beyond_float32_are_refused(tmp_path):
    model = LinearModularAutoencoder(2, 2).fit(
        1e45 * np.random.default_rng(0).normal(size=(30, 5)) + 1e45
    )
    with pytest.raises(ValueError, match="too large for float32"):
        export_onnx(model, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_a_path_that_cannot_be_written(tmp_path):
    model = LinearModularAutoencoder(2, 3).fit(digits()[0])
    with pytest.raises(FileNotFoundError, match="make it first"):
        export_onnx(model, tmp_path / "nowhere" / "model.onnx")
    with pytest.raises(FileExistsError, match="not a regular file"):
        export_onnx(model, tmp_path)
    assert not list(tmp_path.iterdir())


def test_an_old_file_stays_when_there_is_no_new_one(tmp_path):
    X, y = digits()
    path = tmp_path / "model.onnx"
    export_onnx(LinearModularAutoencoder(2, 3).fit(X), path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="cannot be converted"):
        export_onnx(ensemble(Voter()).fit(X, y), path)
    assert [each.name for each in tmp_path.iterdir()] == ["model.onnx"]
    assert path.read_bytes() == before


@pytest.mark.parametrize("package", ["onnx", "skl2onnx"])
def test_a_missing_package_is_one_sentence(package, tmp_path, monkeypatch):
    X, y = digits()
    model = ensemble(LogisticRegression(max_iter=20)).fit(X[::4], y[::4])
    monkeypatch.setitem(sys.modules, package, None)
    message = rf"^Export to ONNX cannot be used without {package}: pip install \"modae\[onnx\]\"$"
    with pytest.raises(ImportError, match=message):
        export_onnx(model, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_several_labels_at_once_are_refused(tmp_path):
    X, y = digits()
    trees = RandomForestClassifier(2).fit(X, np.c_[y, y % 2])
    with pytest.raises(ValueError, match="several labels at once"):
        export_onnx(
            make_pipeline(StandardScaler(), trees).fit(X, np.c_[y, y % 2]), tmp_path / "model.onnx"
        )
    assert not list(tmp_path.iterdir())


def test_an_estimator_without_answers_is_refused(tmp_path):
    class Silent(BaseEstimator):
        n_features_in_ = 3

        def fit(self, X, y=None):
            self.fitted_ = True
            return self

    with pytest.raises(ValueError, match="Silent cannot be converted to ONNX"):
        export_onnx(Silent().fit(None), tmp_path / "model.onnx")
