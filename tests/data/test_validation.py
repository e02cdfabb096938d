"""What validation must see although scikit-learn's does not."""

import numpy as np
import pandas as pd
import pytest
import sklearn
import torch
from sklearn.datasets import load_digits

from modae import LinearModularAutoencoder, LinearModularRegressor, ModularClassifier

X, Y = (part[:300] for part in load_digits(return_X_y=True))


def model():
    return LinearModularAutoencoder(3, 2, random_state=0)


def test_rows_that_are_not_aligned_give_the_same_bits():
    moved = np.frombuffer(b"x" + X.tobytes(), offset=1).reshape(X.shape)
    assert not moved.flags.aligned
    assert model().fit(moved).encoders_.tobytes() == model().fit(X).encoders_.tobytes()


@pytest.mark.parametrize("method", ["fit", "transform", "inverse_transform"])
def test_complex_tensors_are_refused(method):
    fitted = model().fit(X)
    rows = torch.tensor(X if method != "inverse_transform" else fitted.transform(X))
    with (
        sklearn.config_context(array_api_dispatch=True),
        pytest.raises(ValueError, match="Complex data not supported"),
    ):
        getattr(fitted, method)(torch.complex(rows, 5 * rows))


@pytest.mark.parametrize("dispatch", [False, True])
def test_sparse_tensors_are_refused(dispatch):
    with (
        sklearn.config_context(array_api_dispatch=dispatch),
        pytest.raises(TypeError, match="sparse tensor"),
    ):
        model().fit(torch.tensor(X).to_sparse())


def test_a_tensor_with_a_gradient_is_only_numbers():
    tensor = torch.tensor(X, requires_grad=True)
    assert model().fit(tensor).loss_ == model().fit(X).loss_


def test_complex_weights_are_refused():
    with pytest.raises(ValueError, match="sample_weight must be numbers"):
        model().fit(X, sample_weight=np.ones(len(X)) + 1j)


def test_weights_whose_sum_is_no_number_are_refused_and_smaller_ones_are_not():
    weights = np.where(Y == 1, 1e308, 5e307)
    with pytest.raises(ValueError, match=r"sample_weight adds up to infinity: divide it"):
        model().fit(X, sample_weight=weights)
    expected = model().fit(X, sample_weight=np.where(Y == 1, 2.0, 1.0))
    assert model().fit(X, sample_weight=weights / 1e10).loss_ == pytest.approx(expected.loss_, rel=1e-12)


@pytest.mark.parametrize("method", ["fit", "predict"])
def test_dask_rows_that_would_be_gathered_are_refused(method):
    dask = pytest.importorskip("dask.array")
    fitted = LinearModularRegressor(2, 1).fit(X, np.c_[Y, Y**2])
    with pytest.raises(TypeError, match=r"LinearModularRegressor does not take dask data here"):
        getattr(fitted, method)(dask.from_array(X), *([np.c_[Y, Y**2]] if method == "fit" else []))


def test_a_missing_word_among_the_labels_is_named():
    labels = pd.Series(Y.astype(str), dtype="string").where(Y < 9)
    with pytest.raises(ValueError, match="y contains NaN"):
        ModularClassifier(model()).fit(X, labels)
