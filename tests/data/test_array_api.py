"""Arrays of other namespaces, on other devices: the same model, made and used where the rows are."""

import pickle

import array_api_strict as strict
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn import config_context, get_config
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.naive_bayes import GaussianNB
from sklearn.utils._array_api import NamespaceAndDevice, get_namespace_and_device, move_estimator_to
from sklearn.utils.estimator_checks import check_array_api_input, check_array_api_mixed_inputs

import modae
from modae import BaggingAutoencoder, LinearModularAutoencoder, LinearModularRegressor, ModularClassifier
from modae.data import rows as core_rows
from modae.data.moments import moments_of_rows
from modae.data.rows import DeviceArray, place_of
from modae.utils.parallel import run_parallel
from strategies import data_sets

DIGITS, LABELS = (part[:900] for part in load_digits(return_X_y=True))
WEIGHTS = np.random.default_rng(0).integers(0, 4, len(DIGITS)).astype(np.float64)

PLACES = [
    pytest.param("torch", "cpu", "float64", id="torch-float64"),
    pytest.param("torch", "cpu", "float32", id="torch-float32"),
    pytest.param("strict", "CPU_DEVICE", "float64", id="strict-cpu"),
    pytest.param("strict", "device1", "float64", id="strict-device1"),
    pytest.param("strict", "device2", "float32", id="strict-device2"),
    pytest.param("strict", "no_float64", "float32", id="strict-no-float64"),
    pytest.param("strict", "no_x64", "float32", id="strict-no-x64"),
]
"""array-api-strict refuses to mix devices, and to become NumPy unless on its CPU."""

METHODS = ("transform", "transform_modules", "reconstruct_modules", "score_samples")

ESTIMATORS = {
    "linear": lambda: LinearModularAutoencoder(5, 4, random_state=0),
    "bagging": lambda: BaggingAutoencoder(5, 4, random_state=0),
}


@pytest.fixture(autouse=True)
def dispatch():
    with config_context(array_api_dispatch=True):
        yield


@pytest.fixture(params=list(ESTIMATORS))
def estimator(request):
    return ESTIMATORS[request.param]()


def put(X, kind, device):
    """A NumPy array there."""
    return torch.tensor(X) if kind == "torch" else strict.asarray(X, device=strict.Device(device))


def back(values):
    """An array from there as NumPy."""
    if isinstance(values, torch.Tensor):
        return values.numpy()
    return np.asarray(strict.asarray(values, device=strict.Device("CPU_DEVICE")))


def tolerance(dtype):
    return 1e-9 if dtype == "float64" else 1e-5


def assert_close(values, expected, rtol):
    np.testing.assert_allclose(values, expected, rtol=0, atol=rtol * np.abs(expected).max())


def assert_same_model(model, expected, rtol):
    """What the modules do, not how their vectors are written."""
    assert_close(model.mean_, expected.mean_, rtol)
    assert_close(model.decoders_ @ model.encoders_, expected.decoders_ @ expected.encoders_, 10 * rtol)
    assert_close(model.eigenvalues_, expected.eigenvalues_, rtol)
    assert model.encoders_.dtype == expected.encoders_.dtype


@pytest.fixture
def brought(monkeypatch):
    """Shapes of all arrays that are brought to the host."""
    shapes, fetch = [], core_rows.Place.fetch

    def spy(place, values):
        if not isinstance(values, np.ndarray):
            shapes.append(tuple(values.shape))
        return fetch(place, values)

    monkeypatch.setattr(core_rows.Place, "fetch", spy)
    return shapes


# The same model


@pytest.mark.parametrize(("kind", "device", "dtype"), PLACES)
def test_the_model_is_that_of_numpy(estimator, kind, device, dtype):
    X = DIGITS.astype(dtype)
    expected = clone(estimator).fit(X)
    assert_same_model(estimator.fit(put(X, kind, device)), expected, tolerance(dtype))
    assert type(estimator.encoders_) is np.ndarray


