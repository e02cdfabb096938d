"""Codes in ONNX are those of transform, to the digits that float32 has."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from modae import BaggingAutoencoder, LinearModularAutoencoder
from modae.onnx.conversion import onnx_model
from onnx_export.parts import CLOSE, column_error, digits, outputs_of, session_of

EXTRACTORS = [
    LinearModularAutoencoder(10, 8, diversity=0.7, random_state=0),
    LinearModularAutoencoder(1, 3, random_state=0),
    BaggingAutoencoder(10, 8, random_state=0),
]


@pytest.mark.parametrize("extractor", EXTRACTORS, ids=str)
def test_codes_are_those_of_transform(extractor, tmp_path):
    X, _ = digits()
    extractor.fit(X)
    codes = outputs_of(extractor, X, tmp_path)["codes"]
    assert column_error(codes, extractor.transform(X)) <= CLOSE


@pytest.mark.parametrize("offset", [1e2, 1e4, 1e6])
def test_a_mean_far_larger_than_the_spread_costs_no_digits(offset, tmp_path):
    X, _ = digits()
    rows = (X + offset * np.linspace(0.9, 1.1, X.shape[1])).astype(np.float32)
    exact = rows.astype(np.float64)
    extractor = LinearModularAutoencoder(4, 5, random_state=0).fit(exact)
    pipeline = make_pipeline(StandardScaler(), clone(extractor)).fit(exact)
    for model in (extractor, pipeline):
        assert column_error(outputs_of(model, rows, tmp_path)["codes"], model.transform(exact)) <= CLOSE


def test_a_product_with_the_mean_folded_in_would_have_lost_them():
    X, _ = digits()
    rows = (X + 1e6).astype(np.float32)
    extractor = LinearModularAutoencoder(4, 5, random_state=0).fit(rows.astype(np.float64))
    flat = extractor.encoders_.reshape(-1, X.shape[1]).astype(np.float32)
    folded = rows @ flat.T - (flat @ extractor.mean_.astype(np.float32))
    assert column_error(folded, extractor.transform(rows.astype(np.float64))) > 1e3 * CLOSE


@given(
    st.integers(1, 4),
    st.integers(1, 5),
    st.floats(-1e3, 1e3),
    st.sampled_from([1e-3, 1.0, 1e3]),
    st.integers(0, 9),
)
def test_any_sizes_and_scales(tmp_path_factory, n_modules, width, offset, scale, seed):
    rng = np.random.default_rng(seed)
    X = (offset + scale * rng.normal(size=(40, 6))).astype(np.float32).astype(np.float64)
    extractor = LinearModularAutoencoder(n_modules, width, diversity=0.3, random_state=seed).fit(X)
    codes = outputs_of(extractor, X, tmp_path_factory.mktemp("any"))["codes"]
    assert column_error(codes, extractor.transform(X)) <= CLOSE


def test_a_pipeline_of_several_steps(tmp_path):
    X, _ = digits()
    steps = MinMaxScaler(), StandardScaler(with_std=False), "passthrough", LinearModularAutoencoder(5, 4)
    model = make_pipeline(*steps).fit(X)
    assert column_error(outputs_of(model, X, tmp_path)["codes"], model.transform(X)) <= CLOSE


def test_one_row_and_no_row(tmp_path):
    X, _ = digits()
    session = session_of(EXTRACTORS[0].fit(X), tmp_path)
    for n_rows in (0, 1):
        assert session.run(["codes"], {"X": X[:n_rows].astype(np.float32)})[0].shape == (n_rows, 80)


def test_the_interface_of_the_file():
    X, _ = digits()
    model = onnx_model(LinearModularAutoencoder(5, 4, random_state=0).fit(X))
    assert {each.domain: each.version for each in model.opset_import} == {"": 18, "ai.onnx.ml": 3}
    (given_input,), (output,) = model.graph.input, model.graph.output
    assert (given_input.name, output.name) == ("X", "codes")
    shapes = [part.type.tensor_type.shape.dim for part in (given_input, output)]
    assert [[each.dim_param or each.dim_value for each in shape] for shape in shapes] == [
        ["rows", 64],
        ["rows", 20],
    ]
