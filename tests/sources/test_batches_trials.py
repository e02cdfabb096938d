"""Batches in unlucky circumstances: each test is data or a model that would be wrong without a word."""

from datetime import UTC, datetime
from decimal import Decimal
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

import modae

RNG = np.random.default_rng(0)
X = RNG.standard_normal((200, 4)) * [4, 3, 2, 1] + 5
NAMES = list("abcd")
FRAME = pd.DataFrame(X, columns=NAMES)
WEIGHTS = RNG.integers(0, 4, 200).astype(float)


def new():
    return modae.LinearModularAutoencoder(2, 1, random_state=0)


ENSEMBLES = {
    "classifier": (modae.ModularClassifier, LogisticRegression(), (X[:, 0] > 5).astype(int)),
    "regressor": (modae.ModularRegressor, Ridge(), X[:, 0] ** 2),
}


@pytest.mark.parametrize("kind", ENSEMBLES)
@pytest.mark.parametrize("extractor", [modae.LinearModularAutoencoder, modae.BaggingAutoencoder])
def test_a_column_of_weights_is_sample_weight_for_all_parts_of_an_ensemble(kind, extractor):
    ensemble, member, y = ENSEMBLES[kind]
    model = ensemble(extractor(2, 1, random_state=0), member)
    weighted = modae.open_batches(FRAME.assign(w=WEIGHTS), weight="w", batch_size=30)
    np.testing.assert_array_equal(weighted.read_weights(), WEIGHTS)
    expected = model.fit(FRAME, y, sample_weight=WEIGHTS).predict_members(FRAME)
    prior = getattr(model, "class_prior_", 0)
    found = model.fit(weighted, y)
    np.testing.assert_allclose(found.predict_members(FRAME), expected, rtol=1e-6)
    np.testing.assert_array_equal(getattr(found, "class_prior_", 0), prior)
    with pytest.raises(ValueError, match="sample_weight and the weights in column 'w': give one"):
        model.fit(weighted, y, sample_weight=WEIGHTS)


def test_columns_that_are_not_known_stay_an_error_beside_weights():
    frame = FRAME.assign(w=1.0)
    batches = modae.open_batches([frame[:100], frame[100:].assign(z=1.0)], weight="w")
    with pytest.raises(ValueError, match="column 'z' is not in the first rows"):
        batches.without_weights().to_array()
    with pytest.raises(ValueError, match="no weight: name its column"):
        modae.open_batches(FRAME).read_weights()


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (X, FRAME[NAMES[::-1]], "have names, 'd', 'c', 'b', 'a', and those of the first rows have none"),
        (X, pa.Table.from_pandas(FRAME), "have names"),
        (X, pl.from_pandas(FRAME), "have names"),
        (pd.DataFrame(X), pd.DataFrame(X)[[3, 2, 1, 0]], r"\[3, 2, 1, 0\], .* counted from 0"),
        (pd.DataFrame(X)[[3, 2, 1, 0]], pd.DataFrame(X), r"counted from 0, .* \[3, 2, 1, 0\]"),
    ],
)
def test_columns_are_never_swapped(first, second, words):
    with pytest.raises(ValueError, match=words):
        modae.open_batches([first, second]).to_array()


def test_columns_counted_from_zero_are_as_good_as_a_matrix():
    rows = modae.open_batches([X, pd.DataFrame(X)]).to_array()
    np.testing.assert_array_equal(rows, np.vstack([X, X]))


def test_files_of_a_folder_in_capitals_and_in_order(tmp_path):
    for place, name in enumerate(["p01.csv", "p1.CSV", "p2.csv", "p²1.csv"]):
        FRAME[place : place + 1].to_csv(tmp_path / name, index=False)
    for name in ("README", "notes.md", "_SUCCESS", ".p9.csv"):
        (tmp_path / name).write_text("about the data")
    (tmp_path / "_old").mkdir()
    np.testing.assert_allclose(modae.open_batches(tmp_path).to_array(), X[:4])