@pytest.mark.parametrize(("kind", "device", "dtype"), PLACES)
def test_weights_count(kind, device, dtype):
    X = DIGITS.astype(dtype)
    expected = ESTIMATORS["linear"]().fit(X, sample_weight=WEIGHTS)
    weights = put(WEIGHTS.astype(dtype), kind, device)
    model = ESTIMATORS["linear"]().fit(put(X, kind, device), sample_weight=weights)
    assert_same_model(model, expected, tolerance(dtype))
    assert model.loss_ == pytest.approx(expected.loss_, rel=tolerance(dtype))


@pytest.mark.parametrize(("kind", "device", "dtype"), PLACES)
def test_answers_are_where_the_rows_are(estimator, kind, device, dtype):
    X = DIGITS[:200].astype(dtype)
    there = put(X, kind, device)
    estimator.fit(X)
    for method in METHODS:
        expected, answer = (getattr(estimator, method)(rows) for rows in (X, there))
        assert type(answer) is type(there)
        assert answer.device == there.device
        assert_close(back(answer), expected, tolerance(dtype))
        if not device.startswith("no"):
            assert back(answer).dtype == expected.dtype


@pytest.mark.parametrize(("kind", "device", "dtype"), PLACES)
def test_codes_come_back(estimator, kind, device, dtype):
    X = DIGITS[:200].astype(dtype)
    there = put(X, kind, device)
    estimator.fit(there)
    answer = estimator.inverse_transform(estimator.transform(there))
    assert type(answer) is type(there)
    assert answer.device == there.device
    assert answer.dtype == there.dtype
    with config_context(array_api_dispatch=False):
        assert_close(back(answer), estimator.inverse_transform(estimator.transform(X)), tolerance(dtype))
        assert isinstance(estimator.score(X), float)
    assert estimator.score(there) == pytest.approx(float(back(estimator.score_samples(there)).mean()))


@pytest.mark.parametrize(("kind", "device", "dtype"), PLACES)
@pytest.mark.parametrize("size", [40, 500])
def test_batches_give_the_same_model(kind, device, dtype, size):
    X = DIGITS.astype(dtype)
    expected = ESTIMATORS["linear"]().fit(X[:800])
    model = ESTIMATORS["linear"]().partial_fit(X[:50])  # NumPy first: moments know no place
    for start in range(50, 800, size):
        model.partial_fit(put(X[start : min(start + size, 800)], kind, device))
    assert_same_model(model, expected, tolerance(dtype))


@pytest.mark.parametrize("spectrum", ["exact", "krylov"])
@pytest.mark.parametrize("place", [("torch", "cpu"), ("strict", "device1")])
def test_wide_rows_come_to_the_host(estimator, spectrum, place):
    X = np.random.default_rng(1).standard_normal((40, 90)) * 0.9 ** np.arange(90)
    estimator.set_params(n_modules=2, n_components=3, spectrum=spectrum)
    expected = clone(estimator).fit(X)
    assert_same_model(estimator.fit(put(X, *place)), expected, 1e-9)


def test_a_kept_copy_of_wide_rows_is_the_models_own():
    X = torch.tensor(DIGITS[:20])
    model = LinearModularAutoencoder(2, 3, random_state=0).fit(X)
    X[:] = 0.0
    model.partial_fit(DIGITS[20:40])
    whole = LinearModularAutoencoder(2, 3, random_state=0).fit(DIGITS[:40])
    assert model.loss_ == pytest.approx(whole.loss_, rel=1e-12)


@given(
    rows=data_sets(max_rows=30),
    scale=st.sampled_from([1.0, 1e-160, 1e-30, 1e30, 1e150]),
    offset=st.sampled_from([0.0, 1.0, 1e5]),
    block_bytes=st.sampled_from([1, 100, 1 << 26]),
    weighted=st.booleans(),
)
def test_moments_are_those_of_numpy(rows, scale, offset, block_bytes, weighted):
    rows = (rows + offset) * scale
    weights = np.arange(len(rows)) % 3.0 if weighted else None
    expected = moments_of_rows(rows, weights)
    there = put(rows, "strict", "device1")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(core_rows, "BLOCK_BYTES", block_bytes)
        moments = moments_of_rows(DeviceArray(there, place_of(there)), weights)
    assert (moments.weight, moments.unit) == (expected.weight, expected.unit)
    assert_close(moments.mean / scale, expected.mean / scale, 1e-13)
    assert_close(moments.covariance, expected.covariance, 1e-11)


