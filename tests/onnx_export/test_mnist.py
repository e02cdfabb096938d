"""The same promises on 5,000 digits of MNIST."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from modae import BaggingAutoencoder, LinearModularAutoencoder
from onnx_export.parts import (
    CLOSE,
    REQUIRED,
    assert_same_labels,
    column_error,
    ensemble,
    mnist,
    outputs_of,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings(
        "ignore:The `probability` parameter was deprecated:FutureWarning",
        f"ignore::{ConvergenceWarning.__module__}.{ConvergenceWarning.__name__}",
    ),
]


@pytest.mark.parametrize("kind", [LinearModularAutoencoder, BaggingAutoencoder])
def test_codes(kind, tmp_path):
    X, _ = mnist()
    extractor = kind(3, 8, random_state=0).fit(X)
    assert column_error(outputs_of(extractor, X, tmp_path)["codes"], extractor.transform(X)) <= CLOSE


@pytest.mark.parametrize("member", REQUIRED, ids=str)
def test_members(member, tmp_path):
    X, y = mnist()
    model = ensemble(member, n_modules=3).fit(X[::10], y[::10])
    found = outputs_of(model, X, tmp_path)
    assert_same_labels(model, found["label"], X)
    assert found["label"].dtype == np.int64
    far = np.abs(found["probabilities"] - model.predict_proba(X)).max(axis=1) > CLOSE
    assert far.mean() <= 1e-3
