"""Every awkward input gives a right model or an error that says what is wrong. Warnings are errors."""

import runpy
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from modae import LinearModularAutoencoder
from sources.awkward import CASES

ROOT = Path(__file__).parents[2]
ALL = [case for cases in CASES.values() for case in cases]
PUBLISHED = (
    *(
        "loss_",
        "lower_bound_",
        "reconstruction_error_",
        "diversity_term_",
        "optimality_gap_",
        "loss_history_",
    ),
    *("mean_", "encoders_", "decoders_", "allocation_", "eigenvalues_", "principal_axes_"),
    *("total_variance_", "explained_variance_ratio_", "explained_variance_ratio_of_mean_"),
)


def each(cases):
    return pytest.mark.parametrize("case", cases, ids=[case.name for case in cases])


def dense(X):
    return X.toarray().astype(np.float64) if sparse.issparse(X) else np.asarray(X, dtype=np.float64)


def part(X, rows):
    """Some rows of X in the same container."""
    if sparse.issparse(X):
        return X.tocsr()[rows].asformat(X.format)
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def in_batches(X, weights, settings):
    """The model after ``partial_fit`` with each third of the rows."""
    n_rows = len(dense(X))
    model = LinearModularAutoencoder(**settings)
    for start in range(0, n_rows, max(1, -(-n_rows // 3))):
        rows = slice(start, min(start + max(1, -(-n_rows // 3)), n_rows))
        own = weights if weights is None or np.ndim(weights) == 0 else np.asarray(weights)[rows]
        model.partial_fit(part(X, rows), sample_weight=own)
    return model


def ratios(weights, n_rows):
    """The weights as an array whose largest entry is 1."""
    weights = np.ones(n_rows) if weights is None else np.broadcast_to(np.asarray(weights, float), n_rows)
    return weights / weights.max()


def exact_variance(X, weights):
    """Total variance by the definition, in rational numbers."""
    present = weights > 0.0
    shares = [Fraction(weight) for weight in weights[present]]
    whole, total = sum(shares), Fraction(0)
    for column in X[present].T[np.ptp(X[present] / 2, axis=0) > 0.0]:
        entries = [Fraction(entry) for entry in column]
        mean = sum(w * x for w, x in zip(shares, entries, strict=True)) / whole
        total += sum(w * (x - mean) ** 2 for w, x in zip(shares, entries, strict=True))
    return float(total / whole)


def precision(model, double=1e-9, single=1e-4):
    return single if model.mean_.dtype == np.float32 else double


def room_for_rounding(model, dtype):
    """What the loss of rows of this type can be off. The mean is rounded, as any published number is."""
    dtype = min(dtype, model.mean_.dtype, key=lambda each: each.itemsize)
    ulps = np.finfo(dtype).eps * model.mean_.astype(np.float64)
    return (1e-4 if dtype == np.float32 else 1e-9) * model.total_variance_ + float(np.vdot(ulps, ulps))


def assert_sound(model):
    """What is true of every model, whatever the data."""
    for name in PUBLISHED:
        assert np.isfinite(getattr(model, name)).all(), name
    assert model.certified_ or model.attainment_ == "undecided"
    width, total = model.n_components_, model.total_variance_
    gram = model.decoders_.swapaxes(1, 2).astype(np.float64) @ model.decoders_
    np.testing.assert_allclose(gram - np.eye(width), 0.0, atol=precision(model, 1e-6))
    assert (model.allocation_ >= -1e-12).all()
    assert (model.allocation_ <= 1.0 + 1e-12).all()
    assert model.allocation_.sum() == pytest.approx(width, rel=1e-9)
    assert model.loss_ >= model.lower_bound_ - precision(model, single=1e-5) * total
    assert -1e-12 * total <= model.loss_ <= (1.0 + 1e-12) * total


def score_samples(model, X):
    """Scores come in the precision of the rows: if that has no room for squares, in float64."""
    single = np.finfo(np.float32)
    fits = float(single.tiny / single.eps) < model.total_variance_ < float(single.max * single.eps)
    return model.score_samples(X if fits or model.mean_.dtype == np.float64 else dense(X))


def assert_outputs(model, X, weights):
    """Codes and reconstructions are finite, and the mean loss of the rows is that of the model."""
    n_rows, n_features = dense(X).shape
    n_modules, width, _ = model.encoders_.shape
    codes = model.transform(X)
    assert codes.shape == (n_rows, n_modules * width)
    assert codes.dtype == (np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64)
    assert model.transform_modules(X).shape == (n_modules, n_rows, width)
    assert model.inverse_transform(codes).shape == (n_rows, n_features)
    assert np.isfinite(codes).all()
    assert np.isfinite(model.inverse_transform(codes)).all()
    assert np.isfinite(model.reconstruct_modules(X)).all()
    weights = ratios(weights, n_rows)
    scores = score_samples(model, X if weights.all() else part(X, weights > 0.0))
    loss = -np.average(scores.astype(np.float64), weights=weights[weights > 0.0])
    assert abs(loss - model.loss_) <= room_for_rounding(model, codes.dtype)


def projectors(model):
    decoders = model.decoders_.astype(np.float64)
    return decoders @ decoders.swapaxes(1, 2)


def assert_disguise(model, case, settings):
    """The model is that of the plain data, up to the scale."""
    X, weights = case.plain()
    plain = LinearModularAutoencoder(**settings).fit(X, sample_weight=weights)
    expected = plain.loss_ * case.scale * case.scale
    assert model.loss_ == pytest.approx(expected, rel=precision(model), abs=0.0)
    np.testing.assert_allclose(projectors(model), projectors(plain), atol=precision(model, 1e-8))


@each([case for case in ALL if case.error is None])
def test_a_model_comes_out_and_is_right(case):
    X, weights, settings = case.input()
    model = LinearModularAutoencoder(**settings).fit(X, sample_weight=weights)
    np.testing.assert_array_equal(dense(X), dense(case.make()[0]), "fit changed its input")
    assert_sound(model)
    for other in model.path([0.2, 0.9]):
        assert_sound(other)
    variance = exact_variance(dense(X), ratios(weights, len(dense(X))))
    assert model.total_variance_ == pytest.approx(variance, rel=precision(model), abs=0.0)
    assert_outputs(model, X, weights)
    assert case.holds(model)
    if case.plain is not None:
        assert_disguise(model, case, settings)
    if case.new is not None:
        assert_outputs(model, case.new(), weights)
        size = np.sqrt(model.total_variance_)
        np.testing.assert_allclose(model.transform(case.new()), model.transform(X), atol=1e-5 * size)


@each([case for case in ALL if case.error is None])
def test_batches_give_the_same_loss(case):
    X, weights, settings = case.input()
    model = LinearModularAutoencoder(**settings).fit(X, sample_weight=weights)
    batched = in_batches(X, weights, settings)
    assert_sound(batched)
    room = precision(model, single=1e-5) * model.total_variance_
    assert batched.total_variance_ == pytest.approx(model.total_variance_, abs=room, rel=0.0)
    assert batched.loss_ == pytest.approx(model.loss_, abs=room, rel=0.0)


@each([case for case in ALL if case.error is not None])
def test_an_error_says_what_is_wrong(case):
    X, weights, settings = case.input()
    model = LinearModularAutoencoder(**settings)
    if case.new is not None:
        model.fit(X, sample_weight=weights)
        with pytest.raises(case.error, match=case.message):
            model.transform(case.new())
        return
    with pytest.raises(case.error, match=case.message):
        model.fit(X, sample_weight=weights)
    streamed = LinearModularAutoencoder(**settings)
    with pytest.raises(case.error, match=case.message):
        streamed.partial_fit(X, sample_weight=weights).loss_  # noqa: B018


def test_names_are_unique():
    assert len({case.name for case in ALL}) == len(ALL)


def test_the_page_shows_the_table():
    page = runpy.run_path(str(ROOT / "docs" / "pictures" / "inputs_table.py"))
    assert page["updated"]() == page["PAGE"].read_text(), page["__doc__"]