@pytest.mark.parametrize("device", ["device1", "no_float64"])
def test_columns_far_from_zero_keep_their_variance_in_single_precision(device):
    X = (1e3 + np.random.default_rng(3).standard_normal((5000, 3))).astype(np.float32)
    there = put(X, "strict", device)
    moments = moments_of_rows(DeviceArray(there, place_of(there)))
    expected = np.cov(X.astype(np.float64), rowvar=False, bias=True)
    np.testing.assert_allclose(moments.covariance, expected, rtol=0, atol=1e-5)


def test_long_sums_on_a_device_without_float64():
    X = np.random.default_rng(4).uniform(0.0, 1.0, (300_000, 2)).astype(np.float32)
    there = put(X, "strict", "no_float64")
    moments = moments_of_rows(DeviceArray(there, place_of(there)))
    assert_close(moments.mean, X.mean(axis=0, dtype=np.float64), 1e-6)
    assert_close(moments.covariance, np.cov(X.T.astype(np.float64), bias=True), 1e-5)


def test_blocks_do_not_change_answers(estimator, monkeypatch):
    X = torch.tensor(DIGITS[:300])
    estimator.fit(DIGITS)
    whole = [getattr(estimator, method)(X) for method in METHODS]
    monkeypatch.setattr(core_rows, "BLOCK_BYTES", 8 * 64 * 7)
    for method, expected in zip(METHODS, whole, strict=True):
        torch.testing.assert_close(getattr(estimator, method)(X), expected)


# What runs where


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_a_fit_brings_only_sums_and_a_sample_to_the_host(brought, weights):
    ESTIMATORS["linear"]().fit(put(DIGITS, "strict", "device1"), sample_weight=weights)
    assert (64, 64) in brought
    assert max(shape[0] for shape in brought) < 512  # of 900 rows


def test_bagging_brings_only_sums_and_samples_to_the_host(brought):
    ESTIMATORS["bagging"]().fit(put(DIGITS, "strict", "device1"))
    assert brought.count((64, 64)) == 5
    assert max(shape[0] for shape in brought) < 512


def test_a_device_without_float64_adds_its_blocks_on_the_host(brought, monkeypatch):
    monkeypatch.setattr(core_rows, "BLOCK_BYTES", 4 * 64 * 250)
    ESTIMATORS["linear"]().fit(put(DIGITS.astype(np.float32), "strict", "no_float64"))
    assert brought.count((64, 64)) == 4


def test_answers_bring_nothing_to_the_host(estimator, brought):
    X = put(DIGITS, "strict", "device1")
    estimator.fit(DIGITS)
    for method in METHODS:
        getattr(estimator, method)(X)
    estimator.inverse_transform(estimator.transform(X))
    assert brought == []


def test_later_batches_are_summed_where_they_are(brought):
    model = ESTIMATORS["linear"]().partial_fit(DIGITS[:30])
    model.partial_fit(put(DIGITS[30:], "strict", "device1"))
    assert max(shape[0] for shape in brought) < 512


def test_double_precision_on_a_device_without_it_is_on_the_host():
    X = DIGITS.astype(np.float32)
    model = LinearModularAutoencoder(5, 4, upcast=True, random_state=0)
    model.fit(put(X, "strict", "no_float64"))
    expected = LinearModularAutoencoder(5, 4, random_state=0).fit(X.astype(np.float64))
    assert model.encoders_.dtype == np.float64
    assert_same_model(model, expected, 1e-12)


@pytest.mark.parametrize("dtype", [torch.int32, torch.uint8, torch.bool, torch.float16])
def test_other_types_of_numbers_become_float64(dtype):
    X = torch.tensor(DIGITS > 8).to(dtype)
    codes = ESTIMATORS["linear"]().fit(X).transform(X)
    assert codes.dtype == torch.float64


