"""The file: what it says of itself, and what happens when there can be none."""

import json
import sys

import numpy as np
import onnx
import pandas as pd
import pytest
import skl2onnx
from skl2onnx.common.data_types import FloatTensorType
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import IsolationForest, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import RFE
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.neighbors import KNeighborsClassifier, RadiusNeighborsClassifier
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import modae
from ensembles.parts import ColumnModules, Voter
from modae import (
    LinearModularAutoencoder,
    ModularClassifier,
    ModularOutlierDetector,
    ModularRegressor,
    export_onnx,
)
from onnx_export.parts import CLOSE, column_error, digits, ensemble, outputs_of

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


class Other(LinearModularAutoencoder):
    """A subclass may compute something else."""


class Roots(TransformerMixin, BaseEstimator):
    """A transform that its user gives skl2onnx a converter for."""

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return np.sqrt(np.abs(X))

    def get_feature_names_out(self, names=None):
        return np.array([f"root{i}" for i in range(self.n_features_in_)])


class Pairs(Roots):
    """It has modules, too."""

    def transform_modules(self, X):
        return [self.transform(X)[:, :32], self.transform(X)[:, 32:]]


def known_to_skl2onnx(kind):
    def width(operator):
        operator.outputs[0].type = FloatTensorType([None, None])

    def convert(scope, operator, container):
        between = scope.get_unique_variable_name("size")
        container.add_node("Abs", operator.inputs[0].full_name, between, name=between)
        container.add_node("Sqrt", between, operator.outputs[0].full_name, name=between + "_root")

    skl2onnx.update_registered_converter(kind, f"{kind.__name__}OfATest", width, convert)


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
    r"StandardScaler\) cannot .* does not know the transform of the classifier": make_pipeline(
        LinearDiscriminantAnalysis(), StandardScaler()
    ),
    r"ModularOutlierDetector\) cannot .*: export_onnx does not know its class": make_pipeline(
        StandardScaler(), ModularOutlierDetector()
    ),
    r"IsolationForest\) cannot .* has no transform of known width": make_pipeline(
        StandardScaler(), IsolationForest(n_estimators=3)
    ),
    r"KNNImputer\) cannot .* for gaps use SimpleImputer": make_pipeline(
        KNNImputer(), LogisticRegression(max_iter=20)
    ),
    r"RFE\) cannot .* use SelectFromModel, and": make_pipeline(
        StandardScaler(), RFE(LogisticRegression(max_iter=20), n_features_to_select=5, step=0.5)
    ),
    r"^Pipeline cannot .* what skl2onnx wrote does not fit together": make_pipeline(
        make_union(KMeans(3), PCA(3)), LogisticRegression(max_iter=20)
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


def test_columns_that_would_be_left_out_are_counted(tmp_path):
    X, y = digits()
    X = np.where(X == 3.0, np.nan, X)
    n_columns = 64 + int(np.isnan(X).any(axis=0).sum())
    model = make_pipeline(SimpleImputer(add_indicator=True), LogisticRegression(max_iter=20)).fit(X, y)
    with pytest.raises(ValueError, match=rf"skl2onnx writes 64 of its {n_columns} columns"):
        export_onnx(model, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_labels_that_onnx_does_not_have_are_refused(tmp_path):
    X, y = digits()
    years = (2020 + y - 1970).astype("datetime64[Y]").astype("datetime64[D]")
    with pytest.raises(ValueError, match=r"must be numbers or strings in ONNX, got .*2020-01-01"):
        export_onnx(ensemble(None).fit(X[::8], years[::8]), tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_a_file_that_would_be_too_large_is_refused(tmp_path, monkeypatch):
    model = LinearModularAutoencoder(2, 3).fit(digits()[0])
    monkeypatch.setattr("modae.onnx.graph.LARGEST_FILE", 1000)
    with pytest.raises(ValueError, match="the model is larger than 2 GB"):
        export_onnx(model, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_modules_of_others_are_refused_whatever_skl2onnx_knows(tmp_path):
    X, y = digits()
    known_to_skl2onnx(Pairs)
    model = ModularClassifier(Pairs(), LogisticRegression(max_iter=20)).fit(X, y)
    with pytest.raises(ValueError, match=r"extractor \(Pairs\) .* only the extractors of modae"):
        export_onnx(model, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


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


def test_a_converter_of_a_user_counts_without_a_width(tmp_path):
    X, y = digits()
    known_to_skl2onnx(Roots)
    model = make_pipeline(Roots(), LinearModularAutoencoder(3, 4, random_state=0)).fit(X, y)
    assert column_error(outputs_of(model, X, tmp_path)["codes"], model.transform(X)) <= CLOSE


@pytest.mark.parametrize("clusters", [KMeans(5, random_state=0), MiniBatchKMeans(5, random_state=0)])
def test_clusters_are_told_by_their_distances(clusters, tmp_path):
    X, y = digits()
    codes = make_pipeline(StandardScaler(), clusters).fit(X)
    assert column_error(outputs_of(codes, X, tmp_path)["codes"], codes.transform(X)) <= CLOSE
    model = make_pipeline(clusters, LogisticRegression(max_iter=20)).fit(X, y)
    assert (outputs_of(model, X, tmp_path)["label"] == model.predict(X)).mean() >= 0.999


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
