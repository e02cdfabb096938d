"""A model that was saved and loaded is the model, to the last bit."""

import pickle
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import modae
from modae import (
    BaggingAutoencoder,
    LinearModularAutoencoder,
    LinearModularRegressor,
    ModularClassifier,
    ModularOutlierDetector,
    ModularRegressor,
)
from strategies import fits, splits

pytestmark = [
    pytest.mark.filterwarnings("ignore:.* makes all modules equal:UserWarning"),
    pytest.mark.filterwarnings("ignore:With one target:UserWarning"),
]

COPIES = st.sampled_from(["file", "pickle"])


def copied(model, how, **options):
    if how == "pickle":
        return pickle.loads(pickle.dumps(model))
    with TemporaryDirectory() as folder:
        path = f"{folder}/model.modae"
        modae.save(model, path, **options)
        assert modae.describe(path)["class"] == type(model).__name__
        return modae.load(path)


def assert_same_bits(model, other, rows, methods):
    assert type(other) is type(model)
    for method in methods:
        one, two = getattr(model, method)(rows), getattr(other, method)(rows)
        assert one.dtype == two.dtype
        np.testing.assert_array_equal(one, two, err_msg=method)


def plain_params(model):
    return {
        name: value for name, value in model.get_params().items() if not hasattr(value, "get_params")
    }


@given(fits(), COPIES, st.sampled_from([np.float32, np.float64]), st.sampled_from([None, "random"]))
def test_extractors(case, how, dtype, rotation):
    rows, params = case
    rows = rows.astype(dtype)
    model = LinearModularAutoencoder(**params, rotation=rotation).fit(rows)
    again = copied(model, how)
    assert again.get_params() == model.get_params()
    names = [name for name in dir(type(model)) if name.endswith("_") and not name.startswith("_")]
    for name in [*names, "n_features_in_"]:
        one, two = getattr(model, name), getattr(again, name)
        assert type(one) is type(two)
        np.testing.assert_array_equal(one, two, err_msg=name)
    assert_same_bits(model, again, rows, ["transform", "score_samples", "reconstruct_modules"])
    other = again.with_diversity(0.25)
    np.testing.assert_array_equal(other.encoders_, model.with_diversity(0.25).encoders_)


@given(fits(), st.data())
def test_a_resumable_file_goes_on_to_the_same_bits(case, data):
    rows, params = case
    through, straight = LinearModularAutoencoder(**params), LinearModularAutoencoder(**params)
    for part in data.draw(splits(len(rows))):
        through = copied(through.partial_fit(rows[part]), "file", resumable=True)
        straight.partial_fit(rows[part])
    np.testing.assert_array_equal(through.encoders_, straight.encoders_)
    assert through.loss_ == straight.loss_


@given(fits(), COPIES)
def test_bagging(case, how):
    rows, params = case
    size = {name: params[name] for name in ("n_modules", "n_components", "random_state")}
    model = BaggingAutoencoder(**size).fit(rows)
    again = copied(model, how)
    assert again.get_params() == model.get_params()
    assert_same_bits(model, again, rows, ["transform", "reconstruct_modules"])


@given(fits(), COPIES, st.booleans())
def test_regression_networks(case, how, several):
    rows, params = case
    targets = np.column_stack([rows.sum(axis=1), rows[:, 0]]) if several else rows.sum(axis=1)
    width = 1 if several else None
    model = LinearModularRegressor(**params | {"n_components": width}).fit(rows, targets)
    again = copied(model, how)
    assert again.get_params() == model.get_params()
    assert_same_bits(model, again, rows, ["predict", "predict_members"])


names_of_classes = st.lists(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=5),
    min_size=2,
    max_size=4,
    unique=True,
) | st.lists(st.integers(-(2**62), 2**62), min_size=2, max_size=4, unique=True)


@given(fits(), names_of_classes, COPIES)
def test_votes_with_classes_of_any_name(case, classes, how):
    rows, params = case
    y = np.array(classes)[np.arange(len(rows)) % len(classes)]
    model = ModularClassifier(LinearModularAutoencoder(**params)).fit(rows, y)
    again = copied(model, how)
    assert plain_params(again) == plain_params(model)
    assert again.classes_.tolist() == model.classes_.tolist()
    assert_same_bits(model, again, rows, ["predict", "predict_proba", "predict_members"])


@given(fits(), COPIES, st.booleans())
def test_means_of_regressors(case, how, several):
    rows, params = case
    targets = np.column_stack([rows.sum(axis=1), rows[:, 0]]) if several else rows.sum(axis=1)
    model = ModularRegressor(LinearModularAutoencoder(**params)).fit(rows, targets)
    again = copied(model, how)
    assert plain_params(again) == plain_params(model)
    assert_same_bits(model, again, rows, ["predict", "predict_members"])


@given(fits(), COPIES)
def test_outlier_detectors(case, how):
    rows, params = case
    extractor = LinearModularAutoencoder(**params)
    model = ModularOutlierDetector(extractor, random_state=0).fit(
        np.concatenate([rows, rows[::-1] * 1.1])
    )
    assert_same_bits(model, copied(model, how), rows, ["predict", "score_samples", "p_values"])