def test_gradients_are_left_behind(estimator):
    X = torch.tensor(DIGITS[:100], requires_grad=True)
    codes = estimator.fit(X).transform(X)
    assert not codes.requires_grad
    torch.testing.assert_close(codes, clone(estimator).fit(X.detach()).transform(X.detach()))
    assert not estimator.inverse_transform(codes.requires_grad_()).requires_grad


# Fitted on one kind, used on another


def test_a_model_of_numpy_rows_or_from_a_file_takes_rows_from_anywhere(estimator, tmp_path):
    X = DIGITS[:50]
    modae.save(estimator.fit(put(DIGITS, "strict", "device1")), tmp_path / "model")
    for model in (clone(estimator).fit(DIGITS), modae.load(tmp_path / "model")):
        expected = model.transform(X)
        for place in [("torch", "cpu"), ("strict", "device1"), ("strict", "CPU_DEVICE")]:
            assert_close(back(model.transform(put(X, *place))), expected, 1e-12)


def test_a_model_of_device_rows_takes_those_only(estimator):
    estimator.fit(put(DIGITS, "strict", "device1"))
    others = (DIGITS, DIGITS.tolist(), put(DIGITS, "strict", "device2"), torch.tensor(DIGITS))
    for method in METHODS:
        name = f"{type(estimator).__name__}.{method}"
        for other in others:
            with pytest.raises(ValueError, match=rf"{name}\(\) must use the same namespace and device"):
                getattr(estimator, method)(other)
        with config_context(array_api_dispatch=False):
            assert isinstance(getattr(estimator, method)(DIGITS), np.ndarray)


def test_a_model_can_be_freed_from_its_place(estimator):
    X = torch.tensor(DIGITS)
    fitted = estimator.fit(put(DIGITS, "strict", "device1"))
    xp, _, device = get_namespace_and_device(X)
    free = move_estimator_to(fitted, xp, device)
    assert_close(free.transform(X).numpy(), free.transform(DIGITS), 1e-12)
    with pytest.raises(ValueError, match="must use the same namespace"):
        fitted.transform(X)


def test_models_from_a_model_are_as_bound_as_it_is():
    model = ESTIMATORS["linear"]().fit(torch.tensor(DIGITS)).with_diversity(0.2)
    assert isinstance(model.transform(torch.tensor(DIGITS)), torch.Tensor)
    with pytest.raises(ValueError, match=r"got numpy: move X"):
        model.transform(DIGITS)


def test_a_new_fit_forgets_the_old_place(estimator):
    estimator.fit(torch.tensor(DIGITS)).fit(DIGITS)
    assert isinstance(estimator.transform(DIGITS), np.ndarray)


# Files, ensembles, and what stays as it was


def test_files_and_pickles_have_nothing_of_the_device_inside(estimator, tmp_path):
    X = put(DIGITS, "strict", "CPU_DEVICE")  # the same arithmetic as NumPy, so the same bits
    modae.save(clone(estimator).fit(DIGITS), tmp_path / "host")
    modae.save(estimator.fit(X), tmp_path / "device")
    assert (tmp_path / "device").read_bytes() == (tmp_path / "host").read_bytes()
    estimator.fit(torch.tensor(DIGITS[:30]))  # wide: rows are kept
    assert b"torch\n" not in pickle.dumps(estimator, protocol=0)
    assert b"_rebuild_tensor" not in pickle.dumps(estimator, protocol=0)


@pytest.mark.parametrize("place", [("torch", "cpu"), ("strict", "device1")])
def test_an_ensemble_extracts_on_the_device_and_votes_on_the_host(place):
    X, y = put(DIGITS, *place), put(LABELS, *place)
    model = ModularClassifier(ESTIMATORS["linear"](), GaussianNB(), random_state=0)
    expected = clone(model).fit(DIGITS, LABELS).predict(DIGITS)
    labels = model.fit(X, y).predict(X)
    assert isinstance(labels, np.ndarray)
    np.testing.assert_array_equal(labels, expected)
    assert type(model.extractor_.transform(X)) is type(X)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_threads_know_of_dispatch(n_jobs):
    X = put(DIGITS, "strict", "device1")
    model = BaggingAutoencoder(5, 4, n_jobs=n_jobs, random_state=0).fit(X)
    assert_same_model(model, ESTIMATORS["bagging"]().fit(DIGITS), 1e-9)
    seen = run_parallel(lambda _: get_config()["array_api_dispatch"], [(0,), (1,)], n_jobs)
    assert seen == [True, True]