@pytest.mark.parametrize("name", ["p2.csv.gz", "p2.ods", "k=2"])
def test_nothing_of_a_folder_is_left_out_in_silence(tmp_path, name):
    FRAME.to_csv(tmp_path / "p1.csv", index=False)
    (tmp_path / "k=2").mkdir() if name == "k=2" else (tmp_path / name).write_text("a,b,c,d\n")
    with pytest.raises(ValueError, match=f"{name} would be left out"):
        modae.open_batches(tmp_path)


@pytest.mark.parametrize("batch_size", [7, 20, 30])
def test_a_generator_may_use_its_memory_again(batch_size):
    everything = np.column_stack([X, np.arange(200.0), WEIGHTS])

    def batches():
        buffer = np.empty((20, 6))
        frame = pd.DataFrame(buffer, columns=[*NAMES, "y", "w"], copy=False)
        for start in range(0, 200, 20):
            buffer[:] = everything[start : start + 20]
            yield frame
            buffer[:] = -1.0

    opened = modae.open_batches(batches, target="y", weight="w", batch_size=batch_size)
    np.testing.assert_array_equal(opened.read_target(), np.arange(200))
    np.testing.assert_array_equal(opened.read_weights(), WEIGHTS)
    kept = [np.array(batch.kept["y"]) for batch in opened.keeping(["y"])]
    np.testing.assert_array_equal(np.concatenate(kept), np.arange(200))


def test_a_function_that_returns_the_same_iterator():
    same = iter([X, X])
    batches = modae.open_batches(lambda: same)
    with pytest.raises(ValueError, match="iterator that was read already"):
        batches.to_array()
    assert len(modae.open_batches(lambda: [X, X]).to_array()) == 400


IDENTITIES = {
    "large": [2**60 + 1, None, 3],
    "moments": [datetime(2020, 1, 1, tzinfo=UTC), None, datetime(2021, 1, 1, tzinfo=UTC)],
    "words": ["a", None, ""],
    "decimals": [Decimal("1.50"), None, Decimal("2.25")],
    "structs": [{"k": 1}, None, {"k": 2}],
}


@pytest.mark.parametrize("kind", IDENTITIES)
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_columns_are_kept_as_they_are(kind, library, tmp_path):
    values = IDENTITIES[kind]
    table = pa.table({"a": X[:3, 0], "b": X[:3, 1], "id": values})
    source = {"pandas": table.to_pandas(), "polars": pl.from_arrow(table), "pyarrow": table}[library]
    if library == "pandas" and kind == "large":
        source["id"] = pd.array(values, dtype="Int64")
    model = new().fit(FRAME[["a", "b"]])
    opened = modae.open_batches(source, columns=["a", "b"], batch_size=2)
    modae.transform_stream(model, opened, tmp_path / "x.parquet", keep=["id"])
    assert pa.parquet.read_table(tmp_path / "x.parquet")["id"].to_pylist() == values


def test_a_kept_column_whose_type_changes_is_named(tmp_path):
    frame = FRAME.assign(id=np.array([None] * 100 + ["word"] * 100, dtype=object)).astype({"id": object})
    model = new().fit(FRAME)
    for size, match in ((100, "column 'id' has values of type string that null"), (150, None)):
        opened = modae.open_batches(frame, columns=NAMES, batch_size=size)
        if match is None:
            assert modae.transform_stream(model, opened, tmp_path / "x.parquet", keep=["id"]) == 200
            continue
        with pytest.raises(ValueError, match=match):
            modae.transform_stream(model, opened, tmp_path / "x.parquet", keep=["id"])
    mixed = modae.open_batches(FRAME.assign(id=[1, "word"] * 100), columns=NAMES)
    with pytest.raises(ValueError, match="column 'id' cannot be kept"):
        modae.transform_stream(model, mixed, tmp_path / "x.parquet", keep=["id"])


