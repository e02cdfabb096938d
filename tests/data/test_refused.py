"""Values that would be read as other numbers than they mean are refused, by name and with a remedy."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest

from modae import (
    LinearModularAutoencoder,
    LinearModularRegressor,
    ModularClassifier,
    ModularRegressor,
    NearestNeighborClassifier,
)

rng = np.random.default_rng(0)
X, y = rng.standard_normal((30, 4)), np.arange(30) % 3
MASK = np.arange(30) == 3


def masked(values):
    return np.ma.masked_array(
        values, mask=np.broadcast_to(MASK.reshape(-1, *[1] * (values.ndim - 1)), values.shape)
    )


@pytest.mark.parametrize("bad", ["NaT", "2020-01-01"])
@pytest.mark.parametrize("kind", ["datetime64[ns]", "timedelta64[ns]"])
def test_dates_in_arrays_and_frames(bad, kind):
    dates = np.full((30, 4), "2020-01-02", "datetime64[ns]")
    dates[3, 0] = np.datetime64(bad)
    if kind.startswith("timedelta"):
        dates = dates - np.datetime64("2019-01-01", "ns")
    with pytest.raises(ValueError, match="X holds dates or durations"):
        LinearModularAutoencoder(2, 2).fit(dates)
    frame = pd.DataFrame({"size": X[:, 0], "when": dates[:, 0]})
    for table in (frame, pl.from_pandas(frame)):
        with pytest.raises(ValueError, match="dates or durations in column 'when'"):
            LinearModularAutoencoder(2, 1).fit(table)


@pytest.mark.parametrize(
    "model",
    [
        LinearModularAutoencoder(2, 2),
        LinearModularRegressor(2, 1),
        ModularClassifier(),
        ModularRegressor(),
        NearestNeighborClassifier(),
    ],
)
def test_masked_entries(model):
    targets = X[:, :2] if isinstance(model, LinearModularRegressor) else y
    with pytest.raises(ValueError, match="X has masked entries"):
        model.fit(masked(X), targets)
    if not isinstance(model, LinearModularAutoencoder):
        with pytest.raises(ValueError, match="y has masked entries"):
            model.fit(X, masked(targets))
    with pytest.raises(ValueError, match="sample_weight has masked entries"):
        model.fit(X, targets, sample_weight=masked(np.ones(30)))


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize(
    ("town", "said"),
    [
        (["Ulm", "Bonn", "Ulm"], "could not convert string to float: 'Ulm', in column 'town': encode"),
        ([1.0, np.nan, 2.0], "Input X contains NaN, in column 'town': fill what is missing"),
        ([1.0, None, 2.0], "Input X contains NaN, in column 'town': fill what is missing"),
        ([1.0, np.inf, 2.0], "'float64'), in column 'town': correct such numbers"),
    ],
)
def test_columns_of_frames_that_are_no_numbers_are_named(kind, town, said):
    table = {"size": [1.0, 2.0, 3.0] * 2, "town": town * 2}
    with pytest.raises(ValueError, match=re.escape(said)):
        LinearModularAutoencoder(2, 1).fit(kind(table))
    with pytest.raises(ValueError, match=re.escape("in columns 'age', 'town': ")):
        ModularClassifier().fit(kind({"age": town * 2, **table}), [0, 1] * 3)
    fitted = LinearModularAutoencoder(2, 1).fit(kind(table | {"town": [1.0, 5.0, 2.0] * 2}))
    with pytest.raises(ValueError, match="in column 'town': "):
        fitted.transform(kind(table))


def test_lazy_frames():
    with pytest.raises(TypeError, match=r"lazy LazyFrame of polars: use X.collect\(\)"):
        LinearModularAutoencoder(2, 2).fit(pl.DataFrame(X).lazy())


def test_single_precision_of_the_other_byte_order_stays_single():
    model = LinearModularAutoencoder(2, 2, random_state=0).fit(X.astype(">f4"))
    assert model.encoders_.dtype == np.float32
    expected = LinearModularAutoencoder(2, 2, random_state=0).fit(X.astype("f4"))
    np.testing.assert_array_equal(model.encoders_, expected.encoders_)


def test_large_integer_labels_stay_apart():
    labels = pd.Series([2**53, 2**53 + 1] * 15, dtype="Int64")
    model = ModularClassifier(LinearModularAutoencoder(2, 2, random_state=0)).fit(X, labels)
    assert model.classes_.tolist() == [2**53, 2**53 + 1]