def test_a_regression_is_on_the_host():
    X, y = put(DIGITS[:, :40], "strict", "device1"), put(DIGITS[:, 40:], "strict", "device1")
    model = LinearModularRegressor(3, 4, random_state=0).fit(X, y, sample_weight=y[:, 3] + 1.0)
    host = LinearModularRegressor(3, 4, random_state=0)
    host.fit(DIGITS[:, :40], DIGITS[:, 40:], sample_weight=DIGITS[:, 43] + 1.0)
    np.testing.assert_array_equal(model.predict(X), host.predict(DIGITS[:, :40]))


def test_without_dispatch_tensors_become_numpy(estimator):
    expected = clone(estimator).fit(DIGITS).transform(DIGITS)
    with config_context(array_api_dispatch=False):
        codes = estimator.fit(torch.tensor(DIGITS)).transform(torch.tensor(DIGITS))
    assert isinstance(codes, np.ndarray)
    np.testing.assert_array_equal(codes, expected)


def test_with_dispatch_numpy_stays_as_it_was(estimator):
    codes = clone(estimator).fit(DIGITS).transform(DIGITS)
    with config_context(array_api_dispatch=False):
        np.testing.assert_array_equal(codes, estimator.fit(DIGITS).transform(DIGITS))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.where(DIGITS > 15, np.nan, DIGITS), "Input X contains NaN"),
        (np.where(DIGITS > 15, np.inf, DIGITS), "Input X contains infinity"),
        (DIGITS[0], "Expected 2D array"),
        (DIGITS[:, :0], r"0 feature\(s\)"),
        (DIGITS[:0], r"0 sample\(s\)"),
        (DIGITS * 1e200, "no float64"),
    ],
)
def test_bad_rows(estimator, X, message):
    for place in [("torch", "cpu"), ("strict", "device1")]:
        with pytest.raises(ValueError, match=message):
            estimator.fit(put(X, *place))


def test_bad_weights_and_widths():
    X, model = put(DIGITS, "strict", "device1"), ESTIMATORS["linear"]()
    with pytest.raises(ValueError, match="must be finite and not negative"):
        model.fit(X, sample_weight=put(-WEIGHTS, "strict", "device2"))
    with pytest.raises(ValueError, match="one number for each of the 900 rows"):
        model.fit(X, sample_weight=put(WEIGHTS[:5], "strict", "device1"))
    with pytest.raises(ValueError, match="zero for every row"):
        model.fit(X, sample_weight=put(0.0 * WEIGHTS, "strict", "device1"))
    model.fit(X)
    with pytest.raises(ValueError, match="X has 9 features, but"):
        model.transform(X[:, :9])
    with pytest.raises(ValueError, match="n_modules \\* n_components = 20 columns"):
        model.inverse_transform(X)


# scikit-learn's checks, with values


@pytest.mark.parametrize(
    ("namespace", "device", "dtype"),
    [
        ("numpy", None, "float64"),
        ("array_api_strict", "CPU_DEVICE", "float64"),
        ("array_api_strict", "device1", "float32"),
        ("torch", "cpu", "float64"),
    ],
)
def test_scikit_learn_checks_of_values(estimator, namespace, device, dtype):
    name = type(estimator).__name__
    with config_context(array_api_dispatch=False):  # as the checks expect it
        check_array_api_input(
            name, estimator, namespace, device, dtype, check_values=True, check_sample_weight=True
        )


def test_scikit_learn_check_of_mixed_inputs(estimator):
    name = type(estimator).__name__
    here = NamespaceAndDevice("torch", "cpu")
    there = NamespaceAndDevice("array_api_strict", "device1")
    with config_context(array_api_dispatch=False):
        check_array_api_mixed_inputs(name, estimator, here, there, check_values=True)
        check_array_api_mixed_inputs(name, estimator, there, here, check_values=True)