@pytest.mark.parametrize("batch_size", [7, 200, 1000])
def test_files_whose_targets_differ_in_width(batch_size, tmp_path):
    for place, kind in enumerate(["int32", "int64"]):
        FRAME.assign(y=np.arange(200, dtype=kind)).to_parquet(tmp_path / f"{place}.parquet")
    batches = modae.open_batches(tmp_path, target="y", batch_size=batch_size)
    np.testing.assert_array_equal(batches.read_target(), np.tile(np.arange(200), 2))
    assert sum(len(batch.kept["y"]) for batch in batches.keeping(["y"])) == 400
    FRAME.assign(y="word").to_parquet(tmp_path / "2.parquet")
    mixed = modae.open_batches(tmp_path, target="y", batch_size=1000)
    with pytest.raises(ValueError, match=r"the target has values of types .* and (large_)?string"):
        mixed.read_target()


@pytest.mark.parametrize(("first", "second"), [("f4", "f8"), ("f8", "f4")])
def test_files_of_two_precisions(first, second, tmp_path):
    folder = tmp_path / "rows"
    folder.mkdir()
    np.save(folder / "0.npy", X.astype(first))
    np.save(folder / "1.npy", X.astype(second))
    model = new().fit(X)
    batches = modae.open_batches(folder, batch_size=200)
    modae.transform_stream(model, batches, tmp_path / "codes.npy")
    codes = model.transform(batches)
    assert codes.dtype == np.float64
    np.testing.assert_array_equal(np.load(tmp_path / "codes.npy"), codes)


@pytest.mark.parametrize("ending", [".npy", ".parquet"])
def test_no_digits_are_cut_off(ending, tmp_path):
    batches = modae.open_batches([X.astype(np.float32), X], batch_size=200)
    with pytest.raises(ValueError, match="answers are of type float64 after some of type float32"):
        modae.transform_stream(new().fit(X.astype(np.float32)), batches, tmp_path / f"x{ending}")
    assert list(tmp_path.iterdir()) == []


def missing_labels(kind, folder):
    frame = FRAME.assign(y=[None if row == 150 else "ab"[row % 2] for row in range(200)])
    if kind == "csv":
        frame.to_csv(folder / "x.csv", index=False)
        return folder / "x.csv"
    numbers = frame.assign(y=pd.array([None if row == 150 else row % 2 for row in range(200)], "Int64"))
    makers = {"pandas": frame, "Int64": numbers, "NaN": numbers.astype({"y": float})}
    return makers[kind] if kind in makers else pa.Table.from_pandas(frame)


@pytest.mark.parametrize("kind", ["csv", "pandas", "Int64", "NaN", "pyarrow"])
def test_a_missing_label_is_no_class(kind, tmp_path):
    batches = modae.open_batches(missing_labels(kind, tmp_path), target="y", batch_size=40)
    with pytest.raises(ValueError, match=r"target column 'y', row 150 of .* is missing"):
        batches.read_target()


def test_names_that_are_not_unicode(tmp_path):
    (tmp_path / "x.csv").write_bytes("gr\u00f6\u00dfe,b\n1,2\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"x\.csv cannot be read as CSV"):
        modae.open_batches(tmp_path / "x.csv")


def test_empty_batches_need_no_types():
    empty = pd.DataFrame(columns=NAMES)
    for source in ([empty, FRAME, empty], lambda: iter([empty, FRAME]), iter([empty, FRAME, empty])):
        np.testing.assert_array_equal(modae.open_batches(source).to_array(), X)


@pytest.mark.parametrize("library", [pl.from_pandas, pa.Table.from_pandas])
def test_decimals_with_a_type_are_numbers(library):
    money = library(FRAME.assign(a=[Decimal("1.5")] * 200))
    np.testing.assert_array_equal(modae.open_batches(money).to_array()[:, 0], 1.5)


MOMENTS = {
    "datetimes": pd.array([None, *pd.date_range("2020-01-01", periods=199)], dtype="datetime64[ns]"),
    "durations": pd.to_timedelta(np.arange(200), unit="s"),
}


@pytest.mark.parametrize("kind", MOMENTS)
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "Parquet", "without names"])
def test_dates_and_durations_are_refused_by_name(kind, library, tmp_path):
    frame = FRAME.assign(b=MOMENTS[kind])
    frame.to_parquet(tmp_path / "x.parquet")
    source = {
        "pandas": frame,
        "polars": pl.from_pandas(frame),
        "pyarrow": pa.Table.from_pandas(frame),
        "Parquet": tmp_path / "x.parquet",
        "without names": pd.DataFrame({0: MOMENTS[kind], 1: MOMENTS[kind]}),
    }[library]
    what = "the matrix" if library == "without names" else "column 'b'"
    with pytest.raises(ValueError, match=f"{what} has dates or times .* leave it out, or turn it into"):
        new().fit(modae.open_batches(source))


@pytest.mark.parametrize("name", ["X.NPY", "X.CSV", "X.Parquet", "X.FEATHER", "X.Csv.GZ"])
def test_endings_may_be_in_capitals(name, tmp_path):
    path = tmp_path / name
    if name == "X.NPY":
        with path.open("wb") as file:
            np.save(file, X)
    elif "CSV" in name.upper():
        FRAME.to_csv(path, index=False, compression="gzip" if name.endswith("GZ") else None)
    else:
        {"X.Parquet": FRAME.to_parquet, "X.FEATHER": FRAME.to_feather}[name](path)
    np.testing.assert_allclose(modae.open_batches(path).to_array(), X)


def test_labels_beyond_the_digits_of_a_float_stay_apart(tmp_path):
    labels = pd.array([2**53 + row % 2 for row in range(200)], dtype="Int64")
    for source in (FRAME.assign(y=labels), pa.Table.from_pandas(FRAME.assign(y=labels))):
        found = modae.open_batches(source, target="y", batch_size=70).read_target()
        assert found.tolist() == labels.tolist()
    FRAME.assign(y=labels).to_csv(tmp_path / "x.csv", index=False)
    assert modae.open_batches(tmp_path / "x.csv", target="y").read_target().tolist() == labels.tolist()


def test_what_is_refused_before_any_work(tmp_path):
    def refused(match, call, error=ValueError):
        with pytest.raises(error, match=match):
            call()

    unread = modae.open_batches(iter([X]))
    refused("at most n_features = 4", lambda: modae.LinearModularAutoencoder(2, 5).fit(unread))
    refused("seed", lambda: modae.LinearModularAutoencoder(2, random_state="x").fit(unread))
    assert len(unread.to_array()) == 200
    batches, opened = modae.open_batches(X), modae.open_batches
    refused("start must be at least 0, got -5", lambda: batches.read(-5))
    refused("the source has 200 rows, the checkpoint is at row 300", lambda: list(batches.read(300)))
    refused("source is open already", lambda: opened(batches, columns=np.array(["a", "b"])))
    refused("batch_size must be an integer of at least 1, got True", lambda: opened(X, batch_size=True))
    refused("target and weight are both 'a'", lambda: opened(FRAME, target="a", weight="a"))
    refused("keep must name each column once", lambda: opened(FRAME).keeping(["a", "a"]))
    refused("is a URL, and only local paths", lambda: opened("s3://bucket/x.parquet"))
    for thing, name in ((["x.npy"], "str"), ({"a": [1]}, "dict"), (b"rows", "bytes")):
        refused(f"got {name}", lambda thing=thing: opened(thing), TypeError)
    money = FRAME.assign(a=[Decimal("1.5")] * 200)
    refused("column 'a' has type Object", lambda: new().fit(opened(money)))
    refused(r"method \.collect\(\)", lambda: opened(pl.from_pandas(FRAME).lazy()), TypeError)
    calibrated = modae.ModularRegressor(new(), calibrate=0.25)
    refused(r"X\.to_array\(\)", lambda: calibrated.fit(batches, X[:, 0]), TypeError)
    for method in ("fit", "fit_transform", "partial_fit", "set_params"):
        write = partial(modae.transform_stream, new(), X, tmp_path / "x.npy", method=method)
        refused("would change the estimator", write)
